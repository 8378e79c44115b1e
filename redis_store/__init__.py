"""A store on Redis: its records outlive the program, and processes share them.

`scripts.py` says what is in which key. The package `redis` is optional: only `--store` imports this
one. It imports neither Flask nor the stub.
"""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis import RedisError

from .scripts import FREE, LEAST_IDLE, keys_of, name_of
from .server import INVALID_URL, URL, RedisConnection, unusable
from .store import RedisClock, RedisStore

# The options of a URL whose files redis-py opens with a message that names none.
FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")


class RedisStores(RedisConnection):
    """Makes the stores of worlds, and their clocks, on one server."""

    least_idle = LEAST_IDLE

    def __call__(self, *collaborators: Any, **options: Any) -> RedisStore:
        return RedisStore(self, *collaborators, **options)

    def share_clock(self, *collaborators: Any, world: str) -> RedisClock:
        return RedisClock(self, world, *collaborators)

    def worlds(self, prefix: str) -> dict[str, int]:
        """The number of projects of each world with records whose name begins so, but for those of
        other tenants. This uses no world.
        """
        pattern = keys_of(f"{prefix}*")[0]
        with self.available([pattern]) as client:
            own = []
            for key in client.scan_iter(pattern, count=1000):
                name = name_of(key)
                if b"/" in name.removeprefix(prefix.encode()):
                    continue
                with self.available([repr(key)[2:-1]]):
                    own.append(name.decode())
            pipeline = client.pipeline(transaction=False)
            for world in own:
                pipeline.llen(keys_of(world)[1])
            replies = pipeline.execute(raise_on_error=False)
        found = {}
        for world, reply in zip(own, replies, strict=True):
            with self.available(keys_of(world)[1:2]):
                if isinstance(reply, RedisError):
                    raise reply
            found[world] = reply
        return found

    def free(self, world: str, idle: float) -> None:
        """Remove the records of a world, unless a program has used them in so many seconds, or in
        the last two minutes.
        """
        keys = keys_of(world)
        with self.available(keys):
            self.run(FREE, keys, max(idle, self.least_idle))


def connect(url: str, threads: int) -> RedisStores:
    """The stores on the server of this URL, for so many requests at once.

    Raises `ValueError` for an invalid URL, and if the server is away or rejects scripts.
    """
    if not URL.fullmatch(url):
        raise ValueError(INVALID_URL)
    for name, (path, *_) in parse_qs(urlsplit(url).query).items():
        if name in FILES and not Path(path).exists():
            raise ValueError(f"{name}: there is no file {path}")
    try:
        stores = RedisStores(url, threads)
        stores.client.eval("return redis.call('EXISTS', KEYS[1])", 1, keys_of("")[0])
    except (RedisError, OSError, TypeError, ValueError) as error:  # redis-py reads options late
        raise ValueError(unusable(url, error)) from None
    return stores
