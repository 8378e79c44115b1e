"""Builds the JSON Schema of a body with markers."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from web.schemas import Schema

from . import markers, times
from .ids import Opaque
from .profile import Profile

NULL = {"type": "null"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
STRING = {"type": "string"}
TYPES: dict[type, Schema] = {
    type(None): NULL,
    bool: {"type": "boolean"},
    int: INTEGER,
    float: NUMBER,
}
SECONDS = {
    "s": {"x-form": r"\d{9,10}", "examples": [1767603600]},
    "ms": {"x-form": r"\d{12,13}", "examples": [1767603600000]},
}
"""The schemas of times since 1970, in seconds or milliseconds; `x-form` is for 1973 to 2286."""
MARKER_SCHEMAS: dict[str, Schema] = {
    "count": INTEGER,
    "error.status": INTEGER,
    "error.title": {"type": "string", "x-grease": ["error-text"]},
    "error.detail": {"type": "string", "x-grease": ["error-text"]},
}
"""The schemas of markers that are not plain strings."""


def build_schema(
    value: Any,
    profile: Profile,
    *,
    is_deployment: bool = False,
    id_without_example: Schema = STRING,
) -> Schema:
    """Build the schema of a body of a profile.

    In the body of a deployment, the markers of a project may be null.
    """
    return Schemas(profile, is_deployment, make_origin(profile), id_without_example).build([value])


def make_origin(profile: Profile) -> Schema:
    """Return the origin of an observed part: `{"x-origin": {"observed": "2026-01-05"}}`."""
    return {"x-origin": {"observed": profile.observed_at}}


@dataclass
class Schemas:
    """A builder of the schemas of the values in a body.

    openapi.py explains the keywords that begin with `x-`. `id_without_example` is the schema of ids
    of which the profile has no example.

    Only `room` members are described; a larger body is data.
    """

    profile: Profile
    is_deployment: bool
    origin: Schema
    id_without_example: Schema
    room: int = 10_000

    def build(self, values: list[Any]) -> Schema:
        """Build the schema that allows these values."""
        objects: list[dict[str, Any]] = []
        arrays: list[list[Any]] = []
        texts: set[str] = set()
        others: set[type] = set()
        for value in expand_choices(values):
            if isinstance(value, dict):
                objects.append(value)
            elif isinstance(value, list):
                arrays.append(value)
            elif isinstance(value, str):
                texts.add(value)
            else:
                others.add(type(value))
        found = [schema for each, schema in TYPES.items() if each in others]
        for text in sorted(texts):
            found += [schema for schema in self.build_text(text) if schema not in found]
        if NUMBER in found and INTEGER in found:
            found.remove(INTEGER)
        if objects:
            found.append(self.build_object(objects))
        if arrays:
            found.append(self.build_array(arrays))
        if len(found) > 1:
            return self.add_origin({"anyOf": [self.add_origin(each) for each in found]})
        # Generators cannot read a schema with only the type null.
        return self.add_origin({} if found == [NULL] else found[0])

    def build_text(self, text: str) -> list[Schema]:
        """Build the schemas of a text, with a second schema for null if it may be null."""
        marker = markers.parse_whole_marker(text)
        if marker is None:
            found = times.parse_time_format(text)
            return [STRING | describe_times(found) if found else STRING]
        record, _, _ = marker.name.partition(".")
        is_of_deployment = record == "project" and self.is_deployment
        if record in ("first", "last") or is_of_deployment:  # The project may not exist.
            return [self.build_marker(marker), NULL]
        return [self.build_marker(marker)]

    def add_origin(self, schema: Schema) -> Schema:
        return self.origin | schema

    def build_array(self, values: list[list[Any]]) -> Schema:
        items = [item for value in values for item in value]
        return {"type": "array", "items": self.build(items) if items else {}}

    def build_object(self, values: list[dict[str, Any]]) -> Schema:
        """Build the schema of objects that have the members of these objects."""
        self.room -= sum(map(len, values))
        if self.room < 0:
            return {"type": "object", "additionalProperties": True}
        members: dict[str, list[Any]] = defaultdict(list)
        for value in values:
            for name, each in value.items():
                members[name].append(each)
        properties = {}
        required = []
        for name, found in members.items():
            properties[name] = self.build(found)
            if len(found) == len(values) and not any(map(self.may_be_missing, found)):
                required.append(name)
        axes = ["members", "member-order"]
        if any("x-running" in each for each in properties.values()):
            axes.append("status-values")
        return {
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": True,
            "x-grease": axes,
        }

    def may_be_missing(self, value: Any) -> bool:
        """Return whether a choice leaves a member out for some statuses."""
        if not markers.is_choice(value):
            return False
        values = value[markers.CHOICE]
        has_all = "" in values or values.keys() >= set(self.profile.statuses)
        return not has_all or any(map(self.may_be_missing, values.values()))

    def build_marker(self, marker: markers.Marker) -> Schema:
        """Build the schema of the values of a marker."""
        name, spec = marker
        if name in markers.TIMES:
            return build_time_schema(spec)
        if spec and name == "error.status":
            return STRING
        if name == "deployment.status":
            return self.build_status()
        kind = "deployments" if name.startswith("deployment.") else "projects"
        if name in ("first.id", "last.id") or name in markers.IDS:
            return self.build_id(kind, spec)
        return STRING if spec and name == "count" else MARKER_SCHEMAS.get(name, STRING)

    def build_id(self, kind: str, spec: str) -> Schema:
        if spec not in ("", "text"):
            return STRING  # A second id does not vary by itself.
        if not spec and kind not in self.profile.ids and self.id_without_example != STRING:
            return self.id_without_example
        if self.profile.has_integers(kind):
            return STRING if spec else INTEGER
        if self.profile.has_opaque_ids(kind):
            own = {"x-grease": ["ids"], "x-part": kind}
            return STRING | own | describe_ids(self.profile, kind)
        return STRING

    def build_status(self) -> Schema:
        schema: Schema = STRING | describe_statuses(self.profile)
        if self.is_deployment:
            schema["x-origin"] = {"fixed": "§3"}
        return schema


def expand_choices(values: list[Any]) -> list[Any]:
    """Replace the choices among the values by their own values."""
    if not any(isinstance(value, dict) and markers.CHOICE in value for value in values):
        return values
    found = []
    for value in values:
        found += (
            expand_choices([*value[markers.CHOICE].values()])
            if markers.is_choice(value)
            else [value]
        )
    return found


def build_time_schema(spec: str) -> Schema:
    if spec in SECONDS:
        return INTEGER | SECONDS[spec]
    found = times.parse_time_format(spec) or times.TimeFormat()
    own: Schema = STRING
    if found.is_rfc3339:
        own = {"type": "string", "format": "date-time", "x-grease": ["times"]}
    return own | describe_times(found)


def describe_times(found: times.TimeFormat) -> Schema:
    example = datetime(2026, 1, 5, 9, tzinfo=UTC)
    return {"x-form": found.pattern, "examples": [found.format_time(example)]}


def describe_ids(profile: Profile, kind: str) -> Schema:
    """Return the pattern and the example of ids: those like `prj_4f9a2c` begin with `prj_`."""
    own = profile.ids.get(kind)
    pattern = own.pattern if isinstance(own, Opaque) else None
    if pattern is None:
        return {}
    return {"x-form": pattern, "examples": [profile.document["ids"][kind]]}


def describe_statuses(profile: Profile) -> Schema:
    """Return the known statuses of a profile for a schema. The set may grow."""
    known = ", ".join(f"`{status}`" for status in profile.statuses)
    return {
        "description": f"Known are {known}. The set may grow.",
        "examples": list(profile.statuses),
        "x-running": profile.running,
    }
