"""What a body must be: JSON, strictly read, whose every error is told at once."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

from flask import request
from werkzeug.exceptions import (
    BadRequest,
    RequestEntityTooLarge,
    UnprocessableEntity,
    UnsupportedMediaType,
)

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_DIGITS = 4300
MAX_NAME = 100
MAX_ERRORS = 1000
RULE = "Send JSON that any reader takes alike (RFC 8259, RFC 7493)."
UTF_8 = {"charset=utf-8", 'charset="utf-8"'}
SERVER_MEMBERS = ("id", "created_at", "latest_deployment_id")

# Every string is consumed to its end, closed or not, so that a scan is linear in any text.
_TOKEN = re.compile(
    r"""(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"?)(?P<colon>[ \t\r\n]*:)?
    | (?P<open>[\[{]) | (?P<close>[\]}])
    | (?P<number>-?[0-9][0-9.eE+-]*) | (?P<constant>-?Infinity|NaN)""",
    re.DOTALL | re.VERBOSE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong at one place of a document; `pointer` is a JSON Pointer (RFC 6901)."""

    pointer: str
    detail: str


NO_OBJECT = FieldError("", "must be a JSON object")


class WrongMediaType(UnsupportedMediaType):
    problem = "unsupported_media_type"


class BodyTooLarge(RequestEntityTooLarge):
    problem = "body_too_large"


class MalformedJSON(BadRequest):
    problem = "malformed_json"


class InvalidBody(UnprocessableEntity):
    """JSON of the wrong content: 422 with all `errors`."""

    problem = "invalid_body"

    def __init__(self, errors: Iterable[FieldError]) -> None:
        super().__init__("The body is JSON, but not what is asked for here: see `errors`.")
        self.errors = list(errors)


def refuse(errors: Iterable[FieldError]) -> None:
    """422, if there are any; the first thousand are enough."""
    if found := list(islice(errors, MAX_ERRORS)):
        raise InvalidBody(found)


def read_json(max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> tuple[str, dict[str, Any]]:
    """The text of the request's body and its object, or 415, 413, 400 or 422, in this order.

    The object is left in the environment.
    """
    environ: dict[str, Any] = request.environ
    if not is_json(environ.get("CONTENT_TYPE", "")):
        raise WrongMediaType("Send `Content-Type: application/json`, in UTF-8.")
    if environ.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in ("", "identity"):
        raise WrongMediaType("Send the body as it is, without a Content-Encoding.")
    data = request.get_data()  # the server has seen to it that there is no end of it
    if len(data) > max_bytes:
        raise BodyTooLarge(f"Send a body of at most {max_bytes} bytes.")
    try:
        text = data.decode()
        document = parse_json(text, max_depth)
    except UnicodeDecodeError as error:
        raise MalformedJSON(f"{RULE} At byte {error.start + 1}: not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise MalformedJSON(f"{RULE} At {place(error)}.") from None
    if not isinstance(document, dict):
        raise InvalidBody([NO_OBJECT])
    environ["app.document"] = document
    return text, document


@lru_cache(maxsize=64)
def is_json(content_type: str) -> bool:
    """Whether a Content-Type is that of JSON, in UTF-8."""
    media_type, *parameters = content_type.lower().split(";")
    charsets = [each.strip() for each in parameters if each.strip().startswith("charset=")]
    return media_type.strip() == "application/json" and {*charsets} <= UTF_8


def place(error: json.JSONDecodeError) -> str:
    """Where a JSON text goes wrong, and how."""
    return f"line {error.lineno}, column {error.colno}: {error.msg.removesuffix(' at')}"


def parse_json(text: str, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text, or `json.JSONDecodeError`, which names the place.

    Stricter than Python's own reader wherever what it takes could not be given back as it came,
    to any client: no repeated member name, no NaN, Infinity or number that would become one, no
    integer too long, no lone surrogate, no BOM, no more levels than `max_depth`.
    """
    if "\\" not in text and text.count("{") + text.count("[") <= max_depth:
        with suppress(ValueError):
            return _PLAIN.decode(text)
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("A byte order mark", text, 0)
    levels: list[set[str]] = []  # the member names of each object that is open
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
                string = token["string"][1:-1]
                if "\\" in string:
                    try:
                        string = json.loads(token["string"])
                        string.encode()
                    except json.JSONDecodeError:
                        break
                    except UnicodeEncodeError:
                        reason = "A surrogate without its partner"
                if kind == "colon" and levels:
                    if string in levels[-1]:
                        reason = reason or "A member name that this object has already"
                    levels[-1].add(string)
        if reason:
            raise json.JSONDecodeError(reason, text, token.start())
    return _DECODER.decode(text)


def _integer(text: str) -> int | float:
    """The number, whatever limit on digits the interpreter has; -0 keeps its sign as a float."""
    try:
        return int(text) if text != "-0" else -0.0
    except ValueError:
        return float(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _doubt()


def _doubt(*_: object) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(parse_int=_integer)
# Reads a text in which nothing needs a closer look: no number, no name twice. Most are like that.
_PLAIN = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_doubt, parse_float=_doubt, parse_constant=_doubt
)


def _number_error(text: str) -> str | None:
    digits = text.lstrip("-")
    if digits.isdigit():
        return f"An integer of more than {MAX_DIGITS} digits" if len(digits) > MAX_DIGITS else None
    try:
        return None if math.isfinite(float(text)) else "A number too large for an IEEE double"
    except ValueError:
        return None  # not a number at all, which json.loads says better


def pointer(*path: str | int) -> str:
    """A JSON Pointer (RFC 6901 §3) made of member names and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def under(path: Iterable[str | int], errors: Iterable[FieldError]) -> Iterator[FieldError]:
    """The errors of a part of a document that stands at `path`."""
    for error in errors:
        yield FieldError(pointer(*path) + error.pointer, error.detail)


def check_project(
    document: Any, *, strict: bool = False, reserved: Iterable[str] = SERVER_MEMBERS
) -> list[FieldError]:
    """All errors of a project as a client sends it; `strict` refuses what the contract lacks."""
    if not isinstance(document, dict):
        return [NO_OBJECT]
    errors = [
        FieldError(pointer(member), "is given by the service: leave it out")
        for member in reserved
        if member in document
    ]
    if "name" not in document:
        errors.append(FieldError("/name", "is required"))
    elif not isinstance(name := document["name"], str):
        errors.append(FieldError("/name", "must be a string"))
    else:
        if not name.strip():
            errors.append(FieldError("/name", "must not be blank"))
        if len(name) > MAX_NAME:
            errors.append(FieldError("/name", f"must have at most {MAX_NAME} characters"))
        if _CONTROL.search(name):
            errors.append(FieldError("/name", "must not have control characters"))
    if strict:
        errors += [
            FieldError(pointer(member), "is not in the contract (--strict)")
            for member in document
            if member not in ("name", *SERVER_MEMBERS)
        ]
    return errors


def unknown_members(document: Iterable[str], known: Iterable[str]) -> Iterator[FieldError]:
    """An error for each member that is not `known`."""
    for member in document:
        if member not in known:
            yield FieldError(pointer(member), "is unknown here")


def is_number(value: object, least: float, most: float) -> bool:
    """Whether a JSON value is a number (a boolean is none) in this range, ends included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most


def is_integer(value: object, least: int, most: int) -> bool:
    """Whether a JSON value is an integer in this range; 2.0 is one, as for JSON Schema."""
    return is_number(value, least, most) and value == int(value)  # type: ignore[call-overload]


def is_string(value: object, pattern: re.Pattern[str]) -> bool:
    """Whether a JSON value is a string that the whole pattern matches."""
    return isinstance(value, str) and pattern.fullmatch(value) is not None
