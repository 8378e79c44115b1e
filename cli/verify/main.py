"""The command as a function: checks the options, asks, prints the result, returns the status."""

import json
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click

import stub
from profiles.check import MAX_BYTES
from profiles.markers import CHOICE, DEFAULT_REQUEST, NAME, places_of_name
from profiles.profile import Profile, read_profile
from server import LOOPBACK, in_brackets
from stub.redaction import Redactor
from stub.timelines import matches
from web.files import content_of, read_file
from web.strict_json import MalformedJSON, parse_json

from ..github import add_to_summary, annotate
from ..reports import ReportFile, junit_xml
from ..startup import restore_interrupt
from ..stderr import say_error
from . import Options
from .checks import ABUSE, CREATE, FOLLOWED, GET_DEPLOYMENT, READ, RECORDED, WRITE
from .client import Client
from .drift import compare
from .har import Recording, read_har
from .judge import NOT_SEEN, says_nothing
from .observe import observe
from .report import Result, cases_of, findings_of, left_behind, text_of_profile, text_of_result
from .run import DEPLOYMENTS, Run, names_deployment
from .session import Session
from .values import Path as JSONPath
from .values import first_of, scalars, with_scalars
from .verdicts import Part, conclude, judge_parts, outcome_of

NAME_IN_FILE = "{name}"


class Inputs(NamedTuple):
    """What the options name, read and without errors. Without a client there is a recording."""

    client: Client | None
    recording: Recording
    known: list[str]
    like: Profile | None


class Outputs(NamedTuple):
    """The files that the end of a run writes."""

    profile: ReportFile | None
    report: ReportFile | None


def verify_service(environ: Mapping[str, str], options: Options) -> int:
    """Verify the service; return the exit status. Raises `click.UsageError`."""
    for message in contradictions(options):
        raise click.UsageError(message)
    token = environ.get("VERIFY_TOKEN", "")
    try:
        inputs = read_inputs(options, token)
        outputs = prepare_outputs(options)
    except OSError as error:
        file = error.filename or options.ca
        raise click.UsageError(f"{file}: {error.strerror}.") from None
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    run = make_run(options, inputs)
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    restore_interrupt()
    try:
        exchange_all(run, options, inputs)
        result = result_of(run, options, inputs.like)
        run.tell(*text_of_result(run, result))
    except KeyboardInterrupt:
        run.tell("interrupted: no verdicts")
        return 130
    finally:
        signal.signal(signal.SIGTERM, handler)
        run.tell(*left_behind(run))
    found = list(findings_of(run, result))
    kinds = tuple(f"{kind}: " for kind in options.fail_on)
    chosen = [line for line in found if line.startswith(kinds)]
    findings = [line for line in chosen if not is_known(line, inputs.known)]
    unused = [known for known in inputs.known if not any(matches(known, line) for line in found)]
    is_written = write_outputs(outputs, run, result, findings)
    tell_findings(run, options, environ, findings, unused)
    if findings:
        return 1
    return 0 if is_written else 2


def is_known(line: str, known: list[str]) -> bool:
    """Whether a finding is one of those that a team accepts."""
    return any(matches(each, line) for each in known)


# Inputs and outputs


def contradictions(options: Options) -> Iterator[str]:
    """What is wrong with options that are valid by themselves."""
    har = options.har
    inputs = [options.known, options.ca, options.body, har]
    outputs = [options.like, options.save]
    if bool(options.url) == bool(har):
        yield "give either the URL of a service or --har FILE."
    if options.abuse and not options.write:
        yield "--abuse may create projects: give --write, too."
    if options.body and not options.write:
        yield "--body is that of a creation: give --write, too."
    if options.base and not har:
        yield "--base chooses in a HAR file: give --har, too."
    if har and options.write:
        yield "--write: with --har nothing is asked."
    if har and options.ca:
        yield "--ca: with --har nothing is asked."
    if options.report and options.report in inputs + outputs:
        yield f"--report: {options.report} is no file of its own."
    if options.save and options.save in inputs:
        yield f"--save: {options.save} is no file of its own."


def read_inputs(options: Options, token: str) -> Inputs:
    """Raises `ValueError` with what is wrong, and `OSError`."""
    client = None
    if options.har:
        recording = read_har(options.har, options.base or "")
    else:
        client = Client(options.url, token, options.ca)
        recording = Recording([], DEFAULT_REQUEST, [token], [])
    known = read_known(options.known) if options.known else []
    like = read_profile(options.like) if options.like else None
    if options.body:
        recording = recording._replace(request=read_request(options.body))
    return Inputs(client, recording, known, like)


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


def prepare_outputs(options: Options) -> Outputs:
    """Remove the report of another run. Raises `ValueError`, and `OSError`."""
    profile = ReportFile(options.save, is_kept=True) if options.save else None
    if options.save and options.save.exists() and not options.force:
        try:
            read_profile(options.save)
        except ValueError as error:
            raise ValueError(f"only --force replaces what is no profile:\n{error}") from None
    report = ReportFile(options.report) if options.report else None
    return Outputs(profile, report)


def write_outputs(outputs: Outputs, run: Run, result: Result, findings: list[str]) -> bool:
    """Write the files of a run, and return whether that was possible."""
    is_whole = True
    if outputs.report:
        is_whole = write_report(outputs.report, run, result.parts, findings)
    if outputs.profile and result.observation:
        if save_profile(outputs.profile, result.observation.profile):
            run.tell(*text_of_profile(run, result.observation, outputs.profile))
        else:
            is_whole = False
    return is_whole


