"""The command as a function: checks the options, asks, prints the result, returns the status."""

import json
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import click

import stub
from stub.profile import read_profile
from web.redaction import Redactor, printable

from ..documents import read_file
from ..serving import remove_old_report, write_whole
from .client import Client
from .judge import Record
from .probes import ABUSE, READ, WRITE
from .profile import drift, profile_of
from .result import ADVICE, IN_THE_REPORT, findings_of, judge_parts, left_behind, text_of
from .session import Session


class Options(NamedTuple):
    """The options of `verify`, as the command line has them."""

    url: str
    write: bool
    abuse: bool
    wait: float  # seconds, as `pause`
    pause: float
    ca: Path | None
    known: Path | None
    save: Path | None
    force: bool
    like: Path | None
    report: Path | None
    fail_on: Sequence[str]


def verify_service(environ: Mapping[str, str], options: Options) -> int:
    """Verify the service; return the exit status. Raises `click.UsageError`."""
    if options.abuse and not options.write:
        raise click.UsageError("--abuse may create projects: give --write, too.")
    others = (Path("-"), options.known, options.ca, options.like, options.save)
    if options.report and options.report in others:
        raise click.UsageError(f"--report: {options.report} is no file of its own.")
    token = environ.get("VERIFY_TOKEN", "")
    try:
        client = Client(options.url, token, options.ca)
        kinds = stub.parse_kinds(options.fail_on, ADVICE)
        known = read_known(options.known) if options.known else []
        like = read_profile(options.like) if options.like else None
        if options.save and options.save.exists() and not options.force:
            require_profile(options.save)
        if options.report:
            remove_old_report(options.report)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{error}.") from None
    redactor = Redactor([token])

    def tell(line: str) -> None:
        click.echo(printable(redactor.text(line)))

    level = ABUSE if options.abuse else WRITE if options.write else READ
    record = Record(stub.Contract(json.loads(read_file("openapi.json"))), level, redactor)
    started = datetime.now(timezone.utc)
    tell(f"verify {options.url} ({level})")
    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        Session(record, client, options.wait, options.pause, tell).ask_all()
        parts = judge_parts(record)
        for line in text_of(parts, record):
            tell(line)
    except KeyboardInterrupt as reason:
        tell("interrupted: no verdicts")
        return 128 + (reason.args[0] if reason.args else signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, handler)
        for line in left_behind(record):
            tell(line)
    profile = profile_of(record, f"{started:%Y-%m-%d}")
    report = {
        "url": options.url,
        "started_at": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "level": level,
        "parts": [dict(zip(IN_THE_REPORT, each, strict=False)) for each in parts],
        "probes": record.outcomes,
        "leaks": record.leaks,
        "created": record.created,
    }
    try:
        for path, document in ((options.report, report), (options.save, profile)):
            if path:
                write_whole(path, redactor.text(json.dumps(document, indent=2)) + "\n")
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}.") from None
    drifts = [*drift(profile, like)] if like else None
    return fail_on(findings_of(parts, record, drifts), kinds, known, tell)


def fail_on(
    found: list[str], kinds: list[str], known: list[str], tell: Callable[[str], None]
) -> int:
    """Tell the findings of these kinds that are not known; return the exit status."""
    accepted = [each for each in found if any(stub.matches(line, each) for line in known)]
    findings = [each for each in found if each.split(":")[0] in kinds and each not in accepted]
    tell("")
    for each in findings:
        tell(f"finding: {each}")
    if not findings:
        tell(f"no finding of the kinds {', '.join(kinds)}")
    for line in known:
        if not any(stub.matches(line, each) for each in found):
            tell(f"warning: --known {line!r} matches no finding")
    return 1 if findings else 0


def require_profile(path: Path) -> None:
    """Raise `ValueError` if the file is none."""
    try:
        read_profile(path)
    except ValueError as error:
        raise ValueError(f"--save would replace a file that is no profile:\n{error}") from None


def interrupt(number: int, frame: FrameType | None) -> None:
    """End as after Ctrl-C: with what is left behind."""
    raise KeyboardInterrupt(number)


def read_known(path: Path) -> list[str]:
    """The lines of a file of known findings, without their reasons, which follow a ` # `."""
    lines = path.read_text("utf-8", errors="replace").splitlines()
    findings = (re.split(r"(?:^|\s)#(?:\s|$)", line)[0].strip() for line in lines)
    return [each for each in findings if each]
