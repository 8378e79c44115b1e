"""CORS (Fetch standard §3.2), for pages with another origin: `http://localhost:5173`."""

import re
from collections.abc import Collection, Iterable

from flask import Request, Response, request

from web.strict_json import no_content

from .request.paths import is_preflight

# The fields that any page may read (Fetch standard, CORS-safelisted response-header name).
SAFELISTED = {
    "cache-control", "content-language", "content-length", "content-type", "expires",
    "last-modified", "pragma",
}  # fmt: skip


def check_origins(origins: Iterable[str]) -> None:
    """Raise `ValueError` unless all texts are `*` or an origin, for example `http://localhost:5173`.

    A browser sends an origin in lower case, and without the default port of its scheme (RFC 6454
    §6.2).
    """
    host = r"(?:\[[0-9a-f:.]+\]|[a-z0-9._~%-]+)"
    valid = rf"\*|[a-z][a-z0-9+.-]*://{host}(?::[0-9]{{1,5}})?"
    for origin in origins:
        if not re.fullmatch(valid, origin) or re.match("http:.*:80$|https:.*:443$", origin):
            raise ValueError(
                "an origin is a scheme and a host in lower case, and a port unless it is the "
                "scheme's own, such as http://localhost:5173"
            )


def explain_preflight() -> str:
    """Return the option that allows the current preflight; "" if the request is no preflight."""
    if not is_preflight(request):
        return ""
    option = "'*'" if request.origin == "null" else request.origin  # The page may be a file.
    start = f"start with --cors-origin {option}, or STUB_CORS_ORIGIN={option}"
    return f"preflight from {request.origin}: {start}"


class Cors:
    """The permission for pages of these origins to call the app. `*` is any origin.

    Only a page of a named origin may send credentials (§3.2.5).
    """

    def __init__(self, origins: Collection[str]) -> None:
        check_origins(origins)
        self._origins = origins
        self.is_on = bool(origins)

    def allows_preflight(self, request: Request) -> bool:
        """Return whether a request is a preflight of these pages. It has no token."""
        is_known = "*" in self._origins or request.origin in self._origins
        return is_known and is_preflight(request)

    def respond_to_preflight(self) -> Response | None:
        """Allow any method, so that the page gets the 405 or the 404 of the path."""
        if not self.allows_preflight(request):
            return None
        response = no_content()
        asked = request.headers
        allowed = {
            "Access-Control-Allow-Methods": asked["Access-Control-Request-Method"],
            "Access-Control-Allow-Headers": asked.get("Access-Control-Request-Headers", ""),
            "Access-Control-Max-Age": "7200",  # seconds; the maximum of Chrome
        }
        response.headers.update(allowed)
        return response

    def add_headers(self, response: Response) -> Response:
        """Allow the page to read the response. All responses vary by `Origin`."""
        response.vary.add("Origin")
        origin = request.origin
        headers = response.headers
        if origin in self._origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Allow-Credentials"] = "true"
        elif origin is not None and "*" in self._origins:
            headers["Access-Control-Allow-Origin"] = "*"
        return response

    def expose_headers(self, response: Response) -> Response:
        """Let the page read all fields of the response, with the `Date` that the server adds."""
        response.vary.add("Origin")  # A profile or a fault may have replaced the field.
        headers = response.headers
        if "Access-Control-Allow-Origin" in headers:
            names = []
            for name in dict.fromkeys(headers.keys()):
                lower = name.lower()
                if lower not in SAFELISTED and not lower.startswith("access-control-"):
                    names.append(name)
            headers.setdefault("Access-Control-Expose-Headers", ", ".join([*names, "Date"]))
        return response
