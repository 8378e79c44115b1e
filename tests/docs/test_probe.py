"""README.md and docs/grease.md are true about --probe: its output is as printed."""

import re
import sys
from itertools import pairwise

import pytest

from tests.docs.documents import blocks_of, execute

pytestmark = pytest.mark.process


def printed_after(name: str) -> dict[str, str]:
    """What a document prints after each command with --probe."""
    pairs = pairwise(blocks_of(name))
    return {command: text for (_, command), (_, text) in pairs if "--probe" in command}


PRINTED = printed_after("docs/grease.md")
# That of the README, too, and another one with failures.
FIRST, OTHER = PRINTED


@pytest.mark.parametrize("command", [FIRST, pytest.param(OTHER, marks=pytest.mark.slow)])
def test_the_probe_prints_what_is_printed(command: str) -> None:
    # Up to eight runs of a Python program: 1.4 s.
    words = [sys.executable if each == "python3" else each for each in command.split()[1:]]
    done = execute([sys.executable, *words])
    assert done.returncode == 1
    shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:49152", done.stderr)
    shown = re.sub(r"after \d\.\d\d s", "after 0.00 s", shown)
    shown = re.sub(r"in \d+\.\d s", "in 0.2 s", shown)
    pieces = map(re.escape, f"{PRINTED[command]}\n".split("…\n"))
    assert re.fullmatch(r"(?:.*\n)+".join(pieces), shown), shown
