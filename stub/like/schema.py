"""The JSON schema of a body with markers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .markers import CHOICE, is_choice, plain, whole_marker
from .profile import Profile

Schema = dict[str, Any]

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
PROSE = {"type": "string", "x-grease": ["error-text"]}
# Of what a marker stands for, by the last part of its name; what is not here is a string.
OF_MARKERS: dict[str, Schema] = {
    "created_at": {"type": "string", "format": "date-time", "x-grease": ["times", "times-odd"]},
    "created_at:s": INTEGER,
    "created_at:ms": INTEGER,
    "count": INTEGER,
    "title": PROSE,
    "detail": PROSE,
    "status": INTEGER,  # of an error
}


def schema_of(value: Any, like: Profile, *, is_deployment: bool = False) -> Schema:
    """The schema of a body of a profile: in that of a deployment, its project may be missing."""
    return finished(Schemas(like, is_deployment).of(value))


def observed_by(like: Profile) -> Schema:
    """The origin in the schema of what was observed."""
    return {"x-origin": {"observed": like.observed_at}}


@dataclass(frozen=True)
class Schemas:
    """Makes the schemas of the values in a body.

    `x-origin` says that they were observed; `x-grease` says how a part may vary, and `x-part` whose
    ids a part has.
    """

    like: Profile
    is_deployment: bool

    def of(self, value: Any) -> Schema:
        if isinstance(value, list):
            return self.array(value)
        if is_choice(value):
            words = value[CHOICE]
            return merged([self.of(each) for each in words.values()])
        if isinstance(value, dict):
            return self.object(value)
        name = whole_marker(value)
        if name:
            return self.marker(name)
        return self.seen({"type": TYPES[type(value)]})

    def seen(self, schema: Schema) -> Schema:
        return schema | observed_by(self.like)

    def array(self, value: list[Any]) -> Schema:
        schema: Schema = {"type": "array"}
        if value:
            schema["items"] = merged([self.of(each) for each in value])
        return self.seen(schema)

    def object(self, value: dict[str, Any]) -> Schema:
        properties = {plain(name): self.of(each) for name, each in value.items()}
        axes = ["members", "member-order"]
        if any("x-running" in each for each in properties.values()):
            axes.append("status-values")
        schema = {
            "type": "object",
            "required": list(properties),
            "properties": properties,
            "additionalProperties": True,
            "x-grease": axes,
        }
        return self.seen(schema)

    def marker(self, name: str) -> Schema:
        """The schema of what a marker stands for."""
        record, _, member = name.rpartition(".")
        if name == "deployment.status":
            schema = self.status()
        elif member == "id":
            kind = "deployments" if record == "deployment" else "projects"
            schema = self.id(kind)
        else:
            schema = self.seen(OF_MARKERS.get(member, STRING))
        is_of_list = record in ("first", "last")
        is_of_deployment = record == "project" and self.is_deployment
        if is_of_list or is_of_deployment:  # there may be none
            return merged([schema, self.seen({"type": "null"})])
        return schema

    def id(self, kind: str) -> Schema:
        if self.like.has_integers(kind):
            return self.seen(INTEGER)
        schema = self.seen(STRING)
        if self.like.has_opaque_ids(kind):
            schema["x-grease"] = ["ids", "ids-encoded"]
            schema["x-part"] = kind
        return schema

    def status(self) -> Schema:
        texts: Schema = {"x-running": ["queued", "building"]}
        if self.like.words:
            texts = status_texts(self.like)
        schema = self.seen(STRING | texts)
        if self.is_deployment:
            schema["x-origin"] = {"fixed": "§3"}
        return schema


def status_texts(like: Profile) -> Schema:
    """The words of a profile in the schema of a status. The set may grow."""
    known = ", ".join(f"`{word}`" for word in like.words)
    return {
        "description": f"Known are {known}. The set may grow.",
        "examples": list(like.words),
        "x-running": like.running,
    }


def merged(schemas: Sequence[Schema]) -> Schema:
    """The schema of a value that has one of these."""
    by_type: dict[str, list[Schema]] = {}
    for schema in schemas:
        alternatives: list[Schema] = schema.get("anyOf", [schema])
        for each in alternatives:
            if "type" not in each and "$ref" not in each:  # it has any value
                return each
            alike = by_type.setdefault(each.get("type", "$ref"), [])
            if each not in alike:
                alike.append(each)
    if "object" in by_type:
        by_type["object"] = [merged_objects(by_type["object"])]
    if "array" in by_type:
        by_type["array"] = [merged_arrays(by_type["array"])]
    if "number" in by_type:
        by_type.pop("integer", None)
    distinct = [*chain.from_iterable(by_type.values())]
    if len(distinct) == 1:
        return distinct[0]
    origins = [each["x-origin"] for each in distinct if "x-origin" in each]
    return {"anyOf": distinct, "x-origin": origins[0]}


def merged_objects(schemas: list[Schema]) -> Schema:
    """An object that has the members of one of these."""
    found: dict[str, list[Schema]] = {}
    required = set(schemas[0]["required"])
    for schema in schemas:
        required.intersection_update(schema["required"])
        for name, each in schema["properties"].items():
            found.setdefault(name, []).append(each)
    axes = [schema["x-grease"] for schema in schemas]
    return {
        **schemas[0],
        "required": [name for name in found if name in required],
        "properties": {name: merged(each) for name, each in found.items()},
        "x-grease": max(axes, key=len),  # the others are a part of these
    }


def merged_arrays(schemas: list[Schema]) -> Schema:
    items = [schema["items"] for schema in schemas if "items" in schema]
    if not items:
        return schemas[0]
    return {**schemas[0], "items": merged(items)}


def finished(schema: Schema) -> Schema:
    """The schema as generators need it: without a type for null alone, and with items of arrays."""
    changed = dict(schema)
    type_ = schema.get("type")
    if type_ == "null":
        del changed["type"]
    if type_ == "array":
        changed["items"] = finished(schema.get("items", {}))
    if "properties" in schema:
        members = schema["properties"].items()
        changed["properties"] = {name: finished(each) for name, each in members}
    if "anyOf" in schema:
        alternatives = schema["anyOf"]
        changed["anyOf"] = [finished_alternative(each) for each in alternatives]
    return changed


def finished_alternative(schema: Schema) -> Schema:
    return schema if schema.get("type") == "null" else finished(schema)
