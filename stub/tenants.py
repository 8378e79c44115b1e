"""Tenants: each has worlds of its own and room for so many. None reaches those of another."""

from collections import deque
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from store import StoreUnavailable
from web.problems import Problem

from .faults import Fault
from .seed import Seed

if TYPE_CHECKING:
    from .worlds import World, Worlds

MAX_WORLDS = 1000  # of a tenant, beside its main one
MAX_UNUSED_FAULTS = 1000  # of its worlds that have ended


class TooManyWorlds(Problem):
    """507: there is no room for another world."""


def prefix_of(world: str) -> str:
    """What the full names of a tenant's worlds begin with: `team-a/`, or nothing without a name."""
    return world[: world.find("/") + 1]


class Tenant:
    """The worlds of a tenant by their full names; that of the main one is the prefix."""

    def __init__(self, prefix: str, all_worlds: "Worlds") -> None:
        self._prefix = prefix
        self._all_worlds = all_worlds
        self._clock = all_worlds.clock
        self._shared = all_worlds.shared
        self._lock = Lock()
        self._worlds: dict[str, World] = {}
        # Of the worlds that have ended.
        self._unused_faults: deque[tuple[str, Fault]] = deque(maxlen=MAX_UNUSED_FAULTS)
        self._dropped = 0

    def open(self, name: str) -> "World":
        """The world of that name, made on first use. Raises `TooManyWorlds`."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                removed = self._make_room_for(name)
                world = self._find_or_make(name)
            self._forget(removed)
        world.used_at = self._clock()
        return world

    def open_if_room(self, name: str) -> "World":
        """The world of that name; the main one if it is not there and needs the end of another."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                world = self._find_or_make(name if self._has_room_for(name) else self._prefix)
        world.used_at = self._clock()
        return world

    def reset(self, name: str, seed: Seed | None) -> None:
        """Replace a world by one of the seed, or by one as at the start.

        A named world without a seed is removed, and made anew on its next use. Raises
        `TooManyWorlds` if a seed is for one more world.
        """
        removed = None
        records = None
        with self._lock:
            if seed is not None:
                removed = self._make_room_for(name)
            world = self._all_worlds.new_world(name)
            if seed is not None:
                records = world.records_of(seed)
            world.store.reset(records)
            self._remove(name)
            if seed is not None or name == self._prefix:
                self._worlds[name] = world
        self._forget(removed)

    def free(self, idle: float) -> None:
        """Remove the worlds that nobody has used for so many seconds, but not the main one.

        With a shared store also those that other programs have left there.
        """
        if self._shared:
            idle = max(idle, self._shared.least_idle)
        with self._lock:
            for name in self._named():
                if self._is_idle(name, idle):
                    self._remove(name)
        if self._shared:
            for name in self._shared.worlds(self._prefix):
                if name != self._prefix and name not in self._worlds:
                    self._shared.free(name, idle)

    def worlds(self) -> "list[World]":
        """The worlds of this process; without the lock, which a slow reset may hold."""
        return list(self._worlds.values())

    def unused_faults(self) -> list[tuple[str, Fault]]:
        """The faults that no request has met, each with its world; also of worlds that ended."""
        with self._lock:
            found = list(self._unused_faults)
            for world in self.worlds():
                found += world.unused_faults()
            return found

    def dropped(self) -> int:
        with self._lock:
            dropped = self._dropped
            for world in self.worlds():
                dropped += world.journal.dropped
            return dropped

    def document(self) -> dict[str, Any]:
        """The worlds by name, the main one first, and the room of this process for more of them.

        With a shared store also those that other programs have there, without their requests.
        """
        self.open(self._prefix)
        with self._lock:
            worlds = dict(self._worlds)
        redactor = self._all_worlds.redactor
        projects = self._projects_of(worlds)
        rows = []
        for name in sorted(projects):
            world = worlds.get(name)
            row = {
                "name": redactor.text(name.removeprefix(self._prefix)),
                "projects": projects[name],
                "requests": world.journal.last if world else 0,
            }
            rows.append(row)
        return {"worlds": rows, "room": 1 + MAX_WORLDS - len(worlds)}

    def _projects_of(self, worlds: "dict[str, World]") -> dict[str, int]:
        """The number of projects of these worlds, and of those that a shared store has."""
        numbers = {}
        if self._shared:
            # A world without records there begins with those of the start.
            at_start = self._all_worlds.records.projects
            numbers = dict.fromkeys(worlds, len(at_start))
            numbers |= self._shared.worlds(self._prefix)
            return numbers
        for name, world in worlds.items():
            projects = world.store.list_projects()
            numbers[name] = len(projects)
        return numbers

    def _named(self) -> list[str]:
        names = list(self._worlds)  # in one step, as other requests may add one
        return [name for name in names if name != self._prefix]

    def _find_or_make(self, name: str) -> "World":
        """The world of that name. The caller holds the lock."""
        world = self._worlds.get(name) or self._all_worlds.new_world(name)
        self._worlds[name] = world
        return world

    def _has_room_for(self, name: str) -> bool:
        """Whether a world is there, or can be without the end of another."""
        named = self._named()
        return name in self._worlds or name == self._prefix or len(named) < MAX_WORLDS

    def _make_room_for(self, name: str) -> str | None:
        """Remove the world that is unused for longest if a new one needs room; return its name."""
        if self._has_room_for(name):
            return None
        oldest = min(self._named(), key=lambda each: self._worlds[each].used_at)
        idle = self._all_worlds.options.world_idle
        if not self._is_idle(oldest, idle):
            period = "hour" if idle == 3600 else f"{idle:g} seconds"
            detail = (
                f"There are {MAX_WORLDS:,} worlds, and each was used in the last {period}. "
                "Reset one that is no longer used, or send `DELETE /_stub/worlds?idle=SECONDS`."
            )
            raise TooManyWorlds(507, "too_many_worlds", detail)
        self._remove(oldest)
        return oldest

    def _is_idle(self, name: str, seconds: float) -> bool:
        world = self._worlds[name]
        unused = self._clock() - world.used_at
        return unused.total_seconds() >= seconds

    def _remove(self, name: str) -> None:
        """Remove a world, if it is there, but for what the verdict of the run has of it."""
        world = self._worlds.pop(name, None)
        if world:
            self._unused_faults.extend(world.unused_faults())
            self._dropped += world.journal.dropped

    def _forget(self, removed: str | None) -> None:
        """Free the records of a removed world in a shared store. There they expire anyway."""
        if removed and self._shared:
            with suppress(StoreUnavailable):
                self._shared.free(removed, self._all_worlds.options.world_idle)
