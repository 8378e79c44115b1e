"""Grease (after RFC 8701): vary, from a seed, what the contract marks as free, axis by axis.

Each variation is a function of the seed, the axis and a key. The key is that of the resource, or
else the method and the path of the request. Where a part of the contract names no axis in
`x-grease`, nothing of it varies.
"""

import json
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import product
from threading import Lock
from typing import Any, TypeVar
from zlib import crc32

from flask import Request, Response

from problems import FieldError
from store import quoted
from validation import is_integer, unknown_members

from .contract import Contract

TIER_1 = ("members", "member-order", "json-text", "headers", "ids", "times")
TIER_2 = ("list-order", "status-values", "success-code", "error-text", "media-type")
AXES = TIER_1 + TIER_2
BODY_AXES = frozenset(AXES) - {"headers", "ids", "success-code", "media-type"}
MAX_SEED = 2**63

# Tables that give a character for each byte.
LETTERS = (string.ascii_lowercase * 10)[:256].encode()
UNRESERVED = (f"{string.ascii_letters}{string.digits}-._~" * 4)[:256].encode()

# Offsets from UTC in minutes.
OFFSETS = {"z": 0, "+00:00": 0, "+01:00": 60, "-05:00": -300, "+05:30": 330, "+12:45": 765}
OFFSETS |= {"-03:30": -210, "+23:59": 1439, "-23:59": -1439}
TIME_FORMS = tuple(product(OFFSETS, "tT", ("", "0", "000", "000000")))

EXTRA_VALUES: tuple[Any, ...] = (None, True, -9, 10**12, 0.5, "extra", [], [1], {}, {"extra": 1})

Option = TypeVar("Option")


class RawNumber(str):
    """A number as the client wrote it."""

    __slots__ = ()


def digest(*key: str) -> bytes:
    return blake2b("\0".join(key).encode()).digest()


class Draws:
    """Draws from a digest: the same for a key in every process and version of Python."""

    __slots__ = ("_digest", "_pool")

    def __init__(self, *key: str) -> None:
        self._digest = digest(*key)
        self._pool = int.from_bytes(self._digest, "big")

    def below(self, limit: int) -> int:
        """An integer from 0, less than `limit`, which is at most 2**512."""
        if self._pool < limit:
            self._digest = blake2b(self._digest).digest()
            self._pool = int.from_bytes(self._digest, "big")
        self._pool, drawn = divmod(self._pool, limit)
        return drawn

    def choice(self, options: Sequence[Option]) -> Option:
        return options[self.below(len(options))]

    def text(self, table: bytes, length: int) -> str:
        """Up to 32 characters; the table gives one for each byte."""
        return self.below(256**length).to_bytes(length, "big").translate(table).decode()

    def word(self) -> str:
        """A word that no client knows, fit for a member, a header or a status."""
        return self.text(LETTERS, 6 + self.below(7))


@dataclass(frozen=True)
class Grease:
    """Which axes vary, and from what seed."""

    axes: tuple[str, ...]
    seed: int

    def new_id(self, key: str) -> str:
        """An id of another shape: up to 255 unreserved characters (RFC 3986 §2.3)."""
        draws = Draws(str(self.seed), "ids", key)
        length = draws.choice([16, 36, 64, 255])
        rest = "".join(draws.text(UNRESERVED, 32) for _ in range(8))
        return draws.text(LETTERS, 1) + rest[: length - 1]

    def document(self) -> dict[str, Any]:
        return {"axes": list(self.axes), "seed": self.seed}


class Greasing:
    """The grease of a world, which can be switched, and the ids that the world created.

    Created ids may be random. So each is numbered, also without grease, which may be switched on
    later, and the number is the key of the resource. Any other id is its own key. All worlds
    share the keys of the ids that they begin with.
    """

    def __init__(self, axes: tuple[str, ...], seed: int, initial: "Greasing | None" = None) -> None:
        self.current = Grease(axes, seed)
        self._initial = initial
        self._count: int = initial._count if initial else 0
        self._keys: dict[str, str] = {}  # by id
        self._greased_ids: set[str] = set()
        self._lock = Lock()

    def switch(self, axes: tuple[str, ...], seed: int | None) -> Grease:
        """Replace the axes and the seed in one step; without a seed, keep the current one."""
        with self._lock:
            self.current = Grease(axes, self.current.seed if seed is None else seed)
            return self.current

    def new_id(self, plain_id: Callable[[int], str]) -> str:
        """The id of a new resource: the plain one of its number, or a greased one."""
        with self._lock:
            self._count += 1
            created, key = plain_id(self._count), f"#{self._count}"
            if "ids" in self.current.axes:
                created = self.current.new_id(key)
                self._greased_ids.add(created)
            self._keys.setdefault(created, key)
            return created

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""
        key = self._keys.get(text)
        if key is None:
            key = self._initial.key(text) if self._initial else text
        return key

    def has_greased_ids(self) -> bool:
        return bool(self._greased_ids) or (
            self._initial is not None and self._initial.has_greased_ids()
        )

    def is_greased(self, text: str | None) -> bool:
        return text in self._greased_ids or (
            self._initial is not None and self._initial.is_greased(text)
        )


