"""The axes, the parts of the contract that an axis can vary, and the grease of a world.

A part is a schema (`Project`), a member of a schema (`Project.created_at`), a response
(`getDeployment 404`, or `404` for no operation), or the ids of a kind of record (`projects`). The
contract names the axes of a part in its `x-grease`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from profiles.openapi import Contract
from web.problems import FieldError
from web.validation import make_error


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

    def change(self, document: dict[str, Any], parts: PartsByAxis) -> Grease:
        """Replace the grease by that of a valid document. Without a seed, keep the seed."""
        axes = document["axes"]
        words = document.get("parts", axes)
        seed = int(document.get("seed", self.current.seed))
        self.current = select_parts(axes, words, seed, parts)
        return self.current


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


def read_grease(words: Collection[str], seed: int, parts: PartsByAxis) -> Grease:
    """Read the grease of words like `members` and `times@Project.created_at`.

    Raises `ValueError` for a part that its axis does not vary.
    """
    axes = []
    for word in words:
        axis, at, part = word.partition("@")
        if at and part not in parts[axis]:
            known = ", ".join(parts[axis])
            raise ValueError(f"{part!r} is not a part that {axis} varies: use {known}")
        axes.append(axis)
    return select_parts(axes, words, seed, parts)


def select_parts(
    axes: Collection[str], words: Collection[str], seed: int, parts: PartsByAxis
) -> Grease:
    """Select the parts of these axes. A word is an axis, a part, or `axis@part`."""
    selected: dict[str, list[str]] = {axis: [] for axis in AXES if axis in axes}
    for axis, found in selected.items():
        for part in parts[axis]:
            if axis in words or part in words or f"{axis}@{part}" in words:
                found.append(part)
    is_limited = any(axis not in words for axis in axes)
    return Grease(selected, seed, is_limited)


def list_parts(axes: Iterable[str], parts: PartsByAxis) -> list[str]:
    """List the parts of these axes, without repetitions."""
    found: dict[str, bool] = {}
    for axis in axes:
        found |= dict.fromkeys(parts[axis], True)
    return list(found)


def check_grease(document: dict[str, Any], parts: PartsByAxis) -> Iterator[FieldError]:
    """Yield the errors of a document that its schema does not show."""
    known = list_parts(document["axes"], parts)
    shown = ", ".join(known) or "none"
    for index, part in enumerate(document.get("parts", ())):
        if part not in known:
            detail = f"must be one of the parts that these axes vary: {shown}"
            yield make_error(detail, "parts", index)


class Parts:
    """The parts of the contract by name and by axis, and those that varied in any response."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.varied: set[AxisAndPart] = set()
        self.described: dict[str, dict[str, Any]] = {}
        for name, described in find_parts(contract):
            if "x-grease" in described:
                self.described[name] = described
        self.by_axis: dict[str, list[str]] = {axis: [] for axis in AXES}
        for name, described in self.described.items():
            for axis in described["x-grease"]:
                self.by_axis[axis].append(name)

    def list_varied(self, axis: str) -> list[str]:
        """List the parts that an axis varied, in the order of the contract."""
        return [part for part in self.by_axis[axis] if (axis, part) in self.varied]

    def describe_origin(self, part: str) -> str:
        """Describe the `x-origin` of a part, for example `chosen: …` with the reason."""
        origin = self.described[part]["x-origin"]
        ((kind, text),) = origin.items()
        return f"{kind}: {text}"


def find_parts(contract: Contract) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all parts of the contract with their names."""
    for name, schema in contract.schemas.items():
        yield from find_schema_parts(name, schema)
    for operation in contract.operations:
        for status, response in operation.responses.items():
            yield f"{operation.id} {status}", response
    yield from contract.elsewhere.items()


def find_schema_parts(name: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a schema with its name, for example `Project`, and the parts inside it.

    The ids of a kind of record are a single part. The member `id` of the record stands for it, or a
    schema with its name as `x-part`.
    """
    yield schema.get("x-part", name), schema
    properties = schema.get("properties", {})
    for member, each in properties.items():
        is_id = "ids" in each.get("x-grease", ())
        if not is_id or "x-part" in each:
            yield from find_schema_parts(f"{name}.{member}", each)
        elif member == "id":  # Any other member is the id of another record.
            yield f"{name.lower()}s", each
    if "items" in schema:
        yield from find_schema_parts(f"{name}[]", schema["items"])
    for each in schema.get("anyOf", ()):
        yield from find_schema_parts(name, each)
