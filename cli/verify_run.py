"""A run of `verify`: gets exchanges with a service, judges them, and reports the findings."""

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import click

import server
from profiles.check import MAX_BYTES
from profiles.profile import read_profile
from traffic.addresses import is_loopback
from traffic.secrets import Secrets
from verify import report
from verify.inputs import Inputs, check_save, read_inputs
from verify.judge import Result, VerifyFinding, judge
from verify.judges import parts
from verify.options import FINDINGS, VerifyOptions
from verify.seen import service_log
from verify.sources import record, script
from verify.sources.client import HTTPClient, check_token
from verify.sources.har import read_har

from . import files, reports, stderr
from .command import Command
from .run import warn_of_no_request


@dataclass(frozen=True)
class VerifyRun:
    """The arguments of a run, and the time of its start. A HAR file needs no client."""

    options: VerifyOptions
    inputs: Inputs
    environ: Mapping[str, str]
    token: str
    client: HTTPClient | None
    secrets: Secrets
    started: datetime

    def print(self, *lines: str) -> None:
        print_lines(self.secrets, lines)


def run_verify(options: VerifyOptions, environ: Mapping[str, str]) -> int:
    """Get the exchanges, judge them, and report; return the exit status.

    Raises `click.UsageError`, `server.ListenError`, and `OSError` for a file.
    """
    token = environ.get("VERIFY_TOKEN", "")
    secrets = Secrets([token])
    try:
        inputs = read_inputs(options)
        client = None if options.har else make_client(options, token)
        check_save(options)
        if options.save:
            files.check_writable(options.save)
        if options.report:
            files.write_file(options.report, "")  # A report of a previous run would be misleading.
        run = VerifyRun(options, inputs, environ, token, client, secrets, datetime.now(UTC))
        return get_and_judge(run)
    except ValueError as error:
        # A response may have repeated the token.
        lines = [report.mask_line(secrets, line) for line in str(error).split("\n")]
        raise click.UsageError("\n".join(lines) + ".") from None


def get_and_judge(run: VerifyRun) -> int:
    """Get the exchanges, and judge them. A signal ends the run.

    At the end, the output lists the projects that the run has left in the service.
    """
    options = run.options
    sent: list[service_log.ServiceExchange] = []
    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        run.print(f"verify {options.source} ({options.level})", *list_warnings(options))
        status = 0
        if options.har:
            log = read_har(options.har)
        elif options.words:
            log, status = record_command(run, options.words)
        else:
            log = ask_service(run, sent)
        return judge_log(run, log, status)
    except KeyboardInterrupt as interrupted:
        run.print("interrupted: no verdicts")
        number: int = interrupted.args[0] if interrupted.args else signal.SIGINT
        return 128 + number
    finally:
        signal.signal(signal.SIGTERM, handler)
        run.print(*report.describe_left_behind(sent, run.inputs.hints))


def interrupt(number: int, frame: object) -> NoReturn:
    """Handle a signal as Ctrl-C is handled; raises `KeyboardInterrupt(number)`."""
    raise KeyboardInterrupt(number)


def make_client(options: VerifyOptions, token: str) -> HTTPClient:
    timeout = 60.0 if options.words else 10.0  # The requests of a test have a shorter timeout.
    client = HTTPClient(options.url, options.ca, timeout)
    check_token(token)
    return client


def list_warnings(options: VerifyOptions) -> list[str]:
    url = urlsplit(options.url)
    if url.scheme == "http" and not is_loopback(url.hostname or ""):
        return ["warning: http sends the token without encryption"]
    return []


def print_lines(secrets: Secrets, lines: Iterable[str]) -> None:
    """Print lines with masked secrets. Ignore a closed pipe, such as `| head`."""
    with suppress(BrokenPipeError):
        for line in lines:
            click.echo(report.mask_line(secrets, line))


# The exchanges


def ask_service(run: VerifyRun, sent: list[service_log.ServiceExchange]) -> service_log.Log:
    """Ask the service; append its exchanges to `sent`, so that they are known after Ctrl-C."""
    assert run.client
    options = run.options
    plan = script.Plan(
        token=run.token,
        writes=options.write,
        wait=options.wait,
        pause=options.pause,
        repeats=bool(options.save or options.like),
        hints=run.inputs.hints,
    )
    if not options.write:
        run.print("without --write, verify sees no creation, and no deployment that runs")
    return script.Session(run.client, plan, tell=run.print, exchanges=sent).ask_all()


