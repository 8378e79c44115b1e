"""How much of a body is looked at, so that no response takes long."""

from typing import Any

from profiles.markers import markers_in

MAX_VALUES = 10_000
MAX_LEVELS = 36
MAX_MEMBERS = 1000  # of an object
MAX_ITEMS = 100  # of an array: of a longer one the first half of them, and the last
MAX_TEXT = 20_000  # characters

SENTENCE = (
    f"of a large body, no more is looked at than {MAX_VALUES} values, {MAX_LEVELS} levels, "
    f"{MAX_MEMBERS} members of an object, {MAX_ITEMS} items of an array, "
    f"and {MAX_TEXT} characters of a text"
)


class Limited:
    """As much of a JSON value as is looked at; `is_cut` says whether that is not all."""

    def __init__(self, value: Any) -> None:
        self.is_cut = False
        self._left = MAX_VALUES
        self.value = self._limit(value, 1)

    def _limit(self, value: Any, level: int) -> Any:
        self._left -= 1
        if isinstance(value, str) and len(value) > MAX_TEXT:
            self.is_cut = True
            return value[:MAX_TEXT]
        if isinstance(value, list):
            return self._limit_array(value, level)
        if isinstance(value, dict):
            return self._limit_object(value, level)
        return value

    def _limit_array(self, items: list[Any], level: int) -> list[Any]:
        half = MAX_ITEMS // 2
        chosen = items if len(items) <= MAX_ITEMS else items[:half] + items[-half:]
        found = []
        for item in chosen:
            if self._left <= 0 or level >= MAX_LEVELS:
                break
            found.append(self._limit(item, level + 1))
        self.is_cut = self.is_cut or len(found) < len(items)
        return found

    def _limit_object(self, members: dict[str, Any], level: int) -> dict[str, Any]:
        """The plain members stay, though no more of those with others inside is looked at.

        No member is looked at whose name is like a marker, which no name in a profile can have.
        """
        found: dict[str, Any] = {}
        for name, value in members.items():
            is_container = isinstance(value, dict | list)
            is_far = is_container and (self._left <= 0 or level >= MAX_LEVELS)
            if len(found) == MAX_MEMBERS:
                self.is_cut = True
                break
            if is_far or len(name) > MAX_TEXT:
                self.is_cut = True
            elif not markers_in(name):
                found[name] = self._limit(value, level + 1)
        return found


def whole_index(index: int, length: int) -> int:
    """The index in an array of this length, of an item with an index among those looked at."""
    half = MAX_ITEMS // 2
    is_of_last = length > MAX_ITEMS and index >= half
    return length - MAX_ITEMS + index if is_of_last else index
