"""What has changed in a service: its profile of before and that of now, place by place."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from profiles.markers import TIMES, Marker, names_below, resolve, whole_marker
from profiles.profile import Profile, ResponseForm
from web.routing import CREATED
from web.validation import pointer

from .errors import CODE
from .forms import form_of, is_known_time, is_same_ids, time_example, time_form
from .marks import MIN_SECONDS
from .observation import Observation
from .values import NOTHING, at, is_number, is_same, json_text, parse_seconds, type_of

Part = dict[str, Any]

MISSING = "missing"
INTEGERS = ("count", "error.status")  # markers that are numbers
OURS = {"offset": "Z", "digits": 3, "case": "upper"}
MAX_CODE = 10_000  # a number that is larger may be that of one request
MAX_ITEMS = 20  # of an array that are compared


class Change(NamedTuple):
    """What is another one than before. A finding breaks a client; the rest may vary at any time."""

    line: str
    is_finding: bool


def finding(place: str, before: str, now: str) -> Change:
    return Change(f"drift: {place}: {before} in the profile, {now} there", True)


def new_value(place: str, before: Any, now: Any) -> Change:
    return finding(place, json_text(before), json_text(now))


def note(place: str, before: str, now: str) -> Change:
    return Change(f"{place}: {before} in the profile, {now} there", False)


class Drift(NamedTuple):
    """The lines of all changes, each once."""

    findings: list[str]
    notes: list[str]


def compare(before: Profile, found: Observation) -> Drift:
    drift = Drift([], [])
    comparison = Comparison(before, Profile(found.profile), found)
    for line, is_finding in dict.fromkeys(comparison.changes()):
        lines = drift.findings if is_finding else drift.notes
        lines.append(line)
    return drift


class Comparison:
    def __init__(self, before: Profile, now: Profile, found: Observation) -> None:
        self._before = before
        self._now = now
        self._found = found
        in_errors = [place for place in found.varying if place.startswith("/errors/")]
        # What varies in one error varies in all.
        self._varying_in_errors = {place_in_error(place) for place in in_errors}
        # The times that were compared, by their places: the change of one with another form.
        self._times: dict[str, Change | None] = {}

    def changes(self) -> Iterator[Change]:
        yield from self._compare_runs()
        for name in ("list", "create", "deployment"):
            before = self._before.form(name)
            yield from self._compare_responses(f"/{name}", before, self._now.form(name))
        yield from self._compare_statuses()
        yield from self._compare_errors()
        yield from self._find_unreadable()
        if self._found.is_own:
            yield from self._compare_ids()
            yield from self._compare_times()

    def _compare_statuses(self) -> Iterator[Change]:
        before = self._before.form("create")
        now = self._now.form("create")
        if before and now:
            status = before.status or CREATED
            yield from compare_values("/create/status", status, now.status or "another")
        for name, status in self._found.statuses.items():
            if self._before.form(name):
                yield from compare_values(f"/{name}/status", 200, status)

    def _compare_errors(self) -> Iterator[Change]:
        for code in self._now.document.get("errors", {}):
            if code == "default":
                continue
            place = f"/errors/{code}"
            before = self._before.error_form(code)
            now = self._now.error_form(code)
            if before and now and before.status:
                yield from compare_values(f"{place}/status", before.status, now.status)
            yield from self._compare_responses(place, before, now)

    def _compare_ids(self) -> Iterator[Change]:
        known = self._before.document.get("ids", {})
        for kind, example in self._now.document.get("ids", {}).items():
            form = self._found.ids[kind]
            if kind in known and not is_same_ids(form_of(known[kind]), form):
                yield new_value(f"/ids/{kind}", known[kind], example)

    def _compare_runs(self) -> Iterator[Change]:
        known = self._before.words
        run = self._now.run if self._found.readings.words else ()
        for word in run:
            if known and word not in known:
                yield Change(f"drift: /statuses/run: {json_text(word)} is new", True)
        for word in self._before.run:
            if run and word not in run:
                yield note("/statuses/run", json_text(word), "not seen")

    def _find_unreadable(self) -> Iterator[Change]:
        """Find the parts of the profile whose responses cannot be read now."""
        for place in self._found.unreadable:
            path = tuple(place.split("/"))
            if at(self._before.document, path) is not NOTHING:
                yield finding(f"/{place}/body", "a form", "none that can be read")

    def _compare_times(self) -> Iterator[Change]:
        """Find another form of times: of some of the compared members, or of all."""
        changed = [change for change in self._times.values() if change]
        are_all = len(changed) >= max(2, len(self._times))
        if are_all:
            first = changed[0]
            _, _, forms = first.line.removeprefix("drift: ").partition(": ")
            yield Change(f"drift: times: {forms}", True)
        else:
            yield from changed

    def _compare_responses(
        self, place: str, before: ResponseForm | None, now: ResponseForm | None
    ) -> Iterator[Change]:
        if before is None or now is None:
            return
        if normalized(before.content_type) != normalized(now.content_type):
            yield finding(f"{place}/content_type", before.content_type, now.content_type)
        response = self._found.exchanges[place][0]
        for name in before.headers:
            if response.header(name) is None:
                yield finding(place + pointer("headers", name), "present", MISSING)
        words = self._now.run or [self._found.word]
        for word in words:
            known = resolve(before.body, word)
            seen = resolve(now.body, word)
            yield from self._compare(f"{place}/body", known, seen)

    def _compare(self, place: str, before: Any, now: Any) -> Iterator[Change]:
        old_type = type_in(self._before, before)
        new_type = type_in(self._now, now)
        if old_type != new_type:
            change = note if "null" in (old_type, new_type) else finding
            yield change(place, old_type, new_type)
        elif place in self._found.varying:
            return
        elif isinstance(before, dict):
            yield from self._compare_objects(place, before, now)
        elif isinstance(before, list):
            yield from self._compare_arrays(place, before, now)
        elif is_time(before):
            yield from self._compare_text_times(place, before, now)
        elif unit_of(before):
            yield from compare_numeric_times(place, before, now)
        elif place.startswith("/errors/"):
            yield from self._compare_codes(place, before, now)

    def _compare_objects(self, place: str, before: Part, now: Part) -> Iterator[Change]:
        for name, old in before.items():
            inner = place + pointer(name)
            if name in now:
                yield from self._compare(inner, old, now[name])
                continue
            may_be_missing = inner in self._found.varying or not self._is_own(place)
            change = note if may_be_missing else finding
            yield change(inner, type_in(self._before, old), MISSING)
        added = [name for name in now if name not in before]
        for name in added:
            yield note(place + pointer(name), MISSING, type_in(self._now, now[name]))

    def _compare_arrays(self, place: str, before: list[Any], now: list[Any]) -> Iterator[Change]:
        """Compare each item with those of before: one that is like any of these is no drift."""
        if len(before) == len(now):
            for index, item in enumerate(now):
                yield from self._compare(f"{place}/{index}", before[index], item)
            return
        known = before[:MAX_ITEMS]
        for index, item in enumerate(now[:MAX_ITEMS]):
            inner = f"{place}/{index}"
            results = [list(self._compare(inner, each, item)) for each in known]
            yield from min(results, key=count_findings, default=[])

    def _compare_text_times(self, place: str, before: Any, now: Any) -> Iterator[Change]:
        """Find a time that is none any more; note whether one has another form than before."""
        known = time_form(before)
        if is_time_marker(before):
            known = form_of_marker(before)
        form = self._found.times.get(place)
        if form and known:
            change = new_value(place, shown_time(known), shown_time(form))
            self._times[place] = None if is_known_time(known, form) else change
        if self._is_own(place) and not is_time(now):
            yield finding(place, "a time", "another text")

    def _compare_codes(self, place: str, before: Any, now: Any) -> Iterator[Change]:
        """Compare what programs read of an error, unless it varies."""
        is_varying = place_in_error(place) in self._varying_in_errors
        if is_code(before) and is_code(now) and not is_varying:
            yield from compare_values(place, before, now)

    def _is_own(self, place: str) -> bool:
        """Whether a record is not one of others, which may have other members."""
        if self._found.is_own:
            return True
        is_in_list = place.startswith("/list/body/") and "/0/" in f"{place}/"
        return not is_in_list and not place.startswith("/deployment/")


def compare_values(place: str, before: Any, now: Any) -> Iterator[Change]:
    if not is_same(before, now):
        yield new_value(place, before, now)


def compare_numeric_times(place: str, before: Any, now: Any) -> Iterator[Change]:
    new_unit = unit_of(now)
    if new_unit and new_unit != unit_of(before):
        yield finding(place, before, now)
    elif is_number(now) and now < MIN_SECONDS:
        yield finding(place, "a time", "another number")


def place_in_error(place: str) -> str:
    """The place without the code of the error."""
    return place.split("/", 3)[3]


def count_findings(changes: list[Change]) -> int:
    return len([change for change in changes if change.is_finding])


def type_in(profile: Profile, value: Any) -> str:
    """The type of a value in a profile, or of what a marker stands for; an integer is a number."""
    marker = whole_marker(value)
    if marker is None:
        found = type_of(value)
        return "number" if found == "integer" else found
    kind = "deployments" if marker.name.startswith("deployment.") else "projects"
    is_integer_id = marker.name.endswith(".id") and profile.has_integers(kind)
    is_number_alone = is_integer_id or marker.name in INTEGERS
    if unit_of(value) or (is_number_alone and not marker.form):
        return "number"
    return "string"


def is_time(value: Any) -> bool:
    """Whether it is an RFC 3339 time, or the marker of one."""
    return is_time_marker(value) or parse_seconds(value) is not None


def is_time_marker(value: Any) -> bool:
    marker = whole_marker(value)
    return marker is not None and marker.name in TIMES and not unit_of(value)


def form_of_marker(value: Any) -> Part | None:
    """The form that the marker of a time says."""
    marker = whole_marker(value) or Marker("")
    return time_form(marker.form) if marker.form else OURS


def shown_time(form: Part) -> str:
    example = time_example(form).removeprefix(":")
    return example or "2026-01-05T09:00:00.000Z"


def unit_of(value: Any) -> str:
    """The unit of a time that is a number, "" for another value."""
    marker = whole_marker(value)
    is_number_of_time = marker and marker.name in TIMES and marker.form in ("s", "ms")
    return marker.form if marker and is_number_of_time else ""


def is_code(value: Any) -> bool:
    """Whether a constant in an error is one that programs read: not a text for people."""
    if isinstance(value, str):
        has_marker = bool(names_below(value))
        return CODE.fullmatch(value) is not None and not has_marker
    if isinstance(value, bool):
        return True
    return is_number(value) and abs(value) < MAX_CODE


def normalized(content_type: str) -> str:
    return content_type.replace(" ", "").lower()
