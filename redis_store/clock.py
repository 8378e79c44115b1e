"""The clock of a world whose setting is in Redis, so that processes share it."""

import json
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import Any

from . import scripts
from .rows import read_time
from .server import RedisConnection, keys_of, readable

MICROSECOND = timedelta(microseconds=1)


class RedisClock:
    """The clock `own` of this process, with the setting that is in Redis as a text.

    The text is empty until the clock is changed. To tell the time, Redis is not asked: `text` is
    the last known one. The store compares it with that in Redis, and calls `remember` if they
    differ. Raises `StoreUnavailable`.
    """

    def __init__(self, server: RedisConnection, own: Any, world: str) -> None:
        self.text = ""
        self.reading = own.reading
        self._server = server
        self._state = keys_of(world)[0]
        self._own = own
        self._start = own.setting
        self._lock = Lock()

    def __call__(self) -> datetime:
        moment: datetime = self._own()
        return moment

    @property
    def advanced(self) -> float:
        seconds: float = self._own.advanced
        return seconds

    def remember(self, known: str, text: bytes) -> str:
        """Take a text in place of the `known` one, unless another thread has done so meanwhile."""
        with readable(self._state):
            new = text.decode()
            setting = self._setting_of(new)
        with self._lock:
            if self.text == known:
                self._own.setting = setting
                self.text = new
        return new

    def refresh(self) -> str:
        """Learn how another process changed it; return the text."""
        known = self.text
        with self._server.available([self._state]) as client:
            return self.remember(known, client.hget(self._state, "clock") or b"")  # type: ignore[arg-type]

    def ping(self) -> None:
        """Write the current setting again: a full server rejects that."""
        while not self._swap(text := self.refresh(), text):
            pass

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        """Advance it, and freeze it or let it run, as `own` does."""
        while True:
            text = self.refresh()
            setting = self._setting_of(text).changed(self._own.real(), seconds, freeze)
            if setting is None:
                return False
            if self._swap(text, new := text_of(setting)):
                self.remember(text, new.encode())
                return True

    def _swap(self, old: str, new: str) -> bool:
        """Write `new` if the setting is `old`, and return whether it was."""
        with self._server.available([self._state]) as client:
            run = client.register_script(scripts.SET_CLOCK)
            return bool(run([self._state], [old, new]))

    def _setting_of(self, text: str) -> Any:
        setting = self._start._replace(**members_of(text)) if text else self._start
        setting.time(self._own.real())  # which may be out of range
        return setting


def text_of(setting: Any) -> str:
    frozen_at = setting.frozen_at and setting.frozen_at.isoformat()
    return json.dumps([frozen_at, setting.ahead // MICROSECOND, setting.advanced // MICROSECOND])


@lru_cache
def members_of(text: str) -> dict[str, Any]:
    """Those of the setting of a text. Raises `ValueError`, `TypeError` or `OverflowError`."""
    frozen_at, ahead, advanced = json.loads(text)
    return {
        "frozen_at": frozen_at and read_time(frozen_at),
        "ahead": ahead * MICROSECOND,
        "advanced": advanced * MICROSECOND,
    }
