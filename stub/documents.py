"""Parts of JSON texts as they were written."""

import json
import re
from collections.abc import Collection, Iterator

# Numbers are read as strings that begin with a lone surrogate, which no valid document has, and are
# written without their quotes, so that none that a client sent changes.
MARK = "\udfff"
read = json.JSONDecoder(parse_int=MARK.__add__, parse_float=MARK.__add__).decode
_NUMBER = re.compile(r'"(?:\\udfff|\udfff)([^"]*)"')


def unquote_numbers(text: str) -> str:
    """JSON text with the numbers that were read as strings as they were."""
    return _NUMBER.sub(r"\1", text)


# The rest of these is for valid JSON. Python's limit on the digits of an integer does not matter.
_scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
_SEPARATORS = re.compile("[ \t\n\r,:]*")


def _skip(text: str, at: int) -> int:
    """The place of the next name, value or bracket."""
    match = _SEPARATORS.match(text, at)
    assert match
    return match.end()


def members_of(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Of each member of an object its name, and where it starts, its value starts, and both end."""
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        name, name_end = _scan(text, at)
        value_at = _skip(text, name_end)
        _, end = _scan(text, value_at)
        yield name, at, value_at, end
        at = _skip(text, end)


def texts_of_members(text: str) -> dict[str, str]:
    """The text of the value of each member of an object."""
    return {name: text[value_at:end] for name, _, value_at, end in members_of(text)}


def texts_of_items(text: str) -> Iterator[str]:
    """The text of each item of an array."""
    at = _skip(text, text.index("[") + 1)
    while text[at] != "]":
        _, end = _scan(text, at)
        yield text[at:end]
        at = _skip(text, end)


def without_members(text: str, names: Collection[str]) -> str:
    """The text of an object without the members of these names; the rest as it was written."""
    for name, at, _, end in reversed([*members_of(text)]):
        if name not in names:
            continue
        before = text[:at]
        after = text[end:].lstrip()
        if after.startswith(","):
            after = after[1:].lstrip()
        else:
            before = before.rstrip().removesuffix(",")
        text = before + after
    return text
