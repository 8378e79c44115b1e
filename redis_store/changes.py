"""Changes of a world, and the turns in which threads write them.

Two threads that wrote at once would make the slower thread repeat its change. So the threads of a
program take turns, and the thread with the turn writes all waiting changes.
"""

from collections.abc import Callable
from threading import Condition
from time import monotonic
from typing import Any, Generic, TypeVar

from stub.world.clock import WorldClock
from stub.world.store import WorldStore

Made = TypeVar("Made")


class Change(Generic[Made]):
    """A change of a world: `Change(lambda store, clock: store.add(records))`.

    Once it is done, it has a value or an error.
    """

    is_done = False
    error: Exception | None = None
    _value: Made

    def __init__(self, make: Callable[[WorldStore, WorldClock], Made]) -> None:
        self._make = make

    def make(self, store: WorldStore, clock: WorldClock) -> None:
        """Change a store in memory. A repeated change is made again, to a newer store."""
        self.error = None
        try:
            self._value = self._make(store, clock)
        except Exception as error:  # `result` raises it in the thread of this change.
            self.error = error

    def end(self, error: Exception | None = None) -> None:
        """Note that the change is written, or why it is not."""
        self.error = error or self.error
        self.is_done = True

    def result(self) -> Made:
        """Return the value of the change, or raise its error."""
        if self.error:
            raise self.error
        return self._value


class Turns:
    """A lock, which also has the changes of the threads that wait for it."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._is_taken = False
        self._waiting: list[Change[Any]] = []

    def wait(self, deadline: float, change: Change[Any] | None = None) -> bool:
        """Wait for the turn, and take it; `end` gives it back.

        Return False if the change was written by another thread meanwhile. Raises `TimeoutError` at
        the deadline, a time of `monotonic()`.
        """

        def is_over() -> bool:
            return not self._is_taken or (change is not None and change.is_done)

        with self._condition:
            if change:
                self._waiting.append(change)
            if not self._condition.wait_for(is_over, max(0, deadline - monotonic())):
                if change in self._waiting:
                    self._waiting.remove(change)
                raise TimeoutError
            if change and change.is_done:
                return False
            self._is_taken = True
            return True

    def take_waiting(self) -> list[Change[Any]]:
        """Remove and return the waiting changes, with the caller's own change among them."""
        with self._condition:
            waiting = self._waiting
            self._waiting = []
            return waiting

    def end(self) -> None:
        """Give the turn to the next thread."""
        with self._condition:
            self._is_taken = False
            self._condition.notify_all()
