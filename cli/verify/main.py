"""The command as a function: checks the options, asks, prints the result, returns the status."""

import json
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import FrameType
from typing import Any, NamedTuple

import click

import stub
from web.redaction import Redactor, printable

from ..documents import read_file
from ..report import remove_old_report, target_of, write_whole
from .contract import Contract
from .ledger import KINDS, Finding, Known, findings_of, known_of, read_known
from .probes import ABUSE, READ, WRITE
from .result import Verdict, document_of, left_behind, mask, text_of, verdicts_of
from .service import Base, Service, Unusable, parse_url
from .session import Session

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
    write_known: Path | None
    max_age: int | None  # days
    report: Path | None
    fail_on: Sequence[str]

    @property
    def level(self) -> str:
        return ABUSE if self.abuse else WRITE if self.write else READ


def verify_service(environ: Mapping[str, str], options: Options) -> int:
    """Verify the service; return the exit status. Raises `Unusable`."""
    token = read_token(environ)
    base, kinds = check(options)
    entries = read_known(options.known) if options.known else []
    old = entries or read_old(options.write_known)
    redactor = Redactor([token])

    def tell(line: str) -> None:
        click.echo(printable(redactor.text(line)))

    service = Service(base, token, options.pause, options.ca)
    contract = Contract(json.loads(read_file("openapi.json")))
    session = Session(contract, service, options.level, options.wait, tell)
    prepare_files(options)
    started = datetime.now(timezone.utc)
    tell(f"verify {options.url} ({options.level})")
    if base.scheme == "http" and base.host not in LOOPBACK:
        tell("warning: http sends the token without encryption")
    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        session.ask_all()
        parts = verdicts_of(session)
        for line in text_of(parts, redactor):
            tell(line)
    except KeyboardInterrupt as reason:
        tell("interrupted: no verdicts")
        return 128 + (reason.args[0] if reason.args else signal.SIGINT)
    except Unusable as error:
        raise Unusable(printable(redactor.text(error.message))) from None
    finally:
        signal.signal(signal.SIGTERM, handler)
        for line in left_behind(session):
            tell(line)
    found = findings_of(parts, entries, started.date(), options.max_age)
    findings = [each for each in found if each.kind in kinds]
    for line in end_of(findings, kinds, parts):
        tell(line)
    if options.report:
        document = document_of(options.url, started, session, parts)
        write_json(options.report, mask(document, redactor))
    if options.write_known:
        known = [each._asdict() for each in known_of(parts, old, started.date())]
        write_json(options.write_known, mask(known, redactor))
    return 1 if findings else 0


def check(options: Options) -> tuple[Base, list[str]]:
    """The URL in its parts, and the kinds of --fail-on. Raises `Unusable`."""
    try:
        base = parse_url(options.url)
    except ValueError as error:
        raise Unusable(f"{error}.") from None
    try:
        kinds = stub.parse_kinds(options.fail_on, KINDS)
    except ValueError as error:
        raise Unusable(f"--fail-on: {error}.") from None
    if options.abuse and not options.write:
        raise Unusable("--abuse may create projects: give --write, too.")
    if options.ca and base.scheme != "https":
        raise Unusable("--ca is for https.")
    if options.max_age is not None and not options.known:
        raise Unusable("--max-age is for the entries of --known: give it, too.")
    return base, kinds


def end_of(findings: list[Finding], kinds: list[str], parts: list[Verdict]) -> Iterator[str]:
    """The findings, and what says nothing about the service."""
    yield ""
    yield from (f"finding: {each.kind}: {each.what}" for each in findings)
    if not findings:
        yield f"no finding of the kinds {', '.join(kinds)}"
    for verdict in ("could not check", "unstable"):
        if count := sum(each.verdict == verdict for each in parts):
            yield f"warning: {verdict}: {count} of {len(parts)} parts"


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


def read_old(path: Path | None) -> list[Known]:
    """The entries of a file that will be written anew, so that none of their reasons is lost."""
    return read_known(path) if path and path.exists() else []


def prepare_files(options: Options) -> None:
    """Remove the report of a previous run. Raises `Unusable` if a file cannot be written."""
    report, known = options.report, options.write_known
    others = [target_of(each) for each in (options.ca, options.known, known) if each]
    if report and target_of(report) in others:
        raise Unusable(f"--report: {report} is the file of another option.")
    if known and options.ca and target_of(known) == target_of(options.ca):
        raise Unusable(f"--write-known: {known} is the file of another option.")
    if known:
        use_file(known, check_folder)
    if report:
        use_file(report, remove_old_report)


def use_file(path: Path, use: Callable[[Path], None]) -> None:
    """Call `use` with the path. Raises `Unusable` for an `OSError`, and for `-`."""
    if path == Path("-"):
        raise Unusable("give the name of a file; - stands for no stream here.")
    try:
        use(path)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}.") from None


def check_folder(path: Path) -> None:
    """Raises `OSError` if no file can be written there."""
    with NamedTemporaryFile(dir=target_of(path).parent):
        pass


def write_json(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=2) + "\n"
    use_file(path, lambda path: write_whole(path, text))
