"""An observation: one template for each kind of response of a service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from profiles.markers import Path

from .exchange import NOTHING, Exchange
from .way import Way

OLDEST, NEWEST, ANOTHER = ORDERS = ("oldest first", "newest first", "another order")


@dataclass(frozen=True)
class Template:
    """What all responses of one kind have in common.

    `exchanges` are those that it was made from, at least one. `body` is as in a profile: with
    markers, a choice where the status decides, and one item in the array of the projects. It is
    `NOTHING` if the responses are no JSON. The paths in `varying` lead through that body to what
    differs between two responses, or is not in each; the first value stands there. `headers` has
    the fields of all responses, with markers; None is a value that varies.
    """

    kind: str
    exchanges: tuple[Exchange, ...]
    body: Any = NOTHING
    varying: frozenset[Path] = frozenset()
    headers: Mapping[str, str | None] = field(default_factory=dict)
    is_own: bool = True  # the record is the created one; else plain values stand for all others

    @property
    def status(self) -> int:
        return self.exchanges[0].status

    @property
    def content_type(self) -> str:
        return self.exchanges[0].header("Content-Type") or ""


@dataclass(frozen=True)
class Observation:
    """What a log shows of a service.

    `templates` are by the kind of response. A kind that was asked for has one, whatever the status
    of its response is: a list that failed has a template with 500. `run` has the statuses of the
    followed deployment in their order, as the words of a choice. `ids` has an example of each kind
    of record, as in a profile. `remarks` are sentences on what was not looked at.
    """

    way: Way
    templates: Mapping[str, Template]
    run: tuple[str, ...] = ()
    order: str = ""  # of the list: one of `ORDERS`, "" if it does not show
    ids: Mapping[str, str | int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
