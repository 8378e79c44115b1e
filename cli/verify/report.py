"""What a person reads of a run, and what is a finding."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from web.problems import PROBLEM_JSON
from web.redaction import Redactor, cut
from web.routing import CREATED

from ..reports import Case, Failure
from .drift import Drift
from .exchange import Exchange
from .judge import COULD_NOT_CHECK, NOT_SEEN
from .observation import Observation
from .places import find_id
from .run import Run
from .values import Path
from .verdicts import LEAK, VERDICTS, Part

ADVICE = {  # of each kind of difference, what to do about it
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
}
OTHER_KINDS = ("leaks", "drift", "unseen")  # of findings that are of no part
UNCHECKED = (COULD_NOT_CHECK, NOT_SEEN)  # verdicts that have a reason
MAX_SHOWN = 500  # bytes of a body
MAX_VALUE = 60  # bytes of a value in a profile


def findings_of(run: Run, parts: list[Part], drift: Drift | None) -> list[str]:
    """All that a team may want to fail on; each begins with its kind.

    Where a profile has the choices of the service, what drifts from it stands for the differences.
    """
    kinds = ("broken", "differs") if drift is None else ("broken",)
    drifted = [] if drift is None else drift.findings
    unseen = [f"unseen: {what}: {why}" for what, why in run.unseen.items()]
    leaks = [f"leaks: {check}: {LEAK}" for check in run.leaks]
    differences = [text_of_difference(each) for each in parts if each.verdict in kinds]
    return [*drifted, *unseen, *leaks, *differences]


def text_of_difference(part: Part) -> str:
    return f"{part.verdict}: {part.part}: {part.expected} here, {part.observed} there"


def cases_of(run: Run, parts: list[Part], findings: list[str]) -> list[Case]:
    """A test case for each part that was judged, and for each other kind of finding."""
    cases = []
    for part in parts:
        line = text_of_difference(part)
        shown = text_of_exchange(part.exchange, run.redactor) if part.exchange else ()
        failures = [Failure(line, "\n".join(shown))] if line in findings else []
        reason = part.reason if part.verdict in UNCHECKED else ""
        cases.append(Case(part.part, failures, reason))
    for kind in OTHER_KINDS:
        failures = [Failure(line) for line in findings if line.startswith(f"{kind}: ")]
        cases.append(Case(kind, failures))
    return [masked_case(case, run.redactor) for case in cases]


def masked_case(case: Case, redactor: Redactor) -> Case:
    """A test case with the secrets in its texts masked."""
    mask = redactor.text
    failures = [Failure(mask(each.message), mask(each.details)) for each in case.failures]
    return Case(mask(case.name), failures, mask(case.skipped))


def text_of_parts(run: Run, parts: list[Part], drift: Drift | None) -> Iterator[str]:
    """A summary, the counts; the differences, or what drifted instead; what is unchecked."""
    counts = Counter(each.verdict for each in parts)
    yield summary_of(run, counts["broken"] + counts["differs"])
    yield ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    for kind, advice in ADVICE.items():
        found = [each for each in parts if each.verdict == kind]
        if found and (drift is None or kind == "broken"):
            yield ""
            yield f"{kind} ({advice}):"
            yield from text_of_differences(run, found)
    for kind in UNCHECKED:
        found = [each for each in parts if each.verdict == kind]
        for reason in dict.fromkeys(each.reason for each in found):
            yield ""
            yield f"{kind}: {reason}"
            yield from [f"  {each.part}" for each in found if each.reason == reason]
    if drift is not None and drift.notes:
        yield ""
        yield "varies (no finding):"
        yield from [f"  {note}" for note in drift.notes]


def summary_of(run: Run, count: int) -> str:
    """How many differences there are, and the largest ones in plain words."""
    if not count:
        return "no difference"
    noun = "difference" if count == 1 else "differences"
    found = ", ".join(traits_of(run)) or "the names and the forms of single values"
    return f"{count} {noun}: {found}"


def traits_of(run: Run) -> Iterator[str]:
    """What a client of the contract would stumble over first."""
    items = run.places.items
    if items == ():
        yield "the list is a bare array"
    elif items is not None and items != ("projects",):
        yield f"the list {stands_in(items)}"
    creation = run.creation
    if creation is not None and creation.status != CREATED:
        yield f"a creation is {creation.status}"
    yield from envelope_of("a created project", run.created_body)
    followed = run.followed
    if followed:
        yield from envelope_of("a deployment", followed[-1].json)
    status = run.status_path
    if status and status[-1] != "status":
        yield f"the status is called {status[-1]}"
    statuses = dict.fromkeys(run.status_of(each.json) for each in followed)
    unknown = [str(word) for word in statuses if word not in run.contract.statuses]
    if unknown:
        yield f"statuses are {', '.join(unknown)}"
    ids = [run.own_id(project) for project in run.places.others]
    if any(isinstance(each, int) for each in ids):
        yield "ids are numbers"
    headers = [each.header("Content-Type") or "" for each in run.judged if each.status >= 400]
    types = [header.partition(";")[0] for header in headers]
    if types and PROBLEM_JSON["Content-Type"] not in types:
        yield f"errors are {types[0] or 'without a media type'}"


def envelope_of(what: str, body: Any) -> Iterator[str]:
    """Where a record stands in a body, if it is not the body itself."""
    path = find_id(body, [])
    if path is not None and len(path) > 1:
        yield f"{what} {stands_in(path[:-1])}"


def stands_in(path: Path) -> str:
    return f"stands in {'.'.join(map(str, path))}"


def text_of_differences(run: Run, found: list[Part]) -> Iterator[str]:
    """The differences with both sides, and each exchange that showed some of them."""
    exchanges = dict.fromkeys(each.exchange for each in found if each.exchange)
    for exchange in exchanges:
        for part in found:
            if part.exchange is exchange:
                yield from text_of_sides(run, part)
        yield from [f"    {line}" for line in text_of_exchange(exchange, run.redactor)]


def text_of_sides(run: Run, part: Part) -> Iterator[str]:
    _, declared = run.contract.find(part.part)
    origin = declared["x-origin"][part.origin]
    yield f"  {part.part}"
    yield f"    {part.origin}:    {origin}"
    yield f"    contract:  {part.expected}"
    yield f"    service:   {part.observed}"
    yield f"    probe:     {part.check}"
    if part.value:
        yield f"    value:     {cut(run.redactor.text(part.value), MAX_SHOWN)}"


def text_of_drift(drift: Drift, found: Observation, redactor: Redactor) -> Iterator[str]:
    """What has drifted, part by part, each with an exchange that showed it."""
    for place, exchanges in found.exchanges.items():
        lines = [line for line in drift.findings if line.startswith(f"drift: {place}/")]
        if lines:
            yield ""
            yield from [f"  {line}" for line in lines]
            yield from [f"    {line}" for line in text_of_exchange(exchanges[-1], redactor)]


def text_of_exchange(exchange: Exchange, redactor: Redactor) -> Iterator[str]:
    """A request and its response, masked."""
    yield f"> {exchange.check.method} {exchange.target}"
    yield from text_of_fields(">", exchange.sent)
    yield from text_of_body(">", exchange.body, redactor)
    yield f"< {exchange.status}"
    yield from text_of_fields("<", exchange.headers.items())
    yield from text_of_body("<", exchange.content, redactor)


def text_of_fields(mark: str, fields: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for name, value in fields:
        yield f"{mark} {name}: {Redactor.secret(name, str(value))}"


def text_of_body(mark: str, body: bytes, redactor: Redactor) -> Iterator[str]:
    # Masked before it is cut: half a token would not be found.
    masked = redactor.text(body.decode(errors="replace"))
    for line in cut(masked, MAX_SHOWN).splitlines():
        yield f"{mark} {line}"
    if len(body) > MAX_SHOWN:
        yield f"{mark} … ({len(body):,} bytes)"


def text_of_profile(found: Observation, lacks: list[str], path: object) -> Iterator[str]:
    """What a person has to know of a profile that was saved."""
    yield ""
    yield f"saved {path}"
    if lacks:
        yield f"it lacks {', '.join(lacks)}: these are as the contract says"
    if found.unsaid or found.varying:
        yield "what a profile cannot say:"
    for sentence in found.unsaid:
        yield f"  {sentence}"
    for place in found.varying:
        yield f"  {place}: another value in each reading; the profile has the first one"
    if found.kept:
        yield "values of the service that are in it; look through them before you publish it:"
    for place, value in found.kept.items():
        yield f"  {place}: {cut(quoted(value), MAX_VALUE)}"


def left_behind(run: Run) -> Iterator[str]:
    """What the run has left in the service."""
    if run.left_behind:
        yield ""
        yield "left behind in the service:"
    for each in run.left_behind:
        place = "perhaps" if each["id"] is None else quoted(each["id"])
        yield f"  {place}  {quoted(each['name'])}"


def quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
