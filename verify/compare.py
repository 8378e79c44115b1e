"""Compares two observations of services, place by place: what is expected, and what was seen.

Forms are compared: whether something is there, its type, whether it is a time, or the value of a
marker. Values are not, but for what programs read of an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Any

from profiles.markers import Path, markers_below, resolve, whole_marker
from profiles.times import TimeForm
from web.validation import pointer

from .exchange import NOTHING, Exchange
from .forms import (
    form_of_time,
    has_choices,
    is_code,
    is_same_ids,
    is_same_time,
    path_of_record,
    shape_of,
    shown,
    split_content_type,
    type_in,
)
from .kinds import CREATE, DEPLOYMENT, LIST
from .observation import Observation, Template
from .values import MIN_SECONDS, at, is_number, is_same, time_like, with_value

MISSING = "missing"
PRESENT = "present"
MAX_ITEMS = 20  # of an array that are compared


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
    WORD = auto()  # a status that was not expected, or not at this place of the run


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
    if later and before.is_own and has_records(at(later[-1].seen, way.items_path)):
        listed = "a created project is listed"
        observed = listed if now.is_own else "it is not"
        yield Compared(LIST, place, Aspect.LISTED, listed, observed, "", later[-1])


def has_records(items: Any) -> bool:
    """Whether it is an array of objects, which may be empty."""
    return isinstance(items, list) and all(isinstance(each, dict) for each in items)


def is_after(exchange: Exchange, creation: Exchange | None) -> bool:
    return creation is not None and exchange.sent_at > creation.sent_at


def compare_runs(expected: Observation, seen: Observation) -> Iterator[Compared]:
    """Compare the statuses; which of them were seen is a matter of time."""
    if not expected.run or not seen.run:
        return
    last = seen.templates[DEPLOYMENT].exchanges[-1] if DEPLOYMENT in seen.templates else None

    def differ(before: str, now: str, word: str = "") -> Compared:
        return Compared(DEPLOYMENT, "/statuses/run", Aspect.WORD, before, now, word, last)

    for word in seen.run:
        if word not in expected.run:
            yield differ(f"no {shown(word)}", shown(word), word)
    known = [word for word in seen.run if word in expected.run]
    for first, second in pairwise(known):
        if expected.run.index(first) > expected.run.index(second):
            before = f"{shown(second)} before {shown(first)}"
            yield differ(before, f"{shown(first)} before {shown(second)}")


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
        for old_word, new_word in self._words():
            before = resolve(self.before.body, old_word)
            now = resolve(self.now.body, new_word)
            yield from self._compare_whole(before, now)

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
                known = time_like(form)
                observed = known if is_same_time(form, new_form) else time_like(new_form)
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
