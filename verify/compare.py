"""Compares two observations of services, place by place: what is expected, and what was seen.

Forms are compared: whether something is there, its type, whether it is a time, or the value of a
marker. Values are not, but for what programs read of an error.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from profiles.ids import Derived, Numbers, Opaque, id_form
from profiles.markers import (
    CHOICE,
    TIMES,
    Path,
    markers_below,
    markers_in,
    resolve,
    values_below,
    whole_marker,
)
from profiles.times import OURS, TimeForm, time_form
from web.schemas import TYPES, is_of_type
from web.validation import pointer

from .exchange import NOTHING, Exchange
from .kinds import CREATE, DEPLOYMENT, LIST
from .observation import Observation, Template
from .values import MIN_SECONDS, at, is_number, is_same, with_value

MISSING = "missing"
PRESENT = "present"
MAX_SHOWN = 200  # characters of a value
MAX_ITEMS = 20  # of an array that are compared
MAX_CODE = 10_000  # a number that is larger may be that of one request
USUAL_DIGITS = (0, 3, 6, 9)  # of a fraction of a second
CODE = re.compile("[A-Za-z_.:/-]{1,64}|[A-Z]{1,8}[-_]?[0-9]{1,6}")
"""A text that says a reason to programs: one with other digits may be an id."""


class Aspect(Enum):
    """In what two places may differ."""

    STATUS = auto()  # of the response
    MEDIA_TYPE = auto()
    PARAMETER = auto()  # of the content type
    JSON = auto()  # whether the body is JSON
    FIELD = auto()  # whether the response has a header field
    FIELD_FORM = auto()
    MEMBER = auto()  # whether it is there
    NEW = auto()  # a member that was not expected
    PLACE = auto()  # where a list or a record stands
    TYPE = auto()
    NULL = auto()  # a type, where one of both is null
    VALUE = auto()  # of a marker, such as the id of the project
    TIME = auto()  # whether it is a time
    TIME_FORM = auto()
    ID_FORM = auto()
    ORDER = auto()  # of the list
    LISTED = auto()  # whether the list has the created project
    CODE = auto()  # of an error, or what else programs read of it
    WORD = auto()  # a status that was not expected
    UNSEEN_WORD = auto()


@dataclass(frozen=True)
class Compared:
    """A place of both observations; it differs if `observed` is another text than `expected`.

    `place` is a JSON pointer in a profile. `value` is what was seen there, as JSON. A record that
    is not `is_own` is one of others, which may have other members.
    """

    kind: str
    place: str
    aspect: Aspect
    expected: str
    observed: str
    value: str = ""
    exchange: Exchange | None = None
    is_own: bool = True

    @property
    def holds(self) -> bool:
        return self.expected == self.observed


# Forms of header fields: what is expected, and what a value matches that has the form.
FIELD_FORMS = {
    "cache-control": ("no-store", re.compile(r"\bno-store\b", re.IGNORECASE)),
    "www-authenticate": ("a Bearer challenge", re.compile(r"(^|,)\s*bearer\b", re.IGNORECASE)),
}


def compare(expected: Observation, seen: Observation) -> list[Compared]:
    """Compare what both have: each kind of response, the statuses, the ids and the order."""
    found: list[Compared] = []
    for kind, template in expected.templates.items():
        other = seen.templates.get(kind)
        if other:
            comparison = Comparison(expected, seen, template, other)
            found += comparison.compare_responses()
    found += compare_lists(expected, seen)
    found += compare_runs(expected, seen)
    found += compare_ids(expected, seen)
    return found


# What is of no single body


def compare_lists(expected: Observation, seen: Observation) -> Iterator[Compared]:
    """Compare the order of the list, and whether it has the created project."""
    before = expected.templates.get(LIST)
    now = seen.templates.get(LIST)
    if not before or not now or not before.exchanges[0].is_success:
        return
    way = seen.way
    place = "/list/body"
    for each in way.lists:
        items = at(each.seen, way.items_path)
        observed = PRESENT if isinstance(items, list) else MISSING
        aspect = Aspect.NULL if items is None else Aspect.MEMBER
        inner = place + pointer(*expected.way.items_path or ())
        yield Compared(LIST, inner, aspect, PRESENT, observed, "", each)
    if expected.order and seen.order:
        last = way.lists[-1]
        yield Compared(LIST, "/list/order", Aspect.ORDER, expected.order, seen.order, "", last)
    later = [each for each in way.lists if is_after(each, way.creation)]
    if later and before.is_own and isinstance(at(later[-1].seen, way.items_path), list):
        listed = "a created project is listed"
        observed = listed if now.is_own else "it is not"
        yield Compared(LIST, place, Aspect.LISTED, listed, observed, "", later[-1])


def is_after(exchange: Exchange, creation: Exchange | None) -> bool:
    return creation is not None and exchange.sent_at > creation.sent_at


def compare_runs(expected: Observation, seen: Observation) -> Iterator[Compared]:
    if not expected.run or not seen.run:
        return
    last = seen.templates[DEPLOYMENT].exchanges[-1] if DEPLOYMENT in seen.templates else None
    place = "/statuses/run"
    for word in seen.run:
        known = shown(word)
        observed = known if word in expected.run else f"{known} is new"
        yield Compared(DEPLOYMENT, place, Aspect.WORD, known, observed, word, last)
    for word in expected.run:
        observed = shown(word) if word in seen.run else "not seen"
        yield Compared(DEPLOYMENT, place, Aspect.UNSEEN_WORD, shown(word), observed, word, last)


def compare_ids(expected: Observation, seen: Observation) -> Iterator[Compared]:
    kinds = {"projects": CREATE, "deployments": DEPLOYMENT}
    for name, kind in kinds.items():
        before = expected.ids.get(name)
        now = seen.ids.get(name)
        template = seen.templates.get(kind)
        if before is None or now is None or template is None or not template.is_own:
            continue
        observed = shown(before) if is_same_ids(before, now, name) else shown(now)
        last = template.exchanges[-1]
        place = f"/ids/{name}"
        yield Compared(kind, place, Aspect.ID_FORM, shown(before), observed, shown(now), last)


# Of one kind of response


@dataclass(frozen=True)
class Comparison:
    """The comparison of two responses of one kind."""

    expected: Observation
    seen: Observation
    before: Template
    now: Template

    def at(
        self, place: str, aspect: Aspect, expected: object, observed: object, value: Any = NOTHING
    ) -> Compared:
        text = "" if value is NOTHING else shown(value)
        return Compared(
            kind=self.before.kind,
            place=f"/{self.before.kind}{place}",
            aspect=aspect,
            expected=str(expected),
            observed=str(observed),
            value=text,
            exchange=self.now.exchanges[0],
            is_own=self.now.is_own,
        )

    def compare_responses(self) -> Iterator[Compared]:
        before = self.before
        now = self.now
        yield self.at("/status", Aspect.STATUS, before.status, now.status)
        if before.exchanges[0].is_success != now.exchanges[0].is_success:
            return  # its form is another one for that reason
        if before.body is not NOTHING:
            yield from self._compare_content_types()
        for name in before.headers:
            yield from self._compare_field(name)
        if now.body is NOTHING:
            if before.body is not NOTHING:
                yield self.at("/body", Aspect.JSON, "JSON", "no JSON")
        elif before.body is not NOTHING:
            yield self.at("/body", Aspect.JSON, "JSON", "JSON")
            yield from self._compare_bodies()

    def _compare_content_types(self) -> Iterator[Compared]:
        media_type, parameters = split_content_type(self.before.content_type)
        new_media_type, new_parameters = split_content_type(self.now.content_type)
        place = "/content_type"
        yield self.at(place, Aspect.MEDIA_TYPE, media_type, new_media_type)
        if media_type == new_media_type:
            yield self.at(place, Aspect.PARAMETER, parameters, new_parameters)

    def _compare_field(self, name: str) -> Iterator[Compared]:
        place = pointer("headers", name)
        value = self.now.exchanges[0].header(name)
        yield self.at(place, Aspect.FIELD, PRESENT, MISSING if value is None else PRESENT)
        form, pattern = FIELD_FORMS.get(name.lower(), ("", None))
        if value is not None and pattern and pattern.search(self.before.headers[name] or ""):
            observed = form if pattern.search(value) else "another value"
            yield self.at(place, Aspect.FIELD_FORM, form, observed, value)

    def _compare_bodies(self) -> Iterator[Compared]:
        """Compare the bodies with each status that was seen, if they depend on it."""
        seen_places: set[tuple[str, Aspect, str, str]] = set()
        for old_word, new_word in self._words():
            before = resolve(self.before.body, old_word)
            now = resolve(self.now.body, new_word)
            for each in self._compare_whole(before, now):
                key = each.place, each.aspect, each.expected, each.observed
                if key not in seen_places:
                    seen_places.add(key)
                    yield each

    def _words(self) -> list[tuple[str, str]]:
        """Pairs of statuses, with which the two bodies are compared."""
        old_words = self.expected.run or ("",)
        new_words = self.seen.run or ("",)
        has_choice = has_choices(self.before.body) or has_choices(self.now.body)
        if not has_choice:
            new_words = new_words[-1:]
        return [(word if word in old_words else old_words[-1], word) for word in new_words]

    def _compare_whole(self, before: Any, now: Any) -> Iterator[Compared]:
        if self.before.kind == LIST:
            yield from self._compare_list(before, now)
        else:
            yield from self._compare_record("/body", before, (), now)

    def _compare_list(self, before: Any, now: Any) -> Iterator[Compared]:
        """Compare what is around the array of the projects, and its item."""
        old_path = self.expected.way.items_path
        new_path = self.seen.way.items_path
        items = at(before, old_path)
        new_items = at(now, new_path)
        place = f"/body{pointer(*old_path or ())}"
        if old_path is None or not isinstance(items, list):
            yield from self._compare_record("/body", before, (), now)
            return
        if new_path is None or not isinstance(new_items, list):
            yield from self._compare_types("/body", before, now)
            if isinstance(now, dict):
                yield self.at(place, Aspect.MEMBER, PRESENT, MISSING)
            return
        if old_path == new_path:
            around = with_value(before, old_path, [])
            yield from self._compare("/body", around, (), with_value(now, new_path, []))
        else:
            yield from self._compare_types("/body", before, now)
            if isinstance(before, dict) and isinstance(now, dict):
                yield self.at(place, Aspect.PLACE, PRESENT, f"at {pointer(*new_path)}")
        if items and new_items:
            path = (*new_path, 0)
            yield from self._compare_record(f"{place}/0", items[0], path, new_items[0])

    def _compare_record(self, place: str, before: Any, path: Path, now: Any) -> Iterator[Compared]:
        """Compare a record, which may stand further inside than expected."""
        if isinstance(before, dict) and isinstance(now, dict) and before:
            inner = path_of_record(now, before)
            if inner is None and len(before) > 1:
                names = ", ".join(before)
                yield self.at(place, Aspect.MEMBER, f"members {names}", "none of them", now)
                return
            if inner:
                there = f"at {pointer(*inner)}"
                yield self.at(place, Aspect.PLACE, "the members themselves", there)
                now = at(now, inner)
                path = (*path, *inner)
        yield from self._compare(place, before, path, now)

    def _compare_types(self, place: str, before: Any, now: Any) -> Iterator[Compared]:
        old_type = type_in(self.expected, before)
        new_type = type_in(self.seen, now)
        is_null = "null" in (old_type, new_type) and old_type != new_type
        aspect = Aspect.NULL if is_null else Aspect.TYPE
        yield self.at(place, aspect, old_type, new_type, now)

    def _compare(self, place: str, before: Any, path: Path, now: Any) -> Iterator[Compared]:
        """Compare two values; `path` leads to the one that was seen."""
        yield from self._compare_types(place, before, now)
        if type_in(self.expected, before) != type_in(self.seen, now):
            return
        if isinstance(before, dict):
            yield from self._compare_objects(place, before, path, now)
        elif isinstance(before, list):
            yield from self._compare_arrays(place, before, path, now)
        elif path not in self.now.varying:
            yield from self._compare_scalars(place, before, now)

    def _compare_objects(
        self, place: str, before: dict[str, Any], path: Path, now: dict[str, Any]
    ) -> Iterator[Compared]:
        for name, value in before.items():
            inner = place + pointer(name)
            inner_path = (*path, name)
            if name in now:
                yield self.at(inner, Aspect.MEMBER, PRESENT, PRESENT)
                yield from self._compare(inner, value, inner_path, now[name])
            else:
                yield self.at(inner, Aspect.MEMBER, PRESENT, MISSING)
        for name in now:
            if name not in before:
                new_type = type_in(self.seen, now[name])
                yield self.at(place + pointer(name), Aspect.NEW, MISSING, new_type)

    def _compare_arrays(
        self, place: str, before: list[Any], path: Path, now: list[Any]
    ) -> Iterator[Compared]:
        """Compare each item with the one that is most like it: the order may be another one.

        Of arrays of one length each item is that of one other.
        """
        left = [(shape_of(each), each) for each in before[:MAX_ITEMS]]
        is_paired = len(before) == len(now)
        for index, item in enumerate(now[:MAX_ITEMS]):
            if not left:
                return
            shape = shape_of(item)
            likeness = [len(shape & each) - len(shape ^ each) for each, _ in left]
            best = likeness.index(max(likeness))
            _, like = left.pop(best) if is_paired else left[best]
            yield from self._compare(f"{place}/{index}", like, (*path, index), item)

    def _compare_scalars(self, place: str, before: Any, now: Any) -> Iterator[Compared]:
        if form_of_time(before):
            yield from self._compare_times(place, before, now)
        elif is_value_marker(before):
            marker = whole_marker(before)
            assert marker
            own = self._value_of(marker.name)
            values = {self._value_of(each.name) for each in markers_below(now)}
            what = VALUES[marker.name]
            is_same_value = own in values or not self._is_sure(marker.name)
            observed = what if is_same_value else "another one"
            yield self.at(place, Aspect.VALUE, what, observed, now)
        elif self._is_in_error(place) and is_code(before) and is_code(now):
            observed = before if is_same(before, now) else now
            yield self.at(place, Aspect.CODE, shown(before), shown(observed), now)

    def _is_in_error(self, place: str) -> bool:
        """Whether it is a place of an error, but none of several errors in an array."""
        return self.before.kind.startswith("errors/") and not re.search("/[0-9]+(/|$)", place)

    def _value_of(self, name: str) -> str:
        """What a marker stands for in the service, "" if that is not known."""
        way = self.seen.way
        is_deployment = self.now.kind == DEPLOYMENT
        values = {
            "project.id": way.owner_id if is_deployment else way.created_id,
            "project.name": way.owner_name if is_deployment else way.created_name,
            "deployment.id": way.deployment_id,
        }
        value = values.get(name)
        return "" if value is None else str(value)

    def _is_sure(self, name: str) -> bool:
        """Whether a place where a marker is expected has to have its value.

        A rule says whether a deployment is the one that was asked for. An id that is the name may
        be none.
        """
        if name == "deployment.id":
            is_known = self.now.is_own and self.seen.way.followed
            return bool(is_known) and self.now.kind != DEPLOYMENT
        is_name = self._value_of("project.id") == self._value_of("project.name")
        return self._value_of(name) != "" and not (is_name and name == "project.id")

    def _compare_times(self, place: str, before: Any, now: Any) -> Iterator[Compared]:
        form = form_of_time(before)
        new_form = form_of_time(now)
        if isinstance(form, str):
            yield from self._compare_units(place, form, new_form, now)
        elif form:
            what = "an RFC 3339 time" if form.is_of_rfc3339 else "a time"
            is_time = isinstance(new_form, TimeForm)
            if isinstance(new_form, TimeForm):
                is_time = new_form.is_of_rfc3339 or not form.is_of_rfc3339
                known = example_of(form)
                observed = known if is_same_time(form, new_form) else example_of(new_form)
                yield self.at(place, Aspect.TIME_FORM, known, observed, now)
            yield self.at(place, Aspect.TIME, what, what if is_time else "another text", now)

    def _compare_units(
        self, place: str, unit: str, new_form: TimeForm | str | None, now: Any
    ) -> Iterator[Compared]:
        """Compare times that are numbers: a large number may be one of another record."""
        if isinstance(new_form, str):
            yield self.at(place, Aspect.TIME_FORM, unit, new_form, now)
        elif is_number(now):
            what = "a time"
            is_time = now >= MIN_SECONDS
            yield self.at(place, Aspect.TIME, what, what if is_time else "another number", now)


VALUES = {
    "project.id": "the id of the project",
    "project.name": "the name as it was sent",
    "deployment.id": "the id of the deployment",
}
"""What markers stand for whose value a place must have."""


def is_value_marker(value: Any) -> bool:
    """Whether it is the marker of one value; a second id is another one in each record."""
    marker = whole_marker(value)
    return marker is not None and marker.name in VALUES and marker.form in ("", "text")


# Types and shapes


def type_in(observation: Observation, value: Any) -> str:
    """The type of a value, or of what a marker stands for; an integer is a number."""
    marker = whole_marker(value)
    if marker is None:
        found = next(name for name in TYPES if is_of_type(value, name))
        return "number" if found == "integer" else found
    if isinstance(form_of_time(value), str):
        return "number"
    kind = "deployments" if marker.name.startswith("deployment.") else "projects"
    is_integer_id = marker.name.endswith("id") and has_integers(observation, kind)
    is_number_alone = is_integer_id or marker.name in ("count", "error.status")
    return "number" if is_number_alone and not marker.form else "string"


def has_integers(observation: Observation, kind: str) -> bool:
    """Whether the ids of a kind are numbers; those of deployments may be the projects'."""
    way = observation.way
    example = observation.ids.get(kind)
    if example == "{project.id}":
        return has_integers(observation, "projects")
    if example is None and kind == "deployments":
        example = way.deployment_id
    elif example is None and way.lists:
        items = way.items_of(way.lists[-1])
        example = way.id_of(items[0]) if items else None
    return isinstance(example, int)


