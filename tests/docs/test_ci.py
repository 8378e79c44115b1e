"""docs/ci.md is true: each recipe passes, and the output is as printed.

`tests/tools/test_build_pyz.py` holds that the one file does what the program does.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, needs
from tests.docs.documents import TEXTS, blocks_of, files_of
from tests.program import environment

NAME = "docs/ci.md"
BLOCKS = blocks_of(NAME)
STARTS = ("python3 ", "mkdir ")  # of a command; other blocks are files
COMMANDS = [text for kind, text in BLOCKS if kind == "sh" and text.startswith(STARTS)]
GATED = [command for command in COMMANDS if "careless.sh" in command]
YAML = [text for kind, text in BLOCKS if kind == "yaml"]
PROBES = [command for command in COMMANDS if "--probe" in command]
RECIPES = [command for command in COMMANDS if command not in (*GATED, *PROBES)]
OLDEST_NODE = 18  # the first with fetch and node:test

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a client team: the program, which starts sooner so, and the recipes' files."""
    (tmp_path / "stub.pyz").symlink_to(ROOT / "app.py")
    for name, text in files_of(NAME).items():
        (tmp_path / name).write_text(f"{text}\n", "utf-8")
    return tmp_path


def require_tools(command: str) -> None:
    """Skip the test if a program that the command needs is missing."""
    if " sh " in command:
        needs("curl")
    if " go " in command:
        needs("go")
    if " node " in command:
        needs("node")
        version = subprocess.check_output(["node", "--version"], text=True)
        if int(version[1:].partition(".")[0]) < OLDEST_NODE:
            pytest.skip(f"node {version.strip()} is older than v{OLDEST_NODE}")


def run(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    require_tools(command)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment({"PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def following(command: str) -> list[str]:
    """The output that is printed after a command: text, and then JSON, if any."""
    rest = iter(BLOCKS[BLOCKS.index(("sh", command)) + 1 :])
    printed = []
    for kind, text in rest:
        if kind not in ("text", "json"):
            break
        printed.append(text)
    return printed


def test_there_is_a_recipe_for_each_kind_of_team() -> None:
    assert [re.findall(r"(?:-- |-m )(\w+)", command) for command in RECIPES] == [
        ["sh"],
        ["python3", "pytest"],
        ["node"],
        ["go"],
    ]


@pytest.mark.parametrize("command", RECIPES)
def test_every_recipe_passes(command: str, folder: Path) -> None:
    done = run(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", RECIPES)
def test_every_recipe_fails_for_a_client_that_uses_what_nobody_promised(
    command: str, folder: Path
) -> None:
    for name in files_of(NAME):
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text(text.replace("/v1/projects", "/v1/projects?page=1"), "utf-8")
    done = run(command, folder)
    assert done.returncode == 1
    finding = "finding: unpromised: createProject: query parameter page"
    assert finding in done.stdout + done.stderr


@pytest.mark.parametrize("command", GATED)
def test_the_gate_prints_what_is_printed(command: str, folder: Path) -> None:
    done = run(command, folder)
    printed, *documents = following(command)
    shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", done.stderr)
    assert re.sub(r"\d+\.\d ms", "0.4 ms", shown) == f"{printed}\n"
    assert (done.returncode, done.stdout) == (1 if "finding: " in printed else 0, "")
    for document in documents:
        report = (folder / "report.json").read_text("utf-8")
        report = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", report)
        report = re.sub(r'"curl/[^"]*"', '"curl"', report)
        assert json.loads(document).items() <= json.loads(report).items()
        assert list(json.loads(report))[-2:] == list(json.loads(document))


def test_the_probe_finds_what_the_page_says(folder: Path) -> None:
    (command,) = PROBES
    done = run(command, folder)
    named = re.findall(r"the probe finds `(.*?)` and\s+`(.*?)`", TEXTS[NAME])
    found = re.findall(r"^finding: depends: (.*?): ", done.stderr, re.MULTILINE)
    assert (done.returncode, found) == (1, [*named[0]])


@pytest.mark.slow
def test_a_client_that_obeys_a_proxy_needs_the_variables_that_are_named(folder: Path) -> None:
    (value,) = set(re.findall(r"`NO_PROXY` and `no_proxy` to `(\S+)`", TEXTS[NAME]))
    names = [name for name in os.environ if name.lower().endswith("_proxy")]
    command = f"unset {' '.join(names)}; " if names else ""
    command += "export HTTP_PROXY=http://127.0.0.1:1 http_proxy=http://127.0.0.1:1; "
    obeying = [each for each in RECIPES if re.search("-- sh |-m pytest", each)]
    assert len(obeying) == 2
    for recipe in obeying:
        assert run(command + recipe, folder).returncode == 1
    for recipe in RECIPES:
        done = run(f"{command} export NO_PROXY={value} no_proxy={value}; {recipe}", folder)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_jobs_have_the_form_of_some() -> None:
    nightly, github, gitlab = (yaml.safe_load(text) for text in YAML[2:])
    commands = []
    for workflow in (nightly, github):
        assert set(workflow) == {"name", True, "jobs"}  # YAML 1.1 reads `on` as true
        (job,) = workflow["jobs"].values()
        assert {"runs-on", "steps"} <= set(job)
        for step in job["steps"]:
            assert set(step) in ({"run"}, {"uses"}, {"uses", "with"}, {"uses", "if", "with"})
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/checkout@v4"))
        commands += [step["run"] for step in job["steps"] if "run" in step]
    probing, command = commands
    assert "--probe all" in probing
    assert probing.partition(" -- ")[2] == command.partition(" -- ")[2]
    (other,) = gitlab.values()
    assert set(other) == {"image", "timeout", "script", "artifacts"}
    assert other["script"] == [command]
    assert other["artifacts"]["paths"] == re.findall(r"--report (\S+)", command)
    assert command.startswith("python3 stub.pyz ")
    assert command.split(" -- ")[1] in [each.partition(" -- ")[2] for each in RECIPES]


def test_each_fixture_is_copied_from_the_program_by_a_recipe() -> None:
    copied = re.findall(
        r"python3 stub\.pyz docs (\S+) > (?:\S+/)?(\S+)$", TEXTS[NAME], re.MULTILINE
    )
    assert {name for name, _ in copied} == {path.name for path in ROOT.glob("docs/fixtures/*.*")}
    assert all(name == target for name, target in copied)


def test_the_containers_have_what_the_image_and_its_client_need() -> None:
    compose, github = map(yaml.safe_load, YAML[:2])
    stub, tests = compose["services"]["stub"], compose["services"]["tests"]
    assert set(stub) == {"image", "read_only", "cap_drop", "environment"}
    assert tests["depends_on"] == {"stub": {"condition": "service_healthy"}}
    (job,) = github["jobs"].values()
    service = job["services"]["stub"]
    assert set(service) == {"image", "ports", "env"}
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    (port,) = re.findall(r"^EXPOSE (\d+)$", dockerfile, re.MULTILINE)
    assert "\nHEALTHCHECK " in dockerfile
    assert tests["environment"] == {"STUB_URL": f"http://stub:{port}", **stub["environment"]}
    assert service["ports"] == [f"{port}:{port}"]
    assert job["env"] == {"STUB_URL": f"http://127.0.0.1:{port}", **service["env"]}
