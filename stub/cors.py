"""CORS (Fetch standard §3.2), for browser clients served from elsewhere.

An origin that is named may send credentials, which are not allowed for `*` (§3.2.5).
"""

import re
from collections.abc import Collection, Iterable

from flask import Request, Response, request

from web.strict_json import no_content

from .request.paths import is_preflight

MAX_AGE = 7200  # seconds; Chrome's own limit
ORIGIN = re.compile(r"\*|[a-z][a-z0-9+.-]*://(?:\[[0-9a-f:.]+\]|[a-z0-9._~%-]+)(?::[0-9]{1,5})?")
# The fields that any page may read (Fetch standard, CORS-safelisted response-header name).
SAFELISTED = {
    "cache-control", "content-language", "content-length", "content-type", "expires",
    "last-modified", "pragma",
}  # fmt: skip


def check_origins(origins: Iterable[str]) -> None:
    """Raise `ValueError` for what is neither `*` nor an origin as a browser sends it.

    That is in lower case and without the scheme's default port (RFC 6454 §6.2).
    """
    for origin in origins:
        if not ORIGIN.fullmatch(origin) or re.match("http:.*:80$|https:.*:443$", origin):
            raise ValueError(
                "an origin is a scheme and a host in lower case, and a port unless it is the "
                "scheme's own, such as http://localhost:5173"
            )


def cors_headers(origins: Collection[str], origin: str | None) -> dict[str, str]:
    """The headers with which a page of this origin may read a response, if it may.

    Where there are origins, each response varies by Origin, also one for a request without it.
    """
    headers = {"Vary": "Origin"} if origins else {}
    if origin is not None and is_named(origin, origins):
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Allow-Credentials"] = "true"
    elif origin is not None and "*" in origins:
        headers["Access-Control-Allow-Origin"] = "*"
    return headers


def is_named(origin: str | None, origins: Collection[str]) -> bool:
    """Whether an origin stands among the origins itself: `*` names none."""
    return origin != "*" and origin in origins


def is_exposed(name: str) -> bool:
    """Whether a page may read a field only if the response exposes it."""
    lower = name.lower()
    return lower not in SAFELISTED and not lower.startswith("access-control-")


def explain_preflight() -> str:
    """Say how to start the program so that the current preflight is allowed; "" for another one."""
    if not is_preflight(request):
        return ""
    option = "'*'" if request.origin == "null" else request.origin  # as for a page that is a file
    start = f"start with --cors-origin {option}, or STUB_CORS_ORIGIN={option}"
    return f"preflight from {request.origin}: {start}"


class Cors:
    """Lets pages of these origins call the app; `*` is any."""

    def __init__(self, origins: Collection[str]) -> None:
        check_origins(origins)
        self._origins = origins
        self.is_on = bool(origins)

    def allows_preflight(self, request: Request) -> bool:
        """Whether a request is the preflight of such a page: a browser sends no token with it."""
        return is_preflight(request) and bool({"*", request.origin} & {*self._origins})

    def respond_to_preflight(self) -> Response | None:
        if not self.allows_preflight(request):
            return None
        # Any method, so that the page gets the 405 or the 404 of the path.
        response = no_content()
        asked = request.headers
        allowed = {
            "Access-Control-Allow-Methods": asked["Access-Control-Request-Method"],
            "Access-Control-Allow-Headers": asked.get("Access-Control-Request-Headers", ""),
            "Access-Control-Max-Age": str(MAX_AGE),
        }
        response.headers.update(allowed)
        return response

    def add_headers(self, response: Response) -> Response:
        response.headers.update(cors_headers(self._origins, request.origin))
        return response

    def expose_headers(self, response: Response) -> Response:
        """Let the page read all fields of a response that it may read."""
        headers = response.headers
        if "Access-Control-Allow-Origin" in headers:
            names = [name for name in dict.fromkeys(headers.keys()) if is_exposed(name)]
            headers.setdefault("Access-Control-Expose-Headers", ", ".join(names))
        return response
