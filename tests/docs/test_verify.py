"""docs/verify.md is true: its output is as printed, and its files have their forms."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.documents import TEXTS, blocks_of
from tests.program import program, run

NAME = "docs/verify.md"
BLOCKS = blocks_of(NAME)

pytestmark = pytest.mark.process


def test_the_command_prints_what_is_printed_and_writes_such_files(tmp_path: Path) -> None:
    (command,) = (text for kind, text in BLOCKS if kind == "sh")
    (printed,) = (text for kind, text in BLOCKS if kind == "text" and text.startswith("verify "))
    (known,) = (text for kind, text in BLOCKS if kind == "text" and "differs: #" in text)
    (report,) = (json.loads(text) for kind, text in BLOCKS if kind == "json")
    (options,) = re.findall(r"Start the program with `(.*?)`", TEXTS[NAME])
    variable, _, _, verify, url = command.split()
    (tmp_path / "known.txt").write_text(known)
    files = ("--known", str(tmp_path / "known.txt"), "--report", str(tmp_path / "report.json"))
    with program("--quiet", *options.split()) as (_, real_url):
        words, env = (verify, real_url, "--pause", "0"), dict([variable.split("=")])
        done = run(*words, env=env)
        again = run(*words, "--fail-on", "differs", *files, env=env)
    assert (done.status, again.status) == (0, 0), done.stderr
    shown = done.stdout.replace(real_url, url)
    pieces = map(re.escape, printed.split("…\n"))
    assert re.fullmatch(r"(.*\n)+".join(pieces) + "\n", shown), shown
    assert again.stdout.count("matches no finding") == 1
    made = json.loads((tmp_path / "report.json").read_text())
    assert made.keys() == report.keys()
    for name in ("parts", "probes"):
        assert made[name][0].keys() == report[name][0].keys()
