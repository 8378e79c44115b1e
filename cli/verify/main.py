"""The command as a function: checks the options, asks, prints the result, returns the status."""

import json
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import NamedTuple, TypeVar
from urllib.parse import SplitResult

import click

import stub
from web.redaction import Redactor, printable

from ..documents import read_file
from ..report import remove_old_report, target_of, write_whole
from .client import Client, Unusable, parse_url
from .forms import Forms
from .judge import COULD_NOT_CHECK
from .probes import ABUSE, READ, WRITE
from .result import (
    ADVICE,
    Part,
    document_of,
    findings_of,
    judge_parts,
    known_in,
    left_behind,
    mask,
    text_of,
)
from .session import Session

T = TypeVar("T")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Options(NamedTuple):
    """The options of `verify`, as the command line has them."""

    url: str
    write: bool
    abuse: bool
    wait: float  # seconds, as `pause`
    pause: float
    ca: Path | None
    known: Path | None
    report: Path | None
    fail_on: Sequence[str]

    @property
    def level(self) -> str:
        return ABUSE if self.abuse else WRITE if self.write else READ


def verify_service(environ: Mapping[str, str], options: Options) -> int:
    """Verify the service; return the exit status. Raises `Unusable`."""
    token = read_token(environ)
    base, kinds = check(options)
    known = use_file(options.known, read_known) if options.known else []
    redactor = Redactor([token])

    def tell(line: str) -> None:
        click.echo(printable(redactor.text(line)))

    client = Client(base, token, options.pause, options.ca)
    forms = Forms(json.loads(read_file("openapi.json")))
    session = Session(forms, client, redactor, options.level, options.wait, tell)
    if options.report:
        use_file(options.report, remove_old_report)
    started = datetime.now(timezone.utc)
    tell(f"verify {options.url} ({options.level})")
    if base.scheme == "http" and base.hostname not in LOOPBACK:
        tell("warning: http sends the token without encryption")
    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        session.ask_all()
        parts = judge_parts(forms, session.observed)
        for line in text_of(parts, client.slowest, redactor):
            tell(line)
    except KeyboardInterrupt as reason:
        tell("interrupted: no verdicts")
        return 128 + (reason.args[0] if reason.args else signal.SIGINT)
    except Unusable as error:
        raise Unusable(printable(redactor.text(error.message))) from None
    finally:
        signal.signal(signal.SIGTERM, handler)
        for line in left_behind(session.observed):
            tell(line)
    if options.report:
        document = {
            "url": options.url,
            "started_at": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            **document_of(parts, session.observed),
        }
        text = json.dumps(mask(document, redactor), indent=2) + "\n"
        use_file(options.report, lambda path: write_whole(path, text))
    return fail_on(findings_of(parts, session.observed), kinds, known, parts, tell)


def fail_on(
    found: list[stub.Finding],
    kinds: list[str],
    known: list[str],
    parts: list[Part],
    tell: Callable[[str], None],
) -> int:
    """Tell the findings of these kinds that are not known; return the exit status."""
    findings = [
        each
        for each in found
        if each.kind in kinds and not any(stub.matches(line, each.text) for line in known)
    ]
    tell("")
    for each in findings:
        tell(f"finding: {each.text}")
    if not findings:
        tell(f"no finding of the kinds {', '.join(kinds)}")
    for line in known:
        if not any(stub.matches(line, each.text) for each in found):
            tell(f"warning: --known {line!r} matches no finding")
    if count := sum(each.verdict == COULD_NOT_CHECK for each in parts):
        tell(f"warning: {COULD_NOT_CHECK}: {count} of {len(parts)} parts")
    return 1 if findings else 0


def check(options: Options) -> tuple[SplitResult, list[str]]:
    """The URL in its parts, and the kinds of --fail-on. Raises `Unusable`."""
    try:
        base = parse_url(options.url)
    except ValueError as error:
        raise Unusable(f"{error}.") from None
    try:
        kinds = stub.parse_kinds(options.fail_on, ADVICE)
    except ValueError as error:
        raise Unusable(f"--fail-on: {error}.") from None
    if options.abuse and not options.write:
        raise Unusable("--abuse may create projects: give --write, too.")
    if options.ca and base.scheme != "https":
        raise Unusable("--ca is for https.")
    others = [target_of(each) for each in (options.ca, options.known) if each]
    if options.report and target_of(options.report) in others:
        raise Unusable(f"--report: {options.report} is the file of another option.")
    return base, kinds


def interrupt(number: int, frame: FrameType | None) -> None:
    """End as after Ctrl-C: with what is left behind."""
    raise KeyboardInterrupt(number)


def read_token(environ: Mapping[str, str]) -> str:
    token = environ.get("VERIFY_TOKEN", "")
    if not token:
        raise Unusable("set the environment variable VERIFY_TOKEN to a token of the service.")
    if not re.fullmatch("[!-~]+", token):
        raise Unusable(
            "VERIFY_TOKEN has spaces, several lines or characters beyond ASCII: give the token "
            "alone, without the word Bearer."
        )
    return token


def read_known(path: Path) -> list[str]:
    return known_in(path.read_text("utf-8"))


def use_file(path: Path, use: Callable[[Path], T]) -> T:
    """Call `use` with the path. Raises `Unusable` for an `OSError`, and for `-`."""
    if path == Path("-"):
        raise Unusable("give the name of a file; - stands for no stream here.")
    try:
        return use(path)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}.") from None
    except UnicodeError:
        raise Unusable(f"{path}: it is not UTF-8.") from None
