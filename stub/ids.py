"""The ids that a world creates."""

from hashlib import blake2b
from threading import Lock

from store import NewId

from .grease.axes import ID_AXES, Pair, Switch
from .grease.ids import vary_id

PARTS = {"prj": "projects", "dpl": "deployments"}  # by the prefix of an id


def key_of(number: int) -> str:
    """The key of the resource that was created with this number."""
    return f"#{number}"


class Ids:
    """The source of the ids of a world.

    Created ids may be random, so each is numbered, and its number is the key of the resource.
    Grease may be switched on later, so ids are always numbered. Any other id is its own key. All
    worlds share the keys of the ids that they begin with. It is called with the prefix of a new id.

    `plain_id` makes an id of a prefix and the number; `grease` may vary it.
    """

    def __init__(
        self,
        new_id: NewId,
        seed: int | None,
        world: str,
        grease: Switch,
        initial: "Ids | None" = None,
    ) -> None:
        self._new_id = new_id
        self._seed = seed
        self._world = world
        self._grease = grease
        self._initial = initial
        self._before: int = initial._count if initial else 0
        self._count: int = self._before
        self._numbers: dict[str, int] = {}  # by id
        self._parts: list[str] = []  # of the ids with a number of this world, in their order
        self._varied: dict[str, tuple[Pair, ...]] = {}  # to the axes that varied it, with its part
        self._plain: dict[str, str] = {}  # the plain ids of those
        self._lock = Lock()
        self.are_varied: bool = initial.are_varied if initial else False
        """Whether grease varied any of them."""

    def __call__(self, prefix: str) -> str:
        """The id of a new resource: the plain one, or a varied one."""
        with self._lock:
            self._count += 1
            self._parts.append(PARTS.get(prefix, prefix))
            created = self._vary(self._count, self._plain_id(prefix, self._count))
            self._numbers.setdefault(created, self._count)
            return created

    def _plain_id(self, prefix: str, number: int) -> str:
        if self._seed is None:
            return self._new_id(prefix)
        key = f"{self._seed} {self._world} {number}"
        return f"{prefix}_{blake2b(key.encode(), digest_size=8).hexdigest()}"

    def renew(self, unused: str) -> str:
        """The id, by the current grease, in place of one that was made and that nothing has."""
        number = self._number(unused)
        if number is None:
            return unused
        with self._lock:
            renewed = self._vary(number, self._plain.get(unused, unused))
            self._numbers.setdefault(renewed, number)
            return renewed

    def _vary(self, number: int, plain: str) -> str:
        grease = self._grease.current
        if not grease.axes:
            return plain
        part = self._part(number)
        axes = [axis for axis in ID_AXES if grease.varies(axis, part)]
        if not axes:
            return plain
        varied = vary_id(axes, grease.seed, key_of(number), plain)
        self._varied[varied] = tuple((axis, part) for axis in axes)
        self._plain[varied] = plain
        self.are_varied = True
        return varied

    def key(self, text: str) -> str:
        """The key of an id. Any other text is its own key."""
        number = self._number(text)
        if number is not None:
            return key_of(number)
        return self._initial.key(text) if self._initial else text

    def _number(self, text: str) -> int | None:
        """The number of an id that this world created."""
        with self._lock:
            return self._numbers.get(text)

    def pairs_of(self, text: str) -> tuple[Pair, ...]:
        """The axes that varied an id, with its part; none for any other text."""
        pairs = self._varied.get(text)
        if pairs is None:
            pairs = self._initial.pairs_of(text) if self._initial else ()
        return pairs

    def part_of(self, text: str) -> str | None:
        """The part of an id that was created; None for any other text."""
        number = self._number(text)
        if number is not None:
            return self._part(number)
        return self._initial.part_of(text) if self._initial else None

    def _part(self, number: int) -> str:
        return self._parts[number - self._before - 1]
