"""The log: on stderr, in the file of --log, at the end of a failed run, masked; and its hints."""

import json
import os
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.log import LogFile
from records import timestamp
from store import utc_now
from tests.cli.conftest import script
from tests.program import run
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
    assert requests(run(*command(0, *paths)).stderr) == []
    for options, shown in ((), logged), (("--quiet",), logged[5:]):
        done = run(*options, *command(3, *paths))
        assert (done.status, requests(done.stderr)) == (3, shown)
        assert ("\n(--log FILE has all lines)\n#6 " in done.stderr) == bool(options)
        assert done.stderr.index("#25 GET ") < done.stderr.index("coverage: ")
    judged = ("--fail-on", "unpromised", *command(0, paths[0]))
    assert requests(run(*judged).stderr) == logged[:1]
    assert requests(run("--allow", "unpromised: *", *judged).stderr) == []


@pytest.mark.parametrize(("options", "controls"), [((), 20), (("--quiet",), 0)])
def test_each_line_is_shown_once_and_a_control_request_that_failed_at_once(
    options: tuple[str, ...], controls: int
) -> None:
    paths = ("/v1/projects", *20 * ["/_stub/requests"], "/_stub/none")
    done = run(*options, *command(3, *paths))
    shown = [line.split(" 404 ")[0] for line in requests(done.stderr)]
    listed = ["#1 GET /v1/projects 200", *controls * ["GET /_stub/requests 200"]]
    assert shown == ["GET /_stub/none", *listed]
    assert "--log FILE" not in done.stderr


def test_the_file_has_all_lines_masked_and_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("of another run\n")
    token = "s3cret-token"
    begun = timestamp(utc_now())

    def ask(url: str) -> None:
        call(url, "/v1/projects?q=s3cret%2Dtoken", token=token)
        call(url, "/_stub", token="wrong-one")
        call(url, "/v1/projects", token=token, method="s3cret")
        with Connection(port_of(url)) as client:
            client.send(get("/_stub/reset", "Host: localhost", "Content-Length: 99999999"))
            client.assert_rejected(413, "body_too_large")

    done = run("--quiet", "--token", token, "--log", str(file), during=ask)
    lines = file.read_text("utf-8").splitlines()
    times, written = zip(*(line.split(" ", 1) for line in lines), strict=True)
    assert begun <= min(times) <= max(times) <= timestamp(utc_now())
    lines = [re.sub(r" \d+\.\d ms$", "", line) for line in written]
    assert [re.sub(r"(invalid|request|large) \(.*", r"\1", line) for line in lines] == [
        "#1 GET /v1/projects?q=*** 200",
        "GET /_stub 401 token_invalid",
        "a request 400 malformed_request",
        "GET /_stub/reset 413 body_too_large",
    ]
    assert not re.search("s3cret|wrong-one", done.stderr)
    assert [line for line in done.stderr.splitlines() if line in written] == [*written[1::2]]


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
            client.send(get("/v1/projects?a=s3cret-token", "Host: stub.example"))
            client.assert_rejected(400, "host_not_allowed")

    run("--quiet", "--token", "team=s3cret-token", "--log", str(file), during=ask)
    text = file.read_text("utf-8")
    assert "s3cret" not in text
    first, fault, clock, second, read, rejected = map(json.loads, text.splitlines())
    for line, entry in zip((first, second), journal, strict=True):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]{12}Z", line["time"])
        assert (line["tenant"], line["world"]) == ("team", "job")
        shared = line.keys() & entry.keys() - {"time"}
        assert {"number", "status", "code", "reason", "path", "query", "fault"} <= shared
        assert {name: line[name] for name in shared} == {name: entry[name] for name in shared}
    assert (fault["number"], fault["path"], fault["status"]) == (None, "/_stub/faults", 201)
    assert (read["method"], read["tenant"], read["world"]) == ("GET", "team", "job")
    assert (clock["code"], clock["reason"][:9]) == ("invalid_body", "/advance ")
    assert (rejected["status"], rejected["code"]) == (400, "host_not_allowed")
    assert fault["ms"] > 0
    assert fault.keys() == first.keys() == rejected.keys()


def test_a_file_that_was_moved_or_truncated_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with closing(LogFile(path)) as log:
        log.add("1\n")
        path.rename(tmp_path / "moved")
        log.add("2\n")
        assert (tmp_path / "moved").read_text("utf-8").endswith("Z 1\n")
        assert path.read_text("utf-8").endswith("Z 2\n")
        assert path.stat().st_mode & 0o777 == 0o600  # others cannot read the new one
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


HOST = "Host (.*) is not served: start with --trusted-host (.*)"
PREFLIGHT = "preflight from (.*): start with --cors-origin (.*), or STUB_CORS_ORIGIN=.*"


def test_what_the_start_does_not_allow_is_explained_once_and_masked(tmp_path: Path) -> None:
    own = "My.Own~Secret_2/x+y"
    files = [tmp_path / "log.jsonl", tmp_path / "report.json"]
    preflight = ("Host: localhost", "Origin: http://a:2", "Access-Control-Request-Method: GET")

    def ask(url: str) -> None:
        for host in 2 * ["stub.test:99", "[2001:db8::1]:9", "My.Own~Sec:80"]:
            with Connection(port_of(url)) as client:
                client.send(get(f"http://{host}/v1/projects", f"Host: {host}"))
                client.assert_rejected(400, "host_not_allowed")
        with Connection(port_of(url)) as client:
            for path in ("/v1/projects", "/v1/deployments/x"):
                client.send(get(path, *preflight, method="OPTIONS"))
                assert client.reply().status_code == 401

    options = ("--log", str(files[0]), "--report", str(files[1]), "--cors-origin", "http://a:1")
    stderr = run(*options, "--token", own, during=ask).stderr
    assert re.findall(HOST, stderr) == [
        ("stub.test:99", "stub.test"),
        ("[2001:db8::1]:9", "2001:db8::1"),
        ("***", "***"),
    ]
    assert re.findall(f"^{PREFLIGHT}$", stderr, re.MULTILINE) == [("http://a:2", "http://a:2")]
    assert "GET http://***/v1/projects 400 host_not_allowed" in stderr
    for text in (stderr, *(each.read_text("utf-8") for each in files)):
        assert "my.own" not in text.lower()


# Commands, variables, and whether the command is warned of for calling nothing below /v1.
COMMANDS: list[tuple[list[str], dict[str, str], bool]] = [
    (["--", "true"], {}, True),
    (["--", "no-such-command"], {}, False),
    (command(0, "/_stub/state", "/projects"), {}, True),
    (command(0, "/v1/nothing"), {}, False),
    ([], {"STUB_PORT": "0"}, False),
]
PROXIES: list[tuple[dict[str, str], bool]] = [
    ({"HTTP_PROXY": "http://a"}, True),
    ({"http_proxy": "http://a", "no_proxy": "a,127.0.0.1"}, False),
    ({"http_proxy": ""}, False),
]


def test_a_command_that_does_not_call_the_interface_is_warned_of() -> None:
    warning = "warning: no request to /v1: does the command use STUB_URL, or --env NAME={url}?"
    for words, env, is_warned in COMMANDS:
        assert (warning in run("--quiet", *words, env=env).stderr) is is_warned
    hint = f"{warning} HTTP_PROXY is set: set NO_PROXY and no_proxy to 127.0.0.1,localhost\n"
    for env, is_named in PROXIES:
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
