"""Grease (after RFC 8701): vary, from a seed, what the contract marks as free, axis by axis.

Each variation is a function of the seed, the axis and a key. The key is that of the resource, or
else the method and the path of the request. Where a part of the contract names no axis in
`x-grease`, nothing of it varies. A varied response is still valid against the contract, but for
the status of `success-code`.
"""

import json
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import product
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit
from zlib import crc32

from flask import Request, Response

from problems import FieldError
from store import quoted
from validation import is_integer, unknown_members

from .contract import Contract

TIER_1 = ("members", "member-order", "json-text", "headers", "ids", "times")
TIER_2 = (
    "list-order",
    "status-values",
    "success-code",
    "error-text",
    "media-type",
    "times-odd",
    "ids-encoded",
)
AXES = TIER_1 + TIER_2
TIME_AXES = frozenset({"times", "times-odd"})
ID_AXES = frozenset({"ids", "ids-encoded"})
BODY_AXES = frozenset(AXES) - ID_AXES - {"headers", "success-code", "media-type"}
MAX_SEED = 2**63

# Tables that give a character for each byte.
LETTERS = (string.ascii_lowercase * 10)[:256].encode()
UNRESERVED = (f"{string.ascii_letters}{string.digits}-._~" * 4)[:256].encode()

# Offsets from UTC in minutes. Every parser takes those of `times`. The grammar allows those of
# `times-odd` as well (RFC 3339 §5.6), but Go, Java, Python 3.11 and zod reject some of them.
OFFSETS = {"Z": 0, "+00:00": 0, "+01:00": 60, "-05:00": -300, "+05:30": 330, "-03:30": -210}
OFFSETS |= {"+12:45": 765, "+14:00": 840, "-14:00": -840}
ODD_OFFSETS = {"z": 0, "+23:59": 1439, "-23:59": -1439, "+14:01": 841, "-18:30": -1110}
MINUTES = OFFSETS | ODD_OFFSETS
ODD_FORMS = (*product(ODD_OFFSETS, "tT"), *product(OFFSETS, "t"))
MAX_DIGITS = 9  # of the fraction of a second

# What of a path segment must be percent-encoded (RFC 3986 §2.1): one of each kind.
ENCODED = (("/",), ("%", "%41", "%2F"), (" ",), ("\u00e9", "\u00df", "\u6f22", "\U0001f600"))
MAX_ID = 255

EXTRA_VALUES: tuple[Any, ...] = (None, True, -9, 10**12, 0.5, "extra", [], [1], {}, {"extra": 1})

Option = TypeVar("Option")


class RawText(str):
    """JSON text that is written as it is: a number of the client's, or a time."""

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


class Grease(NamedTuple):
    """Which axes vary, and from what seed."""

    axes: tuple[str, ...]
    seed: int

    def new_id(self, key: str, plain: str) -> str:
        """The id of a new resource, whose id would be `plain` without grease."""
        new = self._other_shape(key) if "ids" in self.axes else plain
        return self._to_encode(key, new) if "ids-encoded" in self.axes else new

    def _other_shape(self, key: str) -> str:
        """An id of up to 255 unreserved characters (RFC 3986 §2.3)."""
        draws = Draws(str(self.seed), "ids", key)
        length = draws.choice([16, 36, 64, MAX_ID])
        rest = "".join(draws.text(UNRESERVED, 32) for _ in range(8))
        return draws.text(LETTERS, 1) + rest[: length - 1]

    def _to_encode(self, key: str, new: str) -> str:
        """The id with characters inside that a client must encode in a path, in any order."""
        draws = Draws(str(self.seed), "ids-encoded", key)
        pieces = [draws.choice(kind) for kind in ENCODED]
        new = new[: MAX_ID - len("".join(pieces))]
        while pieces:
            piece = pieces.pop(draws.below(len(pieces)))
            at = draws.below(max(len(new) - 1, 1)) + 1
            new = new[:at] + piece + new[at:]
        return new

    def document(self) -> dict[str, Any]:
        return {"axes": list(self.axes), "seed": self.seed}


def key_of(number: int) -> str:
    """The key of the resource that was created with this number."""
    return f"#{number}"


