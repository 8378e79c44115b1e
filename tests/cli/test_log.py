"""What explains a failure: the log in a file and at the end, hints, and an idle command."""

import os
import re
import socket
import sys
from pathlib import Path

import pytest

from tests.contract import assert_problem
from tests.program import not_started, process, run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process

CALLS = "import os, sys, urllib.request as u\n"
CALLS += "for path in sys.argv[2:]:\n"
CALLS += "  r = u.Request(os.environ['STUB_URL'] + path)\n"
CALLS += "  r.add_header('Authorization', 'Bearer ' + os.environ['STUB_TOKEN'])\n"
CALLS += "  try: u.urlopen(r)\n"
CALLS += "  except u.HTTPError: pass\n"
CALLS += "sys.exit(int(sys.argv[1]))\n"


def command(status: int, *paths: str) -> list[str]:
    """A COMMAND that calls these paths and exits with a status."""
    return ["--", sys.executable, "-c", CALLS, str(status), *paths]


def requests(stderr: str) -> list[str]:
    """The lines of requests, without milliseconds."""
    return re.findall(r"^(.*) \d+\.\d ms$", stderr, re.MULTILINE)


@pytest.mark.parametrize("options", [(), ("--no-stub",)])
def test_a_quiet_run_shows_its_last_lines_if_the_command_fails(options: tuple[str, ...]) -> None:
    paths = [f"/v1/projects?n={number}" for number in range(25)]
    done = run("--quiet", *options, *command(3, *paths))
    assert done.status == 3
    assert "(5 earlier lines: --log FILE has all)\n" in done.stderr
    place = "" if options else "#{number} "
    assert requests(done.stderr) == [
        f"{place.format(number=number + 1)}GET /v1/projects?n={number} 200"
        for number in range(5, 25)
    ]
    assert requests(run("--quiet", *options, *command(0, *paths[:1])).stderr) == []


@pytest.mark.parametrize("has_file", [False, True])
def test_the_last_lines_have_control_requests_only_where_they_failed(
    tmp_path: Path, has_file: bool
) -> None:
    options = ["--log", str(tmp_path / "log")] if has_file else []
    paths = ["/v1/projects", *20 * ["/_stub/requests"], "/_stub/none"]
    done = run("--quiet", *options, *command(3, *paths))
    shown = requests(done.stderr)
    assert [line.split(" 404 ")[0] for line in shown] == [
        "GET /_stub/none",
        "#1 GET /v1/projects 200",
    ]
    assert "earlier lines" not in done.stderr


def test_a_quiet_run_shows_its_last_lines_if_there_is_a_finding() -> None:
    words = command(0, "/v1/projects?page=1")
    done = run("--quiet", "--fail-on", "unpromised", *words)
    shown, _, rest = done.stderr.partition("\ncoverage: ")
    assert "\n#1 GET /v1/projects?page=1 200" in shown
    assert "\nfinding: unpromised: listProjects: query parameter page (first: #1): " in rest
    assert done.status == 1
    allowed = ["--fail-on", "unpromised", "--allow", "unpromised: *"]
    assert requests(run("--quiet", *allowed, *words).stderr) == []


