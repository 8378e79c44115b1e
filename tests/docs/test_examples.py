"""The examples of the documents run, and the responses are as printed."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from app import create_app
from tests.conftest import ROOT, SAMPLE_SEED
from tests.docs.documents import (
    COMMANDS,
    PYTHON,
    TEXTS,
    blocks_of,
    files_of,
    leave_out_the_stub,
    texts_in,
)
from tests.live import serving
from tests.program import run

pytestmark = pytest.mark.process

URL = "http://127.0.0.1:8080"
SAMPLE = (ROOT / "stub" / "sample.json").read_text("utf-8")
STARTS = [text.removeprefix(PYTHON) for text in COMMANDS if text.startswith(PYTHON + "app.py")]
# What the example of Pact verifies.
PACT = {
    "consumer": {"name": "client"},
    "provider": {"name": "stub"},
    "interactions": [
        {
            "type": "Synchronous/HTTP",
            "description": "list",
            "providerStates": [{"name": "no projects exist"}],
            "request": {"method": "GET", "path": "/v1/projects"},
            "response": {"status": 200, "body": {"content": {"projects": []}}},
        }
    ],
    "metadata": {"pactSpecification": {"version": "4.0"}},
}
STARTS = [start for start in STARTS if " -- " not in start]


@contextmanager
def served(pace: float = 300) -> Iterator[str]:
    """The URL of the service with the sample."""
    with serving(create_app(seed=SAMPLE_SEED, pace=pace), control_prefix="/_stub/") as port:
        yield f"http://127.0.0.1:{port}"


def curl(command: str, url: str) -> str:
    """What curl prints; the tests need no curl."""
    arguments = iter(shlex.split(command.replace(URL, url))[1:])
    headers: dict[str, str] = {}
    data, method, target = None, None, ""
    for argument in arguments:
        if argument == "-H":
            name, _, value = next(arguments).partition(": ")
            headers[name] = value
        elif argument == "-d":
            data = next(arguments).encode()
        elif argument == "-X":
            method = next(arguments)
        else:
            target = argument
    try:
        with urlopen(Request(target, data, headers, method=method)) as response:
            return str(response.read().decode())
    except HTTPError as error:
        with error:
            return error.read().decode()


def comparable(body: str) -> str:
    """A body without random ids, and without times other than those of the sample."""
    body = re.sub(r"_[0-9a-f]{16}\b", "_ID", body)
    return re.sub(
        r"\d{4}-\d\d-\d\dT[\d:.]+Z", lambda time: time[0] if time[0] in SAMPLE else "TIME", body
    )


@pytest.mark.parametrize("name", [name for name in TEXTS if "\n```sh\ncurl " in TEXTS[name]])
def test_every_curl_gets_the_response_that_is_printed(name: str) -> None:
    with served() as url:
        for (language, command), (following, printed) in pairwise([*blocks_of(name), ("", "")]):
            if language == "sh" and command.startswith("curl "):
                expected = f"{printed}\n" if following == "json" else ""
                assert comparable(curl(command, url)) == comparable(expected), command


@pytest.mark.parametrize("code", texts_in("python"))
def test_every_python_example_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "client.json").write_text(json.dumps(PACT), "utf-8")
    with served(pace=0) as url:
        code = code.replace("pacts", str(tmp_path)).replace(URL, url)
        exec(compile(code, "the documentation", "exec"), {})


@pytest.mark.parametrize("start", STARTS)
def test_every_command_that_starts_the_program_does_so(start: str, tmp_path: Path) -> None:
    files = {file: text for name in TEXTS for file, text in files_of(name).items()}
    arguments = start.split()[1:]
    for index, argument in enumerate(arguments):
        if argument in files:
            path = tmp_path / argument
            path.write_text(files[argument], "utf-8")
            arguments[index] = str(path)

    def ask(url: str) -> Any:
        with urlopen(f"{url}/_stub/health") as health:
            return health.status

    assert run(*arguments, "--port", "0", during=ask).result == 200


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


def test_the_demo_prints_the_statuses_that_are_printed() -> None:
    (command,) = [text for text in COMMANDS if text.startswith(PYTHON + "docs/")]
    (_, printed) = blocks_of("README.md")[blocks_of("README.md").index(("sh", command)) + 1]
    script = command.removeprefix(PYTHON)
    with served(pace=0) as url:
        shown = subprocess.check_output([sys.executable, script, url], cwd=ROOT, text=True)
    assert f"\n{printed}\n".endswith(f"\n{shown}")  # with the pace 0 the last one alone


@pytest.fixture(scope="module")
def options() -> set[str]:
    """The options of the program and of its commands."""
    shown = run("--help").stdout + run("verify", "--help").stdout
    return set(re.findall(r"--[a-z-]+", shown))


@pytest.mark.parametrize("name", TEXTS)
def test_every_option_in_the_documentation_exists(name: str, options: set[str]) -> None:
    other_tools = r"^```console\n.*?^```$"  # see tests/clients/test_sessions.py
    text = re.sub(other_tools, "", TEXTS[name], flags=re.DOTALL | re.MULTILINE)
    # What has options of its own: commands, uvx and pytest.
    text = re.sub(r" -- \w.*|-m pytest .*|\.ci/run --\w+|uvx --from", "", text)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= options
    variables = {"STUB_URL", "STUB_PROBE_RUN", "STUB_PROGRAM"} | {
        "STUB_" + option[2:].replace("-", "_").upper() for option in options
    }
    assert set(re.findall(r"STUB_[A-Z_]+", TEXTS[name])) <= variables
