"""The ids that a world creates."""

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from random import Random
from threading import Lock
from types import MappingProxyType

from store import NewId

from .grease.axes import ID_AXES, Pair, Switch
from .grease.forms import vary_id
from .profile import IdForm, make_id

MAX_MADE = 300_000  # ids that a world remembers
PARTS = {"prj": "projects", "dpl": "deployments"}  # by the prefix of an id


def key_of(number: int) -> str:
    """The key of the resource that was created with this number."""
    return f"#{number}"


class Ids:
    """The source of the ids of a world.

    Created ids may be random, so each is numbered, and its number is the key of the resource.
    Grease may be switched on later, so ids are always numbered. Any other id is its own key. All
    worlds share the ids that they begin with. It is called with the prefix of a new id. `forms` are
    those of a profile.
    """

    def __init__(
        self,
        new_id: NewId,
        seed: int | None,
        world: str,
        grease: Switch,
        initial: "Ids | None" = None,
        forms: Mapping[str, IdForm] = MappingProxyType({}),
    ) -> None:
        self._new_id = new_id
        self._seed = seed
        self._world = world
        self._grease = grease
        self._initial = initial
        self._forms = forms
        self._count: int = initial._count if initial else 0
        # The latest ids: the number of each, and the axes that varied it, each with its part.
        self._made: OrderedDict[str, tuple[int, tuple[Pair, ...]]] = OrderedDict()
        self._lock = Lock()
        self.are_varied: bool = initial.are_varied if initial else False
        """Whether grease varied any of them."""

    def __call__(self, prefix: str) -> str:
        """The id of a new resource: the plain one, or a varied one."""
        part = PARTS.get(prefix, prefix)
        with self._lock:
            self._count += 1
            made, grease = self._plain_id(prefix, part), self._grease.current
            axes = [axis for axis in ID_AXES if grease.varies(axis, part)] if grease.parts else []
            if axes:
                made = vary_id(axes, grease.seed, key_of(self._count), made)
                self.are_varied = True
            pairs = tuple([(axis, part) for axis in axes])
            self._made.setdefault(made, (self._count, pairs))
            if len(self._made) > MAX_MADE:
                self._made.popitem(last=False)
            return made

    def _plain_id(self, prefix: str, part: str) -> str:
        key = f"{self._seed} {self._world} {self._count}"
        if part in self._forms:
            return make_id(self._forms[part], Random(None if self._seed is None else key))
        if self._seed is None:
            return self._new_id(prefix)
        return f"{prefix}_{blake2b(key.encode(), digest_size=8).hexdigest()}"

    def _find(self, text: str) -> tuple[int, tuple[Pair, ...]]:
        """What is known of an id that this world created or began with; the number 0 for others."""
        if text not in self._made and self._initial:
            return self._initial._find(text)
        return self._made.get(text, (0, ()))

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""
        number, _ = self._find(text)
        return key_of(number) if number else text

    def pairs_of(self, text: str) -> tuple[Pair, ...]:
        """The axes that varied an id, with its part; none for any other text."""
        return self._find(text)[1]
