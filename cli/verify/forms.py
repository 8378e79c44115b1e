"""The forms of ids and times, as a few of them show them, and which forms may be the same."""

import re
from collections.abc import Collection, Iterable
from os.path import commonprefix
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, NamedTuple

from stub.like.ids import DERIVED, characters, slug_of
from stub.rules import TIME

Form = dict[str, Any]

# A word at the beginning of an id, such as `prj_`. The beginning of a UUID is none.
NO_UUID = "(?![0-9A-Fa-f]{8}-)"
WORD = f"{NO_UUID}[A-Za-z]+[0-9]{{0,2}}[_.:~-]"
# Of one id alone, `xYz` is no word: its letters may be random.
WORD_OF_ONE = f"{NO_UUID}(?:[A-Z]?[a-z]+|[A-Z]+)[0-9]{{0,2}}[_.:~-]"
# Of digits and letters, the hexadecimal ones and all.
RANGES = (("0-9", "0-9"), ("A-F", "A-Z"), ("a-f", "a-z"))
LOWER = frozenset(ascii_lowercase)
UPPER = frozenset(ascii_uppercase)
DIGITS = frozenset(digits)
OF_BASE64 = DIGITS | frozenset("-_+/=")
MAX_WORD = 3  # characters by which the lengths of words differ
LONG = 16  # characters of an id in which each kind of its characters is likely
USUAL_DIGITS = (0, 3, 6, 9)  # of a fraction of a second


# Ids


def ids_form(ids: list[Any], names: list[str], project_ids: list[Any] | None = None) -> Form | None:
    """The form of the ids of a kind of record, None if they have none.

    `names` are those of the projects with these ids. Deployments may have the ids of theirs.
    """
    if not ids:
        return None
    if ids == project_ids:
        return {"same": True}
    if all(type(each) is int for each in ids):
        return {"integers": True}
    if not all(isinstance(each, str) for each in ids):
        return None
    if are_slugs(ids, names):
        return {"slug": True}
    return opaque_form(ids)


def are_slugs(ids: list[str], names: list[str]) -> bool:
    """Whether the ids are made from names; some names may be unknown, but not all."""
    known = [(each, name) for each, name in zip(ids, names, strict=False) if name]
    return bool(known) and all(slug_of(name) == each for each, name in known)


def opaque_form(ids: Collection[str]) -> Form:
    """The form of ids from which nothing can be read; the sizes are without the prefix."""
    prefix = prefix_of(ids)
    rests = [each.removeprefix(prefix) for each in ids]
    sizes = [len(rest) for rest in rests]
    return {
        "prefix": prefix,
        "alphabet": ranges_of("".join(rests)),
        "shortest": min(sizes),
        "longest": max(sizes),
    }


def prefix_of(ids: Collection[str]) -> str:
    """The words in the first half of all ids, such as `prj_`, or all words before a number.

    One id alone without a digit, or with several separators, may be made of words.
    """
    common = commonprefix([*ids])  # noqa: RUF071  # of texts, not of paths
    is_one = len(set(ids)) == 1
    word = WORD_OF_ONE if is_one else WORD
    prefix: str = re.findall(f"^(?:{word})*", common)[0]
    rests = [each.removeprefix(prefix) for each in ids]
    if not all(rest.isdigit() for rest in rests):
        half = min(len(each) for each in ids) // 2
        prefix = re.findall(f"^(?:{word})*", common[:half])[0]
    if not prefix or not is_one:
        return prefix
    rest = common.removeprefix(prefix)
    separator = prefix[-1]
    is_of_words = separator in rest or not re.search("[0-9]", rest)
    return "" if is_of_words else prefix


def ranges_of(text: str) -> list[str]:
    """The alphabet of a text: of letters and digits whole ranges, or the hexadecimal ones."""
    used = set(text)
    alphabet = []
    for short, whole in RANGES:
        found = used & set(characters(whole))
        if found:
            used -= found
            is_short = found <= set(characters(short))
            alphabet.append(short if is_short else whole)
    return sorted([*alphabet, *used])


