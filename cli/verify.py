"""`app.py verify URL`: learns and checks a real service, and tells what it has seen."""

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import click

import stub
from profiles.check import MAX_BYTES
from traffic.addresses import is_loopback
from verify.options import KINDS, Options, contradictions

from .options import Number, Start, file, flag, option, several
from .reports import (
    Case,
    Failure,
    annotate,
    check_writable,
    is_xml,
    junit_xml,
    replace_file,
    try_to_write,
    write_file,
)
from .stderr import say_error

if TYPE_CHECKING:
    from verify.client import HTTPClient
    from verify.exchange import Log, ServiceExchange
    from verify.inputs import Inputs
    from verify.main import Finding, Result

PARTS = ("broken", "differs")  # kinds of findings that are of a part of the contract
Say = Callable[[Iterable[str]], None]
"""Prints lines, in which secrets are masked."""


def parse_given(text: str) -> str:
    if not text:
        raise ValueError("give a value, or leave the option out")
    return text


ROWS: dict[str, dict[str, Any]] = {
    "write": flag("Create one project, and follow its deployment."),
    "wait": option("Longest seconds of each poll.", Number(0, 3600)),
    "pause": option("Seconds between two requests.", Number(0, 60)),
    "body": file("JSON body of the creation, in which {name} stands once."),
    "deployment": option("The id of a deployment, where no response names one.", parse_given),
    "har": file("Judge the exchanges of this HAR file; nothing is asked."),
    "ca": file("File of a certificate authority to trust, too, as PEM."),
    "known": file("File of known findings, one a line, as for --allow."),
    "save": file("File for the profile of the service, for --like."),
    "force": flag("Let --save replace a file that is no profile."),
    "like": file("Profile of the service: find what has changed since."),
    "report": file("File for the verdicts, as JSON; FILE.xml: JUnit XML."),
    "fail_on": several(
        f"Exit with 1 if one of these is found: {', '.join(KINDS)}",
        lambda given: stub.parse_kinds(given, KINDS),
        metavar="KINDS",
        default=["broken,leaks,drift,unseen"],
    ),
}
DEFAULTS = {each.name: each.default for each in fields(Options)}
OPTIONS = [
    click.Option([f"--{name.replace('_', '-')}"], **{"default": DEFAULTS[name], **row})
    for name, row in ROWS.items()
]


@click.command(
    params=[click.Argument(["url"], default="", metavar="[URL] [-- COMMAND [ARG]...]"), *OPTIONS],
    epilog="Exit status: 0 without a finding, 1 with one, 2 if nothing could be checked; with a "
    "COMMAND its own if that is not 0.",
    context_settings={"show_default": True},
)
@click.pass_obj
def verify(start: Start, /, **values: Any) -> int:
    """Learn and check a real service: does it do what the contract says?

    The URL is the one before /v1. The token is read from the environment variable VERIFY_TOKEN
    alone. Without --write it only reads. With -- COMMAND after the options, the requests of that
    command to the service are recorded and judged: its STUB_URL is a proxy on this machine. With
    --har, recorded exchanges are judged.
    """
    options = Options(words=start.words, **values)
    for message in contradictions(options):
        raise click.UsageError(message)
    try:
        return verify_service(start, options)
    except ValueError as error:
        raise click.UsageError(f"{masked(str(error), start.environ)}.") from None


def masked(text: str, environ: Mapping[str, str]) -> str:
    """A message without the token, which a response may have repeated."""
    from verify.report import printed
    from verify.spellings import Secrets

    secrets = Secrets([environ.get("VERIFY_TOKEN", "")])
    return "\n".join(printed(secrets, line) for line in text.split("\n"))


@dataclass(frozen=True)
class Run:
    """What a run was asked for, and the files that its end writes."""

    environ: Mapping[str, str]
    options: Options
    inputs: "Inputs"
    token: str
    started: datetime


def verify_service(start: Start, options: Options) -> int:
    """Get a log, judge it and tell; return the exit status: that of the command if it is not 0.

    Raises `ValueError` with what is wrong, `OSError`, and `server.ListenError`.
    """
    from verify.inputs import check_save, read_inputs  # no other command needs what these import
    from verify.report import text_of_left_behind

    token = start.environ.get("VERIFY_TOKEN", "")
    inputs = read_inputs(options)
    client = None if options.har else make_client(options, token)
    check_save(options)
    if options.save:
        check_writable(options.save)
    if options.report:
        write_file(options.report, "")  # that of another run is not this run's
    run = Run(start.environ, options, inputs, token, datetime.now(UTC))
    asked: list[ServiceExchange] = []  # what was sent until now, also after Ctrl-C
    say = sayer([token])
    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        say([f"verify {options.source} ({options.level})", *warnings_of(options)])
        log, status = get_log(run, client, asked, say)
        return conclude(run, log, status)
    except KeyboardInterrupt as interrupted:
        say(["interrupted: no verdicts"])
        number: int = interrupted.args[0] if interrupted.args else signal.SIGINT
        return 128 + number
    finally:
        signal.signal(signal.SIGTERM, handler)
        say(text_of_left_behind(asked))


def interrupt(number: int, frame: object) -> NoReturn:
    """Handle a signal as Ctrl-C is handled; raises `KeyboardInterrupt(number)`."""
    raise KeyboardInterrupt(number)


