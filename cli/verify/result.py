"""What a run comes to: a verdict for each part of the contract, the report, and the text."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from web.redaction import Redactor, cut

from .probes import ABUSE, ALL, LEVELS
from .service import Exchange
from .session import Session

VERDICTS = (
    "kept",
    "broken",
    "confirmed",
    "differs",
    "not seen",
    "unstable",
    "could not check",
)
DIFFERENCES = ("broken", "differs")
MAX_SHOWN_BYTES = 500  # of a body
MAX_SHOWN_PLACE = 100  # bytes
ADVICE = {
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
}


class Verdict(NamedTuple):
    """The verdict on a part. A difference has the exchange that showed it, and its place there."""

    part: str
    origin: str
    text: str  # of its origin
    verdict: str
    expected: str = ""
    observed: str = ""
    reason: str = ""
    probe: str = ""
    place: str = ""
    exchange: Exchange | None = None

    def document(self) -> dict[str, str]:
        left_out = ("text", "place", "exchange")
        return {name: value for name, value in self._asdict().items() if name not in left_out}


def verdicts_of(session: Session) -> list[Verdict]:
    """The verdicts, in the order of the contract."""
    return [
        verdict_of(part, origin, text, session)
        for part, (origin, text) in session.contract.origins.items()
    ]


def verdict_of(part: str, origin: str, text: str, session: Session) -> Verdict:
    is_fixed = origin == "fixed"
    verdict = Verdict(part, origin, text, "not seen")
    seen = [each for each in session.seen if each.claim.part == part]
    against = [each for each in seen if not each.claim.agrees]
    if shown := against or seen[:1]:
        claims = [each.claim for each in shown]
        verdict = verdict._replace(
            expected="; ".join(dict.fromkeys(each.expected for each in claims)),
            observed="; ".join(sorted({each.observed for each in claims})),
            probe=shown[0].probe,
            place=shown[0].claim.place,
            exchange=shown[0].exchange if against else None,
        )
    if part in session.unstable:
        reason, probe = session.unstable[part]
        return verdict._replace(verdict="unstable", reason=reason, probe=probe)
    if against:
        return verdict._replace(verdict="broken" if is_fixed else "differs")
    if seen:
        return verdict._replace(verdict="kept" if is_fixed else "confirmed")
    if part in session.failures:
        reason, probe = session.failures[part]
        return verdict._replace(verdict="could not check", reason=reason, probe=probe)
    reason, probe = session.unasked.get(part) or reason_not_asked(part, session)
    return verdict._replace(reason=reason, probe=probe)


def reason_not_asked(part: str, session: Session) -> tuple[str, str]:
    """Why no response showed a part, and the probe that could have."""
    witnesses = [each for each in ALL if part in session.parts_of[each]]
    if not witnesses:
        return "cannot be provoked by a well-formed request", ""
    first = min(witnesses, key=lambda each: LEVELS.index(each.level))
    if LEVELS.index(first.level) > LEVELS.index(session.level):
        return f"needs --write{' --abuse' if first.level == ABUSE else ''}", first.name
    return "no response had it", first.name


def document_of(url: str, started: datetime, session: Session, parts: list[Verdict]) -> Any:
    """The report of --report."""
    return {
        "url": url,
        "started_at": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "level": session.level,
        "parts": [each.document() for each in parts],
        "probes": session.outcomes,
        "created": [{"id": each.id, "name": each.name} for each in session.created],
    }


def text_of(parts: list[Verdict], redactor: Redactor) -> Iterator[str]:
    """The counts, each difference with what was sent and received, and what was not checked."""
    counts = Counter(each.verdict for each in parts)
    always = VERDICTS[:5]
    yield ", ".join(f"{counts[each]} {each}" for each in VERDICTS if each in always or counts[each])
    for kind in DIFFERENCES:
        found = [each for each in parts if each.verdict == kind]
        if found:
            yield ""
            yield f"{kind} ({ADVICE[kind]}):"
        by_exchange: dict[int, list[Verdict]] = {}
        for each in found:
            by_exchange.setdefault(id(each.exchange), []).append(each)
        for group in by_exchange.values():
            for each in group:
                yield f"  {each.part}"
                yield f"    {each.origin}:    {each.text}"
                yield f"    contract:  {each.expected}"
                yield f"    service:   {each.observed}"
                yield f"    probe:     {each.probe}"
                if each.place:
                    yield f"    at:        {cut(redactor.text(each.place), MAX_SHOWN_PLACE)}"
            if group[0].exchange:
                yield from (f"    {line}" for line in lines_of(group[0].exchange, redactor))
    for kind in ("unstable", "could not check", "not seen"):
        by_reason: dict[str, list[str]] = {}
        for each in parts:
            if each.verdict == kind:
                by_reason.setdefault(each.reason, []).append(each.part)
        for reason, names in by_reason.items():
            yield ""
            yield f"{kind}: {reason}"
            yield from (f"  {name}" for name in names)


def lines_of(exchange: Exchange, redactor: Redactor) -> Iterator[str]:
    """A request and its response, masked."""
    yield f"> {exchange.method} {redactor.target(exchange.target)}"
    if exchange.authorization:
        yield f"> Authorization: {redactor.secret('Authorization', exchange.authorization)}"
    if exchange.content_type:
        yield f"> Content-Type: {exchange.content_type}"
    yield from (f"> {line}" for line in body_lines(exchange.body, redactor))
    yield f"< {exchange.status}"
    for name, value in exchange.headers.items():
        yield f"< {name}: {redactor.secret(name, str(value))}"
    yield from (f"< {line}" for line in body_lines(exchange.content, redactor))


def body_lines(body: bytes, redactor: Redactor) -> Iterator[str]:
    # Masked before it is cut: half a token would not be found.
    text = cut(redactor.text(body.decode(errors="replace")), MAX_SHOWN_BYTES)
    yield from text.splitlines()
    if len(body) > MAX_SHOWN_BYTES:
        yield f"… ({len(body):,} bytes)"


def left_behind(session: Session) -> Iterator[str]:
    """What the run has left in the service."""
    if session.created:
        yield ""
        yield "left behind in the service:"
        for each in session.created:
            unknown = "without an id" if each.is_certain else "perhaps"
            place = unknown if each.id is None else json.dumps(each.id, ensure_ascii=False)
            yield f"  {place}  {json.dumps(each.name, ensure_ascii=False)}"


def mask(value: Any, redactor: Redactor) -> Any:
    """A JSON value with each token masked."""
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, list):
        return [mask(each, redactor) for each in value]
    if isinstance(value, dict):
        return {name: mask(each, redactor) for name, each in value.items()}
    return value
