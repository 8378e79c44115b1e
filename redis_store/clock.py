"""The clock of a world whose setting is in Redis, so that processes share it."""

from datetime import datetime
from typing import Protocol, runtime_checkable

from store import Clock

from . import scripts
from .server import RedisConnection, keys_of, readable


@runtime_checkable
class SharedClock(Protocol):
    """A clock with a setting, a text that the store compares and does not read.

    The scripts write nothing where the text is not the one in Redis; the clock then learns it.
    `remember` raises `ValueError` for a text that no clock wrote.
    """

    text: str

    def __call__(self) -> datetime: ...
    def remember(self, known: str, text: str) -> None: ...


class OwnClock:
    """A clock that has no setting here; another process may give it one."""

    def __init__(self, clock: Clock) -> None:
        self.text = ""
        self._clock = clock

    def __call__(self) -> datetime:
        return self._clock()

    def remember(self, known: str, text: str) -> None:
        self.text = text


class RedisSetting:
    """Keeps the setting of the clock of a world. Raises `StoreUnavailable`."""

    def __init__(self, server: RedisConnection, world: str = "") -> None:
        self._server = server
        self._state = keys_of(world)[:1]

    def read(self) -> str:
        """The setting; empty where the world has no records yet."""
        with self._server.available(self._state) as client:
            text = client.hget(self._state[0], "clock")
        with readable(self._state[0]):
            return text.decode() if text else ""  # type: ignore[union-attr]

    def swap(self, old: str, new: str) -> bool:
        with self._server.available(self._state) as client:
            run = client.register_script(scripts.SET_CLOCK)
            return bool(run(self._state, [old, new]))

    def ping(self) -> None:
        """Write the current setting again: a full server rejects that."""
        text = self.read()
        while not self.swap(text, text):
            text = self.read()