class Greasing:
    """The grease of a world, which can be switched, and the ids that the world created.

    Created ids may be random. So each is numbered, also without grease, which may be switched on
    later, and the number is the key of the resource. Any other id is its own key. All worlds
    share the keys of the ids that they begin with.

    `plain_id` makes an id of a prefix and the number.
    """

    def __init__(
        self,
        axes: tuple[str, ...],
        seed: int,
        plain_id: Callable[[str, int], str],
        initial: "Greasing | None" = None,
    ) -> None:
        self.current = Grease(axes, seed)
        self.initial_axes = axes
        self._plain_id = plain_id
        self._initial = initial
        self._count: int = initial._count if initial else 0
        self._latest: list[str] = []  # ids without a number yet, which only grease asks for
        self._numbers: dict[str, int] = {}  # by id
        self._greased_ids: dict[str, frozenset[str]] = {}  # to the axes that varied it
        self._lock = Lock()

    def switch(self, axes: tuple[str, ...], seed: int | None) -> Grease:
        """Replace the axes and the seed in one step; without a seed, keep the current one."""
        with self._lock:
            self.current = Grease(axes, self.current.seed if seed is None else seed)
            return self.current

    def new_id(self, prefix: str) -> str:
        """The id of a new resource: the plain one, or a greased one."""
        with self._lock:
            self._count += 1
            created = self._plain_id(prefix, self._count)
            if self.current.axes:
                created = self._greased(created)
            self._latest.append(created)
            return created

    def _greased(self, plain: str) -> str:
        grease = self.current
        created = grease.new_id(key_of(self._count), plain)
        if axes := ID_AXES.intersection(grease.axes):
            self._greased_ids[created] = axes
        return created

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""
        number = self._number(text)
        if number is not None:
            return key_of(number)
        return self._initial.key(text) if self._initial else text

    def _number(self, text: str) -> int | None:
        """The number of an id that this world created. First gives the latest ids their numbers."""
        with self._lock:
            first = self._count - len(self._latest) + 1
            for number, created in enumerate(self._latest, first):
                self._numbers.setdefault(created, number)
            self._latest.clear()
            return self._numbers.get(text)

    def has_greased_ids(self) -> bool:
        return bool(self._greased_ids) or (
            self._initial is not None and self._initial.has_greased_ids()
        )

    def axes_of(self, text: str | None) -> frozenset[str]:
        """The axes that varied an id; none for any other text."""
        axes = self._greased_ids.get(text or "")
        if axes is None:
            axes = self._initial.axes_of(text) if self._initial else frozenset()
        return axes


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
    is_varied = grease.axes or greasing.has_greased_ids()  # an id stays when its axis is off
    if not is_varied or not request.environ["PATH_INFO"].startswith("/v1/"):
        return ()
    operation = contract.operation(request)
    part = contract.response(operation, response.status_code)
    if part is None:
        return ()
    method = "GET" if request.method == "HEAD" else request.method
    varied = Varied(grease, greasing, contract, (method, path_key(greasing, request)))
    ((media_type, content),) = part["content"].items()
    declared = part["x-grease"]
    varied.body(response, content["schema"], declared)
    if varied.apply("media-type", declared):
        response.headers["Content-Type"] = varied.media_type(media_type)
    if varied.apply("headers", declared):
        draws = varied.draws("headers")
        for _ in range(draws.below(3) + 1):
            response.headers[f"X-{draws.word().title()}"] = draws.word()
    if varied.apply("success-code", declared):
        response.status_code = 200
    applied = in_order(varied.applied)
    if applied:
        response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(applied)}"
    return applied


def path_key(greasing: Greasing, request: Request) -> str:
    """The path of a request, decoded, with the keys of resources in place of their ids."""
    target, _, _ = request.environ["REQUEST_URI"].partition("?")
    return "/".join(greasing.key(unquote(each)) for each in urlsplit(target).path.split("/"))


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
        body = json.loads(response.get_data(), parse_int=RawText, parse_float=RawText)
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
        if not TIME_AXES.isdisjoint(declared):
            # Go's time.Time reads no escapes.
            return RawText(quoted(self.time(value, declared, key)))
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
        if self.greasing.has_greased_ids() and not self.applied >= ID_AXES:
            for name, part in known.items():
                if "ids" in part.get("x-grease", ()):
                    self.applied |= self.greasing.axes_of(value.get(name))
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

    def time(self, moment: str, declared: Iterable[str], key: tuple[str, ...]) -> str:
        """The moment as `times` spells it, or `times-odd` in place of its offset and letters."""
        digits, offset, separator = 3, "Z", "T"
        if self.varies("times", declared):
            draws = self.draws("times", *key)
            digits, offset = draws.below(MAX_DIGITS + 1), draws.choice([*OFFSETS])
            if respell(moment, digits, offset, separator) != moment:
                self.applied.add("times")
        if self.apply("times-odd", declared):
            offset, separator = self.draws("times-odd", *key).choice(ODD_FORMS)
        return respell(moment, digits, offset, separator)

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
    """JSON text, with each raw text as it is."""
    comma, colon = f"{space},{space or ' '}", f"{space}:{space or ' '}"

    def text(value: Any) -> str:
        if isinstance(value, str):
            return value if isinstance(value, RawText) else spell(value)
        if isinstance(value, dict):
            pairs = [f"{spell(name)}{colon}{text(each)}" for name, each in value.items()]
            return f"{{{space}{comma.join(pairs)}{space}}}"
        if isinstance(value, list):
            return f"[{space}{comma.join(map(text, value))}{space}]"
        return json.dumps(value)

    return text(value)


def respell(moment: str, digits: int, offset: str, separator: str) -> str:
    """Another spelling of the same millisecond (RFC 3339 §5.6).

    The fraction has so many digits, or more where these cannot show the millisecond.
    """
    at = datetime.fromisoformat(moment.removesuffix("Z"))
    try:
        at += timedelta(minutes=MINUTES[offset])
    except OverflowError:
        offset = "+00:00"
    fraction = f"{at.microsecond // 1000:03}".rstrip("0").ljust(digits, "0")
    return f"{at.isoformat(separator, 'seconds')}{'.' if fraction else ''}{fraction}{offset}"
