"""The parts of the contract that an axis can vary by themselves.

A part is a schema (`Project`), a member of one (`Project.created_at`), a response
(`getDeployment 404`; `404` of no operation), or the ids of a kind of record (`projects`): an id is
one datum wherever it stands.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from threading import Lock
from typing import Any

from ..contract import Contract
from .axes import AXES, ID_AXES, Pair

Part = tuple[str, dict[str, Any], Collection[str]]
"""The name of a part, what the contract says of it, and its axes."""


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
    parts = list(all_parts(contract))
    return {
        axis: tuple(dict.fromkeys(part for part, _, axes in parts if axis in axes)) for axis in AXES
    }


def origin_of(contract: Contract, part: str) -> str:
    """What `x-origin` says of a part: the section of the interface, or why it was chosen."""
    described = (each for name, each, axes in all_parts(contract) if name == part and axes)
    ((kind, text),) = next(described)["x-origin"].items()
    return f"{kind}: {text}"


def all_parts(contract: Contract) -> Iterator[Part]:
    for name, schema in contract.schemas.items():
        yield from parts_within(name, schema)
    responses = [
        (f"{operation.id} {status}", response)
        for operation in contract.operations
        for status, response in operation.responses.items()
    ]
    responses += [(str(status), response) for status, response in contract.elsewhere.items()]
    for name, response in responses:
        yield name, response, set(response.get("x-grease", ()))
        for content in response.get("content", {}).values():
            yield from parts_within(name, content["schema"])


def parts_within(name: str, schema: dict[str, Any]) -> Iterator[Part]:
    """A schema and what is within; what a `$ref` names has a name of its own."""
    if "$ref" in schema:
        return
    properties = schema.get("properties", {})
    yield name, schema, {*schema.get("x-grease", ())} - ID_AXES
    if "id" in properties:
        yield (
            f"{name.lower()}s",
            properties["id"],
            ID_AXES & {*properties["id"].get("x-grease", ())},
        )
    for member, each in properties.items():
        yield from parts_within(f"{name}.{member}", each)
    if "items" in schema:
        yield from parts_within(name, schema["items"])
