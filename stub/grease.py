"""Grease (after RFC 8701): vary, from a seed, what the contract marks as free, axis by axis.

Each variation is a function of the seed, the axis, and the id of the resource or the method and
path of the request, and of nothing else. Where a part of the contract names no axis in `x-grease`,
nothing of it varies.
"""

import json
import random
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import Request, Response

from problems import FieldError
from validation import is_integer, unknown_members

from .contract import Contract

TIER_1 = ("members", "member-order", "json-text", "headers", "ids", "times")
TIER_2 = ("list-order", "status-values", "success-code", "error-text", "media-type")
AXES = TIER_1 + TIER_2
BODY_AXES = frozenset(AXES) - {"headers", "ids", "success-code", "media-type"}
MAX_SEED = 2**63
UNRESERVED = string.ascii_letters + string.digits + "-._~"


class RawNumber(str):
    """A number as it was spelled."""

    __slots__ = ()


@dataclass(frozen=True)
class Grease:
    """Which axes vary, and from what seed."""

    axes: tuple[str, ...]
    seed: int

    def rng(self, axis: str, *key: str) -> random.Random:
        """The randomness of an axis for a resource or a request."""
        return random.Random(json.dumps([self.seed, axis, *key]))

    def new_id(self, given: str) -> str:
        """An id of another shape: up to 255 unreserved characters (RFC 3986 §2.3)."""
        if "ids" not in self.axes:
            return given
        rng = self.rng("ids", given)
        length = rng.choice([16, 36, 64, 255])
        return rng.choice(string.ascii_letters) + "".join(rng.choices(UNRESERVED, k=length - 1))


def parse_axes(text: str) -> tuple[str, ...]:
    """The axes that `--grease` names: `tier1`, `all`, or a list; `ValueError` for others."""
    if text in ("tier1", "all"):
        return TIER_1 if text == "tier1" else AXES
    asked = [axis.strip() for axis in text.split(",")]
    if unknown := [axis for axis in asked if axis not in AXES]:
        raise ValueError(f"{unknown[0]!r} is no axis: they are {', '.join(AXES)}, or tier1 or all")
    return in_order(asked)


def in_order(asked: Iterable[str]) -> tuple[str, ...]:
    """Each axis once, in the order in which they are always told."""
    chosen = set(asked)
    return tuple(axis for axis in AXES if axis in chosen)


class Greasing:
    """The grease of a world, which may be switched at any time; None is off."""

    def __init__(self, axes: tuple[str, ...], seed: int) -> None:
        self.switch(axes, seed)

    def switch(self, axes: tuple[str, ...], seed: int) -> None:
        self.seed = seed
        self.current = Grease(axes, seed) if axes else None

    def document(self) -> dict[str, Any]:
        return {"axes": list(self.current.axes) if self.current else [], "seed": self.seed}


def check_grease(document: dict[str, Any]) -> Iterator[FieldError]:
    """What is wrong with a switch that somebody asks for."""
    yield from unknown_members(document, ("axes", "seed"))
    axes = document.get("axes")
    if not isinstance(axes, list) or not all(axis in AXES for axis in axes):
        yield FieldError("/axes", f"must be an array of {', '.join(AXES)}")
    if not is_integer(document.get("seed", 0), 0, MAX_SEED):
        yield FieldError("/seed", f"must be an integer from 0 to {MAX_SEED}")


def vary(
    grease: Grease, response: Response, contract: Contract, request: Request
) -> tuple[str, ...]:
    """Vary an answer of `/v1`, and give the axes that were applied to it."""
    operation = contract.operation(request)
    answer = contract.response(operation, response.status_code)
    if answer is None or not request.environ["PATH_INFO"].startswith("/v1/"):
        return ()
    method = "GET" if request.method == "HEAD" else request.method
    varied = Varied(grease, contract, (method, request.path))
    ((media_type, content),) = answer["content"].items()
    declared = answer["x-grease"]
    if not BODY_AXES.isdisjoint(grease.axes):
        body = json.loads(response.get_data(), parse_int=RawNumber, parse_float=RawNumber)
        body = varied.value(body, content["schema"], varied.request)
        if varied.on("json-text", declared):
            response.set_data(varied.text(body) + "\n")
        elif varied.applied:
            response.set_data(write(body) + "\n")
    if varied.on("media-type", declared):
        response.headers["Content-Type"] = varied.media_type(media_type)
    if varied.on("headers", declared):
        rng = varied.rng("headers")
        for _ in range(rng.randint(1, 3)):
            response.headers[f"X-{word(rng).title()}"] = word(rng)
    if response.status_code == 201:
        other = contract.response(operation, 200) or {}
        if varied.on("success-code", other.get("x-grease", ())):
            response.status_code = 200
        varied.on("ids", contract.resolve(content["schema"])["properties"]["id"]["x-grease"])
    applied = in_order(varied.applied)
    if applied:
        response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(applied)}"
    return applied


