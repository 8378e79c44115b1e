"""Builds `dist/stub.pyz`: the program and its packages in one file that any Python 3.10 runs.

Python compiles the modules of a zip file at each start, each of them twice. The file therefore has
the bytecode of all modules for each Python that the build finds. Any other Python compiles the
source, once.

Two builds with the same Pythons and versions of the packages give the same bytes: the names are
sorted, times and modes are fixed, and nothing is compressed, since compressors differ.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import MAGIC_NUMBER
from io import BytesIO
from pathlib import Path
from stat import S_IFDIR, S_IFREG
from tempfile import NamedTemporaryFile, TemporaryDirectory
from zipfile import ZIP_STORED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold
SHEBANG = b"#!/usr/bin/env python3\n"
OLDEST = (3, 10)
# Any Python can parse this, so an old one gets an error in place of a traceback.
MAIN = """\
import os
import sys

if sys.version_info < (3, 10):
    sys.stderr.write("error: this is Python %d.%d: run the file with 3.10 or newer\\n"
                     % sys.version_info[:2])
    sys.exit(2)

import marshal
from importlib.util import MAGIC_NUMBER
from zipimport import zipimporter

try:
    codes = marshal.loads(__loader__.get_data("bytecode/" + MAGIC_NUMBER.hex()))
except OSError:
    codes = {}  # built without this Python


class Importer(zipimporter):
    def __init__(self, path):
        zipimporter.__init__(self, path)
        if self.archive != __loader__.archive:
            raise ImportError(path)  # another zip file, which is for zipimporter

    def get_filename(self, name):  # for which zipimporter compiles the module
        end = os.sep + "__init__.py" if self.is_package(name) else ".py"
        return self.archive + os.sep + self.prefix + name.rpartition(".")[2] + end

    def get_code(self, name):
        return marshal.loads(codes[name]) if name in codes else zipimporter.get_code(self, name)


sys.path_hooks.insert(0, Importer)
sys.path_importer_cache.pop(__loader__.archive, None)

from cli.startup import prepare

prepare()

from app import create_app
from cli.main import main

sys.exit(main(create_app, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
"""
# Each Python runs this as it stands: a module that is cached, or one more that is imported, changes
# what marshal writes, since it treats a string in another way if the process uses it elsewhere.
COMPILE = """\
import sys
from importlib.util import MAGIC_NUMBER
from io import BytesIO
from marshal import dumps
from zipfile import ZipFile

codes = {}
archive = ZipFile(BytesIO(sys.stdin.buffer.read()))
for name in archive.namelist():
    if name.endswith(".py") and name != "__main__.py":
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        codes[module] = dumps(compile(archive.read(name), "stub.pyz/" + name, "exec"))
sys.stdout.buffer.write(MAGIC_NUMBER + dumps(codes))
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
    documents = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/fixtures/*.*")]
    for path in [*ROOT.glob("*.py"), ROOT / "README.md", ROOT / "llms.txt", *documents]:
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


def make_archive(packages: Path, pythons: Iterable[str]) -> bytes:
    """The archive of the program and of the packages in a folder, with bytecode for Pythons."""
    contents = {path: (ROOT / path).read_bytes() for path in program_files()}
    contents |= {path: (packages / path).read_bytes() for path in package_files(packages)}
    contents[Path("__main__.py")] = MAIN.encode()
    archive = archive_of(contents)
    contents |= dict(bytecode_of(archive, python) for python in pythons)
    return archive_of(contents)


def find_pythons() -> dict[tuple[int, ...], str]:
    """One interpreter for each minor version that is on PATH or in pyenv, and our own."""
    paths = [path for minor in range(8, 30) if (path := shutil.which(f"python3.{minor}"))]
    if shutil.which("pyenv"):
        root = Path(subprocess.check_output(["pyenv", "root"], text=True).strip())
        paths += sorted(map(str, root.glob("versions/3.*/bin/python")))
    found = {}
    for path in [*paths, sys.executable]:
        command = [path, "-c", "import sys; print(*sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:  # pyenv has commands for versions that it does not run
            found[tuple(map(int, done.stdout.split()))] = path
    return dict(sorted(found.items()))


def bytecode_of(archive: bytes, python: str) -> tuple[Path, bytes]:
    """The name of the bytecode for a Python in the archive, and the bytecode.

    Raises `BuildError`.
    """
    environ = {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-S", "-c", COMPILE],
        cwd=ROOT / "tools",  # where no file has the name of a module that is imported
        env={**environ, "PYTHONHASHSEED": "0"},  # the order of a set in Python 3.10
        input=archive,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"{python} compiled nothing:\n{done.stderr.decode().strip()}")
    magic = len(MAGIC_NUMBER)
    return Path("bytecode", done.stdout[:magic].hex()), done.stdout[magic:]


def build(target: Path, pip: Sequence[str]) -> list[str]:
    """Write the file whole or not at all; return the versions that it has bytecode for.

    Raises `BuildError`.
    """
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
                pythons = {v: path for v, path in find_pythons().items() if v >= OLDEST}
                path.write_bytes(make_archive(Path(folder), pythons.values()))
            path.chmod(0o755)
            path.replace(target)
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise BuildError(f"{target} cannot be written: {error.strerror}") from None
    return [f"{major}.{minor}" for major, minor in pythons]


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
        pythons = build(target, pip)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(target)
    print(f"with bytecode for Python {', '.join(pythons)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
