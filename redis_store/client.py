"""The client of a Redis server, and the errors if the server cannot be used."""

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
"""The prefix of keys: the key of the world `a` is `project-stub:a`."""

INVALID_URL = (
    "the URL is invalid: give redis://HOST:PORT/DATABASE; its only options begin with ssl_; in a"
    " user or a password, percent-encode all but letters and digits, such as # as %23"
)

INVALID_KEY = "Redis has something invalid in {}"

log = logging.getLogger(__name__)


class RedisClient:
    """A client of the Redis server at a URL like `redis://127.0.0.1:6379/0`.

    Raises `ValueError` for an invalid URL, or if the server does not respond. A change waits
    for its turn and is repeated for at most `patience` seconds; `sleep` pauses before a change is
    repeated. `timeout` is the number of seconds to connect, and to wait for a reply.
    """

    def __init__(
        self,
        url: str,
        *,
        patience: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        timeout: float = 1.0,
    ) -> None:
        # In a password, `/`, `?`, `#`, `@` and `%` must be percent-encoded. Only the options `db`
        # and `ssl_…` are allowed: the others would change the timeouts or the replies.
        user = r"(?:(?:[^\s/?#@%]|%[0-9A-Fa-f]{2})*@)?"
        server = rf"(?:rediss?://{user}[^\s/?#@%]*(?:/[0-9]*)?|unix://{user}/[^\s?#@]*)"
        options = r"(?:\?(?:(?:db|ssl_\w+)=[^\s#@&]*&?)*)?"
        if not re.fullmatch(server + options, url):
            raise ValueError(INVALID_URL)
        self._masked_url = re.sub(r"(?<=://)[^/]*@|\?.*", "", url)
        self.patience = patience
        self.sleep = sleep
        # Nothing is retried: a creation that was made and is repeated would find its own name
        # taken. `Retry` turns the errors in `supported_errors` into a `WatchError`, as if another
        # program had made a change, so there are none.
        no_retry = Retry(NoBackoff(), 0, supported_errors=())
        try:
            self._client = Redis.from_url(
                url,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=no_retry,
                protocol=2,
            )
            # Otherwise the garbage collector closes the sockets, with a ResourceWarning.
            finalize(self, self._client.close)
            self._client.exists(KEYS)
        except (RedisError, OSError) as error:
            raise ValueError(self._describe_failure(str(error))) from None
        except (TypeError, ValueError):  # Redis-py reads the options when it connects.
            raise ValueError(INVALID_URL) from None

    @contextmanager
    def use(self, key: str) -> Iterator[Redis]:
        """Yield the client, to use a key like `project-stub:main`.

        Raises `StoreUnavailable` with the reason if the server cannot be used, or if the key has an
        invalid value: then the caller raises a `ValueError` inside the `with`.
        """
        try:
            yield self._client
        except (RedisError, OSError, ValueError) as error:
            if isinstance(error, ValueError) or "WRONGTYPE" in str(error):
                reason = INVALID_KEY.format(key)
            else:
                reason = self._describe_failure(describe_error(error))
            raise StoreUnavailable(reason) from error

    def _describe_failure(self, reason: str) -> str:
        return f"the store at {self._masked_url} cannot be used: {reason.rstrip('.')}"


@contextmanager
def log_failure() -> Iterator[None]:
    """Log why a store is unavailable: every 503 has a line in the log."""
    try:
        yield
    except StoreUnavailable as error:
        log.warning("%s", error)
        raise


def describe_error(error: RedisError | OSError) -> str:
    """Describe an error without the commands that Redis quotes in a reply: `read only error`."""
    if isinstance(error, exceptions.ResponseError):
        return re.sub(r"\B(?=[A-Z])", " ", type(error).__name__).lower()
    return str(error)
