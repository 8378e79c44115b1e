"""Breaks a copy of the product in one place at a time, and shows which test sees it.

The changes are in tools/mutations.txt; with a WORD, those with it in their title. The tests of a
change are run until one fails, and the whole suite only for a change that these do not see.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (".git", ".venv", "*_cache*", "node_modules", "dist")
TIMEOUT = 900  # seconds; a change may make the tests wait for ever
ONE_PROCESS = ("-n", "0", "-m", "")
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests.+?)(?: - .*)?$", re.MULTILINE)


class Change(NamedTuple):
    file: str
    what: str
    tests: str  # a pattern of files and folders
    old: str
    new: str


def read_changes() -> Iterator[Change]:
    text = (ROOT / "tools" / "mutations.txt").read_text("utf-8")
    tests = ""
    for block in text.strip().split("\n\n")[1:]:
        lines = block.split("\n")
        if lines[0].startswith("tests/"):
            tests = lines.pop(0)
        file, what = lines[0].split(": ", 1)
        old = [line[2:] for line in lines if line.startswith("-")]
        new = [line[2:] for line in lines if line.startswith("+")]
        yield Change(file, what, tests, "\n".join(old), "\n".join(new))


def obstacle(change: Change) -> str:
    """Why a change does not apply any more, if so."""
    file = ROOT / change.file
    count = file.read_text("utf-8").count(change.old) if file.exists() else 0
    if count != 1:
        return f"THE OLD TEXT IS THERE {count} TIMES"
    return "" if any(ROOT.glob(change.tests)) else f"{change.tests} MATCHES NOTHING"


def outcome(change: Change) -> str:
    """Which test sees a change, if any does."""
    tests = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(change.tests))
    with TemporaryDirectory(prefix="mutate-") as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        file = copy / change.file
        right = file.read_text("utf-8")
        file.write_text(right.replace(change.old, change.new), "utf-8")
        seen = first_failure(copy, *ONE_PROCESS, *tests)
        if not seen:
            seen = first_failure(copy, "-n", "2", "--dist", "loadgroup")
        if not seen:
            return "SURVIVED"
        file.write_text(right, "utf-8")
        fails_anyway = first_failure(copy, *ONE_PROCESS, seen) == seen
    return f"FAILS ANYWAY: {seen}" if fails_anyway else f"killed by {seen}"


def first_failure(copy: Path, *arguments: str) -> str:
    """The test that fails first, or what else ends the run; nothing if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=copy, stdout=pipe, text=True, start_new_session=True) as run:
        try:
            output, _ = run.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 9)
            return "the timeout"
    if run.returncode == 0:
        return ""
    failed = FAILED.search(output)
    return failed[1] if failed else f"status {run.returncode}"


@click.command(help=__doc__)
@click.argument("word", default="")
@click.option("--check", is_flag=True, help="Only check that all changes still apply.")
def main(word: str, check: bool) -> None:
    changes = [each for each in read_changes() if word in f"{each.file}: {each.what}"]
    for change in changes:
        result = obstacle(change)
        if not result and not check:
            result = outcome(change)
        if result:
            click.echo(f"| {change.file} | {change.what} | {result} |")
    click.echo(f"{len(changes)} changes")


if __name__ == "__main__":
    main()
