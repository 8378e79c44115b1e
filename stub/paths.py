"""Which requests are for the interface, and which for the stub itself."""

from typing import Any

from flask import Request

from web.routing import decode_path, raw_path

CONTROLS = "/_stub/"  # the prefix of the control routes
# The stub's own paths, and those that browsers request by themselves (RFC 8615).
UNRECORDED_PATHS = {"/", "/_stub", "/openapi.json", "/llms.txt", "/favicon.ico"}
UNRECORDED_PREFIXES = (CONTROLS, "/.well-known/", "/apple-touch-icon")


def is_control_path(path: str) -> bool:
    return f"{path}/".startswith(CONTROLS)


def is_preflight(request: Request) -> bool:
    """Whether a browser asks what a page of another origin may send."""
    if request.method != "OPTIONS" or request.origin is None:
        return False
    return request.access_control_request_method is not None


def is_recorded(request: Request) -> bool:
    """Whether a request is for the interface, or tries to be."""
    path = request.environ["PATH_INFO"]
    if path in UNRECORDED_PATHS or path.startswith(UNRECORDED_PREFIXES):
        return False
    return not is_preflight(request)


def shown_path(environ: dict[str, Any]) -> str:
    """The path of a request, with its segments decoded but for `/` and `%`."""
    path = raw_path(environ) or "/"
    return decode_path(path) if "%" in path else path
