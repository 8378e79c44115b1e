"""The paths of requests that are not for the interface."""

from flask import Request

CONTROLS = "/_stub/"
"""The prefix of the paths of the control routes."""


def is_control_path(path: str) -> bool:
    """Return whether a path is that of a control route: `/_stub`, or `/_stub/clock`."""
    return f"{path}/".startswith(CONTROLS)


def is_preflight(request: Request) -> bool:
    """Return whether a browser asks if a page of another origin may send a request."""
    if request.method != "OPTIONS" or request.origin is None:
        return False
    return request.access_control_request_method is not None
