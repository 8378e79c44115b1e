"""The JSON schema of a body with markers."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .ids import Opaque
from .markers import CHOICE, IDS, TIMES, Marker, is_choice, parse_whole_marker
from .profile import Profile
from .times import OURS, TimeForm, parse_time_form

Schema = dict[str, Any]

MAX_MEMBERS = 10_000  # of a body, which are described: more are data
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
EXAMPLE = datetime(2026, 1, 5, 9, tzinfo=UTC)
SECONDS = {
    "s": {"x-form": r"\d{9,10}", "examples": [1767603600]},
    "ms": {"x-form": r"\d{12,13}", "examples": [1767603600000]},
}
"""Of a time since 1970, from 1973 to 2286."""
PROSE = {"type": "string", "x-grease": ["error-text"]}
TIME = {"type": "string", "format": "date-time", "x-grease": ["times"]}
OF_MARKERS: dict[str, Schema] = {
    "count": INTEGER,
    "error.status": INTEGER,
    "error.title": PROSE,
    "error.detail": PROSE,
}
"""Of what a marker stands for; what is not here is a string."""


def build_schema(value: Any, like: Profile, *, is_deployment: bool = False) -> Schema:
    """The schema of a body of a profile: in that of a deployment, its project may be missing."""
    return Schemas(like, is_deployment, make_origin(like)).build([value])


def make_origin(like: Profile) -> Schema:
    """The origin in the schema of what was observed."""
    return {"x-origin": {"observed": like.observed_at}}


@dataclass
class Schemas:
    """Makes the schemas of the values in a body.

    `x-origin` says that they were observed; `x-grease` says how a part may vary, and `x-part` whose
    ids a part has. `x-form` is a pattern of the values there, which generators do not read.
    """

    like: Profile
    is_deployment: bool
    origin: Schema
    room: int = MAX_MEMBERS

    def build(self, values: list[Any]) -> Schema:
        """The schema of a value that is one of these."""
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
        # Generators cannot read a type for null alone.
        return self.add_origin({} if found == [NULL] else found[0])

    def build_text(self, text: str) -> list[Schema]:
        """The schemas of what a text stands for."""
        marker = parse_whole_marker(text)
        if marker is None:
            form = parse_time_form(text)
            return [STRING | describe_times(form) if form else STRING]
        record, _, _ = marker.name.partition(".")
        is_of_deployment = record == "project" and self.is_deployment
        if record in ("first", "last") or is_of_deployment:  # there may be none
            return [self.build_marker(marker), NULL]
        return [self.build_marker(marker)]

    def add_origin(self, schema: Schema) -> Schema:
        return self.origin | schema

    def build_array(self, values: list[list[Any]]) -> Schema:
        items = [item for value in values for item in value]
        return {"type": "array", "items": self.build(items) if items else {}}

    def build_object(self, values: list[dict[str, Any]]) -> Schema:
        """An object that has the members of one of these."""
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
        """Whether a member with this value is left out with some statuses."""
        if not is_choice(value):
            return False
        words = value[CHOICE]
        has_all = "" in words or words.keys() >= set(self.like.words)
        return not has_all or any(map(self.may_be_missing, words.values()))

    def build_marker(self, marker: Marker) -> Schema:
        """The schema of what a marker stands for."""
        name, form = marker
        if name in TIMES:
            return build_time_schema(form)
        if form and name == "error.status":
            return STRING
        if name == "deployment.status":
            return self.build_status()
        kind = "deployments" if name.startswith("deployment.") else "projects"
        if name in ("first.id", "last.id") or name in IDS:
            return self.build_id(kind, form)
        return STRING if form and name == "count" else OF_MARKERS.get(name, STRING)

    def build_id(self, kind: str, form: str) -> Schema:
        if form not in ("", "text"):
            return STRING  # a second id, which does not vary by itself
        if self.like.has_integers(kind):
            return STRING if form else INTEGER
        if self.like.has_opaque_ids(kind):
            own = {"x-grease": ["ids"], "x-part": kind}
            return STRING | own | describe_ids(self.like, kind)
        return STRING

    def build_status(self) -> Schema:
        schema: Schema = STRING | describe_statuses(self.like)
        if self.is_deployment:
            schema["x-origin"] = {"fixed": "§3"}
        return schema


def expand_choices(values: list[Any]) -> list[Any]:
    """The values, with those of the choices among them in their place."""
    if not any(isinstance(value, dict) and CHOICE in value for value in values):
        return values
    found = []
    for value in values:
        found += expand_choices([*value[CHOICE].values()]) if is_choice(value) else [value]
    return found


def build_time_schema(form: str) -> Schema:
    if form in SECONDS:
        return INTEGER | SECONDS[form]
    found = parse_time_form(form) or OURS
    own: Schema = TIME if found.is_of_rfc3339 else STRING
    return own | describe_times(found)


def describe_times(form: TimeForm) -> Schema:
    return {"x-form": form.pattern, "examples": [form.spell(EXAMPLE)]}


def describe_ids(like: Profile, kind: str) -> Schema:
    """What an example of an id says of the others: `prj_…` begins with `prj_`."""
    form = like.ids.get(kind)
    pattern = form.pattern if isinstance(form, Opaque) else None
    if pattern is None:
        return {}
    return {"x-form": pattern, "examples": [like.document["ids"][kind]]}


def describe_statuses(like: Profile) -> Schema:
    """The words of a profile in the schema of a status. The set may grow."""
    known = ", ".join(f"`{word}`" for word in like.words)
    return {
        "description": f"Known are {known}. The set may grow.",
        "examples": list(like.words),
        "x-running": like.running,
    }