def test_a_line_that_was_printed_is_not_shown_again() -> None:
    paths = ("/_stub/nothing", "/v1/projects")
    for options in ([], ["--quiet"]):
        shown = requests(run(*options, *command(1, *paths)).stderr)
        assert shown == [
            "GET /_stub/nothing 404 not_found " + shown[0].partition("not_found ")[2],
            "#1 GET /v1/projects 200",
        ]


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_the_file_has_all_lines_masked_and_is_made_anew(
    tmp_path: Path, quiet: tuple[str, ...]
) -> None:
    file = tmp_path / "log"
    file.write_text("of another run\n")
    token = "s3cret-token"

    def ask(url: str) -> None:
        call(url, "/v1/projects?q=s3cret%2Dtoken", token=token)
        call(url, "/v1/projects", token="wrong-one")
        call(url, "/_stub/reset", token=token, method="PATCH")
        call(url, "/v1/projects", token=token, method="s3cret")
        with Connection(port_of(url)) as client:
            client.send(get("/v1/projects", f"X: {17_000 * 'x'}", method="POST"))
            client.assert_rejected(431, "headers_too_large")

    done = run(*quiet, "--token", token, "--log", str(file), during=ask)
    written = file.read_text("utf-8").splitlines()
    lines = [re.sub(r" \d+\.\d ms$", "", line) for line in written]
    assert [re.sub(r"(code|request|large) \(.*", r"\1", line) for line in lines] == [
        "#1 GET /v1/projects?q=*** 200",
        "#2 GET /v1/projects 401 token_invalid",
        "PATCH /_stub/reset 405 method_not_allowed (Use one of the methods in the header Allow.)",
        "a request 400 malformed_request",
        "a request 431 headers_too_large",
    ]
    assert "malformed_request (Start with a method in upper case, one space, a target" in lines[3]
    assert not re.search("s3cret|wrong-one", done.stderr)
    printed = [line for line in done.stderr.splitlines() if line in written]
    assert printed == (written[2:3] if quiet else written)


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, reason in (("no/log", "No such file"), ("", "not a file"), ("fifo", "not a file")):
        path = tmp_path / name
        assert not_started("--log", str(path)).startswith(f"error: --log: {path}: {reason}")


@pytest.mark.parametrize("other", ["--seed", "--states", "--report"])
def test_no_option_writes_the_file_of_another(tmp_path: Path, other: str) -> None:
    file = tmp_path / "file"
    file.write_text("{}")
    (tmp_path / "link").symlink_to(file)
    for option in {"--log", "--report"} - {other}:
        error = not_started(other, str(file), option, str(tmp_path / "link"))
        assert " are the same file: " in error
        assert file.read_text("utf-8") == "{}"


def test_a_log_that_is_full_is_told_once_and_breaks_no_request(tmp_path: Path) -> None:
    code = (
        "import os, resource, signal, sys\n"
        "from app import create_app\n"
        "from cli.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "sys.exit(main(create_app, sys.argv[1:], os.environ, sys.stdout, sys.stderr))\n"
    )
    options = ("--quiet", "--log", str(tmp_path / "log"))
    with process("-c", code, *options, *command(0, *9 * ["/v1/projects"])) as running:
        _, stderr = running.communicate(timeout=30)
    warning = "warning: --log: File too large: no more lines are written to it\n"
    assert stderr.count(warning) == 1
    assert "listProjects   200 x9;" in stderr
    assert running.returncode == 0


def test_a_failed_control_request_is_printed_once_also_with_quiet() -> None:
    def ask(url: str) -> None:
        call(url, "/_stub/pact", body=b'{"state": "a mistyped state"}')
        call(url, "/_stub/pact", body=b'{"state": 1}')
        call(url, "/_stub/clock", body=b'{"advance": -1, "frozen": 1}')
        call(url, "/_stub/health")
        call(url, "/_stub/state", token="wrong-one")
        call(url, "/_stub", token="dev-token.job-3")
        with Connection(port_of(url)) as client:
            client.send(
                get("/_stub/reset", "Host: localhost", "Content-Length: 99999999", method="POST")
            )
            client.assert_rejected(413, "body_too_large")

    done = run("--quiet", during=ask)
    assert "POST /_stub/reset 413 body_too_large (" in done.stderr
    pact, invalid, clock, state, nothing = requests(done.stderr)
    assert nothing.startswith("job-3 GET /_stub 404 not_found (There is nothing at this path. ")
    assert pact.startswith("POST /_stub/pact 404 not_found (No provider state has this name. ")
    assert invalid == (
        "POST /_stub/pact 422 invalid_body (The body is JSON, but its content is invalid: see "
        "`errors`. /state must be a string)"
    )
    assert "/advance must be a number" in clock
    assert "/frozen must be true or false" in clock
    assert state.startswith("GET /_stub/state 401 token_invalid (Send the header `Authorization:")
    assert "wrong-one" not in done.stderr


