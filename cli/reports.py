"""The files of reports, and the form that CI servers show: JUnit XML."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE, S_ISREG
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .stderr import say_error

PRIVATE = 0o600  # the mode of a new file that has requests in it
# What XML 1.0 cannot have, not even escaped (§2.2).
INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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


def junit_xml(suite: str, cases: Sequence[Case]) -> str:
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
    return INVALID.sub("?", text)


class ReportFile:
    """A file that the end of a run writes: whole or not at all, and through a link where it leads.

    The file of another run is removed, unless it is kept until there is a new one, which has its
    mode. Otherwise the new one has `mode`: one with requests in it is for its owner alone. Raises
    `OSError` if a file cannot be written there.
    """

    def __init__(self, path: Path, *, is_kept: bool = False, mode: int = PRIVATE) -> None:
        self.is_xml = path.suffix.lower() == ".xml"  # JUnit XML in place of JSON
        self._given = path
        self._path = Path(os.path.realpath(path))
        self._mode = mode
        with suppress(FileNotFoundError):  # at any time: another program may have the same file
            status = path.stat()
            if not S_ISREG(status.st_mode) or is_output(status):
                raise OSError(0, "not a file of its own", str(path))
            self._mode = S_IMODE(status.st_mode)
        try:
            with TemporaryDirectory(dir=self._path.parent):  # as `write` makes one
                pass
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        if not is_kept:
            self._path.unlink(missing_ok=True)

    def __str__(self) -> str:
        return str(self._given)

    def write(self, text: str) -> bool:
        """Write the file, and return whether that was possible; if not, say why."""
        try:
            with TemporaryDirectory(dir=self._path.parent) as folder:
                temporary = Path(folder, self._path.name)
                temporary.write_text(text, "utf-8")
                temporary.chmod(self._mode)
                temporary.replace(self._path)
        except OSError as error:
            say_error(f"{self}: {error.strerror}.")
            return False
        return True


def is_output(status: os.stat_result) -> bool:
    """Whether a file has the output of this program, which is redirected to it: `/dev/stdout`."""
    for descriptor in (1, 2):
        with suppress(OSError):  # it may be closed
            if os.path.samestat(status, os.fstat(descriptor)):
                return True
    return False
