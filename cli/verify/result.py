"""What a run comes to: a verdict for each part of the contract, the findings, and the text."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import stub
from web.redaction import Redactor, cut

from .client import Exchange
from .forms import Forms
from .judge import COULD_NOT_CHECK, NOT_SEEN
from .probes import ABUSE, ALL, BEARER, LEVELS
from .session import LEAK, Observations, parts_of

VERDICTS = ("kept", "broken", "confirmed", "differs", NOT_SEEN, COULD_NOT_CHECK)
MAX_SHOWN_BYTES = 500  # of a body
MAX_SHOWN_PLACE = 100  # bytes
# Each kind of finding, and what to do about it.
ADVICE = {
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
    "leaks": "whoever reads a response or its log has the token: correct the service",
}
DIFFERENCES = ("broken", "differs")


class Part(NamedTuple):
    """A part and its verdict. A difference has the exchange that showed it, and its place there."""

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


def judge_parts(forms: Forms, observed: Observations) -> list[Part]:
    """The parts with their verdicts, in the order of the contract."""
    witnessed = parts_of(forms)
    return [
        judge_part(
            Part(part, origin, text, NOT_SEEN),
            {p for p in witnessed if part in witnessed[p]},
            observed,
        )
        for part, (origin, text) in forms.origins.items()
    ]


def judge_part(part: Part, witnesses: set[str], observed: Observations) -> Part:
    """The part with its verdict; `witnesses` are the probes that can show it."""
    seen = [each for each in observed.seen if each.claim.part == part.part]
    against = [each for each in seen if not each.claim.agrees]
    if part.part == BEARER and not against:  # which every operation has to show
        witnesses = {each.name for each in ALL if BEARER in each.rules}
        witnesses -= {each.probe for each in seen}
        seen = [] if witnesses else seen
    if not seen:
        verdict, reason, probe = why_not_seen(witnesses, observed)
        return part._replace(verdict=verdict, reason=reason, probe=probe)
    shown = against or seen[:1]
    claims = [each.claim for each in shown]
    verdicts = DIFFERENCES if against else ("kept", "confirmed")
    return part._replace(
        verdict=verdicts[part.origin != "fixed"],
        expected="; ".join(dict.fromkeys(each.expected for each in claims)),
        observed="; ".join(sorted({each.observed for each in claims})),
        probe=shown[0].probe,
        place=shown[0].claim.place,
        exchange=shown[0].exchange if against else None,
    )


def why_not_seen(witnesses: set[str], observed: Observations) -> tuple[str, str, str]:
    """The verdict, the reason, and the probe that could have shown the part."""
    probes = [each for each in ALL if each.name in witnesses]
    if not probes:
        return NOT_SEEN, "cannot be provoked by a well-formed request", ""
    for verdict in (COULD_NOT_CHECK, NOT_SEEN):
        for each in probes:
            if (found := observed.silent.get(each.name)) and found[0] == verdict:
                return *found, each.name
    first = min(probes, key=lambda each: LEVELS.index(each.level))
    if LEVELS.index(first.level) > LEVELS.index(observed.level):
        more = " --abuse" if first.level == ABUSE else ""
        return NOT_SEEN, f"needs --write{more}", first.name
    return NOT_SEEN, "no response had it", first.name


def document_of(parts: list[Part], observed: Observations) -> dict[str, Any]:
    """The report, but for where and when."""
    return {
        "level": observed.level,
        "parts": [each.document() for each in parts],
        "probes": observed.outcomes,
        "leaks": observed.leaks,
        "created": [{"id": each.id, "name": each.name} for each in observed.created],
    }


def findings_of(parts: list[Part], observed: Observations) -> list[stub.Finding]:
    """All that a team may want to fail on."""
    found = [("leaks", f"{probe}: {LEAK}") for probe in observed.leaks]
    for each in parts:
        what = f"{each.part}: {each.expected} here, {each.observed} there"
        found += [(each.verdict, what)] if each.verdict in DIFFERENCES else []
    return [stub.Finding(kind, what, 1, ADVICE[kind]) for kind, what in found]


def known_in(text: str) -> list[str]:
    """The lines of a file of known findings, without their reasons, which follow a ` # `."""
    lines = (re.split(r"(?:^|\s)#(?:\s|$)", line)[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def text_of(parts: list[Part], slowest: float, redactor: Redactor) -> Iterator[str]:
    """The counts, each difference with what was sent and received, and what was not checked."""
    counts = Counter(each.verdict for each in parts)
    shown = [each for each in VERDICTS if each != COULD_NOT_CHECK or counts[each]]
    told = ", ".join(f"{counts[each]} {each}" for each in shown)
    yield f"{told}; slowest response: {slowest:.1f} s"
    for kind in DIFFERENCES:
        by_exchange: dict[int, list[Part]] = {}
        for each in parts:
            if each.verdict == kind:
                by_exchange.setdefault(id(each.exchange), []).append(each)
        yield from ("", f"{kind} ({ADVICE[kind]}):") if by_exchange else ()
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
    for kind in (COULD_NOT_CHECK, NOT_SEEN):
        by_reason: dict[str, list[str]] = {}
        for each in parts:
            if each.verdict == kind:
                by_reason.setdefault(each.reason, []).append(each.part)
        for reason, names in by_reason.items():
            yield from ("", f"{kind}: {reason}", *(f"  {name}" for name in names))


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


def left_behind(observed: Observations) -> Iterator[str]:
    """What the run has left in the service."""
    yield from ("", "left behind in the service:") if observed.created else ()
    for each in observed.created:
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
