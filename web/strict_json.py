"""Reading a JSON body strictly: nothing is accepted that two readers could take differently."""

import json
import math
import re
from collections.abc import Container, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from flask import g, request

from .problems import NOT_AN_OBJECT, InvalidBody, Problem

JSON = {"Content-Type": "application/json", "Cache-Control": "no-store"}
"""The headers of a JSON response."""

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
RULE = "Send JSON that every parser reads the same way (RFC 8259, RFC 7493)."
UTF_8 = {"charset=utf-8", 'charset="utf-8"'}

# A string is matched to its end, closed or not, so that a scan is linear in any text.
_TOKEN = re.compile(
    r"""(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"?)(?P<colon>[ \t\r\n]*:)?
    | (?P<open>[\[{]) | (?P<close>[\]}])
    | (?P<number>-?[0-9][0-9.eE+-]*) | (?P<constant>-?Infinity|NaN)""",
    re.DOTALL | re.VERBOSE,
)
_NO_BRACKET = re.compile(r'"[^"]*"|[^"\[\]{}]+')  # strings, and all else between brackets


def read_json(max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> tuple[str, dict[str, Any]]:
    """The text of the request's body, and the JSON object in it, which is left in `g.document`.

    Raises a `Problem`: 415, 413, 400 or 422, checked in this order.
    """
    environ = request.environ
    if not is_json(environ.get("CONTENT_TYPE", "")):
        raise Problem(
            415, "unsupported_media_type", "Send `Content-Type: application/json`, in UTF-8."
        )
    if environ.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in ("", "identity"):
        raise Problem(
            415, "unsupported_media_type", "Send the body as it is, without a Content-Encoding."
        )
    data = request.get_data()  # the server limits its size
    if len(data) > max_bytes:
        raise Problem(413, "body_too_large", f"Send a body of at most {max_bytes} bytes.")
    try:
        text = data.decode()
        document = parse_json(text, max_depth)
    except UnicodeDecodeError as error:
        raise malformed(f"At byte {error.start + 1}: not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise malformed(f"At {place(error)}.") from None
    if not isinstance(document, dict):
        raise InvalidBody([NOT_AN_OBJECT])
    g.document = document
    return text, document


def malformed(detail: str) -> Problem:
    return Problem(400, "malformed_json", f"{RULE} {detail}")


def is_json(content_type: str) -> bool:
    """Whether a Content-Type is that of JSON in UTF-8."""
    media_type, *parameters = content_type.lower().split(";")
    charsets = [each.strip() for each in parameters if each.strip().startswith("charset=")]
    return media_type.strip() == "application/json" and {*charsets} <= UTF_8


def place(error: json.JSONDecodeError) -> str:
    """Where a JSON text is wrong, and why."""
    before = error.doc[: error.pos].rstrip(" \t\n\r")
    if error.doc[error.pos : error.pos + 1] in ("}", "]") and before.endswith(","):
        # Python 3.13 says it so, at the comma.
        kind = "object" if error.doc[error.pos] == "}" else "array"
        reason = f"Illegal trailing comma before end of {kind}"
        error = json.JSONDecodeError(reason, error.doc, len(before) - 1)
    return f"line {error.lineno}, column {error.colno}: {error.msg.removesuffix(' at')}"


def parse_json(text: str, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text. Raises `json.JSONDecodeError`, which has the place.

    Unlike Python's own reader, it rejects what some clients could not read as it was sent:
    a repeated member name, NaN, Infinity, a number beyond an IEEE double, a lone surrogate, a BOM,
    more levels than `max_depth`.
    """
    if "\\" not in text and not _is_deeper(text, max_depth):
        with suppress(ValueError):
            return _QUICK.decode(text)
    if error := _strict_error(text, max_depth):
        reason, position = error
        raise json.JSONDecodeError(reason, text, position)
    return _DECODER.decode(text)


def _is_deeper(text: str, levels: int) -> bool:
    """Whether a JSON text without escapes has more levels; meaningless for other texts."""
    if text.count("{") + text.count("[") <= levels:
        return False
    depth = 0
    for bracket in _NO_BRACKET.sub("", text):
        depth += 1 if bracket in "{[" else -1
        if depth > levels:
            return True
    return False


def _strict_error(text: str, max_depth: int) -> tuple[str, int] | None:
    """The first thing in a text that Python's own reader would accept, and its position."""
    if text.startswith("\ufeff"):
        return "A byte order mark", 0
    levels: list[set[str]] = []  # the member names of each open object
    for token in _TOKEN.finditer(text):
        reason = None
        match token.lastgroup:
            case "open":
                levels.append(set())
                if len(levels) > max_depth:
                    reason = f"More than {max_depth} levels deep"
            case "close":
                del levels[-1:]
            case "number":
                reason = _number_error(token.group())
            case "constant":
                reason = "NaN and Infinity are no JSON numbers"
            case kind:
                name = token["string"][1:-1]
                try:
                    if "\\" in name:
                        name = json.loads(token["string"])
                        name.encode()
                except json.JSONDecodeError:
                    return None  # Python's reader finds it, too
                except UnicodeEncodeError:
                    return "A surrogate without its partner", token.start()
                if kind == "colon" and levels:
                    if name in levels[-1]:
                        reason = "A member name that this object has already"
                    levels[-1].add(name)
        if reason:
            return reason, token.start()
    return None


def _number_error(text: str) -> str | None:
    try:
        return None if math.isfinite(float(text)) else "A number too large for an IEEE double"
    except ValueError:
        return None  # not a number at all, which json.loads says better


def _integer(text: str) -> int | float:
    """The number; one too large is infinite, so that the interpreter's limit on digits does not
    matter. -0 keeps its sign as a float.
    """
    number = float(text)
    return int(text) if math.isfinite(number) and text != "-0" else number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _reject()


def _finite_integer(text: str) -> int | float:
    number = _integer(text)
    return number if math.isfinite(number) else _reject()


def _finite_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _reject()


def _reject(*_: object) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(parse_int=_integer)
# Rejects repeated names and numbers as `_strict_error` does, but without the place; quicker.
_QUICK = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_finite_integer,
    parse_float=_finite_float,
    parse_constant=_reject,
)


# The text of a part, as it was sent: `text` is valid JSON.

_READER = json.JSONDecoder(parse_int=str, parse_float=str)
_SPACE = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,?[ \t\n\r]*")


class Member(NamedTuple):
    """A member of an object: where it starts, and where its value starts."""

    name: str
    start: int
    value: int


def find_members(text: str, at: int = 0) -> Iterator[Member]:
    """The members of the object at a position."""
    start = _end(_SPACE, text, text.index("{", at) + 1)
    while text[start] != "}":
        name, end = _READER.raw_decode(text, start)
        value = _end(_COLON, text, end)
        yield Member(name, start, value)  # before its value, which may be long, is read
        _, end = _READER.raw_decode(text, value)
        start = _end(_COMMA, text, end)


def item_texts(text: str, at: int = 0) -> Iterator[str]:
    """The texts of the items of the array at a position."""
    start = _end(_SPACE, text, text.index("[", at) + 1)
    while text[start] != "]":
        _, end = _READER.raw_decode(text, start)
        yield text[start:end]
        start = _end(_COMMA, text, end)


def without_members(text: str, names: Container[str]) -> str:
    """The text of an object without some of its members; not all. Nothing else of it changes."""
    members = list(find_members(text))
    ends = [*(member.start for member in members[1:]), len(text)]
    kept = [
        text[member.start : end]
        for member, end in zip(members, ends, strict=True)
        if member.name not in names
    ]
    if members[-1].name in names:
        kept[-1] = kept[-1].rstrip(" \t\n\r").removesuffix(",") + "}"
    return "{" + "".join(kept)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    assert match
    return match.end()
