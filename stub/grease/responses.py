"""Varies a response of `/v1` along the contract's declaration of it."""

from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import unquote

from flask import Request, Response

from web.routing import CREATED, OPERATIONS

from ..contract import Operation
from ..documents import MARK, read
from ..ids import Ids
from ..rules import TIME, is_of_type, parse_time, spell_time
from ..worlds import World
from . import forms
from .axes import AXES, ID_AXES, Grease, Pair, Parts


def vary(
    response: Response, world: World, parts: Parts, operation: Operation | None, request: Request
) -> tuple[str, ...]:
    """Vary a response of `/v1`, and return the axes along which it varies: none for one that the
    contract does not declare, such as a forced 429.
    """
    if not request.environ["PATH_INFO"].startswith(OPERATIONS):
        return ()
    grease, status = world.grease.current, response.status_code
    part = f"{operation.id} {status}" if operation else str(status)
    declaration = parts.described.get(part)
    if declaration is None:
        return ()
    content = declaration["content"].get(str(response.mimetype).lower())
    if content is None:
        return ()
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
    """The variation of a response.

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
        body = self.value(read(response.get_data(as_text=True)), schema, part, key)
        if source := self.draws("json-text", part, key):
            space, escape_at = source.choice(forms.SPACES), source.getrandbits(32)
        if any(axis not in ID_AXES for axis, _ in self.applied):
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
            response.status_code = CREATED if response.status_code == 200 else 200

    def value(self, value: Any, schema: dict[str, Any], place: str, key: str) -> Any:
        """A value of this schema, varied. Its part is the name of the schema, or else its place."""
        contract = self.parts.contract
        part = contract.name(schema, place)
        schema = alternative(value, contract.resolve(schema))
        if isinstance(value, dict):
            return self.object(value, schema.get("properties", {}), part, key)
        if isinstance(value, list):
            return self.array(value, schema.get("items", {}), part, key)
        if isinstance(value, str):
            self.applied.update(self.ids.pairs_of(value))
            if schema.get("format") == "date-time":
                return self.time(value, part, key)
            if source := self.draws("error-text", part, key):
                return " ".join(forms.draw_words(source)).capitalize()
        return value

    def array(self, value: list[Any], items: dict[str, Any], part: str, key: str) -> list[Any]:
        varied = [self.value(each, items, f"{part}[]", key) for each in value]
        if len(varied) > 1 and (source := self.draws("list-order", part, key)):
            keys = [self.key_of(each, str(number)) for number, each in enumerate(value)]
            varied = forms.reorder(source, varied, keys)
        return varied

    def key_of(self, value: Any, otherwise: str) -> str:
        """The key of a record: that of its id, if it has one."""
        record_id = value.get("id") if isinstance(value, dict) else None
        if not isinstance(record_id, str):
            return otherwise
        return self.ids.key(record_id.removeprefix(MARK))  # of an id that is a number, too

    def object(
        self, value: dict[str, Any], known: dict[str, Any], part: str, key: str
    ) -> dict[str, Any]:
        key = self.key_of(value, key)
        varied = {
            name: self.value(each, known[name], f"{part}.{name}", key) if name in known else each
            for name, each in value.items()
        }
        for name, each in value.items():
            running = known.get(name, {}).get("x-running", ())
            if each in running and (source := self.draws("status-values", part, key)):
                varied[name] = forms.draw_word(source)
        if source := self.draws("members", part, key):
            for name in forms.draw_words(source):
                varied.setdefault(name, source.choice(forms.EXTRA_VALUES))
        if len(varied) > 1 and (source := self.draws("member-order", part, key)):
            varied = dict(forms.reorder(source, [*varied.items()], [*varied]))
        return varied

    def time(self, moment: str, part: str, key: str) -> str:
        """The moment as `times` spells it, or `times-odd` in place of its offset and letters.

        Neither spells it as it is.
        """
        match, at = TIME.fullmatch(moment), parse_time(moment)
        if match is None or at is None:
            return moment
        _, fraction, offset = match.groups(default="")
        digits, separator = len(fraction), moment[10]
        own = digits, offset
        if source := self.draws("times", part, key):
            possible = forms.DIGITS if at.microsecond == 0 else forms.DIGITS[1:]
            digits = source.choice([each for each in possible if each != own[0]])
            offset = source.choice([each for each in forms.OFFSETS if each != own[1]])
        if source := self.draws("times-odd", part, key):
            offset = source.choice([each for each in forms.ODD_OFFSETS if each != own[1]])
            separator = "t"
        if (digits, offset, separator) == (*own, moment[10]):
            return moment
        return spell_time(at, digits, offset, separator)


def alternative(value: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema itself, or the first one of its alternatives whose type a value has."""
    for each in schema.get("anyOf", ()):
        if is_of_type(value, each.get("type", "null")):
            return {**schema, **each}
    return schema
