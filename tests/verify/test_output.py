"""What a person sees of a run, the report, and what is a finding."""

import json
import re
import resource
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from cli.verify_run import save_profile
from profiles.check import MAX_BYTES
from tests.conftest import START, limited
from tests.contract import CREATED
from tests.profiles.conftest import profile
from tests.program import process, run
from tests.verify import differences as parts
from tests.verify.conftest import QUICK, TOKEN, Response, Service, judged, learn, listening, verify
from tests.verify.differences import AWAY, on, on_deployment, on_projects, put, without
from verify.inputs import read_known
from verify.judge import Result
from verify.options import VerifyOptions
from verify.report import build_report, describe_result, list_left_behind, mask_line
from verify.seen.service_log import ServiceExchange
from verify.sources.script import NotVerifiable

with_process = pytest.mark.process
MAIN = threading.main_thread().ident or 0

NO_STATUS = on_deployment(without("status"))
GONE = on("no deployment", status=410)
LEAK = on("list", headers={"X-Sent": "Bearer tok-9f27%2FKc+abc~x.y=="})
GONE_LINE = f"differs: {parts.DEP_404}: 404 in the contract, 410 in the service"
CREATED_LINE = f"differs: {parts.POST_201}: {CREATED} in the contract, 200 in the service"
STATUS_LINE = f"broken: {parts.STATUS}: present in the contract, missing in the service"


def text_of(result: Result) -> str:
    """What a terminal gets of a result."""
    return "".join(f"{mask_line(result.secrets, line)}\n" for line in describe_result(result))


# What a result says


def test_each_exchange_is_printed_once_with_its_body_and_its_cookies_are_masked() -> None:
    cookie: dict[str, str | None] = {"Set-Cookie": "session=s3cret; Secure"}
    two = on("deployment", body=without("id", "created_at"), headers=cookie)
    text = text_of(judged(Service(two, on("created", status=200)), "write"))
    assert "\n3 differences\n" in text
    assert text.count("    > GET /v1/deployments/") == 1
    assert "    > POST /v1/projects\n    > Authorization: Bearer ***\n" in text
    assert '\n    > {"name": "stub-verify-' in text
    assert "    < Set-Cookie: ***\n" in text
    assert "s3cret" not in text


def test_where_text_is_cut_no_half_of_the_token_is_left() -> None:
    for change in (
        on("no deployment", status=410, raw=b"x" * 490 + TOKEN.encode() + b"x" * 500_000),
        on_deployment(put(created_at=5, region=f"{'x' * 300}{TOKEN}", filler="x" * 500_000)),
    ):
        text = text_of(judged(Service(change), "write"))
        assert "xxx***" in text
        assert TOKEN[:5] not in text
        assert len(text) < 100_000
        assert re.search(r"… \(50\d,\d+ bytes\)", text)


def test_what_is_left_behind_has_the_id_that_a_response_shows() -> None:
    for level, changes, ids in (
        ("read", (), []),
        ("write", (on("created", raw=b"ok"),), ["p-4"]),  # that of the list
        ("write", (on_projects(without("id")),), [None]),
        ("write", (on("created", failure="cut off"), on_projects(without("id"))), [None]),
    ):
        exchanges = judged(Service(*changes), level).log.exchanges
        assert [each["id"] for each in list_left_behind(exchanges)] == ids
    renamed = on_projects(
        lambda each: {"key": each["id"], "ref": f"r-{each['id']}", **without("id")(each)}
    )
    hint = profile(create={"body": {"key": "{project.id}", "name": "{project.name}"}})
    result = judged(Service(renamed), "write", hint)
    report = build_report(result, VerifyOptions(), START, ())
    assert [each["id"] for each in report["created"]] == ["p-4"]


# Findings


