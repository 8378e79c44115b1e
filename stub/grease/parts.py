"""The parts of the contract that an axis can vary by themselves.

A part is a schema (`Project`), a member of one (`Project.created_at`), a response
(`getDeployment 404`; `404` of no operation), or the ids of a kind of record (`projects`): an id is
one datum wherever it stands.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import Any

from ..contract import Contract
from .axes import AXES, ID_AXES, Pair


class Parts:
    """The parts by axis, and the pairs of axis and part in the responses of all worlds.

    `varied` counts the responses in which a pair was varied. `are_announced` is whether such a
    response names its axes.
    """

    def __init__(self, contract: Contract, *, are_announced: bool) -> None:
        self.contract = contract
        self.are_announced = are_announced
        self.by_axis = parts_by_axis(contract)
        self.varied: Counter[Pair] = Counter()
        self._lock = Lock()

    def count(self, varied: Iterable[Pair]) -> None:
        """Count the pairs of a response."""
        with self._lock:
            self.varied.update(varied)

    def varied_pairs(self) -> Counter[Pair]:
        """A copy of `varied`, in the order of the contract."""
        with self._lock:
            varied = self.varied.copy()
        pairs = [(axis, part) for axis, parts in self.by_axis.items() for part in parts]
        return Counter({pair: varied[pair] for pair in pairs if pair in varied})


def parts_by_axis(contract: Contract) -> Mapping[str, tuple[str, ...]]:
    """The parts that declare each axis in `x-grease`, in the order of the contract."""
    pairs = list(dict.fromkeys(declared_pairs(contract)))
    return {axis: tuple(part for each, part in pairs if each == axis) for axis in AXES}


def declared_pairs(contract: Contract) -> Iterator[Pair]:
    for name, schema in contract.schemas.items():
        yield from pairs_in(schema, name)
    responses = [
        (f"{operation.id} {status}", response)
        for operation in contract.operations
        for status, response in operation.responses.items()
    ]
    elsewhere = [(str(status), response) for status, response in contract.elsewhere.items()]
    for part, response in responses + elsewhere:
        for axis in response.get("x-grease", ()):
            yield axis, part
        for content in response.get("content", {}).values():
            yield from pairs_in(content["schema"], part)


def pairs_in(schema: dict[str, Any], part: str) -> Iterator[Pair]:
    """The pairs of a schema and of what is within; what a `$ref` names has a name of its own."""
    if "$ref" in schema:
        return
    properties = schema.get("properties", {})
    for axis in schema.get("x-grease", ()):
        if axis not in ID_AXES:
            yield axis, part
    for axis in properties.get("id", {}).get("x-grease", ()):
        if axis in ID_AXES:
            yield axis, f"{part.lower()}s"
    for name, each in properties.items():
        yield from pairs_in(each, f"{part}.{name}")
    if "items" in schema:
        yield from pairs_in(schema["items"], part)


def origin_of(contract: Contract, part: str) -> str:
    """What `x-origin` says of a part: the section of the interface, or why it was chosen."""
    schema, _, member = part.partition(".")
    record = part.removesuffix("s").title()  # of the ids
    if schema in contract.schemas:
        described = contract.schemas[schema]
        if member:
            described = described["properties"][member]
    elif record in contract.schemas:
        described = contract.schemas[record]["properties"]["id"]
    else:
        name, _, status = part.rpartition(" ")
        found = {each.id: each.responses for each in contract.operations}
        described = found[name][status] if name else contract.elsewhere[int(status)]
    ((kind, text),) = described["x-origin"].items()
    return f"{kind}: {text}"