def has_choices(body: Any) -> bool:
    return any(isinstance(each, dict) and CHOICE in each for _, each in values_below(body))


def shape_of(value: Any) -> set[str]:
    """The places in a value with their types; indexes are left out."""
    found = set()
    for path, each in values_below(value):
        names = [name for name in path if isinstance(name, str)]
        found.add(f"{pointer(*names)} {type(each).__name__}")
    return found


def path_of_record(value: Any, names: dict[str, Any]) -> Path | None:
    """The path of the object with most of the names, the outermost of several; None without any."""
    best: Path | None = None
    most = 0
    found = [(path, each) for path, each in values_below(value) if isinstance(each, dict)]
    for path, each in sorted(found, key=lambda item: len(item[0])):
        count = len(names.keys() & each.keys())
        is_through_objects = all(isinstance(name, str) for name in path)
        if count > most and is_through_objects:
            best = path
            most = count
    return best


def split_content_type(text: str) -> tuple[str, str]:
    """The media type, and its parameters without a charset that is the usual one of JSON."""
    media_type, _, rest = text.lower().partition(";")
    parameters = [each.strip().replace('"', "") for each in rest.split(";")]
    others = [each for each in parameters if each not in ("", "charset=utf-8", "charset=utf8")]
    return media_type.strip() or "no media type", "; ".join(sorted(others)) or "no parameters"


