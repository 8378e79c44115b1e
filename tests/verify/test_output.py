"""What a person sees of a run, the report, and what is a finding."""

import json
import os
import re
import signal
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.contract import CREATED
from tests.program import WITHOUT_FILES, finished, process
from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Request, Response, Service, listening, plain, verify
from tests.verify.differences import differs, on, on_deployment, on_projects, put, without

pytestmark = pytest.mark.process

NO_STATUS = on_deployment(without("status"))
GONE = on("no deployment", status=410)
LEAK = on("list", headers={"X-Sent": "Bearer tok-9f27%2FKc+abc~x.y=="})
ALL = ("--fail-on", "broken,differs,leaks")
GONE_LINE = f"differs: {parts.DEP_404}: 404 here, 410 there"
STATUS_LINE = f"broken: {parts.STATUS}: present here, missing there"


def test_both_sides_and_where_a_part_is_from_are_told() -> None:
    page = on("created", status=200, headers={"Content-Type": "text/html"})
    done = verify(Service(page, GONE, NO_STATUS), level="write")
    assert "> POST /v1/projects\n" in done.stdout
    assert "    > Authorization: Bearer ***\n" in done.stdout
    assert re.search(r'^    > \{"name": "stub-verify-', done.stdout, re.MULTILINE)
    for part, expected, observed in (
        (parts.POST_201, f"{CREATED}; application/json", "200; text/html"),
        (parts.DEP_404, "404", "410"),
        (parts.STATUS, "present", "missing"),
    ):
        assert (done.parts[part]["expected"], done.parts[part]["observed"]) == (expected, observed)
        assert f"  {part}\n" in done.stdout
        assert f"    contract:  {expected}\n    service:   {observed}\n" in done.stdout
    assert "    fixed:    §3\n" in done.stdout


def test_the_first_line_of_the_result_counts_the_differences() -> None:
    for changes, line in (
        ((), "no difference"),
        ((GONE,), "1 difference"),
        ((GONE, NO_STATUS), "2 differences"),
    ):
        done = verify(Service(*changes))
        assert f"\n{line}\n" in done.stdout
    done = verify(Service())
    assert "left behind" not in done.stdout
    assert done.stdout.endswith("\nno finding of the kinds broken, leaks, drift, unseen\n")


def test_the_form_of_the_report() -> None:
    service = Service(NO_STATUS)
    done = verify(service, level="write")
    members = ["url", "started_at", "level", "parts", "probes", "leaks", "findings", "created"]
    assert ([*done.report], done.report["level"]) == (members, "write")
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}Z", done.report["started_at"])
    assert sum(done.requests.values()) == len(service.requests)
    for line in done.report["findings"]:
        assert f"finding: {line}\n" in done.stdout
    members = ["part", "origin", "verdict", "expected", "observed", "reason", "probe"]
    for each in done.report["parts"]:
        assert [*each] == members
        assert bool(each["reason"]) == (each["verdict"] == "not seen")
        assert each["verdict"] == "not seen" or each["probe"] in done.requests
    created = [{"id": each["id"], "name": each["name"]} for each in service.projects[3:]]
    assert done.report["created"] == created


def test_a_project_without_an_id_is_left_behind_too() -> None:
    service = Service(on_projects(without("id")))
    done = verify(service, level="write")
    assert f"perhaps  {service.projects[-1]['name']}\n" in done.stdout
    assert [each["id"] for each in done.report["created"]] == [None]
    listed = Service(on("created", raw=b"ok"))
    assert [each["id"] for each in verify(listed, level="write").report["created"]] == ["p-4"]


def reflecting(response: Response, request: Request, number: int) -> None:
    """What was sent comes back, spelled in several ways."""
    sent = request.header("Authorization") or ""
    response.headers |= {"X-Sent": sent, "Content-Type": f"text/{TOKEN}"}
    if isinstance(response.body, dict):
        told = f"{sent}, {sent.partition(' ')[2].replace('/', '%2F')}"
        response.body |= {"name": told, "detail": told}
        text = json.dumps(response.body).replace("/", "\\/").replace("~", "\\u007e")
        response.raw = text.encode()


def test_the_token_is_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    errors = [on(each, status=418) for each in parts.ALL_ERRORS[2:]]
    done = verify(Service(*errors, NO_STATUS, reflecting), level="write")
    printed = capfd.readouterr()
    texts = [done.stdout, done.stderr, printed.out, printed.err, json.dumps(done.report)]
    spellings = [TOKEN, TOKEN.lower()]
    for old, new in (("/", "\\/"), ("/", "%2F"), ("~", "\\u007e")):
        spellings += [each.replace(old, new) for each in spellings]
    assert not [each for text in texts for each in spellings if each in text]
    assert "***" in done.stdout
    assert "finding: leaks: list: the response contains the token\n" in done.stdout


