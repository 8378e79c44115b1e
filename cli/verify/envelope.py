"""What a list has around its projects, as a profile has it."""

from dataclasses import dataclass
from typing import Any

from stub.like.markers import escape

from .marks import Marks, replace_part
from .values import NOTHING, Path, at, is_id, is_same, last_name, words_of

HIDDEN = Marks("project", is_shown=False)
LAST_WORDS = {"last", "next", "after", "end", "cursor"}


@dataclass(frozen=True)
class Listing:
    """The body of a list; `size`, `first` and `last` are the number of its projects and ids."""

    body: Any
    size: int
    first: Any = None
    last: Any = None

    def mark(self, value: Any, path: Path = ()) -> Any:
        """A text or a number with the markers of a list."""
        if self.size == 0 or isinstance(value, bool) or value is None:
            return escape(value) if isinstance(value, str) else value
        if is_same(value, self.size):
            return "{count}"
        names = ["first", "last"]
        if LAST_WORDS & {*words_of(last_name(path))}:
            names.reverse()
        for name in names:
            known = self.first if name == "first" else self.last
            if is_id(known) and is_same(value, known):
                return f"{{{name}.id}}"
        return self.mark_inside(value) if isinstance(value, str) else value

    def mark_inside(self, text: str) -> str:
        """A text in which markers stand for the ids of the first and the last project."""
        text = escape(text)
        if is_id(self.first):
            text = replace_part(text, str(self.first), "{first.id}")
        if is_id(self.last):
            text = replace_part(text, str(self.last), "{last.id}")
        return text

    def mark_field(self, value: str) -> str:
        """The value of a header field with the markers of a list."""
        return "{count}" if self.size and value == str(self.size) else self.mark_inside(value)


def mark_envelope(listings: list[Listing], items_path: Path, *, is_sure: bool) -> Any:
    """The body of the last of these lists, without its projects, which stand at a path.

    A marker stands where all of them have one. If it is not sure which array has the projects, the
    records in others may be those of other people: each value there is a plain one.
    """
    *_, last = listings
    others = [each for each in listings if each.size] or listings

    def mark(value: Any, path: Path) -> Any:
        if path == items_path:
            return []
        if isinstance(value, list) and not is_sure:
            return HIDDEN.mark(value)
        if isinstance(value, dict):
            return {escape(name): mark(each, (*path, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [mark(each, (*path, index)) for index, each in enumerate(value)]
        marked = last.mark(value, path)
        values = [at(each.body, path) for each in others]
        is_in_all = all(
            found is not NOTHING and is_same(listing.mark(found, path), marked)
            for listing, found in zip(others, values, strict=True)
        )
        if is_in_all or not isinstance(value, str | int) or any(value != each for each in values):
            return marked
        return escape(value) if isinstance(value, str) else value

    return mark(last.body, ())
