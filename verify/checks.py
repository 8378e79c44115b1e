"""Judges responses by a schema: one walk through it, with the response beside it.

The schema is that of the contract, or that of a profile, as the stub serves it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from profiles.openapi import find_part
from profiles.times import parse_time_form
from web.documents import parse_pointer
from web.times import parse_time
from web.validation import format_pointer

from .exchange import ServiceExchange
from .values import find_type, make_example_time

PRESENT, MISSING = "present", "missing"
MAX_SHOWN = 200  # characters of a value
PREFIX = re.compile("([A-Za-z]+[_.:~-])[^_.:~-]")
UUID = re.compile("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")

# Forms of header fields: what is expected, and what a value matches that has the form.
FIELD_FORMS = {
    "cache-control": ("no-store", re.compile(r"\bno-store\b", re.IGNORECASE)),
    "www-authenticate": ("a Bearer challenge", re.compile(r"(^|,)\s*bearer\b", re.IGNORECASE)),
}


@dataclass(frozen=True)
class Check:
    """What is expected of a part, and what a response has there; it holds if both are equal.

    `part` is a JSON pointer in the contract, or in a profile. Nothing is observed, "", where no
    response shows the part; `exchange` is then the one that should have.
    """

    part: str
    expected: str
    observed: str
    exchange: ServiceExchange | None = None

    @property
    def holds(self) -> bool:
        return self.expected == self.observed


Relation = tuple[str, Callable[[Any], str]]
"""What a value has to be, such as `the id of the project`, and what a function says that it is."""


def relate(what: str, *values: Any) -> Relation:
    """Make the relation of a value that has to be one of these."""
    texts = {str(value) for value in values}
    return what, lambda value: what if str(value) in texts else "another one"


def relate_equal(expected: Any) -> Relation:
    """Make the relation of a value that has to be this one."""
    return show(expected), show


def show(value: Any) -> str:
    """Show a value as JSON, or as much of it as a line may have."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


@dataclass(frozen=True)
class Walk:
    """Walks through a schema of a document with a value beside it.

    `relations` has what the values at some parts have to be. With `is_profile`, parts are named
    as in a profile: `/list/body/projects/0/id`. A record that is not `is_own` is one of others,
    of which the form of a value says nothing.
    """

    document: Mapping[str, Any]
    is_profile: bool = False
    relations: Mapping[str, Relation] = field(default_factory=dict)
    is_own: bool = True

    def walk(self, place: str, value: Any) -> Iterator[Check]:
        """Check a value by the schema at a place in the document."""
        part, schema = find_part(self.document, place)
        name = self._name(part)
        if "anyOf" in schema:
            yield from self._walk_alternatives(part, schema["anyOf"], value)
            return
        expected = name_type(schema)
        if expected == "any":
            yield Check(name, PRESENT, PRESENT)
            return
        observed = name_type({"type": find_type(value)})
        yield Check(name, expected, observed)
        if expected != observed:
            return
        if isinstance(value, dict):
            yield from self._walk_members(part, schema, value)
        elif isinstance(value, list):
            for item in value if schema.get("items") else ():
                yield from self.walk(f"{part}/items", item)
        else:
            yield from self._check_scalar(name, schema, value)

    def _walk_alternatives(
        self, part: str, alternatives: list[dict[str, Any]], value: Any
    ) -> Iterator[Check]:
        places = [f"{part}/anyOf/{index}" for index in range(len(alternatives))]
        found = [find_part(self.document, place)[1] for place in places]
        allowed = " or ".join(dict.fromkeys(map(name_type, found)))
        fitting = [at for at, schema in zip(places, found, strict=True) if fits(schema, value)]
        if not fitting:
            yield Check(self._name(part), allowed, name_type({"type": find_type(value)}))
            return
        yield Check(self._name(part), allowed, allowed)
        yield from self._check_relation(self._name(part), value)
        tried = [[*self.walk(place, value)] for place in fitting]
        yield from min(tried, key=lambda checks: len([each for each in checks if not each.holds]))

    def _walk_members(
        self, part: str, schema: dict[str, Any], value: dict[str, Any]
    ) -> Iterator[Check]:
        required = schema.get("required", [])
        if len(required) > 1 and not value.keys() & {*schema["properties"]}:
            names = ", ".join(required)
            yield Check(self._name(part), f"members {names}", "none of them")
            return
        for name in schema.get("properties", {}):
            inner = part + format_pointer("properties", name)
            if name in value:
                yield from self.walk(inner, value[name])
            elif name in required:
                yield Check(self._name(find_part(self.document, inner)[0]), PRESENT, MISSING)

    def _check_scalar(self, name: str, schema: dict[str, Any], value: Any) -> Iterator[Check]:
        form = schema.get("x-form")
        if schema.get("format") == "date-time" and not form:
            what = "an RFC 3339 time"
            yield Check(name, what, what if parse_time(value) else "another text")
        if form and self.is_own and value != "":
            like = describe_form(schema["examples"][0])
            is_like = re.fullmatch(form, str(value)) is not None
            yield Check(name, like, like if is_like else describe_form(value))
        yield from self._check_relation(name, value)

    def _check_relation(self, name: str, value: Any) -> Iterator[Check]:
        if name in self.relations and not isinstance(value, dict | list):
            what, observe = self.relations[name]
            yield Check(name, what, observe(value))

    def _name(self, part: str) -> str:
        return name_in_profile(part) if self.is_profile else part


