"""Varies a response of `/v1` along the contract's declaration of it."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol
from urllib.parse import unquote

from flask import Request, Response

from profiles.openapi import Contract, Operation
from web.routing import CREATED
from web.schemas import has_type

from .axes import AXES, Grease, Pair, Parts
from .numbers import MARK, read
from .variants import (
    add_members,
    draw_media_type,
    draw_time,
    draw_word,
    draw_words,
    make_source,
    reorder,
    write,
)

Schema = dict[str, Any]


class VariedIds(Protocol):
    """What is needed of the ids of a world."""

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""

    def find_varied_part(self, text: str) -> str | None:
        """The part of an id that grease varied, such as `projects`; None for any other text."""


def vary(
    response: Response,
    grease: Grease,
    ids: VariedIds,
    parts: Parts,
    operation: Operation | None,
    request: Request,
) -> tuple[str, ...]:
    """Vary a response of `/v1`, and return the axes along which it varies.

    A response that the contract does not declare, such as a forced 429, does not vary; of one that
    is declared without a body, such as a 204, the header fields and the status do.
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
    variation = Variation(grease, ids, parts.contract, request_key(ids, request))
    variation.vary(response, content["schema"] if content else None, part)
    parts.varied.update(variation.applied)
    return variation.axes()


def request_key(ids: VariedIds, request: Request) -> str:
    """The method and the decoded path, with the keys of resources in place of their ids."""
    method = "GET" if request.method == "HEAD" else request.method
    # Of an encoded path, request.path has `%2F` and `%25`; of another one, no percent sign.
    keys = [ids.key(unquote(segment)) for segment in request.path.split("/")]
    path = "/".join(keys)
    return f"{method} {path}"


@dataclass(frozen=True)
class Variation:
    """The variation of a response.

    A `key` is that of a resource, or else that of the request.
    """

    grease: Grease
    ids: VariedIds
    contract: Contract
    request_key: str
    applied: set[Pair] = field(default_factory=set)

    def source(self, axis: str, part: str, key: str) -> Random | None:
        """The draws of an axis for a part, which varies then; None if the part does not vary."""
        if not self.grease.varies(axis, part):
            return None
        self.applied.add((axis, part))
        return make_source(self.grease.seed, axis, part, key)

    def axes(self) -> tuple[str, ...]:
        applied = {axis for axis, _ in self.applied}
        return tuple(axis for axis in AXES if axis in applied)

    def vary(self, response: Response, schema: Schema | None, part: str) -> None:
        """Vary the body, if a schema declares one, the header fields and the status."""
        key = self.request_key
        headers = response.headers
        if schema is not None:
            self.vary_body(response, schema, part, key)
            if source := self.source("media-type", part, key):
                plain = headers["Content-Type"]
                headers["Content-Type"] = draw_media_type(source, plain)
        if source := self.source("headers", part, key):
            for word in draw_words(source):
                headers[f"X-{word.title()}"] = word
        if self.source("success-code", part, key):
            response.status_code = CREATED if response.status_code == 200 else 200

    def vary_body(self, response: Response, schema: Schema, part: str, key: str) -> None:
        """Vary the body. It stays if nothing varies but its ids, which the records have already."""
        body = read(response.get_data(as_text=True))
        varied = self.value(body, schema, part, key)
        source = self.source("json-text", part, key)
        if any(axis != "ids" for axis, _ in self.applied):
            response.set_data(write(varied, source))

    def value(self, value: Any, schema: Schema, place: str, key: str) -> Any:
        """A value of this schema, varied. Its part is the name of the schema, or else its place."""
        part = self.contract.name(schema, place)
        schema = self.contract.resolve(schema)
        for each in schema.get("anyOf", ()):
            found = self.contract.resolve(each)
            if has_type(value, found.get("type", "null")):
                part = self.contract.name(each, part)
                schema = {**schema, **found}
                break
        if isinstance(value, dict):
            return self.object(value, schema, part, key)
        if isinstance(value, list):
            return self.array(value, schema, part, key)
        if isinstance(value, str):
            return self.text(value, schema, part, key)
        return value

    def text(self, value: str, schema: Schema, part: str, key: str) -> str:
        varied_part = self.ids.find_varied_part(value)
        if varied_part:
            self.applied.add(("ids", varied_part))
        if schema.get("format") == "date-time":
            source = self.source("times", part, key)
            return draw_time(value, source) if source else value
        if source := self.source("error-text", part, key):
            words = draw_words(source)
            return " ".join(words).capitalize()
        return value

    def array(self, value: list[Any], schema: Schema, part: str, key: str) -> list[Any]:
        items = schema.get("items", {})
        varied = [self.value(each, items, f"{part}[]", key) for each in value]
        if len(varied) < 2:
            return varied
        source = self.source("list-order", part, key)
        if source is None:
            return varied
        keys = [self.key_of(each, str(number)) for number, each in enumerate(value)]
        ordered = reorder(source, zip(keys, varied, strict=True))
        return [each for _, each in ordered]

    def key_of(self, value: Any, otherwise: str) -> str:
        """The key of a record: that of its id, if it has one."""
        record_id = value.get("id") if isinstance(value, dict) else None
        if not isinstance(record_id, str):
            return otherwise
        return self.ids.key(record_id.removeprefix(MARK))  # of an id that is a number, too

    def object(self, value: dict[str, Any], schema: Schema, part: str, key: str) -> dict[str, Any]:
        known = schema.get("properties", {})
        key = self.key_of(value, key)
        varied = {}
        for name, plain in value.items():
            varied[name] = self.member(name, plain, known.get(name), part, key)
        if source := self.source("members", part, key):
            add_members(source, varied)
        if len(varied) < 2:
            return varied
        source = self.source("member-order", part, key)
        if source is None:
            return varied
        return dict(reorder(source, varied.items()))

    def member(self, name: str, value: Any, schema: Schema | None, part: str, key: str) -> Any:
        """The value of a member of this part, varied; without a schema it stays."""
        if schema is None:
            return value
        if value in schema.get("x-running", ()):
            source = self.source("status-values", part, key)
            if source:
                return draw_word(source)
        return self.value(value, schema, f"{part}.{name}", key)
