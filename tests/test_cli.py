"""The command line: each test runs the program."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, not_started, program
from tests.contract import V1, assert_problem
from tests.wire import call


def stderr_at_the_end(process: "subprocess.Popen[str]") -> str:
    """What the program has written to stderr, after it is stopped. stdout has nothing more."""
    process.terminate()
    stdout, stderr = process.communicate(timeout=10)
    assert stdout == ""
    return stderr


def test_it_prints_its_address_an_example_and_the_coverage() -> None:
    with program(quiet=False) as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert call(url, "/v1/projects").status_code == 200
        hint, page, line, *coverage = stderr_at_the_end(process).splitlines()
    assert hint == f'try: curl -H "Authorization: Bearer dev-token" {url}/v1/projects'
    assert page == f"open {url}/"
    assert re.fullmatch(r"GET /v1/projects 200 \d+\.\d ms", line)
    assert coverage[0].startswith("coverage: 1 of ")


LOGGED = [
    ("/v1/s3cret-token", "/v1/***"),
    ("/v1/s3cret%2Dtoken", "/v1/***"),
    ("/v1/deployments/x?token=s3cret-token", "/v1/deployments/x"),
    ("/v1/a%0ab%1b%5B31m%00%c2%85%e2%80%ae", "/v1/a%0ab%1b%5B31m%00%c2%85%e2%80%ae"),
    ("/v1%2Fprojects", "/v1%2Fprojects"),
    ("http://localhost/v1/deployments/a%2Fb?c", "/v1/deployments/a%2Fb"),
    ("//v1/projects", "//v1/projects"),
    ("/v1/deployments/%ff", "/v1/deployments/%ff"),
]


def test_each_request_is_logged_in_one_line_without_secrets_or_control_characters() -> None:
    token = "s3cret-token"
    with program("--token", token, quiet=False) as (process, url):
        for target, _ in LOGGED:
            response = call(url, target, token=token)
            assert_problem(response, 404, response.json["code"])
        response = call(url, "/v1/projects", token="wrong-one")
        assert_problem(response, 401, "token_invalid")
        response = call(url, "/v1/projects", token=token, body=b'{"name": "x"}')
        assert response.status_code == 201
        response = call(url, "/v1/projects", token=token, method=token.upper())
        assert_problem(response, 405, "method_not_allowed")
        stderr = stderr_at_the_end(process)
    hint, _, *lines = stderr.partition("coverage: ")[0].splitlines()
    assert hint == f'try: curl -H "Authorization: Bearer $STUB_TOKEN" {url}/v1/projects'
    assert [re.sub(r" \d+\.\d ms$", "", line) for line in lines] == [
        *(f"GET {path} 404" for _, path in LOGGED),
        "GET /v1/projects 401",
        "POST /v1/projects 201",
        "*** /v1/projects 405",
    ]
    assert token not in stderr
    assert "wrong-one" not in stderr


def test_a_rejection_of_the_server_is_logged_by_its_code_alone() -> None:
    with program(quiet=False) as (process, url):
        response = call(url, "/v1/projects", method="s3cret")
        assert_problem(response, 400, "malformed_request")
        *_, line = stderr_at_the_end(process).splitlines()
    assert line == "rejected 400 malformed_request"


def test_quiet_logs_no_requests() -> None:
    with program("--no-stub") as (process, url):
        assert call(url, "/v1/projects").status_code == 200
        assert len(stderr_at_the_end(process).splitlines()) == 1


def test_it_serves_with_closed_streams() -> None:
    with program(quiet=False) as (process, url):
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stderr.close()
        for _ in range(3):
            assert call(url, "/v1/projects").status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_success(number: signal.Signals) -> None:
    with program() as (process, url):
        call(url, "/v1/projects")
        process.send_signal(number)
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("args", "env"),
    [
        (["--empty"], {}),
        ([], {"STUB_EMPTY": "1"}),
        (["--empty", "--host", "localhost"], {}),
        (["--empty", "--threads", "1"], {}),
        (["--empty"], {"STUB_VERSION": "1.0.0", "FLASK_DEBUG": "1"}),
    ],
)
def test_empty_starts_without_projects(args: list[str], env: dict[str, str]) -> None:
    with program(*args, env=env) as (_, url):
        assert call(url, "/v1/projects").json == {"projects": []}


@pytest.mark.parametrize(("args", "env"), [(["--strict"], {}), ([], {"STUB_STRICT": "1"})])
def test_strict_rejects_query_parameters(args: list[str], env: dict[str, str]) -> None:
    with program(*args, env=env) as (_, url):
        assert_problem(call(url, "/v1/projects?a=1"), 400, "unknown_query")


@pytest.mark.parametrize(("args", "env"), [(["--no-stub"], {}), ([], {"STUB_NO_STUB": "1"})])
def test_no_stub_leaves_the_control_routes_out(args: list[str], env: dict[str, str]) -> None:
    with program(*args, env=env) as (_, url):
        assert_problem(call(url, "/_stub/health"), 404, "not_found")


@pytest.mark.parametrize(
    ("args", "env"), [(["--token", "one", "--token", "two"], {}), ([], {"STUB_TOKEN": "one two"})]
)
def test_tokens_are_repeatable_and_replace_the_published_one(
    args: list[str], env: dict[str, str]
) -> None:
    with program(*args, env=env) as (_, url):
        for token in ("one", "two"):
            assert call(url, "/v1/projects", token=token).status_code == 200
        assert_problem(call(url, "/v1/projects"), 401, "token_invalid")


def test_with_several_tokens_the_example_uses_the_first() -> None:
    env = {"STUB_TOKEN": "one two"}
    with program(quiet=False, env=env) as (process, url):
        hint = stderr_at_the_end(process).splitlines()[0]
    command = hint.removeprefix("try: curl").replace(url, "")
    shown = subprocess.run(["sh", "-c", f"echo {command}"], env=env, capture_output=True, text=True)
    assert shown.stdout == "-H Authorization: Bearer one /v1/projects\n"


def test_with_a_token_it_listens_on_any_address() -> None:
    with program("--host", "0.0.0.0", "--token", "one") as (_, url):
        assert call(url, "/v1/projects", token="one").status_code == 200


def test_seed_pace_and_maximum_are_those_of_the_options(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "a"}]}', "utf-8")
    with program("--seed", str(seed), "--pace", "0", "--max-projects", "2") as (_, url):
        created = call(url, "/v1/projects", body=b'{"name": "b"}')
        assert created.status_code == 201
        path = f"/v1/deployments/{created.json['latest_deployment_id']}"
        assert call(url, path).json["status"] == "succeeded"
        assert_problem(call(url, "/v1/projects", body=b'{"name": "c"}'), 507, "store_full")


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
def test_invalid_usage_is_one_line_with_the_reason(args: list[str], reason: str) -> None:
    message = not_started(*args)
    assert len(message.splitlines()) == 1
    assert reason in message


def test_the_message_names_an_invalid_environment_variable() -> None:
    assert "STUB_PORT" in not_started(env={"STUB_PORT": "x"})


def test_an_invalid_token_is_not_repeated() -> None:
    assert "s3cret" not in not_started("--token", "s3cret!")


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        message = not_started("--port", str(port))
    assert len(message.splitlines()) == 1
    assert f"port {port}" in message
    assert "--port" in message


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        (b"\xff", ["byte 1: not UTF-8"]),
        (b'{"projects":\n [}', ["line 2, column 3: Expecting value"]),
        (b"[]", ["the document: must be a JSON object"]),
        (
            b'{"projects": [{}, 1], "x\\nerror: \\u001b": 1}',
            [
                "/x\\nerror: \\u001b: is unknown here",
                "/projects/0/name: is required",
                "/projects/1: must be a JSON object",
            ],
        ),
    ],
)
def test_an_invalid_seed_file_is_one_line_for_each_error(
    tmp_path: Path, content: bytes, reasons: list[str]
) -> None:
    path = tmp_path / "seed.json"
    path.write_bytes(content)
    lines = not_started("--seed", str(path)).splitlines()
    assert lines == [f"error: {path}: {reason}" for reason in reasons]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "the document: must be a JSON object of seed documents by name"),
        ('{"a": []}', "/a: must be a JSON object"),
        ('{"a": {"projects": [{}]}}', "/a/projects/0/name: is required"),
        (
            '{"a": {"projects": [{"name": "b"}, {"name": "c"}]}}',
            "/a/projects: must have at most 1 items",
        ),
    ],
)
def test_an_invalid_states_file_is_one_line_for_each_error(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "states.json"
    path.write_text(text, "utf-8")
    message = not_started("--empty", "--max-projects", "1", "--states", str(path))
    assert message == f"error: {path}: {reason}\n"


def test_the_states_of_a_file_can_be_set_up(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    path.write_text('{"ready": {"projects": [{"name": "shop"}]}}', "utf-8")
    with program("--empty", "--states", str(path)) as (_, url):
        response = call(url, "/_stub/pact", body=b'{"state": "ready"}')
        assert (response.status_code, response.json["name"]) == (200, "shop")
        (project,) = call(url, "/v1/projects").json["projects"]
    assert project["name"] == "shop"


def test_it_prints_the_axes_and_the_seed_of_grease() -> None:
    with program("--grease", "--grease-seed", "7") as (process, _):
        stderr = stderr_at_the_end(process)
    axes = "members,member-order,json-text,headers,ids,times"
    assert f"responses vary on purpose: --grease {axes} --grease-seed 7\n" in stderr
    with program("--grease", "list-order,members") as (process, _):
        stderr = stderr_at_the_end(process)
    assert re.search(r"--grease members,list-order --grease-seed \d+\n", stderr)
    assert "'nope' is no axis: they are members, " in not_started("--grease", "members,nope")


def output_of(option: str) -> str:
    """What the program writes to stdout with an option that ends it."""
    done = subprocess.run(
        [sys.executable, "app.py", option], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_the_version_is_that_of_the_contract() -> None:
    assert output_of("--version") == f"{V1.document['info']['version']}\n"


def test_the_default_is_port_8080_on_loopback() -> None:
    text = " ".join(output_of("--help").split())
    assert re.search(r"--port INTEGER [^-]*\[default: 8080;", text)
    assert re.search(r"--host TEXT [^-]*\[default: 127\.0\.0\.1\]", text)
    assert "--max-projects" in text


def test_missing_packages_are_named_with_the_command_that_installs_them() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "app.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    command = f"{sys.executable} -m pip install -r {ROOT / 'requirements.txt'}"
    assert done.stderr == f"error: flask is not installed: run `{command}`\n"


def test_it_starts_through_a_link_and_in_isolated_mode(tmp_path: Path) -> None:
    link = tmp_path / "linked.py"
    link.symlink_to(ROOT / "app.py")
    for command in (["-I", "app.py"], [str(link)], ["-I", str(link)]):
        with subprocess.Popen(
            [sys.executable, *command, "--port", "0", "--quiet"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            url = process.stdout.readline().split()[-1]
            assert call(url, "/openapi.json").json["openapi"] == "3.1.0"
            process.terminate()


def test_ctrl_c_while_a_seed_is_read_ends_quietly(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    os.mkfifo(seed)
    with subprocess.Popen(
        [sys.executable, "app.py", "--seed", str(seed)], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        with seed.open("w"):  # returns when the program reads
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
        assert process.stderr
        assert process.stderr.read().strip() == ""


def test_a_long_integer_of_a_seed_stays_what_it_is(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    document = f'{{"projects": [{{"name": "a", "long": {4000 * "7"}}}]}}'
    seed.write_text(document)
    env = {"PYTHONINTMAXSTRDIGITS": "640"}
    with program("--seed", str(seed), env=env) as (_, url):
        assert (4000 * b"7") in call(url, "/v1/projects").data
        reset = call(url, "/_stub/reset", body=document.replace("7", "8").encode())
        assert reset.status_code == 204
        assert (4000 * b"8") in call(url, "/v1/projects").data
