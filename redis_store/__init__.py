"""A store on Redis, for `--store redis://127.0.0.1:6379/0`.

Its records outlive the program, and processes share them. The package `redis` is optional, so only
`--store` imports this package.
"""

from typing import Any

from stub.world.clock import WorldClock
from stub.world.ids import MakeId
from stub.world.store import NewStore, Records
from stub.world.worlds import MAIN

from .client import INVALID_KEY, KEYS, RedisClient, log, log_failure
from .store import DAY, RedisStore


class RedisStores(RedisClient):
    """The stores of all worlds on a Redis server, and the clocks of these worlds."""

    def open(
        self,
        world: str,
        clock: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: NewStore,
    ) -> tuple[RedisStore, WorldClock]:
        """Open the store and the clock of a world. All worlds but the main world expire."""
        seconds = None if world == MAIN else DAY
        store = RedisStore(self, KEYS + world, seconds, clock, ids, records, new_store)
        return store, store.now

    def worlds(self) -> dict[str, int]:
        """Return the number of projects in the worlds that have records: `{"main": 5, "a": 1}`.

        Reading it does not keep a world from expiring. Keys of other programs are left out.
        """
        with log_failure(), self.use(f"{KEYS}*") as redis:
            keys = [*redis.scan_iter(f"{KEYS}*", count=1000)]
            pipeline = redis.pipeline(transaction=False)
            for key in keys:
                pipeline.hget(key, "projects")
            counts: list[Any] = pipeline.execute(raise_on_error=False)
        numbers = {}
        for key, count in zip(keys, counts, strict=True):
            if count is None:  # The world has expired meanwhile.
                continue
            try:
                numbers[key.decode().removeprefix(KEYS)] = int(count)
            except (TypeError, ValueError):
                log.warning(INVALID_KEY.format(repr(key)[2:-1]))
        return numbers
