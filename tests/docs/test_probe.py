"""README.md and docs/grease.md are true about --probe: its output is as printed."""

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.docs.documents import blocks_of
from tests.program import environment

pytestmark = pytest.mark.process


def test_the_probe_prints_what_is_printed() -> None:
    # Eight runs of a Python program: 1.4 s.
    ((_, command), (_, printed)), ((_, repeated), (_, excerpt)) = (
        blocks[index : index + 2]
        for blocks in (blocks_of("docs/grease.md"), blocks_of("README.md"))
        for index, (_, text) in enumerate(blocks)
        if "--probe" in text
    )
    assert repeated == command
    words = command.replace("python3", sys.executable).split()[1:]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", done.stderr)
    assert re.sub(r"in \d+\.\d s", "in 0.2 s", shown) == f"{printed}\n"
    lines = excerpt.splitlines()
    assert [line for line in printed.splitlines() if line in lines] == lines
    assert len(lines) <= 8
