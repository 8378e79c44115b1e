"""CORS (Fetch standard §3.2), for browser clients served from elsewhere; no credentials."""

import re
from collections.abc import Collection, Iterable

from flask import Response, g, request

METHODS = "GET, HEAD, POST, PUT, DELETE, PATCH"
MAX_AGE = 7200  # seconds; Chrome's own limit
EXPOSED = "WWW-Authenticate, Retry-After, Allow, Preference-Applied, Stub-Grease"


def check_origins(origins: Iterable[str]) -> None:
    """Raise `ValueError` for what is neither `*` nor an origin as a browser sends it.

    That is in lower case and without the scheme's default port (RFC 6454 §6.2).
    """
    for origin in origins:
        host = r"(?:\[[0-9a-f:.]+\]|[a-z0-9._~%-]+)"
        is_origin = re.fullmatch(rf"[a-z][a-z0-9+.-]*://{host}(?::[0-9]{{1,5}})?", origin)
        if origin != "*" and (not is_origin or re.match("http:.*:80$|https:.*:443$", origin)):
            raise ValueError(
                "an origin is a scheme and a host in lower case, and a port unless it is the "
                "scheme's own, such as http://localhost:5173"
            )


def cors_headers(origins: Collection[str], origin: str | None) -> dict[str, str]:
    """The headers with which a page of this origin may read a response, if it may.

    Where there are origins, each response varies by Origin, also one for a request without it.
    """
    headers = {"Vary": "Origin"} if origins else {}
    if origin is not None and ("*" in origins or origin in origins):
        headers["Access-Control-Allow-Origin"] = "*" if "*" in origins else origin
        headers["Access-Control-Expose-Headers"] = EXPOSED
    return headers


class Cors:
    """Lets pages of these origins call the app; `*` is any."""

    def __init__(self, origins: Collection[str]) -> None:
        check_origins(origins)
        self._origins = origins

    def respond_to_preflight(self) -> Response | None:
        """A browser sends no token with a preflight: this is a step before the bearer check."""
        headers = cors_headers(self._origins, request.headers.get("Origin"))
        is_preflight = "Access-Control-Request-Method" in request.headers
        is_allowed = "Access-Control-Allow-Origin" in headers
        if request.method != "OPTIONS" or not is_preflight or not is_allowed:
            return None
        g.is_preflight = True
        headers["Cache-Control"] = "no-store"
        headers["Access-Control-Max-Age"] = str(MAX_AGE)
        headers["Access-Control-Allow-Methods"] = METHODS
        if names := request.headers.get("Access-Control-Request-Headers"):
            headers["Access-Control-Allow-Headers"] = names
        response = Response(status=204, headers=headers)
        del response.headers["Content-Type"]
        return response

    def add_headers(self, response: Response) -> Response:
        response.headers.update(cors_headers(self._origins, request.headers.get("Origin")))
        return response
