"""Reports in the forms that CI servers show: JUnit XML, and the lines of GitHub Actions."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .log import say

# What XML 1.0 cannot have, not even escaped (§2.2).
INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Failure(NamedTuple):
    """One line, and what showed it."""

    message: str
    details: str = ""


class Case(NamedTuple):
    """A test case of a report; it passes without failures, if nothing says why it is skipped."""

    name: str
    failures: Sequence[Failure] = ()
    skipped: str = ""


def is_xml(path: Path) -> bool:
    """Whether a report is to be JUnit XML."""
    return path.suffix.lower() == ".xml"


def junit_xml(suite: str, cases: Sequence[Case]) -> str:
    """The JUnit XML of test cases, in the form that Jenkins and GitLab read.

    Several failures of a case are one element, since readers show the first one alone.
    """
    from xml.etree.ElementTree import Element, SubElement, indent, tostring  # most starts need none

    failed = sum(bool(each.failures) for each in cases)
    skipped = sum(bool(each.skipped) for each in cases)
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0"}
    root = Element("testsuites", {"name": suite, **counts})
    element = SubElement(root, "testsuite", {"name": suite, **counts, "skipped": str(skipped)})
    for case in cases:
        tested = SubElement(element, "testcase", {"name": valid(case.name), "classname": suite})
        if case.failures:
            first, *more = case.failures
            message = f"{first.message} (and {len(more)} more)" if more else first.message
            failure = SubElement(tested, "failure", {"message": valid(message)})
            lines = [f"{each.message}\n{each.details}".strip() for each in case.failures]
            failure.text = valid("\n\n".join(lines))
        elif case.skipped:
            SubElement(tested, "skipped", {"message": valid(case.skipped)})
    indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{tostring(root, encoding='unicode')}\n"


def valid(text: str) -> str:
    """The text with `?` for each character that XML cannot have."""
    return INVALID.sub("?", text)


def github_lines(environ: Mapping[str, str], kind: str, messages: Sequence[str]) -> str:
    """A workflow command of GitHub Actions for each message; nothing elsewhere.

    `kind` is `error` or `warning`. A line break and a `%` are escaped as GitHub reads them.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return ""
    escaped = (
        each.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A") for each in messages
    )
    return "".join(f"::{kind} title=deployment-stub::{each}\n" for each in escaped)


def add_to_summary(environ: Mapping[str, str], title: str, text: str) -> None:
    """Add a text to the summary of the step in GitHub Actions, as it stands on a terminal."""
    path = environ.get("GITHUB_STEP_SUMMARY")
    if environ.get("GITHUB_ACTIONS") != "true" or not path or not text:
        return
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=2))
    block = f"### {title}\n\n{fence}text\n{text.rstrip()}\n{fence}\n\n"
    try:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(block)
    except OSError as error:
        say(f"warning: GITHUB_STEP_SUMMARY: {error.strerror}\n")
