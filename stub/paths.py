"""Which paths are the stub's own."""

from typing import Any

from web.routing import decode_path, raw_path

CONTROLS = "/_stub/"  # the prefix of the control routes
# The stub's own paths, and those that browsers request by themselves (RFC 8615).
UNRECORDED_PATHS = {"/", "/_stub", "/openapi.json", "/llms.txt", "/favicon.ico"}
UNRECORDED_PREFIXES = (CONTROLS, "/.well-known/", "/apple-touch-icon")


def is_control_path(path: str) -> bool:
    return f"{path}/".startswith(CONTROLS)


def is_recorded(path: str) -> bool:
    """Whether a request to this path is for the interface, or tries to be."""
    return not (path in UNRECORDED_PATHS or path.startswith(UNRECORDED_PREFIXES))


def shown_path(environ: dict[str, Any]) -> str:
    """The path of a request, with its segments decoded but for `/` and `%`."""
    path = raw_path(environ) or "/"
    return decode_path(path) if "%" in path else path
