"""Routes requests by the path as the client sent it. (A WSGI server decodes `PATH_INFO`.)"""

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from flask import Flask
from werkzeug.routing import Rule, UnicodeConverter

PREFIX = "/v1/"
"""The prefix of the paths of the interface."""

CREATED = 201
"""The status of a creation in openapi.json."""


class Segment(UnicodeConverter):
    """A segment of a path, in which `%2F` and `%25` are decoded after the routing."""

    def to_python(self, value: str) -> str:
        return unquote(value)


class ReadRule(Rule):
    """A rule that no URL is built from. To prepare that takes 4 % of the time of a start."""

    def _compile_builder(self, append_unknown: bool = True) -> Any:
        return ReadRule.reject

    def reject(self, *args: Any) -> Any:
        """Build no URL."""
        raise NotImplementedError("no URL is built")


def route_raw_path(app: Flask) -> None:
    """Route requests by the path as the client sent it. Call this before rules are added.

    An encoded slash does not end a segment (RFC 3986 §2.2), `%2F` is distinct from `%252F`, and
    `//v1/projects` is distinct from `/v1/projects`.
    """
    app.url_rule_class = ReadRule
    app.url_map.merge_slashes = False
    app.url_map.converters["default"] = Segment
    app.wsgi_app = keep_raw_path(app.wsgi_app)  # type: ignore[method-assign]


def keep_raw_path(wsgi_app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Wrap an app so that `PATH_INFO` has the path as the client sent it.

    Werkzeug drops leading slashes, so `//v1` becomes `/%2Fv1`.
    """

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        target = read_raw_target(environ)
        environ["REQUEST_URI"] = target
        path = strip_prefix(target, environ)
        if not environ["PATH_INFO"]:  # Werkzeug would redirect `http://localhost`.
            environ["PATH_INFO"] = "/"
        if "%" in path:
            path = decode_path(path)
            environ["PATH_INFO"] = encode_wsgi(path)
        if path.startswith("//"):
            environ["PATH_INFO"] = encode_wsgi(f"/%2F{path[2:]}")
        return wsgi_app(environ, start_response)

    return call


def encode_wsgi(path: str) -> str:
    """Encode a path as PEP 3333 has it: a character for each byte of UTF-8, `Ã¼` for `ü`."""
    return path.encode().decode("latin-1")


def read_target(environ: dict[str, Any]) -> str:
    """Return the path and the query of a request below the app: `/v1/projects?page=2`."""
    path = strip_prefix(read_raw_target(environ), environ) or "/"
    query = environ.get("QUERY_STRING")
    return f"{path}?{query}" if query else path


def read_path(environ: dict[str, Any]) -> str:
    """Return the path of a request below the app as the client sent it: `/v1/deployments/a%2Fb`."""
    return strip_prefix(read_raw_target(environ), environ)


def strip_prefix(target: str, environ: dict[str, Any]) -> str:
    """Return the path of a target without the prefix at which the app is mounted."""
    path, _, _ = target.partition("?")
    return path.removeprefix(environ.get("SCRIPT_NAME", ""))


def read_raw_target(environ: dict[str, Any]) -> str:
    """Return the path and the query of a request as the client sent them: `/v1/projects?page=2`.

    Servers name it `REQUEST_URI` (this server, mod_wsgi, uWSGI) or `RAW_URI` (gunicorn). PEP 3333
    has only the decoded path: there `%2F` is a slash.
    """
    target: str | None = environ.get("REQUEST_URI") or environ.get("RAW_URI")
    if not target:
        from wsgiref.util import request_uri  # Few servers need it.

        target = request_uri(environ)
    if target[0] == "/":
        return target
    sent = re.sub("^https?://[^/?]*", "", target, flags=re.IGNORECASE)
    return f"/{sent}" if sent[:1] in ("", "?") else sent  # `http://localhost` has no path.


def decode_path(path: str) -> str:
    """Decode the segments of a path, except for `%2F` and `%25`: `/a%20b%2Fc` is `/a b%2Fc`.

    A `%` that encodes nothing counts as `%25`.
    """
    segments = [unquote(segment) for segment in path.split("/")]
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
