"""The options and their variables: what each does, and the messages for invalid ones."""

import re
import socket
import threading
from typing import Any

import pytest
from flask import Flask

from tests.contract import V1, assert_problem
from tests.program import not_started, run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process


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
    done = run(*args, env=env, during=lambda url: call(url, "/v1/projects"))
    assert done.result.json == {"projects": []}


@pytest.mark.parametrize(("args", "env"), [(["--strict"], {}), ([], {"STUB_STRICT": "1"})])
def test_strict_rejects_query_parameters(args: list[str], env: dict[str, str]) -> None:
    done = run(*args, env=env, during=lambda url: call(url, "/v1/projects?a=1"))
    assert_problem(done.result, 400, "unknown_query")


@pytest.mark.parametrize(("args", "env"), [(["--no-stub"], {}), ([], {"STUB_NO_STUB": "1"})])
def test_no_stub_leaves_the_control_routes_out(args: list[str], env: dict[str, str]) -> None:
    done = run(*args, env=env, during=lambda url: call(url, "/_stub/health"))
    assert_problem(done.result, 404, "not_found")


@pytest.mark.parametrize(
    ("args", "env"), [(["--token", "one", "--token", "two"], {}), ([], {"STUB_TOKEN": "one two"})]
)
def test_tokens_are_repeatable_and_replace_the_published_one(
    args: list[str], env: dict[str, str]
) -> None:
    tokens = ("one", "two", "dev-token")
    done = run(
        *args,
        env=env,
        during=lambda url: [call(url, "/v1/projects", token=token) for token in tokens],
    )
    *valid, published = done.result
    assert [response.status_code for response in valid] == [200, 200]
    assert_problem(published, 401, "token_invalid")


def test_with_a_token_it_listens_on_any_address() -> None:
    done = run(
        *("--host", "0.0.0.0", "--token", "one"),
        during=lambda url: (url, call(url, "/v1/projects", token="one").status_code),
    )
    url, status = done.result
    assert re.fullmatch(r"http://0\.0\.0\.0:\d+", url)
    assert status == 200
    assert f"open http://127.0.0.1:{port_of(url)}/\n" in done.stderr


def test_freeze_and_ids_seed_fix_times_and_ids() -> None:
    def create(url: str) -> Any:
        return call(url, "/v1/projects", body=b'{"name": "a"}').json

    options = ("--freeze", "2026-01-05T09:00:00Z", "--ids-seed", "5")
    one, other = run(*options, during=create).result, run(*options, during=create).result
    assert one == other
    assert one["created_at"] == "2026-01-05T09:00:00.000Z"
    assert run("--ids-seed", "6", during=create).result["id"] != one["id"]


def test_a_delay_may_have_an_exponent() -> None:
    for text in ("1e-3", "1e-3-2E-3", "0.001-2e-3"):
        assert run("--delay", text).status == 0, text


def test_delay_is_the_least_time_that_a_response_takes() -> None:
    def ask(url: str) -> Any:
        call(url, "/v1/projects")
        return call(url, "/_stub/requests").json["requests"]

    (entry,) = run("--delay", "0.05", during=ask).result
    assert entry["ms"] >= 50


def test_grease_varies_responses() -> None:
    done = run("--grease", during=lambda url: call(url, "/v1/projects"))
    assert "Stub-Grease" in done.result.headers


def test_an_origin_of_cors_may_read_responses_and_rejections_of_the_server() -> None:
    def ask(url: str) -> Any:
        replies = []
        for host in ("localhost", "a.invalid"):
            with Connection(port_of(url)) as page:
                page.send(get("/openapi.json", f"Host: {host}", "Origin: http://page.test"))
                replies.append(page.reply())
        return replies

    served, rejected = run("--cors-origin", "http://page.test", during=ask).result
    assert served.status_code == 200
    assert_problem(rejected, 400, "host_not_allowed")
    for reply in (served, rejected):
        assert reply.headers["Access-Control-Allow-Origin"] == "http://page.test"


def test_a_trusted_host_is_served_on_loopback() -> None:
    def ask(url: str) -> Any:
        with Connection(port_of(url)) as client:
            client.send(get("/openapi.json", "Host: team.test"))
            return client.reply()

    assert run("--trusted-host", "team.test", during=ask).result.status_code == 200
    assert_problem(run(during=ask).result, 400, "host_not_allowed")


def test_the_help_shows_the_defaults() -> None:
    entry = r"\n  --([a-z-]+)(?:(?!\n  --).)*?\[default:\s+([^];]+)"
    defaults = dict(re.findall(entry, run("--help").stdout, re.DOTALL))
    assert defaults == {
        "port": "8080",
        "pace": "2.0",
        "delay": "0",
        "host": "127.0.0.1",
        "max-projects": "100000",
        "threads": "16",
        "deadline": "30.0",
        "grace": "10.0",
    }


