"""What a person sees of a run, the report, and what is a finding."""

import json
import re
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.verify import cases_of
from tests.contract import CREATED
from tests.program import process, run
from tests.verify import differences as parts
from tests.verify.conftest import (
    QUICK,
    TOKEN,
    Change,
    Request,
    Response,
    Service,
    judged,
    listening,
    plain,
    told,
    verify,
)
from tests.verify.differences import differs, on, on_deployment, on_projects, put, without
from verify.inputs import read_known
from verify.main import Result, left_behind, unknown_of, unused_of
from verify.report import printed, text_of_result

with_process = pytest.mark.process
MAIN = threading.main_thread().ident or 0

NO_STATUS = on_deployment(without("status"))
GONE = on("no deployment", status=410)
LEAK = on("list", headers={"X-Sent": "Bearer tok-9f27%2FKc+abc~x.y=="})
GONE_LINE = f"differs: {parts.DEP_404}: 404 here, 410 there"
STATUS_LINE = f"broken: {parts.STATUS}: present here, missing there"


def text_of(result: Result) -> str:
    """What a terminal gets of a result."""
    return "".join(f"{printed(result.secrets, line)}\n" for line in text_of_result(result))


def test_both_sides_and_where_a_part_is_from_are_told() -> None:
    page = on("created", status=200, headers={"Content-Type": "text/html"})
    text = text_of(judged(Service(page, GONE, NO_STATUS), "write"))
    assert "> POST /v1/projects\n" in text
    assert "    > Authorization: Bearer ***\n" in text
    assert re.search(r'^    > \{"name": "stub-verify-', text, re.MULTILINE)
    for part, expected, observed in (
        (parts.POST_201, f"{CREATED}; application/json", "200; text/html"),
        (parts.DEP_404, "404", "410"),
        (parts.STATUS, "present", "missing"),
    ):
        assert f"  {part}\n" in text
        assert f"    contract:  {expected}\n    service:   {observed}\n" in text
    assert "    fixed:    §3\n" in text


def test_the_first_line_of_the_result_counts_the_differences() -> None:
    for changes, line in (
        ((), "no difference"),
        ((GONE,), "1 difference"),
        ((GONE, NO_STATUS), "2 differences"),
    ):
        first, *_ = text_of(judged(Service(*changes))).splitlines()
        assert first == line


@with_process
def test_the_form_of_the_report() -> None:
    service = Service(NO_STATUS)
    done = verify(service, level="write")
    assert done.report["level"] == "write"
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}Z", done.report["started_at"])
    assert sum(done.requests.values()) == len(service.requests)
    for line in done.report["findings"]:
        assert f"finding: {line}\n" in done.stdout
    for each in done.report["parts"]:
        assert bool(each["reason"]) == (each["verdict"] == "not seen")
        assert each["verdict"] == "not seen" or each["probe"] in done.requests
    created = [{"id": each["id"], "name": each["name"]} for each in service.projects[3:]]
    assert done.report["created"] == created
    assert (
        f"left behind in the service:\n  {created[0]['id']}  {created[0]['name']}\n" in done.stdout
    )


def test_what_is_left_behind_has_the_id_that_a_response_shows() -> None:
    for level, changes, ids in (
        ("read", (), []),
        ("write", (on("created", raw=b"ok"),), ["p-4"]),  # that of the list
        ("write", (on_projects(without("id")),), [None]),
    ):
        exchanges = judged(Service(*changes), level).log.exchanges
        assert [each["id"] for each in left_behind(exchanges)] == ids


def reflecting(response: Response, request: Request, number: int) -> None:
    """What was sent comes back, spelled in several ways."""
    sent = request.header("Authorization") or ""
    response.headers |= {"X-Sent": sent, "Content-Type": f"text/{TOKEN}"}
    if isinstance(response.body, dict):
        told = f"{sent}, {sent.partition(' ')[2].replace('/', '%2F')}"
        response.body |= {"name": told, "detail": told}
        text = json.dumps(response.body).replace("/", "\\/").replace("~", "\\u007e")
        response.raw = text.encode()


