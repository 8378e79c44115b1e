"""The options and their variables: what each does, and the messages for invalid ones."""

import re
import threading

import pytest
from flask import Flask

from cli.options import Settings
from stub import Options, create_stub
from tests.conftest import ROOT
from tests.contract import V1
from tests.program import not_started, run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process

EMPTY = b'{"projects": []}'
EFFECTS: list[tuple[list[str], dict[str, str], str, bytes]] = [
    ([], {"STUB_EMPTY": "1", "STUB_VERSION": "1", "FLASK_DEBUG": "1"}, "/v1/projects", EMPTY),
    (["--strict"], {}, "/v1/projects?a=1", b"unknown_query"),
    (["--token", "one"], {}, "/v1/projects", b"token_invalid"),
    ([], {"STUB_MAX_PROJECTS": "", "STUB_TOKEN": ""}, "/v1/projects", b"website"),
    (["--grease", "member-order"], {}, "/_stub/grease", b'["member-order"]'),
    ([], {"STUB_GREASE": "tier1"}, "/_stub/grease", b'"headers", "ids", "times"]'),
    (["--grease"], {}, "/_stub/grease", b'"headers", "ids", "times"]'),
    ([], {"STUB_OUTCOME": "odd\na *=x"}, "/_stub/console", b'{"names": "a *", "status": "x"}, {"'),
]


def test_an_option_or_its_variable_has_its_effect() -> None:
    for args, env, path, found in EFFECTS:

        def ask(url: str, path: str = path) -> bytes:
            return call(url, path).data

        assert found in run(*args, env=env, during=ask).result, args


def test_what_concerns_the_server_is_passed_on() -> None:
    others = {*threading.enumerate()}
    entered, may_leave, left = threading.Event(), threading.Event(), threading.Event()

    def create(options: Options) -> Flask:
        app = create_stub(options)

        @app.get("/wait")
        def wait() -> str:
            entered.set()
            may_leave.wait(9)  # less than the usual grace
            left.set()
            return ""

        return app

    def ask(url: str) -> None:
        mine = {*threading.enumerate()} - others
        assert sum(thread.name.startswith("waitress") for thread in mine) == 3
        for host, status in (("team.test", 200), ("a.invalid", 400)):
            with Connection(port_of(url)) as client:
                client.send(get("/openapi.json", f"Host: {host}"))
                assert client.reply().status_code == status
        call(url, "/v1/projects")
        (entry,) = call(url, "/_stub/requests").json["requests"]
        assert entry["ms"] >= 50
        with Connection(port_of(url)) as client:
            client.send(get("/wait", "Host: localhost", "Authorization: Bearer dev-token"))
            assert entered.wait(10)

    served = ("--threads", "3", "--delay", "0.05", "--grace", "0")
    run(*served, "--trusted-host", "team.test", create_stub=create, during=ask)
    assert not left.is_set()
    may_leave.set()
    assert left.wait(10)


def test_the_help_has_its_titles_and_the_defaults_are_those_of_the_fields() -> None:
    text = run("-h").stdout
    titles = ["Every day:", "In a client team's tests:", "How to serve:", "About:", "Commands:"]
    assert re.findall(r"^\S.*:$", text, re.MULTILINE) == titles
    for field in ("port: 8080", "pace: 2.0", "delay: 0.0", "token: dev-token", "grace: 10.0"):
        name, default = field.split(": ")
        assert re.search(rf"  --{name} [^[]*\[default:\s+{re.escape(default)}[];]", text), field
    assert Settings(port=1).options.tokens == ("dev-token",)


