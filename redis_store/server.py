"""A Redis server, and what happens when it cannot be used."""

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import finalize

from redis import Redis, RedisError, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from store import StoreUnavailable

KEYS = "project-stub:"
"""Precedes the name of a world in its key."""

TIMEOUT = 1.0  # seconds to connect, and for a reply

# A create that was made and is repeated would meet its own name. `Retry` turns the errors that it
# supports into a `WatchError`, as if somebody else had made a change.
NO_RETRY = Retry(NoBackoff(), 0, supported_errors=())

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

INVALID_KEY = "Redis has something invalid in {}"

log = logging.getLogger(__name__)


class Server:
    """A Redis server. Raises `ValueError` for an invalid URL, and if the server is away.

    `patience` is how many seconds a change waits for its turn and is repeated; `sleep` waits
    between two tries.
    """

    def __init__(
        self, url: str, *, patience: float = 30.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if not URL.fullmatch(url):
            raise ValueError(INVALID_URL)
        self._shown = re.sub(r"(?<=://)[^/]*@|\?.*", "", url)  # without a user and options
        self.patience = patience
        self.sleep = sleep
        try:
            self._client = Redis.from_url(
                url,
                socket_timeout=TIMEOUT,
                socket_connect_timeout=TIMEOUT,
                retry=NO_RETRY,
                protocol=2,
            )
            finalize(self, self._client.close)  # else the garbage collector closes the sockets
            self._client.exists(KEYS)
        except (RedisError, OSError) as error:
            raise ValueError(self._unusable(str(error))) from None
        except (TypeError, ValueError):  # redis-py reads options late
            raise ValueError(INVALID_URL) from None

    @contextmanager
    def use(self, key: str) -> Iterator[Redis]:
        """Yield the client, to use a key.

        Raises `StoreUnavailable`, whose text says why, if the server cannot be used, and for a key
        that has what this package cannot have written: the caller's `ValueError`.
        """
        try:
            yield self._client
        except (RedisError, OSError, ValueError) as error:
            if isinstance(error, ValueError) or "WRONGTYPE" in str(error):
                reason = INVALID_KEY.format(key)
            else:
                reason = self._unusable(reason_of(error))
            raise StoreUnavailable(reason) from error

    def _unusable(self, reason: str) -> str:
        return f"the store at {self._shown} cannot be used: {reason.rstrip('.')}"


@contextmanager
def logged() -> Iterator[None]:
    """Log why a store is unavailable: each response that says so has its line."""
    try:
        yield
    except StoreUnavailable as error:
        log.warning("%s", error)
        raise


def reason_of(error: RedisError | OSError) -> str:
    """What happened, without the commands that Redis and redis-py quote in a reply."""
    if isinstance(error, exceptions.ResponseError):
        return re.sub(r"\B(?=[A-Z])", " ", type(error).__name__).lower()
    return str(error)
