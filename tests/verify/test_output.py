"""What a person sees of a run, and the report."""

import json
import re
import signal
import socket
import stat
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from tests.program import process
from tests.verify.changes import ERRORS, of_projects, on, put, without
from tests.verify.error_differences import asked
from tests.verify.parts import DCREATED, DEP_404, DID, POST_201, STATUS, differs
from tests.verify.service import TOKEN, Change, Request, Response, Service, listening
from tests.verify.verified import LEVELS, verify

pytestmark = pytest.mark.process

NO_STATUS = on("deployment", body=without("status"))


def test_both_sides_are_told() -> None:
    service = Service(on("created", status=200), on("no deployment", status=410), NO_STATUS)
    done = verify(service, level="write")
    output = done.stdout + done.stderr
    assert "POST /v1/projects" in output
    assert done.parts[POST_201]["observed"] != done.parts[POST_201]["expected"]
    assert "200" in done.parts[POST_201]["observed"]
    assert "201" in done.parts[POST_201]["expected"]
    assert "410" in done.parts[DEP_404]["observed"]
    for part in (POST_201, DEP_404, STATUS):
        assert done.parts[part]["observed"] in output, part
        assert part.rpartition("components/")[2] in output or part in output
    assert "§3" in output


def test_there_are_counts_and_no_percentage() -> None:
    done = verify(Service(NO_STATUS, on("no deployment", status=410)))
    output = done.stdout + done.stderr
    assert "%" not in output
    for verdict in ("kept", "broken", "confirmed", "differs", "not seen"):
        count = len(done.seen(verdict))
        assert re.search(rf"\b{count} {verdict}|{verdict}\W+{count}\b", output), verdict


def test_each_probe_has_a_line() -> None:
    done = verify(Service(), level="abuse")
    output = done.stdout + done.stderr
    for each in done.report["probes"]:
        assert set(each) == {"name", "requests", "outcome"}
        assert each["name"] in output
    assert 15 <= len(done.report["probes"]) <= 35


def test_the_number_of_requests_is_told() -> None:
    service = Service()
    done = verify(service, level="abuse")
    assert sum(each["requests"] for each in done.report["probes"]) == len(service.requests)


@pytest.mark.parametrize("level", LEVELS)
def test_the_form_of_the_report(level: str) -> None:
    done = verify(Service(NO_STATUS), level=level)
    report = done.report
    assert set(report) >= {"url", "started_at", "level", "parts", "probes", "created"}
    assert report["level"] == level
    assert datetime.fromisoformat(report["started_at"].replace("Z", "+00:00")).tzinfo
    probes = {each["name"] for each in report["probes"]}
    for each in report["parts"]:
        assert set(each) >= {"part", "origin", "verdict", "expected", "observed", "reason", "probe"}
        assert each["verdict"] != "not seen" or each["reason"]
        assert each["verdict"] == "not seen" or each["probe"] in probes
    assert len(report["created"]) == (0 if level == "read" else 1)
    assert all(set(each) == {"id", "name"} for each in report["created"])


def test_what_is_left_behind_is_told() -> None:
    service = Service(unique=False)
    done = verify(service, level="abuse")
    output = done.stdout + done.stderr
    assert len(service.created) > 1
    for project in service.projects[3:]:
        assert project["id"] in output
        assert project["name"] in output


def test_a_project_without_an_id_is_left_behind_too() -> None:
    service = Service(of_projects(without("id")))
    done = verify(service, level="write")
    assert f'without an id  "{service.projects[-1]["name"]}"' in done.stdout
    assert [each["id"] for each in done.report["created"]] == [None]


def reflecting(response: Response, request: Request, number: int) -> None:
    """What was sent comes back, spelled in several ways."""
    sent = request.header("Authorization") or ""
    response.headers["X-Sent"] = sent
    if isinstance(response.body, dict):
        token = sent.partition(" ")[2]
        response.body["detail"] = f"{sent}, {token.replace('/', '%2F')}"
        text = json.dumps(response.body).replace("/", "\\/").replace("~", "\\u007e")
        response.raw = text.encode()


