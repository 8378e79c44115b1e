"""Worlds: each has a store, a clock, faults, a journal and a coverage, and is replaced whole."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from problems import Problem
from redaction import Redactor
from store import Clock, Store

from .contract import Contract
from .coverage import Coverage, Outcome
from .faults import Fault, Faults
from .grease import Greasing
from .journal import Entry, Journal
from .options import Options
from .seed import Seed, StoreFactory

MAX_WORLDS = 1000
MAX_ADVANCE = timedelta(days=3653)
MICROSECOND = timedelta(microseconds=1)


class TooManyWorlds(Problem):
    """507: there is no room for another world."""

    def __init__(self) -> None:
        detail = f"There are {MAX_WORLDS:,} worlds. Reset one that is no longer used, to free it."
        super().__init__(507, "too_many_worlds", detail)


class Turned(NamedTuple):
    """How a clock was turned: ahead of the real time, or frozen; `advanced` is the total."""

    frozen_at: datetime | None = None
    ahead: timedelta = timedelta()
    advanced: timedelta = timedelta()

    def time(self, real: datetime) -> datetime:
        return real + self.ahead if self.frozen_at is None else self.frozen_at

    def has_room(self, seconds: float) -> bool:
        return seconds <= (MAX_ADVANCE - self.advanced).total_seconds()

    def turned(self, real: datetime, seconds: float, *, freeze: bool | None) -> "Turned":
        step = timedelta(seconds=seconds)
        now = self.time(real) + step
        is_frozen = self.frozen_at is not None if freeze is None else freeze
        return Turned(now if is_frozen else None, now - real, self.advanced + step)

    def setting(self) -> str:
        """The text that a store keeps."""
        frozen_at = self.frozen_at and self.frozen_at.isoformat()
        return json.dumps([frozen_at, self.ahead // MICROSECOND, self.advanced // MICROSECOND])


@lru_cache(MAX_WORLDS)
def read_setting(setting: str) -> Turned:
    frozen_at, ahead, advanced = json.loads(setting)
    frozen_at = frozen_at and datetime.fromisoformat(frozen_at)
    return Turned(frozen_at, ahead * MICROSECOND, advanced * MICROSECOND)


def turn_time(start: Turned, real: datetime, setting: str) -> datetime:
    """The time of a clock with this setting; an empty one is that of the start."""
    return (read_setting(setting) if setting else start).time(real)


class WorldClock:
    """The clock of a world. How it was turned is in its store; at first it is as at the `start`."""

    def __init__(self, store: Store, real: Clock, start: Turned) -> None:
        self._store = store
        self._real = real
        self._start = start

    def __call__(self) -> datetime:
        return self._store.now()

    @property
    def is_frozen(self) -> bool:
        return self._turned().frozen_at is not None

    @property
    def advanced(self) -> float:
        """The seconds by which it was advanced."""
        return self._turned().advanced.total_seconds()

    def refresh(self) -> None:
        """Learn how another process turned it, as every call of the store does."""
        self._store.get_deployment("")

    def has_room(self, seconds: float) -> bool:
        """Whether it can be advanced by so much without passing `MAX_ADVANCE` in total."""
        self.refresh()
        return self._turned().has_room(seconds)

    def turn(self, seconds: float, *, freeze: bool | None) -> bool:
        """Advance it, if `has_room()`, and freeze it or let it run; None changes neither."""
        while True:
            setting = self._store.clock_setting()
            turned = self._turned()
            if not turned.has_room(seconds):
                return False
            turned = turned.turned(self._real(), seconds, freeze=freeze)
            if self._store.set_clock(setting, turned.setting()):
                return True

    def rewrite(self) -> None:
        """Write how it was turned: raises `StoreUnavailable` where the store cannot be used."""
        while not self._store.set_clock(setting := self._store.clock_setting(), setting):
            pass

    def _turned(self) -> Turned:
        setting = self._store.clock_setting()
        return read_setting(setting) if setting else self._start


@dataclass(frozen=True)
class World:
    """A world between two resets. A request stays in the one that it entered.

    `instance` differs for each of them, also after the program was started anew.
    """

    name: str
    clock: WorldClock
    store: Store
    coverage: Coverage
    greasing: Greasing
    journal: Journal
    faults: Faults = field(default_factory=Faults)
    instance: str = field(default_factory=lambda: uuid4().hex)
    _lock: Lock = field(default_factory=lambda: Lock(), repr=False, compare=False)

    def record(self, entry: Entry, outcome: Outcome) -> None:
        """Add a request to the journal and to the coverage in one step."""
        with self._lock:
            self.coverage.count(self.journal.append(entry), entry, outcome)

    def recorded(
        self, after: int, limit: int
    ) -> tuple[Iterator[tuple[int, Entry]], int, int, dict[str, Any]]:
        """What `Journal.newest()` returns, and the coverage of the same requests."""
        with self._lock:
            return *self.journal.newest(after, limit), self.coverage.document()


class WorldFactory:
    """Makes worlds, which share the records that they start with."""

    def __init__(
        self, stores: StoreFactory, contract: Contract, options: Options, redactor: Redactor
    ) -> None:
        self._redactor = redactor
        self._new_id = stores.new_id
        self._contract = contract
        self._options = options
        self._initial = self._greasing("")
        self._start = Turned(options.freeze)
        self._real = stores.clock
        # The seed gets the ids that it lacks from the same source as a world.
        self._stores = replace(
            stores,
            clock=lambda: self._start.time(self._real()),
            new_id=self._initial.new_id,
        )
        self._stores.initial_records  # noqa: B018 numbers these ids before any world's

    def __call__(self, name: str, seed: Seed | None) -> World:
        """A new world, which starts with a seed, or with the one of the program."""
        greasing = self._greasing(name, self._initial if seed is None else None)
        new_id = greasing.new_id
        turn = partial(turn_time, self._start)
        store = self._stores.open(name, self._real, new_id, turn=turn)
        if seed is not None:
            store.reset(self._stores.records(seed, self._stores.clock(), new_id))
        clock = WorldClock(store, self._real, self._start)
        coverage, journal = Coverage(self._contract, name), Journal(self._redactor)
        return World(name, clock, store, coverage, greasing, journal)

    def _greasing(self, world: str, initial: Greasing | None = None) -> Greasing:
        """The grease of a world. Its ids are random, or functions of --ids-seed and the number."""
        options = self._options

        def plain_id(prefix: str, number: int) -> str:
            if options.ids_seed is None:
                return self._new_id(prefix)
            key = f"{options.ids_seed} {world} {number}"
            return f"{prefix}_{blake2b(key.encode(), digest_size=8).hexdigest()}"

        return Greasing(options.grease, options.grease_seed, plain_id, initial)


class Worlds:
    """The worlds by name. The main one has the empty name and exists from the start.

    `make` makes a world of a name and a seed, or of the seed that the program was started with.
    """

    def __init__(self, make: Callable[[str, Seed | None], World], contract: Contract) -> None:
        self._make = make
        self._contract = contract
        self._lock = Lock()
        self._worlds = {"": make("", None)}
        self._ended = Coverage(contract)  # of the worlds that a reset has ended
        self._unused_faults: deque[Fault] = deque(maxlen=MAX_WORLDS)  # of these
        self.rejections: Counter[tuple[int, str]] = Counter()  # of the server, by status and code

    def open(self, name: str) -> World:
        """The world of that name, made on first use. Raises `TooManyWorlds`."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                if name not in self._worlds:
                    self._check_room()
                    self._worlds[name] = self._make(name, None)
                world = self._worlds[name]
        return world

    def intended(self, name: str) -> World:
        """The world that a rejected request meant; the main one where there is no room for it."""
        try:
            return self.open(name)
        except TooManyWorlds:
            return self.open("")

    def reset(self, name: str, seed: Seed | None) -> None:
        """Replace a world by one of the seed, or by one as at the start.

        A named world without a seed is removed, and made anew on its next use. Raises
        `TooManyWorlds` if a seed is for one more world.
        """
        if seed is not None:
            self.open(name)  # takes a place before the records are written
        world = self._make(name, seed)
        if seed is None:
            world.store.reset()
        with self._lock:
            previous = self._worlds.pop(name, None)
            if seed is not None or not name:
                self._worlds[name] = world
        if previous is not None:
            previous.coverage.add_to(self._ended, for_good=True)
            self._unused_faults.extend(previous.faults.unused())

    def count_rejection(self, status: int, code: str) -> None:
        """Count a request that the server rejected before the app."""
        with self._lock:
            self.rejections[status, code] += 1

    def coverage_of_the_run(self) -> Coverage:
        """What all requests to all worlds covered, those before a reset included."""
        run = Coverage(self._contract)
        with self._lock:
            worlds = list(self._worlds.values())
        for coverage in (self._ended, *(world.coverage for world in worlds)):
            coverage.add_to(run)
        return run

    def unused_faults(self) -> list[Fault]:
        """The faults of all worlds that no request has met."""
        with self._lock:
            worlds = list(self._worlds.values())
        return [*self._unused_faults, *(each for world in worlds for each in world.faults.unused())]

    def _check_room(self) -> None:
        if len(self._worlds) > MAX_WORLDS:  # the main one is not counted
            raise TooManyWorlds
