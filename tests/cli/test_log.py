"""The log: on stderr, in the file of --log, at the end of a failed run, masked; and its hints."""

import json
import os
import re
import select
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.log import Log, LogFile
from cli.options import Settings
from cli.stderr import background_stderr, say
from records import timestamp
from server import RejectedRequest
from store import utc_now
from tests.cli.conftest import script
from tests.conftest import eventually
from tests.contract import assert_problem
from tests.program import program, run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process


def command(status: int, *paths: str) -> list[str]:
    """A COMMAND that calls these paths and exits with a status."""
    return ["--", *script(f"for path in {paths}: fetch(path)\nsys.exit({status})")]


def requests(stderr: str) -> list[str]:
    """The lines of requests, without milliseconds."""
    return re.findall(r"^(.*) \d+\.\d ms$", stderr, re.MULTILINE)


def test_the_log_of_a_command_is_printed_if_the_run_fails() -> None:
    paths = [f"/v1/projects?n={number}" for number in range(25)]
    logged = [f"#{number} GET {path} 200" for number, path in enumerate(paths, 1)]
    for options, shown in ((), logged), (("--quiet",), logged[5:]):
        assert requests(run(*options, *command(0, *paths)).stderr) == []
        done = run(*options, *command(3, *paths))
        assert (done.status, requests(done.stderr)) == (3, shown)
        assert ("\n(--log FILE has all lines)\n#6 " in done.stderr) == bool(options)
        assert done.stderr.index("#25 GET ") < done.stderr.index("coverage: ")
    judged = ("--fail-on", "unpromised")
    assert requests(run(*judged, *command(0, paths[0])).stderr) == logged[:1]
    allowed = ("--allow", "unpromised: *")
    assert requests(run(*judged, *allowed, *command(0, paths[0])).stderr) == []


def test_the_lines_that_are_held_are_bounded() -> None:
    log = Log(Settings(), has_command=True)
    for number in range(1001):
        rejected = RejectedRequest("GET", f"/{number}", "", 431, "headers_too_large", "detail")
        log.add_rejected(rejected)
    note, *lines = log.held().splitlines()
    assert note == "(--log FILE has all lines)"
    assert (len(lines), lines[0].split()[1]) == (1000, "/1")


def test_the_log_of_a_probe_is_printed_at_once() -> None:
    done = run("--probe", "members", *command(0, "/v1/projects"))
    assert done.stderr.index("#1 GET /v1/projects 200 ") < done.stderr.index("probe: plain: ")


def test_each_line_is_shown_once_and_a_control_request_that_failed_at_once() -> None:
    paths = ("/v1/projects", *20 * ["/_stub/requests"], "/_stub/none")
    for options, controls in ((), 20), (("--quiet",), 0):
        done = run(*options, *command(3, *paths))
        shown = [line.split(" 404 ")[0] for line in requests(done.stderr)]
        listed = ["#1 GET /v1/projects 200", *controls * ["GET /_stub/requests 200"]]
        assert shown == ["GET /_stub/none", *listed]
        assert "--log FILE" not in done.stderr
        (line,) = requests(run(*options, *command(0, *paths)).stderr)
        assert line.startswith("GET /_stub/none 404 ")


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_the_file_has_all_lines_masked_and_is_made_anew(
    tmp_path: Path, quiet: tuple[str, ...]
) -> None:
    file = tmp_path / "log"
    file.write_text("of another run\n")
    token = "s3cret-token"
    begun = timestamp(utc_now())

    def ask(url: str) -> None:
        call(url, "/v1/projects?q=s3cret%2Dtoken", token=token)
        call(url, "/v1/projects", token="wrong-one")
        call(url, "/_stub", token="wrong-one")
        call(url, "/v1/projects", token=token, method="s3cret")
        with Connection(port_of(url)) as client:
            client.send(get("/v1/projects", f"X: {17_000 * 'x'}", method="POST"))
            client.assert_rejected(431, "headers_too_large")
        with Connection(port_of(url)) as client:
            client.send(get("/_stub/reset", "Host: localhost", "Content-Length: 99999999"))
            client.assert_rejected(413, "body_too_large")

    done = run(*quiet, "--token", token, "--log", str(file), during=ask)
    lines = file.read_text("utf-8").splitlines()
    times, written = zip(*(line.split(" ", 1) for line in lines), strict=True)
    assert begun <= min(times) <= max(times) <= timestamp(utc_now())
    lines = [re.sub(r" \d+\.\d ms$", "", line) for line in written]
    assert [re.sub(r"(invalid|request|large) \(.*", r"\1", line) for line in lines] == [
        "#1 GET /v1/projects?q=*** 200",
        "#2 GET /v1/projects 401 token_invalid",
        "GET /_stub 401 token_invalid",
        "a request 400 malformed_request",
        "a request 431 headers_too_large",
        "GET /_stub/reset 413 body_too_large",
    ]
    assert not re.search("s3cret|wrong-one", done.stderr)
    printed = [line for line in done.stderr.splitlines() if line in written]
    assert printed == ([written[2], written[5]] if quiet else [*written])


