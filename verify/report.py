"""The text that a run prints, and its report as JSON."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from traffic import masking
from traffic.json_values import map_leaves
from traffic.secrets import Secrets, is_secret_name

from . import judge
from .judges import parts
from .judges.checks import Check
from .judges.drift import write_drift_line
from .learn.infer import Inferred
from .options import VerifyOptions
from .seen import kinds
from .seen.find_places import find_places
from .seen.hints import Hints
from .seen.inspection import list_leaves
from .seen.places import list_places
from .seen.service_log import Log, ServiceExchange

ADVICE = {
    parts.BROKEN: "the interface promises this: correct the service, or the interface",
    parts.DIFFERS: "only this project chose it: if the service is right, change the contract",
}
"""What to do about a difference from the contract, by its kind."""


def mask_text(secrets: Secrets, text: str, size: int = 2000) -> str:
    """Mask the secrets of a text, and cut it to `size` bytes.

    It is masked first: half a token would not be found. Secrets are searched for in the first
    100,000 characters.
    """
    return masking.cut_text(secrets.mask(text[:100_000]), size)


def mask_line(secrets: Secrets, line: str, size: int = 2000) -> str:
    """Return a line as it is printed: masked, cut, and without control characters."""
    printable = masking.make_printable(mask_text(secrets, line, size))
    return printable if len(line) <= size else f"{printable} …"


# The text


def describe_result(result: judge.Result) -> Iterator[str]:
    """Describe the findings and, without a profile, all that was not checked."""
    yield from result.log.remarks
    for check in result.leaks:
        yield f"{check.part:34} {check.observed}"
    places = result.strangers.mask(", ".join(list_places(result.places)))
    yield f"found: {places or 'no place of a record'}"
    findings = result.join_findings(result.findings)
    if result.drift is None:
        yield from count_verdicts(result)
    else:
        yield from describe_drift(result, findings)
    for kind, advice in ADVICE.items():
        found = [each for each in findings if each.kind == kind]
        if found:
            yield ""
            yield f"{kind} ({advice}):"
            yield from describe_findings(result, found, describe_difference)
    if result.drift is None:
        yield from describe_unchecked(result, parts.COULD_NOT_CHECK)
        yield from describe_unchecked(result, parts.NOT_SEEN)


def count_verdicts(result: judge.Result) -> Iterator[str]:
    """Count the differences from the contract, and the parts by verdict: `7 kept, 1 broken`."""
    verdicts = [parts.give_verdict(check) for check in result.parts]
    count = verdicts.count(parts.BROKEN) + verdicts.count(parts.DIFFERS)
    yield format_count(count, "difference")
    yield ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in parts.VERDICTS)


def format_count(count: int, noun: str) -> str:
    """Format a count: `no difference`, `2 differences`."""
    return f"{count} {noun}s" if count > 1 else f"{count or 'no'} {noun}"


def describe_findings(
    result: judge.Result,
    findings: Sequence[judge.VerifyFinding],
    describe: Callable[[judge.VerifyFinding], Iterable[str]],
) -> Iterator[str]:
    """Describe findings. An exchange follows the findings that it showed."""
    by_exchange: dict[ServiceExchange | None, list[judge.VerifyFinding]] = defaultdict(list)
    for finding in findings:
        by_exchange[finding.check.exchange].append(finding)
    for exchange, found in by_exchange.items():
        for finding in found:
            yield from indent(describe(finding), 2)
        if exchange:
            yield from indent(format_exchange(result, exchange), 4)


def describe_difference(finding: judge.VerifyFinding) -> Iterator[str]:
    """Describe a part in five lines: the contract, the service, and the request that showed it."""
    check = finding.check
    _, declared = parts.load_contract().find(check.part)
    origin = parts.list_parts()[check.part]
    yield check.part
    yield f"  {f'{origin}:':10} {declared['x-origin'][origin]}"
    yield f"  contract:  {check.expected}"
    yield f"  service:   {check.observed}"
    if finding.drift:
        yield f"  drift:     {write_drift_line(finding.drift)}"
    yield f"  probe:     {parts.name_purpose(check.exchange)}"


def describe_drift(result: judge.Result, findings: Sequence[judge.VerifyFinding]) -> Iterator[str]:
    """Describe the drift with its exchanges, the variations, and the kinds that were not seen."""
    yield f"{format_count(len(result.drifted), 'drift')} from the profile"
    drifted = [each for each in findings if each.kind == judge.DRIFT]
    if drifted:
        yield ""
        yield from describe_findings(
            result, drifted, lambda finding: [write_drift_line(finding.check)]
        )
    if result.variations:
        yield ""
        yield "varies (no finding):"
        yield from indent(map(write_drift_line, result.variations), 2)
    if result.lacking:
        yield ""
        yield f"in the profile, but not seen: {', '.join(result.lacking)}"


def describe_unchecked(result: judge.Result, verdict: str) -> Iterator[str]:
    """Describe the parts with a verdict by the reason: `could not check: timed out`."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for check in result.parts:
        if parts.give_verdict(check) == verdict:
            by_reason[explain_unseen(check)].append(check.part)
    for reason, places in by_reason.items():
        yield ""
        yield f"{verdict}: {reason}"
        yield from indent(places, 2)


