"""The parts of the contract that an axis can vary.

A part is a schema (`Project`), a member of a schema (`Project.created_at`), a response
(`getDeployment 404`, or `404` for no operation), or the ids of a kind of record (`projects`). The
contract names the axes of a part in its `x-grease`.
"""

from collections.abc import Collection, Iterator
from typing import Any

from profiles.openapi import Contract
from web.problems import FieldError
from web.validation import make_error

from .axes import AXES, AxisAndPart, Grease, PartsByAxis, list_parts


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


def read_document(document: dict[str, Any], seed: int, parts: PartsByAxis) -> Grease:
    """Read the grease of a valid document like `{"axes": ["members"]}`. `seed` is the default."""
    axes = document["axes"]
    words = document.get("parts", axes)
    return select_parts(axes, words, int(document.get("seed", seed)), parts)


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
