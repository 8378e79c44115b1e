"""Worlds: each has a store, a clock, ids, faults, a journal, a coverage, and is replaced whole."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, cast
from uuid import uuid4

from profiles.ids import Form
from profiles.profile import Profile
from profiles.service import LikeStore, Responses
from records import STATUSES, Deployment, Records, Timeline, timelines_of
from store import Clock, NewId, Store
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
from .rejections import Rejections
from .seed import Seed
from .tenants import Tenant, prefix_of


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

    def restore(self, records: Records) -> None:
        """Replace all records by those that `records()` returned before; the clock goes on."""

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


class SharedStores(Protocol):
    """What the stub needs of the stores of records that several programs share."""

    def share_clock(
        self, real: Clock, frozen_at: datetime | None, max_advance: timedelta, *, world: str
    ) -> Any:
        """The clock of a world, with the methods of `WorldClock`."""

    def worlds(self, prefix: str) -> dict[str, int]:
        """The number of projects of each world with records, by the full names of a tenant."""

    def free(self, world: str, idle: float) -> None:
        """Remove the records of a world, unless a program has used them in so many seconds."""


class SetUp(NamedTuple):
    """A provider state that was set up, and the records of before."""

    name: str
    params: dict[str, Any]
    before: Records


class StubOptions(NamedTuple):
    """What the stub adds."""

    states: Mapping[str, Seed] = {}  # Pact's provider states by name
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
    world_idle: float = 3600.0  # seconds unused, after which a world may make room
    failures: Failures | None = None  # those of a run of `--probe failures`
    like: Profile | None = None  # of a service


@dataclass(eq=False)
class Worlds:
    """The worlds of an app by name, each made on its first use, and what they share.

    `new_store` to `seed` are those of `create_app`. Raises `UnknownPart`.
    """

    new_store: Callable[..., Any]
    clock: Clock
    new_id: NewId
    pace: float
    outcomes: Sequence[tuple[str, str]]
    max_projects: int
    seed: Seed | None
    options: StubOptions
    openapi: bytes  # the contract
    redactor: Redactor

    def __post_init__(self) -> None:
        options = self.options
        self.like = options.like
        self.responses: Responses | None = None
        self.words: tuple[str, ...] = ()
        run: Sequence[str] = STATUSES
        id_forms: Mapping[str, Form] = {}
        names = None
        if self.like:
            self.responses = Responses(self.like)
            self.words = self.like.words
            run = self.like.run or STATUSES
            id_forms = self.like.ids
            names = self.like.names_of_request
        self.contract = Contract(json.loads(self.openapi), names)
        self.parts = Parts(self.contract)
        self.grease = read_grease(options.grease, options.grease_seed, self.parts.by_axis)
        # Of all worlds, also of those that have ended.
        self.coverage = Coverage(self.contract)
        self.rejections = Rejections(self.redactor)
        # The ids and the records that all worlds start with.
        self.ids = Ids(self.new_id, options.ids_seed, id_forms, Switch(self.grease))
        self.timeline_for = timelines_of(self.pace, run, self.outcomes)
        now = options.freeze or self.clock()
        self.records = (self.seed or Seed()).records(now, self.ids, self.timeline_for)
        self.shared: SharedStores | None = None
        if hasattr(self.new_store, "share_clock"):
            self.shared = cast(SharedStores, self.new_store)
        self._tenants: dict[str, Tenant] = {}  # by the prefix of their worlds

    def tenant(self, world: str) -> Tenant:
        """The tenant of a world."""
        prefix = prefix_of(world)
        found = self._tenants.get(prefix)
        return found or self._tenants.setdefault(prefix, Tenant(prefix, self))

    def tenants(self) -> list[Tenant]:
        """The tenants that have sent a request."""
        return [*self._tenants.values()]

    def open(self, name: str) -> "World":
        """The world of that full name, made on first use. Raises `TooManyWorlds`."""
        return self.tenant(name).open(name)

    def intended(self, name: str) -> "World":
        """The world that a rejected request meant; its tenant's main one if there is no room.

        A rejected request removes no world.
        """
        tenant = self.tenant(name)
        return tenant.open(name if tenant.has_room_for(name) else prefix_of(name))

    def new_world(self, name: str) -> "World":
        """A world as at the start, which its tenant does not have yet."""
        return World(name, self)

    def new_clock(self, world: str) -> Any:
        """The clock of a new world, which the programs of a shared store have together."""
        frozen_at = self.options.freeze
        if self.shared:
            return self.shared.share_clock(self.clock, frozen_at, MAX_ADVANCE, world=world)
        return WorldClock(self.clock, frozen_at)

    def journals(self) -> list[list[Journal]]:
        """The journals of each tenant."""
        return [[world.journal for world in tenant.worlds()] for tenant in self.tenants()]


class World:
    """A world between two resets. A request stays in the one that it entered."""

    def __init__(self, name: str, worlds: Worlds) -> None:
        # Masked, as a name may be a token.
        prefix = prefix_of(name)
        self.tenant = worlds.redactor.text(prefix.removesuffix("/"))
        self.short_name = worlds.redactor.text(name.removeprefix(prefix))
        self.name = f"{self.tenant}/{self.short_name}" if prefix else self.short_name
        self.used_at = worlds.clock()
        self.instance = uuid4().hex  # of no other world, also after the program was started anew
        self.coverage = Coverage(worlds.contract)
        self._coverages = (self.coverage, worlds.coverage)
        self.journal = Journal()
        self.faults = Faults()
        self.set_ups: list[SetUp] = []  # the latest ones of Pact, which a teardown takes back
        self.grease = Switch(worlds.grease)
        self.ids = worlds.ids.of_world(name, self.grease)
        self.clock = worlds.new_clock(name)
        self.timeline_for = worlds.timeline_for
        self.store: WorldStore = worlds.new_store(
            self.clock,
            self.ids,
            timeline_for=self.timeline_for,
            max_projects=worlds.max_projects,
            records=worlds.records,
            world=name,
            unique_names=worlds.like is None or worlds.like.has_unique_names,
        )
        self.service: Any = self.store  # the store of the requests to /v1
        if worlds.responses:
            self.service = LikeStore(self.store, worlds.responses, self.timeline_for)

    def records_of(self, seed: Seed) -> Records:
        """New records of a seed, with ids of this world."""
        return seed.records(self.clock(), self.ids, self.timeline_for)

    def unused_faults(self) -> list[tuple[str, Fault]]:
        """The faults that no request has met, with the name of this world."""
        return [(self.name, each) for each in self.faults.unused()]

    def record(self, entry: Entry) -> int:
        """Add a request to the journal and to the coverage in one step; return its number."""
        with self.journal.lock:
            number = self.journal.append(entry)
            for coverage in self._coverages:
                coverage.count(self.name, number, entry)
            return number

    def recorded(self) -> tuple[int, int, dict[str, Any]]:
        """The number of the oldest entry, the highest number, and the coverage of these."""
        with self.journal.lock:
            last = self.journal.last
            return last - len(self.journal.entries) + 1, last, self.coverage.document()
