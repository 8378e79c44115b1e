"""What has changed in a service: its profile of before and that of now, place by place."""

import json
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from stub.like.ids import characters
from stub.like.markers import names_below, whole_marker
from stub.like.profile import Profile
from web.routing import CREATED
from web.validation import pointer

from .choices import resolve
from .errors import CODE
from .forms import Form, time_form
from .marks import MIN_SECONDS
from .observe import Observation
from .values import Path, is_number, is_same, parse_seconds, type_of

Part = dict[str, Any]

MISSING = "missing"
INTEGERS = (":s", ":ms", "count", "error.status")  # the ends of markers that are numbers
MAX_CODE = 10_000  # a number that is larger may be that of one request
USUAL_DIGITS = (0, 3, 6, 9)  # of a fraction
MAX_ITEMS = 20  # of an array that are compared
WORD = 3  # characters by which words differ
LONG = 16  # characters of an id in which each kind of its characters is likely
DERIVED = ("integers", "slug", "same")


@dataclass
class Drift:
    """What breaks a client, as findings, and what may vary at any time, as notes."""

    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def find(self, place: str, before: str, now: str) -> None:
        self.add(Drift([f"drift: {place}: {before} in the profile, {now} there"]))

    def note(self, place: str, before: str, now: str) -> None:
        self.add(Drift([], [f"{place}: {before} in the profile, {now} there"]))

    def add(self, other: "Drift") -> None:
        """Add what another comparison has found, each once."""
        self.findings += [line for line in other.findings if line not in self.findings]
        self.notes += [line for line in other.notes if line not in self.notes]


