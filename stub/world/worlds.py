"""The worlds of a stub, and a request's visit to one of them."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import Any

from records import Deployment, Project, ProjectList

from ..request.entry import Recorded
from ..request.faults import Outcome, UnusedFault
from .seed import Seed
from .tokens import MAIN, Tokens
from .world import Common, WorldState


class Worlds:
    """The worlds by name, each made on its first use.

    There are at most `max_worlds` beside the main one: for another one, the least recently used one
    makes room. Raises `ValueError` for an invalid token.
    """

    def __init__(self, common: Common) -> None:
        self.common = common
        self.tokens = Tokens(common.options.tokens)
        self._stores = common.options.stores
        self._lock = Lock()
        self._worlds: OrderedDict[str, WorldState] = (
            OrderedDict()
        )  # the least recently used one first
        self._most = common.options.max_worlds
        # Of the worlds that have ended.
        self._unused_faults: dict[str, UnusedFault] = {}  # by their description

    def authenticate(self, token: str) -> "Visit | None":
        """What a token opens: a visit to its world; None for an unknown token."""
        name = self.tokens.find_world(token)
        return None if name is None else Visit(name, self)

    def open(self, name: str) -> WorldState:
        """Return the world of that name, which is made on its first use."""
        with self._lock:
            world = self._worlds.get(name)
            if world is None:
                world = WorldState(name, self.common)
                self._add(name, world)
            self._worlds.move_to_end(name)
            return world

    def reset(self, name: str, seed: Seed | None) -> None:
        """Replace a world by one of the seed, or by one as at the start.

        A named world without a seed is removed, and made anew on its next use.
        """
        # Made without the lock, since a large seed takes time.
        world = WorldState(name, self.common)
        world.store.reset(world.records_of(seed) if seed is not None else None)
        with self._lock:
            self._remove(name)
            if seed is not None or name == MAIN:
                self._add(name, world)

    def unused_faults(self) -> list[UnusedFault]:
        """The faults that no request has met, each with its world; also of worlds that ended."""
        with self._lock:
            found = list(self._unused_faults.values())
            for world in self._worlds.values():
                found += world.unused_faults()
            return found

    def document(self) -> dict[str, Any]:
        """The worlds, the main one first, and the room of this process for more.

        With a shared store also those that other programs have there, without their requests.
        """
        self.open(MAIN)
        with self._lock:
            worlds = dict(self._worlds)
        projects = self._projects_of(worlds)
        redactor = self.common.redactor
        rows = []
        for name in sorted(projects):
            world = worlds.get(name)
            row = {
                "name": redactor.mask(name),
                "projects": projects[name],
                "requests": world.journal.last if world else 0,
            }
            rows.append(row)
        return {"worlds": rows, "room": 1 + self._most - len(worlds)}

    def _projects_of(self, worlds: dict[str, WorldState]) -> dict[str, int]:
        """The number of projects of these worlds, and of those that a shared store has."""
        if self._stores:
            # A world without records there begins with those of the start.
            at_start = len(self.common.records.projects)
            return dict.fromkeys(worlds, at_start) | self._stores.worlds()
        return {name: len(world.store.list_projects()) for name, world in worlds.items()}

    # The caller of these holds the lock.

    def _add(self, name: str, world: WorldState) -> None:
        self._worlds[name] = world
        named = [each for each in self._worlds if each != MAIN]
        if len(named) > self._most:
            self._remove(named[0])

    def _remove(self, name: str) -> None:
        """Remove a world, if it is there, but for what the verdict of the run has of it."""
        world = self._worlds.pop(name, None)
        if world:
            for unused in world.unused_faults():
                known = self._unused_faults.get(unused.what)
                if known:
                    unused = replace(known, count=known.count + unused.count)
                self._unused_faults[unused.what] = unused


@dataclass(eq=False)
class Visit:
    """What belongs to one request with a token: its visit to the world of that name.

    A visit is the `Store` of the request: it calls the store of its world, and notes the deployment
    that was read, and the time.
    """

    name: str
    worlds: Worlds
    is_accepted: bool = True  # by the bearer check
    outcome: Outcome | None = None
    deployment: Deployment | None = None
    time: datetime | None = None
    recorded: Recorded | None = None
    hint: str = ""  # an option of the program, for the log

    @cached_property
    def world(self) -> WorldState:
        """The world. It is opened at its first use, so that a rejected request opens none."""
        return self.worlds.open(self.name)

    @property
    def status_read(self) -> str | None:
        """The status of the deployment that was read, if one was."""
        if self.deployment is None or self.time is None:
            return None
        return self.deployment.status(self.time)

    def list_projects(self) -> ProjectList:
        return self.world.store.list_projects()

    def create_project(self, name: str, sent: str) -> Project:
        return self.world.store.create_project(name, sent)

    def now(self) -> datetime:
        now = self.world.store.now()
        self.time = now
        return now

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        self.deployment = self.world.store.get_deployment(deployment_id)
        return self.deployment
