"""The ids that a world gives: random or of a seed, in the form of a profile, varied by grease."""

import itertools
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

from store import NewId, unused_id

from ..grease.axes import Switch

if TYPE_CHECKING:
    from profiles.ids import IdForm

MakeId = Callable[[str, str, int], str]
"""Makes an id: of a prefix, `prj` or `dpl`; of what an id may be made from, the name of the project
or the id of the deployment's project, if any; and of how many such ones were in use.
"""

PARTS = {"prj": "projects", "dpl": "deployments"}  # by the prefix of an id


def make_unused_id(make: MakeId, prefix: str, base: str, taken: Container[str]) -> str:
    """Make an id that is not `taken`. Raises `StoreFull` where hardly any is left."""
    attempts = itertools.count()
    return unused_id(lambda: make(prefix, base, next(attempts)), taken)


@dataclass
class Ids:
    """The source of the ids of a world, a `MakeId`.

    Created ids may be random, so each is numbered, and its number is the key of the resource.
    Grease may be switched on later, so ids are always numbered. Any other id is its own key. All
    worlds share the ids of `start`, with which they begin. `forms` are those of a profile.
    """

    new_id: NewId
    seed: int | None
    forms: "Mapping[str, IdForm]"
    grease: Switch
    world: str = ""
    start: "Ids | None" = None
    are_varied: bool = False  # whether grease varied any of them
    count: int = 0  # of the ids that were made, also those of the start

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._numbers: dict[str, int] = {}
        self._names: dict[str, str] = {}  # of projects, by the ids that were made
        self._varied: dict[str, str] = {}  # the part of each id that grease varied

    def of_world(self, world: str, grease: Switch) -> "Ids":
        """The ids of a world, which begins with these."""
        return replace(self, world=world, grease=grease, start=self)

    def __call__(self, prefix: str, base: str = "", attempt: int = 0) -> str:
        """The id of a new resource: the plain one, or a varied one."""
        part = PARTS.get(prefix, prefix)
        with self._lock:
            self.count += 1
            made = self._plain_id(prefix, part, base, attempt)
            grease = self.grease.current
            if grease.varies("ids", part):
                from ..grease.variants import draw_id, source_of  # most programs need neither

                made = draw_id(source_of(grease.seed, "ids", key_of(self.count)))
                self._varied.setdefault(made, part)
                self.are_varied = True
            if part == "projects":
                self._names[made] = base
            self._numbers.setdefault(made, self.count)  # a deployment may have its project's id
            return made

    def _plain_id(self, prefix: str, part: str, base: str, attempt: int) -> str:
        source = None
        if self.seed is not None:
            source = f"{self.seed} {self.world} {self.count}"
        form = self.forms.get(part)
        if form is not None:
            from profiles.ids import choose_base

            base = choose_base(form, self._name_of(base), base)
            return form.make(Random(source), base, attempt)
        if source is None:
            return self.new_id(prefix)
        digest = blake2b(source.encode(), digest_size=8).hexdigest()
        return f"{prefix}_{digest}"

    def _name_of(self, base: str) -> str:
        """The name of the project whose id is `base`; without one that is known, `base`."""
        if base in self._names or not self.start:
            return self._names.get(base, base)
        return self.start._name_of(base)

    def key(self, text: str) -> str:
        if text in self._numbers:
            return key_of(self._numbers[text])
        return self.start.key(text) if self.start else text

    def find_varied_part(self, text: str) -> str | None:
        if text in self._numbers or not self.start:
            return self._varied.get(text)
        return self.start.find_varied_part(text)


def key_of(number: int) -> str:
    return f"#{number}"