INVALID: list[tuple[list[str], str]] = [
    (["--report", "x", "verify", "x"], "takes no command, and its options come after its name: "),
    (["--port", "1", "docs", "--", "ls"], "come after its name: remove --port, --."),
    (["--quiet", "npm", "test"], "put -- before the command: -- npm ... (leave it out to start o"),
    (["verfy", "http://a"], "put -- before the command: -- verfy ... (did you mean verify?)"),
    (["--pace", "nan"], "is not a valid number."),
    (["--freeze", "9901-01-01T00:00:00Z"], "up to 9900"),
    (["--host", "*"], "'--host': no address is known for '*': give a host name or an IP address."),
    (["--host", "0", "--token", "dev-token"], "0 can be reached from elsewhere, and dev-token"),
    (["--trusted-host", "http://a"], "'http://a' is not a host name"),
    (["--trusted-host", ""], "'' is not a host name"),
    (["--store", "redis://x", "--max-projects", "1001"], "1001 is too many with --store: give at"),
    (["--cors-origin", "localhost:5173"], "an origin is a scheme and a host"),
    (["--grease", "members,nope"], "'nope' is not an axis: use members, "),
    (["--grease", "members@Nope"], "'Nope' is not a part that members varies: use ProjectList, "),
    *((["--delay", each], "'--delay': ") for each in ("31", "0.2-1.5", "-1")),
    (["--report", " "], "'--report': give the name of a file, not ' '."),
    (["--log", "-"], "'--log': give the name of a file, not '-'."),
    (["--outcome", "a", "--outcome", "b"], "'--outcome': give only one status without a pattern."),
    (["--outcome", "=failed"], "'--outcome': '=failed' lacks the pattern: give PATTERN=STATUS, "),
    (["--outcome", "a*=b c"], "'--outcome': 'b c' must be a string of 1 to 64 char"),
    *((["--env", each, "--", "true"], "'--env': give NAME=VALUE, ") for each in ("A", "=", "A B=")),
    (["--env", "A={Url}", "--", "true"], "{Url} is not {url}, {token} or {port}."),
    (
        ["--probe", "ids,failure", "--", "true"],
        "'failure' is unknown: the choices are tier1, all, fail",
    ),
    # What contradicts other options.
    (["--empty", "--seed", __file__], "give either --empty or --seed."),
    (["--store", "redis://x", "--probe", "all", "--", "true"], "leave out --grease and --store."),
    (["--probe", "all", "--grease", "--", "true"], "leave out --grease and --store."),
    (["--probe", "all"], "--probe: give a command after --."),
    (["--keep", "x", "--store", "redis://x"], "--store keeps the records by itself: leave out --k"),
    (
        ["--keep", "x", "--probe", "--", "true"],
        "--probe starts each run without records: leave out --keep.",
    ),
    (["--env", "A={url}"], "--env: give a command after --."),
    *((["--", *each], "give a command after --.") for each in ([], [" "])),
    (["--grease", "", "--store", ""], "--grease, --store is empty"),
    (["--allow", " \n "], "--allow is empty"),
]
INVALID_VARIABLES = [
    ("STUB_PORT", "x", "'x' is not a valid integer."),
    ("STUB_TOKEN", "s3cret!", "a token is made of"),
    ("STUB_TOKEN", ",", "a token is made of"),
]


def test_invalid_usage_is_one_line_with_the_reason() -> None:
    messages = [(not_started(*args), reason) for args, reason in INVALID]
    for name, value, reason in INVALID_VARIABLES:
        error = not_started(env={name: value})
        messages.append((error, f"Invalid value for '{name}': {reason}"))
    for message, reason in messages:
        assert len(message.splitlines()) == 1
        assert reason in message
        assert "s3cret" not in message


def test_the_variables_of_the_options_are_nothing_to_another_command() -> None:
    env = {"STUB_PORT": "x", "STUB_SEED": "/no/such", "STUB_LOG": "/no/such/log"}
    assert run("docs", "node", env=env).status == 0
    assert run("verify", env=env).stderr.startswith("error: give either the URL")


# Variables that set no option, and the nearest that do.
UNKNOWN = {
    "STUB_LISTEN_PORT": "",
    "STUB_MAXPROJECTS": "STUB_MAX_PROJECTS",
    "STUB_TOKENS": "STUB_TOKEN",
}


def test_an_unknown_variable_is_a_warning() -> None:
    known = {"STUB_PACE": "0", "STUB_URL": "http://x", "STUB_PROGRAM": "app.py"}
    shown = run(env={**dict.fromkeys(UNKNOWN, "1"), **known}).stderr
    warnings = re.findall("warning: (.*) sets no option(?:: did you mean (.*)[?])?", shown)
    assert dict(warnings) == UNKNOWN


def test_a_list_in_a_variable_is_read_whatever_separates_and_ends_it() -> None:
    patterns = "\ufeffidle: listProjects\r\nidle: create*\n\n idle: [!c]* \r\n"
    env = {
        "STUB_FAIL_ON": "violations, unpromised\tidle,\r\n",
        "STUB_ALLOW": patterns,
        "STUB_TOKEN": "first-token,second-token",
        "STUB_HOST": "127.0.0.1\r\n",
    }
    done = run(during=lambda url: call(url, "/v1/projects", token="second-token"), env=env)
    assert done.result.status_code == 200
    assert "--allow 'idle: listProjects' matches no finding" in done.stderr
    done = run("--fail-on", "idle", "--allow", patterns)
    found = (done.status, "finding" in done.stderr, "matches no" in done.stderr)
    assert found == (0, False, False)


def test_the_version_is_that_of_the_contract_and_of_the_image() -> None:
    done = run("--version")
    assert done[:3] == (0, f"{V1.document['info']['version']}\n", "")
    label = f'org.opencontainers.image.version="{done.stdout.strip()}"\n'
    assert label in (ROOT / "Dockerfile").read_text("utf-8")
