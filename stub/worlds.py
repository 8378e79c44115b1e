"""Worlds: each has a store, a clock, ids, faults, a journal, a coverage, and is replaced whole."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from records import STATUSES
from store import Clock, NewId

from .clock import Setting, WorldClock
from .contract import Contract
from .coverage import Coverage
from .entry import Entry
from .faults import Fault, Faults
from .grease.axes import Parts, Switch, read_grease
from .ids import Ids
from .journal import Journal
from .like.service import LikeStore, Responses
from .options import Options
from .redaction import Redactor
from .rejections import Rejections
from .seed import Seed
from .store import Records, StubStore, WorldStore
from .tenants import Tenant, prefix_of
from .timelines import timelines_of
from .tokens import Tokens, read_token


class SetUp(NamedTuple):
    """A provider state that was set up, and the records of before."""

    name: str
    params: dict[str, Any]
    before: Records


class Worlds:
    """The worlds of a stub by name, each made on its first use, and what they share.

    Raises `ValueError` for an invalid token, and for an unknown part.
    """

    def __init__(self, options: Options, contract: bytes, clock: Clock, new_id: NewId) -> None:
        self.options = options
        self.clock = clock
        self.tokens = Tokens(options.tokens)
        self.redactor = options.redactor or Redactor()
        self.redactor.replace([read_token(each).value for each in options.tokens])
        self.like = options.like
        self.responses: Responses | None = None
        self.words: tuple[str, ...] = ()
        run: Sequence[str] = STATUSES
        id_forms: Mapping[str, dict[str, Any]] = {}
        names = None
        if self.like:
            self.responses = Responses(self.like)
            self.words = self.like.words
            run = self.like.run or STATUSES
            id_forms = self.like.ids
            names = self.like.names_of_request
        self.contract = Contract(json.loads(contract), names)
        self.parts = Parts(self.contract)
        self.grease = read_grease(options.grease, options.grease_seed, self.parts.by_axis)
        # Of all worlds, also of those that have ended.
        self.coverage = Coverage(self.contract)
        self.rejections = Rejections(self.redactor)
        # The ids and the records that all worlds start with.
        self.ids = Ids(new_id, options.ids_seed, id_forms, Switch(self.grease))
        self.timeline_for = timelines_of(options.pace, run, options.outcomes)
        now = options.freeze or clock()
        self.records = options.seed.records(now, self.ids, self.timeline_for)
        self.shared = options.stores
        self.new_store = partial(
            WorldStore,
            timeline_for=self.timeline_for,
            max_projects=options.max_projects,
            unique_names=self.like is None or self.like.has_unique_names,
        )
        self._tenants: dict[str, Tenant] = {}  # by the prefix of their worlds

    def authenticate(self, token: str) -> "Visit | None":
        """What a token opens: its world; None for an unknown token."""
        name = self.tokens.world_of(token)
        return None if name is None else Visit(name, self)

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
        """The world that a rejected request meant; its tenant's main one if there is no room."""
        return self.tenant(name).open_if_room(name)

    def new_world(self, name: str) -> "World":
        """A world as at the start, which its tenant does not have yet."""
        return World(name, self)

    def open_store(self, world: str, ids: Ids) -> tuple[StubStore, WorldClock]:
        """The store of a new world and its clock, which programs may share."""
        clock = WorldClock(self.clock, Setting(self.options.freeze))
        if self.shared:
            return self.shared.open(world, clock, ids, self.records, self.new_store)
        return self.new_store(clock, ids, records=self.records), clock

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
        self.timeline_for = worlds.timeline_for
        self.store, self.clock = worlds.open_store(name, self.ids)
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


class Visit:
    """A request's visit to a world, which is opened at the first use: a rejected request opens
    none. It is the `Store` of the request, and notes which deployment was read, and when.
    """

    deployment: Any = None
    time: datetime
    _world: World | None = None

    def __init__(self, name: str, worlds: Worlds) -> None:
        self.name = name  # the full name of the world
        self._worlds = worlds

    @property
    def world(self) -> World:
        """Raises `TooManyWorlds`."""
        if self._world is None:
            self._world = self._worlds.open(self.name)
        return self._world

    @property
    def status_read(self) -> str | None:
        """The status of the deployment that was read, if one was."""
        if self.deployment is None:
            return None
        status: str = self.deployment.status(self.time)
        return status

    def now(self) -> datetime:
        self.time = self.world.service.now()
        return self.time

    def list_projects(self) -> Any:
        return self.world.service.list_projects()

    def create_project(self, name: str, sent: str) -> Any:
        return self.world.service.create_project(name, sent)

    def get_deployment(self, deployment_id: str) -> Any:
        self.deployment = self.world.service.get_deployment(deployment_id)
        return self.deployment
