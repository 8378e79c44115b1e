"""Varies a response of `/v1` by its declaration in the contract."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol
from urllib.parse import unquote

from flask import Request, Response

from profiles import openapi
from web import schemas
from web.routing import CREATED

from . import axes, json_text, variants
from .parts import Parts


class VariedIds(Protocol):
    """The ids of a world, as far as grease needs them."""

    def key(self, text: str) -> str:
        """Return the key of a created id, for example `#3`. Other texts are their own keys."""

    def find_varied_part(self, text: str) -> str | None:
        """Return the part of a varied id, for example `projects`. Return None for other texts."""


def vary(
    response: Response,
    grease: axes.Grease,
    ids: VariedIds,
    parts: Parts,
    operation: openapi.Operation | None,
    request: Request,
) -> tuple[str, ...]:
    """Vary a response, and return the axes that varied it: `("members", "times")`.

    A response that the contract does not declare stays, for example a forced 429. A response that
    is declared without a body, for example a 204, varies in its header fields and its status.
    """
    status = str(response.status_code)
    part = f"{operation.id} {status}" if operation else status
    declaration = parts.described.get(part)
    if declaration is None:
        return ()
    contents = declaration.get("content", {})
    content = contents.get(str(response.mimetype).lower())
    if contents and content is None:
        return ()
    variation = Variation(grease, ids, parts.contract, find_request_key(ids, request))
    variation.vary_response(response, content["schema"] if content else None, part)
    parts.varied.update(variation.applied)
    applied = {axis for axis, _ in variation.applied}
    return tuple(axis for axis in axes.AXES if axis in applied)


def find_request_key(ids: VariedIds, request: Request) -> str:
    """Return the method and the path, with keys in place of ids: `GET /v1/deployments/#2`."""
    method = "GET" if request.method == "HEAD" else request.method
    # Of an encoded path, `request.path` still has `%2F` and `%25`.
    keys = [ids.key(unquote(segment)) for segment in request.path.split("/")]
    path = "/".join(keys)
    return f"{method} {path}"


@dataclass(frozen=True)
class Variation:
    """The variation of a response. `applied` collects the axes and parts that vary.

    A part of a record varies by the key of the record, for example `#3`. Any other part varies by
    the key of the request.
    """

    grease: axes.Grease
    ids: VariedIds
    contract: openapi.Contract
    request_key: str
    applied: set[axes.AxisAndPart] = field(default_factory=set)

    def make_source(self, axis: str, part: str, key: str) -> Random | None:
        """Make the source of draws for a part. Return None if the part does not vary."""
        if not self.grease.varies(axis, part):
            return None
        self.applied.add((axis, part))
        return variants.make_source(self.grease.seed, axis, part, key)

    def vary_response(self, response: Response, schema: schemas.Schema | None, part: str) -> None:
        """Vary the body, if a schema declares it, the header fields and the status."""
        key = self.request_key
        headers = response.headers
        if schema is not None:
            self.vary_body(response, schema, part, key)
            if source := self.make_source("media-type", part, key):
                plain = headers["Content-Type"]
                headers["Content-Type"] = variants.draw_media_type(source, plain)
        if source := self.make_source("headers", part, key):
            for word in variants.draw_words(source):
                headers[f"X-{word.title()}"] = word
        if self.make_source("success-code", part, key):
            response.status_code = CREATED if response.status_code == 200 else 200

    def vary_body(self, response: Response, schema: schemas.Schema, part: str, key: str) -> None:
        """Vary the body. If only ids vary, it stays: the records have the varied ids."""
        body = json_text.read(response.get_data(as_text=True))
        varied = self.vary_value(body, schema, part, key)
        source = self.make_source("json-text", part, key)
        if any(axis != "ids" for axis, _ in self.applied):
            response.set_data(json_text.write(varied, source))

    def vary_value(self, value: Any, schema: schemas.Schema, place: str, key: str) -> Any:
        """Vary a value. Its part is the name of its schema, or else its place: `Project.name`."""
        part = self.contract.name(schema, place)
        schema = self.contract.resolve(schema)
        for each in schema.get("anyOf", ()):
            found = self.contract.resolve(each)
            if schemas.has_type(value, found.get("type", "null")):
                part = self.contract.name(each, part)
                schema = {**schema, **found}
                break
        if isinstance(value, dict):
            return self.vary_object(value, schema, part, key)
        if isinstance(value, list):
            return self.vary_array(value, schema, part, key)
        if isinstance(value, str):
            return self.vary_text(value, schema, part, key)
        return value

    def vary_text(self, value: str, schema: schemas.Schema, part: str, key: str) -> str:
        varied_part = self.ids.find_varied_part(value)
        if varied_part:
            self.applied.add(("ids", varied_part))
        if schema.get("format") == "date-time":
            source = self.make_source("times", part, key)
            return variants.draw_time(value, source) if source else value
        if source := self.make_source("error-text", part, key):
            words = variants.draw_words(source)
            return " ".join(words).capitalize()
        return value

    def vary_array(
        self, value: list[Any], schema: schemas.Schema, part: str, key: str
    ) -> list[Any]:
        items = schema.get("items", {})
        varied = [self.vary_value(each, items, f"{part}[]", key) for each in value]
        if len(varied) < 2:
            return varied
        source = self.make_source("list-order", part, key)
        if source is None:
            return varied
        keys = [self.find_key(each, str(number)) for number, each in enumerate(value)]
        ordered = variants.reorder(source, zip(keys, varied, strict=True))
        return [each for _, each in ordered]

    def find_key(self, value: Any, default: str) -> str:
        """Return the key of a record by its `id`. Return the default for other values."""
        record_id = value.get("id") if isinstance(value, dict) else None
        if not isinstance(record_id, str):
            return default
        return self.ids.key(record_id.removeprefix(json_text.MARK))  # An id may be a number.

    def vary_object(
        self, value: dict[str, Any], schema: schemas.Schema, part: str, key: str
    ) -> dict[str, Any]:
        known = schema.get("properties", {})
        key = self.find_key(value, key)
        varied = {}
        for name, plain in value.items():
            varied[name] = self.vary_member(name, plain, known.get(name), part, key)
        if source := self.make_source("members", part, key):
            variants.add_members(source, varied)
        if len(varied) < 2:
            return varied
        source = self.make_source("member-order", part, key)
        if source is None:
            return varied
        return dict(variants.reorder(source, varied.items()))

    def vary_member(
        self, name: str, value: Any, schema: schemas.Schema | None, part: str, key: str
    ) -> Any:
        """Vary a member. Without a schema it stays."""
        if schema is None:
            return value
        if value in schema.get("x-running", ()):
            source = self.make_source("status-values", part, key)
            if source:
                return variants.draw_word(source)
        return self.vary_value(value, schema, f"{part}.{name}", key)
