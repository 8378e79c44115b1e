"""JSON documents: what is wrong in a file of them, and parts of one as they were written."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from web.problems import InvalidBody
from web.strict_json import MalformedJSON

# Numbers are read as strings that begin with a lone surrogate, which no valid document has, and are
# written without their quotes, so that none that a client sent changes.
MARK = "\udfff"
read = json.JSONDecoder(parse_int=MARK.__add__, parse_float=MARK.__add__).decode
_NUMBER = re.compile(r'"(?:\\udfff|\udfff)([^"]*)"')


def unquote_numbers(text: str) -> str:
    """JSON text with the numbers that were read as strings as they were."""
    return _NUMBER.sub(r"\1", text)


def path_of(pointer: str) -> list[str]:
    """The names and indexes of a JSON Pointer (RFC 6901 §4)."""
    names = pointer.split("/")[1:]
    return [name.replace("~1", "/").replace("~0", "~") for name in names]


def follow(part: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """The part of a schema or a contract itself, or what its `$ref` names."""
    if "$ref" in part:
        *_, name = path_of(part["$ref"])
        part = named[name]
    return part


def names_around(value: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The names in an object, and in those on a path: that of each of these has the names in it."""
    names: dict[str, Any] = {name: {} for name in value}
    if path:
        first, *rest = path
        names[first] = names_around(value[first], rest)
    return names


def unknown_members(value: Any, known: dict[str, Any]) -> Iterator[list[str]]:
    """The paths of the members of an object that are not among the names of `names_around`."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name not in known:
            yield [name]
        elif known[name]:
            for path in unknown_members(inner, known[name]):
                yield [name, *path]


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


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raises `ValueError` with the reasons for which the file cannot be read."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except MalformedJSON as error:
        raise ValueError(f"{path}: {error}") from None
    except InvalidBody as error:
        places = [(json.dumps(at)[1:-1] or "the document", why) for at, why in error.errors]
        raise ValueError("\n".join(f"{path}: {at}: {why}" for at, why in places)) from None