def test_the_token_is_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = tmp_path / "known.json"
    service = Service(*(on(each, status=418) for each in ERRORS[2:]), NO_STATUS, reflecting)
    done = verify(service, "--write-known", str(known), level="abuse")
    printed = capfd.readouterr()
    report = json.dumps(done.report)
    texts = [done.stdout, done.stderr, printed.out, printed.err, report, known.read_text()]
    spellings = [TOKEN]
    for old, new in (("/", "\\/"), ("/", "%2F"), ("~", "\\u007e")):
        spellings += [each.replace(old, new) for each in spellings]
    for text in texts:
        assert not [each for each in spellings if each in text]
    assert "***" in done.stdout + done.stderr


def in_ascii(response: Response, request: Request, number: int) -> None:
    """Escapes of all that is beyond ASCII: a lone surrogate has no other spelling."""
    response.raw = json.dumps(response.body).encode()


def test_a_terminal_gets_no_control_characters() -> None:
    wild = "\x1b[2J\x07\x9b31m\u202e\u2028\ud800"
    edit = put(code=wild, detail=wild)
    service = Service(
        on("no deployment", status=410, body=edit, headers={"X-A": "a\x1b[2Jb"}),
        on("deployment", body=without("status")),
        on("list", body=lambda body: json.loads(json.dumps(body).replace("sample", "\\u001b[2J"))),
        of_projects(put(created_at="\x1b[2J")),
        in_ascii,
    )
    done = verify(service)
    assert not set("\x1b\x07\x9b\u202e\u2028") & set(done.stdout + done.stderr)


def test_a_long_body_is_not_printed_whole() -> None:
    done = verify(Service(on("no deployment", status=410, raw=b"x" * 500_000)))
    assert len(done.stdout + done.stderr) < 100_000
    assert "… (500,000 bytes)" in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        on("no deployment", status=410, raw=b"x" * 490 + TOKEN.encode() + b"x" * 90),
        on("deployment", body=put(created_at=f"{'x' * 65}{TOKEN}")),
    ],
    ids=["a body", "a value"],
)
def test_where_text_is_cut_no_half_of_the_token_is_left(change: Change) -> None:
    done = verify(Service(change))
    assert done.found
    assert "xxx***" in done.stdout
    assert TOKEN[:5] not in done.stdout


def test_cookies_are_masked() -> None:
    headers = {"Set-Cookie": "session=s3cret; Secure"}
    done = verify(Service(on("no deployment", status=410, headers=headers)))
    assert "Set-Cookie: ***" in done.stdout
    assert "s3cret" not in done.stdout


def test_an_exchange_is_printed_once_for_all_its_differences() -> None:
    done = verify(Service(on("deployment", body=without("id", "created_at"))))
    assert done.found == differs(DID, DCREATED)
    assert done.stdout.count("> GET /v1/deployments/d-1\n") == 1


def test_what_no_part_states_is_a_note() -> None:
    rejects = (
        asked("HEAD", on("list", status=405)),
        asked("GET", on("list", status=400), lambda each: "?" in each.target),
    )
    done = verify(Service(*rejects))
    outcomes = {each["name"]: each["outcome"] for each in done.report["probes"]}
    assert outcomes["list, HEAD"] == "note: 405"
    assert outcomes["list, unknown query"] == "note: 400"
    assert outcomes["deployment, HEAD"] == "as GET"


def test_http_is_warned_of_beyond_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *more, **named: resolve("127.0.0.1", *more, **named)
    )
    with listening(Service()) as url:
        near, far = verify(url), verify(url.replace("127.0.0.1", "service.example"))
    assert (near.status, far.status) == (0, 0)
    assert "warning: http sends the token without encryption" in far.stdout
    assert "warning" not in near.stdout


def test_the_report_is_whole_or_not_there(tmp_path: Path) -> None:
    file = tmp_path / "no" / "report.json"
    service = Service()
    done = verify(service, "--report", str(file))
    assert (done.status, service.requests) == (2, []), "known before anything is asked"
    assert str(file) in done.stderr


