"""The ids that a world gives: random or of a seed, in the form of a profile, varied by grease."""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from random import Random
from threading import Lock
from typing import Any

from store import NewId

from .grease.axes import ID_AXES, Pair, Switch
from .grease.forms import vary_id
from .like.ids import make_id

PARTS = {"prj": "projects", "dpl": "deployments"}  # by the prefix of an id


@dataclass
class Ids:
    """The source of the ids of a world, a `store.NewId`.

    Created ids may be random, so each is numbered, and its number is the key of the resource.
    Grease may be switched on later, so ids are always numbered. Any other id is its own key. All
    worlds share the ids that they begin with. `forms` are those of a profile.
    """

    new_id: NewId
    seed: int | None
    forms: Mapping[str, dict[str, Any]]
    grease: Switch
    world: str = ""
    are_varied: bool = False  # whether grease varied any of them
    _count: int = 0
    # The key of each id, and the axes that varied it, each with its part.
    _made: ChainMap[str, tuple[str, tuple[Pair, ...]]] = field(default_factory=ChainMap)

    def __post_init__(self) -> None:
        self._lock = Lock()

    def of_world(self, world: str, grease: Switch) -> "Ids":
        """The ids of a world, which begins with these."""
        return replace(self, world=world, grease=grease, _made=self._made.new_child())

    def __call__(self, prefix: str, base: str = "", attempt: int = 0) -> str:
        """The id of a new resource: the plain one, or a varied one."""
        part = PARTS.get(prefix, prefix)
        with self._lock:
            self._count += 1
            key = f"#{self._count}"
            made = self._plain_id(prefix, part, base, attempt)
            grease = self.grease.current
            pairs = tuple([(axis, part) for axis in ID_AXES if grease.varies(axis, part)])
            if pairs:
                made = vary_id(dict(pairs), grease.seed, key, made)
                self.are_varied = True
            self._made.setdefault(made, (key, pairs))  # an id of a deployment may be its project's
            return made

    def _plain_id(self, prefix: str, part: str, base: str, attempt: int) -> str:
        source = f"{self.seed} {self.world} {self._count}"
        if part in self.forms:
            random = Random(None if self.seed is None else source)
            return make_id(self.forms[part], random, self._count, base, attempt)
        if self.seed is None:
            return self.new_id(prefix, base, attempt)
        return f"{prefix}_{blake2b(source.encode(), digest_size=8).hexdigest()}"

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""
        return self._made.get(text, (text, ()))[0]

    def pairs_of(self, text: str) -> tuple[Pair, ...]:
        """The axes that varied an id, with its part; none for any other text."""
        return self._made.get(text, (text, ()))[1]
