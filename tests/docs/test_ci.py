"""docs/ci.md is true: each recipe passes, and the output is as printed.

A script takes the place of uvx: it starts the program of this folder, with a Python first in the
PATH of the command that has none of the team's packages.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, needs
from tests.docs.documents import blocks_of, execute, files_of

NAME = "docs/ci.md"
BLOCKS = blocks_of(NAME)
UVX = f"""#!/bin/sh
PATH="$(dirname "$0")/tool:$PATH"
shift 3 && exec "{sys.executable}" "{ROOT}/app.py" "$@"
"""
COMMANDS = [text for kind, text in BLOCKS if kind == "sh" and "uvx --from " in text]
(GATED,) = (command for command in COMMANDS if "careless.sh" in command)
OTHERS = [command for command in COMMANDS if command != GATED]
RECIPES = [
    each if " test.sh" in each else pytest.param(each, marks=pytest.mark.slow) for each in OTHERS
]
TOOLS = {"sh": "curl", "go": "go", "node": "node"}

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a client team, with the files of the recipes."""
    for name, text in {"uvx": UVX, "tool/python3": "#!/bin/sh\nexit 9\n"}.items():
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(text, "utf-8")
        script.chmod(0o755)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name, text in files_of(NAME).items():
        (tmp_path / name).write_text(f"{text}\n", "utf-8")
    return tmp_path


def run(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    needs(*(tool for word, tool in TOOLS.items() if f" {word} " in command))
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return execute(["sh", "-c", command], folder, PATH=path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def as_printed(text: str) -> str:
    """An output with the port, the times and the client that ci.md shows."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", text)
    return re.sub(r"\d+\.\d ms", "0.4 ms", re.sub(r'"curl/[^"]*"', '"curl"', text))


@pytest.mark.parametrize("command", RECIPES)
def test_every_recipe_passes(command: str, folder: Path) -> None:
    done = run(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gate_prints_what_is_printed(folder: Path) -> None:
    done = run(GATED, folder)
    start = BLOCKS.index(("sh", GATED))
    _, printed = BLOCKS[start + 1]
    assert as_printed(done.stderr) == f"{printed}\n"
    assert (done.returncode, done.stdout) == (1, "")
    report = json.loads((folder / "report.json").read_text("utf-8"))
    members = {"kind", "what", "count", "advice", "first"}
    assert [finding.keys() for finding in report["findings"]] == [members, members]
    assert report["exit_status"] == 1
