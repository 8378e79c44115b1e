"""A store on Redis: its records outlive the program, and processes share them.

`scripts.py` says what is in which key. The package `redis` is optional: only `--store` imports this
one. It imports neither Flask nor the stub.
"""

from typing import Any

from redis import RedisError

from .clock import RedisClock
from .server import RedisConnection, check_certificates, check_url, keys_of
from .store import RedisStore

WRONG_URL = (
    "the URL is invalid: give redis://HOST:PORT/DATABASE; its only options begin with ssl_; in a"
    " user or a password, percent-encode all but letters and digits, such as # as %23"
)


class RedisStores:
    """Makes the stores of worlds, and their clocks, on one server."""

    def __init__(self, server: RedisConnection) -> None:
        self._server = server

    def __call__(self, *collaborators: Any, **options: Any) -> RedisStore:
        return RedisStore(self._server, *collaborators, **options)

    def share_clock(self, own: Any, world: str) -> RedisClock:
        """The clock of a world, which is `own` with the setting that processes share."""
        return RedisClock(self._server, own, world)


def connect(url: str, threads: int) -> RedisStores:
    """The stores on the server of this URL, for so many requests at once.

    Raises `ValueError` for an invalid URL, for a certificate that cannot be used, and if the server
    is away or rejects scripts.
    """
    try:
        check_url(url)
    except ValueError:
        raise ValueError(WRONG_URL) from None
    check_certificates(url)
    try:
        server = RedisConnection(url, threads)
    except (RedisError, OSError, TypeError, ValueError):  # an option, whose text may be a password
        raise ValueError(WRONG_URL) from None
    try:
        server.client.eval("return redis.call('EXISTS', KEYS[1])", 1, keys_of("")[0])
    except (RedisError, OSError) as error:
        raise ValueError(server.error_message(error)) from None
    except (TypeError, ValueError):  # redis-py reads some options late
        raise ValueError(WRONG_URL) from None
    return RedisStores(server)
