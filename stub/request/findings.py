"""The findings: what a run shows that a team may fail on. Each is made where it is found."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of finding: the advice, which may have places for what a finding fills in.

    If it is chosen, `--fail-on` names it. The other kinds fail a run in any case.
    """

    advice: str
    is_chosen: bool = True


KINDS = {
    "violations": Kind("send what the interface fixes; the service may reject this"),
    "unpromised": Kind("do without it; no document promises it"),
    "rejected": Kind("correct the request; the contract does not allow it"),
    "idle": Kind("call the operation"),
    "unused-faults": Kind("send the request that the fault is for, or do not add the fault"),
    # Of a probe.
    "depends": Kind("{advice}", is_chosen=False),
    "repeats": Kind(
        "sent again after {seconds:.2f} s, though it had been performed: "
        "where names are not unique, two projects (RFC 9110 §9.2.2)",
        is_chosen=False,
    ),
    "accepts": Kind(
        "the run passed with a page of HTML as the response, and it was not sent again: reject "
        "what has another Content-Type, and test that",
        is_chosen=False,
    ),
}
CHOICES = tuple(name for name, kind in KINDS.items() if kind.is_chosen)

FirstRequest = dict[str, Any]
"""The request that showed a finding first, as the report has it."""


@dataclass(frozen=True)
class Finding:
    """What was found, how often, what to do about it, and the request that showed it first.

    Of a fault that no request met, `first` has the world alone.
    """

    kind: str
    what: str
    count: int
    advice: str
    first: FirstRequest | None = None

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.what}"

    @property
    def sentence(self) -> str:
        """The finding, how often it was seen, where first, and what to do."""
        notes = []
        if self.count > 1:
            notes.append(f"x{self.count}")
        reason = self.first.get("reason") if self.first else None
        where = ": ".join(filter(None, (self.first_name, reason)))
        if where:
            notes.append(f"first: {where}")
        shown = f" ({', '.join(notes)})" if notes else ""
        return f"{self.text}{shown}: {self.advice}"

    @property
    def first_name(self) -> str:
        """What the journal calls the first request, or its world; empty if there was none."""
        if self.first is None:
            return ""
        world: str = self.first["world"]
        number = self.first["number"]
        if number:
            return request_name(world, number)
        return f"world {world}" if world else ""


def finding_of(
    kind: str, what: str, count: int = 0, first: FirstRequest | None = None, **known: Any
) -> Finding:
    """A finding with the advice of its kind, in which stands what is `known`."""
    return Finding(kind, what, count, KINDS[kind].advice.format(**known), first)


def request_name(world: str, number: int) -> str:
    """Where the journal has a request: `job-5 #27`, or `#27` in the main world."""
    return f"{world} #{number}".lstrip()


def parse_kinds(values: Iterable[str], known: Collection[str] = CHOICES) -> list[str]:
    """The kinds in these values, separated by commas; `ValueError` for one that is not known."""
    kinds = [kind.strip() for value in values for kind in value.split(",")]
    for kind in kinds:
        if kind not in known:
            raise ValueError(f"{kind!r} is unknown: there are {', '.join(known)}")
    return kinds