def test_a_file_of_jsonl_has_an_object_for_each_request_with_the_names_of_the_journal(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.jsonl"
    token = "s3cret-token"
    journal: list[Any] = []

    def ask(url: str) -> None:
        body = b'{"name": 7}'
        call(url, "/v1/projects?q=s3cret-token", token=f"{token}.job", body=body)
        call(url, "/_stub/faults", token=f"{token}.job", body=b'{"status": 503}')
        call(url, "/_stub/clock", token=f"{token}.job", body=b'{"advance": -1}')
        call(url, "/v1/projects", token=f"{token}.job")
        journal.extend(call(url, "/_stub/requests", token=f"{token}.job").json["requests"])
        with Connection(port_of(url)) as client:
            client.send(get("/v1/projects?a=s3cret-token", f"X: {17_000 * 'x'}"))
            client.assert_rejected(431, "headers_too_large")
        with Connection(port_of(url)) as client:  # which brings a hint
            client.send(get("/v1/projects", "Host: stub.example"))
            client.assert_rejected(400, "host_not_allowed")

    run("--quiet", "--token", f"team={token}", "--log", str(file), during=ask)
    text = file.read_text("utf-8")
    assert "s3cret" not in text
    first, fault, clock, second, read, rejected, host = map(json.loads, text.splitlines())
    for line, entry in zip((first, second), journal, strict=True):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]{12}Z", line["time"])
        assert (line["tenant"], line["world"]) == ("team", "job")
        shared = line.keys() & entry.keys() - {"time"}
        assert {"number", "status", "code", "reason", "path", "query", "fault"} <= shared
        assert {name: line[name] for name in shared} == {name: entry[name] for name in shared}
    assert (fault["number"], fault["path"], fault["status"]) == (None, "/_stub/faults", 201)
    assert (read["method"], read["tenant"], read["world"]) == ("GET", "team", "job")
    assert (clock["code"], clock["reason"][:9]) == ("invalid_body", "/advance ")
    assert (rejected["status"], rejected["code"]) == (431, "headers_too_large")
    assert host["code"] == "host_not_allowed"
    assert fault["ms"] > 0
    assert fault.keys() == first.keys() == rejected.keys()


def test_a_file_that_was_moved_or_truncated_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("of another run\n")
    with closing(LogFile(path)) as log:
        log.add("1\n")
        path.rename(tmp_path / "moved")
        log.add("2\n")
        assert (tmp_path / "moved").read_text("utf-8").endswith("Z 1\n")
        assert path.read_text("utf-8").endswith("Z 2\n")
        os.truncate(path, 0)
        log.add("3\n")
    assert re.fullmatch(r"20\S+Z 3\n", path.read_text("utf-8"))


def test_lines_that_cannot_be_written_are_counted_and_break_no_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with closing(LogFile(folder / "log")) as log:
        folder.rename(tmp_path / "moved")
        log.add("1\n")
        log.add("2\n")
        folder.mkdir()
        log.add("3\n")
    assert (folder / "log").read_text("utf-8").endswith(" 3\n")
    assert capsys.readouterr().err == (
        "warning: --log: No such file or directory: lines are lost until this ends\n"
        "--log: it can be written again; 2 lines were lost\n"
    )
    done = run("--log", "/dev/full", during=lambda url: call(url, "/v1/projects"))
    assert (done.status, done.result.status_code) == (0, 200)
    assert "warning: --log: No space left on device: lines are lost" in done.stderr


@pytest.mark.parametrize(("origin", "option"), [("http://a:2", "http://a:2"), ("null", "'*'")])
def test_a_preflight_that_is_rejected_is_explained_once(origin: str, option: str) -> None:
    start = f"start with --cors-origin {option}, or STUB_CORS_ORIGIN={option}"
    hint = f"preflight from {origin}: {start}"

    def ask(url: str) -> None:
        fields = ("Host: localhost", f"Origin: {origin}", "Access-Control-Request-Method: GET")
        with Connection(port_of(url)) as client:
            for path in ("/v1/projects", "/v1/deployments/x"):
                client.send(get(path, *fields, method="OPTIONS"))
                response = client.reply()
                assert_problem(response, 401, "token_missing")
                assert response.json["detail"].endswith(f" This is a {hint}.")

    done = run("--quiet", "--fail-on", "violations", "--cors-origin", "http://a:1", during=ask)
    assert done.stderr.splitlines().count(hint) == 1
    assert "finding" not in done.stderr


HINT = "Host (.*) is not served: start with --trusted-host (.*)"


