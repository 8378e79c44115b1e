"""What a run comes to: a verdict for each part of the contract, the findings, and the text."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from web.redaction import Redactor, cut

from .client import Exchange
from .forms import parts_in
from .judge import COULD_NOT_CHECK, ERRORS, NOT_SEEN, Record
from .probes import ABUSE, ALL, BEARER, INVALID_BODY, LEVELS, READ, WRITE, Probe
from .session import LEAK

VERDICTS = ("kept", "broken", "confirmed", "differs", NOT_SEEN, COULD_NOT_CHECK)
MAX_SHOWN = 500  # bytes of a body
# Each kind of finding, and what to do about it.
ADVICE = {
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
    "leaks": "whoever reads a response or its log has the token: correct the service",
    "drift": "the service has changed since its profile: save it anew",
}
DIFFERENCES = ("broken", "differs")
REASONS = {READ: "no response had it", WRITE: "needs --write", ABUSE: "needs --write --abuse"}


class Part(NamedTuple):
    """A part and its verdict. A difference has the exchange that showed it, and its value there."""

    part: str
    origin: str  # fixed or chosen
    verdict: str = NOT_SEEN
    expected: str = ""
    observed: str = ""
    reason: str = ""
    probe: str = ""
    text: str = ""  # of the origin; this and what follows are not in the report
    value: str = ""
    exchange: Exchange | None = None


IN_THE_REPORT = Part._fields[: Part._fields.index("text")]


def judge_parts(record: Record) -> list[Part]:
    """The parts of the contract with their verdicts, in its order."""
    errors = dict(parts_in(record.contract, ERRORS)).keys()
    shown = {each: {*each.rules, *dict(parts_in(record.contract, each.expects))} for each in ALL}
    found = []
    for pointer, origin in dict(parts_in(record.contract, "#")).items():
        ((kind, text),) = origin.items()
        witnesses = [each for each in ALL if pointer in shown[each]]
        if pointer in errors:
            witnesses = [each for each in witnesses if each.expects == INVALID_BODY]
        found.append(judge_part(Part(pointer, kind, text=text), witnesses, record))
    return found


def judge_part(part: Part, witnesses: list[Probe], record: Record) -> Part:
    """The part with its verdict; `witnesses` are the probes that can show it."""
    seen = [each for each in record.claims if each[0].part == part.part]
    against = [each for each in seen if not each[0].holds]
    if part.part == BEARER and not against:  # which every operation has to show
        names = [exchange.probe.name for _, exchange in seen]
        witnesses = [each for each in witnesses if each.name not in names]
        seen = [] if witnesses else seen
    if not seen:
        verdict, reason, probe = why_not_seen(witnesses, record)
        return part._replace(verdict=verdict, reason=reason, probe=probe)
    shown = against or seen[:1]
    claim, exchange = shown[0]
    verdicts = DIFFERENCES if against else ("kept", "confirmed")
    return part._replace(
        verdict=verdicts[part.origin != "fixed"],
        expected="; ".join(dict.fromkeys(each.expected for each, _ in shown)),
        observed="; ".join(sorted({each.otherwise for each, _ in against} or {claim.expected})),
        probe=exchange.probe.name,
        value=claim.value,
        exchange=exchange if against else None,
    )


def why_not_seen(witnesses: list[Probe], record: Record) -> tuple[str, str, str]:
    """The verdict, the reason, and the probe that could have shown the part."""
    if not witnesses:
        return NOT_SEEN, "cannot be provoked by a well-formed request", ""
    silent = [
        (*record.silent[each.name], each.name) for each in witnesses if each.name in record.silent
    ]
    if silent:
        return min(silent, key=lambda each: each[0] != COULD_NOT_CHECK)
    first = min(witnesses, key=lambda each: LEVELS.index(each.level))
    is_asked = LEVELS.index(first.level) <= LEVELS.index(record.level)
    return NOT_SEEN, REASONS[READ if is_asked else first.level], first.name


def findings_of(parts: list[Part], record: Record, drifts: list[str] | None) -> list[str]:
    """All that a team may want to fail on; each begins with its kind.

    Where a profile has the choices of the service, what drifts from it stands for the differences.
    """
    kinds = DIFFERENCES if drifts is None else DIFFERENCES[:1]
    found = [each for each in parts if each.verdict in kinds]
    return [
        *(drifts or ()),
        *(f"leaks: {probe}: {LEAK}" for probe in record.leaks),
        *(f"{p.verdict}: {p.part}: {p.expected} here, {p.observed} there" for p in found),
    ]


def text_of(parts: list[Part], record: Record) -> Iterator[str]:
    """The counts, each difference with what was sent and received, and what was not checked."""
    counts = Counter(each.verdict for each in parts)
    yield ", ".join(f"{counts[each]} {each}" for each in VERDICTS)
    for kind in DIFFERENCES:
        found = [each for each in parts if each.verdict == kind]
        yield from ("", f"{kind} ({ADVICE[kind]}):") if found else ()
        for exchange in dict.fromkeys(each.exchange for each in found if each.exchange):
            for part in found:
                if part.exchange is exchange:
                    yield f"  {part.part}"
                    yield f"    {part.origin}:    {part.text}"
                    yield f"    contract:  {part.expected}"
                    yield f"    service:   {part.observed}"
                    yield f"    probe:     {part.probe}"
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
