"""What a person reads of a run, and the reports."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from profiles.openapi import Contract
from traffic.masking import Redactor, cut, printable

from .exchange import Exchange
from .main import LEAK, Finding, Result, left_behind
from .options import Options
from .parts import BROKEN, COULD_NOT_CHECK, DIFFERS, NOT_SEEN, VERDICTS, Part, purpose_of
from .spellings import Secrets
from .values import with_scalars

ADVICE = {  # of each kind of difference, what to do about it
    BROKEN: "the interface promises this: correct the service, or the interface",
    DIFFERS: "only this project chose it: if the service is right, change the contract",
}
UNCHECKED = (COULD_NOT_CHECK, NOT_SEEN)  # verdicts that have a reason
MAX_SHOWN = 500  # bytes of a body, or of a value
MAX_LINE = 2000  # bytes
MAX_MASKED = 100_000  # characters that are searched for secrets before a text is cut


def masked(secrets: Secrets, text: str, size: int) -> str:
    """So many bytes of a text, without secrets: masked before it is cut, since half a token would
    not be found.
    """
    return cut(secrets.mask(text[:MAX_MASKED]), size)


def printed(secrets: Secrets, line: str) -> str:
    """A line as a terminal may get it."""
    shown = printable(masked(secrets, line, MAX_LINE))
    return shown if len(line) <= MAX_LINE else f"{shown} …"


# The text


def text_of_result(result: Result) -> Iterator[str]:
    """How much differs, what, and what was not checked."""
    counts = []
    for verdict in VERDICTS:
        count = len([part for part in result.parts if part.verdict == verdict])
        counts.append(f"{count} {verdict}")
    yield from remarks_of(result)
    yield summary_of(result)
    yield ", ".join(counts)
    if result.drift is not None:
        yield from text_of_drift(result)
    for kind, advice in ADVICE.items():
        found = [part for part in result.differences if part.verdict == kind]
        if found:
            yield ""
            yield f"{kind} ({advice}):"
            yield from text_of_differences(result, found)
    for kind in UNCHECKED:
        yield from text_of_unchecked(result, kind)


def remarks_of(result: Result) -> Iterator[str]:
    """What the source left out, what was not looked at, and which responses have the token."""
    yield from result.log.remarks
    yield from result.seen.remarks
    for purpose in result.leaks:
        yield f"{purpose:34} {LEAK}"


def summary_of(result: Result) -> str:
    if result.drift is not None:
        return f"{counted(len(result.drift_found), 'drift', 'drifts')} from the profile"
    return counted(len(result.differences), "difference", "differences")


def counted(count: int, one: str, more: str) -> str:
    return f"{count or 'no'} {one if count < 2 else more}"


def text_of_differences(result: Result, parts: Sequence[Part]) -> Iterator[str]:
    """The differences with both sides, and each exchange that showed some of them."""
    contract = result.contract
    by_exchange: dict[Exchange | None, list[Part]] = defaultdict(list)
    for part in parts:
        by_exchange[part.exchange].append(part)
    for exchange, found in by_exchange.items():
        for part in found:
            yield from text_of_sides(result.secrets, contract, part)
        if exchange:
            yield from indented(text_of_exchange(result.secrets, exchange), 4)


def text_of_sides(secrets: Secrets, contract: Contract, part: Part) -> Iterator[str]:
    _, declared = contract.find(part.part)
    origin = declared["x-origin"][part.origin]
    yield f"  {part.part}"
    yield f"    {part.origin}:    {origin}"
    yield f"    contract:  {part.expected}"
    yield f"    service:   {part.observed}"
    yield f"    probe:     {part.probe}"
    if part.value:
        yield f"    value:     {masked(secrets, part.value, MAX_SHOWN)}"


def text_of_drift(result: Result) -> Iterator[str]:
    """What has drifted, each with an exchange that showed it; and what may vary."""
    by_exchange: dict[Exchange | None, list[str]] = defaultdict(list)
    for each in result.drift_found:
        by_exchange[each.exchange].append(each.line)
    for exchange, lines in by_exchange.items():
        yield ""
        yield from indented(lines, 2)
        if exchange:
            yield from indented(text_of_exchange(result.secrets, exchange), 4)
    notes = [each.line for each in result.drift or () if not each.is_finding]
    if notes:
        yield ""
        yield "varies (no finding):"
        yield from indented(notes, 2)
    if result.lacking:
        yield ""
        yield f"not seen, of what the profile has: {', '.join(result.lacking)}"


def text_of_unchecked(result: Result, kind: str) -> Iterator[str]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for part in result.parts:
        if part.verdict == kind:
            by_reason[part.reason].append(part.part)
    for reason, places in by_reason.items():
        yield ""
        yield f"{kind}: {reason}"
        yield from indented(places, 2)


def text_of_profile(result: Result, file: object) -> Iterator[str]:
    """That it was saved, and what a person has to know of it."""
    yield ""
    yield f"saved {file}"
    if result.inferred:
        yield from indented(result.inferred.notes, 2)


def text_of_left_behind(exchanges: Sequence[Exchange]) -> Iterator[str]:
    found = left_behind(exchanges)
    if found:
        yield ""
        yield "left behind in the service:"
    for each in found:
        place = "perhaps" if each["id"] is None else each["id"]
        yield f"  project {place}  {each['name'] or ''}".rstrip()


def indented(lines: Iterable[str], size: int) -> Iterator[str]:
    for line in lines:
        yield " " * size + line


def text_of_exchange(secrets: Secrets, exchange: Exchange) -> Iterator[str]:
    yield f"> {exchange.method} {exchange.target}"
    yield from text_of_message(secrets, ">", exchange.sent, exchange.body)
    yield f"< {exchange.reason}"
    yield from text_of_message(secrets, "<", exchange.headers.items(), exchange.content)


def text_of_message(
    secrets: Secrets, mark: str, fields: Iterable[tuple[str, Any]], body: bytes
) -> Iterator[str]:
    for name, value in fields:
        yield f"{mark} {name}: {Redactor.secret(name, str(value))}"
    text = body[:MAX_MASKED].decode(errors="replace")
    for line in masked(secrets, text, MAX_SHOWN).splitlines():
        yield f"{mark} {line}"
    if len(body) > MAX_SHOWN:
        yield f"{mark} … ({len(body):,} bytes)"


# The reports


def document_of(
    result: Result, options: Options, started: datetime, findings: Sequence[Finding]
) -> dict[str, Any]:
    """The report as JSON."""
    purposes = [purpose_of(each) for each in result.log.exchanges]
    document = {
        "url": options.source,
        "started_at": f"{started.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "level": options.level,
        "parts": [part.as_json() for part in result.parts],
        "probes": [
            {"name": name, "requests": purposes.count(name)} for name in dict.fromkeys(purposes)
        ],
        "leaks": [*result.leaks],
        "findings": [finding.line for finding in findings],
        "created": left_behind(result.log.exchanges),
    }

    def mask(path: object, value: Any) -> Any:
        return masked(result.secrets, value, MAX_LINE) if isinstance(value, str) else value

    found: dict[str, Any] = with_scalars(document, mask)
    return found


def failure_of(result: Result, finding: Finding) -> tuple[str, str]:
    """A finding, and the exchange that showed it."""
    details = ""
    if finding.exchange:
        lines = text_of_exchange(result.secrets, finding.exchange)
        details = "\n".join(masked(result.secrets, line, MAX_LINE) for line in lines)
    return printed(result.secrets, finding.line), details
