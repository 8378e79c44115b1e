"""The worlds of a stub, and a request's visit to one of them."""

from collections import deque
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import Any

from records import Deployment, Project, ProjectList
from store import StoreUnavailable
from web.problems import Problem

from .coverage import Coverage
from .faults import Fault
from .journal import Journal, JournalMemory
from .seed import Seed
from .tokens import Tokens, WorldName
from .world import Common, World


class TooManyWorlds(Problem):
    """507: there is no room for another world."""


class Worlds:
    """The worlds by name, each made on its first use.

    Raises `ValueError` for an invalid token.
    """

    def __init__(self, common: Common) -> None:
        self.common = common
        self.tokens = Tokens(common.options.tokens)
        self._memory = JournalMemory(common.options.journal_bytes, self._journals)
        self._clock = common.clock
        self._stores = common.stores
        self._lock = Lock()
        self._worlds: dict[WorldName, World] = {}
        self._most = common.options.max_worlds
        # Of the worlds that have ended.
        self._unused_faults: deque[tuple[str, Fault]] = deque(maxlen=common.options.max_faults)
        self._dropped = 0

    def authenticate(self, token: str) -> "Visit | None":
        """What a token opens: a visit to its world; None for an unknown token."""
        name = self.tokens.world_of(token)
        return None if name is None else Visit(name, self)

    def open(self, name: WorldName) -> World:
        """The world of that name, made on first use. Raises `TooManyWorlds`."""
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                removed = self._make_room_for(name)
                world = self._find_or_make(name)
            self._forget(removed)
        world.used_at = self._clock()
        return world

    def intended(self, name: WorldName) -> World:
        """The world that a rejected request meant; its tenant's main one if that needs the end of
        another.
        """
        world = self._worlds.get(name)
        if world is None:
            with self._lock:
                world = self._find_or_make(name if self._has_room_for(name) else name.main)
        world.used_at = self._clock()
        return world

    def reset(self, name: WorldName, seed: Seed | None) -> None:
        """Replace a world by one of the seed, or by one as at the start.

        A named world without a seed is removed, and made anew on its next use. Raises
        `TooManyWorlds` if a seed is for one more world.
        """
        if seed is not None:
            with self._lock:
                removed = self._make_room_for(name)
            self._forget(removed)
        # Made without the lock, since a large seed takes time.
        world = World(name, self.common, self._memory)
        world.store.reset(world.records_of(seed) if seed is not None else None)
        removed = None
        with self._lock:
            if seed is not None:
                removed = self._make_room_for(name)
            self._remove(name)
            if seed is not None or name == name.main:
                self._worlds[name] = world
        self._forget(removed)

    def free(self, tenant: str, idle: float) -> None:
        """Remove the worlds of a tenant that nobody has used for so many seconds, but not the main
        one. With a shared store also those that other programs have left there.
        """
        if self._stores:
            idle = max(idle, self._stores.least_idle)
        with self._lock:
            for name in self._named(tenant):
                if self._is_idle(name, idle):
                    self._remove(name)
            here = {str(name) for name in self._worlds}
        if self._stores:
            main = WorldName(tenant)
            for shared in self._stores.worlds(str(main)):
                if shared != str(main) and shared not in here:
                    self._stores.free(shared, idle)

    def unused_faults(self) -> list[tuple[str, Fault]]:
        """The faults that no request has met, each with its world; also of worlds that ended."""
        with self._lock:
            found = list(self._unused_faults)
            for world in self._worlds.values():
                found += world.unused_faults()
            return found

    def coverage(self) -> Coverage:
        """That of all requests so far, to all worlds."""
        for journal in self._journals():
            journal.count()
        return self.common.coverage

    def dropped(self) -> int:
        """How many entries the journals dropped."""
        with self._lock:
            return self._dropped + sum(each.journal.dropped for each in self._worlds.values())

    def document(self, tenant: str) -> dict[str, Any]:
        """The worlds of a tenant, the main one first, and the room of this process for more.

        With a shared store also those that other programs have there, without their requests.
        """
        main = WorldName(tenant)
        self.open(main)
        with self._lock:
            worlds = {str(name): each for name, each in self._worlds.items() if name.main == main}
        projects = self._projects_of(worlds, str(main))
        redactor = self.common.redactor
        rows = []
        for name in sorted(projects):
            world = worlds.get(name)
            row = {
                "name": redactor.text(name.removeprefix(str(main))),
                "projects": projects[name],
                "requests": world.journal.last if world else 0,
            }
            rows.append(row)
        return {"worlds": rows, "room": 1 + self._most - len(worlds)}

    def _projects_of(self, worlds: dict[str, World], prefix: str) -> dict[str, int]:
        """The number of projects of these worlds, and of those that a shared store has."""
        if self._stores:
            # A world without records there begins with those of the start.
            at_start = len(self.common.records.projects)
            return dict.fromkeys(worlds, at_start) | self._stores.worlds(prefix)
        return {name: len(world.store.list_projects()) for name, world in worlds.items()}

    def _journals(self) -> list[Journal]:
        return [world.journal for world in list(self._worlds.values())]

    # The caller of these holds the lock.

    def _named(self, tenant: str) -> list[WorldName]:
        """The worlds of a tenant beside its main one."""
        return [name for name in self._worlds if name.tenant == tenant and name != name.main]

    def _find_or_make(self, name: WorldName) -> World:
        world = self._worlds.get(name) or World(name, self.common, self._memory)
        self._worlds[name] = world
        return world

    def _has_room_for(self, name: WorldName) -> bool:
        """Whether a world is there, or can be without the end of another."""
        is_bound = name not in self._worlds and name != name.main
        return not is_bound or len(self._named(name.tenant)) < self._most

    def _make_room_for(self, name: WorldName) -> WorldName | None:
        """Remove the world that is unused for longest if a new one needs room; return its name."""
        if self._has_room_for(name):
            return None
        oldest = min(self._named(name.tenant), key=lambda each: self._worlds[each].used_at)
        idle = self.common.options.world_idle
        if not self._is_idle(oldest, idle):
            period = "hour" if idle == 3600 else f"{idle:g} seconds"
            detail = (
                f"There are {self._most:,} worlds, and each was used in the last {period}. "
                "Reset one that is no longer used, or send `DELETE /_stub/worlds?idle=SECONDS`."
            )
            raise TooManyWorlds(507, "too_many_worlds", detail)
        self._remove(oldest)
        return oldest

    def _is_idle(self, name: WorldName, seconds: float) -> bool:
        unused = self._clock() - self._worlds[name].used_at
        return unused.total_seconds() >= seconds

    def _remove(self, name: WorldName) -> None:
        """Remove a world, if it is there, but for what the verdict of the run has of it."""
        world = self._worlds.pop(name, None)
        if world:
            world.journal.end()
            self._unused_faults.extend(world.unused_faults())
            self._dropped += world.journal.dropped

    def _forget(self, removed: WorldName | None) -> None:
        """Free the records of a removed world in a shared store. There they expire anyway."""
        if removed and self._stores:
            with suppress(StoreUnavailable):
                self._stores.free(str(removed), self.common.options.world_idle)


class Visit:
    """A request's visit to a world, which is opened at the first use: a rejected request opens
    none. It is the `Store` of the request, and notes which deployment was read, and when.
    """

    deployment: Deployment | None = None
    time: datetime
    opened: World | None = None

    def __init__(self, name: WorldName, worlds: Worlds, *, is_accepted: bool = True) -> None:
        self.name = name
        self.is_accepted = is_accepted  # by the bearer check
        self._worlds = worlds

    @property
    def world(self) -> World:
        """Raises `TooManyWorlds`."""
        if self.opened is None:
            self.opened = self._worlds.open(self.name)
        return self.opened

    @property
    def status_read(self) -> str | None:
        """The status of the deployment that was read, if one was."""
        if self.deployment is None:
            return None
        return self.deployment.status(self.time)

    def now(self) -> datetime:
        self.time = self.world.store.now()
        return self.time

    def list_projects(self) -> ProjectList:
        return self.world.store.list_projects()

    def create_project(self, name: str, sent: str) -> Project:
        return self.world.store.create_project(name, sent)

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        self.deployment = self.world.store.get_deployment(deployment_id)
        return self.deployment
