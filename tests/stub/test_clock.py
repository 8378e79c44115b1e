"""What keeps the setting of a clock: of those who change it at once, one does."""

from contextlib import nullcontext
from functools import partial

import pytest

from stub.clock import MemorySetting
from tests.conftest import in_parallel
from tests.stores import SlowText


def race_to_change() -> None:
    setting = MemorySetting()
    swapped = in_parallel([partial(setting.swap, SlowText(""), new) for new in "abcdefgh"])
    assert sorted(swapped) == [*7 * [False], True]
    assert setting.read() == "abcdefgh"[swapped.index(True)]


def test_of_those_who_know_a_setting_one_changes_it() -> None:
    for _ in range(5):
        race_to_change()


def test_without_the_lock_several_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.clock.Lock", nullcontext)

    def race_often() -> None:
        for _ in range(60):
            race_to_change()

    with pytest.raises(AssertionError):
        race_often()
