"""The ids of a service: opaque ones of a certain form, numbers, slugs, or those of the projects."""

import re
import unicodedata
from random import Random
from typing import Any
from uuid import UUID

UUIDS = (["-", "0-9", "a-f"], ["-", "0-9", "A-F"])  # alphabets
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
    is_taken_number = "same" in form and attempt and base.isdigit()
    if "integers" in form or is_taken_number:
        return str(source.randint(FIRST_INTEGER, LAST_INTEGER))
    if "slug" in form or "same" in form:
        text = slug_of(base) if "slug" in form else base or "deployment"
        if attempt > MAX_NUMBERED:
            attempt = source.randint(FIRST_INTEGER, LAST_INTEGER)
        return f"{text}-{attempt + 1}" if attempt else text
    return make_opaque_id(form, source, number)


def slug_of(text: str) -> str:
    """The letters and digits of a text in lower case, with `-` between its words."""
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", ascii_only.lower())
    return "-".join(words) or "unnamed"


def make_opaque_id(form: dict[str, Any], source: Random, number: int) -> str:
    """The first half of an id has no separator, as that would look like another prefix. The second
    half ends with a character of each range of the alphabet, if it has room for them.
    """
    prefix: str = form["prefix"]
    if sorted(form["alphabet"]) in UUIDS and form["shortest"] == form["longest"] == 36:
        uuid = str(UUID(int=source.getrandbits(128), version=4))
        return prefix + (uuid if "a-f" in form["alphabet"] else uuid.upper())
    alphabet = characters(*form["alphabet"])
    plain = [each for each in alphabet if each.isalnum()]
    size = source.randint(form["shortest"], form["longest"])
    while len(plain) ** size < number:
        size += 1
    first = max((size - len(prefix)) // 2 + 1, 0)
    second = size - first
    made = source.choices(plain, k=first) + source.choices(alphabet, k=second)
    ranges = form["alphabet"]
    if len(ranges) <= second + 1:
        made[-len(ranges) :] = [draw_typical(each, source) for each in ranges]
    return prefix + "".join(made)


def draw_typical(of_range: str, source: Random) -> str:
    """A character of a range: of `a-z` a letter after f, since the others are in `a-f`, too."""
    found = characters(of_range)
    return source.choice(found[6:] or found)


def characters(*ranges: str) -> str:
    """The characters of ranges such as `a-f`, or of single characters."""
    found = ""
    for each in ranges:
        first, last = sorted((ord(each[0]), ord(each[-1])))
        found += "".join(map(chr, range(first, last + 1)))
    return found
