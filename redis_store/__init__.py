"""A store on Redis: its records outlive the program, and processes share them.

The package `redis` is optional: only `--store` imports this one, which imports no Flask.
"""

from typing import Any

from stub.world.clock import WorldClock
from stub.world.ids import MakeId
from stub.world.store import NewStore, Records
from stub.world.tokens import MAIN

from .server import INVALID_KEY, KEYS, Server, log, logged
from .store import DAY, RedisStore


class RedisStores(Server):
    """Opens the stores of worlds, and their clocks, on one server."""

    def open(
        self,
        world: str,
        clock: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: NewStore,
    ) -> tuple[RedisStore, WorldClock]:
        seconds = None if world == MAIN else DAY
        store = RedisStore(self, KEYS + world, seconds, clock, ids, records, new_store)
        return store, store.now

    def worlds(self) -> dict[str, int]:
        """The number of projects of each world with records, by its name. This uses no world.

        A key that this package has not written is left out.
        """
        with logged(), self.use(f"{KEYS}*") as redis:
            keys = [*redis.scan_iter(f"{KEYS}*", count=1000)]
            pipeline = redis.pipeline(transaction=False)
            for key in keys:
                pipeline.hget(key, "projects")
            counts: list[Any] = pipeline.execute(raise_on_error=False)
        numbers = {}
        for key, count in zip(keys, counts, strict=True):
            if count is None:  # it has expired meanwhile
                continue
            try:
                numbers[key.decode().removeprefix(KEYS)] = int(count)
            except (TypeError, ValueError):
                log.warning(INVALID_KEY.format(repr(key)[2:-1]))
        return numbers
