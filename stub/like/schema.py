"""The JSON schema of a body with markers."""

import json
from collections.abc import Sequence
from typing import Any

from .markers import CHOICE, is_choice, plain, whole_marker
from .profile import Profile

Schema = dict[str, Any]

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
NULL: Schema = {"type": "null"}


class Schemas:
    """Makes the schemas of the bodies of a profile.

    `x-origin` says that they were observed; `x-grease` says how a part may vary, and `x-part` whose
    ids a part has.
    """

    def __init__(self, like: Profile) -> None:
        self.like = like
        self.seen = {"x-origin": {"observed": like.observed_at}}

    def of(self, value: Any, *, is_deployment: bool = False, item: Any = None) -> Schema:
        """The schema of a body: in that of a deployment, its project may be missing.

        `item` is the array of the projects in the body of a list, which has the schema `Project`.
        """
        return finished(self._of(value, is_deployment, item))

    def _of(self, value: Any, is_deployment: bool, item: Any = None) -> Schema:
        if isinstance(value, list):
            return self._array(value, is_deployment, item)
        if is_choice(value):
            words = value[CHOICE].values()
            return merged([self._of(each, is_deployment) for each in words])
        if isinstance(value, dict):
            return self._object(value, is_deployment, item)
        name = whole_marker(value)
        if name:
            return self._marker(name, is_deployment)
        return {"type": TYPES[type(value)], **self.seen}

    def _array(self, value: list[Any], is_deployment: bool, item: Any) -> Schema:
        schema: Schema = {"type": "array"}
        if value is item:
            schema["items"] = self._of(value[0], is_deployment)
            schema["x-grease"] = ["list-order"]
        elif value:
            schema["items"] = merged([self._of(each, is_deployment, item) for each in value])
        return {**schema, **self.seen}

    def _object(self, value: dict[str, Any], is_deployment: bool, item: Any) -> Schema:
        properties = {
            plain(name): self._of(each, is_deployment, item) for name, each in value.items()
        }
        axes = ["members", "member-order"]
        if any("x-running" in each for each in properties.values()):
            axes.append("status-values")
        return {
            "type": "object",
            "required": [*properties],
            "properties": properties,
            "additionalProperties": True,
            "x-grease": axes,
            **self.seen,
        }

    def _marker(self, name: str, is_deployment: bool) -> Schema:
        """The schema of what a marker stands for."""
        record, _, member = name.partition(".")
        if member == "id":
            kind = "deployments" if record == "deployment" else "projects"
            schema = self._id(kind)
        elif member.endswith((":s", ":ms")) or name in ("count", "error.status"):
            schema = {"type": "integer", **self.seen}
        elif member == "created_at":
            axes = {"x-grease": ["times", "times-odd"]}
            schema = {"type": "string", "format": "date-time", **axes, **self.seen}
        elif name in ("error.title", "error.detail"):
            schema = {"type": "string", "x-grease": ["error-text"], **self.seen}
        elif name == "deployment.status":
            schema = self._status(is_deployment)
        else:
            schema = {"type": "string", **self.seen}
        may_be_null = record in ("first", "last") or (record == "project" and is_deployment)
        return merged([schema, {**NULL, **self.seen}]) if may_be_null else schema

    def _id(self, kind: str) -> Schema:
        if self.like.has_integers(kind):
            return {"type": "integer", **self.seen}
        schema = {"type": "string", **self.seen}
        if self.like.has_opaque_ids(kind):
            schema |= {"x-grease": ["ids", "ids-encoded"], "x-part": kind}
        return schema

    def _status(self, is_deployment: bool) -> Schema:
        origin = {"x-origin": {"fixed": "§3"}} if is_deployment else self.seen
        if not self.like.words:
            return {"type": "string", "x-running": ["queued", "building"], **origin}
        return {"type": "string", **status_texts(self.like), **origin}


def status_texts(like: Profile) -> Schema:
    """What the schema of a status says of the words of a profile. The set may grow."""
    known = ", ".join(f"`{word}`" for word in like.words)
    return {
        "description": f"Known are {known}. The set may grow.",
        "examples": [*like.words],
        "x-running": like.running,
    }


def merged(schemas: Sequence[Schema]) -> Schema:
    """The schema of a value that has one of these."""
    alternatives: list[Schema] = [
        each for schema in schemas for each in schema.get("anyOf", [schema])
    ]
    distinct = [*{json.dumps(each, sort_keys=True): each for each in alternatives}.values()]
    for each in distinct:
        if not each.keys() & {"type", "$ref"}:  # it has any value
            return each
    for kind, merge in (("object", merged_objects), ("array", merged_arrays)):
        alike = [each for each in distinct if each.get("type") == kind]
        if len(alike) > 1:
            others = [each for each in distinct if each.get("type") != kind]
            distinct = [merge(alike), *others]
    if any(each.get("type") == "number" for each in distinct):
        distinct = [each for each in distinct if each.get("type") != "integer"]
    if len(distinct) == 1:
        return distinct[0]
    origins = [each["x-origin"] for each in distinct if "x-origin" in each]
    return {"anyOf": distinct, "x-origin": origins[0]}


def merged_objects(schemas: list[Schema]) -> Schema:
    """An object that has the members of one of these."""
    found: dict[str, list[Schema]] = {}
    for schema in schemas:
        for name, each in schema["properties"].items():
            found.setdefault(name, []).append(each)
    axes = [axis for schema in schemas for axis in schema["x-grease"]]
    required = set.intersection(*({*schema["required"]} for schema in schemas))
    return {
        **schemas[0],
        "required": [name for name in found if name in required],
        "properties": {name: merged(each) for name, each in found.items()},
        "x-grease": [*dict.fromkeys(axes)],
    }


def merged_arrays(schemas: list[Schema]) -> Schema:
    items = [schema["items"] for schema in schemas if "items" in schema]
    return {**schemas[0], "items": merged(items)} if items else schemas[0]


def finished(schema: Schema) -> Schema:
    """The schema for generators, which have no type for null alone, nor an array without items."""
    if schema.get("type") == "null":
        return {name: each for name, each in schema.items() if name != "type"}
    if schema.get("type") == "array":
        return {**schema, "items": finished(schema.get("items", {}))}
    if "properties" in schema:
        properties = {name: finished(each) for name, each in schema["properties"].items()}
        return {**schema, "properties": properties}
    if "anyOf" in schema:
        return {
            **schema,
            "anyOf": [
                each if each.get("type") == "null" else finished(each) for each in schema["anyOf"]
            ],
        }
    return schema
