"""Routing by the path as it was sent, which a WSGI server decodes."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote
from wsgiref.util import request_uri

from flask import Flask
from werkzeug.routing import UnicodeConverter

ORIGIN = re.compile("^https?://[^/?]*", re.IGNORECASE)  # of a target that is a whole URL
PREFIX = "/v1/"  # of the paths of the interface
CREATED = 201  # the status of a creation, as openapi.json has it


class Segment(UnicodeConverter):
    """A segment of a path, in which a slash or a percent sign was sent encoded."""

    def to_python(self, value: str) -> str:
        return unquote(value)


def route_raw_path(app: Flask) -> None:
    """Route each request by the path as it was sent; for the rules that are added from now on.

    An encoded slash does not end a segment (RFC 3986 §2.2), `%2F` is distinct from `%252F`, and a
    leading or doubled slash makes another path.
    """
    app.url_map.merge_slashes = False
    app.url_map.converters["default"] = Segment
    app.wsgi_app = with_raw_path(app.wsgi_app)  # type: ignore[method-assign]


def with_raw_path(wsgi_app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Middleware that gives an app the path as it was sent. Werkzeug drops leading slashes, so that
    `//v1` is `/%2Fv1` there.
    """

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        target = raw_target(environ)
        environ["REQUEST_URI"] = target  # which others read
        path = path_in(target, environ)
        if not environ["PATH_INFO"]:  # of http://localhost, which Werkzeug would redirect
            environ["PATH_INFO"] = "/"
        if "%" in path:
            path = decode_path(path)
            environ["PATH_INFO"] = path.encode().decode("latin-1")
        if path.startswith("//"):
            environ["PATH_INFO"] = f"/%2F{path[2:]}".encode().decode("latin-1")
        return wsgi_app(environ, start_response)

    return call


def read_target(environ: dict[str, Any]) -> str:
    """Return the path and the query of a request below the app: `/v1/projects?page=2`."""
    path = path_in(raw_target(environ), environ) or "/"
    query = environ.get("QUERY_STRING")
    return f"{path}?{query}" if query else path


def raw_path(environ: dict[str, Any]) -> str:
    """The path of a request below the app, as it was sent."""
    return path_in(raw_target(environ), environ)


def path_in(target: str, environ: dict[str, Any]) -> str:
    path, _, _ = target.partition("?")
    return path.removeprefix(environ.get("SCRIPT_NAME", ""))


def raw_target(environ: dict[str, Any]) -> str:
    """The path and the query of a request as they were sent, without the origin of a whole URL.

    Servers name it `REQUEST_URI` (this one, mod_wsgi, uWSGI) or `RAW_URI` (gunicorn). PEP 3333
    has the decoded path alone: from it, `%2F` is a slash.
    """
    target = environ.get("REQUEST_URI") or environ.get("RAW_URI") or request_uri(environ)
    if target[0] == "/":
        return target
    sent = ORIGIN.sub("", target)
    return f"/{sent}" if sent[:1] in ("", "?") else sent  # a whole URL need not have a path


def decode_path(path: str) -> str:
    """A path with its segments decoded but for `/` and `%`; a lone `%` counts as encoded."""
    segments = [unquote(segment) for segment in path.split("/")]
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