def write_report(file: ReportFile, run: Run, parts: list[Part], findings: list[str]) -> bool:
    if file.is_xml:
        cases = list(cases_of(run, parts, findings))
        return file.write(junit_xml("verify", cases))
    document = report_of(run, parts)

    def mask(value: Any) -> Any:
        return run.redactor.text(value) if isinstance(value, str) else value

    return file.write(text_of(with_scalars(document, mask)))


def report_of(run: Run, parts: list[Part]) -> dict[str, Any]:
    checks = []
    for name in run.concluded:
        count = len(run.of(name))
        checks.append({"name": name, "requests": count, "outcome": outcome_of(run, name)})
    return {
        "url": run.source,
        "started_at": f"{run.started:%Y-%m-%dT%H:%M:%SZ}",
        "level": run.level,
        "parts": [part.as_json() for part in parts],
        "probes": checks,
        "leaks": run.leaks,
        "created": run.left_behind,
    }


def save_profile(file: ReportFile, document: dict[str, Any]) -> bool:
    """Write a profile, and return whether that was possible; `--like` rejects a large one."""
    text = text_of(document)
    if len(text.encode()) > MAX_BYTES:
        say_error(f"{file}: it would have over {MAX_BYTES} bytes.")
        return False
    return file.write(text)


def text_of(document: dict[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # JSON may have half of a character (RFC 8259 §8.2), and UTF-8 not.
    data = text.encode(errors="replace")
    return f"{data.decode()}\n"


# The run


def make_run(options: Options, inputs: Inputs) -> Run:
    contract = stub.Contract(json.loads(read_file("openapi.json")))
    recording = inputs.recording
    run = Run(
        contract=contract,
        source=str(options.har or options.url),
        level=level_of(options),
        redactor=Redactor(recording.tokens + recording.secrets),
        tokens=Redactor(recording.tokens),
        request=recording.request,
        given=options.deployment or "",
    )
    if inputs.like:
        contract.statuses += inputs.like.words
        contract.running += inputs.like.running
        run.known_status_path = status_path_of(inputs.like)
    return run


def level_of(options: Options) -> str:
    if options.har:
        return RECORDED
    if options.abuse:
        return ABUSE
    if options.write:
        return WRITE
    return READ


def status_path_of(like: Profile) -> JSONPath | None:
    form = like.form("deployment")
    if form is None:
        return None
    paths = [path for path, value in scalars(form.body) if value == CHOICE]
    return first_of(paths)


def exchange_all(run: Run, options: Options, inputs: Inputs) -> None:
    run.tell(f"verify {run.source} ({run.level})")
    if inputs.client is None:
        take_recording(run, inputs.recording)
        return
    url = urlsplit(options.url)
    is_here = re.fullmatch(LOOPBACK, in_brackets(url.hostname or ""))
    if url.scheme == "http" and not is_here:
        run.tell("warning: http sends the token without encryption")
    session = Session(run, inputs.client, options)
    session.ask_all()


def take_recording(run: Run, recording: Recording) -> None:
    """Judge recorded exchanges as those of a session."""
    run.exchanges += recording.exchanges
    run.look()
    find_followed(run)
    run.has_ended = has_ended(run)
    recorded = dict.fromkeys(each.check for each in run.exchanges)
    for check in recorded:
        conclude(run, check, run.of(check.name))
    for check in run.checks:
        if check.name not in run.concluded:
            run.silent[check.name] = NOT_SEEN, "it was not recorded"
    ids = [each.deployment_id for each in run.exchanges]
    if run.given and run.given not in ids:
        run.tell(f"{run.given} was not recorded")
    if not run.of(*DEPLOYMENTS):
        run.tell("no deployment was recorded")
    if not run.of(CREATE.name):
        run.tell("no creation was recorded")
    if says_nothing(run, run.judged):
        last = run.exchanges[-1]
        raise click.UsageError(f"nothing could be checked: {last.failure}.")


def find_followed(run: Run) -> None:
    """Find the exchanges with the created deployment, and give them its check."""
    bodies = run.bodies_of_creation()
    for index, exchange in enumerate(run.exchanges):
        if not bodies or exchange.check != GET_DEPLOYMENT:
            continue
        asked = exchange.deployment_id
        is_named = any(names_deployment(body, asked) for body in bodies)
        if is_named or asked == run.given:
            run.exchanges[index] = replace(exchange, check=FOLLOWED)


def has_ended(run: Run) -> bool:
    """Whether the created deployment has come to its end in a recording.

    Clients read it until then: the last status is the end, if it was another one before.
    """
    words = [run.status_of(each.json) for each in run.followed]
    if len(set(words)) < 2:
        return False
    last = words[-1]
    return last not in run.contract.running


def result_of(run: Run, options: Options, like: Profile | None) -> Result:
    run.look()
    parts = list(judge_parts(run))
    if not options.save and not like:
        return Result(parts, None, None)
    observation = observe(run)
    drift = compare(like, observation) if like else None
    return Result(parts, observation, drift)


def tell_findings(
    run: Run,
    options: Options,
    environ: Mapping[str, str],
    findings: list[str],
    unused: list[str],
) -> None:
    """Tell the findings, and the known ones that match none; GitHub Actions gets them, too."""
    warnings = [f"--known {line!r} matches no finding" for line in unused]
    run.tell("", *[f"finding: {line}" for line in findings])
    if not findings:
        kinds = ", ".join(options.fail_on)
        run.tell(f"no finding of the kinds {kinds}")
    run.tell(*[f"warning: {line}" for line in warnings])
    mask = run.redactor.text
    errors = [mask(line) for line in findings]
    masked_warnings = [mask(line) for line in warnings]
    annotate(sys.stdout, "error", errors)
    annotate(sys.stdout, "warning", masked_warnings)
    add_to_summary(environ, "verify", "\n".join(errors) or "no finding")
