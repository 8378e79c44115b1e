"""Shows a request and its response to readers: secrets are masked, and long bodies are cut."""

import json
from typing import Any

from web.strict_json import parse_json

from . import masking
from .exchange import Exchange, Fields


def show_request(exchange: Exchange, redactor: masking.Redactor) -> dict[str, Any]:
    """Return the members of a request: `{"method": "GET", "path": "/v1/projects", ...}`."""
    return {
        **redactor.mask_request_line(exchange.method, exchange.path, exchange.query),
        "headers": mask_fields(exchange.request_fields, redactor),
        **show_body(exchange.request_body, redactor),
    }


def show_response(exchange: Exchange, redactor: masking.Redactor) -> dict[str, Any]:
    """Return the members of a response: `{"status": 200, "headers": {...}, "body": "1", ...}`."""
    return {
        "status": exchange.status,
        "headers": mask_fields(exchange.response_fields, redactor),
        **show_body(exchange.response_body, redactor),
    }


def mask_fields(fields: Fields, redactor: masking.Redactor) -> dict[str, str]:
    """Mask header fields, and join the values of a repeated name: `{"Accept": "a/b, c/d"}`."""
    found: dict[str, str] = {}
    for name, value in fields:
        shown = redactor.mask(name)
        masked = redactor.mask_field(name, redactor.mask(value))
        found[shown] = f"{found[shown]}, {masked}" if shown in found else masked
    return found


def show_body(body: bytes, redactor: masking.Redactor) -> dict[str, Any]:
    """Return the text of a body and its JSON, or None: `{"body": "1", "json": 1}`."""
    text = mask_body(body, redactor)
    try:
        _, value = parse_json(text.encode())
        # A token may have been escaped in more than one way.
        return {"body": text, "json": json.loads(redactor.mask(json.dumps(value)))}
    except ValueError:
        return {"body": text, "json": None}


def mask_body(body: bytes, redactor: masking.Redactor, max_bytes: int = 4096) -> str:
    """Mask the text of a body, and cut it. Without zeros, tokens in UTF-16 are found, too."""
    text = body.decode(errors="replace").replace("\0", "")
    return masking.cut_text(redactor.mask(text), max_bytes)
