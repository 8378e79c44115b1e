"""Builds `dist/stub.pyz`: the program and its packages in one file that any Python 3.10 runs.

Two builds with the same versions of the packages give the same bytes: the names are sorted, times
and modes are fixed, and nothing is compressed, since compressors differ.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from stat import S_IFDIR, S_IFREG
from tempfile import NamedTemporaryFile, TemporaryDirectory
from zipfile import ZIP_STORED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold
SHEBANG = b"#!/usr/bin/env python3\n"
# Any Python can parse this, so an old one gets an error in place of a traceback.
MAIN = """\
import os
import sys

if sys.version_info < (3, 10):
    sys.stderr.write("error: this is Python %d.%d: run the file with 3.10 or newer\\n"
                     % sys.version_info[:2])
    sys.exit(2)

from cli.startup import prepare

prepare()

from app import create_app
from cli.main import main

sys.exit(main(create_app, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
"""
PIP = (sys.executable, "-m", "pip")
TESTS_ONLY = "pytest"
PROGRAM_SUFFIXES = {".py", ".json", ".html", ".js", ".css", ".txt"}
LEFT_OUT = {".so", ".pyd", ".pyc", ".c", ".h", ".pyi"}  # compiled modules have a pure form
# About the installation. WHEEL names the system for which MarkupSafe was compiled.
LEFT_OUT_NAMES = {"RECORD", "INSTALLER", "REQUESTED", "WHEEL", "direct_url.json"}


class BuildError(Exception):
    """Why there is no new file, in one line."""


def install_packages(pip: Sequence[str], folder: Path) -> None:
    """Install what the program needs into the folder."""
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    needed = [line for line in lines if not line.startswith(TESTS_ONLY)]
    command = [*pip, "install", "-q", "--disable-pip-version-check", "--no-compile"]
    done = subprocess.run(
        [*command, "--target", str(folder), *needed], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"pip installed nothing:\n{done.stderr.strip()}")


def program_files() -> Iterator[Path]:
    """The files of the program, relative to the root."""
    yield Path("openapi.json")
    for path in [*ROOT.glob("*.py"), ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        yield path.relative_to(ROOT)
    for folder in ("web", "server", "stub", "cli", "redis_store"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in PROGRAM_SUFFIXES:
                yield path.relative_to(ROOT)


def package_files(packages: Path) -> Iterator[Path]:
    """The files of the packages, relative to their folder, without their commands."""
    for path in packages.rglob("*"):
        relative = path.relative_to(packages)
        is_left_out = path.suffix in LEFT_OUT or path.name in LEFT_OUT_NAMES
        if path.is_file() and not is_left_out and relative.parts[0] != "bin":
            yield relative


def archive_of(contents: dict[Path, bytes]) -> bytes:
    """The archive of these files.

    It has an entry for each folder, too: without one, Python finds no package in a folder that has
    no `__init__.py`, such as flask/sansio.
    """
    folders = {folder for path in contents for folder in path.parents} - {Path()}
    entries = {f"{folder.as_posix()}/": b"" for folder in folders}
    entries |= {path.as_posix(): data for path, data in contents.items()}
    buffer = BytesIO()
    buffer.write(SHEBANG)
    with ZipFile(buffer, "a") as archive:
        for name in sorted(entries):
            entry = ZipInfo(name, TIME)
            entry.compress_type = ZIP_STORED
            entry.create_system = 3  # Unix, whatever builds it
            entry.external_attr = (S_IFDIR | 0o755 if entry.is_dir() else S_IFREG | 0o644) << 16
            archive.writestr(entry, entries[name])
    return buffer.getvalue()


def make_archive(packages: Path) -> bytes:
    """The archive of the program and of the packages in a folder."""
    contents = {path: (ROOT / path).read_bytes() for path in program_files()}
    contents |= {path: (packages / path).read_bytes() for path in package_files(packages)}
    contents[Path("__main__.py")] = MAIN.encode()
    return archive_of(contents)


def build(target: Path, pip: Sequence[str]) -> None:
    """Write the file whole or not at all. Raises `BuildError`."""
    if target.is_dir():
        raise BuildError(f"{target} is a folder: name a file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that the target is replaced in one step; made first, so that a
        # folder that cannot be written to is reported at once.
        with NamedTemporaryFile(dir=target.parent, delete=False) as unfinished:
            path = Path(unfinished.name)
        try:
            with TemporaryDirectory() as folder:
                install_packages(pip, Path(folder))
                path.write_bytes(make_archive(Path(folder)))
            path.chmod(0o755)
            path.replace(target)
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise BuildError(f"{target} cannot be written: {error.strerror}") from None


def main(args: Sequence[str] | None = None, pip: Sequence[str] = PIP) -> int:
    """Build the file, and return the exit status."""
    parser = argparse.ArgumentParser(description="Builds the program as one file.")
    parser.add_argument(
        "target",
        nargs="?",
        type=Path,
        default=ROOT / "dist" / "stub.pyz",
        help="by default dist/stub.pyz",
    )
    target = parser.parse_args(args).target
    try:
        build(target, pip)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
