"""Varies a response of `/v1` along the contract's declaration of it."""

from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import unquote

from flask import Request, Response

from web.routing import OPERATIONS

from ..contract import Operation
from ..profile import NEWEST
from ..rules import TYPES
from ..worlds import Ids, World
from . import forms
from .axes import AXES, ID_AXES, Grease, Pair, Parts


def vary(
    response: Response, world: World, parts: Parts, operation: Operation | None, request: Request
) -> tuple[str, ...]:
    """Vary a response of `/v1`, and return the axes along which it varies.

    One that the contract does not declare, such as a forced 429, has the forms of a profile alone.
    """
    if not request.environ["PATH_INFO"].startswith(OPERATIONS):
        return ()
    grease, status = world.grease.current, response.status_code
    response.headers["Content-Type"] = parts.forms[
        "/media_types/json" if status < 400 else "/media_types/problem"
    ]
    for name in parts.forms["/headers"]:
        response.headers.setdefault(name, "1")  # a valid text and number
    part = f"{operation.id} {status}" if operation else str(status)
    declaration = parts.described.get(part)
    if declaration is None:
        return ()
    (content,) = declaration["content"].values()
    variation = Variation(grease, world.ids, parts, request_key(world.ids, request))
    variation.vary(response, content["schema"], part)
    parts.varied.update(variation.applied)
    applied = tuple(axis for axis in AXES if axis in dict(variation.applied))
    if applied and parts.are_announced:
        response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(applied)}"
    return applied


def request_key(ids: Ids, request: Request) -> str:
    """The method and the decoded path, with the keys of resources in place of their ids."""
    method = "GET" if request.method == "HEAD" else request.method
    # Of an encoded path, request.path has `%2F` and `%25`; of another one, no percent sign.
    return f"{method} {'/'.join(ids.key(unquote(each)) for each in request.path.split('/'))}"


@dataclass(frozen=True)
class Variation:
    """The variation of a response, whose body first takes the forms of a profile.

    A `key` is that of a resource, or else that of the request.
    """

    grease: Grease
    ids: Ids
    parts: Parts
    request_key: str
    applied: set[Pair] = field(default_factory=set)

    def draws(self, axis: str, part: str, key: str) -> Random | None:
        """The draws of an axis for a part, which varies then; None if the part does not vary."""
        if not self.grease.varies(axis, part):
            return None
        self.applied.add((axis, part))
        return forms.draws(self.grease.seed, axis, part, key)

    def vary(self, response: Response, schema: dict[str, Any], part: str) -> None:
        """Vary the body, the header fields and the status.

        A body of which nothing varies but ids, which are made so, stays.
        """
        key, space, escape_at = self.request_key, "", None
        body = self.value(forms.read(response.get_data(as_text=True)), schema, part, key)
        if source := self.draws("json-text", part, key):
            space, escape_at = source.choice(forms.SPACES), source.getrandbits(32)
        if self.parts.like or any(axis not in ID_AXES for axis, _ in self.applied):
            response.set_data(f"{space}{forms.write(body, space, escape_at)}\n")
        if source := self.draws("media-type", part, key):
            response.headers["Content-Type"] = forms.draw_media_type(
                source, response.headers["Content-Type"]
            )
        if source := self.draws("headers", part, key):
            response.headers.update(
                (f"X-{each.title()}", each) for each in forms.draw_words(source)
            )
        if self.draws("success-code", part, key):
            response.status_code = 201 if response.status_code == 200 else 200

    def value(self, value: Any, schema: dict[str, Any], place: str, key: str) -> Any:
        """A value of this schema, varied. Its part is the name of the schema, or else its place."""
        part, schema = self.parts.contract.name(schema, place), self.parts.contract.resolve(schema)
        if isinstance(value, dict):
            return self.object(value, schema["properties"], part, key)
        if isinstance(value, list):
            if part == "ProjectList.projects" and self.parts.forms["/list_order"] == NEWEST:
                value = value[::-1]
            items = [self.value(each, schema["items"], part, key) for each in value]
            if len(items) > 1 and (source := self.draws("list-order", part, key)):
                items = forms.reorder(source, items, [self.ids.key(each["id"]) for each in value])
            return items
        if isinstance(value, str):
            self.applied.update(self.ids.pairs_of(value))
            if schema.get("format") == "date-time":
                return self.time(value, part, key)
            if source := self.draws("error-text", part, key):
                return " ".join(forms.draw_words(source)).capitalize()
        return value

    def object(
        self, value: dict[str, Any], known: dict[str, Any], part: str, key: str
    ) -> dict[str, Any]:
        key = self.ids.key(value["id"]) if "id" in value else key
        members = self.parts.forms.get(f"/members/{part.lower()}", {})
        added = {name: TYPES[kind][0] for name, kind in members.get("added", {}).items()}
        twins = self.parts.renamed.get(part, {})
        names = {name: twin for name, twin in twins.items() if isinstance(added[twin], str)}
        varied = {
            shown: self.value(each, known[shown], f"{part}.{shown}", key)
            if shown in known and name not in added  # it is a client's, if it was sent
            else each
            for name, each in value.items()
            if (shown := names.get(name, name)) not in members.get("absent", ())
            and name not in twins.values()
        }
        is_running = value.get("status") in self.parts.contract.running
        if is_running and (source := self.draws("status-values", part, key)):
            varied["status"] = forms.draw_word(source)
        if source := self.draws("members", part, key):
            added |= {x: source.choice(forms.EXTRA_VALUES) for x in forms.draw_words(source)}
        varied = varied | added | varied  # a member that a client sent stays
        if len(varied) > 1 and (source := self.draws("member-order", part, key)):
            varied = dict(forms.reorder(source, [*varied.items()], [*varied]))
        return varied

    def time(self, moment: str, part: str, key: str) -> str:
        """The moment as `times` spells it, or `times-odd` in place of its offset and letters."""
        form = self.parts.forms["/times"]
        digits, offset, separator = form["digits"], form["offset"], "T"
        if form["case"] == "lower":
            offset, separator = offset.lower(), "t"
        if source := self.draws("times", part, key):
            possible = forms.DIGITS if moment.endswith(".000Z") else forms.DIGITS[1:]
            digits = source.choice([each for each in possible if each != digits])
            offset = source.choice([each for each in forms.OFFSETS if each != offset])
        if source := self.draws("times-odd", part, key):
            offset = source.choice([each for each in forms.ODD_OFFSETS if each != offset])
            separator = "t"
        return forms.respell(moment, digits, offset, separator)