def record_command(run: VerifyRun, words: Sequence[str]) -> tuple[service_log.Log, int]:
    """Run a command with a proxy to the service; return the recording and the exit status.

    The command's environment has STUB_URL and STUB_TOKEN. Raises `server.ListenError`.
    """
    assert run.client
    recorder = record.Recorder(run.client, run.token)
    command = Command(words, run.environ)
    host = "127.0.0.1"

    def begin(port: int, stop: Callable[[], None]) -> None:
        command.forward_signals()
        command.environ.update(STUB_URL=f"http://{host}:{port}", STUB_TOKEN=run.token)
        command.start(command.run, stop)

    try:
        server.serve(recorder.app, host, 0, server.ServerOptions(on_listening=begin))
    finally:
        command.end()
    log = recorder.log()
    if not log.exchanges:
        warn_of_no_request(command, "STUB_URL")
    return log, command.status


# The end


def judge_log(run: VerifyRun, log: service_log.Log, status: int) -> int:
    """Judge a log, and report; return the exit status: that of the command if it is not 0."""
    options = run.options
    try:
        result = judge(log, options, run.inputs, run.token)
    except ValueError as error:
        if not status:
            raise
        stderr.say_error(f"{error}.")
        return status
    print_lines(result.secrets, report.describe_result(result))
    findings = result.select_findings(options.fail_on, run.inputs.known)
    is_reported = write_report(run, result, findings)
    is_saved = write_profile(run, result)
    print_findings(run, result, findings)
    if status:
        return status
    if findings:
        return 1
    return 0 if is_reported and is_saved else 2


def write_report(run: VerifyRun, result: Result, findings: list[VerifyFinding]) -> bool:
    """Write the report, if the options name a file; return False for an error."""
    file = run.options.report
    if file is None:
        return True
    if reports.is_xml(file):
        text = reports.format_junit("verify", [*list_cases(result, findings)])
    else:
        text = format_json(report.build_report(result, run.options, run.started, findings))
    return files.try_to_write(partial(files.write_file, file, text))


def write_profile(run: VerifyRun, result: Result) -> bool:
    """Write the profile, if the options name a file; return False if that is not possible."""
    file = run.options.save
    if file is None:
        return True
    if result.inferred is None:
        line = f"{file} was not written: a profile needs a project that was created"
        print_lines(result.secrets, ["", line])
        return False
    lost = list_lost_parts(file, result.inferred.document)
    is_written = save_profile(file, result.inferred.document)
    if is_written:
        print_lines(result.secrets, report.describe_saved(result.inferred, file))
    if is_written and lost:
        line = f"  replaced: {', '.join(lost)} of the earlier profile; --like {file} keeps them"
        print_lines(result.secrets, [line])
    return is_written


def list_lost_parts(file: Path, document: dict[str, Any]) -> list[str]:
    """List the parts of the profile in a file that a document lacks: `["create", "ids"]`."""
    try:
        earlier = read_profile(file).document
    except (OSError, ValueError):
        return []
    return [part for part in earlier if part not in document and part not in ("record", "$schema")]


def list_cases(result: Result, findings: list[VerifyFinding]) -> Iterator[reports.Case]:
    """Make test cases for the parts of the contract, and for the kinds of other findings."""
    of_parts = (parts.BROKEN, parts.DIFFERS)
    by_part = {each.check.part: each for each in findings if each.kind in of_parts}
    for check in result.parts:
        found = by_part.get(check.part)
        failures = [reports.Failure(*report.describe_finding(result, found))] if found else []
        skipped = report.mask_line(result.secrets, report.explain_unseen(check))
        yield reports.Case(check.part, failures, skipped)
    for kind in FINDINGS:
        if kind not in of_parts:
            of_kind = [finding for finding in findings if finding.kind == kind]
            yield reports.Case(
                kind, [reports.Failure(*report.describe_finding(result, each)) for each in of_kind]
            )


def save_profile(file: Path, document: dict[str, Any]) -> bool:
    """Write a profile, and return whether it was written. It must not be too large for --like."""
    text = format_json(document)
    if len(text.encode()) > MAX_BYTES:
        stderr.say_error(f"{file} was not written: it would have over {MAX_BYTES} bytes.")
        return False
    return files.try_to_write(partial(files.replace_file, file, text))


def format_json(document: dict[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # JSON may have half of a surrogate pair (RFC 8259 §8.2), which UTF-8 cannot have.
    data = text.encode(errors="replace")
    return f"{data.decode()}\n"


def print_findings(run: VerifyRun, result: Result, findings: list[VerifyFinding]) -> None:
    """Print the findings, and warn of lines of --known that match no finding."""
    secrets = result.secrets
    found = [finding.line for finding in findings]
    unused = result.select_unused(run.inputs.known)
    warnings = [f"--known {line!r} matches no finding" for line in unused]
    print_lines(secrets, [""])
    print_lines(secrets, [f"finding: {line}" for line in found])
    if not findings:
        print_lines(secrets, [f"no finding of the kinds {', '.join(run.options.fail_on)}"])
    print_lines(secrets, [f"warning: {line}" for line in warnings])
    stderr.annotate(run.environ, "error", [report.mask_line(secrets, line) for line in found])
    stderr.annotate(run.environ, "warning", [report.mask_line(secrets, line) for line in warnings])
