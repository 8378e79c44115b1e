"""Worlds: each has a store, a clock, ids, faults, a journal and a coverage, and is replaced whole.

`Stub` has all worlds of an app, and what they share.
"""

import json
import time
from collections import ChainMap, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from random import Random
from threading import Lock
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from records import STATUSES, Deployment, Records, Timeline, timelines_of
from store import Clock, NewId, Store
from web.problems import Problem
from web.redaction import Redactor

from .clock import MAX_ADVANCE, WorldClock
from .contract import Contract
from .coverage import Coverage
from .entry import Entry
from .failures import Failures
from .faults import Fault, Faults
from .grease.axes import ID_AXES, Pair, Parts, Switch, read_grease
from .grease.variants import vary_id
from .journal import Journal
from .like.ids import make_id
from .like.markers import NAME
from .like.profile import Profile
from .like.service import LikeStore, Responses
from .seed import Seed
from .verdict import Finding, Verdict

MAX_WORLDS = 1000
PARTS = {"prj": "projects", "dpl": "deployments"}  # by the prefix of an id


class TooManyWorlds(Problem):
    """507: there is no room for another world."""


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
    failures: Failures | None = None  # those of a run of `--probe failures`
    like: Profile | None = None  # of a service


@dataclass
class Ids:
    """The source of the ids of a world, a `store.NewId`.

    Created ids may be random, so each is numbered, and its number is the key of the resource.
    Grease may be switched on later, so ids are always numbered. Any other id is its own key. All
    worlds share the ids that they begin with. `forms` are those of a profile.
    """

    new_id: NewId
    seed: int | None
    forms: Mapping[str, dict[str, Any]]
    grease: Switch
    world: str = ""
    are_varied: bool = False  # whether grease varied any of them
    _count: int = 0
    # The key of each id, and the axes that varied it, each with its part.
    _made: ChainMap[str, tuple[str, tuple[Pair, ...]]] = field(default_factory=ChainMap)

    def __post_init__(self) -> None:
        self._lock = Lock()

    def of_world(self, world: str, grease: Switch) -> "Ids":
        """The ids of a world, which begins with these."""
        return replace(self, world=world, grease=grease, _made=self._made.new_child())

    def __call__(self, prefix: str, base: str = "", attempt: int = 0) -> str:
        """The id of a new resource: the plain one, or a varied one."""
        part = PARTS.get(prefix, prefix)
        with self._lock:
            self._count += 1
            key = f"#{self._count}"
            made = self._plain_id(prefix, part, base, attempt)
            grease = self.grease.current
            pairs = tuple([(axis, part) for axis in ID_AXES if grease.varies(axis, part)])
            if pairs:
                made = vary_id(dict(pairs), grease.seed, key, made)
                self.are_varied = True
            self._made.setdefault(made, (key, pairs))  # an id of a deployment may be its project's
            return made

    def _plain_id(self, prefix: str, part: str, base: str, attempt: int) -> str:
        source = f"{self.seed} {self.world} {self._count}"
        if part in self.forms:
            random = Random(None if self.seed is None else source)
            return make_id(self.forms[part], random, self._count, base, attempt)
        if self.seed is None:
            return self.new_id(prefix, base, attempt)
        return f"{prefix}_{blake2b(source.encode(), digest_size=8).hexdigest()}"

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""
        return self._made.get(text, (text, ()))[0]

    def pairs_of(self, text: str) -> tuple[Pair, ...]:
        """The axes that varied an id, with its part; none for any other text."""
        return self._made.get(text, (text, ()))[1]


