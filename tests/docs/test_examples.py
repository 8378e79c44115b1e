"""The examples of the documents run, and the responses are as printed."""

import json
import re
import shlex
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from deployment_stub.pytest_options import ROWS
from tests.conftest import ROOT, SAMPLE_SEED, TOKEN, make_stub
from tests.docs.documents import (
    COMMANDS,
    PYTHON,
    TEXTS,
    blocks_of,
    execute,
    files_of,
    leave_out_the_stub,
    texts_in,
)
from tests.live import serving
from tests.program import environment, run
from tests.wire import call

pytestmark = pytest.mark.process

URL = "http://127.0.0.1:8080"
SAMPLE = (ROOT / "stub" / "sample.json").read_text("utf-8")
STARTS = [text.removeprefix(PYTHON) for text in COMMANDS if text.startswith(PYTHON + "app.py")]
STARTS = [start for start in STARTS if " -- " not in start]
# What the example of Pact verifies.
PACT = {
    "consumer": {"name": "client"},
    "provider": {"name": "stub"},
    "interactions": [
        {
            "description": "list",
            "providerState": "no projects exist",
            "request": {"method": "GET", "path": "/v1/projects"},
            "response": {"status": 200, "body": {"projects": []}},
        }
    ],
    "metadata": {"pactSpecification": {"version": "2.0.0"}},
}


def curl(command: str, client: FlaskClient) -> str:
    """What curl prints; the tests need no curl."""
    parser = ArgumentParser()
    parser.add_argument("-H", dest="headers", action="append")
    parser.add_argument("-d", dest="data")
    parser.add_argument("-X", dest="method")
    parser.add_argument("url")
    words = parser.parse_args(shlex.split(command.replace("\\\n", ""))[1:])
    headers = dict(line.split(": ") for line in words.headers)
    method = words.method or ("POST" if words.data else "GET")
    return client.open(words.url, method=method, data=words.data, headers=headers).text


def comparable(body: str) -> str:
    """A body without random ids, and without times other than those of the sample."""
    body = re.sub(r"_[0-9a-f]{16}\b", "_ID", body)
    return re.sub(
        r"\d{4}-\d\d-\d\dT[\d:.]+Z", lambda time: time[0] if time[0] in SAMPLE else "TIME", body
    )


# The document `like` has an app of its own.
CURLS = [name for name in TEXTS if "\n```sh\ncurl " in TEXTS[name] and name != "docs/like.md"]


@pytest.mark.parametrize("name", CURLS)
def test_every_curl_gets_the_response_that_is_printed(name: str) -> None:
    client = make_stub(seed=SAMPLE_SEED, pace=300).test_client()
    for (language, command), (following, printed) in pairwise([*blocks_of(name), ("", "")]):
        if language == "sh" and command.startswith("curl "):
            expected = f"{printed}\n" if following == "json" else ""
            assert comparable(curl(command, client)) == comparable(expected), command


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of the service with the sample; its deployments succeed at once."""
    app = make_stub(seed=SAMPLE_SEED, pace=0)
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("code", texts_in("python"))
def test_every_python_example_runs(
    code: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "client.json").write_text(json.dumps(PACT), "utf-8")
    code = code.replace("pacts", str(tmp_path)).replace(URL, url)
    exec(compile(code, "the documentation", "exec"), {})


@pytest.mark.parametrize("start", STARTS)
def test_every_command_that_starts_the_program_does_so(start: str, tmp_path: Path) -> None:
    files = {file: text for name in TEXTS for file, text in files_of(name).items()}
    arguments = start.split()[1:]
    for index, argument in enumerate(arguments):
        if argument in files:
            (tmp_path / argument).write_text(files[argument], "utf-8")
            arguments[index] = str(tmp_path / argument)
    done = run(*arguments, "--port", "0", during=lambda url: call(url, "/_stub/health"))
    assert done.result.status_code == 200


@pytest.mark.xdist_group("openapi")  # one worker imports the validator
def test_the_command_leaves_out_what_only_the_stub_has(tmp_path: Path) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    leave_out_the_stub(tmp_path)
    text = (tmp_path / "service.json").read_text("utf-8")
    document = json.loads(text)
    validate(document)
    words = r"stub|(?<![\w-])--[a-z]|world|loopback|trusted|strict(?! JSON)|store_|stderr"
    own = "The stub failed: see its log on stderr."  # an example, of no part of the contract
    assert re.findall(rf".*(?:{words}).*", text.replace(own, ""), re.IGNORECASE) == []
    assert not {"503", "507"} & {*document["paths"]["/v1/projects"]["get"]["responses"]}


def test_the_demo_goes_on_until_it_is_ended_or_says_what_is_wrong(url: str) -> None:
    (command,) = [text for text in COMMANDS if text.startswith(PYTHON + "docs/")]
    words = [sys.executable, command.removeprefix(PYTHON)]

    def assert_ends(token: str, stderr: str, fault: bytes = b"{}", to: str = url) -> None:
        call(url, "/_stub/faults", body=fault, token=token)
        done = execute([*words, f"{to}/"], STUB_TOKEN=token)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(stderr, done.stderr), done.stderr

    no_response = r"No response from \S+ \(.*\): start the program, or give its URL\.\n"
    responded = "/v1/projects responded with"
    assert_ends(f"{TOKEN}.2", f"{responded} 507: This response was .*\n", b'{"status": 507}')
    assert_ends(f"{TOKEN}.3", no_response, b'{"cut": 20}')
    assert_ends("wrong", f"{responded} 401: set STUB_TOKEN to the token of .*\n")
    assert_ends(TOKEN, no_response, to="http://127.0.0.1:1")
    again = b'{"status": 503, "retry_after": 0}'
    call(url, "/_stub/faults", body=again, token=f"{TOKEN}.1")
    env = {**environment(), "STUB_TOKEN": f"{TOKEN}.1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*words, url], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout
        assert demo.stderr
        line = demo.stdout.readline()
        demo.send_signal(signal.SIGINT)
        assert re.fullmatch(r"demo-[0-9a-f]{4}-1: \w+\n", line)
        assert demo.stderr.read() == "503: trying again\n"
        assert demo.wait() == 130


def test_every_option_in_the_documentation_exists() -> None:
    helps = (run(*words, "--help").stdout for words in ((), ("verify",), ("docs",)))
    shown = "".join(helps)
    options = set(re.findall(r"--[a-z-]+", shown))
    variables = {"STUB_URL", "STUB_PROBE_RUN", "STUB_PROGRAM"} | {
        "STUB_" + option[2:].replace("-", "_").upper() for option in options
    }
    options |= {f"--stub-{name.replace('_', '-')}" for name in ROWS}
    for name, text in TEXTS.items():
        if name == "CHANGELOG.md":  # which names those of other versions
            continue
        assert set(re.findall(r"STUB_[A-Z_]+", text)) <= variables, name
        other_tools = r"^```console\n.*?^```$"  # see tests/clients/test_sessions.py
        text = re.sub(other_tools, "", text, flags=re.DOTALL | re.MULTILINE)
        # What has options of its own: commands, servers, uvx and pytest.
        others = r"[ `]-- [\w.].*|-m pytest .*|uvx --from"
        text = re.sub(others + "|bin/(?:flask|waitress-serve) .*", "", text)
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= options, name
