"""The forms of ids and times, as a few of them show them."""

import re
from collections.abc import Collection, Iterable
from os.path import commonprefix
from typing import Any

from stub.like.ids import characters, slug_of
from stub.rules import TIME

Form = dict[str, Any]


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
    is_slug = [slug_of(name) == each for each, name in zip(ids, names, strict=False) if name]
    if is_slug and all(is_slug):
        return {"slug": True}
    return opaque_form(ids)


def opaque_form(ids: Collection[str]) -> Form:
    """The form of these ids; the prefix are the words in their first half, such as `prj_`, or all
    before a number.

    The beginning of a UUID is no word. Of one id alone, `xYz` is none: its letters may be random;
    and one without a digit, or with several separators, may be made of words.
    """
    common = commonprefix([*ids])  # noqa: RUF071  # of texts, not of paths
    shortest = min(len(each) for each in ids)
    letters = "[A-Za-z]+" if len({*ids}) > 1 else "(?:[A-Z]?[a-z]+|[A-Z]+)"
    word = f"(?![0-9A-Fa-f]{{8}}-){letters}[0-9]{{0,2}}[_.:~-]"
    prefix: str = re.findall(f"^(?:{word})*", common)[0]
    rests = [each[len(prefix) :] for each in ids]
    if not all(rest.isdigit() for rest in rests):
        prefix = re.findall(f"^(?:{word})*", common[: shortest // 2])[0]
        rests = [each[len(prefix) :] for each in ids]
    is_of_words = prefix[-1:] in rests[0] or not re.search("[0-9]", rests[0])
    if prefix and len({*ids}) == 1 and is_of_words:
        prefix, rests = "", [*ids]
    return {
        "prefix": prefix,
        "alphabet": ranges_of("".join(rests)),
        "shortest": min(len(each) for each in rests),
        "longest": max(len(each) for each in rests),
    }


def ranges_of(text: str) -> list[str]:
    """The alphabet of a text: of letters and digits whole ranges, or the hexadecimal ones."""
    used, alphabet = {*text}, list[str]()
    for short, whole in (("0-9", "0-9"), ("A-F", "A-Z"), ("a-f", "a-z")):
        found = used & {*characters(whole)}
        if found:
            alphabet.append(short if found <= {*characters(short)} else whole)
            used -= found
    return sorted([*alphabet, *used])


def time_form(text: str) -> Form | None:
    """The form of an RFC 3339 time, None for another text."""
    match = TIME.fullmatch(text.upper())
    if match is None:
        return None
    return {
        "offset": match[3],
        "digits": min(len(match[2] or ""), 9),
        "case": "upper" if "T" in text else "lower",
    }


def times_form(texts: Iterable[str]) -> Form | None:
    """The form that most of these times have, with the most digits: zeros may be left out."""
    forms = [form for form in map(time_form, texts) if form is not None]
    if not forms:
        return None
    kinds = [(form["offset"], form["case"]) for form in forms]
    offset, case = max(kinds, key=kinds.count)
    digits = [
        form["digits"] for form, kind in zip(forms, kinds, strict=True) if kind == (offset, case)
    ]
    return {"offset": offset, "digits": max(digits), "case": case}
