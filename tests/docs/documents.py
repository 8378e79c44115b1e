"""The documents, and what is in their code blocks."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.conftest import ROOT
from tests.program import Process, environment

PYTHON = ".venv/bin/python "
PATHS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "llms.txt",
    *sorted((ROOT / "docs").glob("*.md")),
]
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PATHS}

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


def execute(
    words: list[str], folder: Path = ROOT, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program, without the variables of the stub and of pytest but for these."""
    return subprocess.run(
        words,
        cwd=folder,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def leave_out_the_stub(folder: Path) -> None:
    """Run the command that writes `service.json`, the contract without what only the stub has."""
    (command,) = (text for _, text in blocks_of("docs/contract.md") if "x-stub-only" in text)
    shutil.copy(ROOT / "openapi.json", folder)
    assert execute(["sh", "-c", command], folder).returncode == 0


def freed_worlds(started: Process) -> int:
    """End a program; return the number of its worlds, each of which was reset at last."""
    started.terminate()
    pattern = r"^([\w-]+-[0-9a-f]{6,12}) (?:#\d+ )?(\w+ \S+ \d+)"
    latest = dict(re.findall(pattern, started.communicate()[1], re.MULTILINE))
    assert set(latest.values()) == {"POST /_stub/reset 204"}
    return len(latest)
