"""What a run leaves: its files, JUnit XML for CI servers, and annotations for GitHub Actions."""

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from .stderr import say, say_error

PRIVATE = 0o600  # the mode of a new file, which may hold a token
# Why a file is not renamed: it is mounted by itself, or its folder takes no other file.
NO_RENAME = (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV)
# What XML 1.0 cannot have, not even escaped (§2.2). To compile it takes a while.
INVALID = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


class Failure(NamedTuple):
    """One line, and what showed it."""

    message: str
    details: str = ""

    @property
    def text(self) -> str:
        return f"{self.message}\n{self.details}".strip()


class Case(NamedTuple):
    """A test case of a report; it passes without failures, if nothing says why it is skipped."""

    name: str
    failures: Sequence[Failure] = ()
    skipped: str = ""

    @property
    def message(self) -> str:
        """The first failure, and how many more there are: readers of a report show one alone."""
        first, *more = self.failures
        return f"{first.message} (and {len(more)} more)" if more else first.message


def format_junit(suite: str, cases: Sequence[Case]) -> str:
    """The JUnit XML of test cases, in the form that Jenkins and GitLab read."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring  # most starts need none

    failed = [case for case in cases if case.failures]
    skipped = [case for case in cases if case.skipped]
    counts = {
        "name": suite,
        "tests": str(len(cases)),
        "failures": str(len(failed)),
        "errors": "0",
    }
    root = Element("testsuites", counts)
    element = SubElement(root, "testsuite", counts, skipped=str(len(skipped)))
    for case in cases:
        tested = SubElement(element, "testcase", name=valid(case.name), classname=suite)
        if case.failures:
            failure = SubElement(tested, "failure", message=valid(case.message))
            texts = [each.text for each in case.failures]
            failure.text = valid("\n\n".join(texts))
        elif case.skipped:
            SubElement(tested, "skipped", message=valid(case.skipped))
    indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{tostring(root, encoding='unicode')}\n"


def valid(text: str) -> str:
    """The text with `?` for each character that XML cannot have."""
    return re.sub(INVALID, "?", text)


def annotate(environ: Mapping[str, str], kind: str, messages: Sequence[str]) -> None:
    """Annotate the step of GitHub Actions, if this is one, with each message.

    `kind` is `error` or `warning`. A line break and a `%` are escaped as the runner reads them.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    lines = []
    for message in messages:
        escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        lines.append(f"::{kind} title=deployment-stub::{escaped}\n")
    say("".join(lines))  # in one piece, of which none is dropped


# Files


def open_private(path: str, flags: int) -> int:
    """Open a file for `open()`; a new one is for its owner alone."""
    return os.open(path, flags, PRIVATE)


@contextmanager
def name_errors(path: Path) -> Iterator[None]:
    """Give an `OSError` the name of a file: that of a full disk has none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def try_to_write(write: Callable[[], None]) -> bool:
    """Write a file; return whether that was possible, and say why if it was not."""
    try:
        write()
    except OSError as error:
        say_error(f"{error.filename}: {error.strerror}.")
        return False
    return True


def is_xml(path: Path | None) -> bool:
    """Whether a report is to be JUnit XML in place of JSON."""
    return path is not None and path.suffix.lower() == ".xml"


def write_file(path: Path, text: str) -> None:
    """Write a file. Raises `OSError`."""
    with name_errors(path), open(path, "w", encoding="utf-8", opener=open_private) as file:
        file.write(text)


def check_writable(path: Path) -> None:
    """Raise `OSError` if a file cannot be written; leave it as it is."""
    is_new = not path.exists()
    with name_errors(path), open(path, "ab", opener=open_private):
        pass
    if is_new:
        Path(os.path.realpath(path)).unlink()


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all: the previous one stays until then.

    Where it cannot be renamed, it is written in place. Raises `OSError`.
    """
    target = Path(os.path.realpath(path))
    with name_errors(path):
        if target.exists() and not target.is_file():  # such as /dev/null
            write_file(target, text)
            return
        try:
            replace_by_rename(target, text)
        except OSError as error:
            if error.errno not in NO_RENAME or not target.exists():
                raise
            write_in_place(target, text.encode())


def write_in_place(target: Path, data: bytes) -> None:
    """Write a file over its previous content, which is put back if the disk is full.

    The file is not emptied before: its blocks would be free for others.
    """
    with target.open("r+b", buffering=0) as file:
        previous = file.read()
        try:
            write_over(file, data)
        except OSError:
            write_over(file, previous)
            raise


def write_over(file: FileIO, data: bytes) -> None:
    file.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()


def replace_by_rename(target: Path, text: str) -> None:
    from shutil import copymode  # most starts need none of these
    from tempfile import mkstemp

    descriptor, beside = mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        with suppress(FileNotFoundError):
            copymode(target, beside)
        Path(beside).replace(target)
    except OSError:
        Path(beside).unlink()
        raise
