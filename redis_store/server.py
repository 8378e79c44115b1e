"""The connection to a Redis server, and what happens when it is away."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from urllib.parse import parse_qsl, urlsplit
from weakref import finalize

from redis import BlockingConnectionPool, Redis, RedisError
from redis.backoff import NoBackoff
from redis.exceptions import TimeoutError as RedisTimeout
from redis.retry import Retry

from store import StoreUnavailable

from . import scripts

TIMEOUT = 1.0  # seconds to connect, and for a reply
PAUSE = 1.0  # seconds after a timeout in which Redis is not asked again

log = logging.getLogger(__name__)


def check_url(url: str) -> None:
    """Raises `ValueError` for what redis-py would ignore, or let change the timeouts."""
    parts = urlsplit(url)
    has_database = parts.scheme == "unix" or re.fullmatch(r"/?[0-9]*", parts.path)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if not has_database or not all(name == "db" or name.startswith("ssl_") for name in names):
        raise ValueError


def keys_of(world: str) -> list[str]:
    return [f"{{project-stub:{world}}}:{name}" for name in scripts.KEYS]


class RedisConnection:
    """A Redis server, which all stores of a process share."""

    def __init__(self, url: str, threads: int) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=threads,
            timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            retry=Retry(NoBackoff(), 0),  # a create that is repeated would meet its own name
            protocol=2,
        )
        finalize(self, pool.disconnect)  # redis-py leaves open sockets to the garbage collector
        self.client = Redis(connection_pool=pool)
        where = pool.connection_kwargs
        address = f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
        self._address = where.get("path", address)
        self._unreachable = False
        self._pause_ends = 0.0

    @contextmanager
    def available(self) -> Iterator[Redis]:
        """The client. Its errors become `StoreUnavailable`; after a timeout all requests fail at
        once for a while, so that they do not wait for each other.
        """
        if monotonic() < self._pause_ends:
            raise StoreUnavailable
        try:
            yield self.client
        except (RedisError, OSError) as error:
            if isinstance(error, RedisTimeout):
                self._pause_ends = monotonic() + PAUSE
            if not self._unreachable:
                log.warning(self.error_message(error))
            self._unreachable = True
            raise StoreUnavailable from error
        self._unreachable = False

    def error_message(self, error: Exception) -> str:
        return f"the store at {self._address} cannot be used: {str(error).rstrip('.')}"