def test_a_response_with_the_token_is_a_finding() -> None:
    for change, leaks in (
        (LEAK, ["list"]),
        (on("list", body=put(sent=TOKEN)), ["list"]),
        (on("list", body=put(sent=TOKEN[:-3])), []),
    ):
        done = verify(Service(change))
        assert (done.status, done.report["leaks"]) == (len(leaks), leaks)
        line = f"{'list':34} the response contains the token\n"
        assert (line in done.stdout) == bool(leaks)


def test_the_report_for_ci_has_the_request_of_each_leak(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    verify(Service(LEAK), "--report", str(file))
    text = file.read_text("utf-8")
    assert "leaks: list: the response contains the token" in text
    assert "&gt; GET /v1/projects\n" in text
    assert TOKEN not in text


def test_a_terminal_gets_no_control_characters() -> None:
    wild = "\x1b[2J\x07\x9b31m\u202e\u2028"
    gone = on("no deployment", status=410, body=put(detail=wild), headers={"X-A": "a\x1b[2Jb"})
    done = verify(Service(gone, on_projects(put(created_at=wild))))
    assert not set(wild) & set("\x1b\x07\x9b\u202e\u2028") & set(done.stdout + done.stderr)
    assert "?[2J" in done.stdout


def test_where_text_is_cut_no_half_of_the_token_is_left() -> None:
    for change in (
        on("no deployment", status=410, raw=b"x" * 490 + TOKEN.encode() + b"x" * 500_000),
        on_deployment(put(id=f"{'x' * 485}{TOKEN}", filler="x" * 500_000)),
    ):
        done = verify(Service(change))
        assert "xxx***" in done.stdout
        assert TOKEN[:5] not in done.stdout
        assert len(done.stdout) < 100_000
        assert re.search(r"… \(50\d,\d+ bytes\)", done.stdout)


def test_an_exchange_is_printed_once_for_all_its_differences_and_its_cookies_are_masked() -> None:
    headers: dict[str, str | None] = {"Set-Cookie": "session=s3cret; Secure"}
    change = on("deployment", body=without("id", "created_at"), headers=headers)
    done = verify(Service(change))
    assert done.found == differs(parts.DID, parts.DCREATED)
    assert done.stdout.count("> GET /v1/deployments/d-1\n") == 1
    assert "Set-Cookie: ***" in done.stdout
    assert "s3cret" not in done.stdout


def test_a_file_that_cannot_be_used_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.touch()
    for words in (
        ("--report", tmp_path / "no" / "x.json"),
        ("--known", known, "--report", known),
        ("--known", tmp_path / "none.txt"),
    ):
        service = Service()
        done = verify(service, *map(str, words))
        assert (done.status, service.requests) == (2, [])
        assert str(tmp_path) in done.stderr


@pytest.mark.parametrize("option", ["--har", "--known", "--like", "--body", "--ca"])
def test_a_pipe_that_no_shell_has_opened_is_an_error_and_no_wait(
    tmp_path: Path, option: str
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    url = () if option == "--har" else (URL,)
    write = ("--write",) if option == "--body" else ()
    done = verify(*url, *write, option, str(fifo))
    assert done.status == 2
    assert f"{fifo}: neither a regular file nor a pipe of a shell" in done.stderr


def test_an_empty_file_of_an_authority_is_named(tmp_path: Path) -> None:
    file = tmp_path / "empty.pem"
    file.touch()
    assert verify(URL, "--ca", str(file)).stderr.startswith(f"error: {file}: ")


def test_the_report_of_another_run_is_removed(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    verify(Service(on(status=503)), "--report", str(tmp_path / "report.json"))
    assert [*tmp_path.iterdir()] == []


URL = "http://127.0.0.1:1"
WRONG = [
    *(("",), ("service.example",), ("ftp://service.example",), ("http://127.0.0.1:99999",)),
    *(("http://user:pw@127.0.0.1:1",), (f"{URL}/?a=b",), (f"{URL}/v1/",), (f"{URL}/\r\nX: y",)),
    *((URL, "--save", "x"), (URL, "--wait", "-1"), (URL, "--fail-on", "kept"), (URL, "--fail-on=")),
    *((URL, "--token", "x"), (URL, "--report", "-"), (URL, "--write", "--save", "-"), (URL, URL)),
    *(("https://127.0.0.1:1", "--ca", __file__), (URL, "--ca", "/no/such.pem")),
    *((URL, "--pause", "nan"), (URL, "--deployment", ""), (URL, "--")),
]


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_option_is_status_2(words: tuple[str, ...]) -> None:
    done = verify(*words)
    assert (done.status, done.stdout) == (2, ""), done
    assert done.stderr.startswith("error: ")
    assert "pw@" not in done.stderr


def test_the_token_is_in_the_environment_alone() -> None:
    for env in ({}, *({"VERIFY_TOKEN": each} for each in ("a\r\nX: y", "a b", "\u00e9"))):
        service = Service()
        done = verify(service, env=env)
        assert (done.status, service.requests) == (2, [])
        assert "VERIFY_TOKEN" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_after_a_signal_it_says_what_is_left_behind(tmp_path: Path, number: int) -> None:
    file, is_asked = tmp_path / "report.json", threading.Event()

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        if response.case == "created":
            is_asked.set()
            service.stop.wait(20)
        plain(handler, request, response)

    service = Service(write=write)
    with listening(service) as url:
        words = ("verify", url, "--write", "--pause", "0", "--report", str(file))
        with process("app.py", *words, env={"VERIFY_TOKEN": TOKEN}) as started:
            assert is_asked.wait(60)
            started.send_signal(number)
            stdout, stderr = started.communicate(timeout=20)
    assert started.returncode == 130
    assert "  perhaps  stub-verify-" in stdout
    assert "Traceback" not in stdout + stderr
    assert not file.exists()


def test_where_ctrl_c_is_ignored_it_goes_on() -> None:
    """A shell ignores it for what runs in the background."""
    is_asked = threading.Event()
    is_sent = threading.Event()

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        is_asked.set()
        is_sent.wait(20)
        plain(handler, request, response)

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    with listening(Service(write=write)) as url:
        words = ("app.py", "verify", url, "--pause", "0")
        with process(*words, env={"VERIFY_TOKEN": TOKEN}, preexec_fn=ignore) as started:
            assert is_asked.wait(60)
            started.send_signal(signal.SIGINT)
            is_sent.set()
            stdout, _ = started.communicate(timeout=20)
    assert started.returncode == 0, stdout


def test_a_reader_that_goes_away_loses_no_file(tmp_path: Path) -> None:
    words = (
        *("--write", "--pause", "0", "--wait", "0"),
        *("--report", f"{tmp_path}/report", "--save", f"{tmp_path}/profile"),
    )
    with (
        listening(Service()) as url,
        process("app.py", "verify", url, *words, env={"VERIFY_TOKEN": TOKEN}) as started,
    ):
        started.stdout.close()
        assert (started.wait(60), started.stderr.read()) == (0, "")
    assert len([*tmp_path.iterdir()]) == 2


def test_fail_on_says_what_is_a_finding() -> None:
    for change, kinds, status in ((GONE, "broken, differs", 1), (LEAK, "differs", 0)):
        done = verify(Service(change), "--fail-on", kinds)
        assert done.status == status
        assert ("\nfinding: " in done.stdout) == bool(status)


# The lines of a file, the status, and how many lines match nothing.
KNOWN = [
    (f"# ours\n\n{GONE_LINE} # we know\n{STATUS_LINE}\t# it is # late\n", 0, 0),
    ("broken: *\ndiffers: *DeploymentNotFound*", 0, 0),
    (f"#{GONE_LINE}", 1, 1),  # a comment has a space after its mark
    (GONE_LINE.replace("410", "403") + f"\n{STATUS_LINE}", 1, 1),
]


@pytest.mark.parametrize(("text", "status", "unused"), KNOWN)
def test_a_known_finding_is_none(text: str, status: int, unused: int) -> None:
    done = verify(Service(NO_STATUS, GONE), *ALL, known=f"\ufeff{text}")
    assert done.status == status, done.stdout
    assert done.stdout.count("matches no finding") == unused


def test_a_finding_is_the_same_with_other_ids_and_times() -> None:
    changes = (NO_STATUS, on_projects(put(created_at=7)), GONE, on("created", status=200))
    printed = verify(Service(*changes), *ALL, level="write").stdout
    lines = [each for each in printed.splitlines() if each.startswith("finding: ")]
    assert len(lines) == 4
    known = "\n".join(each.removeprefix("finding: ") for each in lines)
    second = Service(*changes, new_id="{}_other_{}".format, sample=9)
    assert verify(second, *ALL, level="write", known=known).status == 0


UNWRITTEN = [
    ("--report", (), 2),
    ("--save", (), 2),
    ("--report", (NO_STATUS,), 1),
    ("--save", (NO_STATUS,), 1),
]


@pytest.mark.parametrize(("option", "changes", "status"), UNWRITTEN)
def test_a_file_that_cannot_be_written_is_named_and_the_findings_are_told(
    tmp_path: Path, option: str, changes: tuple[Any, ...], status: int
) -> None:
    file = tmp_path / "file.json"
    words = ("app.py", "verify", option, str(file), "--write", "--pause", "0", "--wait", "0")
    with listening(Service(*changes)) as url:
        done = finished("-c", WITHOUT_FILES, *words, url, env={"VERIFY_TOKEN": TOKEN})
    assert (done.status, done.stderr) == (status, f"error: {file}: File too large.\n")
    assert ("\nfinding: broken: " in done.stdout) == (status == 1)
    assert "saved" not in done.stdout
