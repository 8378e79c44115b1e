"""The command as a function: checks the options, asks, prints the result, returns the status."""

import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import click

import stub
from stub.like.profile import read_profile
from web.files import read_file
from web.redaction import Redactor, cut, printable

from ..serving import remove_old_report, write_whole
from . import Options
from .client import Client, Exchange
from .judge import COULD_NOT_CHECK, ERRORS, NOT_SEEN, Record, parts_in
from .probes import ABUSE, ALL, BEARER, INVALID_BODY, LEVELS, READ, WRITE, Probe
from .profile import FORMS, Drifts, at, drift, profile_of
from .session import LEAK, Session

VERDICTS = ("kept", "broken", "confirmed", "differs", NOT_SEEN, COULD_NOT_CHECK)
ADVICE = {  # of each kind of difference, what to do about it
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
}
MAX_SHOWN = 500  # bytes of a body


class Part(NamedTuple):
    """A part and its verdict. A difference has the exchange that showed it, and its value there."""

    part: str
    origin: str  # fixed or chosen
    verdict: str = NOT_SEEN
    expected: str = ""
    observed: str = ""
    reason: str = ""
    probe: str = ""
    value: str = ""  # this and the exchange are not in the report
    exchange: Exchange | None = None


def verify_service(environ: Mapping[str, str], options: Options) -> int:
    """Verify the service; return the exit status. Raises `click.UsageError`."""
    if options.abuse and not options.write:
        raise click.UsageError("--abuse may create projects: give --write, too.")
    if options.report in {options.known, options.ca, options.like, options.save} - {None}:
        raise click.UsageError(f"--report: {options.report} is no file of its own.")
    token = environ.get("VERIFY_TOKEN", "")
    try:
        client = Client(options.url, token, options.ca)
        known = read_known(options.known) if options.known else []
        like = read_profile(options.like) if options.like else None
        if options.save:
            remove_old_report(options.save, is_kept=True)
        if options.save and options.save.exists() and not options.force:
            try:
                read_profile(options.save)
            except ValueError as error:
                raise ValueError(f"only --force replaces what is no profile:\n{error}") from None
        if options.report:
            remove_old_report(options.report)
    except OSError as error:
        raise click.UsageError(f"{error.filename or options.ca}: {error.strerror}.") from None
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    redactor = Redactor([token])

    def tell(*lines: str) -> None:
        try:
            for line in lines:
                click.echo(printable(redactor.text(line)))
        except BrokenPipeError:  # as behind `| head`: the run goes on, and writes its files
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    level = ABUSE if options.abuse else WRITE if options.write else READ
    contract = stub.Contract(json.loads(read_file("openapi.json")))
    if like:
        contract.statuses += like.words
        contract.running += like.running
    record = Record(contract, level, redactor)
    started = datetime.now(timezone.utc)
    tell(f"verify {options.url} ({level})")
    if re.match(r"http://(?!127\.|localhost\b|\[::1\])", options.url):
        tell("warning: http sends the token without encryption")
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        Session(record, client, options.wait, options.pause, tell).ask_all()
        parts, profile = judge_parts(record), profile_of(record, f"{started:%Y-%m-%d}")
        drifts = drift(profile, like, contract.ends) if like else None
        tell(*text_of(parts, record, drifts))
    except KeyboardInterrupt:
        tell("interrupted: no verdicts")
        return 130
    finally:
        signal.signal(signal.SIGTERM, handler)
        tell(*left_behind(record))
    report = {
        "url": options.url,
        "started_at": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "level": level,
        "parts": [dict([*each._asdict().items()][:-2]) for each in parts],
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
    if options.save:
        lacks = [place for place in FORMS if at(profile, place) is None]
        tell(
            "",
            f"saved {options.save}, which has no bodies; "
            f"not in it: {', '.join(lacks) or 'nothing'}",
        )
    ended = profile.get("statuses", {"ended": ""})["ended"]
    if ended is None and (options.save or like):
        tell("warning: the deployment did not end: give a longer --wait")
    if ended in contract.ends - {"succeeded"} and options.save:
        tell(f"warning: the deployment ended as {ended}, and so will those of the stub: save again")
    return fail_on(findings_of(parts, record, drifts), options.fail_on, known, tell)


def fail_on(
    found: list[str], kinds: Sequence[str], known: list[str], tell: Callable[..., None]
) -> int:
    """Tell the findings of these kinds that are not known; return the exit status."""
    accepted = [each for each in found if any(stub.matches(line, each) for line in known)]
    findings = [each for each in found if each.split(":")[0] in kinds and each not in accepted]
    tell("", *(f"finding: {each}" for each in findings))
    if not findings:
        tell(f"no finding of the kinds {', '.join(kinds)}")
    unused = [line for line in known if not any(stub.matches(line, each) for each in found)]
    tell(*(f"warning: --known {line!r} matches no finding" for line in unused))
    return 1 if findings else 0


def read_known(path: Path) -> list[str]:
    """The lines of a file of known findings, without their reasons, which follow a ` # `."""
    lines = path.read_text("utf-8", errors="replace").splitlines()
    findings = (re.split(r"(?:^|\s)#(?:\s|$)", line)[0].strip() for line in lines)
    return [each for each in findings if each]


def judge_parts(record: Record) -> list[Part]:
    """The parts of the contract with their verdicts, in its order."""
    errors = dict(parts_in(record.contract, ERRORS)).keys()
    shown = {each: {*each.rules, *dict(parts_in(record.contract, each.expects))} for each in ALL}
    shown |= {each: shown[each] - errors for each in ALL if each.expects != INVALID_BODY}
    return [
        judge_part(Part(part, origin), [each for each in ALL if part in shown[each]], record)
        for part, (origin,) in dict(parts_in(record.contract, "#")).items()
    ]


def judge_part(part: Part, witnesses: list[Probe], record: Record) -> Part:
    """The part with its verdict; `witnesses` are the probes that can show it."""
    seen = [each for each in record.claims if each[0].part == part.part]
    against = [each for each in seen if not each[0].holds]
    if part.part == BEARER and not against:  # which every operation has to show
        names = [exchange.probe.name for _, exchange in seen]
        witnesses = [each for each in witnesses if each.name not in names]
        seen = [] if witnesses else seen
    if not seen:
        return why_not_seen(part, witnesses, record)
    shown = against or seen[:1]
    claim, exchange = shown[0]
    fixed, chosen = ("broken", "differs") if against else ("kept", "confirmed")
    return part._replace(
        verdict=fixed if part.origin == "fixed" else chosen,
        expected="; ".join(dict.fromkeys(each.expected for each, _ in shown)),
        observed="; ".join(sorted({each.otherwise for each, _ in against} or {claim.expected})),
        probe=exchange.probe.name,
        value=claim.value,
        exchange=exchange if against else None,
    )


def why_not_seen(part: Part, witnesses: list[Probe], record: Record) -> Part:
    """The part with the reason and the probe that could have shown it: one that failed, if any."""
    silent, rank, asked = record.silent, LEVELS.index, LEVELS.index(record.level)
    witnesses.sort(key=lambda x: (max(rank(x.level), asked), x.name not in silent, rank(x.level)))
    verdict, reason, probe = min(
        ((*silent.get(x.name, (NOT_SEEN, "no response had it")), x.name) for x in witnesses),
        key=lambda each: each[0] != COULD_NOT_CHECK,
        default=(NOT_SEEN, "cannot be provoked by a well-formed request", ""),
    )
    return part._replace(verdict=verdict, reason=reason, probe=probe)


def findings_of(parts: list[Part], record: Record, drifts: Drifts | None) -> list[str]:
    """All that a team may want to fail on; each begins with its kind.

    Where a profile has the choices of the service, what drifts from it stands for the differences.
    """
    kinds = ("broken", "differs") if drifts is None else ("broken",)
    found = [each for each in parts if each.verdict in kinds]
    return [
        *(drifts or ()),
        *(f"leaks: {probe}: {LEAK}" for probe in record.leaks),
        *(f"{p.verdict}: {p.part}: {p.expected} here, {p.observed} there" for p in found),
    ]


def text_of(parts: list[Part], record: Record, drifts: Drifts | None) -> Iterator[str]:
    """The counts; the differences, or those that drifted, with exchanges; what is unchecked."""
    shown = ("#",) if drifts is None else tuple(f"{x}/" for each in drifts.values() for x in each)
    new = [x for x in parts if x.verdict == "broken" or f"{x.part}/".startswith(shown)]
    counts = Counter(each.verdict for each in parts)
    yield ", ".join(f"{counts[each]} {each}" for each in VERDICTS)
    for kind, advice in ADVICE.items():
        found = [each for each in new if each.verdict == kind]
        yield from ("", f"{kind} ({advice}):") if found else ()
        for exchange in dict.fromkeys(each.exchange for each in found if each.exchange):
            for part in found:
                if part.exchange is exchange:
                    origin = record.contract.find(part.part)[1]["x-origin"][part.origin]
                    yield from (f"  {part.part}", f"    {part.origin}:    {origin}")
                    yield f"    contract:  {part.expected}"
                    yield from (f"    service:   {part.observed}", f"    probe:     {part.probe}")
                    if part.value:
                        yield f"    value:     {cut(record.redactor.text(part.value), MAX_SHOWN)}"
            yield from (f"    {line}" for line in lines_of(exchange, record))
    for kind in (COULD_NOT_CHECK, NOT_SEEN):
        found = [each for each in parts if each.verdict == kind]
        for reason in dict.fromkeys(each.reason for each in found):
            yield from ("", f"{kind}: {reason}")
            yield from (f"  {each.part}" for each in found if each.reason == reason)


def lines_of(exchange: Exchange, record: Record) -> Iterator[str]:
    """A request and its response, masked."""
    sides = (
        (">", f"{exchange.probe.method} {exchange.target}", exchange.sent, exchange.body),
        ("<", str(exchange.status), exchange.headers.items(), exchange.content),
    )
    for mark, first, headers, body in sides:
        yield f"{mark} {first}"
        for name, value in headers:
            yield f"{mark} {name}: {Redactor.secret(name, str(value))}"
        # Masked before it is cut: half a token would not be found.
        text = cut(record.redactor.text(body.decode(errors="replace")), MAX_SHOWN)
        yield from (f"{mark} {line}" for line in text.splitlines())
        if len(body) > MAX_SHOWN:
            yield f"{mark} … ({len(body):,} bytes)"


def left_behind(record: Record) -> Iterator[str]:
    """What the run has left in the service."""
    yield from ("", "left behind in the service:") if record.created else ()
    for each in record.created:
        place = "perhaps" if each["id"] is None else json.dumps(each["id"], ensure_ascii=False)
        yield f"  {place}  {json.dumps(each['name'], ensure_ascii=False)}"
