"""The report at the end of a run: the coverage, the findings, and the exit status."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from flask import Flask

from stub import Stub

from .log import Log
from .options import Settings
from .stderr import say

if TYPE_CHECKING:
    from .command import Command
    from .probe import Probe


def report(
    app: Flask, settings: Settings, log: Log, command: "Command | None", probe: "Probe | None"
) -> int:
    """Write the coverage and the findings; return the exit status: that of the command if not 0.

    With --quiet, a failure is preceded by the latest lines of the log.
    """
    status = command.status if command else 0
    depends = [*probe.findings()] if probe else []
    whole: Stub | None = app.extensions.get("stub")
    verdict = whole.judge(settings.fail_on, settings.allow, depends) if whole else None
    if (command and command.status) or (
        verdict and any(each not in depends for each in verdict.findings)
    ):
        say(log.latest())
    if command and command.status not in (126, 127) and not log.is_called:
        say("warning: no request to /v1: does the command use STUB_URL?\n")
    if verdict is None:
        return status
    if probe:
        say("".join(probe.summary()))
    say(verdict.table() + "".join(finding.line() for finding in verdict.findings))
    for pattern in verdict.unused_patterns:
        say(f"warning: --allow {pattern!r} matches no finding\n")
    if verdict.findings:
        status = status or 1
    if settings.report:
        document = verdict.document(status)
        if probe:
            document["probe"] = probe.document()
        write_whole(settings.report, json.dumps(document, indent=2) + "\n")
    return status


def remove_old_report(path: Path) -> None:
    """Remove the report of another run. Raises `OSError` if a new one cannot be written."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(0, "not a file", str(path))
    path.touch()
    path.unlink()


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; through a symbolic link, the file that it leads to."""
    path = Path(os.path.realpath(path))
    with TemporaryDirectory(dir=path.parent) as folder:
        temporary = Path(folder, path.name)
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
