"""What `verify` was asked for, and what its options name."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiles.markers import NAME, places_of_name
from profiles.profile import read_profile
from web.files import content_of
from web.strict_json import MalformedJSON, parse_json

from .way import Hints

KINDS = ("broken", "differs", "leaks", "drift", "unseen")  # of findings
NAME_IN_FILE = "{name}"
READ, WRITE, RECORDED = "read", "write", "recorded"  # levels


@dataclass(frozen=True)
class Options:
    """What the command line gives. Times are in seconds.

    With `har` nothing is asked; with `words`, a COMMAND, its own requests are recorded.
    """

    url: str = ""
    write: bool = False
    wait: float = 60.0
    pause: float = 0.2
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


@dataclass(frozen=True)
class Inputs:
    """What the options name, read and without errors."""

    hints: Hints
    known: Sequence[str] = ()  # findings that a team accepts


def contradictions(options: Options) -> Iterator[str]:
    """What is wrong with options that are valid by themselves."""
    har = options.har
    inputs = [options.known, options.ca, options.body, har]
    outputs = [options.like, options.save]
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
    if options.save and options.level == READ:
        yield "--save needs a project that this run creates: give --write, too."
    if har and options.write:
        yield "--write: with --har nothing is asked."
    if har and options.ca:
        yield "--ca: with --har nothing is asked."
    if options.report and options.report in inputs + outputs:
        yield f"--report: {options.report} is no file of its own."
    if options.save and options.save in inputs:
        yield f"--save: {options.save} is no file of its own."


def read_inputs(options: Options) -> Inputs:
    """Read the files. Raises `ValueError` with what is wrong, and `OSError`."""
    like = read_profile(options.like) if options.like else None
    request = like.request if like and like.has_own_request else None
    if options.body:
        request = read_request(options.body)
    hints = Hints(deployment=options.deployment or "", request=request, profile=like)
    known = read_known(options.known) if options.known else []
    return Inputs(hints, known)


def read_known(path: Path) -> list[str]:
    """The lines of a file of known findings, without their reasons, which follow a ` # `."""
    text = content_of(path).decode(errors="replace")
    findings = [re.sub(r"(^|\s)#(\s.*|$)", "", line).strip() for line in text.splitlines()]
    return [finding for finding in findings if finding]


def read_request(path: Path) -> dict[str, Any]:
    """The body of a creation with the marker of the name.

    Raises `ValueError` with what is wrong, and `OSError`.
    """
    try:
        _, document = parse_json(content_of(path))
    except MalformedJSON as error:
        raise ValueError(f"{path}: {error}") from None
    text = json.dumps(document)
    with_marker = text.replace(f'"{NAME_IN_FILE}"', f'"{NAME}"')
    request: dict[str, Any] = json.loads(with_marker)
    places = places_of_name(request)
    is_once = text.count(NAME_IN_FILE) == 1 and len(places) == 1
    if not is_once or places == [()]:
        raise ValueError(f'{path}: must have the text "{NAME_IN_FILE}" once, inside objects alone')
    return request


def check_save(options: Options) -> None:
    """Raises `ValueError` if the profile would replace a file that is none."""
    if not options.save or not options.save.exists() or options.force:
        return
    try:
        read_profile(options.save)
    except ValueError as error:
        raise ValueError(f"only --force replaces what is no profile:\n{error}") from None
