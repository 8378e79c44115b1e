"""The findings: facts that may fail a run. The code that notices a fact makes its finding."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of finding. Its advice may have places to fill in, like `{seconds:.2f}`.

    A chosen kind fails a run if `--fail-on` names it. A kind that is not chosen always fails a run.
    """

    advice: str
    is_chosen: bool = True


KINDS = {
    "violations": Kind("follow the interface: the real service may reject this request"),
    "unpromised": Kind("do not depend on it: no document promises it"),
    "rejected": Kind("correct the request: the contract does not allow it"),
    "idle": Kind("send a request to this operation"),
    "unused-faults": Kind("send a request that matches the fault, or remove the fault"),
    # `--probe` finds these.
    "depends": Kind("{advice}", is_chosen=False),
    "repeats": Kind(
        "the client sent it again after {seconds:.2f} s, but it had been performed: if names were "
        "not unique, there would be two projects (RFC 9110 §9.2.2)",
        is_chosen=False,
    ),
    "accepts": Kind(
        "the run passed, but the response was an HTML page: reject a response with another "
        "Content-Type, and test that",
        is_chosen=False,
    ),
}
CHOICES = tuple(name for name, kind in KINDS.items() if kind.is_chosen)

FirstRequest = dict[str, Any]
"""The request that showed a finding first, in the form of the report.

For a fault that no request met, it has only a world: `{"world": "job-5", "number": None}`.
"""


@dataclass(frozen=True)
class Finding:
    """A finding, for example of the kind `unpromised`: `listProjects: query parameter page`."""

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
        """The finding in a line: `rejected: createProject 422 (x2, first: job-5 #27): correct …`.

        The count and the first request are left out if they say nothing.
        """
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
        """The name of the first request, or of its world: `job-5 #27`. It may be empty."""
        if self.first is None:
            return ""
        world: str = self.first["world"]
        number = self.first["number"]
        if number:
            return name_request(world, number)
        return f"world {world}" if world else ""


def make_finding(
    kind: str, what: str, count: int = 0, first: FirstRequest | None = None, **known: Any
) -> Finding:
    """Make a finding with the advice of its kind. `known` fills the places: `seconds=0.5`."""
    return Finding(kind, what, count, KINDS[kind].advice.format(**known), first)


def merge_findings(found: Iterable[Finding]) -> list[Finding]:
    """Merge the findings of the same thing. Their counts are added, and the first request stays."""
    merged: dict[str, Finding] = {}
    for finding in found:
        known = merged.get(finding.what)
        if known:
            finding = replace(known, count=known.count + finding.count)
        merged[finding.what] = finding
    return list(merged.values())


def name_request(world: str, number: int) -> str:
    """Name a request in the journal: `job-5 #27`, or `#27` in the main world."""
    return f"{world} #{number}".lstrip()


def parse_kinds(values: Iterable[str], known: Collection[str] = CHOICES) -> list[str]:
    """Parse the kinds in texts: `["idle,rejected"]`. Raises `ValueError` for an unknown kind."""
    kinds = [kind.strip() for value in values for kind in value.split(",")]
    for kind in kinds:
        if kind not in known:
            raise ValueError(f"{kind!r} is unknown: the choices are {', '.join(known)}")
    return kinds