def parse_axes(text: str) -> tuple[str, ...]:
    """The axes that `--grease` names: `tier1`, `all`, or a list; `ValueError` for others."""
    if text in ("tier1", "all"):
        return TIER_1 if text == "tier1" else AXES
    requested = [axis.strip() for axis in text.split(",")]
    if unknown := [axis for axis in requested if axis not in AXES]:
        raise ValueError(f"{unknown[0]!r} is no axis: they are {', '.join(AXES)}, or tier1 or all")
    return in_order(requested)


def in_order(requested: Iterable[str]) -> tuple[str, ...]:
    """Each axis once, in the order of `AXES`."""
    chosen = set(requested)
    return tuple(axis for axis in AXES if axis in chosen)


def check_grease(document: dict[str, Any]) -> Iterator[FieldError]:
    """The errors of a switch."""
    yield from unknown_members(document, ("axes", "seed"))
    axes = document.get("axes")
    if not isinstance(axes, list) or not all(axis in AXES for axis in axes):
        yield FieldError("/axes", f"must be an array of {', '.join(AXES)}")
    if not is_integer(document.get("seed", 0), 0, MAX_SEED):
        yield FieldError("/seed", f"must be an integer from 0 to {MAX_SEED}")


def vary(
    greasing: Greasing, response: Response, contract: Contract, request: Request
) -> tuple[str, ...]:
    """Vary a response of `/v1`, and return the axes along which it varies."""
    grease = greasing.current
    if not grease.axes or not request.environ["PATH_INFO"].startswith("/v1/"):
        return ()
    operation = contract.operation(request)
    part = contract.response(operation, response.status_code)
    if part is None:
        return ()
    method = "GET" if request.method == "HEAD" else request.method
    path = "/".join(map(greasing.key, request.path.split("/")))
    varied = Varied(grease, greasing, contract, (method, path))
    ((media_type, content),) = part["content"].items()
    declared = part["x-grease"]
    varied.body(response, content["schema"], declared)
    if varied.apply("media-type", declared):
        response.headers["Content-Type"] = varied.media_type(media_type)
    if varied.apply("headers", declared):
        draws = varied.draws("headers")
        for _ in range(draws.below(3) + 1):
            response.headers[f"X-{draws.word().title()}"] = draws.word()
    if response.status_code == 201:
        other = contract.response(operation, 200) or {}
        if varied.apply("success-code", other.get("x-grease", ())):
            response.status_code = 200
    applied = in_order(varied.applied)
    if applied:
        response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(applied)}"
    return applied


