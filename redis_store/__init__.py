"""A store on Redis: its records outlive the program, and processes share them.

The package `redis` is optional: only `--store` imports this one, which imports no Flask.
"""

from contextlib import suppress
from typing import Any

from redis import WatchError

from stub.clock import WorldClock
from stub.ids import MakeId
from stub.store import NewStore, Records

from .server import KEYS, Server
from .store import DAY, MINUTE, RedisStore


class RedisStores(Server):
    """Opens the stores of worlds, and their clocks, on one server."""

    least_idle: float = 2 * MINUTE  # a read may not have renewed the TTL for a minute

    def open(
        self,
        world: str,
        clock: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: NewStore,
    ) -> tuple[RedisStore, WorldClock]:
        # A main world does not expire: its name is empty, or ends with `/`.
        seconds = DAY if world.rpartition("/")[2] else None
        store = RedisStore(self, KEYS + world, seconds, clock, ids, records, new_store)
        return store, store.now

    def worlds(self, prefix: str) -> dict[str, int]:
        """The number of projects of each world with records whose name begins so, but for those of
        other tenants. This uses no world.
        """
        start = (KEYS + prefix).encode()
        with self.available(f"{KEYS}{prefix}*") as redis:
            keys = [*redis.scan_iter(start + b"*", count=1000)]
        numbers = {}
        for key in keys:
            if b"/" in key.removeprefix(start):  # of another tenant
                continue
            with self.available(repr(key)[2:-1]) as redis:
                count: Any = redis.hget(key, "projects")
                if count:  # else it has expired meanwhile
                    numbers[key.decode().removeprefix(KEYS)] = int(count)
        return numbers

    def free(self, world: str, idle: float) -> None:
        """Remove the records of a world, unless a program has used them in so many seconds, or in
        the last two minutes.
        """
        key = KEYS + world
        # A program that uses the world meanwhile renews it: then it is not removed.
        with suppress(WatchError), self.available(key) as redis, redis.pipeline() as pipeline:
            pipeline.watch(key)  # type: ignore[no-untyped-call]
            unused = DAY - pipeline.ttl(key)
            if unused >= max(idle, self.least_idle):
                pipeline.multi()
                pipeline.unlink(key)
                pipeline.execute()