@pytest.mark.parametrize(
    ("origin", "option"),
    [("http://127.0.0.1:5173", "http://127.0.0.1:5173"), ("null", "'*'"), ("HTTP://X", "'*'")],
)
def test_a_preflight_of_an_origin_that_is_not_named_is_explained(origin: str, option: str) -> None:
    def ask(url: str) -> str:
        fields = ("Host: localhost", f"Origin: {origin}", "Access-Control-Request-Method: GET")
        with Connection(port_of(url)) as client:
            for path in ("/v1/projects", "/v1/deployments/x"):
                client.send(get(path, *fields, method="OPTIONS"))
                response = client.reply()
                assert_problem(response, 401, "token_missing")
        detail: str = response.json["detail"]
        return detail

    hint = f"preflight from {origin}: start with --cors-origin {option}"
    for named in ((), ("--cors-origin", "http://localhost:1")):
        done = run("--quiet", *named, during=ask)
        assert done.stderr.splitlines().count(hint) == 1
        assert done.result.endswith(f" This is a {hint}.")
        assert "finding" not in run("--fail-on", "violations", *named, during=ask).stderr


@pytest.mark.parametrize(
    ("host", "line"),
    [
        ("stub.test:99", "Host stub.test:99 is not served: start with --trusted-host stub.test"),
        (
            "[2001:db8::1]:9",
            "Host [2001:db8::1]:9 is not served: start with --trusted-host 2001:d",
        ),
        ("My.Own~Secret_2xy", "Host ***"),
    ],
)
def test_a_host_that_is_not_served_is_explained_once_and_masked(host: str, line: str) -> None:
    def ask(url: str) -> None:
        for _ in range(2):
            with Connection(port_of(url)) as client:
                client.send(f"GET /v1/projects?a=b HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                client.assert_rejected(400, "host_not_allowed")

    stderr = run("--quiet", "--token", "My.Own~Secret_2", during=ask).stderr
    assert sum(each.startswith(line) for each in stderr.splitlines()) == 1
    assert "secret_2" not in stderr.lower()
    shown = run(during=ask).stderr
    assert shown.count("GET /v1/projects?a=b 400 host_not_allowed (Call a server") == 2


def test_tls_on_the_plain_port_is_explained() -> None:
    def ask(url: str) -> None:
        with socket.create_connection(("127.0.0.1", port_of(url)), timeout=10) as client:
            client.sendall(bytes.fromhex("160301020001"))
            assert client.recv(100).startswith(b"HTTP/1.1 400 ")

    assert "this looks like TLS: use http://\n" in run("--quiet", during=ask).stderr


@pytest.mark.parametrize("path", ["/_stub/state", "/projects"])
def test_a_command_that_does_not_call_the_interface_is_warned_of(path: str) -> None:
    warning = "warning: no request to /v1: does the command use STUB_URL?\n"
    assert warning in run("--no-stub", "--", "true").stderr
    assert warning not in run("--", "no-such-command").stderr
    assert warning in run("--quiet", *command(0, path)).stderr
    assert warning not in run("--quiet", *command(0, "/v1/nothing")).stderr
    assert warning not in run("--quiet").stderr
    done = run("--fail-on", "idle", *command(0, path))
    assert done.status == 1
    assert "finding: idle: listProjects" in done.stderr


def test_neither_the_polls_of_the_console_nor_checks_of_health_are_logged() -> None:
    """An open page asks each second, a container every 5 seconds."""

    def ask(url: str) -> None:
        assert call(url, "/_stub/console").status_code == 200
        assert call(url, "/_stub/ready").status_code == 200
        assert call(url, "/_stub/ready", method="PUT").status_code == 405

    (line,) = requests(run(during=ask).stderr)
    assert line.startswith("PUT /_stub/ready 405 ")
