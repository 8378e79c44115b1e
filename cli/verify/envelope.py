"""What a list has around its projects, as a profile has it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stub.like.markers import escape

from .marks import Marks, mark_parts
from .values import NOTHING, Path, are_same, at, has_records, is_id, is_same, last_name, words_of

HIDDEN = Marks("project", is_shown=False)
COUNT_WORDS = {"count", "total", "length"}
LAST_WORDS = {"last", "next", "after", "end", "cursor"}


@dataclass(frozen=True)
class Listing:
    """The body of a list; `size`, `first` and `last` are the number of its projects and ids."""

    body: Any
    size: int
    first: Any = None
    last: Any = None

    def mark(self, value: Any, path: Path, *, has_sizes: bool) -> Any:
        """A text or a number with the markers of a list.

        `has_sizes` says that lists of several sizes are known: a number may be one by chance.
        """
        words = words_of(last_name(path))
        is_count = has_sizes or has_any(words, COUNT_WORDS)
        if is_count and self.size and is_same(value, self.size):
            return "{count}"
        known_ids = self._known_ids()
        if has_any(words, LAST_WORDS):
            known_ids.reverse()
        for name, known in known_ids:
            if is_same(value, known):
                return f"{{{name}}}"
        if isinstance(value, str):
            return mark_parts(value, self._known_ids())
        return value

    def _known_ids(self) -> list[tuple[str, Any]]:
        """The ids that a marker stands for, the likelier one of equal ones first."""
        ids = [("first.id", self.first), ("last.id", self.last)]
        return [(name, value) for name, value in ids if is_id(value)]

    def mark_field(self, value: str) -> str:
        """The value of a header field with the markers of a list."""
        if self.size and value == str(self.size):
            return "{count}"
        return mark_parts(value, self._known_ids())


def has_any(words: list[str], known: set[str]) -> bool:
    return not known.isdisjoint(words)


class Envelope:
    """What lists have around their projects, which stand at a path.

    `varying` are the paths at which lists of one size differ. `is_map` says whether the names of
    members are values of records. If it is not sure which array has the projects, the records in
    all others may be those of other people.
    """

    def __init__(
        self,
        listings: list[Listing],
        items_path: Path,
        is_map: Callable[[dict[str, Any]], bool],
        *,
        is_sure: bool,
    ) -> None:
        self._is_map = is_map
        with_projects = [listing for listing in listings if listing.size]
        self._listings = with_projects or listings
        self._items_path = items_path
        self._is_sure = is_sure
        sizes = {listing.size for listing in listings}
        self._has_sizes = len(sizes) > 1
        self.varying: list[Path] = []

    def mark(self, value: Any, path: Path = ()) -> Any:
        """The body of a list with markers, where all lists have one, and without projects."""
        if path == self._items_path:
            return []
        if isinstance(value, dict):
            if self._is_map(value):
                return {}
            return {escape(name): self.mark(each, (*path, name)) for name, each in value.items()}
        if isinstance(value, list):
            if not self._is_sure or has_records(value):
                return HIDDEN.mark(value)
            return [self.mark(item, (*path, index)) for index, item in enumerate(value)]
        return self._mark_scalar(path)

    def _mark_scalar(self, path: Path) -> Any:
        """The marker that is the same in all lists, else the first value."""
        values: list[Any] = []
        marked: list[Any] = []
        for listing in self._listings:
            value = at(listing.body, path)
            values.append(value)
            if value is not NOTHING:
                marked.append(listing.mark(value, path, has_sizes=self._has_sizes))
        if values[0] is not NOTHING and are_same(marked):
            return marked[0]
        if self._varies_in_one_size(values):
            self.varying.append(path)
        seen = [value for value in values if value is not NOTHING]
        return escape(seen[0]) if isinstance(seen[0], str) else seen[0]

    def _varies_in_one_size(self, values: list[Any]) -> bool:
        """Whether two lists of one size have different values, of which each list has one."""
        by_size: dict[int, Any] = {}
        for listing, value in zip(self._listings, values, strict=True):
            if by_size.setdefault(listing.size, value) != value:
                return True
        return False
