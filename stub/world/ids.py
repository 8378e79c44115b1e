"""The ids of a world: random, from a seed, or in the form of a profile. Grease may vary them."""

from collections.abc import Callable, Container, Mapping
from hashlib import blake2b
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

import store

from ..grease.axes import Switch

if TYPE_CHECKING:
    from profiles.ids import IdForm

MakeId = Callable[[str, str, int], str]
"""Makes an id from three arguments: `make("prj", "shop", 0)`.

They are the prefix, `prj` or `dpl`; the name of the project, or for a deployment the id of its
project; and the number of attempts that gave an id in use.
"""


def make_unused_id(make: MakeId, prefix: str, base: str, taken: Container[str]) -> str:
    """Make an id that is not `taken`. Raises `StoreFull` if hardly any id is left."""
    for attempt in range(store.MAX_TRIES):
        made = make(prefix, base, attempt)
        if made not in taken:
            return made
    raise store.StoreFull


class Ids:
    """The source of the ids of a world; it is a `MakeId`.

    An id may be random, so created ids are numbered, and grease varies a record by its number. An
    id that was not created is its own key. All worlds begin with the ids of `start`. `forms` are
    the forms in a profile. `count` is the number of created ids. `are_varied` tells that grease
    varied an id.
    """

    def __init__(
        self,
        new_id: store.NewId,
        seed: int | None,
        forms: "Mapping[str, IdForm]",
        grease: Switch,
        world: str = "",
        start: "Ids | None" = None,
    ) -> None:
        self.new_id = new_id
        self.seed = seed
        self.forms = forms
        self.grease = grease
        self.world = world
        self.start = start
        self.count: int = start.count if start else 0
        self.are_varied: bool = start.are_varied if start else False
        self._lock = Lock()
        self._numbers: dict[str, int] = {}  # key: id
        self._names: dict[str, str] = {}  # key: id of a project
        self._varied: dict[str, str] = {}  # key: varied id, value: `projects` or `deployments`

    def copy_for_world(self, world: str, grease: Switch) -> "Ids":
        """Return the ids of a world that begins with these ids."""
        return Ids(self.new_id, self.seed, self.forms, grease, world, start=self)

    def __call__(self, prefix: str, base: str = "", attempt: int = 0) -> str:
        """Make the id of a new record, and vary it if the grease of the world says so."""
        parts = {"prj": "projects", "dpl": "deployments"}
        part = parts.get(prefix, prefix)
        with self._lock:
            self.count += 1
            made = self._make_plain(prefix, part, base, attempt)
            grease = self.grease.current
            if part in grease.parts.get("ids", ()):
                from ..grease.variants import draw_id, make_source  # Most programs need neither.

                made = draw_id(make_source(grease.seed, "ids", f"#{self.count}"))
                self._varied.setdefault(made, part)
                self.are_varied = True
            if part == "projects":
                self._names[made] = base
            self._numbers.setdefault(made, self.count)  # A deployment may have its project's id.
            return made

    def _make_plain(self, prefix: str, part: str, base: str, attempt: int) -> str:
        source = None
        if self.seed is not None:
            source = f"{self.seed} {self.world} {self.count}"
        form = self.forms.get(part)
        if form is not None:
            from profiles.ids import choose_base

            base = choose_base(form, self._find_name(base), base)
            return form.make(Random(source), base, attempt)
        if source is None:
            return self.new_id(prefix)
        digest = blake2b(source.encode(), digest_size=8).hexdigest()
        return f"{prefix}_{digest}"

    def _find_name(self, base: str) -> str:
        """Return the name of the project with the id `base`; `base` itself if it is unknown."""
        if base in self._names or not self.start:
            return self._names.get(base, base)
        return self.start._find_name(base)

    def key(self, text: str) -> str:
        """Return the key of a created id, `#3` for the third. Any other text is its own key."""
        if text in self._numbers:
            return f"#{self._numbers[text]}"
        return self.start.key(text) if self.start else text

    def find_varied_part(self, text: str) -> str | None:
        """Return `projects` or `deployments` for a varied id, or None."""
        if text in self._numbers or not self.start:
            return self._varied.get(text)
        return self.start.find_varied_part(text)
