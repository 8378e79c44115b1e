"""The clock of a world, which can be advanced and frozen."""

from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from store import Clock

MAX_ADVANCE = timedelta(days=3653)


class Setting(NamedTuple):
    """How a clock differs from the real time; `advanced` is the total of all steps."""

    frozen_at: datetime | None = None
    ahead: timedelta = timedelta()
    advanced: timedelta = timedelta()

    def time(self, real: datetime) -> datetime:
        return real + self.ahead if self.frozen_at is None else self.frozen_at

    def changed(self, real: datetime, seconds: float, freeze: bool | None) -> "Setting | None":
        """Advanced by so many seconds; frozen or released, or as it was where `freeze` is None.

        None if it would pass `MAX_ADVANCE` in total.
        """
        step = timedelta(seconds=seconds)
        if self.advanced + step > MAX_ADVANCE:
            return None
        now = self.time(real) + step
        is_frozen = self.frozen_at is not None if freeze is None else freeze
        return Setting(now if is_frozen else None, now - real, self.advanced + step)


class WorldClock:
    """A clock in this process; `real` tells the real time, UTC."""

    def __init__(self, real: Clock, frozen_at: datetime | None = None) -> None:
        self.real = real
        self.setting = Setting(frozen_at)
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self.setting.time(self.real())

    def reading(self) -> tuple[datetime, bool]:
        """The time, and whether it stands still."""
        setting = self.setting
        return setting.time(self.real()), setting.frozen_at is not None

    @property
    def advanced(self) -> float:
        """The seconds by which it was advanced."""
        return self.setting.advanced.total_seconds()

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        """Advance it, and freeze it or let it run; None does neither.

        False if it would be advanced too far: then nothing changes.
        """
        with self._lock:
            changed = self.setting.changed(self.real(), seconds, freeze)
            self.setting = changed or self.setting
            return changed is not None

    def refresh(self) -> None:
        """Learn how another process changed it, where processes share it."""
