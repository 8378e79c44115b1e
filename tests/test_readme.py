"""README.md is true: what it shows runs, and answers as printed."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from app import create_app
from cli import command
from stub.seed import parse_seed
from tests.conftest import ROOT, client_of, program
from tests.test_pact import write_pact

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)\n```", README, re.DOTALL)
SETUP = "python3 -m venv .venv && .venv/bin/pip install -q -r "
PYTHON = [text for language, text in BLOCKS if language == "python"]


def curl(command: str, url: str) -> str:
    """What curl would print: so that the tests need none."""
    arguments = iter(shlex.split(command.replace("http://127.0.0.1:8080", url))[1:])
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


def without_the_given(answer: str) -> str:
    """An answer but for the ids and the times that are given anew each time."""
    answer = re.sub(r'((_[0-9a-f]{16}|null)", "created_at": ")[^"]*', r"\1…", answer)
    answer = re.sub(r'("id": "dpl_slow".*"created_at": "|"now": ")[^"]*', r"\1…", answer)
    return re.sub(r"_[0-9a-f]{16}", "_…", answer)


def test_every_curl_answers_as_printed() -> None:
    asked = 0
    with program() as (_, url):
        for (language, text), (following, answer) in pairwise(BLOCKS):
            if language == "sh" and text.startswith("curl "):
                asked += 1
                printed = f"{answer}\n" if following == "json" else ""
                assert without_the_given(curl(text, url)) == without_the_given(printed)
    assert asked == 14


def test_the_commands_need_no_more_than_the_requirements() -> None:
    start, with_origin, test = (
        text for language, text in BLOCKS if language == "sh" and not text.startswith("curl ")
    )
    assert start == SETUP + "requirements.txt && .venv/bin/python app.py"
    assert test == SETUP + "tests/requirements.txt && .venv/bin/python -m pytest"
    assert with_origin.startswith(".venv/bin/python app.py ")
    origin = "http://localhost:5173"
    asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
    with program(*with_origin.split()[2:]) as (_, url):
        preflight = Request(f"{url}/v1/projects", headers=asked, method="OPTIONS")
        with urlopen(preflight) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Origin"] == origin
            assert "Authorization" in response.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize("code", PYTHON)
def test_the_python_shown_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    code = code.replace("pacts/client.json", str(write_pact(tmp_path)))
    with program("--pace", "0") as (_, url):
        code = code.replace("http://127.0.0.1:8080", url)
        exec(compile(code, "README.md", "exec"), {})


def test_the_seed_document_shown_is_one() -> None:
    (text,) = [
        text
        for language, text in BLOCKS
        if language == "json" and '"dpl_slow", "project_id": "' in text
    ]
    client = client_of(create_app(seed=parse_seed(text)))
    assert client.get("/v1/deployments/dpl_slow").json["status"] == "queued"


def test_the_options_are_those_of_the_program() -> None:
    shown = set(re.findall(r"`(--[a-z-]+)`", README.partition("## Options")[2]))
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert shown - {"--help"} == options - {"--version"}


def test_every_status_of_the_contract_is_in_the_table() -> None:
    contract = json.loads((ROOT / "openapi.json").read_text("utf-8"))
    for line in README.splitlines():
        if match := re.match(r"\| `(GET|POST) (/v1/\S+)` \|.*\| ([\d, ]+) \|$", line):
            method, path, statuses = match.groups()
            declared = set(contract["paths"][path][method.lower()]["responses"])
            # Those that any request may get stand in the contract alone.
            assert set(statuses.split(", ")) <= declared
            assert declared - set(statuses.split(", ")) <= {"200", "400", "413", "431", "500"}


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {"#" + re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target in anchors or Path(ROOT, target).exists(), target