class Varied:
    """One answer being varied, along the contract's schema of it."""

    def __init__(self, grease: Grease, contract: Contract, request: tuple[str, str]) -> None:
        self.grease = grease
        self.contract = contract
        self.request = request
        self.applied: set[str] = set()

    def on(self, axis: str, declared: Iterable[str]) -> bool:
        """Whether the axis varies a part that declares these; then it is noted."""
        if axis in self.grease.axes and axis in declared:
            self.applied.add(axis)
            return True
        return False

    def rng(self, axis: str, *key: str) -> random.Random:
        return self.grease.rng(axis, *(key or self.request))

    def value(self, value: Any, schema: dict[str, Any], key: tuple[str, ...]) -> Any:
        """A value that the contract describes, of the resource or the request `key`."""
        schema = self.contract.resolve(schema)
        declared = schema.get("x-grease", ())
        if isinstance(value, dict):
            return self.object(value, schema, declared, key)
        if isinstance(value, list):
            if self.on("list-order", declared):
                value = sorted(value, key=lambda each: self.rank("list-order", each["id"]))
            return [self.value(each, schema["items"], key) for each in value]
        if self.on("times", declared):
            return respell(value, self.rng("times", *key))
        if self.on("error-text", declared):
            rng = self.rng("error-text", *key, value)
            return f"{word(rng)} {word(rng)}".capitalize()
        return value

    def object(
        self,
        value: dict[str, Any],
        schema: dict[str, Any],
        declared: Iterable[str],
        key: tuple[str, ...],
    ) -> dict[str, Any]:
        known = schema["properties"]
        if "id" in known:
            key = (value["id"],)
        made = {
            name: self.value(each, known[name], key) if name in known else each
            for name, each in value.items()
        }
        running = value.get("status") in self.contract.running
        if running and self.on("status-values", declared):
            made["status"] = word(self.rng("status-values", *key))
        if self.on("members", declared):
            rng = self.rng("members", *key, *known)
            for _ in range(rng.randint(1, 3)):
                name, extra = word(rng), anything(rng)
                if name not in known:
                    made.setdefault(name, extra)
        if self.on("member-order", declared):
            ranked = sorted(made, key=lambda name: self.rank("member-order", *key, name))
            made = {name: made[name] for name in ranked}
        return made

    def rank(self, axis: str, *key: str) -> float:
        """Where something stands, whatever else there is."""
        return self.rng(axis, *key).random()

    def text(self, value: Any) -> str:
        """JSON of the same value with other whitespace and escapes (RFC 8259 §2, §7)."""
        space = self.rng("json-text").choice([" ", "\n", "\t", "  ", "\r\n "])

        def spell(text: str) -> str:
            at = self.rng("json-text", *self.request, text).randrange(len(text) or 1)
            if not text or ord(text[at]) > 0xFFFF:
                return json.dumps(text)
            head, tail = json.dumps(text[:at])[:-1], json.dumps(text[at + 1 :])[1:]
            return f"{head}\\u{ord(text[at]):04x}{tail}"

        return space + write(value, spell, space)

    def media_type(self, media_type: str) -> str:
        """The same type in another case, with a parameter (RFC 9110 §8.3.1)."""
        rng = self.rng("media-type")
        spelled = "".join(rng.choice([char.upper(), char]) for char in media_type)
        return spelled + rng.choice([";charset=utf-8", '; charset="UTF-8"', "; v=1"])


def write(value: Any, spell: Callable[[str], str] = json.dumps, space: str = "") -> str:
    """JSON text in which every number is spelled as it came."""
    if isinstance(value, RawNumber):
        return str(value)
    if isinstance(value, str):
        return spell(value)
    if isinstance(value, dict):
        pairs = [
            f"{spell(name)}{space}:{space or ' '}{write(each, spell, space)}"
            for name, each in value.items()
        ]
        return f"{{{space}{f'{space},{space or chr(32)}'.join(pairs)}{space}}}"
    if isinstance(value, list):
        items = [write(each, spell, space) for each in value]
        return f"[{space}{f'{space},{space or chr(32)}'.join(items)}{space}]"
    return json.dumps(value)


def word(rng: random.Random) -> str:
    """A word that nobody has seen, fit for a member, a header or a status."""
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(6, 12)))


def anything(rng: random.Random) -> Any:
    """A JSON value of some type."""
    values = [None, True, rng.randint(-9, 10**12), rng.random(), word(rng), [], [word(rng), 1]]
    return rng.choice([*values, {}, {word(rng): word(rng)}])


def respell(moment: str, rng: random.Random) -> str:
    """Another spelling of the same millisecond (RFC 3339 §5.6): offset, case, trailing zeros."""
    at = datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%fZ")
    minutes = rng.choice([0, 60, -300, 330, 765, -210, 1439, -1439])
    try:
        local = at + timedelta(minutes=minutes)
    except OverflowError:
        minutes, local = 0, at
    sign = "-" if minutes < 0 else "+"
    offset = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    if minutes == 0:
        offset = rng.choice(["z", "+00:00"])
    date, time = local.isoformat(timespec="milliseconds").split("T")
    return f"{date}{rng.choice('tT')}{time}{rng.choice(['', '0', '000', '000000'])}{offset}"