class Comparison:
    """The comparison of two profiles: that of before, and that of a run."""

    def __init__(self, like: Profile, found: Observation) -> None:
        self._like = like
        self._found = found
        self._before = like.document
        self._now = found.profile
        self._varying = {*found.varying}
        # What varies in one error varies in all.
        in_errors = [each for each in found.varying if each.startswith("/errors/")]
        self._varying_in_errors = {each.split("/", 3)[3] for each in in_errors}
        self._drift = Drift()
        self._times: set[str] = set()  # the places of times that were compared
        self._new_times: dict[str, tuple[Form, Form]] = {}  # those of another form than before

    def compare(self) -> Drift:
        before, now = self._before, self._now
        self._compare_statuses()
        for name in ("list", "create", "deployment"):
            if name in before and name in now:
                self._compare_responses(before[name], now[name], (name,))
        if "create" in before and "create" in now:
            status = before["create"].get("status", CREATED)
            self._compare_values("/create/status", status, now["create"].get("status", "another"))
        for name, status in self._found.statuses.items():
            if name in before:
                self._compare_values(f"/{name}/status", 200, status)
        self._compare_errors()
        self._compare_unreadable()
        self._compare_ids()
        self._compare_times()
        return self._drift

    def _compare_errors(self) -> None:
        known = self._before.get("errors", {})
        for code, form in self._now.get("errors", {}).items():
            before = known.get(code) or known.get("default")
            if before is None or code == "default":
                continue
            status = before.get("status", form["status"])
            self._compare_values(f"/errors/{code}/status", status, form["status"])
            self._compare_responses(before, form, ("errors", code))

    def _compare_unreadable(self) -> None:
        """Find the parts of the profile whose responses cannot be read now."""
        known = self._before.get("errors", {})
        for place in self._found.unreadable:
            part, _, code = place.partition("/")
            is_known = part in self._before
            if code:
                is_known = code in known
            if is_known:
                self._drift.find(f"/{place}/body", "a form", "none that can be read")

    def _compare_ids(self) -> None:
        known = self._before.get("ids", {})
        for kind, form in self._now.get("ids", {}).items():
            if kind in known and self._found.is_own and not is_same_ids(known[kind], form):
                self._drift.find(f"/ids/{kind}", text_of(known[kind]), text_of(form))

    def _compare_times(self) -> None:
        """Find another form of times: of some members, or of all."""
        if "times" not in self._before or "times" not in self._now or not self._found.is_own:
            return
        old, new = self._before["times"], self._now["times"]
        if self._new_times and len(self._new_times) < max(2, len(self._times)):
            for place, forms in self._new_times.items():
                self._drift.find(place, *map(text_of, forms))
        elif not is_same_times(old, new):
            self._drift.find("/times", text_of(old), text_of(new))

    def _form_of_time(self, value: Any) -> Form | None:
        """The form of a time in the profile of before, None for another value."""
        if is_time_marker(value):
            return self._before.get("times")
        return time_form(value) if parse_seconds(value) is not None else None

    def _compare_values(self, place: str, before: Any, now: Any) -> None:
        if not is_same(before, now):
            self._drift.find(place, text_of(before), text_of(now))

    def _compare_statuses(self) -> None:
        known = self._like.words
        run = self._now.get("statuses", {}).get("run", [])
        for word in run:
            if known and word not in known:
                self._drift.add(Drift([f"drift: /statuses/run: {text_of(word)} is new"]))
        for word in self._like.run:
            if run and word not in run:
                self._drift.note("/statuses/run", text_of(word), "not seen")

    def _compare_responses(self, before: Part, now: Part, path: Path) -> None:
        """Compare two forms of a response: its content type, its header fields, and its body."""
        own = "application/problem+json" if path[0] == "errors" else "application/json"
        old_type = before.get("content_type", own)
        new_type = now.get("content_type", own)
        if normalized(old_type) != normalized(new_type):
            self._drift.find(pointer(*path, "content_type"), old_type, new_type)
        seen = {name.lower() for name in self._found.exchanges[path][0].headers}
        for name in before.get("headers", {}):
            if name.lower() not in seen:
                self._drift.find(pointer(*path, "headers", name), "present", MISSING)
        for word in self._now.get("statuses", {}).get("run", [self._found.word]):
            old_body = resolve(before["body"], word)
            new_body = resolve(now["body"], word)
            self._compare(old_body, new_body, (*path, "body"))

    # Bodies

    def _compare(self, before: Any, now: Any, path: Path) -> None:
        place = pointer(*path)
        old_type = type_in(before, self._before)
        new_type = type_in(now, self._now)
        if "null" in (old_type, new_type):
            if old_type != new_type:
                self._drift.note(place, old_type, new_type)
        elif old_type != new_type:
            self._drift.find(place, old_type, new_type)
        elif place in self._varying:
            return
        elif isinstance(before, dict):
            self._compare_objects(before, now, path)
        elif isinstance(before, list):
            self._compare_arrays(before, now, path)
        else:
            self._compare_scalars(before, now, path)

    def _is_own(self, path: Path) -> bool:
        """Whether a record is not one of others, which may have other members."""
        is_record = path[0] == "deployment" or (path[:2] == ("list", "body") and 0 in path)
        return self._found.is_own or not is_record

    def _compare_objects(self, before: Part, now: Part, path: Path) -> None:
        for name, value in before.items():
            place = pointer(*path, name)
            if name in now:
                self._compare(value, now[name], (*path, name))
            elif place not in self._varying and self._is_own(path):
                self._drift.find(place, type_in(value, self._before), MISSING)
            else:
                self._drift.note(place, type_in(value, self._before), MISSING)
        for name, value in now.items():
            if name not in before:
                self._drift.note(pointer(*path, name), MISSING, type_in(value, self._now))

    def _compare_arrays(self, before: list[Any], now: list[Any], path: Path) -> None:
        """Compare each item with those of before: one that is like any of these is no drift."""
        if len(before) == len(now):
            for index, item in enumerate(now):
                self._compare(before[index], item, (*path, index))
            return
        outer = self._drift
        for index, item in enumerate(now[:MAX_ITEMS] if before else []):
            results = []
            for known in before[:MAX_ITEMS]:
                self._drift = Drift()
                self._compare(known, item, (*path, index))
                results.append(self._drift)
            outer.add(min(results, key=lambda drift: len(drift.findings)))
        self._drift = outer

    def _compare_scalars(self, before: Any, now: Any, path: Path) -> None:
        place = pointer(*path)
        old = self._form_of_time(before)
        form = self._found.times.get(place)
        if old and form:
            self._times.add(place)
            if not is_known_time(old, form):
                self._new_times[place] = old, form
        if is_time(before) and not is_time(now) and self._is_own(path):
            self._drift.find(place, "a time", "another text")
        elif unit_of(before) and unit_of(now) and unit_of(before) != unit_of(now):
            self._drift.find(place, str(before), str(now))
        elif unit_of(before) and is_number(now) and now < MIN_SECONDS:
            self._drift.find(place, "a time", "another number")
        elif path[0] == "errors" and is_code(before) and is_code(now):
            suffix = pointer(*path[2:])[1:]
            if suffix not in self._varying_in_errors:
                self._compare_values(place, before, now)