def name_type(schema: Mapping[str, Any]) -> str:
    """Name the type of a schema; an integer is a number."""
    found: str = schema.get("type", "any")
    return "number" if found == "integer" else found


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value is of the type of a schema."""
    return name_type(schema) in ("any", name_type({"type": find_type(value)}))


def name_in_profile(part: str) -> str:
    """Name a place in a profile by that in a schema: `#/list/properties/id` is `/list/body/id`."""
    names = parse_pointer(part)
    found = ""
    is_member = False
    for name in names[1:]:
        if is_member:
            found += format_pointer(name)
            is_member = False
        elif name == "properties":
            is_member = True
        elif name == "items":
            found += "/0"
    return f"/{names[0]}/body{found}"


def describe_form(value: Any) -> str:
    """Describe the form of a time or an id, the same for all of one form."""
    form = parse_time_form(value) if isinstance(value, str) else None
    if form:
        return f"a time like {make_example_time(form)}"
    if not isinstance(value, str):
        return f"a number of {len(str(int(value)))} digits"
    prefix = PREFIX.match(value)
    if UUID.search(value):
        return f"{prefix[1]} and a UUID" if prefix and not UUID.fullmatch(value) else "a UUID"
    return f"{prefix[1]}…" if prefix else "another form"


def check_fields(
    names: Mapping[str, str], exchange: ServiceExchange, values: Mapping[str, str]
) -> Iterator[Check]:
    """Check header fields, whose parts are given by their names; `values` are those expected."""
    for name, part in names.items():
        value = exchange.find_response_field(name)
        yield Check(part, PRESENT, MISSING if value is None else PRESENT, exchange)
        form, pattern = FIELD_FORMS.get(name.lower(), ("", None))
        is_expected = pattern and (name not in values or pattern.search(values[name]))
        if value is not None and pattern and is_expected:
            has_form = pattern.search(value)
            at = part if values else f"{part}/schema"
            yield Check(at, form, form if has_form else "another value", exchange)


def join_checks(checks: list[Check]) -> Check:
    """Join the checks of one part: one contradiction outweighs many agreements."""
    against = [each for each in checks if not each.holds]
    if not against:
        return checks[0]
    return replace(
        against[0],
        expected="; ".join(dict.fromkeys(each.expected for each in against)),
        observed="; ".join(sorted({each.observed for each in against})),
    )


def join_others(checks_of_each: list[list[Check]]) -> Iterator[Check]:
    """Join the checks of the records of others: what one of them has is there."""
    by_part: dict[tuple[str, str], list[Check]] = {}
    for checks in checks_of_each:
        for check in checks:
            by_part.setdefault((check.part, check.expected), []).append(check)
    for checks in by_part.values():
        holding = [each for each in checks if each.holds]
        yield from holding[:1] or checks[:1]
