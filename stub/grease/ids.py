"""The ids that grease gives to new resources."""

from .axes import Grease
from .draws import LETTERS, UNRESERVED, Draws

# What of a path segment must be percent-encoded (RFC 3986 §2.1): one of each kind.
ENCODED = (("/",), ("%", "%41", "%2F"), (" ",), ("\u00e9", "\u00df", "\u6f22", "\U0001f600"))
MAX_ID = 255


def vary_id(grease: Grease, key: str, plain: str) -> str:
    """The id of a new resource, whose id would be `plain` without grease."""
    new = other_shape(grease, key) if "ids" in grease.axes else plain
    return to_encode(grease, key, new) if "ids-encoded" in grease.axes else new


def other_shape(grease: Grease, key: str) -> str:
    """An id of up to 255 unreserved characters (RFC 3986 §2.3)."""
    draws = Draws(str(grease.seed), "ids", key)
    length = draws.choice([16, 36, 64, MAX_ID])
    rest = "".join(draws.text(UNRESERVED, 32) for _ in range(8))
    return draws.text(LETTERS, 1) + rest[: length - 1]


def to_encode(grease: Grease, key: str, new: str) -> str:
    """The id with characters inside that a client must encode in a path, in any order."""
    draws = Draws(str(grease.seed), "ids-encoded", key)
    pieces = [draws.choice(kind) for kind in ENCODED]
    new = new[: MAX_ID - len("".join(pieces))]
    while pieces:
        piece = pieces.pop(draws.below(len(pieces)))
        at = draws.below(max(len(new) - 1, 1)) + 1
        new = new[:at] + piece + new[at:]
    return new
