"""The store of a world on Redis, and its clock: both read and change one document."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from redis import Redis, ResponseError, WatchError

from records import Deployment, Project, ProjectList, Timeline
from store import StoreUnavailable
from stub.clock import WorldClock
from stub.ids import MakeId
from stub.store import NewStore, Records, WorldStore

from .document import Document, read_document, write_fields
from .server import TIMEOUT, Server, log

DAY = 24 * 60 * 60  # seconds
MINUTE = 60
MAX_TRIES = 40  # of a change, where others come between

Made = TypeVar("Made")


class RedisClock(WorldClock):
    """The clock of a world, with the setting of the last document that was read."""

    def __init__(self, store: "RedisStore", start: WorldClock) -> None:
        super().__init__(start.real, start.setting)
        self._store = store

    def change(
        self, seconds: float = 0, *, freeze: bool | None = None, tick: float | None = None
    ) -> bool:
        return self._store.change(lambda _, clock: clock.change(seconds, freeze=freeze, tick=tick))

    def refresh(self) -> None:
        self._store.read()


class RedisStore:
    """The store of a world. A change is made to a `WorldStore` in memory, which is then written.

    `seconds` are those after which the document expires unless it is used. `start` and `records`
    are what a world begins with.
    """

    def __init__(
        self,
        server: Server,
        key: str,
        seconds: int | None,
        start: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: NewStore,
    ) -> None:
        self._server = server
        self._key = key
        self._seconds = seconds
        self._start = start
        self._ids = ids
        self._new_store = new_store
        self._initial = Document(None, None, records)
        self._known = self._initial
        self._lock = Lock()  # of the two above and below
        self.now = RedisClock(self, start)

    def list_projects(self) -> ProjectList:
        return self.read().list

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        return self.read().deployments_by_id.get(deployment_id)

    def records(self) -> Records:
        return self.read()

    def create_project(self, name: str, sent: str) -> Project:
        return self.change(lambda store, _: store.create_project(name, sent))

    def add(self, records: Records) -> None:
        self.change(lambda store, _: store.add(records))

    def remove_projects(self) -> None:
        self.change(lambda store, _: store.remove_projects())

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        return self.change(
            lambda store, _: store.put_deployment(deployment_id, timeline, project_id)
        )

    def reset(self, records: Records | None = None) -> None:
        with self._server.available(self._key) as redis, redis.pipeline() as pipeline:
            pipeline.unlink(self._key)
            if records is not None:
                store, clock = self._copy(self._initial._replace(records=records), self._ids)
                self._write(pipeline, store, clock)
            pipeline.execute()

    def read(self) -> Records:
        """The records as they are in Redis."""
        with self._server.available(self._key) as redis:
            pipeline = redis.pipeline(transaction=False)
            pipeline.hget(self._key, "version")
            pipeline.ttl(self._key)
            version, left = pipeline.execute()
            if version != self._known.version:
                with self._turn():
                    self._load(redis)
            if 0 <= left < DAY - MINUTE:
                with suppress(ResponseError):  # of a server that takes no writes
                    redis.expire(self._key, DAY)
            known = self._known
        if known.version:
            return known.records
        return self.change(lambda store, _: store.records())  # the world begins

    def change(self, make: Callable[[WorldStore, WorldClock], Made]) -> Made:
        """Change the records or the clock in memory, and write the document."""
        ids = cache(self._ids)  # a repeated change gets the same
        with self._turn():
            for _ in range(MAX_TRIES):
                with suppress(WatchError):
                    return self._try(make, ids)
        log.error("%s was not changed: other programs changed it meanwhile", self._key)
        raise StoreUnavailable

    def _try(self, make: Callable[[WorldStore, WorldClock], Made], ids: MakeId) -> Made:
        """Raises `WatchError` if another program changes the document meanwhile."""
        with self._server.available(self._key) as redis, redis.pipeline() as pipeline:
            pipeline.watch(self._key)  # type: ignore[no-untyped-call]
            self._load(pipeline)
            store, clock = self._copy(self._known, ids)
            made = make(store, clock)
            pipeline.multi()
            written = self._write(pipeline, store, clock)
            pipeline.execute()
            self._learn(written)
            return made

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Threads of this program take turns, since each would make the others repeat."""
        if not self._lock.acquire(timeout=TIMEOUT):
            raise StoreUnavailable
        try:
            yield
        finally:
            self._lock.release()

    def _load(self, redis: Redis) -> None:
        """Learn the document that is there, unless it is the last one."""
        if redis.hget(self._key, "version") != self._known.version:
            found: Any = redis.hmget(self._key, "version", "document")
            self._learn(read_document(*found) if all(found) else self._initial)

    def _learn(self, document: Document) -> None:
        self._known = document
        self.now.setting = document.setting or self._start.setting

    def _copy(self, document: Document, ids: MakeId) -> tuple[WorldStore, WorldClock]:
        clock = WorldClock(self._start.real, document.setting or self._start.setting)
        return self._new_store(clock, ids, records=document.records), clock

    def _write(self, pipeline: Redis, store: WorldStore, clock: WorldClock) -> Document:
        # A clock that nobody has changed is that of --freeze, also of a program that comes later.
        setting = None if clock.setting == self._start.setting else clock.setting
        records = store.records()
        fields = write_fields(setting, records)
        pipeline.hset(self._key, mapping=fields)
        if self._seconds:
            pipeline.expire(self._key, self._seconds)
        return Document(fields["version"], setting, records)
