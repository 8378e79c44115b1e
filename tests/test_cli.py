"""The program, as somebody meets it in a terminal."""

import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from cli import VERSION, command
from tests.conftest import ROOT, environment, program
from tests.wire import Connection


def ask(
    url: str, *, method: str | None = None, data: bytes | None = None, token: str = "dev-token"
) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with urlopen(Request(url, data, headers, method=method)) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def refused(*args: str, env: dict[str, str] | None = None) -> str:
    """What a program that does not start says: stdout is empty, the exit code is not 0."""
    done = subprocess.run(
        [sys.executable, "app.py", *args],
        cwd=ROOT,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    return done.stderr


def test_it_says_where_it_listens_and_how_to_ask_it() -> None:
    with program(quiet=False) as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert ask(f"{url}/v1/projects")[0] == 200
        process.terminate()
        stdout, stderr = process.communicate(timeout=10)
    assert stdout == ""
    hint, line, *coverage = stderr.splitlines()
    assert hint == f'try: curl -H "Authorization: Bearer dev-token" {url}/v1/projects'
    assert re.fullmatch(r"GET /v1/projects 200 \d+\.\d ms", line)
    assert coverage[0].startswith("coverage: 1 of ")


def test_every_request_gets_one_line_without_secrets_or_control_characters() -> None:
    secret = "s3cret-token"
    with program("--token", secret, quiet=False) as (process, url):
        for path in (
            f"/v1/{secret}",
            "/v1/s3cret%2Dtoken",
            f"/v1/deployments/x?token={secret}",
            "/v1/a%0ab%1b%5B31m%00%c2%85%e2%80%ae",
            "//v1/projects",
            "/v1/deployments/%ff",
        ):
            assert ask(url + path, token=secret)[0] == 404
        assert ask(f"{url}/v1/projects", token="wrong-one")[0] == 401
        assert ask(f"{url}/v1/projects", token=secret, data=b'{"name": "x"}')[0] == 201
        assert ask(f"{url}/v1/projects", token=secret, method=secret.upper())[0] == 405
        process.terminate()
        _, stderr = process.communicate(timeout=10)
    hint, *lines = stderr.partition("coverage: ")[0].splitlines()
    assert hint == f'try: curl -H "Authorization: Bearer $STUB_TOKEN" {url}/v1/projects'
    assert [re.sub(r" \d+\.\d ms$", "", line) for line in lines] == [
        "GET /v1/*** 404",
        "GET /v1/*** 404",
        "GET /v1/deployments/x 404",
        "GET /v1/a%0Ab%1B%5B31m%00%C2%85%E2%80%AE 404",
        "GET //v1/projects 404",
        "GET /v1/deployments/%FF 404",
        "GET /v1/projects 401",
        "POST /v1/projects 201",
        "*** /v1/projects 405",
    ]
    assert secret not in stderr
    assert "wrong-one" not in stderr


def test_quiet_is_quiet_and_closed_streams_do_no_harm() -> None:
    with program("--no-stub") as (process, url):
        assert ask(f"{url}/v1/projects")[0] == 200
        process.terminate()
        stdout, stderr = process.communicate(timeout=10)
    assert stdout == ""
    assert len(stderr.splitlines()) == 1
    with program(quiet=False) as (process, url):
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stderr.close()
        for _ in range(3):
            assert ask(f"{url}/v1/projects")[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_success(number: signal.Signals) -> None:
    with program() as (process, url):
        ask(f"{url}/v1/projects")
        process.send_signal(number)
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("args", "env", "check"),
    [
        (["--empty"], {}, ("/v1/projects", b'{"projects": []}\n')),
        ([], {"STUB_EMPTY": "1"}, ("/v1/projects", b'{"projects": []}\n')),
        (["--empty", "--host", "localhost"], {}, ("/v1/projects", b'{"projects": []}\n')),
        (["--empty", "--threads", "1"], {}, ("/v1/projects", b'{"projects": []}\n')),
        ([], {"STUB_STRICT": "1"}, ("/v1/projects?a=1", None)),
    ],
)
def test_options_are_environment_variables_too(
    args: list[str], env: dict[str, str], check: tuple[str, bytes | None]
) -> None:
    path, expected = check
    with program(*args, env=env) as (_, url):
        status, body = ask(url + path)
        assert body == expected if expected else status == 400


def test_tokens_are_repeatable_and_replace_the_published_one() -> None:
    for args, env in ((["--token", "one", "--token", "two"], {}), ([], {"STUB_TOKEN": "one two"})):
        with program(*args, env=env) as (_, url):
            statuses = [
                ask(f"{url}/v1/projects", token=it)[0] for it in ("one", "two", "dev-token")
            ]
            assert statuses == [200, 200, 401]


def test_of_several_tokens_the_hint_takes_the_first() -> None:
    env = {"STUB_TOKEN": "one two"}
    with program(quiet=False, env=env) as (process, url):
        process.terminate()
        hint = process.communicate(timeout=10)[1].splitlines()[0]
    command = hint.removeprefix("try: curl").replace(url, "")
    shown = subprocess.run(["sh", "-c", f"echo {command}"], env=env, capture_output=True, text=True)
    assert shown.stdout == "-H Authorization: Bearer one /v1/projects\n"


def test_any_address_will_do_with_a_token() -> None:
    with program("--host", "0.0.0.0", "--token", "one") as (_, url):
        assert ask(url.replace("0.0.0.0", "127.0.0.1") + "/v1/projects", token="one")[0] == 200


def test_pace_and_room_are_as_told(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "a"}]}', "utf-8")
    with program("--seed", str(seed), "--pace", "0", "--max-projects", "2") as (_, url):
        status, body = ask(f"{url}/v1/projects", data=b'{"name": "b"}')
        assert status == 201
        path = f"/v1/deployments/{json.loads(body)['latest_deployment_id']}"
        assert json.loads(ask(url + path)[1])["status"] == "succeeded"
        assert ask(f"{url}/v1/projects", data=b'{"name": "c"}')[0] == 507


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--prot", "1"], "'--prot'"),
        (["--port"], "'--port' requires an argument"),
        (["--port", "99999"], "'--port': 99999"),
        (["--port", "-1"], "'--port': -1"),
        (["--port", "http"], "'--port': 'http'"),
        (["--pace", "nan"], "'--pace': give a finite number"),
        (["--pace", "inf"], "'--pace': give a finite number"),
        (["--pace", "-1"], "'--pace': -1"),
        (["--max-projects", "0"], "'--max-projects': 0"),
        (["--threads", "0"], "'--threads': 0"),
        (["--threads", "1001"], "'--threads': 1001"),
        (["--token", "a b"], "a token is made of A-Z"),
        (["--token", ""], "a token is made of A-Z"),
        (["--token", "good", "--token", "ü"], "a token is made of A-Z"),
        (["--host", "0.0.0.0"], "give a --token"),
        (["--host", "::"], "give a --token"),
        (["--host", ""], "no address"),
        (["--host", "0.0.0.0", "--token", "dev-token"], "give a --token"),
        (["--host", "no-such-host.invalid"], "no-such-host.invalid"),
        (["--host", "a..b"], "a..b"),
        (["--host", "192.0.2.1", "--token", "a"], "192.0.2.1"),
        (["--empty", "--seed", "x.json"], "exclude each other"),
        (["--no-stub", "--grease"], "--no-stub leaves out"),
        (["--seed", "no/such.json"], "no/such.json: No such file"),
        (["--seed", "."], "Is a directory"),
        (["--states", "no/such.json"], "no/such.json: No such file"),
        (["--cors-origin", "localhost:5173"], "an origin is a scheme and a host"),
        (["--cors-origin", "http://localhost:5173/"], "an origin is a scheme and a host"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_bad_usage_is_one_line_that_says_what_to_do(args: list[str], reason: str) -> None:
    said = refused(*args)
    assert len(said.splitlines()) == 1
    assert reason in said


def test_bad_environment_variables_are_named() -> None:
    assert "STUB_PORT" in refused(env={"STUB_PORT": "x"})
    with program(env={"STUB_VERSION": "1.0.0", "FLASK_DEBUG": "1"}) as (_, url):
        assert ask(f"{url}/v1/projects")[0] == 200


def test_a_token_that_is_refused_is_not_repeated() -> None:
    assert "s3cret" not in refused("--token", "s3cret!")


def test_a_busy_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        said = refused("--port", str(port))
    assert len(said.splitlines()) == 1
    assert f"port {port}" in said
    assert "--port" in said


def test_a_bad_seed_is_a_line_for_each_fault(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    forged = "x\\nerror: \\u001b"
    seed.write_text(f'{{"projects": [{{}}, 1], "{forged}": 1}}', "utf-8")
    assert refused("--seed", str(seed)).splitlines() == [
        f"error: {seed}: /{forged}: is unknown here",
        f"error: {seed}: /projects/0/name: is required",
        f"error: {seed}: /projects/1: must be a JSON object",
    ]


def test_a_bad_states_file_names_the_place(tmp_path: Path) -> None:
    states = tmp_path / "states.json"
    states.write_text('{"ready": {"projects": [{}]}}', "utf-8")
    said = refused("--states", str(states))
    assert said == f"error: {states}: /ready/projects/0/name: is required\n"


def test_the_control_routes_are_left_out_by_either_name() -> None:
    for args, env in ((["--no-stub"], {}), ([], {"STUB_NO_STUB": "1"})):
        with program(*args, env=env) as (_, url):
            assert ask(f"{url}/_stub/health")[0] == 404


def test_a_cut_answer_ends_its_connection() -> None:
    with program() as (_, url):
        for method, size, sent in (("GET", 5, 5), ("GET", 9999, None), ("HEAD", 0, 0)):
            version, fields = ("1.0", "Connection: keep-alive\r\n") if size == 5 else ("1.1", "")
            assert ask(f"{url}/_stub/faults", data=b'{"cut": %d}' % size)[0] == 201
            with Connection(int(url.rpartition(":")[2])) as client:
                asked = f"/v1/deployments/dpl_failed HTTP/{version}\r\nHost: localhost\r\n{fields}"
                client.send(f"{method} {asked}Authorization: Bearer dev-token\r\n\r\n".encode())
                head = client.until(b"\r\n\r\n")
                assert head.count(b"Connection: ") == 1
                while client.more():
                    pass
                whole = int(re.search(rb"Content-Length: ([0-9]+)", head)[1])
                assert whole > 50
                assert len(client.unread) == (whole if sent is None else sent)


def test_delayed_requests_leave_the_control_routes_free() -> None:
    with ExitStack() as stack:
        _, url = stack.enter_context(program("--threads", "2", "--grace", "0"))
        fault = b'{"delay": 30, "times": 9}'
        assert ask(f"{url}/_stub/faults", data=fault)[0] == 201
        asked = b"GET /v1/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev-token"
        for _ in range(8):
            client = stack.enter_context(Connection(int(url.rpartition(":")[2])))
            client.send(asked + b"\r\n\r\n")
        # Every thread of the main lane is asleep once two were met by the fault.
        while json.loads(ask(f"{url}/_stub/faults")[1])["faults"][0]["remaining"] != 7:
            pass
        assert ask(f"{url}/_stub/reset", data=b"{}")[0] == 204


def test_help_and_version_are_on_stdout() -> None:
    for option, expected in (("--help", "--max-projects"), ("--version", VERSION)):
        done = subprocess.run(
            [sys.executable, "app.py", option], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert expected in done.stdout
        assert done.stderr == ""


def test_the_default_is_8080_on_loopback() -> None:
    defaults = {option.name: option.default for option in command.params}
    assert (defaults["host"], defaults["port"]) == ("127.0.0.1", 8080)
