"""The connection to a Redis server, and what happens when it is away."""

import logging
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from urllib.parse import parse_qsl, urlsplit
from weakref import finalize

from redis import BlockingConnectionPool, Redis, RedisError
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
)
from redis.exceptions import ConnectionError as RedisDisconnected
from redis.exceptions import TimeoutError as RedisTimeout
from redis.retry import Retry

from store import StoreUnavailable

from . import scripts

TIMEOUT = 1.0  # seconds to connect, and for a reply
PAUSE = 1.0  # seconds after a timeout in which Redis is not asked again

# A URL in which `/`, `?`, `#`, `@` and `%` delimit or encode, and are no part of a password.
URL = re.compile(
    r"[a-z]+://"
    r"(?:(?:[^\s/?#@%]|%[0-9A-Fa-f]{2})*@)?"  # user and password
    r"[^\s/?#@%]*(?:/[^\s?#@]*)?(?:\?[^\s#@]*)?"  # host and port, path, options
)

# What the server replies may quote a command, so the log has these words instead.
REASONS: dict[type[Exception], str] = {
    AuthenticationError: "it rejects the user or the password",
    BusyLoadingError: "it is loading its records",
    NoPermissionError: "the user lacks permissions",
    OutOfMemoryError: "it is full",
    ReadOnlyError: "it is read-only",
}

WRONG_DATABASE = "DB index is out of range"

log = logging.getLogger(__name__)


def check_url(url: str) -> None:
    """Raises `ValueError` for what redis-py would ignore, mistake, or let change the timeouts."""
    if not URL.fullmatch(url):
        raise ValueError
    parts = urlsplit(url)
    has_database = parts.scheme == "unix" or re.fullmatch(r"/?[0-9]*", parts.path)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if not has_database or not all(name == "db" or name.startswith("ssl_") for name in names):
        raise ValueError


def check_certificates(url: str) -> None:
    """Raises `ValueError`, which names the file, for a certificate or key that cannot be used."""
    options = dict(parse_qsl(urlsplit(url).query))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in ("ssl_ca_certs", "ssl_ca_path", "ssl_keyfile", "ssl_certfile"):
        if name not in options:
            continue
        path = Path(options[name])
        try:
            if name == "ssl_ca_path":
                list(path.iterdir())
            else:
                path.read_bytes()
            if name == "ssl_ca_certs":
                context.load_verify_locations(path)
            elif name == "ssl_certfile":
                key, password = options.get("ssl_keyfile"), options.get("ssl_password", "")
                context.load_cert_chain(path, key, password)
        except OSError as error:
            reason = error.strerror or "invalid"
            raise ValueError(f"{name}: {path} cannot be used: {reason}") from None


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
    def available(self, keys: Sequence[str] = ()) -> Iterator[Redis]:
        """The client. Its errors become `StoreUnavailable`; after a timeout all requests fail at
        once for a while, so that they do not wait for each other.

        The log names the `keys` if they do not have what this package writes.
        """
        if monotonic() < self._pause_ends:
            raise StoreUnavailable
        try:
            yield self.client
        except (RedisError, OSError) as error:
            if isinstance(error, RedisTimeout):
                self._pause_ends = monotonic() + PAUSE
            reason = reason_of(error)
            in_script = reason == "ResponseError" and "user_script" in str(error)
            if reason == "WRONGTYPE" or in_script:
                raise spoilt(keys) from error
            if not self._unreachable:
                log.warning(self.error_message(error))
            self._unreachable = True
            raise StoreUnavailable from error
        self._unreachable = False

    def error_message(self, error: Exception) -> str:
        return f"the store at {self._address} cannot be used: {reason_of(error)}"


def spoilt(keys: Sequence[str]) -> StoreUnavailable:
    """The error for keys with something that this package cannot have written; it is logged."""
    log.warning("Redis has something invalid in %s", " or ".join(keys))
    return StoreUnavailable()


@contextmanager
def readable(key: str) -> Iterator[None]:
    """Reads what is in a key. Raises `StoreUnavailable` where another program spoilt it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise spoilt([key]) from error


def reason_of(error: Exception) -> str:
    """Why Redis cannot be used, without a command, an argument or a password."""
    for kind, reason in REASONS.items():
        if isinstance(error, kind):
            return reason
    if type(error) in (RedisDisconnected, RedisTimeout) or isinstance(error, OSError):
        return str(error).rstrip(".")  # which redis-py or the system wrote
    if str(error) == WRONG_DATABASE:
        return WRONG_DATABASE
    code = re.match(r"[A-Z]{3,}\b", str(error))  # the first word of an error of Redis
    return code[0] if code else type(error).__name__
