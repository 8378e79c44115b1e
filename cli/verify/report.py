"""What a person reads of a run, and what is a finding."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from web.problems import PROBLEM_JSON
from web.redaction import Redactor, cut
from web.routing import CREATED

from ..reports import Case, Failure
from .drift import Drift
from .exchange import Exchange
from .judge import COULD_NOT_CHECK, NOT_SEEN
from .observe import Observation
from .places import find_id
from .run import Run
from .values import Path
from .verdicts import LEAK, VERDICTS, Part

ADVICE = {  # of each kind of difference, what to do about it
    "broken": "the interface promises this: correct the service, or the interface",
    "differs": "only this project chose it: if the service is right, change the contract",
}
OTHER_KINDS = ("leaks", "drift", "unseen")  # of findings that are of no part
MAX_SHOWN = 500  # bytes of a body
MAX_VALUE = 60  # bytes of a value in a profile


def findings_of(run: Run, parts: list[Part], drift: Drift | None) -> list[str]:
    """All that a team may want to fail on; each begins with its kind.

    Where a profile has the choices of the service, what drifts from it stands for the differences.
    """
    kinds = ("broken", "differs") if drift is None else ("broken",)
    found = [] if drift is None else [*drift.findings]
    found += [f"unseen: {what}: {why}" for what, why in run.unseen.items()]
    found += [f"leaks: {probe}: {LEAK}" for probe in run.leaks]
    return found + [text_of_difference(each) for each in parts if each.verdict in kinds]


def text_of_difference(part: Part) -> str:
    return f"{part.verdict}: {part.part}: {part.expected} here, {part.observed} there"


def cases_of(run: Run, parts: list[Part], findings: list[str]) -> list[Case]:
    """A test case for each part that was judged, and for each other kind of finding."""
    cases = []
    for part in parts:
        line = text_of_difference(part)
        shown = text_of_exchange(part.exchange, run.redactor) if part.exchange else ()
        failures = [Failure(line, "\n".join(shown))] if line in findings else []
        reason = part.reason if part.verdict in (NOT_SEEN, COULD_NOT_CHECK) else ""
        cases.append(Case(part.part, failures, reason))
    for kind in OTHER_KINDS:
        found = [Failure(each) for each in findings if each.startswith(f"{kind}: ")]
        cases.append(Case(kind, found))
    return cases


def masked_case(case: Case, redactor: Redactor) -> Case:
    """A test case with the secrets in its texts masked."""
    failures = [Failure(*map(redactor.text, each)) for each in case.failures]
    return Case(redactor.text(case.name), failures, redactor.text(case.skipped))


def text_of_parts(run: Run, parts: list[Part], drift: Drift | None) -> Iterator[str]:
    """A summary, the counts; the differences, or what drifted instead; what is unchecked."""
    counts = Counter(each.verdict for each in parts)
    yield summary_of(run, counts["broken"] + counts["differs"])
    yield ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    for kind, advice in ADVICE.items():
        found = [each for each in parts if each.verdict == kind]
        if found and (drift is None or kind == "broken"):
            yield from ("", f"{kind} ({advice}):")
            yield from text_of_differences(run, found)
    for kind in (COULD_NOT_CHECK, NOT_SEEN):
        found = [each for each in parts if each.verdict == kind]
        for reason in dict.fromkeys(each.reason for each in found):
            yield from ("", f"{kind}: {reason}")
            for part in found:
                if part.reason == reason:
                    yield f"  {part.part}"
    if drift is not None and drift.notes:
        yield from ("", "varies (no finding):")
        for note in drift.notes:
            yield f"  {note}"


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
    if items is not None and items != ("projects",):
        yield f"the list {stands_in(items)}" if items else "the list is a bare array"
    if run.creation is not None and run.creation.status != CREATED:
        yield f"a creation is {run.creation.status}"
    bodies = {"a created project": run.creation, "a deployment": None}
    if run.followed:
        bodies["a deployment"] = run.followed[-1]
    for what, exchange in bodies.items():
        path = find_id(exchange.json, []) if exchange and exchange.has_json else None
        if path and path[:-1]:
            yield f"{what} {stands_in(path[:-1])}"
    status = run.status_path
    if status and status[-1] != "status":
        yield f"the status is called {status[-1]}"
    words = [run.status_of(each.json) for each in run.followed]
    unknown = [word for word in dict.fromkeys(words) if word not in run.contract.statuses]
    if unknown:
        yield f"statuses are {', '.join(map(str, unknown))}"
    ids = [run.own_id(each) for each in run.places.others]
    if any(isinstance(each, int) for each in ids):
        yield "ids are numbers"
    errors = [each for each in run.judged if each.status >= 400]
    types = [(each.header("Content-Type") or "").partition(";")[0] for each in errors]
    if types and PROBLEM_JSON["Content-Type"] not in types:
        yield f"errors are {types[0] or 'without a media type'}"


def stands_in(path: Path) -> str:
    return f"stands in {'.'.join(map(str, path))}"


def text_of_differences(run: Run, found: list[Part]) -> Iterator[str]:
    """The differences with both sides, and each exchange that showed some of them."""
    for exchange in dict.fromkeys(each.exchange for each in found if each.exchange):
        for part in found:
            if part.exchange is not exchange:
                continue
            origin = run.contract.find(part.part)[1]["x-origin"][part.origin]
            yield f"  {part.part}"
            yield f"    {part.origin}:    {origin}"
            yield f"    contract:  {part.expected}"
            yield f"    service:   {part.observed}"
            yield f"    probe:     {part.probe}"
            if part.value:
                yield f"    value:     {cut(run.redactor.text(part.value), MAX_SHOWN)}"
        for line in text_of_exchange(exchange, run.redactor):
            yield f"    {line}"


def text_of_drift(drift: Drift, found: Observation, redactor: Redactor) -> Iterator[str]:
    """What has drifted, part by part, each with an exchange that showed it."""
    for place, exchanges in found.exchanges.items():
        start = f"drift: {place}/"
        lines = [line for line in drift.findings if line.startswith(start)]
        if lines:
            yield from ("", *(f"  {line}" for line in lines))
            for line in text_of_exchange(exchanges[-1], redactor):
                yield f"    {line}"


def text_of_exchange(exchange: Exchange, redactor: Redactor) -> Iterator[str]:
    """A request and its response, masked."""
    request = f"{exchange.probe.method} {exchange.target}"
    yield from text_of_message(">", request, exchange.sent, exchange.body, redactor)
    headers = [(name, str(value)) for name, value in exchange.headers.items()]
    status = str(exchange.status)
    yield from text_of_message("<", status, headers, exchange.content, redactor)


def text_of_message(
    mark: str, first: str, headers: Any, body: bytes, redactor: Redactor
) -> Iterator[str]:
    yield f"{mark} {first}"
    for name, value in headers:
        yield f"{mark} {name}: {Redactor.secret(name, value)}"
    # Masked before it is cut: half a token would not be found.
    text = cut(redactor.text(body.decode(errors="replace")), MAX_SHOWN)
    for line in text.splitlines():
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
        yield f"  {place}: {cut(json.dumps(value, ensure_ascii=False), MAX_VALUE)}"


def left_behind(run: Run) -> Iterator[str]:
    """What the run has left in the service."""
    if run.left_behind:
        yield from ("", "left behind in the service:")
    for each in run.left_behind:
        place = "perhaps" if each["id"] is None else json.dumps(each["id"], ensure_ascii=False)
        yield f"  {place}  {json.dumps(each['name'], ensure_ascii=False)}"
