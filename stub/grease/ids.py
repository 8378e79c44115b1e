"""The ids that grease gives to new resources."""

from collections.abc import Collection

from .draws import LETTERS, UNRESERVED, Draws

# What of a path segment must be percent-encoded (RFC 3986 §2.1): one of each kind.
ENCODED = (("/",), ("%", "%41", "%2F"), (" ",), ("\u00e9", "\u00df", "\u6f22", "\U0001f600"))
MAX_ID = 255
PREFIX = 4  # characters of an id that name the kind of its record


def vary_id(axes: Collection[str], seed: int, key: str, plain: str) -> str:
    """The id of a new resource, whose id would be `plain` without these axes."""
    new = other_shape(seed, key) if "ids" in axes else plain
    return to_encode(seed, key, new) if "ids-encoded" in axes else new


def other_shape(seed: int, key: str) -> str:
    """An id of up to 255 unreserved characters (RFC 3986 §2.3)."""
    draws = Draws(str(seed), "ids", key)
    length = draws.choice([16, 36, 64, MAX_ID])
    rest = "".join(draws.text(UNRESERVED, 32) for _ in range(8))
    return draws.text(LETTERS, 1) + rest[: length - 1]


def to_encode(seed: int, key: str, new: str) -> str:
    """The id with characters inside that a client must encode in a path, in any order."""
    draws = Draws(str(seed), "ids-encoded", key)
    pieces = [draws.choice(kind) for kind in ENCODED]
    new = new[: MAX_ID - len("".join(pieces))]
    start = min(PREFIX, len(new))  # an id that `ids` does not vary keeps its prefix
    while pieces:
        piece = pieces.pop(draws.below(len(pieces)))
        at = draws.below(max(len(new) - start, 1)) + start
        new = new[:at] + piece + new[at:]
    return new
