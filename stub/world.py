"""Worlds: each has a store, a clock, faults, a journal and a coverage, and is swapped whole."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from store import Clock, Store

from .coverage import Coverage
from .faults import Faults
from .grease import Greasing
from .journal import Journal
from .seed import Seed

MAX_WORLDS = 1000
MAX_AHEAD = timedelta(days=3653)


class TooManyWorlds(Exception):
    """There are as many worlds as there may be."""


class WorldClock:
    """The real time, and what it was turned ahead by."""

    def __init__(self, real: Clock) -> None:
        self._real = real
        self._ahead = timedelta()
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self._real() + self._ahead

    def has_room(self, seconds: float) -> bool:
        """Whether so much more is not further ahead than `MAX_AHEAD`."""
        return seconds <= (MAX_AHEAD - self._ahead).total_seconds()

    def advance(self, seconds: float) -> bool:
        """Turn it ahead, if there is room for that."""
        with self._lock:
            if not self.has_room(seconds):
                return False
            self._ahead += timedelta(seconds=seconds)
            return True


@dataclass(frozen=True)
class World:
    """What a world is between two resets. A request holds on to the one it began with."""

    clock: WorldClock
    store: Store
    coverage: Coverage
    greasing: Greasing
    faults: Faults = field(default_factory=Faults)
    journal: Journal = field(default_factory=Journal)


class Worlds:
    """The worlds by name. The main one has the empty name, and is there from the start.

    `make` gives a new world from a seed, or from the one that the program was started with.
    """

    def __init__(self, make: Callable[[Seed | None], World]) -> None:
        self._make = make
        self._lock = Lock()
        self._worlds = {"": make(None)}

    def open(self, name: str) -> World:
        """The world of that name, made on first use, or `TooManyWorlds`."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                if name not in self._worlds:
                    self._check_room()
                    self._worlds[name] = self._make(None)
                world = self._worlds[name]
        return world

    def reset(self, name: str, seed: Seed | None) -> None:
        """Swap the world: for one of the seed, or for one as at the start, which a named world
        is when it is next used. Raises `TooManyWorlds` if a seed asks for one more.
        """
        if seed is None and name:
            with self._lock:
                self._worlds.pop(name, None)
            return
        world = self._make(seed)
        with self._lock:
            if name not in self._worlds:
                self._check_room()
            self._worlds[name] = world

    def _check_room(self) -> None:
        if len(self._worlds) > MAX_WORLDS:  # the main one is beside them
            raise TooManyWorlds