def make_client(options: Options, token: str) -> "HTTPClient":
    from verify import record
    from verify.client import TIMEOUT, HTTPClient, check_token

    timeout = record.TIMEOUT if options.words else TIMEOUT
    client = HTTPClient(options.url, options.ca, timeout)
    check_token(token)
    return client


def warnings_of(options: Options) -> list[str]:
    url = urlsplit(options.url)
    if url.scheme == "http" and not is_loopback(url.hostname or ""):
        return ["warning: http sends the token without encryption"]
    return []


def get_log(
    run: Run, client: "HTTPClient | None", asked: "list[ServiceExchange]", say: Say
) -> "tuple[Log, int]":
    """The log of the recording, the command or the session, and the status of the command."""
    options = run.options
    if client is None:
        from verify.har import read_har

        assert options.har
        return read_har(options.har), 0
    if options.words:
        from .recording import record

        return record(client, run.token, options.words, run.environ)
    from verify.script import Plan, Session

    plan = Plan(
        token=run.token,
        writes=options.write,
        wait=options.wait,
        pause=options.pause,
        repeats=bool(options.save or options.like),
        hints=run.inputs.hints,
    )
    if not options.write:
        say(["without --write, no creation and no run of a deployment is seen"])
    session = Session(client, plan, tell=lambda line: say([line]), exchanges=asked)
    return session.ask_all(), 0


def conclude(run: Run, log: "Log", status: int) -> int:
    """Judge a log, tell, and write the files; `status` is that of a command."""
    from verify.main import judge, select_unused
    from verify.report import text_of_result

    options = run.options
    try:
        result = judge(log, options, run.inputs, run.token)
    except ValueError as error:
        if not status:
            raise
        say_error(f"{error}.")
        return status
    say = sayer([run.token], result)
    say(text_of_result(result))
    findings = result.select_findings(options.fail_on, run.inputs.known)
    is_written = write_files(run, result, findings, say)
    unused = select_unused(result.findings, run.inputs.known)
    tell_findings(run, result, findings, unused, say)
    return status or (1 if findings else 0 if is_written else 2)


# The end of a run


def write_files(run: Run, result: "Result", findings: "list[Finding]", say: Say) -> bool:
    """Write the files of a run, and return whether that was possible."""
    from verify.report import text_of_profile

    report, save = run.options.report, run.options.save
    is_whole = True
    if report:
        is_whole = try_to_write(partial(write_file, report, text_of_report(run, result, findings)))
    if save and result.inferred is None:
        say(["", f"no profile is saved in {save}: this needs a project that was created"])
        is_whole = False
    elif save and result.inferred:
        if save_profile(save, result.inferred.document):
            say(text_of_profile(result, save))
        else:
            is_whole = False
    return is_whole


def text_of_report(run: Run, result: "Result", findings: "list[Finding]") -> str:
    from verify.report import document_of

    if is_xml(run.options.report):
        return junit_xml("verify", list(cases_of(result, findings)))
    return text_of(document_of(result, run.options, run.started, findings))


def cases_of(result: "Result", findings: "list[Finding]") -> Iterator[Case]:
    """A test case for each part that was judged, and for each other kind of finding."""
    from verify.parts import give_reason
    from verify.report import NOTHING_SHOWN, describe_failure, printed

    by_part = {finding[1].part: finding for finding in findings if finding[0] in PARTS}
    for check in result.parts:
        found = by_part.get(check.part)
        failures = [Failure(*describe_failure(result, found))] if found else []
        skipped = "" if check.observed else give_reason(check) or NOTHING_SHOWN
        yield Case(check.part, failures, printed(result.secrets, skipped))
    for kind in KINDS:
        if kind not in PARTS:
            of_kind = [finding for finding in findings if finding[0] == kind]
            yield Case(kind, [Failure(*describe_failure(result, each)) for each in of_kind])


def save_profile(file: Path, document: dict[str, Any]) -> bool:
    """Write a profile, and return whether that was possible; `--like` rejects a large one."""
    text = text_of(document)
    if len(text.encode()) > MAX_BYTES:
        say_error(f"{file}: it would have over {MAX_BYTES} bytes.")
        return False
    return try_to_write(partial(replace_file, file, text))


def text_of(document: dict[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # JSON may have half of a character (RFC 8259 §8.2), and UTF-8 not.
    data = text.encode(errors="replace")
    return f"{data.decode()}\n"


def tell_findings(
    run: Run, result: "Result", findings: "list[Finding]", unused: list[str], say: Say
) -> None:
    """Tell the findings, and the known ones that match none; GitHub Actions gets them, too."""
    from verify.main import write_line
    from verify.report import printed

    lines = [write_line(each) for each in findings]
    warnings = [f"--known {line!r} matches no finding" for line in unused]
    say(["", *[f"finding: {line}" for line in lines]])
    if not findings:
        say([f"no finding of the kinds {', '.join(run.options.fail_on)}"])
    say([f"warning: {line}" for line in warnings])
    errors = [printed(result.secrets, line) for line in lines]
    annotate(run.environ, "error", errors)
    annotate(run.environ, "warning", [printed(result.secrets, line) for line in warnings])


def sayer(tokens: list[str], result: "Result | None" = None) -> Say:
    """Prints lines without these tokens, or without all secrets of a result."""
    from verify.report import printed
    from verify.spellings import Secrets

    secrets = result.secrets if result else Secrets(tokens)

    def say(lines: Iterable[str]) -> None:
        with suppress(BrokenPipeError):  # as behind `| head`: the run goes on, and writes its files
            for line in lines:
                click.echo(printed(secrets, line))

    return say
