"""Checks responses by a schema of the contract or of a profile, as the stub serves it.

A *part* is what a check names: `#/components/schemas/Project` in the contract, `/list/body` in a
profile. A *pointer* leads to it in a document, perhaps through `$ref`.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from profiles import ids
from profiles.openapi import find_part
from profiles.times import parse_time_format
from web.documents import parse_pointer
from web.schemas import TYPES
from web.times import parse_time
from web.validation import format_pointer

from ..seen import inspection
from ..seen.service_log import ServiceExchange

PRESENT, MISSING = "present", "missing"


@dataclass(frozen=True)
class Check:
    """A check of a part of a response: it holds if the observed and the expected text are equal.

    `part` may also be the name of an aim or a request: `deployment`, `list without a token`.
    `observed` is "" if no response shows the part; `exchange` should have shown it.
    """

    part: str
    expected: str
    observed: str
    exchange: ServiceExchange | None = None

    @property
    def is_shown(self) -> bool:
        return self.observed != ""

    @property
    def holds(self) -> bool:
        return self.expected == self.observed

    @property
    def fails(self) -> bool:
        return self.is_shown and not self.holds


@dataclass(frozen=True)
class Expected:
    """One of the values that a part must have, such as the id of the created project.

    `text` describes it: `the id of the project`. Without `shows_others`, a check does not print
    another value.
    """

    text: str
    values: tuple[Any, ...]
    shows_others: bool = False

    def describe(self, value: Any) -> str:
        """Return the text for an expected value, or else `another one`, or the value as JSON."""
        if str(value) in map(str, self.values):
            return self.text
        return format_value(value) if self.shows_others else "another one"


def format_value(value: Any, max_length: int = 200) -> str:
    """Format a value as JSON: `"not_found"`. Cut a long text."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= max_length else f"{text[:max_length]}…"


@dataclass(frozen=True, kw_only=True)
class BodyChecker:
    """Checks a body by a schema of a document, member by member.

    `expected` has the values of some parts. With `is_profile` the parts have the names of a
    profile: `/list/body/projects/0/id`. With `checks_forms` ids and times must have the form of
    the example in the schema.
    """

    document: Mapping[str, Any]
    expected: Mapping[str, Expected] = field(default_factory=dict)
    is_profile: bool = False
    checks_forms: bool = True

    def check(self, pointer: str, value: Any) -> Iterator[Check]:
        """Check a value by the schema at a pointer."""
        pointer, schema = find_part(self.document, pointer)
        part = self._name_part(pointer)
        observed = name_type(inspection.find_type(value))
        if "anyOf" in schema:
            yield from self._check_alternatives(pointer, len(schema["anyOf"]), value)
        elif "type" not in schema:
            yield Check(part, PRESENT, PRESENT)
        elif value in (None, "") and schema.get("x-part") == "projects":
            yield Check(part, "an id", "none")
        elif observed != name_type(schema["type"]):
            yield Check(part, name_type(schema["type"]), observed)
        else:
            yield Check(part, observed, observed)
            yield from self._check_content(pointer, schema, value)

    def _check_content(self, pointer: str, schema: dict[str, Any], value: Any) -> Iterator[Check]:
        """Check the members, the items or the form of a value whose type is right."""
        if isinstance(value, dict):
            yield from self._check_members(pointer, schema, value)
        elif isinstance(value, list):
            for item in value if schema.get("items") else ():
                yield from self.check(f"{pointer}/items", item)
            if not value:
                yield from self._miss_expected(f"{self._name_part(pointer)}/0")
        else:
            part = self._name_part(pointer)
            yield from self._check_form(part, schema, value)
            yield from self._check_expected(part, value)

    def _miss_expected(self, inner: str) -> Iterator[Check]:
        """Report the values that an empty array must have in its items."""
        for part, expected in self.expected.items():
            if part.startswith(inner):
                yield Check(part, expected.text, MISSING)

    def _check_alternatives(self, pointer: str, count: int, value: Any) -> Iterator[Check]:
        """Check a value by the alternative of its type that it breaks least."""
        part = self._name_part(pointer)
        observed = name_type(inspection.find_type(value))
        types = {}
        for index in range(count):
            alternative = f"{pointer}/anyOf/{index}"
            _, schema = find_part(self.document, alternative)
            types[alternative] = name_type(schema.get("type", "any"))
        allowed = " or ".join(dict.fromkeys(types.values()))
        fitting = [each for each, name in types.items() if name in ("any", observed)]
        if not fitting:
            yield Check(part, allowed, observed)
            return
        yield Check(part, allowed, allowed)
        if not isinstance(value, dict | list):
            yield from self._check_expected(part, value)
        yield from min(([*self.check(each, value)] for each in fitting), key=count_broken)

    def _check_members(
        self, pointer: str, schema: dict[str, Any], value: dict[str, Any]
    ) -> Iterator[Check]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        if len(required) > 1 and properties.keys().isdisjoint(value):
            names = ", ".join(required)
            yield Check(self._name_part(pointer), f"members {names}", "none of them")
            return
        for name in properties:
            member = pointer + format_pointer("properties", name)
            if name in value:
                yield from self.check(member, value[name])
            elif name in required:
                found, _ = find_part(self.document, member)
                yield Check(self._name_part(found), PRESENT, MISSING)

    def _check_form(self, part: str, schema: dict[str, Any], value: Any) -> Iterator[Check]:
        form = schema.get("x-form")
        if form is None and schema.get("format") == "date-time":
            expected = "an RFC 3339 time"
            yield Check(part, expected, expected if parse_time(value) else "another text")
        if form is not None and self.checks_forms and value != "":
            example = schema["examples"][0]
            has_form = re.fullmatch(form, str(value))
            yield Check(part, *describe_forms(example, example if has_form else value))

    def _check_expected(self, part: str, value: Any) -> Iterator[Check]:
        if part in self.expected:
            expected = self.expected[part]
            yield Check(part, expected.text, expected.describe(value))

    def _name_part(self, pointer: str) -> str:
        return name_in_profile(pointer) if self.is_profile else pointer


