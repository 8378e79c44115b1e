"""The log: on stderr, in the file of --log, at the end of a failed run, masked; and its hints."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from cli.apps import make_app
from cli.log import Log, LogFile
from cli.options import Settings
from cli.run import proxy_hint
from records import timestamp
from store import utc_now
from stub import create_stub
from tests.cli.conftest import script
from tests.conftest import BEARER
from tests.contract import assert_problem
from tests.program import run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process

Captured = pytest.CaptureFixture[str]


def requests(text: str) -> list[str]:
    """The lines of requests, without milliseconds."""
    return re.findall(r"^(.*) \d+\.\d ms$", text, re.MULTILINE)


@pytest.mark.parametrize("quiet", [False, True])
def test_beside_a_command_the_latest_lines_are_held(quiet: bool, capsys: Captured) -> None:
    settings = Settings(quiet=quiet)
    log = Log(settings, has_command=True)
    client = Client(make_app(create_stub, log, settings))

    def send(*paths: str) -> list[str]:
        for path in paths:
            client.get(path, headers=BEARER)
        return requests(capsys.readouterr().err)

    lines = [f"#{number} GET /v1/projects?n={number} 200" for number in range(1, 26)]
    assert send(*(line.split()[2] for line in lines), "/_stub/requests") == []
    held = log.held()
    assert held.startswith("(--log FILE has all lines)\n#6 " if quiet else "#1 ")
    shown = lines[-20:] if quiet else [*lines, "GET /_stub/requests 200"]
    assert requests(held) == shown
    (failed,) = send("/_stub/none")  # no client shows a control request that failed
    assert failed.startswith("GET /_stub/none 404 ")
    assert requests(log.held()) == requests(held)


def test_what_is_held_is_printed_before_the_coverage_if_the_run_fails() -> None:
    done = run("--", *script("call('/v1/projects')\nsys.exit(3)"))
    assert done.status == 3
    assert "#1 GET /v1/projects 200 " in done.stderr.partition("coverage: ")[0]
    judged = ("--quiet", "--fail-on", "unpromised")
    for more, shown in (((), ["#1 GET /v1/projects?n 200"]), (("--allow", "unpromised: *"), [])):
        done = run(*judged, *more, during=lambda url: call(url, "/v1/projects?n"))
        assert requests(done.stderr) == shown


def test_the_file_has_a_line_for_each_request_and_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("of another run\n")
    begun = timestamp(utc_now())

    def ask(url: str) -> None:
        call(url, "/v1/projects?q=s3cret%2Dtoken", token="s3cret-token")
        call(url, "/_stub/reset?s3cret-token", token="s3cret-token")

    done = run("--quiet", "--token", "s3cret-token", "--log", str(file), during=ask)
    times, lines = zip(*re.findall(r"(\S+) (.*)\n", file.read_text("utf-8")), strict=True)
    assert begun <= min(times) <= max(times) <= timestamp(utc_now())
    served, control = lines
    assert served.startswith("#1 GET /v1/projects?q=*** 200 ")
    assert control.startswith("GET /_stub/reset?*** 405 method_not_allowed (")
    assert [line for line in lines if line in done.stderr] == [control]  # the other is held


def test_a_file_of_jsonl_has_an_object_for_each_request_with_the_names_of_the_journal(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.jsonl"
    token = "s3cret-token.job"
    journal: list[Any] = []

    def ask(url: str) -> None:
        call(url, "/v1/projects?q=s3cret-token", token=token, body=b'{"name": 7}')
        call(url, "/_stub/faults", token=token, body=b'{"status": 503}')
        call(url, "/_stub/clock", token=token, body=b'{"advance": -1}')
        call(url, "/v1/projects", token=token)
        journal.extend(call(url, "/_stub/requests", token=token).json["requests"])
        with Connection(port_of(url)) as client:  # which brings a hint
            client.send(get("/", "Host: stub.example"))
            assert_problem(client.reply(), 400, "host_not_allowed")

    run("--quiet", "--token", "s3cret-token", "--log", str(file), during=ask)
    text = file.read_text("utf-8")
    assert "s3cret" not in text
    first, fault, clock, second, read = map(json.loads, text.splitlines())
    for line, entry in zip((first, second), journal, strict=True):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]{12}Z", line["time"])
        assert line["world"] == "job"
        shared = line.keys() & entry.keys() - {"time"}
        assert {"number", "status", "code", "reason", "path", "query", "fault"} <= shared
        assert {name: line[name] for name in shared} == {name: entry[name] for name in shared}
    assert (fault["number"], fault["path"], fault["status"]) == (None, "/_stub/faults", 201)
    assert (read["method"], read["world"]) == ("GET", "job")
    assert (clock["code"], clock["reason"][:9]) == ("invalid_body", "/advance ")
    assert fault["ms"] > 0
    assert fault.keys() == first.keys()


def test_a_file_that_was_moved_goes_on_and_lost_lines_are_counted(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    path = folder / "log"
    with closing(LogFile(path)) as log:
        log.add("1\n")
        path.rename(folder / "moved")
        log.add("2\n")
        assert path.stat().st_mode & 0o777 == 0o600  # others cannot read the new one
        folder.rename(tmp_path / "moved")
        log.add("3\n")
        log.add("4\n")
        folder.mkdir()
        log.add("5\n")
    with closing(LogFile(Path("/dev/full"))) as log:  # where writing fails
        log.add("1\n")
    files = [tmp_path / "moved" / "moved", tmp_path / "moved" / "log", path]
    written = [re.fullmatch(r"20\S+Z (\d)\n", file.read_text("utf-8")) for file in files]
    assert [found and found[1] for found in written] == ["1", "2", "5"]
    assert capsys.readouterr().err == (
        "warning: --log: No such file or directory: lines are lost until this ends\n"
        "--log: it can be written again; 2 lines were lost\n"
        "warning: --log: No space left on device: lines are lost until this ends\n"
    )


HOST = "Host (.*) is not served: start with --trusted-host (.*)"
PREFLIGHT = "preflight from (.*): start with --cors-origin (.*), or STUB_CORS_ORIGIN=.*"


def test_what_the_start_does_not_allow_is_explained_once_and_masked(tmp_path: Path) -> None:
    own = "My.Own~Secret_2/x+y"
    log = tmp_path / "log"
    preflight = ("Host: localhost", "Origin: http://a:2", "Access-Control-Request-Method: GET")

    def ask(url: str) -> None:
        for host in 2 * ["stub.test:99", "[2001:db8::1]:9", "My.Own~Secret_2/x+y"]:
            with Connection(port_of(url)) as client:
                client.send(get("/v1/projects", f"Host: {host}"))
                assert_problem(client.reply(), 400, "host_not_allowed")
        with Connection(port_of(url)) as client:
            for path in ("/v1/projects", "/v1/deployments/x"):
                client.send(get(path, *preflight, method="OPTIONS"))
                assert client.reply().status_code == 401

    options = ("--log", str(log), "--cors-origin", "http://a:1", "--token", own)
    stderr = run(*options, during=ask).stderr
    for text in (stderr, log.read_text("utf-8")):
        assert re.findall(HOST, text) == [
            ("stub.test", "stub.test"),
            ("2001:db8::1", "2001:db8::1"),
            ("***", "***"),
        ]
        assert re.findall(PREFLIGHT, text) == [("http://a:2", "http://a:2")]
        assert "my.own" not in text.lower()


PROXIES: list[tuple[dict[str, str], str]] = [
    ({"http_proxy": "http://a"}, "http_proxy"),
    ({"http_proxy": "http://a", "NO_PROXY": "127.0.0.1"}, ""),
    ({"http_proxy": "http://a", "no_proxy": "a,127.0.0.1"}, ""),
    ({"http_proxy": ""}, ""),
]


def test_a_command_that_does_not_call_the_interface_is_warned_of() -> None:
    warning = "warning: no request to /v1: does the command use STUB_URL, or --env NAME={url}?"
    hint = f"{warning} HTTP_PROXY is set: set NO_PROXY and no_proxy to 127.0.0.1,localhost\n"
    assert hint in run("--", "true", env={"HTTP_PROXY": "http://a"}).stderr
    assert warning in run("--", *script("call('/_stub/state'); call('/projects')")).stderr
    for words in (["no-such-command"], script("call('/v1/nothing')")):
        assert warning not in run("--", *words).stderr
    for env, named in PROXIES:
        assert proxy_hint(env).removeprefix(" ").partition(" is set: ")[0] == named


def test_neither_the_console_nor_checks_of_health_are_logged() -> None:
    """An open page asks each second, a container every 5 seconds."""

    def ask(url: str) -> None:
        polled = ("/_stub/console", "/_stub/console/poll.js", "/_stub/health", "/_stub/ready")
        for path in polled:
            assert call(url, path).status_code == 200
        assert call(url, "/_stub/ready", method="PUT").status_code == 405

    (line,) = requests(run(during=ask).stderr)
    assert line.startswith("PUT /_stub/ready 405 ")
