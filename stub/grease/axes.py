"""The axes of grease, and the grease of a world."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Axis(NamedTuple):
    """An axis of grease. Any real server may vary an axis of tier 1.

    The advice tells a client how to cope, and why nobody promised the varied part.
    """

    tier: int
    advice: str


AXES = {
    "members": Axis(1, "ignore unknown members; any server may add members (RFC 8259)"),
    "member-order": Axis(1, "read members by name; an object has no order (RFC 8259 §4)"),
    "json-text": Axis(
        1, "parse the body; whitespace and escapes carry no meaning (RFC 8259 §2, §7)"
    ),
    "headers": Axis(1, "ignore unknown header fields; a proxy may add some (RFC 9110 §5.1)"),
    "ids": Axis(1, "take ids as opaque strings of any length; the server chooses their form"),
    "times": Axis(1, "parse times; a moment has several spellings (RFC 3339 §5.6)"),
    "list-order": Axis(2, "find a record by its name or id, or sort; no order was promised"),
    "status-values": Axis(
        2, "treat an unknown status as a status that may still change; the set may grow"
    ),
    "success-code": Axis(2, "take any 2xx as a success; no status was promised"),
    "error-text": Axis(
        2, "decide by the status and `code`; the texts are for people (RFC 9457 §3.1)"
    ),
    "media-type": Axis(2, "compare a media type without its case and parameters (RFC 9110 §8.3.1)"),
}
TIER_1 = tuple(name for name, axis in AXES.items() if axis.tier == 1)
MAX_SEED = 2**63

AxisAndPart = tuple[str, str]
"""An axis, and a part that it varies: `("times", "Project.created_at")`."""

PartsByAxis = Mapping[str, Sequence[str]]


class Grease(NamedTuple):
    """The parts that vary, by axis, and the seed. It `is_limited` if some parts of an axis stay."""

    parts: PartsByAxis
    seed: int
    is_limited: bool = False

    def varies(self, axis: str, part: str) -> bool:
        return part in self.parts.get(axis, ())

    def document(self) -> dict[str, Any]:
        """Return the JSON of the grease: `{"axes": ["members"], "seed": 7}`."""
        document: dict[str, Any] = {"axes": list(self.parts), "seed": self.seed}
        if self.is_limited:
            document["parts"] = list_parts(self.parts, self.parts)
        return document


class Switch:
    """The current grease of a world."""

    def __init__(self, initial: Grease) -> None:
        self.initial = initial
        self.current = initial


def parse_axes(text: str) -> tuple[str, ...]:
    """Parse the value of `--grease`: `tier1`, `all`, or a list like `members,times@Project`.

    Raises `ValueError` for an unknown axis. `read_grease` checks the parts.
    """
    if text == "tier1":
        return TIER_1
    if text == "all":
        return tuple(AXES)
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        axis, _, _ = word.partition("@")
        if axis not in AXES:
            raise ValueError(f"{word!r} is not an axis: use {', '.join(AXES)}, tier1 or all")
    return words


def list_parts(axes: Iterable[str], parts: PartsByAxis) -> list[str]:
    """List the parts of these axes, without repetitions."""
    found: dict[str, bool] = {}
    for axis in axes:
        found |= dict.fromkeys(parts[axis], True)
    return list(found)
