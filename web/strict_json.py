"""Reads JSON strictly: it rejects JSON that two parsers could read differently."""

import json
import math
import re
from typing import Any

from flask import Request, Response, request
from werkzeug.http import parse_options_header

from . import problems
from .validation import format_pointer

MEDIA_TYPE = "application/json"
JSON = {"Content-Type": MEDIA_TYPE, "Cache-Control": "no-store"}
"""The header fields of a JSON response."""

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
SURROGATE = re.compile("[\ud800-\udfff]")
REPEATED = object()  # It replaces the value of a member whose name its object has twice.


def no_content() -> Response:
    """Make a response without a body, which has no Content-Type."""
    response = Response(status=204, headers={"Cache-Control": "no-store"})
    del response.headers["Content-Type"]
    return response


class JSONRequest(Request):
    """A request with the JSON object that `read_json` found in its body."""

    document: dict[str, Any] | None = None


class MalformedJSON(ValueError):
    """JSON that is not strict. Its text is like `line 1, column 1: The text is empty`."""


def read_json(
    max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH, *, any_type: bool = False
) -> tuple[str, dict[str, Any]]:
    """Read the body of the request: return its text, and the JSON object in it.

    The object is also in `request.document`. With `any_type` the media type is not checked. Raises
    a `Problem`: 415, 413, 400 or 422, checked in this order.
    """
    received: JSONRequest = request._get_current_object()  # type: ignore[attr-defined]
    environ = received.environ
    content_type = environ.get("CONTENT_TYPE", "")
    is_json = any_type or content_type == MEDIA_TYPE or is_json_type(content_type)
    encoding = environ.get("HTTP_CONTENT_ENCODING") or "identity"
    if not is_json or encoding.lower() != "identity":
        detail = "Send `Content-Type: application/json`, in UTF-8, without a Content-Encoding."
        raise problems.Problem(415, "unsupported_media_type", detail)
    data = received.get_data()  # The server limits its size.
    if len(data) > max_bytes:
        raise problems.Problem(413, "body_too_large", f"Send a body of at most {max_bytes} bytes.")
    try:
        text, document = parse_json(data, max_depth)
    except MalformedJSON as error:
        rule = "Send JSON that every parser reads the same way (RFC 8259, RFC 7493)."
        raise problems.Problem(400, "malformed_json", f"{rule} At {error}.") from None
    if not isinstance(document, dict):
        raise problems.InvalidBody([problems.FieldError("", "must be a JSON object")])
    received.document = document
    return text, document


def is_json_type(content_type: str) -> bool:
    """Return whether a Content-Type is JSON in UTF-8, as `application/json; charset=utf-8` is."""
    media_type, parameters = parse_options_header(content_type)
    charset = parameters.get("charset", "utf-8").lower()
    return media_type.lower() == MEDIA_TYPE and charset == "utf-8"


def parse_json(data: bytes, max_depth: int = MAX_DEPTH) -> tuple[str, Any]:
    """Parse strict JSON: return its text and its value. Raises `MalformedJSON`.

    Python's own parser also accepts a repeated member name, NaN, Infinity, a number beyond an IEEE
    double, a surrogate without its partner, a BOM, and any depth. Some clients could not read these
    values as they were sent.
    """
    try:
        text = data.decode()
        if text.startswith("\ufeff"):
            raise MalformedJSON("line 1, column 1: A byte order mark")
        value = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise MalformedJSON(f"byte {error.start + 1}: not UTF-8") from None
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at") if data else "The text is empty"
        raise MalformedJSON(f"line {error.lineno}, column {error.colno}: {reason}") from None
    except RecursionError:
        raise MalformedJSON(f"the document: More than {max_depth} levels deep") from None
    if found := _find_error(value, max_depth):
        reason, *path = found
        at = format_pointer(*reversed(path)) or "the document"
        raise MalformedJSON(f"{at}: {reason}")
    return text, value


def _find_error(value: Any, levels: int) -> list[Any] | None:
    """Find an error in a value that Python's own parser accepts.

    Return the reason, then the names and indexes of the path, the innermost first:
    `["More levels deep than are allowed", 0, "items"]`.
    """
    if isinstance(value, str):
        return ["A surrogate without its partner"] if SURROGATE.search(value) else None
    if isinstance(value, dict | list):
        if not levels:
            return ["More levels deep than are allowed"]
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(key, str) and SURROGATE.search(key):
                return ["A member name has a surrogate without its partner"]
            if found := _find_error(each, levels - 1):
                return [*found, key]
    elif value is REPEATED:
        return ["A member name that this object has already"]
    elif isinstance(value, float) and not math.isfinite(value):
        return ["NaN, Infinity or a number too large for an IEEE double"]
    return None


def _parse_integer(text: str) -> int | float:
    """Parse an integer. If it is too large for a float, return infinity.

    So the interpreter's limit on digits does not matter.
    """
    number = float(text)
    return int(text) if math.isfinite(number) else number


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        members[name] = REPEATED if name in members else value
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_int=_parse_integer)
