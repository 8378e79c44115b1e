"""The clock of a world, which can be advanced and frozen."""

from datetime import datetime, timedelta
from threading import Lock

from store import Clock

MAX_ADVANCE = timedelta(days=3653)


class WorldClock:
    """A clock in this process, which may stand still from the start; `real` is the real time."""

    def __init__(self, real: Clock, frozen_at: datetime | None = None) -> None:
        self._real = real
        # The time at which it stands still, if it does; else how far it is ahead.
        self._setting: datetime | timedelta = frozen_at or timedelta()
        self.advanced = 0.0  # seconds of all steps
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self.reading()[0]

    def reading(self) -> tuple[datetime, bool]:
        """The time, and whether it stands still."""
        setting = self._setting
        if isinstance(setting, timedelta):
            return self._real() + setting, False
        return setting, True

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        """Advance it, and freeze it or let it run; None does neither.

        False if it would pass `MAX_ADVANCE` in total: then nothing changes.
        """
        with self._lock:
            advanced = round(self.advanced + seconds, 6)
            if advanced > MAX_ADVANCE.total_seconds():
                return False
            now, is_frozen = self.reading()
            now += timedelta(seconds=seconds)
            self.advanced = advanced
            keeps_still = is_frozen if freeze is None else freeze
            self._setting = now if keeps_still else now - self._real()
            return True

    def refresh(self) -> None:
        """Learn how another process changed it, where processes share it."""