def explain_unseen(check: Check) -> str:
    """Explain why no response shows a part: `503`. Return "" if a response shows it."""
    if check.is_shown:
        return ""
    return parts.give_reason(check) or "no response showed it"


def describe_saved(inferred: Inferred, file: object) -> Iterator[str]:
    """Describe the saved profile: its file, and the values that were left out."""
    yield ""
    yield f"saved {file}"
    yield from indent(inferred.notes, 2)


def indent(lines: Iterable[str], size: int) -> Iterator[str]:
    for line in lines:
        yield " " * size + line


def format_exchange(result: judge.Result, exchange: ServiceExchange) -> Iterator[str]:
    """Format an exchange as lines: `> GET /v1/projects`, and `< 200` with the response."""
    yield f"> {exchange.method} {result.strangers.mask(exchange.target)}"
    yield from format_message(result, ">", exchange.request_fields, exchange.request_body)
    yield f"< {exchange.reason}"
    yield from format_message(result, "<", exchange.response_fields, exchange.response_body)


def format_message(
    result: judge.Result,
    mark: str,
    fields: Iterable[tuple[str, str]],
    body: bytes,
    max_shown: int = 500,
) -> Iterator[str]:
    for name, value in fields:
        is_secret = is_secret_name(name) and name != "Authorization"
        shown = masking.MASK if is_secret else masking.Redactor.mask_field(name, value)
        yield f"{mark} {result.strangers.mask(f'{name}: {shown}')}"
    text = result.strangers.mask(body[:20_000].decode(errors="replace"))
    for line in mask_text(result.secrets, text, max_shown).splitlines():
        yield f"{mark} {line}"
    if len(body) > max_shown:
        yield f"{mark} … ({len(body):,} bytes)"


# The projects that a run leaves behind


def describe_left_behind(
    exchanges: Sequence[ServiceExchange], hints: Hints | None = None
) -> Iterator[str]:
    found = list_left_behind(exchanges, hints)
    if found:
        yield ""
        yield "left behind in the service:"
    for each in found:
        place = "perhaps" if each["id"] is None else each["id"]
        yield f"  project {place}  {each['name'] or ''}".rstrip()


def list_left_behind(
    exchanges: Sequence[ServiceExchange], hints: Hints | None = None
) -> list[dict[str, Any]]:
    """List the projects that a run may have created: `{"id": "prj_5", "name": "stub-verify-1"}`.

    The id may be unknown. After a time-out or a 5xx a project may exist, if the token was valid.
    """
    lists = [each for each in exchanges if each.purpose == kinds.LIST and each.is_success]
    found = []
    for post in exchanges:
        if may_have_created(post):
            creation = replace(post, purpose=kinds.CREATE)
            places = find_places(Log("", (*lists[-1:], creation)), hints)
            texts = [each for _, each in list_leaves(post.request_json) if isinstance(each, str)]
            names = [text for text in texts if text.startswith(kinds.NAME_PREFIX)]
            found.append({"id": places.created_id, "name": next(iter(names), None)})
    return found


def may_have_created(exchange: ServiceExchange) -> bool:
    """Return whether a request of the script may have created a project."""
    if not exchange.is_creation or not exchange.purpose:
        return False
    is_rejected = 400 <= exchange.status < 500
    has_token = exchange.purpose in (kinds.CREATE, kinds.REJECTED, kinds.NAMELESS)
    return exchange.is_success or (has_token and not is_rejected)


# The reports


def build_report(
    result: judge.Result,
    options: VerifyOptions,
    started: datetime,
    findings: Sequence[judge.VerifyFinding],
) -> dict[str, Any]:
    """Build the report as JSON."""
    purposes = [parts.name_purpose(each) for each in result.log.exchanges]
    document = {
        "url": options.source,
        "started_at": f"{started.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "level": options.level,
        "parts": [report_part(check) for check in result.parts],
        "probes": [
            {"name": name, "requests": purposes.count(name)} for name in dict.fromkeys(purposes)
        ],
        "leaks": [check.part for check in result.leaks],
        "findings": [finding.line for finding in findings],
        "created": list_left_behind(result.log.exchanges, result.hints),
    }

    def mask(path: object, value: Any) -> Any:
        return mask_text(result.secrets, value) if isinstance(value, str) else value

    masked: dict[str, Any] = map_leaves(document, mask)
    return masked


def report_part(check: Check) -> dict[str, str]:
    return {
        "part": check.part,
        "origin": parts.list_parts()[check.part],
        "verdict": parts.give_verdict(check),
        "expected": check.expected if check.is_shown else "",
        "observed": check.observed,
        "reason": explain_unseen(check),
        "probe": parts.name_purpose(check.exchange),
    }


def describe_finding(result: judge.Result, finding: judge.VerifyFinding) -> tuple[str, str]:
    """Return the line of a finding, and the exchange that showed it."""
    details = ""
    exchange = finding.check.exchange
    if exchange:
        lines = format_exchange(result, exchange)
        details = "\n".join(mask_text(result.secrets, line) for line in lines)
    return mask_line(result.secrets, finding.line), details
