"""README.md is true: what it shows runs, and answers as printed."""

import json
import re
import shlex
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from app import create_app
from stub.seed import parse_seed
from tests.conftest import ROOT, client_of, program

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)\n```", README, re.DOTALL)
START, *CURLS, TEST = [text for language, text in BLOCKS if language == "sh"]
ANSWERS = [text for language, text in BLOCKS if language == "json"]
SETUP = "python3 -m venv .venv && .venv/bin/pip install -q -r "


def curl(command: str, url: str) -> str:
    """What curl would print: so that the tests need none."""
    arguments = iter(shlex.split(command.replace("http://127.0.0.1:8080", url))[1:])
    headers, data, target = {}, None, ""
    for argument in arguments:
        if argument == "-H":
            name, _, value = next(arguments).partition(": ")
            headers[name] = value
        elif argument == "-d":
            data = next(arguments).encode()
        else:
            target = argument
    try:
        with urlopen(Request(target, data, headers)) as response:
            return str(response.read().decode())
    except HTTPError as error:
        with error:
            return error.read().decode()


def test_every_curl_answers_as_printed() -> None:
    def without_the_given(answer: str) -> str:
        answer = re.sub(r'(_[0-9a-f]{16}", "created_at": ")[^"]*', r"\1…", answer)
        return re.sub(r"_[0-9a-f]{16}", "_…", answer)

    assert START.startswith(SETUP + "requirements.txt && .venv/bin/python ")
    with program() as (_, url):
        for command, answer in zip(CURLS, ANSWERS, strict=False):
            assert without_the_given(curl(command, url)) == without_the_given(answer) + "\n"
    assert len(CURLS) == 5


def test_the_commands_need_no_more_than_the_requirements() -> None:
    assert START == SETUP + "requirements.txt && .venv/bin/python app.py"
    assert TEST == SETUP + "tests/requirements.txt && .venv/bin/python -m pytest"


@pytest.mark.parametrize("code", [text for language, text in BLOCKS if language == "python"])
def test_the_python_shown_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})


def test_the_seed_document_shown_is_one() -> None:
    client = client_of(create_app(seed=parse_seed(ANSWERS[-1])))
    assert client.get("/v1/deployments/dpl_slow").json["status"] == "queued"


def test_the_options_are_those_of_the_program() -> None:
    from app import cli

    shown = set(re.findall(r"`(--[a-z-]+)`", README.partition("## Options")[2]))
    options = {name for each in cli.params for name in (*each.opts, *each.secondary_opts)}
    assert shown - {"--help"} == options - {"--version"}


def test_every_status_of_the_contract_is_in_the_table() -> None:
    contract = json.loads((ROOT / "openapi.json").read_text("utf-8"))
    for line in README.splitlines():
        if match := re.match(r"\| `(GET|POST) (/v1/\S+)` \|.*\| ([\d, ]+) \|$", line):
            method, path, statuses = match.groups()
            declared = set(contract["paths"][path][method.lower()]["responses"])
            # Those that any request may get stand in the contract alone.
            assert set(statuses.split(", ")) <= declared
            assert declared - set(statuses.split(", ")) <= {"400", "413", "431", "500"}


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {"#" + re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target in anchors or Path(ROOT, target).exists(), target
