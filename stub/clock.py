"""The clock of a world, which can be advanced and frozen."""

from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from store import Clock

MAX_ADVANCE = timedelta(days=3653)
NOT_AHEAD = timedelta()


class Setting(NamedTuple):
    """How a clock differs from the real time."""

    frozen_at: datetime | None = None  # the time at which it stands still, if it does
    ahead: timedelta = NOT_AHEAD  # of the real time, if it runs
    advanced: float = 0.0  # seconds of all steps


class WorldClock:
    """A clock in this process, which may stand still from the start; `real` is the real time."""

    def __init__(self, real: Clock, setting: Setting) -> None:
        self.real = real
        self.setting = setting
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self.reading()[0]

    def reading(self) -> tuple[datetime, bool]:
        """The time, and whether it stands still."""
        frozen_at, ahead, _ = self.setting
        if frozen_at is not None:
            return frozen_at, True
        return self.real() + ahead, False

    @property
    def advanced(self) -> float:
        return self.setting.advanced

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        """Advance it, and freeze it or let it run; None does neither.

        False if it would pass `MAX_ADVANCE` in total: then nothing changes.
        """
        with self._lock:
            frozen_at, ahead, advanced = self.setting
            advanced = round(advanced + seconds, 6)
            if advanced > MAX_ADVANCE.total_seconds():
                return False
            real = self.real()
            now = (frozen_at or real + ahead) + timedelta(seconds=seconds)
            keeps_still = frozen_at is not None if freeze is None else freeze
            if keeps_still:
                self.setting = Setting(now, NOT_AHEAD, advanced)
            else:
                self.setting = Setting(None, now - real, advanced)
            return True

    def refresh(self) -> None:
        """Learn how another process changed it, where processes share it."""
