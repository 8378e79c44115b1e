"""The examples of the documents run, and the responses are as printed."""

import json
import re
import shlex
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deployment_stub.pytest_options import ROWS
from profiles.profile import make_profile
from stub.seed import sample_of
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
from tests.program import process, run
from tests.wire import call
from web.times import parse_time

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


def app_of(name: str) -> Flask:
    """The app whose responses a document prints."""
    if name != "docs/like.md":
        return make_stub(seed=SAMPLE_SEED, pace=300)
    service = make_profile(json.loads(files_of(name)["service.json"]))
    frozen = parse_time("2026-11-25T20:38:08.068Z")
    return make_stub(seed=sample_of(service), pace=300, like=service, ids_seed=7, freeze=frozen)


@pytest.mark.parametrize("name", [name for name in TEXTS if "\n```sh\ncurl " in TEXTS[name]])
def test_every_curl_gets_the_response_that_is_printed(name: str) -> None:
    client = app_of(name).test_client()
    for (language, command), (following, printed) in pairwise([*blocks_of(name), ("", "")]):
        if language == "sh" and command.startswith("curl "):
            expected = f"{printed}\n" if following == "json" else ""
            got = curl(command, client)
            if name != "docs/like.md":  # whose ids and times are made alike
                got, expected = comparable(got), comparable(expected)
            assert got == expected, command


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
    demo = command.removeprefix(PYTHON)
    done = execute([sys.executable, demo, f"{url}/"], STUB_TOKEN="wrong")
    assert (done.returncode, done.stdout) == (1, "")
    reason = r"/v1/projects responded with 401: set STUB_TOKEN to the token of .*\n"
    assert re.fullmatch(reason, done.stderr), done.stderr
    again = b'{"status": 503, "retry_after": 0}'
    call(url, "/_stub/faults", body=again, token=f"{TOKEN}.1")
    env = {"STUB_TOKEN": f"{TOKEN}.1", "PYTHONUNBUFFERED": "1"}
    with process(demo, url, env=env) as started:
        line = started.stdout.readline()
        started.send_signal(signal.SIGINT)
        assert re.fullmatch(r"demo-[0-9a-f]{4}-1: \w+\n", line)
        assert started.communicate()[1] == "503: trying again\n"
        assert started.returncode == 130


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
        other_tools = r"^```console\n.*?^```$"  # see tests/clients/test_commands.py
        text = re.sub(other_tools, "", text, flags=re.DOTALL | re.MULTILINE)
        # What has options of its own: commands, servers, uvx and pytest.
        others = r"[ `]-- [\w.].*|-m pytest .*|uvx --from"
        text = re.sub(others + "|bin/(?:flask|waitress-serve) .*", "", text)
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= options, name
