"""The options of `verify`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FINDINGS = ("broken", "differs", "leaks", "drift", "unseen")
"""The kinds of findings."""

READ, WRITE, RECORDED = "read", "write", "recorded"  # levels


@dataclass(frozen=True)
class VerifyOptions:
    """The options of the command line. Times are in seconds.

    `words` are the words of the COMMAND: `["npm", "test"]`.
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
    fail_on: Sequence[str] = FINDINGS
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


def find_contradictions(options: VerifyOptions) -> Iterator[str]:
    """Find options that exclude or require another option: `--ca` with `--har`."""
    har = options.har
    if bool(options.url) == bool(har):
        yield "give either the URL of a service or --har FILE."
    if options.url.endswith(".har"):
        yield f"give a recording as --har {options.url}, without a URL."
    if options.words is not None and not "".join(options.words[:1]).strip():
        yield "give a command after --."
    if options.words and har:
        yield "--har: a command has its own requests: leave out --har or the command."
    if options.words and options.write:
        yield "--write: with a command, verify sends no requests of its own."
    if options.body and (options.words or har):
        yield "--body: verify sends no creation of its own with a command, or with --har."
    elif options.body and not options.write:
        yield "--body is the body of a creation: give --write, too."
    if har and options.write:
        yield "--write: with --har, verify sends no requests."
    if har and options.ca:
        yield "--ca: with --har, verify sends no requests."
