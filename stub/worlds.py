"""Worlds: each has a store, a clock, faults, a journal and a coverage, and is replaced whole."""

import json
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from records import STATUSES, Deployment, Records, Timeline, timeline_of
from store import Clock, NewId, Store
from web.problems import Problem
from web.redaction import Redactor

from .clock import MAX_ADVANCE, WorldClock
from .contract import Contract
from .coverage import Coverage
from .entry import Entry
from .failures import Failures
from .faults import Fault, Faults
from .grease.axes import Parts, Switch, read_grease
from .ids import Ids
from .journal import Journal
from .profile import NO_PROFILE, Profile
from .seed import EMPTY_SEED, Seed

MAX_WORLDS = 1000


class TooManyWorlds(Problem):
    """507: there is no room for another world."""

    def __init__(self) -> None:
        detail = f"There are {MAX_WORLDS:,} worlds. Reset one that is no longer used, to free it."
        super().__init__(507, "too_many_worlds", detail)


class WorldStore(Store, Protocol):
    """What the stub needs of a store besides: its records as a whole, and to write deployments."""

    def records(self) -> Records:
        """All records; each deployment has a time of its own."""

    def reset(self, records: Records | None = None) -> None:
        """Replace all records by these, or by those of the start; in the same step, a store that
        processes share resets the setting of the clock.
        """

    def add(self, records: Records) -> None:
        """Add the records whose id and name are not in use, all or none. Raises `StoreFull`."""

    def remove_projects(self) -> None:
        """Remove all projects, and the deployments that belong to one."""

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        """Make or replace a deployment, whose age starts now; without an id it is a new one.

        Returns it, and whether it is new. A replaced one keeps its project. With a `project_id` it
        becomes the latest of that project; if it was the latest of another, that one gets a new
        deployment. Raises `UnknownProject`, or `StoreFull`: besides one deployment for each project
        there may be as many as there may be projects. What `reset` brings has no bound, nor have
        the deployments that `add` brings.
        """


class StubOptions(NamedTuple):
    """What the stub adds."""

    states: Mapping[str, Seed] = MappingProxyType({})  # Pact's provider states by name
    cors_origins: Collection[str] = ()  # of browser clients
    grease: tuple[str, ...] = ()  # the axes, each as `axis` or `axis@part`
    grease_seed: int = 0
    ids_seed: int | None = None
    freeze: datetime | None = None  # the time at which the clocks stand still
    delay: tuple[float, float] = (0, 0)  # the least and the most seconds of each response
    delay_seed: int = 0
    sleep: Callable[[float], None] = time.sleep  # waits for delayed responses
    announces_grease: bool = True  # whether a varied response has the header `Stub-Grease`
    journal_bytes: int = 64 * 1024 * 1024  # of memory, for the entries of all worlds
    failures: Failures | None = None  # those of a run of `--probe failures`
    like: Profile = NO_PROFILE  # the forms of a service


@dataclass
class WorldFactory:
    """What worlds are made of, and what they share: the ids and the records that they start with.

    `new_store` to `seed` are those of `create_app`. Raises `UnknownPart`.
    """

    new_store: Callable[..., Any]
    clock: Clock
    new_id: NewId
    pace: float
    max_projects: int
    seed: Seed | None
    options: StubOptions
    openapi: bytes  # the contract
    redactor: Redactor

    def __post_init__(self) -> None:
        like = self.options.like
        self.contract = Contract(json.loads(self.openapi))
        self.run = Coverage(self.contract)  # of all worlds, those that a reset has ended included
        self.parts = Parts(self.contract, like, are_announced=self.options.announces_grease)
        self.grease = read_grease(self.options.grease, self.options.grease_seed, self.parts.by_axis)
        run = like.get("statuses", {"run": STATUSES})["run"]
        self.timeline = timeline_of(self.pace, run)  # of a created deployment
        # The seed gets the ids that it lacks from the same source as a world.
        self.new_ids = partial(Ids, self.new_id, self.options.ids_seed, like.get("ids", {}))
        self.ids = self.new_ids("", Switch(self.grease))
        now = self.options.freeze or self.clock()
        self.records = (self.seed or EMPTY_SEED).records(now, self.ids, self.timeline)