def test_the_deadline_ends_a_request_that_does_not_arrive() -> None:
    def ask(url: str) -> bool:
        with Connection(port_of(url)) as client:  # which waits ten seconds
            client.send(b"GET / HTTP/1.1\r\n")
            while client.more():
                pass
            return True

    assert run("--deadline", "0.1", during=ask).result


def test_threads_is_the_number_of_requests_that_run_at_once() -> None:
    others = {*threading.enumerate()}
    app = Flask("counting")

    @app.get("/")
    def count() -> str:
        mine = {*threading.enumerate()} - others
        return str(len([thread for thread in mine if thread.name.startswith("waitress")]))

    done = run(
        *("--threads", "3", "--no-stub"),
        create_app=lambda **options: app,
        during=lambda url: call(url, "/").data,
    )
    assert done.result == b"3"


def test_without_grace_the_end_waits_for_no_request() -> None:
    app = Flask("waiting")
    entered, may_leave, left = threading.Event(), threading.Event(), threading.Event()

    @app.get("/")
    def wait() -> str:
        entered.set()
        may_leave.wait(9)  # less than the default
        left.set()
        return ""

    def ask(url: str) -> None:
        with Connection(port_of(url)) as client:
            client.send(get())
            assert entered.wait(10)

    run("--grace", "0", create_app=lambda **options: app, during=ask)
    assert not left.is_set()
    may_leave.set()
    assert left.wait(10)


def test_a_seed_may_be_longer_than_any_other_body() -> None:
    body = b'{"projects": []}' + 2_000_000 * b" "

    def ask(url: str) -> Any:
        return call(url, "/_stub/reset", body=body)

    assert run(during=ask).result.status_code == 204
    assert_problem(run("--no-stub", during=ask).result, 413, "body_too_large")


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--prot", "1"], "'--prot'"),
        (["--port"], "'--port' requires an argument"),
        (["--port", "65536"], "'--port': 65536"),
        (["--port", "99999"], "'--port': 99999"),
        (["--port", "-1"], "'--port': -1"),
        (["--port", "http"], "'--port': 'http'"),
        (["--pace", "nan"], "'--pace': give a finite number"),
        (["--pace", "inf"], "'--pace': give a finite number"),
        (["--pace", "-1"], "'--pace': -1"),
        (["--pace", "x"], "'x' is not a valid number.\n"),
        (["--deadline", "0"], "'--deadline': 0"),
        (["--deadline", "nan"], "'--deadline': give a finite number"),
        (["--grace", "-1"], "'--grace': -1"),
        (["--grace", "inf"], "'--grace': give a finite number"),
        (["--max-projects", "0"], "'--max-projects': 0"),
        (["--threads", "0"], "'--threads': 0"),
        (["--threads", "1001"], "'--threads': 1001"),
        (["--token", "a b"], "a token is made of A-Z"),
        (["--token", ""], "a token is made of A-Z"),
        (["--token", "good", "--token", "ü"], "a token is made of A-Z"),
        (["--token", "a", "--token", "a.b"], "--token: one token would also be a world of another"),
        (["--host", "0.0.0.0"], "STUB_TOKEN, a token of your own, is missing: type `-e "),
        (["--host", "::"], "give a --token"),
        (["--host", ""], "no address"),
        (["--host", "*"], "'*' is no address that a client could call"),
        (["--host", "*", "--token", "a"], "'*' is no address that a client could call"),
        (["--host", "224.0.0.1", "--token", "a"], "'224.0.0.1' is no address that a client"),
        (["--host", "255.255.255.255", "--token", "a"], "is no address that a client"),
        (["--host", "http://localhost"], "no address"),
        (["--host", "localhost:80"], "no address"),
        (["--host", "0.0.0.0", "--token", "dev-token"], "give a --token"),
        (["--host", "no-such-host.invalid"], "no-such-host.invalid"),
        (["--host", "a..b"], "a..b"),
        (["--host", "192.0.2.1", "--token", "a"], "192.0.2.1"),
        (["--threads", "1000", "--host", "192.0.2.1", "--token", "a"], "192.0.2.1"),
        (["--trusted-host", "http://a"], "http://a is not a host name"),
        (["--store", "http://a"], "'--store': give a URL such as redis://"),
        (["--empty", "--seed", "x.json"], "exclude each other"),
        (["--seed", "no/such.json"], "no/such.json: No such file"),
        (["--seed", "."], "Is a directory"),
        (["--states", "no/such.json"], "no/such.json: No such file"),
        (["--cors-origin", "localhost:5173"], "an origin is a scheme and a host"),
        (["--cors-origin", "http://localhost:5173/"], "an origin is a scheme and a host"),
        (["--grease", "members,nope"], "'nope' is no axis: they are members, "),
        (["--grease", "member@Project"], "'member' is no axis: they are members, "),
        (["--grease", "all@Project"], "'all' is no axis: they are members, "),
        (["--grease", "members@Nope"], "'Nope' is no part of members: they are ProjectList, "),
        (["--grease", "members,members@"], "'' is no part of members: they are ProjectList, "),
        (["--grease", "times@Project"], "'Project' is no part of times: they are Project.created_"),
        (["--grease-seed", "-1"], "--grease-seed"),
        (["--ids-seed", "-1"], "--ids-seed"),
        (["--freeze", "yesterday"], "RFC 3339"),
        (["--freeze", "9999-01-01T00:00:00Z"], "RFC 3339"),
        (["--freeze", "9901-01-01T00:00:00Z"], "RFC 3339"),
        (["--delay", "2-1"], "0.2-1.5"),
        (["--delay", "x"], "0.2-1.5"),
        (["--delay", "-1"], "0.2-1.5"),
        (["--delay", "31"], "0.2-1.5"),
        (["--delay", "1-"], "0.2-1.5"),
        (["--delay", "nan"], "0.2-1.5"),
        (["--fail-on", "idle,x"], "'x' is unknown: there are violations"),
        (["extra"], "put -- before the command: -- extra"),
    ],
)
def test_invalid_usage_is_one_line_with_the_reason(args: list[str], reason: str) -> None:
    message = not_started(*args)
    assert len(message.splitlines()) == 1
    assert reason in message