# The lines of a file, how many findings are left, and how many lines match nothing.
KNOWN = [
    (f"# ours\n\n{GONE_LINE} # we know\n{STATUS_LINE}\t# it is # late\n", 0, 0),
    ("broken: *\ndiffers: *DeploymentNotFound*", 0, 0),
    (f"#{GONE_LINE}", 2, 1),  # a comment has a space after its mark
    (GONE_LINE.replace("410", "403") + f"\n{STATUS_LINE}", 1, 1),
]


def test_a_known_finding_is_none(tmp_path: Path) -> None:
    result = judged(Service(NO_STATUS, GONE))
    file = tmp_path / "known.txt"
    for text, left, unused in KNOWN:
        file.write_text(f"\ufeff{text}", "utf-8")
        known = read_known(file)
        assert len(result.select_findings(("broken", "differs"), known)) == left
        assert len(result.select_unused(known)) == unused


def test_a_finding_is_the_same_with_other_ids_and_times() -> None:
    changes = (NO_STATUS, on_projects(put(created_at=7)), GONE, on("created", status=200))
    first = judged(Service(*changes), "write").findings
    second = judged(Service(*changes, new_id="{}_other_{}".format, sample=9), "write").findings
    assert len(first) == 5
    assert [each.line for each in first] == [each.line for each in second]


def reject_in_two_ways(response: Response, request: ServiceExchange, number: int) -> None:
    on(status=403)(response, request, number)
    on("list", status=401)(response, request, number)


# Where nothing can be checked, and why.
NOTHING_CHECKED = [
    (on(headers={"Content-Type": "text/html"}, raw=b"<!doc"), "no response is JSON (200)"),
    (on(status=302, headers=AWAY, raw=b""), "no response is JSON (302 to https://a.example/)"),
    (on(status=503), "nothing could be checked: 503"),
    (on(status=403), "VERIFY_TOKEN: the service rejects the token (403)"),
    (reject_in_two_ways, "VERIFY_TOKEN: the service rejects the token (401)"),
    (on(failure="timed out"), "nothing could be checked: timed out"),
]


def test_nothing_is_created_where_nothing_can_be_checked() -> None:
    for change, reason in NOTHING_CHECKED:
        service = Service(change)
        with pytest.raises(NotVerifiable, match=re.escape(reason)):
            judged(service, "write")
        assert len(service.requests) <= 6  # each of three twice
        assert service.created == []


# The program


@with_process
def test_a_run_tells_its_findings_and_what_it_left_behind(tmp_path: Path) -> None:
    service = Service(on("created", status=200), LEAK)
    (tmp_path / "known").write_text(f"{CREATED_LINE}\nbroken: no\n")
    files = ("--known", f"{tmp_path}/known", "--save", f"{tmp_path}/profile")
    words = ("--write", "--fail-on", "differs, unseen", "--deployment", "d-none")
    done = verify(service, *words, *files)
    finding = "unseen: deployment: --deployment d-none was not read: 404"
    assert (done.status, done.report["findings"]) == (1, [finding])
    assert re.findall("^finding: (.*)", done.stdout, re.MULTILINE) == [finding]
    assert "\nwarning: --known 'broken: no' matches no finding\n" in done.stdout
    assert f"\n{'list':34} the response contains the token\n" in done.stdout
    (created,) = service.projects[3:]
    left_behind = f"left behind in the service:\n  project {created['id']}  {created['name']}\n"
    assert left_behind in done.stdout
    assert done.report["created"] == [{"id": created["id"], "name": created["name"]}]
    assert (done.report["level"], done.report["leaks"]) == ("write", ["list"])
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}Z", done.report["started_at"])
    probes = {each["name"]: each["requests"] for each in done.report["probes"]}
    assert sum(probes.values()) == len(service.requests)
    for each in done.report["parts"]:
        assert bool(each["reason"]) == (each["verdict"] in ("not seen", "could not check"))
        assert each["verdict"] == "not seen" or each["probe"] in probes
    assert json.loads((tmp_path / "profile").read_text())["create"]


