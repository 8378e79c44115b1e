"""The clock of a world, which can be advanced and frozen."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import NamedTuple, Protocol

from store import StoreUnavailable

MAX_ADVANCE = timedelta(days=3653)
MICROSECOND = timedelta(microseconds=1)
MAX_CACHED = 1000  # settings, one for each world


class ClockSetting(NamedTuple):
    """How a clock differs from the real time; `advanced` is the total of all steps."""

    frozen_at: datetime | None = None
    ahead: timedelta = timedelta()
    advanced: timedelta = timedelta()

    def time(self, real: datetime) -> datetime:
        return real + self.ahead if self.frozen_at is None else self.frozen_at

    def has_room(self, seconds: float) -> bool:
        """Whether so much more stays within `MAX_ADVANCE`."""
        return seconds <= (MAX_ADVANCE - self.advanced).total_seconds()

    def changed(self, real: datetime, seconds: float, *, freeze: bool | None) -> "ClockSetting":
        """Advanced by so many seconds; frozen or released, or as it was where `freeze` is None."""
        step = timedelta(seconds=seconds)
        now = self.time(real) + step
        is_frozen = self.frozen_at is not None if freeze is None else freeze
        return ClockSetting(now if is_frozen else None, now - real, self.advanced + step)

    def text(self) -> str:
        frozen_at = self.frozen_at and self.frozen_at.isoformat()
        return json.dumps([frozen_at, self.ahead // MICROSECOND, self.advanced // MICROSECOND])


@lru_cache(MAX_CACHED)
def setting_of(text: str) -> ClockSetting:
    """The setting of a text. Raises `ValueError` for any other text."""
    try:
        frozen_at, ahead, advanced = json.loads(text)
        frozen_at = frozen_at and datetime.fromisoformat(frozen_at)
        if frozen_at and frozen_at.utcoffset() != timedelta():
            raise ValueError
        return ClockSetting(frozen_at, ahead * MICROSECOND, advanced * MICROSECOND)
    except (TypeError, OverflowError, RecursionError):
        raise ValueError from None


class SettingStore(Protocol):
    """Where a clock keeps its setting, a text that is empty until the clock is changed.

    One outside the process raises `StoreUnavailable` when it cannot be used.
    """

    def read(self) -> str:
        """The text."""

    def swap(self, old: str, new: str) -> bool:
        """Write `new` if the text is `old`, and return whether it was."""

    def ping(self) -> None:
        """Raise `StoreUnavailable` if nothing can be written now."""


class MemorySetting:
    """A setting in this process; `world` is for those that are elsewhere."""

    def __init__(self, world: str = "") -> None:
        self._text = ""
        self._lock = Lock()

    def read(self) -> str:
        return self._text

    def swap(self, old: str, new: str) -> bool:
        with self._lock:
            if self._text != old:
                return False
            self._text = new
            return True

    def ping(self) -> None:
        """Memory can always be written."""


class WorldClock:
    """The clock of a world; its first setting is `start`.

    It reads no store to tell the time: `text` is the last known setting. A store that processes
    share compares `text` with its own, and corrects it by `remember()`.
    """

    def __init__(
        self, settings: SettingStore, real: Callable[[], datetime], start: ClockSetting
    ) -> None:
        self.text = ""
        self._settings = settings
        self._real = real
        self._start = start
        self._lock = Lock()

    def __call__(self) -> datetime:
        return self._setting().time(self._real())

    def reading(self) -> tuple[datetime, bool]:
        """The time, and whether it stands still."""
        setting = self._setting()
        return setting.time(self._real()), setting.frozen_at is not None

    @property
    def advanced(self) -> float:
        """The seconds by which it was advanced."""
        return self._setting().advanced.total_seconds()

    def remember(self, known: str, text: str) -> None:
        """Take a text in place of the `known` one, unless another thread has done so meanwhile.

        Raises `ValueError` if it is no setting, or its time is out of range.
        """
        try:
            self._setting_of(text).time(self._real())
        except OverflowError:
            raise ValueError from None
        with self._lock:
            if self.text == known:
                self.text = text

    def refresh(self) -> None:
        """Learn how another process changed it."""
        known, text = self.text, self._settings.read()
        try:
            self.remember(known, text)
        except ValueError:
            raise StoreUnavailable from None

    def ping(self) -> None:
        """Raise `StoreUnavailable` if it cannot be changed now."""
        self._settings.ping()

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        """Advance it, and freeze it or let it run; None does neither.

        False if it would pass `MAX_ADVANCE` in total: then nothing changes.
        """
        while True:
            self.refresh()
            known = self.text
            setting = self._setting_of(known)
            if not setting.has_room(seconds):
                return False
            text = setting.changed(self._real(), seconds, freeze=freeze).text()
            if self._settings.swap(known, text):
                self.remember(known, text)
                return True

    def _setting(self) -> ClockSetting:
        return self._setting_of(self.text)

    def _setting_of(self, text: str) -> ClockSetting:
        return setting_of(text) if text else self._start
