"""What a list has around its projects, as a profile has it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stub.like.markers import escape

from .marks import Marks, replace_part
from .values import NOTHING, Path, at, has_records, is_id, is_same, last_name, words_of

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
        last = {*words_of(last_name(path))}
        if self.size and is_same(value, self.size) and (has_sizes or last & COUNT_WORDS):
            return "{count}"
        names = ["last", "first"] if last & LAST_WORDS else ["first", "last"]
        for name in names:
            known = self.first if name == "first" else self.last
            if is_id(known) and is_same(value, known):
                return f"{{{name}.id}}"
        return self.mark_inside(value) if isinstance(value, str) else value

    def mark_inside(self, text: str) -> str:
        """A text in which markers stand for the ids of the first and the last project."""
        text = escape(text)
        for name, known in (("first", self.first), ("last", self.last)):
            if is_id(known):
                text = replace_part(text, str(known), f"{{{name}.id}}")
        return text

    def mark_field(self, value: str) -> str:
        """The value of a header field with the markers of a list."""
        return "{count}" if self.size and value == str(self.size) else self.mark_inside(value)


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
        self._listings = [each for each in listings if each.size] or listings
        self._items_path = items_path
        self._is_sure = is_sure
        self._has_sizes = len({each.size for each in listings}) > 1
        self.varying: list[Path] = []

    def mark(self, value: Any, path: Path = ()) -> Any:
        """The body of a list with markers, where all lists have one, and without projects."""
        if path == self._items_path:
            return []
        if isinstance(value, dict) and self._is_map(value):
            return {}
        if isinstance(value, dict):
            return {escape(name): self.mark(each, (*path, name)) for name, each in value.items()}
        if isinstance(value, list) and (not self._is_sure or has_records(value)):
            return HIDDEN.mark(value)
        if isinstance(value, list):
            return [self.mark(each, (*path, index)) for index, each in enumerate(value)]
        return self._mark_scalar(path)

    def _mark_scalar(self, path: Path) -> Any:
        values = [at(each.body, path) for each in self._listings]
        marked = [
            each.mark(value, path, has_sizes=self._has_sizes)
            for each, value in zip(self._listings, values, strict=True)
        ]
        first = marked[0]
        if all(is_same(each, first) for each in marked if each is not NOTHING):
            return first
        by_size: dict[int, Any] = {}
        for listing, value in zip(self._listings, values, strict=True):
            if by_size.setdefault(listing.size, value) != value:
                self.varying.append(path)
                break
        value = next(each for each in values if each is not NOTHING)
        return escape(value) if isinstance(value, str) else value
