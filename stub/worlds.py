"""Worlds: each has a store, a clock, faults, a journal and a coverage, and is replaced whole."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from threading import Lock
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
from .faults import Fault, Faults
from .grease.axes import Grease, Switch, read_grease
from .grease.parts import Parts
from .ids import Ids
from .journal import Journal
from .options import StubOptions
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
        """Replace all records by these, or by those of the start.

        A store that processes share resets the setting of the clock in the same step.
        """

    def add(self, records: Records, made_at: datetime | None = None) -> None:
        """Add the records whose id and name are not in use, all or none.

        Projects that were created at `made_at`, when the caller made the records, get the time of
        the change, so that they follow what was created meanwhile. Raises `StoreFull`.
        """

    def remove_projects(self) -> None:
        """Remove all projects, and the deployments that belong to one."""

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        """Make or replace a deployment, whose age starts now; a replaced one keeps its project.

        Without an id it is a new one.

        With a `project_id` it becomes the latest of that project; if it was the latest of another,
        that one gets a new deployment.

        Returns the deployment, and whether it is new. Raises `UnknownProject`, or `StoreFull`:
        besides one deployment for each project there may be as many as there may be projects. The
        deployments that `reset` and `add` bring are bounded by their document.
        """


@dataclass(frozen=True)
class World:
    """A world between two resets. A request stays in the one that it entered.

    `name` is masked, as it is for the log and the report.
    `instance` differs for each of them, also after the program was started anew.
    """

    name: str
    clock: WorldClock
    store: WorldStore
    coverage: Coverage
    run: Coverage  # of all worlds, those that a reset has ended included
    grease: Switch
    ids: Ids
    journal: Journal = field(default_factory=Journal)
    faults: Faults = field(default_factory=Faults)
    instance: str = field(default_factory=lambda: uuid4().hex)

    def record(self, entry: Entry) -> int:
        """Add a request to the journal and to the coverage in one step; return its number."""
        with self.journal.lock:
            number = self.journal.append(entry)
            for coverage in (self.coverage, self.run):
                coverage.count(self.name, number, entry)
            return number

    def recorded(
        self, after: int, limit: int
    ) -> tuple[list[tuple[int, Entry]], int, int, dict[str, Any]]:
        """The newest `limit` entries after number `after`, oldest first, each with its number; the
        number of the oldest entry that there is, and the highest number; the coverage of these.
        """
        with self.journal.lock:
            entries, last = list(self.journal.entries), self.journal.last
            newest = [each for each in entries[-limit:] if each[0] > after]
            return newest, last - len(entries) + 1, last, self.coverage.document()


class RejectedRequest(NamedTuple):
    """A request that the server rejected; `target` is as it was sent."""

    method: str
    target: str
    host: str
    status: int
    code: str
    detail: str

    def document(self, redactor: Redactor) -> dict[str, Any]:
        """As the first request of a finding, which has a world and a number."""
        path, _, query = self.target.partition("?")
        return {
            "world": None,
            "number": None,
            "method": redactor.text(self.method),
            "path": redactor.text(path),
            "query": redactor.text(redactor.query(query)),
            "headers": {"Host": redactor.text(self.host)} if self.host else {},
            "body": "",
            "status": self.status,
            "code": self.code,
            "reason": self.detail,
        }


@dataclass(frozen=True)
class WorldFactory:
    """Makes worlds, which share the records that they start with.

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

    def __call__(self, name: str, seed: Seed | None) -> World:
        """A new world, which starts with a seed, or with the one of the program."""
        grease = Switch(self._grease)
        initial_ids, records = self._initial
        ids = self._ids(name, grease, initial_ids if seed is None else None)
        clock = WorldClock(self.clock, self.options.freeze)
        now = clock()
        if hasattr(self.new_store, "share_clock"):  # where processes share the records
            clock = self.new_store.share_clock(
                self.clock, self.options.freeze, MAX_ADVANCE, world=name
            )
        store: WorldStore = self.new_store(
            clock,
            ids,
            timeline=self.timeline,
            max_projects=self.max_projects,
            records=records,
            world=name,
        )
        if seed is not None:
            store.reset(seed.records(now, ids, self.timeline))
        masked = self.redactor.text(name)  # which may be a token
        return World(masked, clock, store, Coverage(self.contract), self.run, grease, ids)

    @cached_property
    def run(self) -> Coverage:
        return Coverage(self.contract)

    @cached_property
    def contract(self) -> Contract:
        return Contract(json.loads(self.openapi))

    @cached_property
    def parts(self) -> Parts:
        announces = self.options.announces_grease
        return Parts(self.contract, self.options.like, are_announced=announces)

    @cached_property
    def _grease(self) -> Grease:
        return read_grease(self.options.grease, self.options.grease_seed, self.parts.by_axis)

    @cached_property
    def _initial(self) -> tuple[Ids, Records]:
        """The ids and the records that all worlds begin with.

        The seed gets its missing ids first, from the same source as a world.
        """
        ids = self._ids("", Switch(self._grease))
        now = self.options.freeze or self.clock()
        return ids, (self.seed or EMPTY_SEED).records(now, ids, self.timeline)

    @cached_property
    def timeline(self) -> Timeline:
        """The stages of a created deployment."""
        run = self.options.like.get("statuses", {"run": STATUSES})["run"]
        return timeline_of(self.pace, run)

    def _ids(self, world: str, grease: Switch, initial: Ids | None = None) -> Ids:
        forms = self.options.like.get("ids", {})
        return Ids(self.new_id, self.options.ids_seed, world, grease, initial, forms)


class Worlds:
    """The worlds by name. The main one has the empty name and exists from the start.

    `make` makes a world of a name and a seed, or of the seed that the program was started with.
    """

    def __init__(self, make: Callable[[str, Seed | None], World], journal_bytes: int) -> None:
        self._make = make
        self._lock = Lock()
        self._journal_bytes = journal_bytes
        self._kept = 0  # bytes of all journals, those of ended worlds included until it is too much
        self._count_lock = Lock()  # another one, as a reset may be slow
        self._worlds = {"": make("", None)}
        self.run = self._worlds[""].run
        # Of the worlds that a reset has ended.
        self._unused_faults: deque[Fault] = deque(maxlen=MAX_WORLDS)
        self._dropped = 0
        # By code: how many, and the first.
        self.rejections: dict[str, tuple[int, RejectedRequest]] = {}

    def open(self, name: str) -> World:
        """The world of that name, made on first use. Raises `TooManyWorlds`."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                self._check_room(name)
                if name not in self._worlds:
                    self._worlds[name] = self._make(name, None)
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
            world = self._make(name, seed)
            if seed is None:
                world.store.reset()
            previous = self._worlds.pop(name, None)
            if seed is not None or not name:
                self._worlds[name] = world
            if previous:
                self._unused_faults.extend(previous.faults.unused())
                self._dropped += previous.journal.dropped

    def count_rejection(self, rejection: RejectedRequest) -> None:
        """Count a request that the server rejected before the app."""
        with self._count_lock:
            count, first = self.rejections.get(rejection.code, (0, rejection))
            self.rejections[rejection.code] = count + 1, first

    def make_room(self, size: int) -> None:
        """Count the bytes that an entry keeps. Where all keep too much, drop the oldest entries of
        the largest journals, and a sixteenth more than needed, so that this is rare.
        """
        with self._count_lock:
            self._kept += size
            if self._kept > self._journal_bytes:
                journals = [world.journal for world in list(self._worlds.values())]
                self._kept = sum(each.size for each in journals)
                while self._kept > self._journal_bytes * 15 // 16:
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
