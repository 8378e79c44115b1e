"""The clock of a world whose setting is in Redis, so that processes share it."""

import json
from datetime import datetime, timedelta
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

    The text is empty until the clock is changed. To tell the time, Redis is not asked: `known` has
    the last known text, and its setting. The store compares the text with that in Redis, and calls
    `learn` if they differ. Raises `StoreUnavailable`.
    """

    def __init__(
        self,
        server: RedisConnection,
        world: str,
        real: Clock,
        frozen_at: datetime | None = None,
        max_advance: timedelta = timedelta.max,
    ) -> None:
        self._server = server
        self._keys = scripts.keys_of(world)
        self._real = real
        self._start = Setting(frozen_at.isoformat() if frozen_at else None)
        self._max_advance = max_advance
        self.known = "", self._start

    def __call__(self) -> datetime:
        return self.reading()[0]

    def reading(self) -> tuple[datetime, bool]:
        _, setting = self.known
        return setting.time(self._real()), setting.frozen_at is not None

    @property
    def advanced(self) -> float:
        return self.known[1].advanced

    def learn(self, text: bytes | None = None) -> None:
        """Take the text that is in Redis. Raises `ValueError` or `TypeError` for an invalid one."""
        setting = Setting(*json.loads(text)) if text else self._start
        self.known = (text or b"").decode(), setting

    def refresh(self) -> None:
        """Learn how another process changed it."""
        with self._server.available(self._keys) as client:
            self.learn(client.hget(self._keys[0], "clock"))  # type: ignore[arg-type]

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        while True:
            self.refresh()
            text, setting = self.known
            real = self._real()
            now = setting.time(real) + timedelta(seconds=seconds)
            advanced = round(setting.advanced + seconds, 6)
            if timedelta(seconds=advanced) > self._max_advance:
                return False
            new = text  # where nothing changes, so that --freeze of the next program still counts
            if seconds or freeze is not None:
                is_frozen = setting.frozen_at is not None if freeze is None else freeze
                frozen_at = now.isoformat() if is_frozen else None
                new = json.dumps(Setting(frozen_at, (now - real).total_seconds(), advanced))
            with self._server.available(self._keys):
                if self._server.run(scripts.SET_CLOCK, self._keys, text, new):
                    self.learn(new.encode())
                    return True