@with_process
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
    for change, count in (
        (LEAK, 1),
        (on("list", body=put(sent=TOKEN)), 1),
        (on("list", body=put(sent=TOKEN[:-3])), 0),
    ):
        result = judged(Service(change))
        lines = [each.line for each in result.findings_of(["leaks"])]
        assert lines == ["leaks: list: the response contains the token"] * count
        assert text_of(result).count(f"{'list':34} the response contains the token\n") == count


def test_the_report_for_ci_has_the_request_of_each_leak() -> None:
    result = judged(Service(LEAK))
    cases = {case.name: case.failures for case in cases_of(result, result.findings)}
    ((line, details),) = cases["leaks"]
    assert line == "leaks: list: the response contains the token"
    assert "> GET /v1/projects\n" in details
    assert TOKEN not in details


def test_a_terminal_gets_no_control_characters() -> None:
    wild = "\x1b[2J\x07\x9b31m\u202e\u2028"
    gone = on("no deployment", status=410, body=put(detail=wild), headers={"X-A": "a\x1b[2Jb"})
    text = text_of(judged(Service(gone, on_projects(put(created_at=wild)))))
    assert not set(wild) & set("\x1b\x07\x9b\u202e\u2028") & set(text)
    assert "?[2J" in text


def test_where_text_is_cut_no_half_of_the_token_is_left() -> None:
    for change in (
        on("no deployment", status=410, raw=b"x" * 490 + TOKEN.encode() + b"x" * 500_000),
        on_deployment(put(id=f"{'x' * 485}{TOKEN}", filler="x" * 500_000)),
    ):
        text = text_of(judged(Service(change)))
        assert "xxx***" in text
        assert TOKEN[:5] not in text
        assert len(text) < 100_000
        assert re.search(r"… \(50\d,\d+ bytes\)", text)


def test_an_exchange_is_printed_once_for_all_its_differences_and_its_cookies_are_masked() -> None:
    headers: dict[str, str | None] = {"Set-Cookie": "session=s3cret; Secure"}
    result = judged(Service(on("deployment", body=without("id", "created_at"), headers=headers)))
    assert told(result) == differs(parts.DID, parts.DCREATED)
    text = text_of(result)
    assert text.count("> GET /v1/deployments/d-1\n") == 1
    assert "Set-Cookie: ***" in text
    assert "s3cret" not in text


@with_process
def test_a_file_that_cannot_be_used_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.touch()
    empty = tmp_path / "empty.pem"
    empty.touch()
    for words in (
        ("--report", tmp_path / "no" / "x.json"),
        ("--known", known, "--report", known),
        ("--known", tmp_path / "none.txt"),
        ("--ca", empty),
    ):
        service = Service()
        done = verify(service, *map(str, words))
        assert (done.status, service.requests) == (2, [])
        assert str(tmp_path) in done.stderr