@with_process
def test_a_run_compares_with_a_profile_and_sends_a_given_body(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text(json.dumps(learn(Service())))
    (tmp_path / "body").write_text('{"name": "{name}", "plan": "pro"}')
    service = Service(on_projects(without("created_at")))
    files = ("--like", f"{tmp_path}/profile", "--body", f"{tmp_path}/body")
    done = verify(service, "--write", *files)
    assert "\nfinding: drift: /create/body/created_at: " in done.stdout
    assert [each.get("plan") for each in service.projects] == [None, None, None, "pro"]


WILD = "\x1b[2J\x07\x9b31m\u202e\u2028\ud800"


def hostile(response: Response, request: ServiceExchange, number: int) -> None:
    """What was sent comes back, spelled in several ways, among what a terminal obeys."""
    sent = request.find_request_field("Authorization")
    response.headers |= {"X-Sent": sent, "X-Wild": "\xff\x9b31m", "Content-Type": f"text/{TOKEN}"}
    told = f"{WILD}{sent}, {sent.partition(' ')[2].replace('/', '%2F')}"
    response.body |= {"id": WILD, "name": told, "detail": told}
    text = json.dumps(response.body).replace("/", "\\/").replace("~", "\\u007e")
    response.raw = text.encode()


@with_process
def test_the_token_is_nowhere_and_a_terminal_gets_no_control_characters(
    capfd: pytest.CaptureFixture[str],
) -> None:
    errors = [on(each, status=418) for each in parts.ALL_ERRORS[2:]]
    done = verify(Service(*errors, NO_STATUS, hostile), "--write")
    printed = capfd.readouterr()
    texts = [done.stdout, done.stderr, printed.out, printed.err, json.dumps(done.report)]
    spellings = [TOKEN, TOKEN.lower()]
    for old, new in (("/", "\\/"), ("/", "%2F"), ("~", "\\u007e")):
        spellings += [each.replace(old, new) for each in spellings]
    assert not [each for text in texts for each in spellings if each in text]
    assert "***" in done.stdout
    assert "finding: leaks: list: the response contains the token\n" in done.stdout
    assert not {*"\x1b\x07\x9b\u202e\u2028\ud800"} & {*done.stdout}


@with_process
def test_nothing_checked_is_a_sentence_and_empties_the_report_of_another_run(
    tmp_path: Path,
) -> None:
    report = tmp_path / "report.json"
    report.write_text("{}")
    location: dict[str, str | None] = {"Location": f"/login?from={TOKEN}"}
    moved = on(status=302, headers=location, raw=b"")
    done = verify(Service(moved), "--report", str(report))
    assert done.status == 2
    assert done.stderr.startswith("error: no response is JSON (302 to /login): ")
    assert done.stderr.count("\n") == 1
    assert report.read_text() == ""


URL = "http://127.0.0.1:1"
WRONG = [
    ("",), ("service.example",), ("ftp://service.example",), ("http://127.0.0.1:99999",),
    ("http://user:pw@127.0.0.1:1",), (f"{URL}/?a=b",), (f"{URL}/v1/",), (f"{URL}/\r\nX: y",),
    (URL, "--har", "x"), (URL, "--body", "x"), (URL, "--"),
    (URL, "--write", "--", "true"), (URL, "--har", "x", "--", "true"), ("--har", "x", "--write"),
    ("--har", "x", "--ca", "y"), (URL, "--fail-on", "kept"), (URL, "--deployment", ""),
    (URL, "--known", "/no/such"), (URL, "--report", "/no/such/x"), (URL, "--ca", "/no/such.pem"),
    (URL, "--ca", __file__), (URL, "--ca", "/dev/null"), (URL, "--write", "--save", __file__),
]  # fmt: skip


@with_process
def test_a_wrong_option_is_status_2_before_anything_is_asked() -> None:
    for words in WRONG:
        done = run("verify", *words, env={"VERIFY_TOKEN": TOKEN})
        assert (done.status, done.stdout) == (2, ""), words
        assert done.stderr.startswith("error: ")
        assert "pw@" not in done.stderr
        assert not [each for each in words[1:] if each.startswith("/") and each not in done.stderr]
    for env in ({}, *({"VERIFY_TOKEN": each} for each in ("a\r\nX: y", "a b", "\u00e9"))):
        done = run("verify", URL, env=env)
        assert (done.status, done.stdout) == (2, "")
        assert "VERIFY_TOKEN" in done.stderr


def test_a_wrong_source_is_told_how_to_be_given() -> None:
    for words, hint in (
        (("a.har",), "give a recording as --har a.har, without a URL."),
        ((URL, "npm", "test"), "put -- before the command: verify URL -- COMMAND."),
        ((URL, "pytest", "-q"), "No such option '-q'. A COMMAND and its options come after --."),
    ):
        done = run("verify", *words, env={"VERIFY_TOKEN": TOKEN})
        assert (done.status, done.stderr) == (2, f"error: {hint}\n")


@with_process
def test_after_a_signal_it_says_what_is_left_behind() -> None:
    is_over = threading.Event()

    def interrupt(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "created":
            signal.pthread_kill(MAIN, signal.SIGTERM)
            is_over.wait(20)

    with listening(Service(interrupt)) as url:
        done = verify(url, "--write")
        is_over.set()
    assert (done.status, done.report) == (143, None)
    assert "  project perhaps  stub-verify-" in done.stdout


@with_process
def test_where_ctrl_c_is_ignored_it_goes_on() -> None:
    """A shell ignores it for what runs in the background."""

    def interrupt(*response: Any) -> None:
        signal.pthread_kill(MAIN, signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert verify(Service(interrupt)).status == 0
    finally:
        signal.signal(signal.SIGINT, handler)


@with_process
def test_a_reader_that_goes_away_loses_no_file(tmp_path: Path) -> None:
    files = ("--report", f"{tmp_path}/report", "--save", f"{tmp_path}/profile")
    words = ("verify", "--write", *QUICK, *files)
    with (
        listening(Service()) as url,
        process("app.py", *words, url, env={"VERIFY_TOKEN": TOKEN}) as started,
    ):
        started.stdout.close()
        assert (started.wait(60), started.stderr.read()) == (0, "")
    assert len([*tmp_path.iterdir()]) == 2


@with_process
def test_a_read_tells_which_parts_of_a_profile_it_replaces(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(learn(Service())))
    done = verify(Service(), "--save", str(file))
    parts = "statuses, list, create, deployment, ids"
    line = f"replaced: content_type, {parts} of the earlier profile; --like {file} keeps them"
    assert line in done.stdout


@with_process
def test_files_that_cannot_be_written_are_named_and_the_result_is_told(tmp_path: Path) -> None:
    report, profile = tmp_path / "report", tmp_path / "profile"
    files = ("--report", str(report), "--save", str(profile))
    with listening(Service()) as url, limited(resource.RLIMIT_FSIZE, 0):
        done = run("verify", "--write", *QUICK, *files, url, env={"VERIFY_TOKEN": TOKEN})
    errors = [f"error: {file}: File too large." for file in (report, profile)]
    assert (done.status, done.stderr.splitlines()) == (2, errors)
    assert "\nno difference\n" in done.stdout
    assert "saved" not in done.stdout


@with_process
def test_a_full_stdout_is_named() -> None:
    with listening(Service()) as url, Path("/dev/full").open("w") as full:
        words = ("app.py", "verify", *QUICK, url)
        with process(*words, env={"VERIFY_TOKEN": TOKEN}, stdout=full) as started:
            assert started.wait(60) == 2
            assert started.stderr.read() == "error: stdout: No space left on device.\n"


def test_a_profile_that_is_too_large_for_like_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "profile.json"
    assert not save_profile(file, {"x": MAX_BYTES * "x"})
    assert capsys.readouterr().err == (
        f"error: {file} was not written: it would have over {MAX_BYTES} bytes.\n"
    )
    assert not file.exists()
