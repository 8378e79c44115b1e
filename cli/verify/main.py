"""The command as a function: checks the options, asks, prints the result, returns the status."""

import json
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from pkgutil import get_data
from tempfile import NamedTemporaryFile
from types import FrameType
from typing import Any

import click

from web.redaction import Redactor, printable

from ..report import remove_old_report, target_of, write_whole
from .contract import Contract
from .ledger import KINDS, Known, findings_of, known_of, read_known
from .probes import ABUSE, READ, WRITE
from .result import document_of, judge, left_behind, mask, text_of
from .run import Run
from .service import Service, Unusable, parse_url

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def verify_service(
    environ: Mapping[str, str],
    url: str,
    *,
    write: bool,
    abuse: bool,
    wait: float,
    pause: float,
    ca: Path | None,
    known: Path | None,
    write_known: Path | None,
    max_age: int | None,
    report: Path | None,
    fail_on: Sequence[str],
) -> int:
    """Verify the service at `url`; return the exit status. Raises `Unusable`."""
    token = read_token(environ)
    try:
        base, kinds = parse_url(url), parse_kinds(fail_on)
    except ValueError as error:
        raise Unusable(f"{error}.") from None
    if abuse and not write:
        raise Unusable("--abuse may create projects: give --write, too.")
    if ca and base.scheme != "https":
        raise Unusable("--ca is for https.")
    if max_age is not None and not known:
        raise Unusable("--max-age is for the entries of --known: give it, too.")
    entries = read_known(known) if known else []
    old = entries or read_old(write_known)
    level = ABUSE if abuse else WRITE if write else READ
    redactor = Redactor([token])

    def tell(line: str) -> None:
        click.echo(printable(redactor.text(line)))

    run = Run(read_contract(), Service(base, token, pause, ca), level, wait, tell)
    prepare_files(report, write_known, (ca, known))
    signal.signal(signal.SIGTERM, interrupt)
    started = datetime.now(timezone.utc)
    tell(f"verify {url} ({level})")
    if base.scheme == "http" and base.host not in LOOPBACK:
        tell("warning: http sends the token without encryption")
    try:
        run.run()
        parts = judge(run)
        for line in text_of(parts, redactor):
            tell(line)
    except KeyboardInterrupt as reason:
        tell("interrupted: no verdicts")
        return 128 + (reason.args[0] if reason.args else signal.SIGINT)
    except Unusable as error:
        raise Unusable(printable(redactor.text(error.message))) from None
    finally:
        for line in left_behind(run):
            tell(line)
    findings = [
        each for each in findings_of(parts, entries, started.date(), max_age) if each.kind in kinds
    ]
    tell("")
    for each in findings:
        tell(f"finding: {each.kind}: {each.what}")
    if not findings:
        tell(f"no finding of the kinds {', '.join(kinds)}")
    if report:
        write_json(report, mask(document_of(url, started, run, parts), redactor))
    if write_known:
        known_now = known_of(parts, old, started.date())
        write_json(write_known, mask([each._asdict() for each in known_now], redactor))
    return 1 if findings else 0


def interrupt(number: int, frame: FrameType | None) -> None:
    """End as after Ctrl-C: with what is left behind."""
    raise KeyboardInterrupt(number)


def read_token(environ: Mapping[str, str]) -> str:
    token = environ.get("VERIFY_TOKEN", "")
    if not re.fullmatch("[!-~]+", token):
        raise Unusable(
            "VERIFY_TOKEN has no token: set this environment variable to the token of the service, "
            "one line of ASCII without spaces."
        )
    return token


def parse_kinds(values: Iterable[str]) -> list[str]:
    kinds = [kind.strip() for value in values for kind in value.split(",")]
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"--fail-on: {kind!r} is unknown: there are {', '.join(KINDS)}")
    return kinds


def read_contract() -> Contract:
    data = get_data("auth", "openapi.json")  # of the folder of auth.py, which may be a zip file
    assert data
    return Contract(json.loads(data))


def read_old(path: Path | None) -> list[Known]:
    """The entries of a file that will be written anew, so that none of their reasons is lost."""
    return read_known(path) if path and path.exists() else []


def prepare_files(
    report: Path | None, write_known: Path | None, read: Iterable[Path | None]
) -> None:
    """Remove the report of a previous run. Raises `Unusable` if a file cannot be written."""
    others = [target_of(each) for each in (*read, write_known) if each]
    if report and target_of(report) in others:
        raise Unusable(f"--report: {report} is the file of another option.")
    try:
        if report:
            remove_old_report(report)
        if write_known:
            with NamedTemporaryFile(dir=target_of(write_known).parent):
                pass
    except OSError as error:
        raise Unusable(f"{report if report else write_known}: {error.strerror}.") from None


def write_json(path: Path, document: Any) -> None:
    try:
        write_whole(path, json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}.") from None
