"""The ids of a world: random, from a seed, or in the format of a profile. Grease may vary them."""

from collections import ChainMap
from collections.abc import Callable, Container, Mapping
from hashlib import blake2b
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

import store

from ..grease.axes import Switch

if TYPE_CHECKING:
    from profiles.ids import IdFormat

MakeId = Callable[[str, str, str, int], str]
"""Makes an id from four arguments: `make("dpl", "shop", "prj_1", 0)`.

They are the prefix, `prj` or `dpl`; the name of the project; for a deployment the id of its
project; and the number of attempts that gave an id in use.
"""


KINDS = {"prj": "projects", "dpl": "deployments"}
"""The kinds of records, by the prefix of their ids."""


def make_unused_id(
    make: MakeId, taken: Container[str], prefix: str, name: str, project_id: str = ""
) -> str:
    """Make an id that is not `taken`. Raises `StoreFull` if hardly any id is left."""
    for attempt in range(store.MAX_TRIES):
        made = make(prefix, name, project_id, attempt)
        if made not in taken:
            return made
    raise store.StoreFull


class Ids:
    """The source of the ids of a world; it is a `MakeId`.

    `formats` are the formats of ids in a profile, by kind: `projects` or `deployments`.
    """

    def __init__(
        self,
        new_id: store.NewId,
        seed: int | None,
        formats: "Mapping[str, IdFormat]",
        grease: Switch,
        world: str = "",
    ) -> None:
        self.new_id = new_id
        self.seed = seed
        self.formats = formats
        self.grease = grease
        self.world = world
        self.count = 0  # number of created ids
        self.are_varied = False  # True if grease varied an id
        self._lock = Lock()
        self._numbers = ChainMap[str, int]()  # key: id
        self._varied = ChainMap[str, str]()  # key: id that grease varied, value: its kind

    def copy_for_world(self, world: str, grease: Switch) -> "Ids":
        """Return the ids of a world that begins with these ids. They do not change then."""
        ids = Ids(self.new_id, self.seed, self.formats, grease, world)
        ids.count = self.count
        ids.are_varied = self.are_varied
        ids._numbers = self._numbers.new_child()
        ids._varied = self._varied.new_child()
        return ids

    def __call__(self, prefix: str, name: str = "", project_id: str = "", attempt: int = 0) -> str:
        """Make the id of a new record, and vary it if the grease of the world says so.

        With another prefix, for example `project`, make the name of a project.
        """
        kind = KINDS.get(prefix, "")
        with self._lock:
            self.count += 1
            made = self._make_plain(prefix, kind, name, project_id, attempt)
            grease = self.grease.current
            if kind in grease.parts.get("ids", ()):
                from ..grease.variants import draw_id, make_source

                made = draw_id(make_source(grease.seed, "ids", f"#{self.count}"))
                self._varied.setdefault(made, kind)
                self.are_varied = True
            if made not in self._numbers:  # A deployment may have its project's id.
                self._numbers[made] = self.count
            return made

    def _make_plain(self, prefix: str, kind: str, name: str, project_id: str, attempt: int) -> str:
        source = None
        if self.seed is not None:
            source = f"{self.seed} {self.world} {self.count}"
        id_format = self.formats.get(kind)
        if id_format is not None:
            from profiles.ids import choose_base

            base = choose_base(id_format, name, project_id)
            return id_format.make(Random(source), base, attempt)
        if source is None:
            return self.new_id(prefix)
        digest = blake2b(source.encode(), digest_size=8).hexdigest()
        return f"{prefix}_{digest}"

    def key(self, text: str) -> str:
        """Return the key of an id, `#3` for the third. Any other text is its own key.

        Grease varies a record by its key, since its id may be random.
        """
        number = self._numbers.get(text)
        return text if number is None else f"#{number}"

    def find_varied_part(self, text: str) -> str | None:
        """Return `projects` or `deployments` for an id that grease varied, or None."""
        return self._varied.get(text)
