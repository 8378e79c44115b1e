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


class Change(NamedTuple):
    file: str
    what: str
    tests: list[str]  # patterns of files and folders
    old: str
    new: str


def obstacle(change: Change) -> str | None:
    """Why a change does not apply any more, if so."""
    file = ROOT / change.file
    count = file.read_text("utf-8").count(change.old) if file.exists() else 0
    missing = [each for each in change.tests if not any(ROOT.glob(each))]
    return f"THE OLD TEXT IS THERE {count} TIMES" if count != 1 else " ".join(missing) or None


def outcome(change: Change) -> str:
    """Which test sees a change, if any does."""
    tests = {str(path.relative_to(ROOT)) for each in change.tests for path in ROOT.glob(each)}
    with TemporaryDirectory(prefix="mutate-") as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        right = (copy / change.file).read_text("utf-8")
        (copy / change.file).write_text(right.replace(change.old, change.new), "utf-8")
        seen = first_failure(copy, "-n", "0", "-m", "", *sorted(tests))
        seen = seen or first_failure(copy, "-n", "2", "--dist", "loadgroup")
        (copy / change.file).write_text(right, "utf-8")
        is_broken = seen and first_failure(copy, "-n", "0", "-m", "", seen) == seen
    return f"{'FAILS ANYWAY:' if is_broken else 'killed by'} {seen}" if seen else "SURVIVED"


def read_changes() -> Iterator[Change]:
    _, *blocks = (ROOT / "tools" / "mutations.txt").read_text("utf-8").strip().split("\n\n")
    for block in blocks:
        title, tests, *lines = block.split("\n")
        file, what = title.split(": ", 1)
        old, new = ("\n".join(each[2:] for each in lines if each[0] == sign) for sign in "-+")
        yield Change(file, what, tests.split(), old, new)


def first_failure(copy: Path, *arguments: str) -> str | None:
    """The test that fails first, or what else ends the run; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=copy, stdout=pipe, text=True, start_new_session=True) as run:
        try:
            output, _ = run.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 9)
            return "the timeout"
    failed = re.search(r"^(?:FAILED|ERROR) (tests.+?)(?: - .*)?$", output, re.MULTILINE)
    return None if run.returncode == 0 else failed[1] if failed else f"status {run.returncode}"


@click.command(help=__doc__)
@click.argument("word", default="")
@click.option("--check", is_flag=True, help="Only check that all changes still apply.")
def main(word: str, check: bool) -> None:
    changes = [each for each in read_changes() if word in f"{each.file}: {each.what}"]
    for change in changes:
        if result := obstacle(change) or ("" if check else outcome(change)):
            click.echo(f"| {change.file} | {change.what} | {result} |")
    click.echo(f"{len(changes)} changes")


if __name__ == "__main__":
    main()
