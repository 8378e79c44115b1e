"""The documents, and what is in their code blocks."""

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tests.program import environment

PATHS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "llms.txt",
    *sorted((ROOT / "docs").glob("*.md")),
]
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PATHS}


class Block(NamedTuple):
    """A code block of a document."""

    document: str
    language: str
    text: str
    file: str = ""  # its name, which is before the block in backticks
    printed: str = ""  # the next block, if it is text or JSON


def read_blocks(document: str) -> list[Block]:
    pattern = r"(?:`([\w.]+)`:\n\n)?^```(\w+)\n(.*?)\n```$"
    found = re.findall(pattern, TEXTS[document], re.DOTALL | re.MULTILINE)
    blocks = [Block(document, language, text, file) for file, language, text in found]
    for number, (block, following) in enumerate(pairwise(blocks)):
        if following.language in ("json", "text") and not following.file:
            blocks[number] = block._replace(printed=following.text)
    return blocks


BLOCKS = [block for name in TEXTS for block in read_blocks(name)]
FILES = {block.file: block.text for block in BLOCKS if block.file}


def blocks_like(pattern: str, language: str = "sh") -> list[Block]:
    """The blocks that are no files, and begin like this."""
    own = [block for block in BLOCKS if block.language == language and not block.file]
    return [block for block in own if re.match(pattern, block.text)]


def lines_of(name: str) -> list[str]:
    """The commands of the sessions that a document shows."""
    sessions = [block.text for block in blocks_like("", "console") if block.document == name]
    text = "\n".join(sessions).replace("\\\n", " ")
    return re.findall(r"^\$ (.*)$", text, re.MULTILINE)


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
    (block,) = blocks_like("python3 -c ")
    shutil.copy(ROOT / "openapi.json", folder)
    assert execute(["sh", "-c", block.text], folder).returncode == 0
