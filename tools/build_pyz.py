"""Builds `dist/stub.pyz`: the program and its packages in one file that any Python 3.10 runs.

Two builds give the same bytes: the names are sorted, and times, modes and compression are fixed.
"""

import argparse
import subprocess
import sys
import venv
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold
SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = """\
import sys

from app import create_app
from cli import main

sys.exit(main(create_app))
"""
TESTS_ONLY = "pytest"
LEFT_OUT = {".so", ".pyd", ".pyc", ".c", ".h", ".pyi"}  # compiled modules have a pure form
LEFT_OUT_NAMES = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}  # of the installation


def install_packages(folder: Path) -> Path:
    """Install what the program needs into a new environment; return its site-packages."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    needed = [line for line in lines if not line.startswith(TESTS_ONLY)]
    subprocess.run([python, "-m", "pip", "install", "-q", *needed], check=True)
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "pip", "setuptools"], check=True)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return Path(found.stdout.strip())


def program_files() -> Iterator[Path]:
    """The files of the program, relative to the root."""
    yield Path("openapi.json")
    for path in ROOT.glob("*.py"):
        yield path.relative_to(ROOT)
    for folder in ("server", "stub"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def package_files(packages: Path) -> Iterator[Path]:
    """The files of the packages, relative to their folder."""
    for path in packages.rglob("*"):
        relative = path.relative_to(packages)
        is_left_out = path.suffix in LEFT_OUT or path.name in LEFT_OUT_NAMES
        if path.is_file() and not is_left_out and relative.parts[0] != "_distutils_hack":
            yield relative


def write(contents: dict[Path, bytes]) -> bytes:
    """The archive of these files, with an entry for each folder, as a package may be one alone."""
    folders = {folder for path in contents for folder in path.parents} - {Path()}
    entries = {f"{folder.as_posix()}/": b"" for folder in folders}
    entries |= {path.as_posix(): data for path, data in contents.items()}
    buffer = BytesIO()
    buffer.write(SHEBANG)
    with ZipFile(buffer, "a") as archive:
        for name in sorted(entries):
            entry = ZipInfo(name, TIME)
            entry.compress_type = ZIP_DEFLATED
            entry.create_system = 3  # Unix, whatever builds it
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, entries[name], compresslevel=9)
    return buffer.getvalue()


def build(target: Path) -> None:
    """Write the file whole or not at all."""
    with TemporaryDirectory() as folder:
        packages = install_packages(Path(folder))
        contents = {path: (ROOT / path).read_bytes() for path in program_files()}
        contents |= {path: (packages / path).read_bytes() for path in package_files(packages)}
    contents[Path("__main__.py")] = MAIN.encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_bytes(write(contents))
    unfinished.chmod(0o755)
    unfinished.replace(target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=ROOT / "dist" / "stub.pyz")
    arguments = parser.parse_args()
    build(arguments.target)
    print(arguments.target)
