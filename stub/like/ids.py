"""The ids of a service: opaque ones of a certain form, numbers, slugs, or those of the projects."""

import re
import unicodedata
from random import Random
from typing import Any
from uuid import UUID

UUIDS = (["-", "0-9", "a-f"], ["-", "0-9", "A-F"])  # alphabets
UUID_LENGTH = 36
FIRST_INTEGER = 10_000_000
LAST_INTEGER = 999_999_999
MAX_NUMBERED = 20  # slugs of one name; the number of a later one is random
DERIVED = ("integers", "slug", "same")
"""The members of a form that has nothing else. Grease varies no such ids."""


def make_id(
    form: dict[str, Any], source: Random, number: int = 0, base: str = "", attempt: int = 0
) -> str:
    """An id of this form, drawn from a source.

    A slug is made of `base`, which is the name of a project; the id of a deployment may be its
    project's, which is `base` then. `attempt` counts those that are taken. An opaque id is longer
    than the form says where there are fewer than `number` of its length.
    """
    if "integers" in form:
        return draw_number(source)
    if "slug" in form:
        return numbered(slug_of(base), source, attempt)
    if "same" not in form:
        return make_opaque_id(form, source, number)
    if attempt and base.isdigit():
        return draw_number(source)
    return numbered(base or "deployment", source, attempt)


def draw_number(source: Random) -> str:
    return str(source.randint(FIRST_INTEGER, LAST_INTEGER))


def numbered(text: str, source: Random, attempt: int) -> str:
    """A text, with a number from the second attempt on."""
    if attempt == 0:
        return text
    if attempt > MAX_NUMBERED:
        attempt = source.randint(FIRST_INTEGER, LAST_INTEGER)
    return f"{text}-{attempt + 1}"


def slug_of(text: str) -> str:
    """The letters and digits of a text in lower case, with `-` between its words."""
    decomposed = unicodedata.normalize("NFKD", text)
    ascii_only = decomposed.encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", ascii_only.lower())
    return "-".join(words) or "unnamed"


def make_opaque_id(form: dict[str, Any], source: Random, number: int) -> str:
    """The first half of an id has no separator, as that would look like another prefix. The second
    half ends with a character of each range of the alphabet, if it has room for them.
    """
    prefix: str = form["prefix"]
    ranges: list[str] = form["alphabet"]
    shortest = form["shortest"]
    longest = form["longest"]
    if sorted(ranges) in UUIDS and shortest == longest == UUID_LENGTH:
        uuid = str(UUID(int=source.getrandbits(128), version=4))
        if "a-f" not in ranges:
            uuid = uuid.upper()
        return prefix + uuid
    alphabet = characters(*ranges)
    plain = [char for char in alphabet if char.isalnum()]
    size = source.randint(shortest, longest)
    while len(plain) ** size < number:
        size += 1
    half = max((size - len(prefix)) // 2 + 1, 0)
    rest = size - half
    first_half = source.choices(plain, k=half)
    made = first_half + source.choices(alphabet, k=rest)
    if len(ranges) <= rest + 1:
        typical = [draw_typical(each, source) for each in ranges]
        made[-len(typical) :] = typical
    return prefix + "".join(made)


def draw_typical(of_range: str, source: Random) -> str:
    """A character of a range: of `a-z` a letter after f, since the others are in `a-f`, too."""
    found = characters(of_range)
    return source.choice(found[6:] or found)


def characters(*ranges: str) -> str:
    """The characters of ranges such as `a-f`, or of single characters."""
    found = ""
    for each in ranges:
        first, last = sorted([ord(each[0]), ord(each[-1])])
        for number in range(first, last + 1):
            found += chr(number)
    return found
