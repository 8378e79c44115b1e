"""The clock of a world: it can be set, advanced, frozen, and moved by reads of deployments."""

from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from store import Clock

MAX_ADVANCE = timedelta(days=3653)


class Setting(NamedTuple):
    """The difference between a clock and the real time: `Setting(ahead=timedelta(hours=1))`.

    A frozen clock stands still at `frozen_at`. A running clock is `ahead` of the real time.
    `advanced` is the sum of all steps in seconds. A read of a deployment advances the clock by
    `tick` seconds.
    """

    frozen_at: datetime | None = None
    ahead: timedelta = timedelta()
    advanced: float = 0.0
    tick: float = 0.0


class WorldClock:
    """A clock in this process; `real` returns the real time."""

    def __init__(self, real: Clock, setting: Setting) -> None:
        self.real = real
        self.setting = setting
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self.read()[0]

    def read(self) -> tuple[datetime, bool]:
        """Read the time, and whether the clock is frozen."""
        frozen_at, ahead, _, _ = self.setting
        if frozen_at is not None:
            return frozen_at, True
        return self.real() + ahead, False

    def change(
        self,
        seconds: float = 0,
        *,
        at: datetime | None = None,
        freeze: bool | None = None,
        tick: float | None = None,
    ) -> bool:
        """Set the clock, advance it, freeze or release it, and set its tick.

        `change(60, freeze=True)` advances it by a minute, and freezes it. None keeps a setting.
        Return False if the sum of all steps would exceed `MAX_ADVANCE`. Then nothing changes.
        """
        with self._lock:
            frozen_at, ahead, advanced, current_tick = self.setting
            tick = current_tick if tick is None else tick
            advanced = round(advanced + seconds, 6)
            if advanced > MAX_ADVANCE.total_seconds():
                return False
            real = self.real()
            now = (at or frozen_at or real + ahead) + timedelta(seconds=seconds)
            is_frozen = frozen_at is not None if freeze is None else freeze
            if is_frozen:
                self.setting = Setting(now, advanced=advanced, tick=tick)
            else:
                self.setting = Setting(None, now - real, advanced, tick)
            return True

    def refresh(self) -> None:
        """Read the setting that another process may have changed. In memory it does nothing."""
