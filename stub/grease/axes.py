"""The axes, and which of them vary a world, from what seed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

from web.problems import FieldError
from web.validation import is_integer, unknown_members

# The axes of each tier: why nobody promised what an axis varies, and what a client does about it.
TIERS: dict[int, dict[str, tuple[str, str]]] = {
    1: {
        "members": (
            "any server may add members (RFC 8259)",
            "let the client ignore what it does not know",
        ),
        "member-order": (
            "the members of an object have no order (RFC 8259 §4)",
            "read them by name",
        ),
        "json-text": (
            "whitespace and escapes carry no meaning (RFC 8259 §2, §7)",
            "parse the body; do not search or compare its text",
        ),
        "headers": (
            "any server or proxy may add headers (RFC 9110 §5.1)",
            "let the client ignore what it does not know",
        ),
        "ids": (
            "the form of an id is the server's own",
            "take ids as opaque strings of any length",
        ),
        "times": (
            "a moment has several spellings (RFC 3339 §5.6)",
            "parse times; do not compare their text",
        ),
    },
    2: {
        "list-order": ("no order was promised", "find a record by its name or id, or sort"),
        "status-values": (
            "the set of statuses may grow",
            "take an unknown status as one that may still change",
        ),
        "success-code": ("no status was promised for a success", "take any 2xx as a success"),
        "error-text": (
            "titles and details are for people (RFC 9457 §3.1)",
            "decide by the status and `code`",
        ),
        "media-type": (
            "case and parameters do not change a media type (RFC 9110 §8.3.1)",
            "compare it without them",
        ),
        "times-odd": (
            "the grammar has more spellings than many parsers read (RFC 3339 §5.6)",
            "use a parser that reads them all, or decide to depend on it",
        ),
        "ids-encoded": (
            "an id may have any character",
            "percent-encode each id that becomes part of a path",
        ),
    },
}
ADVICE = TIERS[1] | TIERS[2]
TIER_1 = tuple(TIERS[1])
AXES = tuple(ADVICE)
TIME_AXES = frozenset({"times", "times-odd"})
ID_AXES = frozenset({"ids", "ids-encoded"})
BODY_AXES = frozenset(AXES) - ID_AXES - {"headers", "success-code", "media-type"}
MAX_SEED = 2**63

Pair = tuple[str, str]
"""An axis, and a part of the contract that it can vary by itself."""

PartsByAxis = Mapping[str, tuple[str, ...]]


class UnknownPart(ValueError):
    """A part that the contract does not have, or that does not have the axis."""


class Grease(NamedTuple):
    """Which axes vary, from what seed, and in which parts: None for all."""

    axes: tuple[str, ...]
    seed: int
    parts: PartsByAxis | None = None

    def varies(self, axis: str, part: str) -> bool:
        return axis in self.axes and (self.parts is None or part in self.parts[axis])

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"axes": list(self.axes), "seed": self.seed}
        if self.parts is not None:
            document["parts"] = list(dict.fromkeys(chain(*self.parts.values())))
        return document


class Switch:
    """The grease of a world, which can be changed."""

    def __init__(self, initial: Grease) -> None:
        self.current = self.initial = initial
        self._lock = Lock()

    def change(self, axes: tuple[str, ...], seed: int | None, parts: PartsByAxis | None) -> Grease:
        """Replace all in one step; without a seed, keep the current one."""
        with self._lock:
            self.current = Grease(axes, self.current.seed if seed is None else seed, parts)
            return self.current


def parse_axes(text: str) -> tuple[str, ...]:
    """What `--grease` names: `tier1`, `all`, or a list of `axis` and `axis@part`.

    Raises `ValueError` for another axis. `read_grease` checks the parts.
    """
    if text in ("tier1", "all"):
        return TIER_1 if text == "tier1" else AXES
    requested = dict.fromkeys(word.strip() for word in text.split(","))
    axes = [word.partition("@")[0] for word in requested]
    if unknown := [axis for axis in axes if axis not in AXES]:
        raise ValueError(f"{unknown[0]!r} is no axis: they are {', '.join(AXES)}, or tier1 or all")
    return tuple(sorted(requested, key=lambda word: AXES.index(word.partition("@")[0])))


def read_grease(words: Sequence[str], seed: int, parts: PartsByAxis) -> Grease:
    """The grease of `axis` and `axis@part`: an axis without a part has all of its `parts`.

    Raises `UnknownPart`.
    """
    axes = in_order(word.partition("@")[0] for word in words)
    for axis, at, part in (word.partition("@") for word in words):
        if at and part not in parts[axis]:
            all_parts = ", ".join(parts[axis])
            raise UnknownPart(f"{part!r} is no part of {axis}: they are {all_parts}")
    if {*axes} <= {*words}:
        return Grease(axes, seed)
    limited = {
        axis: tuple(part for part in parts[axis] if axis in words or f"{axis}@{part}" in words)
        for axis in axes
    }
    return Grease(axes, seed, limited)


def limit(
    axes: Iterable[str], requested: Sequence[str] | None, parts: PartsByAxis
) -> PartsByAxis | None:
    """The requested ones of the parts of these axes, by axis; None, which is all, for None."""
    if requested is None:
        return None
    return {axis: tuple(part for part in parts[axis] if part in requested) for axis in axes}


def in_order(requested: Iterable[str]) -> tuple[str, ...]:
    """Each axis once, in the order of `AXES`."""
    chosen = set(requested)
    return tuple(axis for axis in AXES if axis in chosen)


def check_grease(document: dict[str, Any], parts: PartsByAxis) -> Iterator[FieldError]:
    """The errors of a switch; `parts` are those that there are."""
    yield from unknown_members(document, ("axes", "seed", "parts"))
    axes, requested = document.get("axes"), document.get("parts", [])
    if not isinstance(axes, list) or not all(axis in AXES for axis in axes):
        yield FieldError("/axes", f"must be an array of {', '.join(AXES)}")
        axes = AXES
    possible = list(dict.fromkeys(chain(*(parts[axis] for axis in in_order(axes)))))
    if not isinstance(requested, list) or not all(part in possible for part in requested):
        there_are = ", ".join(possible) or "none"
        yield FieldError("/parts", f"must be an array of parts that these axes vary: {there_are}")
    if not is_integer(document.get("seed", 0), 0, MAX_SEED):
        yield FieldError("/seed", f"must be an integer from 0 to {MAX_SEED}")
