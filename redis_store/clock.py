"""The clock of a world whose setting is in Redis, so that processes share it."""

import json
from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from store import Clock

from . import scripts
from .server import RedisConnection


class Setting(NamedTuple):
    """How a clock differs from the real time, as it is in Redis; a time is ISO 8601."""

    frozen_at: str | None
    ahead: float = 0.0  # seconds
    advanced: float = 0.0  # seconds of all steps

    def time(self, real: datetime) -> datetime:
        if self.frozen_at is not None:
            return datetime.fromisoformat(self.frozen_at)
        return real + timedelta(seconds=self.ahead)


class RedisClock:
    """Has the methods of `stub.clock.WorldClock`, with the setting in Redis as a text.

    The text is empty until the clock is changed. To tell the time, Redis is not asked: `text` is
    the last known one. The store compares it with that in Redis, and calls `learn` if they differ.
    Raises `StoreUnavailable`.
    """

    def __init__(
        self,
        server: RedisConnection,
        world: str,
        real: Clock,
        frozen_at: datetime | None = None,
        max_advance: timedelta = timedelta.max,
    ) -> None:
        self.text = ""
        self._server = server
        self._keys = scripts.keys_of(world)
        self._real = real
        self._start = self._setting = Setting(frozen_at.isoformat() if frozen_at else None)
        self._max_advance = max_advance
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self.reading()[0]

    def reading(self) -> tuple[datetime, bool]:
        setting = self._setting
        return setting.time(self._real()), setting.frozen_at is not None

    @property
    def advanced(self) -> float:
        return self._setting.advanced

    def learn(self, known: str, text: str) -> Setting:
        """Take a text in place of the `known` one, unless another thread has done so meanwhile.

        Returns its setting. Raises `ValueError`, `TypeError` or `OverflowError` if it has none.
        """
        setting = Setting(*json.loads(text)) if text else self._start
        setting.time(self._real()) - self._real()  # which fails out of range, or without a zone
        with self._lock:
            if self.text == known:
                self.text, self._setting = text, setting
        return setting

    def refresh(self) -> tuple[str, Setting]:
        """Learn how another process changed it; return the text and the setting."""
        known = self.text
        with self._server.available(self._keys) as client:
            text = (client.hget(self._keys[0], "clock") or b"").decode()  # type: ignore[union-attr]
            return text, self.learn(known, text)

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        while True:
            text, setting = self.refresh()
            real = self._real()
            now = setting.time(real) + timedelta(seconds=seconds)
            advanced = round(setting.advanced + seconds, 6)
            if timedelta(seconds=advanced) > self._max_advance:
                return False
            is_frozen = setting.frozen_at is not None if freeze is None else freeze
            frozen_at = now.isoformat() if is_frozen else None
            new = json.dumps(Setting(frozen_at, (now - real).total_seconds(), advanced))
            if not seconds and freeze is None:
                new = text  # so that --freeze of the next program still counts
            with self._server.available(self._keys):
                if self._server.run(scripts.SET_CLOCK, self._keys, text, new):
                    self.learn(text, new)
                    return True
