"""All that a run has exchanged, and what it has found in that."""

import os
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

import click

import stub
from profiles.markers import places_of_name
from stub.contract import object_in
from stub.redaction import Redactor, printable

from .checks import (
    CREATE,
    FOLLOWED,
    GET_DEPLOYMENT,
    LIST,
    LIST_AGAIN,
    LISTED,
    NAME_PREFIX,
    RECORDED,
    Check,
    all_checks,
)
from .exchange import Exchange
from .places import find_id, find_items, find_named, find_status, id_in_url, name_in
from .values import (
    NOTHING,
    Path,
    at,
    is_id,
    is_through_objects,
    last_name,
    scalars,
    text_at,
    values_in,
)

LISTS = (LIST.name, LISTED.name, LIST_AGAIN.name)
DEPLOYMENTS = (FOLLOWED.name, GET_DEPLOYMENT.name)


@dataclass
class Run:
    """What was exchanged, in its order, and where the service has what.

    `source` is the URL or the file. `request` is the body of the creation, with the marker of the
    name. `tokens` finds the token in a response, `redactor` masks all secrets in what is printed.
    `given` is the id of a deployment that a person has named, "" if none.
    """

    contract: stub.Contract
    source: str
    level: str
    redactor: Redactor
    tokens: Redactor
    request: dict[str, Any]
    given: str
    started: datetime = field(default_factory=partial(datetime.now, UTC))
    exchanges: list[Exchange] = field(default_factory=list)
    judged: list[Exchange] = field(default_factory=list)  # those that say something of a part
    concluded: list[str] = field(default_factory=list)  # checks
    # Why a check showed nothing, by its name: a verdict and the reason.
    silent: dict[str, tuple[str, str]] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)  # checks
    unseen: dict[str, str] = field(default_factory=dict)  # why, by what was not seen
    known_status_path: Path | None = None  # of the status in a deployment, by a profile
    has_ended: bool = False  # whether the created deployment has come to its end

    # What `look` finds; None is not found.
    items_path: Path | None = None  # of the array of the projects, in a list
    id_path: Path | None = None  # in an item
    mine: Any = None  # the created project as it was listed last
    others: list[Any] = field(default_factory=list)  # that were listed with it
    created_id: Any = None

    def tell(self, *lines: str) -> None:
        """Print lines, in which all secrets are masked."""
        try:
            for line in lines:
                click.echo(printable(self.redactor.text(line)))
        except BrokenPipeError:  # as behind `| head`: the run goes on, and writes its files
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return all_checks(self.request)

    @cached_property
    def path_of_name(self) -> Path:
        return places_of_name(self.request)[0]

    @property
    def is_recorded(self) -> bool:
        return self.level == RECORDED

    def of(self, *names: str) -> list[Exchange]:
        return [each for each in self.exchanges if each.name in names]

    def accepted(self, *names: str) -> list[Exchange]:
        return [each for each in self.of(*names) if each.is_success]

    def succeeded(self, *names: str) -> list[Exchange]:
        """The successful responses to these checks that are JSON."""
        return [each for each in self.accepted(*names) if each.has_json]

    def look(self) -> None:
        """Find the places anew, with what was exchanged since."""
        lists = self.succeeded(*LISTS)
        self.mine = None
        if lists:
            first = lists[0].json
            last = lists[-1]
            self.items_path = find_items(last.json, first, self.created_name, self.created_body)
            self.others = self.items_of(last)
        for exchange in reversed(lists):
            mine = self.created_item(exchange)
            if mine is not None:
                self.mine = mine
                self.others = [item for item in self.items_of(exchange) if item is not mine]
                break
        self.id_path = self._find_id()
        self.created_id = self.own_id(self.mine)
        if self.created_id is None and self.creation:
            self.created_id = self.id_in(self.creation)

    @property
    def listed(self) -> list[Any]:
        own = [] if self.mine is None else [self.mine]
        return self.others + own

    def items_of(self, exchange: Exchange) -> list[Any]:
        """The projects in a list, none if it has no array of them."""
        if not exchange.is_success:
            return []
        found = at(exchange.json, self.items_path)
        return found if isinstance(found, list) else []

    def own_id(self, project: Any) -> Any:
        """The id of a listed project, None if it has none."""
        found = at(project, self.id_path)
        return found if is_id(found) else None

    def name_of(self, project: Any) -> str:
        """The name of a listed project, "" if it has none."""
        return name_in(project, self.name_members)

    # The created project

    @property
    def creation(self) -> Exchange | None:
        accepted = self.accepted(CREATE.name)
        return accepted[-1] if accepted else None

    @property
    def created_body(self) -> Any:
        """The response to the creation, `NOTHING` if there is none, or no JSON."""
        return self.creation.json if self.creation else NOTHING

    @property
    def created_name(self) -> str:
        """The name that was sent, "" if nothing was created.

        In a recording without the body of the request it is the name in the response.
        """
        if self.creation is None:
            return ""
        return self.name_in(self.creation) or name_in(self.created_body)

    @property
    def name_members(self) -> set[str]:
        """The names of the members in which the creation had the name."""
        name = self.created_name
        return {last_name(path) for path, value in scalars(self.created_body) if value == name}

    def name_in(self, exchange: Exchange) -> str:
        """The name in the body of a request, "" if it has none."""
        return text_at(object_in(exchange.body), self.path_of_name)

    def created_item(self, exchange: Exchange) -> Any:
        """The created project in a list, by its name or its id; None if it is not there.

        Name and id count where the creation has them, since such a text may stand elsewhere by
        chance. A name of verify's own counts anywhere.
        """
        items = self.items_of(exchange)
        name = self.created_name
        members = set() if name.startswith(NAME_PREFIX) else self.name_members
        found = find_named(items, name, members)
        path = self._path_of_id(self.creation) if self.creation else None
        if found is None and path is not None:
            created_id = at(self.created_body, path)
            found = find_named(items, created_id, {last_name(path)})
        return found

    def _find_id(self) -> Path | None:
        others = self.others
        name = self.created_name
        if self.mine is not None:
            found = find_id(self.mine, others, self.created_body, name)
            return found or find_id(self.mine, others, name=name)
        return find_id(others[0], others[1:]) if others else None

    def id_in(self, exchange: Exchange) -> Any:
        """The id in the response to a creation, None if there is none."""
        if not exchange.is_success:
            return None
        found = at(exchange.json, self._path_of_id(exchange))
        return None if found is NOTHING else found

    def _path_of_id(self, exchange: Exchange) -> Path | None:
        """Where the response to a creation has the id of the project."""
        return find_id(exchange.json, [], name=self.name_in(exchange))

    @property
    def left_behind(self) -> list[dict[str, Any]]:
        """The id and the name of what the POSTs may have created; an id of None is not known."""
        if self.is_recorded:
            return []
        found = []
        for post in self.exchanges:
            if post.method != "POST" or 400 <= post.status < 500:
                continue
            own_id = self.created_id if post is self.creation else self.id_in(post)
            found.append({"id": own_id, "name": self.name_in(post) or None})
        return found

    # Deployments

    @property
    def followed(self) -> list[Exchange]:
        """The responses with the created deployment, in the order in which it was read."""
        return self.succeeded(FOLLOWED.name)

    @property
    def status_path(self) -> Path | None:
        """Where the created deployment has its status, None if it was not read."""
        return find_status([each.json for each in self.followed])

    def status_of(self, deployment: Any) -> str | None:
        """The status of a deployment, None if it has none; of an array of several it is none."""
        for path in (self.status_path, self.known_status_path, find_status([deployment])):
            if path is None or not is_through_objects(path):
                continue
            found = at(deployment, path)
            if isinstance(found, str):
                return found
        return None

    def bodies_of_creation(self) -> list[Any]:
        """The bodies that tell of the created project: the response, and the item of the list."""
        found = [self.created_body, self.mine]
        return [body for body in found if body not in (NOTHING, None)]

    def owners_of(self, deployment_id: str) -> list[str]:
        named = [each for each in self.others if names_deployment(each, deployment_id)]
        found = [self.own_id(project) for project in named]
        own = self.bodies_of_creation()
        if any(names_deployment(body, deployment_id) for body in own):
            found.append(self.created_id)
        return [str(each) for each in found if each is not None]


def names_deployment(project: Any, deployment_id: str) -> bool:
    """Whether a body has the id of a deployment, by itself or at the end of its URL."""
    texts = [str(value) for value in values_in(project) if is_id(value)]
    in_urls = map(id_in_url, texts)
    return deployment_id in texts or deployment_id in in_urls
