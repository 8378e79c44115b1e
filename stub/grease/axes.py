"""The axes, and which of them vary a world, from what seed."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

from web.problems import FieldError
from web.validation import is_integer, unknown_members

# The axes of each tier: why nobody promised what an axis varies, and what a client does about it.
ADVICE_1 = {
    "members": (
        "any server may add members (RFC 8259)",
        "let the client ignore what it does not know",
    ),
    "member-order": ("the members of an object have no order (RFC 8259 §4)", "read them by name"),
    "json-text": (
        "whitespace and escapes carry no meaning (RFC 8259 §2, §7)",
        "parse the body; do not search or compare its text",
    ),
    "headers": (
        "any server or proxy may add headers (RFC 9110 §5.1)",
        "let the client ignore what it does not know",
    ),
    "ids": ("the form of an id is the server's own", "take ids as opaque strings of any length"),
    "times": (
        "a moment has several spellings (RFC 3339 §5.6)",
        "parse times; do not compare their text",
    ),
}
ADVICE_2 = {
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
}
ADVICE = ADVICE_1 | ADVICE_2
TIER_1 = tuple(ADVICE_1)
AXES = tuple(ADVICE)
ID_AXES = ("ids", "ids-encoded")
MAX_SEED = 2**63

Pair = tuple[str, str]  # an axis, and a part of the contract that it varies
PartsByAxis = Mapping[str, Sequence[str]]  # in the order of the contract


class UnknownPart(ValueError):
    """A part that the contract does not have, or that does not have the axis."""


class Grease(NamedTuple):
    """The parts that each axis varies, from what seed; `is_limited` if these are not all."""

    parts: PartsByAxis
    seed: int
    is_limited: bool = False

    def varies(self, axis: str, part: str) -> bool:
        return part in self.parts.get(axis, ())

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"axes": list(self.parts), "seed": self.seed}
        if self.is_limited:
            document["parts"] = names(self.parts, self.parts)
        return document


class Switch:
    """The grease of a world, which can be changed."""

    def __init__(self, initial: Grease) -> None:
        self.current = self.initial = initial
        self._lock = Lock()

    def change(self, document: dict[str, Any], parts: PartsByAxis) -> Grease:
        """Replace all, as the document says, in one step; without a seed, keep the current one."""
        axes = document["axes"]
        with self._lock:
            seed = int(document.get("seed", self.current.seed))
            self.current = select(axes, document.get("parts", axes), seed, parts)
            return self.current


def parse_axes(text: str) -> tuple[str, ...]:
    """What `--grease` names: `tier1`, `all`, or a list of `axis` and `axis@part`.

    Raises `ValueError` for another axis. `read_grease` checks the parts.
    """
    if text in ("tier1", "all"):
        return TIER_1 if text == "tier1" else AXES
    words = dict.fromkeys(word.strip() for word in text.split(","))
    known = [word for axis in AXES for word in words if word.partition("@")[0] == axis]
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"{unknown[0]!r} is no axis: they are {', '.join(AXES)}, or tier1 or all")
    return tuple(known)


def read_grease(words: Collection[str], seed: int, parts: PartsByAxis) -> Grease:
    """The grease of `axis` and `axis@part`: an axis without a part has all of its `parts`.

    Raises `UnknownPart`.
    """
    for axis, at, part in (word.partition("@") for word in words):
        if at and part not in parts[axis]:
            raise UnknownPart(f"{part!r} is no part of {axis}: they are {', '.join(parts[axis])}")
    return select([word.partition("@")[0] for word in words], words, seed, parts)


def select(axes: Collection[str], words: Collection[str], seed: int, parts: PartsByAxis) -> Grease:
    """These axes, each in the parts that a word names: the axis, the part, or `axis@part`."""
    selected = {
        axis: [part for part in parts[axis] if {axis, part, f"{axis}@{part}"} & {*words}]
        for axis in AXES
        if axis in axes
    }
    return Grease(selected, seed, is_limited=not {*axes} <= {*words})


def names(axes: Iterable[str], parts: PartsByAxis) -> list[str]:
    """The parts of these axes, each once."""
    return list(dict.fromkeys(chain(*(parts[axis] for axis in axes))))


def check_grease(document: dict[str, Any], parts: PartsByAxis) -> Iterator[FieldError]:
    """The errors of a switch; `parts` are those that there are."""
    yield from unknown_members(document, ("axes", "seed", "parts"))
    axes, requested = document.get("axes"), document.get("parts", [])
    if not isinstance(axes, list) or not all(axis in AXES for axis in axes):
        yield FieldError("/axes", f"must be an array of {', '.join(AXES)}")
        axes = AXES
    possible = names(axes, parts)
    if not isinstance(requested, list) or not all(part in possible for part in requested):
        there_are = ", ".join(possible) or "none"
        yield FieldError("/parts", f"must be an array of parts that these axes vary: {there_are}")
    if not is_integer(document.get("seed", 0), 0, MAX_SEED):
        yield FieldError("/seed", f"must be an integer from 0 to {MAX_SEED}")
