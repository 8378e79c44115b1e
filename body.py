"""What a body must be: JSON, strictly read, whose every fault is told at once."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
class Fault:
    """What is wrong at one place of a document; `pointer` is a JSON Pointer (RFC 6901)."""

    pointer: str
    detail: str


class WrongMediaType(UnsupportedMediaType):
    problem = "unsupported_media_type"


class BodyTooLarge(RequestEntityTooLarge):
    problem = "body_too_large"


class MalformedJSON(BadRequest):
    problem = "malformed_json"


class InvalidBody(UnprocessableEntity):
    """JSON of the wrong content: 422 with all `errors`."""

    problem = "invalid_body"

    def __init__(self, errors: Iterable[Fault]) -> None:
        super().__init__("The body is JSON, but not what is asked for here: see `errors`.")
        self.errors = list(errors)


def read_json(max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> tuple[str, Any]:
    """The text of the request's body and its value, or 415, 413 or 400, in this order."""
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if request.mimetype != "application/json" or charset != "utf-8":
        raise WrongMediaType("Send `Content-Type: application/json`, in UTF-8.")
    if request.headers.get("Content-Encoding", "").strip().lower() not in ("", "identity"):
        raise WrongMediaType("Send the body as it is, without a Content-Encoding.")
    request.max_content_length = max_bytes
    try:
        text = request.get_data(cache=False).decode()
        return text, parse_json(text, max_depth)
    except RequestEntityTooLarge:
        raise BodyTooLarge(f"Send a body of at most {max_bytes} bytes.") from None
    except UnicodeDecodeError as error:
        detail = f"byte {error.start + 1} is not UTF-8"
    except json.JSONDecodeError as error:
        detail = f"line {error.lineno}, column {error.colno}: {error.msg}"
    raise MalformedJSON(f"Send JSON (RFC 8259). This body is not: {detail}.")


def parse_json(text: str, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text, or `json.JSONDecodeError`, which names the place.

    Stricter than Python's own reader wherever what it takes could not be given back as it came,
    to any client: no repeated member name, no NaN, Infinity or number that would become one, no
    integer too long, no lone surrogate, no BOM, no more levels than `max_depth`.
    """
    open_objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        value = token.group()
        reason = None
        match token.lastgroup:
            case "open":
                open_objects.append(set())
                if len(open_objects) > max_depth:
                    reason = f"More than {max_depth} levels deep"
            case "close":
                del open_objects[-1:]
            case "number":
                reason = _number_fault(value)
            case "constant":
                reason = "NaN and Infinity are no JSON numbers"
            case kind:
                try:
                    string = json.loads(token["string"])
                    string.encode()
                except json.JSONDecodeError:
                    break
                except UnicodeEncodeError:
                    reason = "A surrogate without its partner"
                else:
                    if kind == "colon" and open_objects:
                        if string in open_objects[-1]:
                            reason = "A member name that this object has already"
                        open_objects[-1].add(string)
        if reason:
            raise json.JSONDecodeError(reason, text, token.start())
    return json.loads(text)


def _number_fault(text: str) -> str | None:
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


def check_project(
    document: Any, *, strict: bool = False, reserved: Iterable[str] = SERVER_MEMBERS
) -> list[Fault]:
    """All faults of a project as a client sends it; `strict` refuses what the contract lacks."""
    if not isinstance(document, dict):
        return [Fault("", "must be a JSON object")]
    faults = [
        Fault(pointer(member), "is given by the service: leave it out")
        for member in reserved
        if member in document
    ]
    if "name" not in document:
        faults.append(Fault("/name", "is required"))
    elif not isinstance(name := document["name"], str):
        faults.append(Fault("/name", "must be a string"))
    else:
        if not name.strip():
            faults.append(Fault("/name", "must not be blank"))
        if len(name) > MAX_NAME:
            faults.append(Fault("/name", f"must have at most {MAX_NAME} characters"))
        if _CONTROL.search(name):
            faults.append(Fault("/name", "must not have control characters"))
    if strict:
        faults += [
            Fault(pointer(member), "is not in the contract (--strict)")
            for member in document
            if member not in ("name", *SERVER_MEMBERS)
        ]
    return faults