def test_a_host_that_is_not_served_is_explained_once_and_masked(tmp_path: Path) -> None:
    own = "My.Own~Secret_2/x+y"
    names = [tmp_path / "log.jsonl", tmp_path / "report.json"]

    def ask(url: str) -> None:
        for host in 2 * ["stub.test:99", "[2001:db8::1]:9", "My.Own~Secret_2xy", "My.Own~Sec:80"]:
            for target in ("/v1/projects?a=b", f"http://{host}/v1/projects"):
                with Connection(port_of(url)) as client:
                    client.send(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    client.assert_rejected(400, "host_not_allowed")

    options = ("--log", str(names[0]), "--report", str(names[1]), "--token", own)
    stderr = run(*options, during=ask).stderr
    assert re.findall(HINT, stderr) == [
        ("stub.test:99", "stub.test"),
        ("[2001:db8::1]:9", "2001:db8::1"),
        ("***", "***"),
    ]
    assert "GET http://***/v1/projects 400 host_not_allowed" in stderr
    for text in (stderr, *(each.read_text("utf-8") for each in names)):
        assert "my.own" not in text.lower()
    assert "400 host_not_allowed" not in run("--quiet", "--token", own, during=ask).stderr


def test_a_short_token_is_warned_of() -> None:
    warning = "warning: a token of less than 8 characters is masked in the log"
    assert warning in run("--token", "test-12", "--", "true").stderr
    assert "warning: a token" not in run("--token", "test-123", "--", "true").stderr


def test_a_command_that_does_not_call_the_interface_is_warned_of() -> None:
    warning = "warning: no request to /v1: does the command use STUB_URL, or --env NAME={url}?\n"
    assert warning in run("--", "true").stderr
    assert warning not in run("--", "no-such-command").stderr
    assert warning in run("--quiet", *command(0, "/_stub/state", "/projects")).stderr
    assert warning not in run("--quiet", *command(0, "/v1/nothing")).stderr
    assert warning not in run("--quiet").stderr
    for env, is_named in (
        ({"HTTP_PROXY": "http://a"}, True),
        ({"http_proxy": "http://a", "no_proxy": "a,127.0.0.1"}, False),
        ({"http_proxy": ""}, False),
    ):
        hint = "{url}? HTTP_PROXY is set: set NO_PROXY and no_proxy to 127.0.0.1,localhost\n"
        assert (hint in run("--", "true", env=env).stderr) is is_named


def test_neither_the_console_nor_checks_of_health_are_logged() -> None:
    """An open page asks each second, a container every 5 seconds."""

    def ask(url: str) -> None:
        polled = ("/_stub/console", "/_stub/console/poll.js", "/_stub/health", "/_stub/ready")
        for path in polled:
            assert call(url, path).status_code == 200
        assert call(url, "/_stub/ready", method="PUT").status_code == 405

    (line,) = requests(run(during=ask).stderr)
    assert line.startswith("PUT /_stub/ready 405 ")


FLOOD = 1200  # 1,000 lines wait; a pipe of 4,096 bytes holds few more


@pytest.mark.slow
def test_unread_lines_block_no_request_and_the_number_of_dropped_ones_is_written() -> None:
    with program(pipesize=4096) as (running, url):
        with Connection(port_of(url)) as client:
            for _ in range(FLOOD):
                client.send(get("/v1/" + "x" * 1000))
                assert client.reply().status_code == 401
            client.send(b"nonsense\r\n\r\n")
            assert client.reply().status_code == 400
        lines = []
        for line in running.stderr:
            lines.append(line)
            if "lines were dropped" in line or len(lines) > FLOOD:
                break
        running.terminate()
        shown = "".join(lines) + running.stderr.read()
    dropped = re.findall(r"^(\d+) lines were dropped: stderr was not read$", shown, re.MULTILINE)
    written = re.findall(r"^(?:#\d+ GET /v1/x|a request 400 )", shown, re.MULTILINE)
    assert dropped
    assert sum(map(int, dropped)) + len(written) == FLOOD + 1
    assert "coverage: " in shown


def test_a_stderr_that_does_not_block_gets_every_line() -> None:
    """What shares a terminal with the program may make it non-blocking."""
    lines = [f"{number} {1000 * 'x'}\n" for number in range(500)]  # a pipe takes 64 KiB
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    received: list[str] = []
    with os.fdopen(receiving, encoding="utf-8") as reader:
        thread = threading.Thread(target=received.extend, args=(reader,))
        with os.fdopen(sending, "w", encoding="utf-8") as stderr, background_stderr(stderr):
            for line in lines:
                say(line)
            eventually(lambda: not select.select([], [sending], [], 0)[1])  # the pipe is full
            thread.start()
        thread.join()
    assert received == lines


def test_the_end_does_not_wait_for_whoever_does_not_read() -> None:
    receiving, sending = os.pipe()

    def write() -> None:
        with background_stderr(stderr):
            say(100_000 * "x")  # a pipe takes 64 KiB

    before = {*threading.enumerate()}
    with os.fdopen(sending, "w", encoding="utf-8") as stderr:
        with os.fdopen(receiving):
            thread = threading.Thread(target=write, daemon=True)
            thread.start()
            thread.join(20)  # it takes a second
            assert not thread.is_alive()
        # Else what it still writes goes to the next file that gets the descriptor.
        eventually(lambda: {*threading.enumerate()} <= before)
