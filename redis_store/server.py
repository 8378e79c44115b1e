"""The connection to a Redis server, and what happens when it cannot be used."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import finalize

from redis import BlockingConnectionPool, Redis, RedisError, WatchError, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from store import StoreUnavailable

TIMEOUT = 1.0  # seconds to connect, and for a reply

# A URL in which `/`, `?`, `#`, `@` and `%` delimit or encode, and are no part of a password. Other
# options of redis-py would change the timeouts or the replies.
USER = r"(?:(?:[^\s/?#@%]|%[0-9A-Fa-f]{2})*@)?"
URL = re.compile(
    rf"(?:rediss?://{USER}[^\s/?#@%]*(?:/[0-9]*)?|unix://{USER}/[^\s?#@]*)"
    r"(?:\?(?:(?:db|ssl_\w+)=[^\s#@&]*&?)*)?"
)
INVALID_URL = (
    "the URL is invalid: give redis://HOST:PORT/DATABASE; its only options begin with ssl_; in a"
    " user or a password, percent-encode all but letters and digits, such as # as %23"
)

AWAY = (RedisError, OSError)
UNREACHABLE = (exceptions.ConnectionError, exceptions.TimeoutError)

log = logging.getLogger(__name__)


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
        self._url = url
        self._unreachable = False

    @contextmanager
    def available(self, key: str) -> Iterator[Redis]:
        """The client, to use a key. Raises `WatchError` if another change came between.

        Raises `StoreUnavailable`, with a line in the log, if the server cannot be used, and for a
        key that has what this package cannot have written: the caller's `ValueError`.
        """
        try:
            yield self.client
        except (*AWAY, ValueError) as error:
            reason: BaseException = error
            if isinstance(error, WatchError):
                # redis-py raises the same where the connection is lost, and the change may be made.
                if not isinstance(error.__context__, UNREACHABLE):
                    raise
                reason = error.__context__
            if isinstance(error, ValueError) or str(error).startswith("WRONGTYPE"):
                log.warning("Redis has something invalid in %s", key)
            elif not self._unreachable:
                log.warning(unusable(self._url, reason))
                self._unreachable = True
            raise StoreUnavailable from error
        self._unreachable = False


def unusable(url: str, error: BaseException) -> str:
    """The message for an error of a connection, without a user, a password or an option.

    Redis may quote a command, so of its own errors the first word or the type is taken.
    """
    if not isinstance(error, AWAY):
        return INVALID_URL
    reason = str(error).rstrip(".")
    is_its_own = isinstance(error, RedisError) and type(error) not in UNREACHABLE
    if is_its_own and reason != "DB index is out of range":
        code = re.match(r"[A-Z]{3,}\b", reason)
        reason = code[0] if code else re.sub(r"\B(?=[A-Z])", " ", type(error).__name__).lower()
    shown = re.sub(r"(?<=://)[^/]*@|\?.*", "", url)
    return f"the store at {shown} cannot be used: {reason}"
