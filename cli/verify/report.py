"""What a person reads of a run, and what is a finding."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from profiles.profile import Profile, lacking
from stub.redaction import Redactor, cut
from web.routing import CREATED

from ..reports import Case, Failure
from .drift import Drift
from .exchange import Exchange
from .judge import COULD_NOT_CHECK, NOT_SEEN
from .observation import Observation
from .observe import with_record
from .places import find_id
from .run import Run
from .values import Path, json_text
from .verdicts import LEAK, VERDICTS, Part

ADVICE = {  # of each kind of difference, what to do about it
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
}
OTHER_KINDS = ("leaks", "drift", "unseen")  # of findings that are of no part
UNCHECKED = (COULD_NOT_CHECK, NOT_SEEN)  # verdicts that have a reason
MAX_SHOWN = 500  # bytes of a body
MAX_VALUE = 60  # bytes of a value in a profile


class Result(NamedTuple):
    """What a run has shown; without --save and --like there is no observation and no drift."""

    parts: list[Part]
    observation: Observation | None
    drift: Drift | None


def findings_of(run: Run, result: Result) -> Iterator[str]:
    """All that a team may want to fail on; each begins with its kind.

    Where a profile has the choices of the service, what drifts from it stands for the differences.
    """
    drift = result.drift
    kinds = ("broken", "differs") if drift is None else ("broken",)
    if drift:
        yield from drift.findings
    for what, why in run.unseen.items():
        yield f"unseen: {what}: {why}"
    for check in run.leaks:
        yield f"leaks: {check}: {LEAK}"
    for part in result.parts:
        if part.verdict in kinds:
            yield part.sentence


def cases_of(run: Run, parts: list[Part], findings: list[str]) -> Iterator[Case]:
    """A test case for each part that was judged, and for each other kind of finding."""
    mask = run.redactor.text
    for part in parts:
        failures = []
        if part.exchange and part.sentence in findings:
            shown = "\n".join(text_of_exchange(run, part.exchange))
            failures.append(Failure(mask(part.sentence), mask(shown)))
        yield Case(part.part, failures, mask(part.reason))
    for kind in OTHER_KINDS:
        lines = [line for line in findings if line.startswith(f"{kind}: ")]
        failures = [Failure(mask(line)) for line in lines]
        yield Case(kind, failures)


def text_of_result(run: Run, result: Result) -> Iterator[str]:
    """A summary, the counts; the differences, or what drifted instead; what is unchecked."""
    by_verdict: dict[str, list[Part]] = {verdict: [] for verdict in VERDICTS}
    for part in result.parts:
        by_verdict[part.verdict].append(part)
    yield summary_of(run, by_verdict["broken"] + by_verdict["differs"])
    counts = [f"{len(found)} {verdict}" for verdict, found in by_verdict.items()]
    yield ", ".join(counts)
    for kind, advice in ADVICE.items():
        found = by_verdict[kind]
        is_shown = kind == "broken" or not result.drift
        if found and is_shown:
            yield ""
            yield f"{kind} ({advice}):"
            yield from text_of_differences(run, found)
    for kind in UNCHECKED:
        yield from text_of_unchecked(kind, by_verdict[kind])
    if result.drift and result.observation:
        yield from text_of_drift(run, result.drift, result.observation)


def text_of_unchecked(kind: str, parts: list[Part]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        by_reason[part.reason].append(part.part)
    for reason, pointers in by_reason.items():
        yield ""
        yield f"{kind}: {reason}"
        yield from indented(pointers, 2)


def summary_of(run: Run, differences: list[Part]) -> str:
    """How many differences there are, and the largest ones in plain words."""
    count = len(differences)
    if not count:
        return "no difference"
    summary = "1 difference" if count == 1 else f"{count} differences"
    traits = ", ".join(traits_of(run))
    if traits:
        summary += f": {traits}"
    return summary


def traits_of(run: Run) -> Iterator[str]:
    items = run.items_path
    if items == ():
        yield "the list is a bare array"
    elif items is not None and items != ("projects",):
        yield f"the list {stands_in(items)}"
    creation = run.creation
    if creation and creation.status != CREATED:
        yield f"a creation is {creation.status}"
    yield from envelope_of("a created project", run.created_body)
    if run.followed:
        last = run.followed[-1]
        yield from envelope_of("a deployment", last.json)
    if run.status_path:
        *_, name = run.status_path
        if name != "status":
            yield f"the status is called {name}"


def envelope_of(what: str, body: Any) -> Iterator[str]:
    """Where a record stands in a body, if it is not the body itself."""
    path = find_id(body, [])
    if path is not None and len(path) > 1:
        yield f"{what} {stands_in(path[:-1])}"


def stands_in(path: Path) -> str:
    joined = ".".join(map(str, path))
    return f"stands in {joined}"


def text_of_differences(run: Run, parts: list[Part]) -> Iterator[str]:
    """The differences with both sides, and each exchange that showed some of them."""
    by_exchange: dict[Exchange | None, list[Part]] = defaultdict(list)
    for part in parts:
        by_exchange[part.exchange].append(part)
    for exchange, found in by_exchange.items():
        for part in found:
            yield from text_of_sides(run, part)
        if exchange:
            yield from indented(text_of_exchange(run, exchange), 4)


def text_of_sides(run: Run, part: Part) -> Iterator[str]:
    _, declared = run.contract.find(part.part)
    origin = declared["x-origin"][part.origin]
    yield f"  {part.part}"
    yield f"    {part.origin}:    {origin}"
    yield f"    contract:  {part.expected}"
    yield f"    service:   {part.observed}"
    yield f"    probe:     {part.probe}"
    if part.value:
        value = run.redactor.text(part.value)
        yield f"    value:     {cut(value, MAX_SHOWN)}"


def text_of_drift(run: Run, drift: Drift, found: Observation) -> Iterator[str]:
    """What may vary; and what has drifted, part by part, each with an exchange that showed it."""
    if drift.notes:
        yield ""
        yield "varies (no finding):"
        yield from indented(drift.notes, 2)
    for place, exchanges in found.exchanges.items():
        lines = [line for line in drift.findings if line.startswith(f"drift: {place}/")]
        if lines:
            yield ""
            yield from indented(lines, 2)
            yield from indented(text_of_exchange(run, exchanges[-1]), 4)


def indented(lines: Iterable[str], size: int) -> Iterator[str]:
    for line in lines:
        yield " " * size + line


def text_of_exchange(run: Run, exchange: Exchange) -> Iterator[str]:
    yield f"> {exchange.method} {exchange.target}"
    yield from text_of_message(run, ">", exchange.sent, exchange.body)
    yield f"< {exchange.status}"
    yield from text_of_message(run, "<", exchange.headers.items(), exchange.content)


def text_of_message(
    run: Run, mark: str, fields: Iterable[tuple[str, Any]], body: bytes
) -> Iterator[str]:
    for name, value in fields:
        yield f"{mark} {name}: {Redactor.secret(name, str(value))}"
    # Masked before it is cut: half a token would not be found.
    masked = run.redactor.text(body.decode(errors="replace"))
    for line in cut(masked, MAX_SHOWN).splitlines():
        yield f"{mark} {line}"
    if len(body) > MAX_SHOWN:
        yield f"{mark} … ({len(body):,} bytes)"


def text_of_profile(run: Run, found: Observation, path: object) -> Iterator[str]:
    yield ""
    yield f"saved {path}"
    lacks = lacking(Profile(found.profile))
    if lacks:
        yield f"it lacks {', '.join(lacks)}: these are as the contract says"
    if found.unsaid or found.varying:
        yield "what a profile cannot say:"
        yield from indented(found.unsaid, 2)
    for place in found.varying:
        yield f"  {place}: another value in each reading; the profile has the first one"
    if found.kept:
        yield "values of the service that are in it; look through them before you publish it:"
    _, places = with_record(found.profile)
    for place, value in found.kept.items():
        shown = cut(json_text(value), MAX_VALUE)
        yield f"  {place_in_file(place, places)}: {shown}"
    words = [word for word in found.readings.words if word]
    if not words:
        return
    word = words[-1]
    if not run.has_ended:
        yield "warning: the deployment did not end: give a longer --wait"
    elif word in run.contract.ends and word != "succeeded":
        yield f"warning: the deployment ended as {word}, and so will those of the stub: save again"


def place_in_file(place: str, places: list[str]) -> str:
    """The place in the file of a profile whose record stood in these places."""
    for each in places:
        if place.startswith(f"{each}/"):
            return "/record" + place.removeprefix(each)
    return place


def left_behind(run: Run) -> Iterator[str]:
    if run.left_behind:
        yield ""
        yield "left behind in the service:"
    for each in run.left_behind:
        own_id = each["id"]
        name = json_text(each["name"])
        place = "perhaps" if own_id is None else json_text(own_id)
        yield f"  {place}  {name}"
