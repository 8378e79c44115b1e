"""The clock of a world, which can be set, advanced, frozen, and moved by reads of deployments."""

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
    tick: float = 0.0  # seconds by which a read of a deployment advances it


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
        frozen_at, ahead, _, _ = self.setting
        if frozen_at is not None:
            return frozen_at, True
        return self.real() + ahead, False

    @property
    def advanced(self) -> float:
        return self.setting.advanced

    @property
    def tick(self) -> float:
        return self.setting.tick

    def change(
        self,
        seconds: float = 0,
        *,
        at: datetime | None = None,
        freeze: bool | None = None,
        tick: float | None = None,
    ) -> bool:
        """Set it to a time, advance it, freeze it or let it run, and set its tick; None leaves it.

        False if it would pass `MAX_ADVANCE` in total: then nothing changes.
        """
        with self._lock:
            frozen_at, ahead, advanced, current_tick = self.setting
            tick = current_tick if tick is None else tick
            advanced = round(advanced + seconds, 6)
            if advanced > MAX_ADVANCE.total_seconds():
                return False
            real = self.real()
            now = (at or frozen_at or real + ahead) + timedelta(seconds=seconds)
            keeps_still = frozen_at is not None if freeze is None else freeze
            if keeps_still:
                self.setting = Setting(now, NOT_AHEAD, advanced, tick)
            else:
                self.setting = Setting(None, now - real, advanced, tick)
            return True

    def refresh(self) -> None:
        """Learn how another process changed it, where processes share it."""
