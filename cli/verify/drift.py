"""What has changed in a service: its profile of before and that of now, place by place."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stub.like.markers import names_below, whole_marker
from stub.like.profile import Form as ResponseForm
from stub.like.profile import Profile
from web.routing import CREATED
from web.validation import pointer

from .choices import resolve
from .errors import CODE
from .forms import Form, is_known_time, is_same_ids, is_same_times, time_form
from .marks import MIN_SECONDS
from .observation import Observation
from .values import is_number, is_same, parse_seconds, type_of

Part = dict[str, Any]

MISSING = "missing"
INTEGERS = (":s", ":ms", "count", "error.status")  # the ends of markers that are numbers
MAX_CODE = 10_000  # a number that is larger may be that of one request
MAX_ITEMS = 20  # of an array that are compared


class Change(NamedTuple):
    """What is another one than before. A finding breaks a client; the rest may vary at any time."""

    line: str
    is_finding: bool


def finding(place: str, before: str, now: str) -> Change:
    return Change(f"drift: {place}: {before} in the profile, {now} there", True)


def note(place: str, before: str, now: str) -> Change:
    return Change(f"{place}: {before} in the profile, {now} there", False)


class Drift(NamedTuple):
    """The lines of all changes, each once."""

    findings: list[str]
    notes: list[str]


def compare(before: Profile, found: Observation) -> Drift:
    """Compare the profile of before with that of a run."""
    drift = Drift([], [])
    for line, is_finding in distinct(changes_between(before, Profile(found.profile), found)):
        lines = drift.findings if is_finding else drift.notes
        lines.append(line)
    return drift


def changes_between(before: Profile, now: Profile, found: Observation) -> Iterator[Change]:
    comparison = Comparison(before, now, found)
    yield from compare_runs(before, now)
    for name in ("list", "create", "deployment"):
        old = before.form(name)
        new = now.form(name)
        if old and new:
            yield from comparison.compare_responses(f"/{name}", old, new)
    old = before.form("create")
    new = now.form("create")
    if old and new:
        status = new.status or "another"
        yield from compare_values("/create/status", old.status or CREATED, status)
    for name, status in found.statuses.items():
        if before.form(name):
            yield from compare_values(f"/{name}/status", 200, status)
    for code in now.document.get("errors", {}):
        place = f"/errors/{code}"
        old = before.error_form(code)
        new = now.error_form(code)
        if old is None or new is None or code == "default":
            continue
        if old.status:
            yield from compare_values(f"{place}/status", old.status, new.status)
        yield from comparison.compare_responses(place, old, new)
    yield from find_unreadable(before, found.unreadable)
    if found.is_own:
        yield from compare_ids(before.ids, now.ids)
        yield from comparison.compare_times()


def compare_runs(before: Profile, now: Profile) -> Iterator[Change]:
    """Compare the statuses of the run of a deployment."""
    for word in now.run:
        if before.words and word not in before.words:
            yield Change(f"drift: /statuses/run: {text_of(word)} is new", True)
    for word in before.run:
        if now.run and word not in now.run:
            yield note("/statuses/run", text_of(word), "not seen")


def find_unreadable(before: Profile, unreadable: list[str]) -> Iterator[Change]:
    """Find the parts of the profile whose responses cannot be read now."""
    errors = before.document.get("errors", {})
    for place in unreadable:
        part, _, code = place.partition("/")
        is_known = code in errors if code else part in before.document
        if is_known:
            yield finding(f"/{place}/body", "a form", "none that can be read")


def compare_ids(before: dict[str, Form], now: dict[str, Form]) -> Iterator[Change]:
    for kind, form in now.items():
        known = before.get(kind)
        if known and not is_same_ids(known, form):
            yield finding(f"/ids/{kind}", text_of(known), text_of(form))


def compare_values(place: str, before: Any, now: Any) -> Iterator[Change]:
    if not is_same(before, now):
        yield finding(place, text_of(before), text_of(now))


class Comparison:
    """The comparison of responses: those of a profile, and those of a run."""

    def __init__(self, before: Profile, now: Profile, found: Observation) -> None:
        self._before = before
        self._now = now
        self._found = found
        self._varying = set(found.varying)
        in_errors = [place for place in found.varying if place.startswith("/errors/")]
        # What varies in one error varies in all.
        self._varying_in_errors = {place_in_error(place) for place in in_errors}
        self._times: set[str] = set()  # the places of times that were compared
        self._new_times: dict[str, Change] = {}  # those of another form than before

    def compare_times(self) -> Iterator[Change]:
        """Find another form of times: of some of the compared members, or of all."""
        before = self._before.document.get("times")
        now = self._now.document.get("times")
        if before is None or now is None:
            return
        changed = self._new_times
        are_all = len(changed) >= max(2, len(self._times))
        if changed and not are_all:
            yield from changed.values()
        elif not is_same_times(before, now):
            yield finding("/times", text_of(before), text_of(now))

    def compare_responses(
        self, place: str, before: ResponseForm, now: ResponseForm
    ) -> Iterator[Change]:
        """Compare two forms of a response: its content type, its header fields, and its body."""
        if normalized(before.content_type) != normalized(now.content_type):
            yield finding(f"{place}/content_type", before.content_type, now.content_type)
        response = self._found.exchanges[place][0]
        for name in before.headers:
            if name not in response.headers:  # in any case
                yield finding(place + pointer("headers", name), "present", MISSING)
        for word in self._now.run or [self._found.word]:
            known = resolve(before.body, word)
            seen = resolve(now.body, word)
            yield from self._compare(f"{place}/body", known, seen)

    def _compare(self, place: str, before: Any, now: Any) -> Iterator[Change]:
        old_type = type_in(self._before, before)
        new_type = type_in(self._now, now)
        if old_type != new_type:
            is_null = "null" in (old_type, new_type)
            change = note if is_null else finding
            yield change(place, old_type, new_type)
        elif place in self._varying:
            return
        elif isinstance(before, dict):
            yield from self._compare_objects(place, before, now)
        elif isinstance(before, list):
            yield from self._compare_arrays(place, before, now)
        else:
            self._note_time(place, before)
            yield from self._compare_scalars(place, before, now)

    def _compare_objects(self, place: str, before: Part, now: Part) -> Iterator[Change]:
        for name, value in before.items():
            inner = place + pointer(name)
            old_type = type_in(self._before, value)
            if name in now:
                yield from self._compare(inner, value, now[name])
            elif inner in self._varying or not self._is_own(place):
                yield note(inner, old_type, MISSING)
            else:
                yield finding(inner, old_type, MISSING)
        for name, value in now.items():
            if name not in before:
                new_type = type_in(self._now, value)
                yield note(place + pointer(name), MISSING, new_type)

    def _compare_arrays(self, place: str, before: list[Any], now: list[Any]) -> Iterator[Change]:
        """Compare each item with those of before: one that is like any of these is no drift."""
        if len(before) == len(now):
            for index, item in enumerate(now):
                yield from self._compare(f"{place}/{index}", before[index], item)
        elif before:
            for index, item in enumerate(now[:MAX_ITEMS]):
                inner = f"{place}/{index}"
                known = before[:MAX_ITEMS]
                results = [distinct(self._compare(inner, each, item)) for each in known]
                yield from min(results, key=count_findings)

    def _compare_scalars(self, place: str, before: Any, now: Any) -> Iterator[Change]:
        old_unit = unit_of(before)
        new_unit = unit_of(now)
        if is_time(before):
            if self._is_own(place) and not is_time(now):
                yield finding(place, "a time", "another text")
        elif old_unit:
            if new_unit and old_unit != new_unit:
                yield finding(place, before, now)
            elif is_number(now) and now < MIN_SECONDS:
                yield finding(place, "a time", "another number")
        elif place.startswith("/errors/"):
            is_varying = place_in_error(place) in self._varying_in_errors
            if is_code(before) and is_code(now) and not is_varying:
                yield from compare_values(place, before, now)

    def _note_time(self, place: str, before: Any) -> None:
        """Note a time that was compared, and whether it has another form than before."""
        known = None
        if is_time_marker(before):
            known = self._before.document.get("times")
        elif is_time(before):
            known = time_form(before)
        form = self._found.times.get(place)
        if form and known:
            self._times.add(place)
            if not is_known_time(known, form):
                self._new_times[place] = finding(place, text_of(known), text_of(form))

    def _is_own(self, place: str) -> bool:
        """Whether a record is not one of others, which may have other members."""
        if self._found.is_own:
            return True
        is_in_list = place.startswith("/list/body/") and "/0/" in f"{place}/"
        is_in_deployment = place.startswith("/deployment/")
        return not is_in_list and not is_in_deployment


def place_in_error(place: str) -> str:
    """The place without the code of the error."""
    return place.split("/", 3)[3]


def distinct(changes: Iterable[Change]) -> list[Change]:
    return list(dict.fromkeys(changes))


def count_findings(changes: list[Change]) -> int:
    return len([change for change in changes if change.is_finding])


def type_in(profile: Profile, value: Any) -> str:
    """The type of a value in a profile, or of what a marker stands for; an integer is a number."""
    name = whole_marker(value)
    if name is None:
        found = type_of(value)
        return "number" if found == "integer" else found
    kind = "deployments" if name.startswith("deployment.") else "projects"
    is_integer_id = name.endswith(".id") and profile.has_integers(kind)
    if is_integer_id or name.endswith(INTEGERS):
        return "number"
    return "string"


def is_time(value: Any) -> bool:
    """Whether it is an RFC 3339 time, or the marker of one."""
    return is_time_marker(value) or parse_seconds(value) is not None


def is_time_marker(value: Any) -> bool:
    return (whole_marker(value) or "").endswith(".created_at")


def unit_of(value: Any) -> str:
    """The unit of a time that is a number, "" for another value."""
    _, _, unit = (whole_marker(value) or "").partition(":")
    return unit


def is_code(value: Any) -> bool:
    """Whether a constant in an error is one that programs read: not a text for people."""
    if isinstance(value, str):
        return bool(CODE.fullmatch(value)) and not any(names_below(value))
    return isinstance(value, bool) or (is_number(value) and abs(value) < MAX_CODE)


def normalized(content_type: str) -> str:
    return content_type.replace(" ", "").lower()


def text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
