"""The axes, and which of them vary a world, from what seed."""

from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, NamedTuple

from web.problems import FieldError
from web.validation import is_integer, unknown_members

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


class Grease(NamedTuple):
    """Which axes vary, and from what seed."""

    axes: tuple[str, ...]
    seed: int

    def document(self) -> dict[str, Any]:
        return {"axes": list(self.axes), "seed": self.seed}


class Switch:
    """The grease of a world, which can be changed."""

    def __init__(self, axes: tuple[str, ...], seed: int) -> None:
        self.current = Grease(axes, seed)
        self.initial_axes = axes
        self._lock = Lock()

    def change(self, axes: tuple[str, ...], seed: int | None) -> Grease:
        """Replace the axes and the seed in one step; without a seed, keep the current one."""
        with self._lock:
            self.current = Grease(axes, self.current.seed if seed is None else seed)
            return self.current


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
