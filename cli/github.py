"""GitHub Actions: what its runner reads in the output of a step, and the summary of the step."""

import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

from .stderr import say

# A command of the runner (actions/runner, ActionCommand): `::name::` at the start of a line, and in
# the older syntax `##[name]` anywhere in it.
COMMAND = re.compile(r"((?:\A|[\r\n])\s*:)(?=:)")
OLDER_COMMAND = "##["


def is_github(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_ACTIONS") == "true"


class RunnerStream(io.TextIOBase):
    """A text stream that the runner reads: nothing that is written to it is a command."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def write(self, text: str) -> int:
        self._stream.write(without_commands(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def command(self, line: str) -> None:
        """Write a command of our own."""
        self._stream.write(f"{without_older_commands(line)}\n")


def without_commands(text: str) -> str:
    """The text with a space in the signs of each command."""
    return without_older_commands(COMMAND.sub(r"\1 ", text))


def without_older_commands(text: str) -> str:
    return text.replace(OLDER_COMMAND, "## [")


@contextmanager
def guarded_output(environ: Mapping[str, str]) -> Iterator[None]:
    """In GitHub Actions, let no text of a service, a client or a test be a command."""
    out, error = sys.stdout, sys.stderr
    if is_github(environ):
        out = RunnerStream(out) if out else None
        error = RunnerStream(error) if error else None
    with redirect_stdout(out), redirect_stderr(error):
        yield


def annotate(stream: io.TextIOBase | TextIO | None, kind: str, messages: Sequence[str]) -> None:
    """Annotate the step with each message, if it is the runner that reads the stream.

    `kind` is `error` or `warning`. A line break and a `%` are escaped as the runner reads them.
    """
    if not isinstance(stream, RunnerStream):
        return
    for message in messages:
        escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        with suppress(OSError):
            stream.command(f"::{kind} title=deployment-stub::{escaped}")


def add_to_summary(environ: Mapping[str, str], title: str, text: str) -> None:
    """Add a text to the summary of the step, as it stands on a terminal."""
    path = environ.get("GITHUB_STEP_SUMMARY")
    if not is_github(environ) or not path or not text:
        return
    runs = re.findall("`+", text)
    longest = max(map(len, runs), default=0)
    fence = "`" * max(3, longest + 1)
    try:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"### {title}\n\n{fence}text\n{text.rstrip()}\n{fence}\n\n")
    except OSError as error:
        say(f"warning: GITHUB_STEP_SUMMARY: {error.strerror}\n")
