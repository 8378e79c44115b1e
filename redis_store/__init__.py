"""A store on Redis: its records outlive the program, and processes share them.

The package `redis` is optional: only `--store` imports this one, which imports no Flask.
"""

from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from redis import RedisError, WatchError

from stub.clock import WorldClock
from stub.ids import MakeId
from stub.store import NewStore, Records

from .document import HEAD, read_count
from .server import INVALID_URL, URL, RedisConnection, unusable
from .store import DAY, MINUTE, RedisStore

KEYS = "project-stub:"
"""Precedes the name of a world in its key."""

# The options of a URL whose files redis-py opens with a message that names none.
FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")


class RedisStores(RedisConnection):
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
            found = [*redis.scan_iter(start + b"*", count=1000)]
            own = [key for key in found if b"/" not in key.removeprefix(start)]
            pipeline = redis.pipeline(transaction=False)
            for key in own:
                pipeline.getrange(key, 0, HEAD - 1)
            heads = pipeline.execute(raise_on_error=False)
        numbers = {}
        for key, head in zip(own, heads, strict=True):
            with self.available(repr(key)[2:-1]):
                if isinstance(head, RedisError):
                    raise head
                if head:  # else it has expired meanwhile
                    numbers[key.decode().removeprefix(KEYS)] = read_count(head)
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


def connect(url: str, threads: int) -> RedisStores:
    """The stores on the server of this URL, for so many requests at once.

    Raises `ValueError` for an invalid URL, and if the server is away.
    """
    if not URL.fullmatch(url):
        raise ValueError(INVALID_URL)
    for name, (path, *_) in parse_qs(urlsplit(url).query).items():
        if name in FILES and not Path(path).exists():
            raise ValueError(f"{name}: there is no file {path}")
    try:
        stores = RedisStores(url, threads)
        stores.client.exists(KEYS)
    except (RedisError, OSError, TypeError, ValueError) as error:  # redis-py reads options late
        raise ValueError(unusable(url, error)) from None
    return stores
