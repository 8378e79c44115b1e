"""The store and the clock of a world on Redis, which read and change the same document."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from random import uniform
from time import monotonic
from typing import Any
from uuid import uuid4

from redis import Redis, ResponseError, WatchError

from records import Deployment, Project, ProjectList, Timeline
from store import StoreUnavailable
from stub.world.clock import WorldClock
from stub.world.ids import MakeId
from stub.world.store import NewStore, Records, WorldStore

from .changes import Change, Made, Turns
from .client import RedisClient, log_failure
from .document import WorldDocument, format_fields, parse_document

DAY = 24 * 60 * 60  # seconds
PAUSE = 0.02  # maximum seconds before a change is repeated


class RedisClock(WorldClock):
    """The clock of a world. Its setting is that of the document that was read last."""

    def __init__(self, store: "RedisStore", start: WorldClock) -> None:
        super().__init__(start.real, start.setting)
        self._store = store

    def change(self, seconds: float = 0, **settings: Any) -> bool:
        return self._store.change(lambda _, clock: clock.change(seconds, **settings))

    def refresh(self) -> None:
        self._store.read()


class RedisStore:
    """The store of a world: it changes a `WorldStore` in memory, and writes that to Redis.

    An unused document expires after `seconds`. A new world has the clock `start` and `records`.
    """

    def __init__(
        self,
        client: RedisClient,
        key: str,
        seconds: int | None,
        start: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: NewStore,
    ) -> None:
        self._client = client
        self._key = key
        self._seconds = seconds
        self._start = start
        self._ids = ids
        self._new_store = new_store
        self._initial = WorldDocument(None, None, records)
        self._known = self._initial
        self._turns = Turns()  # `_known` changes only in a turn.
        self._program = uuid4().bytes
        self._duration = PAUSE  # seconds that the last change took
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
        with log_failure(), self._client.use(self._key) as redis, redis.pipeline() as pipeline:
            pipeline.unlink(self._key)
            if records is not None:
                store, clock = self._copy(self._initial._replace(records=records), self._ids)
                self._write(pipeline, store, clock)
            pipeline.execute()

    def read(self) -> Records:
        """Return the current records. A world without a document is created."""
        with log_failure(), self._client.use(self._key) as redis:
            pipeline = redis.pipeline(transaction=False)
            pipeline.hget(self._key, "version")
            pipeline.ttl(self._key)
            version, left = pipeline.execute()
            if version != self._known.version:
                with self._turn():
                    self._load(redis)
            if 0 <= left < DAY - 60:  # At most once in a minute.
                with suppress(ResponseError):  # The server may be read-only.
                    redis.expire(self._key, DAY)
            known = self._known
        if known.version:
            return known.records
        return self.change(lambda store, _: store.records())

    def change(self, make: Callable[[WorldStore, WorldClock], Made]) -> Made:
        """Change the records or the clock, and return what `make` returns.

        Changes that wait at the same time are written together.
        """
        change = Change(make)
        with log_failure():
            with self._turn(change) as deadline:
                if deadline:
                    self._make_waiting_changes(deadline)
            return change.result()

    @contextmanager
    def _turn(self, change: Change[Any] | None = None) -> Iterator[float | None]:
        """Wait for the turn. Yield the deadline of the change, a time of `monotonic()`, or None if
        the change was written by another thread meanwhile.
        """
        deadline = monotonic() + self._client.patience
        try:
            has_turn = self._turns.wait(deadline, change)
        except TimeoutError:
            reason = f"{self._key} was not used: requests before this one took too long"
            raise StoreUnavailable(reason) from None
        try:
            yield deadline if has_turn else None
        finally:
            if has_turn:
                self._turns.end()

    def _make_waiting_changes(self, deadline: float) -> None:
        changes = self._turns.take_waiting()
        ids = cache(self._ids)  # A repeated change gets the same ids.
        error = None
        try:
            pause = self._try(changes, ids, gives_way=True)
            while pause is not None:
                if monotonic() > deadline:
                    reason = f"{self._key} was not changed: other programs changed it meanwhile"
                    raise StoreUnavailable(reason)
                self._client.sleep(pause)
                changes += self._turns.take_waiting()
                pause = self._try(changes, ids, gives_way=False)
        except Exception as found:  # `Change.result` raises it in all waiting threads.
            error = found
        for change in changes:
            change.end(error)

    def _try(self, changes: Iterable[Change[Any]], ids: MakeId, *, gives_way: bool) -> float | None:
        """Write the document with these changes, and return None.

        If a program wrote first, or is next, return the seconds after which to try again.
        """
        started = monotonic()
        with self._client.use(self._key) as redis, redis.pipeline() as pipeline:
            pipeline.watch(self._key)  # type: ignore[no-untyped-call]
            version, next_program = pipeline.hmget(self._key, "version", "next")
            if gives_way and next_program not in (None, self._program):
                return uniform(1, 2) * self._duration
            if version != self._known.version:
                self._load(pipeline)
            store, clock = self._copy(self._known, ids)
            for change in changes:
                change.make(store, clock)
            if all(change.error for change in changes):
                return None
            pipeline.multi()
            written = self._write(pipeline, store, clock)
            try:
                pipeline.execute()
            except WatchError:
                # Otherwise a program that changes the world all the time would always be faster.
                redis.hsetnx(self._key, "next", self._program)
                return uniform(0, PAUSE)
            self._learn(written)
            self._duration = monotonic() - started
            return None

    def _load(self, redis: Redis) -> None:
        """Load the document from Redis."""
        found: Any = redis.hmget(self._key, "version", "document")
        self._learn(parse_document(*found) if all(found) else self._initial)

    def _learn(self, document: WorldDocument) -> None:
        self._known = document
        self.now.setting = document.setting or self._start.setting

    def _copy(self, document: WorldDocument, ids: MakeId) -> tuple[WorldStore, WorldClock]:
        clock = WorldClock(self._start.real, document.setting or self._start.setting)
        return self._new_store(clock, ids, records=document.records), clock

    def _write(self, pipeline: Redis, store: WorldStore, clock: WorldClock) -> WorldDocument:
        # A clock that nobody has changed follows the --freeze of the program that reads it.
        setting = None if clock.setting == self._start.setting else clock.setting
        records = store.records()
        fields = format_fields(setting, records)
        pipeline.hset(self._key, mapping=fields)
        pipeline.hdel(self._key, "next")
        if self._seconds:
            pipeline.expire(self._key, self._seconds)
        return WorldDocument(fields["version"], setting, records)
