"""The ids that a world creates."""

from hashlib import blake2b
from threading import Lock

from store import NewId

from .grease.axes import ID_AXES, Switch
from .grease.ids import vary_id


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
        self._count: int = initial._count if initial else 0
        self._numbers: dict[str, int] = {}  # by id
        self._varied: dict[str, frozenset[str]] = {}  # to the axes that varied it
        self._plain: dict[str, str] = {}  # the plain ids of those
        self._lock = Lock()
        self.are_varied: bool = initial.are_varied if initial else False
        """Whether grease varied any of them."""

    def __call__(self, prefix: str) -> str:
        """The id of a new resource: the plain one, or a varied one."""
        with self._lock:
            self._count += 1
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
        if not (axes := ID_AXES.intersection(grease.axes)):
            return plain
        varied = vary_id(grease, key_of(number), plain)
        self._varied[varied], self._plain[varied] = axes, plain
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

    def axes_of(self, text: str | None) -> frozenset[str]:
        """The axes that varied an id; none for any other text."""
        axes = self._varied.get(text or "")
        if axes is None:
            axes = self._initial.axes_of(text) if self._initial else frozenset()
        return axes
