"""Writes files, JUnit XML for CI servers, and annotations for GitHub Actions."""

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from .stderr import say, say_error


class Failure(NamedTuple):
    """A finding as a line, and as details the request that showed it."""

    message: str
    details: str = ""

    @property
    def text(self) -> str:
        return f"{self.message}\n{self.details}".strip()


class Case(NamedTuple):
    """A test case of a report. Without failures it passes, or is skipped for a reason."""

    name: str
    failures: Sequence[Failure] = ()
    skipped: str = ""

    @property
    def message(self) -> str:
        """The first failure, since CI servers show no more: `no request (and 2 more)`."""
        first, *more = self.failures
        return f"{first.message} (and {len(more)} more)" if more else first.message


def format_junit(suite: str, cases: Sequence[Case]) -> str:
    """Format test cases as JUnit XML for Jenkins and GitLab."""
    # Most starts do not need it.
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

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
        tested = SubElement(element, "testcase", name=replace_invalid(case.name), classname=suite)
        if case.failures:
            failure = SubElement(tested, "failure", message=replace_invalid(case.message))
            texts = [each.text for each in case.failures]
            failure.text = replace_invalid("\n\n".join(texts))
        elif case.skipped:
            SubElement(tested, "skipped", message=replace_invalid(case.skipped))
    indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{tostring(root, encoding='unicode')}\n"


def replace_invalid(text: str) -> str:
    """Replace characters that XML 1.0 cannot have, even escaped (§2.2), by `?`."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def annotate(environ: Mapping[str, str], kind: str, messages: Sequence[str]) -> None:
    """Print messages for GitHub Actions: `::error title=deployment-stub::no request`.

    `kind` is `error` or `warning`. Elsewhere nothing is printed.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    lines = []
    for message in messages:
        escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        lines.append(f"::{kind} title=deployment-stub::{escaped}\n")
    say("".join(lines))  # One call, since calls are dropped if nobody reads stderr.


# Files


def open_private(path: str, flags: int) -> int:
    """Open a file for `open()`. Only the owner may read a new file, since it may have a token."""
    return os.open(path, flags, 0o600)


@contextmanager
def name_errors(path: Path) -> Iterator[None]:
    """Add the name of a file to an `OSError`, since the error of a full disk lacks it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def try_to_write(write: Callable[[], None]) -> bool:
    """Write a file by calling `write`; return whether it succeeded, and print the error."""
    try:
        write()
    except OSError as error:
        say_error(f"{error.filename}: {error.strerror}.")
        return False
    return True


def is_xml(path: Path | None) -> bool:
    """Return whether a report is JUnit XML, such as `report.xml`, and not JSON."""
    return path is not None and path.suffix.lower() == ".xml"


def write_file(path: Path, text: str) -> None:
    """Write a file. Raises `OSError`."""
    with name_errors(path), open(path, "w", encoding="utf-8", opener=open_private) as file:
        file.write(text)


def check_writable(path: Path) -> None:
    """Raise `OSError` if a file cannot be written. Do not change it."""
    is_new = not path.exists()
    with name_errors(path), open(path, "ab", opener=open_private):
        pass
    if is_new:
        Path(os.path.realpath(path)).unlink()


def replace_file(path: Path, text: str) -> None:
    """Replace a file so that it is never half written. Raises `OSError`.

    If renaming is impossible, the file is written in place: it may be a mount, or its folder may
    allow no new file.
    """
    no_rename = (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV)
    target = Path(os.path.realpath(path))
    with name_errors(path):
        if target.exists() and not target.is_file():  # It may be /dev/null.
            write_file(target, text)
            return
        try:
            replace_by_rename(target, text)
        except OSError as error:
            if error.errno not in no_rename or not target.exists():
                raise
            write_in_place(target, text.encode())


def write_in_place(target: Path, data: bytes) -> None:
    """Overwrite the content of a file; restore the previous content if the disk is full.

    The file is not truncated before, since another program could take its blocks.
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
    from shutil import copymode  # Most starts do not need these.
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
