"""Draws that are a function of the seed, an axis and a key."""

import string
from random import Random


def draws(seed: int, axis: str, *key: str) -> Random:
    """A source of draws: the same for a key in every process and version of Python."""
    return Random("\0".join([str(seed), axis, *key]))


def draw_word(source: Random) -> str:
    """A word that no client knows, fit for a member, a header or a status."""
    return "".join(source.choices(string.ascii_lowercase, k=source.randint(6, 12)))
