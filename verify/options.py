"""What `verify` was asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("broken", "differs", "leaks", "drift", "unseen")  # of findings
READ, WRITE, RECORDED = "read", "write", "recorded"  # levels


@dataclass(frozen=True)
class VerifyOptions:
    """What the command line gives. Times are in seconds.

    With `har` nothing is asked; with `words`, a COMMAND, its own requests are recorded.
    """

    url: str = ""
    write: bool = False
    wait: float = 60.0
    pause: float = 0.1
    body: Path | None = None
    deployment: str | None = None
    har: Path | None = None
    ca: Path | None = None
    known: Path | None = None
    save: Path | None = None
    force: bool = False
    like: Path | None = None
    report: Path | None = None
    fail_on: Sequence[str] = KINDS
    words: Sequence[str] | None = None

    @property
    def level(self) -> str:
        if self.har or self.words:
            return RECORDED
        return WRITE if self.write else READ

    @property
    def source(self) -> str:
        """The URL of the service, or the file with the recording."""
        return str(self.har or self.url)


def contradictions(options: VerifyOptions) -> Iterator[str]:
    """What is wrong with options that are valid by themselves."""
    har = options.har
    if bool(options.url) == bool(har):
        yield "give either the URL of a service or --har FILE."
    if options.words is not None and not any(each.strip() for each in options.words[:1]):
        yield "give a command after --."
    if options.words and har:
        yield "--har: a command has requests of its own: leave one of both out."
    if options.words and options.write:
        yield "--write: with a command nothing else is asked."
    if options.body and not options.write:
        yield "--body is that of a creation: give --write, too."
    if har and options.write:
        yield "--write: with --har nothing is asked."
    if har and options.ca:
        yield "--ca: with --har nothing is asked."