@pytest.mark.parametrize(
    "args",
    [
        ["--states", "x.json"],
        ["--cors-origin", "*"],
        ["--grease"],
        ["--fail-on", "idle"],
        ["--report", "report.json"],
        ["--ids-seed", "0"],
        ["--freeze", "2026-01-05T09:00:00Z"],
        ["--delay", "0.1"],
    ],
    ids=lambda args: args[0],
)
def test_what_needs_the_stub_excludes_no_stub(args: list[str]) -> None:
    message = not_started("--no-stub", *args)
    assert message.startswith("error: --no-stub leaves out --states, ")
    assert args[0] in message


@pytest.mark.parametrize(
    "args",
    [
        ["--freeze", "9900-12-31T23:59:59Z"],
        ["--delay", "30-30", "--threads", "1"],
        ["--max-projects", "1", "--ids-seed", "0", "--grease-seed", "0"],
        ["--pace", "0", "--grace", "0"],
    ],
)
def test_the_outermost_values_are_valid(args: list[str]) -> None:
    assert run(*args).status == 0


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"STUB_PORT": "abc"}, "'abc' is not a valid integer. It is from STUB_PORT.\n"),
        ({"STUB_DELAY": "x"}, "or two such as 0.2-1.5. It is from STUB_DELAY.\n"),
    ],
)
def test_the_message_names_an_invalid_environment_variable(
    env: dict[str, str], message: str
) -> None:
    assert not_started(env=env).endswith(message)
    assert "It is from" not in not_started("--port", "x")


def test_an_empty_variable_sets_nothing() -> None:
    assert run(env={"STUB_MAX_PROJECTS": "", "STUB_TOKEN": ""}).status == 0


def test_an_unknown_variable_is_a_warning_with_the_nearest_name() -> None:
    env = {"STUB_PROT": "1", "STUB_MAXPROJECTS": "2", "STUB_PACE": "0", "STUB_TOKENS": "x"}
    others = {"STUB_URL": "http://x", "STUB_PROGRAM": "stub.pyz"}
    lines = run(env={**env, **others}).stderr.splitlines()
    assert [line for line in lines if line.startswith("warning: ")] == [
        "warning: STUB_MAXPROJECTS sets no option: did you mean STUB_MAX_PROJECTS?",
        "warning: STUB_PROT sets no option: did you mean STUB_PORT?",
        "warning: STUB_TOKENS sets no option: did you mean STUB_TOKEN?",
    ]


@pytest.mark.parametrize("option", ["--token", "--store"])
def test_an_invalid_secret_is_not_repeated(option: str) -> None:
    assert "s3cret" not in not_started(option, "s3cret!")


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        message = not_started("--port", str(port))
    assert len(message.splitlines()) == 1
    assert f"port {port}" in message
    assert "--port" in message


def test_the_version_is_that_of_the_contract() -> None:
    done = run("--version")
    assert done[:3] == (0, f"{V1.document['info']['version']}\n", "")


def test_the_default_is_port_8080_on_loopback() -> None:
    done = run("--help")
    assert (done.status, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert re.search(r"--port INTEGER [^-]*\[default: 8080;", text)
    assert re.search(r"--host TEXT [^-]*\[default: 127\.0\.0\.1\]", text)
    assert "--max-projects" in text
    titles = ("Every day:", "In a client team's tests:", "How to serve:", "About:", "Commands:")
    assert re.findall(r"^\S.*:$", done.stdout, re.MULTILINE) == [*titles]
