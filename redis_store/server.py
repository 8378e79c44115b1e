"""The connection to a Redis server, and what happens when it cannot be used."""

import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from weakref import finalize

from redis import BlockingConnectionPool, Redis, RedisError, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from store import StoreUnavailable

TIMEOUT = 1.0  # seconds to connect, and for a reply
PAUSE = 1.0  # seconds after a timeout in which Redis is not asked again

# A URL in which `/`, `?`, `#`, `@` and `%` delimit or encode, and are no part of a password. Other
# options of redis-py would change the timeouts or the replies.
USER = r"(?:(?:[^\s/?#@%]|%[0-9A-Fa-f]{2})*@)?"
URL = re.compile(
    rf"(?:rediss?://{USER}[^\s/?#@%]*(?:/[0-9]*)?|unix://{USER}/[^\s?#@]*)"
    r"(?:\?(?:(?:db|ssl_\w+)=[^\s#@&]*&?)*)?"
)
WRONG_URL = (
    "the URL is invalid: give redis://HOST:PORT/DATABASE; its only options begin with ssl_; in a"
    " user or a password, percent-encode all but letters and digits, such as # as %23"
)
FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")

AWAY = (RedisError, OSError)
UNREACHABLE = (exceptions.ConnectionError, exceptions.TimeoutError)
SPOILT = (ValueError, TypeError, OverflowError, RecursionError)

log = logging.getLogger(__name__)


def check_url(url: str) -> None:
    """Raises `ValueError` for a URL that redis-py would mistake, or a file that is not there."""
    if not URL.fullmatch(url):
        raise ValueError(WRONG_URL)
    for name, path in parse_qsl(urlsplit(url).query):
        if name in FILES and not os.access(path, os.R_OK):
            raise ValueError(f"{name}: {path} cannot be read")


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
        self._pause_ends = 0.0

    def run(self, script: str, keys: Sequence[str], *arguments: Any) -> Any:
        """The reply of a script; within `available`."""
        return self.client.register_script(script)(keys, arguments)

    @contextmanager
    def available(self, keys: Sequence[str]) -> Iterator[Redis]:
        """The client, to use and to read the keys of a world.

        Raises `StoreUnavailable`, with a line in the log, if the server cannot be used, and if the
        keys have what this package cannot have written. After a timeout all requests fail at once
        for a while, so that they do not wait for each other.
        """
        if monotonic() < self._pause_ends:
            raise StoreUnavailable
        try:
            yield self.client
        except (*AWAY, *SPOILT) as error:
            if isinstance(error, exceptions.TimeoutError):
                self._pause_ends = monotonic() + PAUSE
            if not isinstance(error, AWAY) or reason_of(error) == "WRONGTYPE":
                log.warning("Redis has something invalid in %s", " or ".join(keys))
            elif not self._unreachable:
                log.warning(unusable(self._url, error))
                self._unreachable = True
            raise StoreUnavailable from error
        self._unreachable = False


def unusable(url: str, error: Exception) -> str:
    """The message for an error of a connection, without a user, a password or an option."""
    if not isinstance(error, AWAY):
        return WRONG_URL
    shown = re.sub(r"(?<=://)[^/]*@|\?.*", "", url)
    return f"the store at {shown} cannot be used: {reason_of(error)}"


def reason_of(error: Exception) -> str:
    """Why Redis cannot be used, without a command, an argument or a password.

    Redis may quote a command, so of its errors the first word or the type is taken.
    """
    text = str(error).rstrip(".")
    by_system = isinstance(error, OSError) or type(error) in UNREACHABLE
    if by_system or text == "DB index is out of range":
        return text
    code = re.match(r"[A-Z]{3,}\b", text)
    return code[0] if code else re.sub(r"\B(?=[A-Z])", " ", type(error).__name__).lower()
