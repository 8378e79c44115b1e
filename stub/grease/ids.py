"""The ids that grease gives to new resources."""

import string
from collections.abc import Collection

from .draws import draws

UNRESERVED = string.ascii_letters + string.digits + "-._~"  # RFC 3986 §2.3
# What of a path segment must be percent-encoded (RFC 3986 §2.1): one of each kind.
ENCODED = (("/",), ("%", "%41", "%2F"), (" ",), ("\u00e9", "\u00df", "\u6f22", "\U0001f600"))
LENGTHS = (16, 36, 64, 255)
PREFIX = 4  # characters of an id that name the kind of its record


def vary_id(axes: Collection[str], seed: int, key: str, plain: str) -> str:
    """The id of a new resource, whose id would be `plain` without these axes."""
    new = other_shape(seed, key) if "ids" in axes else plain
    return to_encode(seed, key, new) if "ids-encoded" in axes else new


def other_shape(seed: int, key: str) -> str:
    """An id of unreserved characters."""
    source = draws(seed, "ids", key)
    rest = source.choices(UNRESERVED, k=source.choice(LENGTHS) - 1)
    return source.choice(string.ascii_lowercase) + "".join(rest)


def to_encode(seed: int, key: str, new: str) -> str:
    """The id with characters inside that a client must encode in a path, in any order."""
    source = draws(seed, "ids-encoded", key)
    pieces = [source.choice(kind) for kind in ENCODED]
    source.shuffle(pieces)
    new = new[: max(LENGTHS) - len("".join(pieces))]
    start = min(PREFIX, len(new))  # an id that `ids` does not vary keeps its prefix
    for piece in pieces:
        at = source.randrange(start, max(len(new), start + 1))
        new = new[:at] + piece + new[at:]
    return new
