"""What a person reads of a run, and the reports."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from traffic.json_values import map_leaves
from traffic.masking import Redactor, cut_text, make_printable

from .checks import Check
from .drift import write_drift_line
from .exchange import ServiceExchange
from .main import Finding, Result, left_behind, write_line
from .options import Options
from .parts import (
    BROKEN,
    COULD_NOT_CHECK,
    DIFFERS,
    NOT_SEEN,
    VERDICTS,
    give_reason,
    give_verdict,
    list_parts,
    name_purpose,
    own_contract,
)
from .places import list_places
from .spellings import Secrets

NOTHING_SHOWN = "no response showed it"
ADVICE = {  # of each kind of difference, what to do about it
    BROKEN: "the interface promises this: correct the service, or the interface",
    DIFFERS: "only this project chose it: if the service is right, change the contract",
}
MAX_SHOWN = 500  # bytes of a body, or of a value
MAX_LINE = 2000  # bytes
MAX_MASKED = 100_000  # characters that are searched for secrets before a text is cut


def masked(secrets: Secrets, text: str, size: int) -> str:
    """So many bytes of a text, without secrets: masked before it is cut, since half a token would
    not be found.
    """
    return cut_text(secrets.mask(text[:MAX_MASKED]), size)


def printed(secrets: Secrets, line: str) -> str:
    """A line as a terminal may get it."""
    shown = make_printable(masked(secrets, line, MAX_LINE))
    return shown if len(line) <= MAX_LINE else f"{shown} …"


# The text


def text_of_result(result: Result) -> Iterator[str]:
    """How much differs, what, and what was not checked."""
    verdicts = [give_verdict(check) for check in result.parts]
    yield from result.log.remarks
    for check in result.leaks:
        yield f"{check.part:34} {check.observed}"
    yield f"found: {', '.join(list_places(result.places)) or 'no place of a record'}"
    yield summary_of(result)
    yield ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
    if result.drift is not None:
        yield from text_of_drift(result)
    for kind, advice in ADVICE.items():
        found = [check for check in result.differences if give_verdict(check) == kind]
        if found:
            yield ""
            yield f"{kind} ({advice}):"
            yield from text_of_checks(result, found, text_of_sides)
    for kind in (COULD_NOT_CHECK, NOT_SEEN):
        yield from text_of_unchecked(result, kind)


def summary_of(result: Result) -> str:
    if result.drift is not None:
        return f"{counted(len(result.drifted), 'drift', 'drifts')} from the profile"
    return counted(len(result.differences), "difference", "differences")


def counted(count: int, one: str, more: str) -> str:
    return f"{count or 'no'} {one if count < 2 else more}"


def text_of_checks(
    result: Result, checks: Sequence[Check], describe: Callable[[Check], Iterable[str]]
) -> Iterator[str]:
    """What checks say, and each exchange that showed some of them."""
    by_exchange: dict[ServiceExchange | None, list[Check]] = defaultdict(list)
    for check in checks:
        by_exchange[check.exchange].append(check)
    for exchange, found in by_exchange.items():
        for check in found:
            yield from indented(describe(check), 2)
        if exchange:
            yield from indented(text_of_exchange(result.secrets, exchange), 4)


def text_of_sides(check: Check) -> Iterator[str]:
    _, declared = own_contract().find(check.part)
    origin = list_parts()[check.part]
    yield check.part
    yield f"  {origin}:    {declared['x-origin'][origin]}"
    yield f"  contract:  {check.expected}"
    yield f"  service:   {check.observed}"
    yield f"  probe:     {name_purpose(check.exchange)}"


def text_of_drift(result: Result) -> Iterator[str]:
    """What has drifted, each with an exchange that showed it; and what may vary."""
    if result.drifted:
        yield ""
        yield from text_of_checks(result, result.drifted, lambda check: [write_drift_line(check)])
    if result.notes:
        yield ""
        yield "varies (no finding):"
        yield from indented(map(write_drift_line, result.notes), 2)
    if result.lacking:
        yield ""
        yield f"not seen, of what the profile has: {', '.join(result.lacking)}"


def text_of_unchecked(result: Result, kind: str) -> Iterator[str]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for check in result.parts:
        if give_verdict(check) == kind:
            by_reason[give_reason(check) or NOTHING_SHOWN].append(check.part)
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


def text_of_left_behind(exchanges: Sequence[ServiceExchange]) -> Iterator[str]:
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


def text_of_exchange(secrets: Secrets, exchange: ServiceExchange) -> Iterator[str]:
    yield f"> {exchange.method} {exchange.target}"
    yield from text_of_message(secrets, ">", exchange.request_fields, exchange.request_body)
    yield f"< {exchange.reason}"
    yield from text_of_message(secrets, "<", exchange.response_fields, exchange.response_body)


def text_of_message(
    secrets: Secrets, mark: str, fields: Iterable[tuple[str, Any]], body: bytes
) -> Iterator[str]:
    for name, value in fields:
        yield f"{mark} {name}: {Redactor.mask_field(name, str(value))}"
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
    purposes = [name_purpose(each) for each in result.log.exchanges]
    document = {
        "url": options.source,
        "started_at": f"{started.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "level": options.level,
        "parts": [describe_part(check) for check in result.parts],
        "probes": [
            {"name": name, "requests": purposes.count(name)} for name in dict.fromkeys(purposes)
        ],
        "leaks": [check.part for check in result.leaks],
        "findings": [write_line(finding) for finding in findings],
        "created": left_behind(result.log.exchanges),
    }

    def mask(path: object, value: Any) -> Any:
        return masked(result.secrets, value, MAX_LINE) if isinstance(value, str) else value

    found: dict[str, Any] = map_leaves(document, mask)
    return found


def describe_part(check: Check) -> dict[str, str]:
    is_unseen = not check.observed
    return {
        "part": check.part,
        "origin": list_parts()[check.part],
        "verdict": give_verdict(check),
        "expected": "" if is_unseen else check.expected,
        "observed": check.observed,
        "reason": give_reason(check) or NOTHING_SHOWN if is_unseen else "",
        "probe": name_purpose(check.exchange),
    }


def describe_failure(result: Result, finding: Finding) -> tuple[str, str]:
    """A finding, and the exchange that showed it."""
    details = ""
    exchange = finding[1].exchange
    if exchange:
        lines = text_of_exchange(result.secrets, exchange)
        details = "\n".join(masked(result.secrets, line, MAX_LINE) for line in lines)
    return printed(result.secrets, write_line(finding)), details