class World:
    """A world between two resets. A request stays in the one that it entered."""

    def __init__(self, name: str, start: WorldFactory) -> None:
        self.name = start.redactor.text(name)  # masked, as a name may be a token
        self.instance = uuid4().hex  # of no other world, also after the program was started anew
        self.run = start.run
        self.coverage = Coverage(start.contract)
        self.journal = Journal()
        self.faults = Faults()
        self.grease = Switch(start.grease)
        self.ids = start.new_ids(name, self.grease, start.ids)
        clock = start.clock, start.options.freeze
        self.clock = WorldClock(*clock)
        if hasattr(start.new_store, "share_clock"):  # where processes share the records
            self.clock = start.new_store.share_clock(*clock, MAX_ADVANCE, world=name)
        self.timeline = start.timeline
        self.store: WorldStore = start.new_store(
            self.clock,
            self.ids,
            timeline=self.timeline,
            max_projects=start.max_projects,
            records=start.records,
            world=name,
        )

    def records_of(self, seed: Seed, now: datetime) -> Records:
        """New records of a seed, with ids of this world."""
        return seed.records(now, self.ids, self.timeline)

    def record(self, entry: Entry) -> int:
        """Add a request to the journal and to the coverage in one step; return its number."""
        with self.journal.lock:
            number = self.journal.append(entry)
            for coverage in (self.coverage, self.run):
                coverage.count(self.name, number, entry)
            return number

    def recorded(self) -> tuple[list[tuple[int, Entry]], int, dict[str, Any]]:
        """All entries, each with its number; the highest number; the coverage of these."""
        with self.journal.lock:
            return list(self.journal.entries), self.journal.last, self.coverage.document()


class Worlds:
    """The worlds by name. The main one has the empty name and exists from the start."""

    def __init__(self, start: WorldFactory) -> None:
        self._start = start
        self._lock = Lock()
        self._kept = 0  # bytes of all journals, those of ended worlds included until it is too much
        self._count_lock = Lock()  # another one, as a reset may be slow
        self._worlds = {"": World("", start)}
        self.run = start.run
        # Of the worlds that a reset has ended.
        self._unused_faults: deque[Fault] = deque(maxlen=MAX_WORLDS)
        self._dropped = 0
        # By code: how many, and the first.
        self.rejections: dict[str, tuple[int, dict[str, Any]]] = {}

    def open(self, name: str) -> World:
        """The world of that name, made on first use. Raises `TooManyWorlds`."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                self._check_room(name)
                if name not in self._worlds:
                    self._worlds[name] = World(name, self._start)
                world = self._worlds[name]
        return world

    def intended(self, name: str) -> World:
        """The world that a rejected request meant; the main one where there is no room for it."""
        try:
            return self.open(name)
        except TooManyWorlds:
            return self.open("")

    def document(self) -> dict[str, Any]:
        """The worlds of this process by name, the main one first, and the room for more of them."""
        with self._lock:
            worlds = [self._worlds[name] for name in sorted(self._worlds)]
            room = MAX_WORLDS + 1 - len(worlds)  # the main one needs none
        documents = [
            {
                "name": world.name,
                "projects": len(world.store.list_projects()),
                "requests": world.journal.last,
            }
            for world in worlds
        ]
        return {"worlds": documents, "room": room}

    def reset(self, name: str, seed: Seed | None) -> None:
        """Replace a world by one of the seed, or by one as at the start.

        A named world without a seed is removed, and made anew on its next use. Raises
        `TooManyWorlds` if a seed is for one more world.
        """
        with self._lock:
            if seed is not None:
                self._check_room(name)
            world = World(name, self._start)
            world.store.reset(None if seed is None else world.records_of(seed, world.clock()))
            previous = self._worlds.pop(name, None)
            if seed is not None or not name:
                self._worlds[name] = world
            if previous:
                self._unused_faults.extend(previous.faults.unused())
                self._dropped += previous.journal.dropped

    def count_rejection(
        self, method: str, target: str, host: str, status: int, code: str, detail: str
    ) -> None:
        """Count a request that the server rejected before the app; the target is as it was sent."""
        redactor = self._start.redactor
        path, _, query = target.partition("?")
        request = {  # as the first one of a finding, which has a world and a number
            "world": None,
            "number": None,
            "method": redactor.text(method),
            "path": redactor.text(path),
            "query": redactor.text(redactor.query(query)),
            "headers": {"Host": redactor.text(host)} if host else {},
            "body": "",
            "status": status,
            "code": code,
            "reason": detail,
        }
        with self._count_lock:
            count, first = self.rejections.get(code, (0, request))
            self.rejections[code] = count + 1, first

    def make_room(self, size: int) -> None:
        """Count the bytes that an entry keeps. Where all keep too much, drop the oldest entries of
        the largest journals, and a sixteenth more than needed, so that this is rare.
        """
        most = self._start.options.journal_bytes
        with self._count_lock:
            self._kept += size
            if self._kept > most:
                journals = [world.journal for world in list(self._worlds.values())]
                self._kept = sum(each.size for each in journals)
                while self._kept > most * 15 // 16:
                    self._kept -= max(journals, key=attrgetter("size")).drop()

    def dropped(self) -> int:
        """How many entries of all journals were dropped to make room."""
        with self._lock:
            return self._dropped + sum(each.journal.dropped for each in self._worlds.values())

    def unused_faults(self) -> list[Fault]:
        """The faults of all worlds that no request has met."""
        with self._lock:
            current = [each for world in self._worlds.values() for each in world.faults.unused()]
            return [*self._unused_faults, *current]

    def _check_room(self, name: str) -> None:
        if name not in self._worlds and len(self._worlds) > MAX_WORLDS:
            raise TooManyWorlds
