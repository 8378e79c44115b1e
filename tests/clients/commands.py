"""Runs the commands of docs/contract.md; a test whose tool is not installed is skipped."""

import os
import shlex
import sys
from pathlib import Path

from tests.conftest import NODE_MODULES, needs
from tests.docs.documents import execute, lines_of

HERE = Path(__file__).parent
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
VARIABLES = {
    "PATH": TOOLS,
    "JAVA_TOOL_OPTIONS": "-XX:-UsePerfData",  # it would leave a file in the temporary folder
    "PYTHONWARNINGS": "default",
    "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
    "REDOCLY_TELEMETRY": "off",
}


def documented(start: str, *values: tuple[str, str]) -> list[str]:
    """The command of docs/contract.md that starts like this; each pair replaces a part of it."""
    commands = lines_of("docs/contract.md")
    (command,) = (each for each in commands if each.startswith(start))
    for old, new in values:
        assert old in command
        command = command.replace(old, new)
    return shlex.split(command)


def link_node_modules(folder: Path) -> None:
    """Give a folder the packages of package.json; the test is skipped if they are missing."""
    needs("node_modules")
    (folder / "node_modules").symlink_to(NODE_MODULES)


def perform(command: list[str], folder: Path) -> str:
    """What a command prints. `npx` has the packages of package.json."""
    if command[0] == "openapi-generator-cli":
        needs("java")
    if command[0] == "npx" and not (folder / "node_modules").exists():
        link_node_modules(folder)
    needs(command[0])
    done = execute(command, folder, **VARIABLES)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
