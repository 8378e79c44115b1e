"""docs/grease.md is true about --probe: its output is as printed."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.docs.documents import blocks_of, files_of
from tests.program import environment

NAME = "docs/grease.md"

pytestmark = pytest.mark.process


def test_the_probe_prints_what_is_printed(tmp_path: Path) -> None:
    (tmp_path / "exact.py").write_text(files_of(NAME)["exact.py"], "utf-8")
    blocks = blocks_of(NAME)
    (at,) = [index for index, (_, text) in enumerate(blocks) if "--probe" in text]
    (_, command), (_, printed) = blocks[at : at + 2]
    names = {".venv/bin/python": sys.executable, "app.py": str(ROOT / "app.py")}
    names["python3"] = sys.executable
    words = [names.get(word, word) for word in command.split()]
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(words, cwd=tmp_path, env=environment(), **streams, check=False)
    shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", done.stderr)
    assert re.sub(r"in \d+\.\d s", "in 0.2 s", shown) == f"{printed}\n"
    assert done.returncode == 1
