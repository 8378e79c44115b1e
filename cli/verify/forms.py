"""The forms of ids and times, as a few of them show them, and which forms may be the same."""

import re
from collections.abc import Collection
from os.path import commonprefix
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from profiles.ids import Opaque, slug_of
from profiles.markers import names_below
from profiles.times import OURS
from profiles.times import time_form as profiles_time
from web.times import TIME

from .values import values_in

Form = dict[str, Any]

# A word at the beginning of an id, such as `prj_`. The beginning of a UUID is none, and no `xYz_`,
# whose letters may be random.
WORD = "(?![0-9A-Fa-f]{8}-)(?:[A-Z]?[a-z]+|[A-Z]+)[0-9]{0,2}[_.:~-]"
# Of digits and letters, the hexadecimal ones and all.
RANGES = (("0-9", "0-9"), ("A-F", "A-Z"), ("a-f", "a-z"))
KINDS = (ascii_lowercase, ascii_uppercase, digits)
MAX_WORD = 3  # characters by which the lengths of words differ
LONG = 16  # characters of an id in which each kind of its characters is likely
USUAL_DIGITS = (0, 3, 6, 9)  # of a fraction of a second


# Ids


def ids_form(names: dict[Any, str]) -> Form | None:
    """The form of the ids of a kind of record, None if they have none.

    `names` are those of the records by their ids, "" if unknown.
    """
    types = {type(each) for each in names}
    if types == {int}:
        return {"integers": True}
    if types != {str}:
        return None
    slugs = {each: slug_of(name) for each, name in names.items() if name}
    if slugs and all(each == slug for each, slug in slugs.items()):
        return {"made from": "{project.name}"}
    return opaque_form(names)


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


def example_of(ids: Collection[Any], form: Form) -> str | int:
    """An example of ids of this form, none of these ids itself."""
    if "made from" in form:
        made_from: str = form["made from"]
        return made_from
    if "integers" in form:
        return 7040
    first, *_ = ids
    prefix: str = form["prefix"]
    rest = first.removeprefix(prefix)
    if not re.search("[0-9A-Za-z]", rest):
        return str(first)  # which no profile can have
    return f"{prefix}{Opaque('', rest).make(Random(0))}"


def form_of(example: str | float) -> Form:
    """The form of ids like an example."""
    if not isinstance(example, str):
        return {"integers": True}
    if names_below(example):
        return {"made from": example}
    return opaque_form([example])


def characters(*ranges: str) -> str:
    """The characters of ranges such as `a-f`, or of single characters."""
    found = ""
    for each in ranges:
        for number in range(ord(each[0]), ord(each[-1]) + 1):
            found += chr(number)
    return found


def prefix_of(ids: Collection[str]) -> str:
    """The words at the beginning of all ids, such as `prj_`.

    One id alone without a digit, or with more such separators, may be made of words.
    """
    common = commonprefix([*ids])  # noqa: RUF071  # of texts, not of paths
    prefix: str = re.findall(f"^(?:{WORD})*", common)[0]
    if prefix and len(ids) == 1:
        rest = common.removeprefix(prefix)
        has_digit = re.search("[0-9]", rest) is not None
        if prefix[-1] in rest or not has_digit:
            return ""
    return prefix


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


def is_same_ids(before: Form, now: Form) -> bool:
    """Whether the ids that were seen are of a known form: a run shows some of them.

    A few ids may all begin with the same letters, or with what looks like a word, so one prefix
    may be the beginning of the other.
    """
    if ("integers" in before) != ("integers" in now):
        return False
    if "integers" in now or "made from" in before or "made from" in now:
        return True  # a run does not always show what ids are made from
    prefixes = [before["prefix"], now["prefix"]]
    shared = min(prefixes, key=len)
    if not all(prefix.startswith(shared) for prefix in prefixes):
        return False
    shortest, longest, old = after_prefix(shared, before)
    shortest_now, longest_now, new = after_prefix(shared, now)
    if old | new <= set(digits):
        return True  # numbers grow
    is_long = longest >= LONG
    # Of ids whose length varies, a run shows some lengths, and an example one.
    if shortest > longest_now + MAX_WORD or shortest_now > longest + MAX_WORD:
        return False
    return new <= likely_characters(old, is_long=is_long)


def after_prefix(prefix: str, form: Form) -> tuple[int, int, set[str]]:
    """The least and the most characters of ids after a beginning of their prefix, and which."""
    rest = form["prefix"].removeprefix(prefix)
    more = len(rest)
    used = {*rest, *characters(*form["alphabet"])}
    return more + form["shortest"], more + form["longest"], used


def likely_characters(seen: set[str], *, is_long: bool) -> set[str]:
    """The characters of ids of which a few were seen: of short ones not each kind is sure."""
    found = set(seen)
    for kind in KINDS:
        if not is_long or seen.intersection(kind):
            found.update(kind)
    if seen.intersection(ascii_lowercase) and seen.intersection(ascii_uppercase):
        found.update(digits, "-_+/=")  # of Base64
    return found


# Times


def time_form(value: Any) -> Form | None:
    """The form of an RFC 3339 time, None for another value."""
    match = TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    fraction = match[2] or ""
    return {
        "offset": match[3].upper(),
        "digits": min(len(fraction), 9),
        "case": "upper" if "T" in value else "lower",
    }


def time_example(form: Form) -> str:
    """What a marker has after its name for times of this form: nothing for ours."""
    fraction = f".{'0' * form['digits']}" if form["digits"] else ""
    example = f"2026-01-05T09:00:00{fraction}{form['offset']}"
    if form["case"] == "lower":
        example = example.lower()
    return "" if profiles_time(example) == OURS else f":{example}"


def times_form(bodies: list[Any]) -> Form | None:
    """The form of the time with the most digits: zeros may be left out. None without a time."""
    forms = [form for form in map(time_form, values_in(bodies)) if form]
    return max(forms, key=lambda form: form["digits"], default=None)


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
