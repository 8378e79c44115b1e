"""The path of a request."""

from typing import Any

from flask import Request

from web.routing import decode_path, raw_path

CONTROLS = "/_stub/"  # the prefix of the control routes


def is_control_path(path: str) -> bool:
    return f"{path}/".startswith(CONTROLS)


def is_preflight(request: Request) -> bool:
    """Whether a browser asks what a page of another origin may send."""
    if request.method != "OPTIONS" or request.origin is None:
        return False
    return request.access_control_request_method is not None


def shown_path(environ: dict[str, Any]) -> str:
    """The path of a request, with its segments decoded but for `/` and `%`."""
    path = raw_path(environ) or "/"
    return decode_path(path) if "%" in path else path
