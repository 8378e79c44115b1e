"""Checks responses by a schema of the contract or of a profile, as the stub serves it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from profiles import ids
from profiles.openapi import find_part
from profiles.times import parse_time_form
from web.documents import parse_pointer
from web.times import parse_time
from web.validation import format_pointer

from ..seen import inspection
from ..seen.service_log import ServiceExchange

PRESENT, MISSING = "present", "missing"


@dataclass(frozen=True)
class Check:
    """A check of a part of a response: it holds if the observed and the expected text are equal.

    `part` is a pointer in the contract or in a profile, or a name: `/list/status`, `deployment`.
    `observed` is "" if no response shows the part; `exchange` should have shown it.
    """

    part: str
    expected: str
    observed: str
    exchange: ServiceExchange | None = None

    @property
    def holds(self) -> bool:
        return self.expected == self.observed


Relation = tuple[str, Callable[[Any], str]]
"""The description of an expected value, `the id of the project`, and a function that describes."""


def relate(what: str, *values: Any) -> Relation:
    """Make the relation of a value that must be in `values`, called `the id of the project`."""
    texts = {str(value) for value in values}
    return what, lambda value: what if str(value) in texts else "another one"


def relate_equal(expected: Any) -> Relation:
    """Make the relation of a value that must be equal, as of `"not_found"`."""
    return show(expected), show


def show(value: Any, max_length: int = 200) -> str:
    """Format a value as JSON: `"not_found"`. Cut a long text."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= max_length else f"{text[:max_length]}…"


@dataclass(frozen=True)
class Walk:
    """Walks through a schema and a value together.

    `relations` are the expected values of some parts. With `is_profile` the parts have the names
    of a profile: `/list/body/projects/0/id`. The forms of values are checked if the record
    `is_own`, the created project or its deployment.
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
        expected = name_type(schema.get("type", "any"))
        if expected == "any":
            yield Check(name, PRESENT, PRESENT)
            return
        observed = name_type(inspection.find_type(value))
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
        observed = name_type(inspection.find_type(value))
        fitting = []
        types = []
        for index in range(len(alternatives)):
            place = f"{part}/anyOf/{index}"
            _, schema = find_part(self.document, place)
            types.append(name_type(schema.get("type", "any")))
            if types[-1] in ("any", observed):
                fitting.append(place)
        allowed = " or ".join(dict.fromkeys(types))
        if not fitting:
            yield Check(self._name(part), allowed, observed)
            return
        yield Check(self._name(part), allowed, allowed)
        yield from self._check_relation(self._name(part), value)
        tried = [[*self.walk(place, value)] for place in fitting]
        yield from min(tried, key=lambda checks: sum(not check.holds for check in checks))

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


def name_type(name: str) -> str:
    return "number" if name == "integer" else name


def name_in_profile(part: str) -> str:
    """Name a part in a profile: `/list/body/id` for `#/list/properties/id` in the schema."""
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
    """Describe the form of a time or an id: `a time like 2026-01-05T09:00:00Z`, `prj_…`."""
    form = parse_time_form(value) if isinstance(value, str) else None
    if form:
        return f"a time like {inspection.make_example_time(form)}"
    if not isinstance(value, str):
        return f"a number of {len(str(int(value)))} digits"
    prefix = re.match("([A-Za-z]+[_.:~-])[^_.:~-]", value)
    uuid = re.search("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}", value)
    if uuid:
        return f"{prefix[1]} and a UUID" if prefix and uuid[0] != value else "a UUID"
    if prefix:
        return f"{prefix[1]}…"
    if ids.ULID.fullmatch(value):
        return "a ULID"
    if ids.DIGITS.fullmatch(value):
        return "a text of digits"
    if ids.HEXADECIMAL.fullmatch(value):
        return "a hexadecimal number"
    return "small letters and digits" if ids.LOWER_CASE.fullmatch(value) else "another form"


def check_fields(
    parts: Mapping[str, str], exchange: ServiceExchange, values: Mapping[str, str]
) -> Iterator[Check]:
    """Check header fields; `parts` and the expected `values` are by name: `{"Allow": "GET"}`."""
    forms = {
        "cache-control": ("no-store", r"\bno-store\b"),
        "www-authenticate": ("a Bearer challenge", r"(^|,)\s*bearer\b"),
    }
    for name, part in parts.items():
        value = exchange.find_response_field(name)
        yield Check(part, PRESENT, MISSING if value is None else PRESENT, exchange)
        if value is None or name.lower() not in forms:
            continue
        form, pattern = forms[name.lower()]
        if name not in values or re.search(pattern, values[name], re.IGNORECASE):
            has_form = re.search(pattern, value, re.IGNORECASE)
            place = part if values else f"{part}/schema"
            yield Check(place, form, form if has_form else "another value", exchange)


def join_checks(checks: list[Check]) -> Check:
    """Join the checks of a part. The texts of broken checks are joined: `200; JSON`."""
    broken = [check for check in checks if not check.holds]
    if not broken:
        return checks[0]
    expected = dict.fromkeys(check.expected for check in broken)
    observed = {check.observed for check in broken}
    return replace(broken[0], expected="; ".join(expected), observed="; ".join(sorted(observed)))


def join_others(checks_of_records: list[list[Check]]) -> Iterator[Check]:
    """Join the checks of foreign records: a check holds if it holds for any of the records."""
    by_part: dict[tuple[str, str], list[Check]] = {}
    for checks in checks_of_records:
        for check in checks:
            by_part.setdefault((check.part, check.expected), []).append(check)
    for checks in by_part.values():
        holding = [check for check in checks if check.holds]
        yield from holding[:1] or checks[:1]
