"""The path of a request."""

from flask import Request

CONTROLS = "/_stub/"  # the prefix of the control routes


def is_control_path(path: str) -> bool:
    return f"{path}/".startswith(CONTROLS)


def is_preflight(request: Request) -> bool:
    """Whether a browser asks what a page of another origin may send."""
    if request.method != "OPTIONS" or request.origin is None:
        return False
    return request.access_control_request_method is not None