class Varied:
    """A response that is varied along the contract's schema of its body."""

    def __init__(
        self, grease: Grease, greasing: Greasing, contract: Contract, request: tuple[str, str]
    ) -> None:
        self.axes = frozenset(grease.axes)
        self.seed = str(grease.seed)
        self.greasing = greasing
        self.contract = contract
        self.request = request
        self.applied: set[str] = set()

    def varies(self, axis: str, declared: Iterable[str]) -> bool:
        """Whether the axis varies a part that declares these axes."""
        return axis in self.axes and axis in declared

    def apply(self, axis: str, declared: Iterable[str]) -> bool:
        """Whether the axis varies such a part; then it is applied."""
        if self.varies(axis, declared):
            self.applied.add(axis)
            return True
        return False

    def draws(self, axis: str, *key: str) -> Draws:
        """The draws of an axis for a resource, or for the request."""
        return Draws(self.seed, axis, *(key or self.request))

    def body(self, response: Response, schema: dict[str, Any], declared: Iterable[str]) -> None:
        """Vary the body. It is read only if a part of it may vary or be a greased id."""
        axes = BODY_AXES & self.axes & self.axes_within(schema).union(declared)
        if not axes and not self.greasing.has_greased_ids():
            return
        # The wire form is varied, as it is a client's view: numbers and their order as they came.
        body = json.loads(response.get_data(), parse_int=RawNumber, parse_float=RawNumber)
        body = self.value(body, schema, self.request)
        if self.apply("json-text", declared):
            response.set_data(self.text(body) + "\n")
        elif not BODY_AXES.isdisjoint(self.applied):
            response.set_data(write(body) + "\n")

    def axes_within(self, schema: dict[str, Any]) -> set[str]:
        """The axes that a schema and its parts declare."""
        schema = self.contract.resolve(schema)
        parts = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
        return set(schema.get("x-grease", ())).union(*map(self.axes_within, parts))

    def value(self, value: Any, schema: dict[str, Any], key: tuple[str, ...]) -> Any:
        """A value that the contract describes, of the resource or the request `key`."""
        schema = self.contract.resolve(schema)
        declared = schema.get("x-grease", ())
        if isinstance(value, dict):
            return self.object(value, schema["properties"], declared, key)
        if isinstance(value, list):
            if self.varies("list-order", declared):
                value = self.reorder("list-order", value, self.rank)
            items = self.contract.resolve(schema["items"])
            return [self.value(each, items, key) for each in value]
        if not declared:
            return value
        if self.apply("times", declared):
            return respell(value, self.draws("times", *key))
        if self.apply("error-text", declared):
            draws = self.draws("error-text", *key, value)
            return f"{draws.word()} {draws.word()}".capitalize()
        return value

    def object(
        self,
        value: dict[str, Any],
        known: dict[str, Any],
        declared: Iterable[str],
        key: tuple[str, ...],
    ) -> dict[str, Any]:
        if "id" in known:
            key = (self.greasing.key(value["id"]),)
        if self.greasing.has_greased_ids() and "ids" not in self.applied:
            ids = [name for name, part in known.items() if "ids" in part.get("x-grease", ())]
            shown = [value.get(name) for name in ids]
            if any(map(self.greasing.is_greased, shown)):
                self.applied.add("ids")
        is_running = value.get("status") in self.contract.running
        for name, schema in known.items():
            if name in value:
                value[name] = self.value(value[name], schema, key)
        if is_running and self.apply("status-values", declared):
            value["status"] = self.draws("status-values", *key).word()
        if self.apply("members", declared):
            draws = self.draws("members", *key, *known)
            for _ in range(draws.below(3) + 1):
                name, extra = draws.word(), draws.choice(EXTRA_VALUES)
                if name not in known:
                    value.setdefault(name, extra)
        if self.varies("member-order", declared):
            salt = crc32(digest(self.seed, "member-order", *key))
            names = self.reorder("member-order", [*value], lambda name: crc32(name.encode(), salt))
            value = {name: value[name] for name in names}
        return value

    def reorder(self, axis: str, items: list[Any], rank: Callable[[Any], Any]) -> list[Any]:
        """The items by rank, so that the order of two does not depend on the others."""
        ordered = sorted(items, key=rank)
        if ordered != items:
            self.applied.add(axis)
        return ordered

    def rank(self, record: dict[str, Any]) -> bytes:
        """The place of a record in a list."""
        return digest(self.seed, "list-order", self.greasing.key(record["id"]))

    def text(self, value: Any) -> str:
        """JSON of the same value with other whitespace and escapes (RFC 8259 §2, §7)."""
        draws = self.draws("json-text")
        space, salt = draws.choice([" ", "\n", "\t", "  ", "\r\n "]), draws.below(2**32)

        @cache
        def spell(text: str) -> str:
            plain = quoted(text)
            if not text or len(plain) > len(text) + 2:  # it has escapes already
                return plain
            at = crc32(self.greasing.key(text).encode(), salt) % len(text) + 1
            return f"{plain[:at]}\\u{ord(plain[at]):04x}{plain[at + 1 :]}"

        return space + write(value, spell, space)

    def media_type(self, media_type: str) -> str:
        """The same type in another case, with a parameter (RFC 9110 §8.3.1)."""
        draws = self.draws("media-type")
        spelled = "".join(draws.choice([char.upper(), char]) for char in media_type)
        return spelled + draws.choice([";charset=utf-8", '; charset="UTF-8"', "; v=1"])


def write(value: Any, spell: Callable[[str], str] = quoted, space: str = "") -> str:
    """JSON text, with each number as the client wrote it."""
    comma, colon = f"{space},{space or ' '}", f"{space}:{space or ' '}"

    def text(value: Any) -> str:
        if isinstance(value, str):
            return value if isinstance(value, RawNumber) else spell(value)
        if isinstance(value, dict):
            pairs = [f"{spell(name)}{colon}{text(each)}" for name, each in value.items()]
            return f"{{{space}{comma.join(pairs)}{space}}}"
        if isinstance(value, list):
            return f"[{space}{comma.join(map(text, value))}{space}]"
        return json.dumps(value)

    return text(value)


def respell(moment: str, draws: Draws) -> str:
    """Another spelling of the same millisecond (RFC 3339 §5.6): offset, case, trailing zeros."""
    offset, separator, zeros = draws.choice(TIME_FORMS)
    at = datetime.fromisoformat(moment.removesuffix("Z"))
    try:
        at += timedelta(minutes=OFFSETS[offset])
    except OverflowError:
        offset = "+00:00"
    return f"{at.isoformat(separator, 'milliseconds')}{zeros}{offset}"