@dataclass(eq=False)
class Stub:
    """The worlds of an app by name, what they are made of, and what they share.

    The main world has the empty name and exists from the start. `new_store` to `seed` are those of
    `create_app`. Raises `UnknownPart`.
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
        options, like = self.options, self.options.like
        self.like = like
        self.responses = Responses(like) if like else None
        self.words = like.words if like else ()
        self.contract = Contract(json.loads(self.openapi))
        self.operations = [operation.id for operation in self.contract.operations]
        self.run = Coverage(self.contract)  # of all worlds, those that a reset has ended included
        self.parts = Parts(self.contract)
        self.grease = read_grease(options.grease, options.grease_seed, self.parts.by_axis)
        self.delays = Random(options.delay_seed)
        run = (like and like.run) or STATUSES
        self.timeline_for = timelines_of(self.pace, run, self.outcomes)
        # The ids and the records that all worlds start with.
        forms = like.ids if like else {}
        self.ids = Ids(self.new_id, options.ids_seed, forms, Switch(self.grease))
        now = options.freeze or self.clock()
        self.records = (self.seed or Seed()).records(now, self.ids, self.timeline_for)
        self._lock = Lock()
        self._kept = 0  # bytes of all journals, those of ended worlds included until it is too much
        self._count_lock = Lock()  # another one, as a reset may be slow
        self._worlds = {"": World("", self)}
        # Of the worlds that a reset has ended.
        self._unused_faults: deque[tuple[str, Fault]] = deque(maxlen=MAX_WORLDS)
        self._dropped = 0
        # By code: how many, and the first.
        self._rejections: dict[str, tuple[int, dict[str, Any]]] = {}

    def open(self, name: str) -> "World":
        """The world of that name, made on first use. Raises `TooManyWorlds`."""
        if world := self._worlds.get(name):
            return world
        with self._lock:
            self._check_room(name)
            self._worlds[name] = world = self._worlds.get(name) or World(name, self)
            return world

    def intended(self, name: str) -> "World":
        """The world that a rejected request meant; the main one where there is no room for it."""
        try:
            return self.open(name)
        except TooManyWorlds:
            return self.open("")

    def document(self) -> dict[str, Any]:
        """The worlds of this process by name, the main one first, and the room for more of them."""
        with self._lock:
            worlds = [self._worlds[name] for name in sorted(self._worlds)]
        documents = [
            {
                "name": world.name,
                "projects": len(world.store.list_projects()),
                "requests": world.journal.last,
            }
            for world in worlds
        ]
        # The main one needs no room.
        return {"worlds": documents, "room": MAX_WORLDS + 1 - len(worlds)}

    def reset(self, name: str, seed: Seed | None) -> None:
        """Replace a world by one of the seed, or by one as at the start.

        A named world without a seed is removed, and made anew on its next use. Raises
        `TooManyWorlds` if a seed is for one more world.
        """
        with self._lock:
            if seed is not None:
                self._check_room(name)
            world = World(name, self)
            world.store.reset(None if seed is None else world.records_of(seed))
            previous = self._worlds.pop(name, None)
            if seed is not None or not name:
                self._worlds[name] = world
            if previous:
                self._unused_faults.extend(previous.unused_faults())
                self._dropped += previous.journal.dropped

    def count_rejection(
        self, method: str, target: str, host: str, status: int | None, code: str, detail: str
    ) -> None:
        """Count a request that the server rejected before the app, or that did not arrive whole.

        The target is as it was sent; without a response there is no status.
        """
        redactor = self.redactor
        path, _, query = target.partition("?")
        request = {  # as the first one of a finding, which has a world and a number
            "world": None,
            "number": None,
            "method": redactor.text(method),
            "path": redactor.text(path),
            "query": redactor.query(query),
            "headers": {"Host": redactor.host(host)} if host else {},
            "body": "",
            "status": status,
            "code": code,
            "reason": detail,
        }
        with self._count_lock:
            count, first = self._rejections.get(code, (0, request))
            self._rejections[code] = count + 1, first

    def make_room(self, size: int) -> None:
        """Count the bytes that an entry keeps. Where all keep too much, drop the oldest entries of
        the largest journals, and a sixteenth more than needed, so that this is rare.
        """
        most = self.options.journal_bytes
        with self._count_lock:
            self._kept += size
            if self._kept > most:
                journals = [world.journal for world in list(self._worlds.values())]
                excess = sum(each.size for each in journals) - most * 15 // 16
                while excess > 0:
                    dropped = max(journals, key=lambda each: each.size).drop()
                    if not dropped:  # a request has cleared the journals meanwhile
                        break
                    excess -= dropped
                self._kept = sum(each.size for each in journals)

    def judge(
        self,
        fail_on: Collection[str] = (),
        allowed: Collection[str] = (),
        more: Collection[Finding] = (),
    ) -> Verdict:
        """The verdict of all requests so far, to all worlds.

        `more` are findings that the requests alone do not show.
        """
        with self._lock:
            worlds = self._worlds.values()
            unused = [*self._unused_faults, *(x for each in worlds for x in each.unused_faults())]
            dropped = self._dropped + sum(each.journal.dropped for each in worlds)
        rejections = self._rejections.values()
        return Verdict(self.run, unused, rejections, self.redactor, fail_on, allowed, more, dropped)

    def _check_room(self, name: str) -> None:
        if name not in self._worlds and len(self._worlds) > MAX_WORLDS:
            detail = (
                f"There are {MAX_WORLDS:,} worlds. Reset one that is no longer used, to free it."
            )
            raise TooManyWorlds(507, "too_many_worlds", detail)


class World:
    """A world between two resets. A request stays in the one that it entered."""

    def __init__(self, name: str, stub: Stub) -> None:
        self._stub = stub
        self.name = stub.redactor.text(name)  # masked, as a name may be a token
        self.instance = uuid4().hex  # of no other world, also after the program was started anew
        self.coverage = Coverage(stub.contract)
        self.journal = Journal()
        self.faults = Faults()
        self.set_ups: list[SetUp] = []  # the latest ones of Pact, which a teardown takes back
        self.grease = Switch(stub.grease)
        self.ids = stub.ids.of_world(name, self.grease)
        clock, frozen_at = stub.clock, stub.options.freeze
        if hasattr(stub.new_store, "share_clock"):  # where processes share the records
            self.clock = stub.new_store.share_clock(clock, frozen_at, MAX_ADVANCE, world=name)
        else:
            self.clock = WorldClock(clock, frozen_at)
        self.timeline_for = stub.timeline_for
        self.outcomes = stub.outcomes
        self.like = stub.like
        self.store: WorldStore = stub.new_store(
            self.clock,
            self.ids,
            timeline_for=self.timeline_for,
            max_projects=stub.max_projects,
            records=stub.records,
            world=name,
            unique_names=stub.like is None or stub.like.has_unique_names,
        )
        # An example of the request that creates a project, and the store of the requests to /v1.
        self.request = stub.like.request if stub.like else {"name": NAME}
        self.service: Any = self.store
        if stub.responses:
            self.service = LikeStore(self.store, stub.responses, self.timeline_for)

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
            for coverage in (self.coverage, self._stub.run):
                coverage.count(self.name, number, entry)
            return number

    def recorded(self) -> tuple[int, int, dict[str, Any]]:
        """The number of the oldest entry, the highest number, and the coverage of these."""
        with self.journal.lock:
            last = self.journal.last
            return last - len(self.journal.entries) + 1, last, self.coverage.document()
