"""The parts of the contract that an axis can vary by themselves.

A part is a schema (`Project`), a member of one (`Project.created_at`), a response
(`getDeployment 404`; `404` of no operation), or the ids of a kind of record (`projects`): an id is
one datum wherever it stands. Its `x-grease` names its axes.
"""

from collections.abc import Iterator
from typing import Any

from ..contract import Contract
from ..profile import Profile
from .axes import AXES, Pair, PartsByAxis


class Parts:
    """The parts by axis, and the pairs that were varied in the responses of all worlds.

    `described` is what the contract says of each part, and `like` has the forms that are pinned.
    `are_announced` is whether a varied response names its axes.
    """

    def __init__(self, contract: Contract, like: Profile, *, are_announced: bool) -> None:
        self.contract = contract
        self.like = like
        self.are_announced = are_announced
        self.varied: set[Pair] = set()
        self.described = {name: each for name, each in all_parts(contract) if "x-grease" in each}
        self.by_axis: PartsByAxis = {
            axis: [part for part, each in self.described.items() if axis in each["x-grease"]]
            for axis in AXES
        }

    def varied_by(self, axis: str) -> list[str]:
        """The parts that an axis varied, in the order of the contract."""
        return [part for part in self.by_axis[axis] if (axis, part) in self.varied]

    def origin(self, part: str) -> str:
        """What `x-origin` says of a part: the section of the interface, or why it was chosen."""
        ((kind, text),) = self.described[part]["x-origin"].items()
        return f"{kind}: {text}"


def all_parts(contract: Contract) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each part, and what the contract says of it."""
    for name, schema in contract.schemas.items():
        yield name, schema
        for member, each in schema.get("properties", {}).items():
            if member == "id":
                yield f"{name.lower()}s", each
            elif not member.endswith("_id"):  # the id of another record
                yield f"{name}.{member}", each
    for operation in contract.operations:
        for status, response in operation.responses.items():
            yield f"{operation.id} {status}", response
    for number, response in contract.elsewhere.items():
        yield str(number), response