def name_type(name: str) -> str:
    return "number" if name == "integer" else name


def count_broken(checks: list[Check]) -> int:
    return sum(not check.holds for check in checks)


def name_in_profile(pointer: str) -> str:
    """Name a part in a profile: `/list/body/id` for `#/list/properties/id` in the schema."""
    kind, *names = parse_pointer(pointer)
    part = f"/{kind}/body"
    is_member = False
    for name in names:
        if is_member:
            part += format_pointer(name)
        elif name == "items":
            part += "/0"
        is_member = name == "properties" and not is_member
    return part


def describe_forms(example: Any, value: Any) -> tuple[str, str]:
    """Describe the forms of an example and of another value: `("prj_…", "a UUID")`.

    If the descriptions are the same, they get the lengths, or else "of other characters".
    """
    expected, observed = describe_form(example), describe_form(value)
    if value == example or observed != expected or not isinstance(value, str):
        return expected, observed
    if len(value) == len(example):
        return expected, f"{observed} of other characters"
    return f"{expected} of {len(example)} characters", f"{observed} of {len(value)} characters"


def describe_form(value: Any) -> str:
    """Describe the form of a time or an id: `a time like 2026-01-05T09:00:00Z`, `prj_…`."""
    if not isinstance(value, str):
        return f"a number of {len(str(int(value)))} digits"
    form = parse_time_format(value)
    if form:
        return f"a time like {inspection.make_example_time(form)}"
    prefix = re.match(f"({ids.PREFIX.pattern})[^_.:~/-]", value)
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


# Header fields

FIELD_FORMS = {
    "cache-control": ("no-store", r"\bno-store\b"),
    "www-authenticate": ("a Bearer challenge", r"(^|,)\s*bearer\b"),
}
"""The descriptions and the patterns of the forms that the contract states."""


def check_field(exchange: ServiceExchange, name: str, part: str, form_part: str) -> Iterator[Check]:
    """Check that a response has a header field, and its form, if there is a part for the form."""
    value = exchange.find_response_field(name)
    yield Check(part, PRESENT, MISSING if value is None else PRESENT, exchange)
    if value is not None and form_part and name.lower() in FIELD_FORMS:
        form, _ = FIELD_FORMS[name.lower()]
        observed = form if has_field_form(name, value) else "another value"
        yield Check(form_part, form, observed, exchange)


def has_field_form(name: str, value: str) -> bool:
    """Return whether a header field has the form of the contract: `Cache-Control: no-store`."""
    if name.lower() not in FIELD_FORMS:
        return False
    _, pattern = FIELD_FORMS[name.lower()]
    return re.search(pattern, value, re.IGNORECASE) is not None


# Several checks of a part


def join_checks(checks: list[Check]) -> Check:
    """Join the checks of a part. The texts of broken checks are joined: `200; JSON`."""
    broken = [check for check in checks if not check.holds]
    if not broken:
        return checks[0]
    expected = dict.fromkeys(check.expected for check in broken)
    observed = {check.observed for check in broken}
    return replace(broken[0], expected="; ".join(expected), observed="; ".join(sorted(observed)))


def join_others(checks_of_records: list[list[Check]]) -> Iterator[Check]:
    """Join the checks of foreign records: a check holds if it holds for any of the records.

    A member may be missing in some of them.
    """
    groups: dict[tuple[str, str], list[Check]] = {}
    present = set()
    for check in itertools.chain.from_iterable(checks_of_records):
        groups.setdefault((check.part, check.expected), []).append(check)
        if check.observed != MISSING:
            present.add(check.part)
    for group in groups.values():
        check = next((check for check in group if check.holds), group[0])
        if check.observed != MISSING or check.part not in present:
            yield check


def find_wrong_types(checks_of_records: list[list[Check]]) -> Iterator[Check]:
    """Find the checks that show a value of another type: `string` expected, `number` observed.

    A null may stand for any value.
    """
    names = {name_type(name) for name in TYPES} - {"null"}
    for check in itertools.chain.from_iterable(checks_of_records):
        if not check.holds and check.observed in names:
            yield check