@pytest.mark.parametrize("option", ["--known", "--write-known"])
def test_a_report_is_not_the_file_of_another_option(option: str, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    file.write_text("[]")
    service = Service()
    done = verify(service, "--report", str(file), option, str(file))
    assert (done.status, service.requests, file.read_text()) == (2, [], "[]")
    assert str(file) in done.stderr


def test_a_report_replaces_another_and_leaves_no_other_file(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("x" * 10**6)
    verify(Service(), "--report", str(file))
    assert json.loads(file.read_text())["parts"]
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
    assert stat.S_ISREG(file.stat().st_mode)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("", ()),
        ("service.example", ()),
        ("ftp://service.example", ()),
        ("http://", ()),
        ("http://127.0.0.1:99999", ()),
        ("http://127.0.0.1:port", ()),
        ("http://user:pw@127.0.0.1:1", ()),
        ("http://127.0.0.1:1/?a=b", ()),
        ("http://127.0.0.1:1/#a", ()),
        ("http://127.0.0.1:1/v1", ()),
        ("http://127.0.0.1:1/v1/", ()),
        ("http://127.0.0.1:1/a b", ()),
        ("http://127.0.0.1:1/\r\nX: y", ()),
        ("http://[::1", ()),
        *(
            ("http://127.0.0.1:1", options)
            for options in (
                ("--abuse",),
                ("--wait", "-1"),
                ("--wait", "nan"),
                ("--wait", "inf"),
                ("--wait", "soon"),
                ("--pause", "-1"),
                ("--pause", "nan"),
                ("--pause", "inf"),
                ("--max-age", "-1"),
                ("--max-age", "x"),
                ("--fail-on", "kept"),
                ("--fail-on", ""),
                ("--known", "/no/such/file"),
                ("--write-known", "/no/such/file"),
                ("--ca", "/no/such/file"),
                ("--ca", __file__),
                ("--token", "x"),
                ("--delete",),
                *((option, "-") for option in ("--report", "--known", "--write-known", "--ca")),
                ("http://127.0.0.1:2",),
            )
        ),
    ],
)
def test_a_wrong_option_is_status_2(url: str, options: tuple[str, ...]) -> None:
    done = verify(url, *options)
    assert (done.status, done.stdout) == (2, ""), done
    assert done.stderr.startswith("error: ")
    assert "pw@" not in done.stderr


@pytest.mark.parametrize("token", [None, "", "a\nb", "a\r\nX: y", " ", "a b", "\u00e9", "a\x01"])
def test_the_token_is_in_the_environment_alone(token: str | None) -> None:
    service = Service()
    done = verify(service, env={} if token is None else {"VERIFY_TOKEN": token})
    assert (done.status, service.requests) == (2, [])
    assert "VERIFY_TOKEN" in done.stderr


def test_it_has_its_own_help() -> None:
    done = verify("--help")
    assert done.status == 0
    for option in (
        *["write", "abuse", "wait", "pause", "ca", "known", "max-age", "report"],
        "fail-on",
    ):
        assert f"--{option}" in done.stdout
    assert "creates projects" in done.stdout
    assert "VERIFY_TOKEN" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_a_signal_it_says_what_is_left_behind(number: int, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    is_read = threading.Event()

    def polled(response: Response, request: Request, number: int) -> None:
        if service.created and request.method == "GET":
            is_read.set()  # the response to the creation

    service = Service(polled, ends=False, found_after=10**6)
    words = ("app.py", "verify")
    with listening(service) as url:
        options = ("--write", "--wait", "60", "--pause", "0", "--report", str(file))
        with process(*words, url, *options, env={"VERIFY_TOKEN": TOKEN}) as started:
            assert is_read.wait(60)
            started.send_signal(number)
            stdout, stderr = started.communicate(timeout=20)
    assert started.returncode == 128 + number
    assert service.created[0] in stdout + stderr
    assert "Traceback" not in stdout + stderr
    assert TOKEN not in stdout + stderr
    assert not file.exists()


def test_the_arguments_of_the_process_have_no_token() -> None:
    """Nor those of a child, of which there is none."""
    service = Service(write=None)
    seen: list[str] = []

    def look(response: Response, request: Request, number: int) -> None:
        for each in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                seen.append(each.read_text(errors="replace"))

    service.changes = (look,)
    words = ("app.py", "verify")
    env = {"VERIFY_TOKEN": TOKEN}
    with listening(service) as url, process(*words, url, "--pause", "0", env=env) as started:
        started.communicate(timeout=60)
    assert started.returncode == 0
    assert any(url in each for each in seen)
    assert not any(TOKEN in each for each in seen)