@with_process
def test_the_report_of_another_run_is_removed(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    verify(Service(on(status=503)), "--report", str(tmp_path / "report.json"))
    assert [*tmp_path.iterdir()] == []


URL = "http://127.0.0.1:1"
WRONG = [
    *(("",), ("service.example",), ("ftp://service.example",), ("http://127.0.0.1:99999",)),
    *(("http://user:pw@127.0.0.1:1",), (f"{URL}/?a=b",), (f"{URL}/v1/",), (f"{URL}/\r\nX: y",)),
    *(
        (URL, "--save", "x"),
        (URL, "--fail-on", "kept"),
        (URL, "--fail-on="),
        (URL, "--pause", "nan"),
    ),
    *((URL, "--report", "-"), (URL, "--write", "--save", "-"), (URL, "--deployment", "")),
    *(("https://127.0.0.1:1", "--ca", __file__), (URL, "--ca", "/no/such.pem"), (URL, "--")),
]


@with_process
def test_a_wrong_option_is_status_2() -> None:
    for words in WRONG:
        done = verify(*words)
        assert (done.status, done.stdout) == (2, ""), words
        assert done.stderr.startswith("error: ")
        assert "pw@" not in done.stderr


@with_process
def test_the_token_is_in_the_environment_alone() -> None:
    for env in ({}, *({"VERIFY_TOKEN": each} for each in ("a\r\nX: y", "a b", "\u00e9"))):
        service = Service()
        done = verify(service, env=env)
        assert (done.status, service.requests) == (2, [])
        assert "VERIFY_TOKEN" in done.stderr


@with_process
def test_after_a_signal_it_says_what_is_left_behind() -> None:
    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        if response.case == "created":
            signal.pthread_kill(MAIN, signal.SIGTERM)
            service.stop.wait(20)
        plain(handler, request, response)

    service = Service(write=write)
    done = verify(service, level="write")
    assert (done.status, done.report) == (130, None)
    assert "  perhaps  stub-verify-" in done.stdout


@with_process
def test_where_ctrl_c_is_ignored_it_goes_on() -> None:
    """A shell ignores it for what runs in the background."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        signal.pthread_kill(MAIN, signal.SIGINT)
        plain(handler, request, response)

    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert verify(Service(write=write)).status == 0
    finally:
        signal.signal(signal.SIGINT, handler)


@with_process
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


@with_process
def test_fail_on_says_what_is_a_finding() -> None:
    for kinds, status in (("broken, differs", 1), ("leaks", 0)):
        done = verify(Service(GONE), "--fail-on", kinds)
        assert done.status == status
        assert (f"\nfinding: {GONE_LINE}\n" in done.stdout) == bool(status)


# The lines of a file, how many findings are left, and how many lines match nothing.
KNOWN = [
    (f"# ours\n\n{GONE_LINE} # we know\n{STATUS_LINE}\t# it is # late\n", 0, 0),
    ("broken: *\ndiffers: *DeploymentNotFound*", 0, 0),
    (f"#{GONE_LINE}", 2, 1),  # a comment has a space after its mark
    (GONE_LINE.replace("410", "403") + f"\n{STATUS_LINE}", 1, 1),
]


def test_a_known_finding_is_none(tmp_path: Path) -> None:
    findings = judged(Service(NO_STATUS, GONE)).findings
    file = tmp_path / "known.txt"
    for text, left, unused in KNOWN:
        file.write_text(f"\ufeff{text}", "utf-8")
        known = read_known(file)
        assert len(unknown_of(findings, known)) == left
        assert len(unused_of(findings, known)) == unused


def test_a_finding_is_the_same_with_other_ids_and_times() -> None:
    changes = (NO_STATUS, on_projects(put(created_at=7)), GONE, on("created", status=200))
    first = judged(Service(*changes), "write").findings
    second = judged(Service(*changes, new_id="{}_other_{}".format, sample=9), "write").findings
    assert len(first) == 4
    assert [each.line for each in first] == [each.line for each in second]


@with_process
def test_a_known_finding_that_matches_nothing_is_a_warning() -> None:
    done = verify(Service(GONE), "--fail-on", "differs", known=f"{GONE_LINE}\nbroken: *\n")
    assert done.status == 0
    assert "\nwarning: --known 'broken: *' matches no finding\n" in done.stdout


# An option, what the service differs in, and the status of the run.
UNWRITTEN: list[tuple[str, tuple[Change, ...], int]] = [
    ("--save", (), 2),
    ("--report", (NO_STATUS,), 1),
]


@contextmanager
def without_files() -> Iterator[None]:
    """Nothing can be written to a file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@with_process
def test_a_file_that_cannot_be_written_is_named_and_the_findings_are_told(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    for option, changes, status in UNWRITTEN:
        words = ("verify", "--write", *QUICK, option, str(file))
        with listening(Service(*changes)) as url, without_files():
            done = run(*words, url, env={"VERIFY_TOKEN": TOKEN})
        assert (done.status, done.stderr) == (status, f"error: {file}: File too large.\n")
        assert ("\nfinding: broken: " in done.stdout) == (status == 1)
        assert "saved" not in done.stdout
