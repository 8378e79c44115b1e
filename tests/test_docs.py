"""The documentation is true: its commands run, and the responses are as printed."""

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.conftest import ROOT, environment, program
from tests.stub.test_pact import write_pact

URL = "http://127.0.0.1:8080"
PYTHON = ".venv/bin/python "
PATHS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PATHS}
README = TEXTS["README.md"]
SAMPLE = (ROOT / "stub" / "sample.json").read_text("utf-8")
CONTRACT = json.loads((ROOT / "openapi.json").read_text("utf-8"))

Block = tuple[str, str]


def blocks_of(name: str) -> list[Block]:
    """The language and the text of each code block."""
    return re.findall(r"^```(\w+)\n(.*?)\n```$", TEXTS[name], re.DOTALL | re.MULTILINE)


def files_of(name: str) -> dict[str, str]:
    """The files that a document shows: each is a code block after its name in backticks."""
    pattern = r"`([\w.]+)`:\n\n```\w+\n(.*?)\n```$"
    return dict(re.findall(pattern, TEXTS[name], re.DOTALL | re.MULTILINE))


def texts_in(language: str) -> list[str]:
    """The code blocks that are no files."""
    return [
        text
        for name in TEXTS
        for kind, text in blocks_of(name)
        if kind == language and text not in files_of(name).values()
    ]


COMMANDS = [text for text in texts_in("sh") if not text.startswith("curl ")]
STARTS = [text.removeprefix(PYTHON) for text in COMMANDS if text.startswith(PYTHON + "app.py")]


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


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("name", [name for name in TEXTS if "\n```sh\ncurl " in TEXTS[name]])
def test_every_curl_gets_the_response_that_is_printed(name: str) -> None:
    with program() as (_, url):
        for (language, command), (following, printed) in pairwise([*blocks_of(name), ("", "")]):
            if language == "sh" and command.startswith("curl "):
                expected = f"{printed}\n" if following == "json" else ""
                assert comparable(curl(command, url)) == comparable(expected), command


@pytest.mark.parametrize("code", texts_in("python"))
def test_every_python_example_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with program("--pace", "0") as (_, url):
        code = code.replace("pacts/client.json", str(write_pact(tmp_path))).replace(URL, url)
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
    with program(*arguments, "--port", "0") as (_, url), urlopen(f"{url}/_stub/health") as health:
        assert health.status == 200


def test_the_demo_prints_the_statuses_that_are_printed() -> None:
    (command,) = [text for text in COMMANDS if text.startswith(PYTHON + "docs/")]
    (_, printed) = blocks_of("README.md")[blocks_of("README.md").index(("sh", command)) + 1]
    script = command.removeprefix(PYTHON)
    with program("--pace", "0") as (_, url):
        shown = subprocess.check_output([sys.executable, script, url], cwd=ROOT, text=True)
    assert f"\n{printed}\n".endswith(f"\n{shown}")  # with the pace 0 the last one alone


def test_ci_runs_the_test_command_of_the_readme() -> None:
    setup = "python3 -m venv .venv && .venv/bin/pip install -q -r "
    start, test = (text for _, text in blocks_of("README.md") if text.startswith(setup))
    assert start == f"{setup}requirements.txt && {PYTHON}app.py"
    assert test == f"{setup}tests/requirements.txt && {PYTHON}-m pytest"
    assert f"\n{test}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_every_other_command_names_files_that_exist() -> None:
    for line in "\n".join(COMMANDS).splitlines():
        for path in re.findall(r"(?<![\w/.])(?:bench|tests|tools|docs|\.ci)/[\w./]*", line):
            assert (ROOT / path).exists(), line


@pytest.mark.parametrize("name", TEXTS)
def test_every_option_in_the_documentation_exists(name: str) -> None:
    command = [sys.executable, "app.py", "--help"]
    shown = subprocess.check_output(command, cwd=ROOT, env=environment(), text=True)
    options = set(re.findall(r"--[a-z-]+", shown))
    other_tools = r"^```console\n.*?^```$"  # see tests/clients/test_generated.py
    text = re.sub(other_tools, "", TEXTS[name], flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r" -- \w.*", "", text)  # a command, which has options of its own
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= options
    variables = {"STUB_URL"} | {
        "STUB_" + option[2:].replace("-", "_").upper() for option in options
    }
    assert set(re.findall(r"STUB_[A-Z_]+", TEXTS[name])) <= variables


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(name: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", TEXTS[name]):
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), link
        assert not anchor or anchor in anchors_of(path.read_text("utf-8")), link


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 170


def test_the_endpoint_table_has_the_statuses_of_the_contract() -> None:
    rows = re.findall(r"^\| `(GET|POST) (/v1/\S+)` \|.*\| ([\d, ]+) \|$", README, re.MULTILINE)
    assert len(rows) == 3
    for method, path, statuses in rows:
        declared = set(CONTRACT["paths"][path][method.lower()]["responses"])
        assert set(statuses.split(", ")) <= declared
        # The statuses that any request may get are in the contract only.
        assert declared - set(statuses.split(", ")) <= {"400", "413", "431", "500", "503"}


def test_the_table_of_errors_has_every_code_of_the_contract() -> None:
    codes = set(re.findall(r"^\| \d{3} \| `(\w+)` \|", TEXTS["docs/choices.md"], re.MULTILINE))
    assert codes >= set(re.findall(r'"code": "(\w+)"', json.dumps(CONTRACT)))


def test_the_way_of_a_request_names_functions_that_exist() -> None:
    text = (ROOT / "docs" / "development.md").read_text("utf-8")
    table = text.partition("## The way of a request")[2].partition("\n\n- ")[0]
    rows = [line.split("|") for line in table.splitlines() if "`" in line and line.startswith("|")]
    assert len(rows) > 15
    for _, _, functions, files, _ in rows:
        sources = "".join(
            (ROOT / name).read_text("utf-8") for name in re.findall(r"`([\w/]+\.py)`", files)
        )
        for name in re.findall(r"`([\w.]+)`", functions):
            for part in name.split("."):
                assert re.search(rf"(?:def|class) {part}\b", sources), name