def type_in(value: Any, profile: Part) -> str:
    """The type of a value in a profile, or of what a marker stands for; an integer is a number."""
    name = whole_marker(value)
    if name is None:
        found = type_of(value)
        return "number" if found == "integer" else found
    if name.endswith(INTEGERS):
        return "number"
    kind = "deployments" if name.startswith("deployment.") else "projects"
    is_number = name.endswith(".id") and Profile(profile).has_integers(kind)
    return "number" if is_number else "string"


def is_time(value: Any) -> bool:
    """Whether it is an RFC 3339 time, or the marker of one."""
    return is_time_marker(value) or parse_seconds(value) is not None


def is_time_marker(value: Any) -> bool:
    name = whole_marker(value) or ""
    return name.endswith(".created_at")


def unit_of(value: Any) -> str:
    """The unit of a time that is a number, "" for another value."""
    name = whole_marker(value) or ""
    return name.partition(":")[2]


def is_code(value: Any) -> bool:
    """Whether a constant in an error is one that programs read: not a text for people."""
    if isinstance(value, str):
        return bool(CODE.fullmatch(value)) and not any(names_below(value))
    return isinstance(value, bool) or (is_number(value) and abs(value) < MAX_CODE)


def normalized(content_type: str) -> str:
    return content_type.replace(" ", "").lower()


def text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def is_same_times(before: Form, now: Form) -> bool:
    """Whether times that were seen are of a known form: zeros at the end may be left out.

    An offset may be that of the season.
    """
    if before["case"] != now["case"] or (before["offset"] == "Z") != (now["offset"] == "Z"):
        return False
    are_usual = before["digits"] in USUAL_DIGITS and now["digits"] in USUAL_DIGITS
    return not are_usual or before["digits"] == now["digits"]


def is_known_time(known: Form, form: Form) -> bool:
    """Whether a time may be of the form of a profile's times, which have the most digits."""
    if form["digits"] < known["digits"]:
        form = {**form, "digits": known["digits"]}
    return is_same_times(known, form)


def is_same_ids(before: Form, now: Form) -> bool:
    """Whether the ids that were seen are of a known form: a run shows some of them."""
    if ("integers" in before) != ("integers" in now):
        return False
    if any(name in form for name in DERIVED for form in (before, now)):
        return True  # a run does not always show what ids are made from
    before, now = with_common_prefix(before, now), with_common_prefix(now, before)
    if before["prefix"] != now["prefix"]:
        return False
    old, new = {*characters(*before["alphabet"])}, {*characters(*now["alphabet"])}
    if old <= {*digits} and new <= {*digits}:
        return True  # numbers grow
    # Of ids whose length varies, a run shows some lengths; short ones may be made of words.
    more = WORD if before["longest"] < LONG else 0
    is_of_known_size = (
        before["shortest"] <= now["longest"] + more and now["shortest"] <= before["longest"] + more
    )
    return is_of_known_size and new <= likely_characters(old, before["longest"])


def likely_characters(seen: set[str], size: int) -> set[str]:
    """The characters of ids of which a few were seen: of one of them not each kind is sure."""
    lower, upper = {*ascii_lowercase}, {*ascii_uppercase}
    found = seen
    for kind in (lower, upper, {*digits}):
        if kind & seen or size < LONG:
            found = found | kind
    if lower & seen and upper & seen:
        found = found | {*digits, *"-_+/="}  # as of base64
    return found


def with_common_prefix(form: Form, other: Form) -> Form:
    """A form of ids with the shorter prefix of another form, if its own begins with that.

    A few ids may all begin with the same letters, or with what looks like a word.
    """
    prefix: str = form["prefix"]
    more = prefix.removeprefix(other["prefix"])
    if not prefix.startswith(other["prefix"]) or not more:
        return form
    return {
        "prefix": other["prefix"],
        "alphabet": [*form["alphabet"], *more],
        "shortest": form["shortest"] + len(more),
        "longest": form["longest"] + len(more),
    }
