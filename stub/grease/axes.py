"""The axes, the parts of the contract that each can vary, and which vary a world.

A part is a schema (`Project`), a member of one (`Project.created_at`), a response
(`getDeployment 404`; `404` of no operation), or the ids of a kind of record (`projects`): an id is
one datum wherever it stands. Its `x-grease` names its axes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from profiles.openapi import Contract
from web.problems import FieldError
from web.validation import make_error


class Axis(NamedTuple):
    """Its tier, which is 1 for what any server may vary; and the advice: what a client does about
    it, and why nobody promised what it varies.
    """

    tier: int
    advice: str


AXES = {
    "members": Axis(
        1, "let the client ignore what it does not know; any server may add members (RFC 8259)"
    ),
    "member-order": Axis(1, "read members by name; those of an object have no order (RFC 8259 §4)"),
    "json-text": Axis(
        1, "parse the body; whitespace and escapes carry no meaning (RFC 8259 §2, §7)"
    ),
    "headers": Axis(
        1, "let the client ignore what it does not know; proxies may add some (RFC 9110 §5.1)"
    ),
    "ids": Axis(1, "take ids as opaque strings of any length; their form is the server's own"),
    "times": Axis(1, "parse times; a moment has several spellings (RFC 3339 §5.6)"),
    "list-order": Axis(2, "find a record by its name or id, or sort; no order was promised"),
    "status-values": Axis(
        2, "take an unknown status as one that may still change; the set may grow"
    ),
    "success-code": Axis(2, "take any 2xx as a success; no status was promised"),
    "error-text": Axis(
        2, "decide by the status and `code`; the texts are for people (RFC 9457 §3.1)"
    ),
    "media-type": Axis(2, "compare a media type without its case and parameters (RFC 9110 §8.3.1)"),
}
TIER_1 = tuple(name for name, axis in AXES.items() if axis.tier == 1)
MAX_SEED = 2**63

Pair = tuple[str, str]  # an axis, and a part of the contract that it varies
PartsByAxis = Mapping[str, Sequence[str]]  # in the order of the contract


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
        self.initial = initial
        self.current = initial

    def change(self, document: dict[str, Any], parts: PartsByAxis) -> Grease:
        """Replace all, as the document says; without a seed, keep the current one."""
        axes = document["axes"]
        words = document.get("parts", axes)
        seed = int(document.get("seed", self.current.seed))
        self.current = select(axes, words, seed, parts)
        return self.current


def parse_axes(text: str) -> tuple[str, ...]:
    """What `--grease` names: `tier1`, `all`, or a list of `axis` and `axis@part`.

    Raises `ValueError` for another axis. `read_grease` checks the parts.
    """
    if text == "tier1":
        return TIER_1
    if text == "all":
        return tuple(AXES)
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        axis, _, _ = word.partition("@")
        if axis not in AXES:
            known = ", ".join(AXES)
            raise ValueError(f"{word!r} is no axis: they are {known}, tier1 or all")
    return words


def read_grease(words: Collection[str], seed: int, parts: PartsByAxis) -> Grease:
    """The grease of `axis` and `axis@part`: an axis without a part has all of its `parts`.

    Raises `ValueError` for a part that the contract does not have, or that lacks the axis.
    """
    axes = []
    for word in words:
        axis, at, part = word.partition("@")
        if at and part not in parts[axis]:
            known = ", ".join(parts[axis])
            raise ValueError(f"{part!r} is no part of {axis}: they are {known}")
        axes.append(axis)
    return select(axes, words, seed, parts)


def select(axes: Collection[str], words: Collection[str], seed: int, parts: PartsByAxis) -> Grease:
    """These axes, each in the parts that a word names: the axis, the part, or `axis@part`."""
    selected: dict[str, list[str]] = {axis: [] for axis in AXES if axis in axes}
    for axis, found in selected.items():
        for part in parts[axis]:
            if axis in words or part in words or f"{axis}@{part}" in words:
                found.append(part)
    is_limited = any(axis not in words for axis in axes)
    return Grease(selected, seed, is_limited)


def names(axes: Iterable[str], parts: PartsByAxis) -> list[str]:
    """The parts of these axes, each once."""
    found = chain.from_iterable(parts[axis] for axis in axes)
    return list(dict.fromkeys(found))


def check_grease(document: dict[str, Any], parts: PartsByAxis) -> Iterator[FieldError]:
    """The errors of a switch that its schema allows; `parts` are those that there are."""
    known = names(document["axes"], parts)
    shown = ", ".join(known) or "none"
    for index, part in enumerate(document.get("parts", ())):
        if part not in known:
            detail = f"must be one of the parts that these axes vary: {shown}"
            yield make_error(detail, "parts", index)


class Parts:
    """The parts by name and by axis, and the pairs that were varied in responses of all worlds."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.varied: set[Pair] = set()
        self.described: dict[str, dict[str, Any]] = {}
        for name, described in all_parts(contract):
            if "x-grease" in described:
                self.described[name] = described
        self.by_axis: dict[str, list[str]] = {axis: [] for axis in AXES}
        for name, described in self.described.items():
            for axis in described["x-grease"]:
                self.by_axis[axis].append(name)

    def varied_by(self, axis: str) -> list[str]:
        """The parts that an axis varied, in the order of the contract."""
        return [part for part in self.by_axis[axis] if (axis, part) in self.varied]

    def origin(self, part: str) -> str:
        """What `x-origin` says of a part: the section of the interface, or why it was chosen."""
        origin = self.described[part]["x-origin"]
        ((kind, text),) = origin.items()
        return f"{kind}: {text}"


def all_parts(contract: Contract) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, schema in contract.schemas.items():
        yield from parts_of_schema(name, schema)
    for operation in contract.operations:
        for status, response in operation.responses.items():
            yield f"{operation.id} {status}", response
    yield from contract.elsewhere.items()


def parts_of_schema(name: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of a schema, which stands at the place of this name, and of those inside of it.

    The ids of a kind of record are one part: `x-part` names it, or the member `id` of the record.
    """
    yield schema.get("x-part", name), schema
    properties = schema.get("properties", {})
    for member, each in properties.items():
        is_id = "ids" in each.get("x-grease", ())
        if not is_id or "x-part" in each:
            yield from parts_of_schema(f"{name}.{member}", each)
        elif member == "id":  # the others are ids of other records
            yield f"{name.lower()}s", each
    if "items" in schema:
        yield from parts_of_schema(f"{name}[]", schema["items"])
    for each in schema.get("anyOf", ()):
        yield from parts_of_schema(name, each)
