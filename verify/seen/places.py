"""The places of a service, such as the array of the projects in a list."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from traffic import json_values
from web.validation import format_pointer

from . import inspection
from .service_log import NOTHING, ServiceExchange
from .status import format_word


class Place(NamedTuple):
    """The place of a value: its path, and the pattern of the text around it: `operations/(.+)`."""

    path: json_values.Path
    pattern: re.Pattern[str] | None = None

    def read(self, body: Any) -> Any:
        """Return the value at the place, or `NOTHING`."""
        found = inspection.find_value(body, self.path)
        if self.pattern is None:
            return found
        match = self.pattern.fullmatch(found) if isinstance(found, str) else None
        return match[1] if match else NOTHING


class Doubt(NamedTuple):
    """A place that is not certain: the kind of the response, and a sentence with advice.

    `possible` are the paths that it may have: `/data (array), /items (array)`.
    """

    kind: str
    advice: str
    possible: str = ""


@dataclass(frozen=True)
class Places:
    """The places of a service. A place, an id or a body that was not found is None; a name is "".

    `creation` created the project that is followed. `followed` are the successful reads of its
    deployment, or of the deployment that a person named; `owner_id` and `owner_name` are those of
    its project. Paths are like `("data", "items")`. An id has the type that bodies have.
    """

    creation: ServiceExchange | None = None
    next_creation: ServiceExchange | None = None
    created: Any = None  # the body of its response, unless it has other projects, too
    request: Any = None  # the body of the creation, with the marker {project.name}
    created_id: Any = None
    created_name: str = ""
    lists: tuple[ServiceExchange, ...] = ()  # successful, with JSON
    items_path: json_values.Path | None = None  # the array of the projects in a list
    id_place: Place | None = None  # the id in an item
    followed: tuple[ServiceExchange, ...] = ()
    # False if the followed deployment is neither the created one nor the one that a person named.
    is_own: bool = True
    deployment_id: Any = None
    owner_id: Any = None
    owner_name: str = ""
    status_path: json_values.Path | None = None  # the status in a deployment
    absent_status: str = ""  # the status of a deployment without this member
    is_sure: bool = False  # whether no other member may be the status
    doubts: tuple[Doubt, ...] = ()

    def add_doubt(
        self, kind: str, line: str, paths: Iterable[json_values.Path], body: Any, max_paths: int = 5
    ) -> "Places":
        """Add a line to write in a profile, and the paths that may be the place."""
        shown = [
            f"{format_pointer(*path)} ({inspection.find_type(inspection.find_value(body, path))})"
            for path in paths
        ]
        possible = ", ".join(shown[:max_paths]) or "nothing like it"
        return self.add_advice(kind, f"give --like FILE with {line}", possible)

    def add_advice(self, kind: str, advice: str, possible: str = "") -> "Places":
        return replace(self, doubts=(*self.doubts, Doubt(kind, advice, possible)))

    # The list

    def list_items(self, exchange: ServiceExchange) -> list[Any]:
        """Return the projects in a list, or `[]` without an array of projects."""
        found = inspection.find_value(exchange.body, self.items_path)
        return found if isinstance(found, list) else []

    @property
    def last_items(self) -> list[Any]:
        return self.list_items(self.lists[-1]) if self.lists else []

    @property
    def other_items(self) -> list[Any]:
        """The projects in the last list that are not the created project."""
        return self.list_others(self.lists[-1]) if self.lists else []

    def list_others(self, exchange: ServiceExchange) -> list[Any]:
        created = self.get_created_item(exchange)
        return [item for item in self.list_items(exchange) if item != created]

    def find_id(self, item: Any) -> Any:
        """Find the id of a listed project, or None."""
        found = self.id_place.read(item) if self.id_place else None
        return found if inspection.is_id(found) else None

    def find_name(self, item: Any) -> str:
        """Find the name of a listed project, or ""."""
        texts = inspection.find_texts(item)
        for path, text in inspection.find_texts(self.latest_item).items():
            if text == self.created_name and path in texts:
                return texts[path]
        return inspection.get_called(texts, "name")

    # The created project

    @cached_property
    def created_items(self) -> dict[ServiceExchange, Any]:
        """The created project in all lists, or None where it is missing."""
        return {each: self._find_created(self.list_items(each)) for each in self.lists}

    def _find_created(self, items: list[Any]) -> Any:
        """Find the created project in an array, by its name, its id, or a path with its name."""
        if self.creation is None:
            return None
        name = self.created_name
        # The likeliest member is the first.
        for value, key in ((name, "name"), (name, ""), (self.created_id, "")):
            for item in items:
                if inspection.has_value(item, value, key):
                    return item
        return inspection.get_first(item for item in items if inspection.has_segment(item, name))

    def get_created_item(self, exchange: ServiceExchange) -> Any:
        return self.created_items.get(exchange)

    @cached_property
    def latest_item(self) -> Any:
        """The created project in the last list that has it, or None."""
        found = [item for item in self.created_items.values() if item is not None]
        return found[-1] if found else None

    def split_body(self, exchange: ServiceExchange) -> tuple[Any, list[Any]]:
        """Split a list into bodies of one item: that of the created project, and all others.

        Without the created project the first is `NOTHING`. Another body stays whole: it is the
        first, and the second is `[]`.
        """
        items = self.list_items(exchange) if exchange in self.lists else []
        if not items or self.items_path is None:
            return exchange.body, []
        path = self.items_path
        created = self.get_created_item(exchange)
        own = NOTHING
        if created is not None:
            own = json_values.replace_value(exchange.body, path, [created])
        others = self.list_others(exchange)
        return own, [json_values.replace_value(exchange.body, path, [each]) for each in others]

    # The deployment

    def read_status(self, exchange: ServiceExchange) -> str:
        """Return the status of a deployment as a word: `queued`, or "". A missing flag is false."""
        if self.status_path is None:
            return ""
        value = inspection.find_value(exchange.body, self.status_path)
        if value is NOTHING and self.absent_status:
            return self.absent_status
        last = inspection.find_value(self.followed[-1].body, self.status_path)
        return format_word(value) or ("false" if isinstance(last, bool) else "")

    @cached_property
    def words(self) -> list[str]:
        """The statuses of the created, or named, deployment in all reads."""
        return [self.read_status(each) for each in self.followed] if self.is_own else []


def list_places(places: Places) -> Iterator[str]:
    """List the places that were found: `the status at /status`."""
    found = {
        "the list": places.items_path,
        "the id in it": places.id_place.path if places.lists and places.id_place else None,
        "the status": places.status_path,
    }
    for name, path in found.items():
        if path is not None:
            yield f"{name} at {format_pointer(*path) or 'the whole body'}"
