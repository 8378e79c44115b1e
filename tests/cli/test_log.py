"""The log: on stderr, in the file of --log, at the end of a failed run, masked; and its hints."""

import re
import resource
from pathlib import Path

import pytest
from werkzeug.test import Client

from cli.apps import make_app
from cli.log import RunLog
from cli.options import Settings
from cli.run import find_proxy_hint
from records import timestamp
from store import utc_now
from stub import create_stub
from tests.cli.conftest import script
from tests.conftest import BEARER, limited
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
    log = RunLog(settings, has_command=True)
    client = Client(make_app(create_stub, log, settings))

    def send(*paths: str) -> list[str]:
        for path in paths:
            client.get(path, headers=BEARER)
        return requests(capsys.readouterr().err)

    lines = [f"#{number} GET /v1/projects?n={number} 200" for number in range(1, 26)]
    assert send(*(line.split()[2] for line in lines), "/_stub/requests") == []
    held = log.held()
    assert held.startswith("(--log FILE has the earlier lines)\n#6 " if quiet else "#1 ")
    shown = lines[-20:] if quiet else [*lines, "GET /_stub/requests 200"]
    assert requests(held) == shown
    (failed,) = send("/_stub/requests?x=1")  # no client shows a control request that failed
    assert failed.startswith("GET /_stub/requests?x=1 400 ")
    assert requests(log.held()) == requests(held)


def test_what_is_held_is_printed_before_the_coverage_if_the_run_fails() -> None:
    done = run("--", *script("call('/v1/projects')\nsys.exit(3)"))
    assert done.status == 3
    assert "#1 GET /v1/projects 200 " in done.stderr.partition("coverage: ")[0]
    judged = ("--quiet", "--fail-on", "unpromised")
    for more, shown in (((), ["#1 GET /v1/projects?n 200"]), (("--allow", "unpromised: *"), [])):
        done = run(*judged, *more, during=lambda url: call(url, "/v1/projects?n"))
        assert requests(done.stderr) == shown


def test_the_file_has_a_line_for_each_request_and_is_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("of another run\n")
    begun = timestamp(utc_now())

    def ask(url: str) -> None:
        call(url, "/v1/projects?q=s3cret%2Dtoken", token="s3cret-token")
        call(url, "/_stub/reset?s3cret-token", token="s3cret-token")

    done = run("--quiet", "--token", "s3cret-token", "--log", str(file), during=ask)
    before, *appended = file.read_text("utf-8").splitlines()
    assert before == "of another run"
    times, lines = zip(*(line.split(" ", 1) for line in appended), strict=True)
    assert begun <= min(times) <= max(times) <= timestamp(utc_now())
    served, control = lines
    assert served.startswith("#1 GET /v1/projects?q=*** 200 ")
    assert control.startswith("GET /_stub/reset?*** 405 method_not_allowed (")
    assert [line for line in lines if line in done.stderr] == [control]  # the other is held


def test_a_full_disk_loses_lines_whole_and_breaks_no_request(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("of another run\n")

    def ask(url: str) -> list[int]:
        statuses = [call(url, "/v1/projects").status_code]
        with limited(resource.RLIMIT_FSIZE, file.stat().st_size + 20):  # room for half a line
            statuses += [call(url, "/v1/projects?lost").status_code for _ in range(2)]
        return [*statuses, call(url, "/v1/projects").status_code]

    done = run("--log", str(file), during=ask)
    assert done.result == [200, 200, 200, 200]
    warning = f"warning: {file}: File too large: lines of the log are lost\n"
    assert done.stderr.count(warning) == 1
    first, *lines = file.read_text("utf-8").splitlines()
    assert first == "of another run"
    numbers = [re.fullmatch(r"2\S{23} #(\d) GET \S* 200 .* ms", line) for line in lines]
    assert [found and found[1] for found in numbers] == ["1", "4"]


HOST = "Host (.*) is not served(?:: start with --trusted-host (.*))?\n"
PREFLIGHT = "preflight from (.*): start with --cors-origin (.*), or STUB_CORS_ORIGIN=.*"


def test_what_the_start_does_not_allow_is_explained_once_and_masked(tmp_path: Path) -> None:
    own = "My.Own~Secret_2/x+y"
    hosts = ["stub.test:99", "[2001:db8::1]:9", own, "a.test\r\nHost: localhost", "", ":99"]
    log = tmp_path / "log"
    preflight = ("Host: localhost", "Origin: http://a:2", "Access-Control-Request-Method: GET")

    def ask(url: str) -> None:
        for host in 2 * hosts:
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
            ("***", ""),
            ("a.test, localhost", ""),
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
    for words in (
        ["no-such-command"],
        script("call('/v1/nothing')"),
        script("call('/openapi.json')"),  # it asks only for documents
        script("call('/_stub/openapi.json')"),
    ):
        assert warning not in run("--", *words).stderr
    for env, named in PROXIES:
        assert find_proxy_hint(env).removeprefix(" ").partition(" is set: ")[0] == named


def test_neither_the_console_nor_checks_of_health_are_logged() -> None:
    """An open page asks each second, a container every 5 seconds."""

    def ask(url: str) -> None:
        polled = ("/_stub/console", "/_stub/console/poll.js", "/_stub/health", "/_stub/ready")
        for path in polled:
            assert call(url, path).status_code == 200
        assert call(url, "/_stub/ready", method="PUT").status_code == 405

    (line,) = requests(run(during=ask).stderr)
    assert line.startswith("PUT /_stub/ready 405 ")