class OpaqueIds(NamedTuple):
    """The form of ids from which nothing can be read; the sizes are without the prefix."""

    prefix: str
    characters: frozenset[str]
    shortest: int
    longest: int

    def with_prefix_of(self, other: "OpaqueIds") -> "OpaqueIds":
        """The form with the shorter prefix of another one, if its own begins with that.

        A few ids may all begin with the same letters, or with what looks like a word.
        """
        if not self.prefix.startswith(other.prefix):
            return self
        rest = self.prefix.removeprefix(other.prefix)
        return OpaqueIds(
            other.prefix,
            self.characters.union(rest),
            self.shortest + len(rest),
            self.longest + len(rest),
        )


def read_opaque(form: Form) -> OpaqueIds:
    used = frozenset(characters(*form["alphabet"]))
    return OpaqueIds(form["prefix"], used, form["shortest"], form["longest"])


def is_same_ids(before: Form, now: Form) -> bool:
    """Whether the ids that were seen are of a known form: a run shows some of them."""
    if ("integers" in before) != ("integers" in now):
        return False
    if any(name in before or name in now for name in DERIVED):
        return True  # a run does not always show what ids are made from
    own_old = read_opaque(before)
    own_new = read_opaque(now)
    old = own_old.with_prefix_of(own_new)
    new = own_new.with_prefix_of(own_old)
    if old.prefix != new.prefix:
        return False
    if old.characters | new.characters <= DIGITS:
        return True  # numbers grow
    # Of ids whose length varies, a run shows some lengths; short ones may be made of words.
    more = MAX_WORD if old.longest < LONG else 0
    is_shorter = old.shortest > new.longest + more
    is_longer = new.shortest > old.longest + more
    if is_shorter or is_longer:
        return False
    return new.characters <= likely_characters(old)


def likely_characters(ids: OpaqueIds) -> frozenset[str]:
    """The characters of ids of which a few were seen: of one of them not each kind is sure."""
    seen = ids.characters
    found = seen
    for kind in (LOWER, UPPER, DIGITS):
        if ids.longest < LONG or kind & seen:
            found |= kind
    if LOWER & seen and UPPER & seen:
        found |= OF_BASE64
    return found


# Times


def time_form(text: str) -> Form | None:
    """The form of an RFC 3339 time, None for another text."""
    match = TIME.fullmatch(text.upper())
    if match is None:
        return None
    fraction = match[2] or ""
    return {
        "offset": match[3],
        "digits": min(len(fraction), 9),
        "case": "upper" if "T" in text else "lower",
    }


def times_form(texts: Iterable[str]) -> Form | None:
    """The form that most of these times have, with the most digits: zeros may be left out."""
    digits_by_kind: dict[tuple[str, str], list[int]] = {}
    for text in texts:
        form = time_form(text)
        if form:
            kind = form["offset"], form["case"]
            digits_by_kind.setdefault(kind, []).append(form["digits"])
    if not digits_by_kind:
        return None
    usual = max(digits_by_kind, key=lambda kind: len(digits_by_kind[kind]))
    offset, case = usual
    return {"offset": offset, "digits": max(digits_by_kind[usual]), "case": case}


def is_same_times(before: Form, now: Form) -> bool:
    """Whether times that were seen are of a known form: zeros at the end may be left out.

    An offset may be that of the season.
    """
    if before["case"] != now["case"]:
        return False
    if (before["offset"] == "Z") != (now["offset"] == "Z"):
        return False
    if before["digits"] not in USUAL_DIGITS or now["digits"] not in USUAL_DIGITS:
        return True
    return bool(before["digits"] == now["digits"])


def is_known_time(known: Form, form: Form) -> bool:
    """Whether a time may be of the form of a profile's times, which have the most digits."""
    most = max(form["digits"], known["digits"])
    return is_same_times(known, {**form, "digits": most})


def has_time_form(form: Form | None, text: str) -> bool:
    """Whether a time has a form, but for zeros at the end of its fraction."""
    found = time_form(text)
    if form is None or found is None or found["digits"] > form["digits"]:
        return False
    return bool(found["offset"] == form["offset"] and found["case"] == form["case"])