def shown(value: Any) -> str:
    """A value as JSON, or as much of it as a line may have."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


# Times


def form_of_time(value: Any) -> TimeForm | str | None:
    """The form of a time, or of the marker of one; of a number its unit; None for all else."""
    marker = whole_marker(value)
    if marker is None:
        return time_form(value) if isinstance(value, str) else None
    if marker.name not in TIMES:
        return None
    if marker.form in ("s", "ms"):
        return marker.form
    return time_form(marker.form) if marker.form else OURS


def is_same_time(before: TimeForm, now: TimeForm) -> bool:
    """Whether a time may be of a known form: zeros at the end may be left out, and an offset may be
    that of a season.
    """
    is_utc = before.offset in ("Z", "z")
    if before.separator != now.separator or is_utc != (now.offset in ("Z", "z")):
        return False
    if bool(before.offset) != bool(now.offset):
        return False
    if before.digits not in USUAL_DIGITS or now.digits not in USUAL_DIGITS:
        return True
    return now.digits <= before.digits


def example_of(form: TimeForm) -> str:
    fraction = f".{'0' * form.digits}" if form.digits else ""
    return f"2026-01-05{form.separator}09:00:00{fraction}{form.offset}"


# Ids

PREFIX = re.compile("[A-Za-z]+[_.:~-]")  # one word: several may be of one id alone
UUID_SHAPE = re.compile("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")


def is_same_ids(before: str | int, now: str | int, kind: str) -> bool:
    """Whether two examples of ids may be of one form; what tells little is no difference."""
    try:
        old_form = id_form(before, kind)
        new_form = id_form(now, kind)
    except ValueError:  # of an id without a letter or a digit
        return before == now
    if isinstance(old_form, Numbers) or isinstance(new_form, Numbers):
        return type(old_form) is type(new_form)
    if isinstance(old_form, Derived) or isinstance(new_form, Derived):
        return True
    has_uuid = bool(UUID_SHAPE.search(old_form.rest))
    if has_uuid != bool(UUID_SHAPE.search(new_form.rest)):
        return False
    return word_before(old_form) == word_before(new_form)


def word_before(form: Opaque) -> str:
    """The prefix of ids, if it is one word."""
    return form.prefix if PREFIX.fullmatch(form.prefix) else ""


# What programs read of an error


def is_code(value: Any) -> bool:
    """Whether a constant in an error is one that programs read: not a text for people."""
    if isinstance(value, str):
        return CODE.fullmatch(value) is not None and not markers_in(value)
    return isinstance(value, bool) or (is_number(value) and abs(value) < MAX_CODE)
