"""Routing by the path as it was sent, which Werkzeug decodes before it looks for a rule."""

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote
from wsgiref.util import request_uri

from flask import Flask, Request
from werkzeug.exceptions import NotFound
from werkzeug.routing import MapAdapter, Rule

ORIGIN = re.compile("^https?://[^/?]*", re.IGNORECASE)  # of a target that is a whole URL
OPERATIONS = "/v1/"  # the prefix of their paths
CONTROLS = "/_stub/"  # that of the control routes
CREATED = 201  # the status of a creation, as openapi.json has it


class MatchedRule(Rule):
    """A rule that is matched only: `url_for()` raises `BuildError`. Werkzeug compiles two functions
    that build its URL, which takes 80 % of the time of `create_app`: 5 s of the tests.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Any:
        return lambda rule, **values: None


class RawPath(MapAdapter):
    """The route of a path and a method. Werkzeug drops leading slashes, which are part of it."""

    found: Any = None  # cache

    def match(self, *, return_rule: bool) -> Any:  # type: ignore[override]
        """The rule and its arguments, cached: Flask asks for nothing else."""
        if self.path_info.startswith("//"):
            raise NotFound
        if self.found is None:
            rule, values = super().match(return_rule=True)
            self.found = rule, {name: unquote(value) for name, value in values.items()}
        return self.found


def route_raw_path(app: Flask) -> None:
    """Route the path of each request as it was sent, by the rules that are added from now on.

    An encoded slash does not end a segment (RFC 3986 §2.2). It stays encoded, also in what is
    recorded, and so does a percent sign, so that `%2F` is distinct from `%252F`.
    """

    # Saves 11 % of the processor time of a GET.
    @lru_cache(maxsize=256)
    def adapter(path: str, method: str) -> RawPath:
        return RawPath(app.url_map, "", "/", "", "http", path, method)

    def create_url_adapter(request: Request | None) -> RawPath | None:
        if request is None:
            return None
        environ = request.environ
        path, _, _ = raw_target(environ).partition("?")
        if "%" in path:
            request.path = decode_path(path.removeprefix(environ.get("SCRIPT_NAME", "")))
            environ["PATH_INFO"] = request.path.encode().decode("latin-1")
        # request.path has lost its leading slashes.
        path = "//" if environ["PATH_INFO"].startswith("//") else request.path
        return adapter(path, request.method)

    app.url_rule_class = MatchedRule
    app.create_url_adapter = create_url_adapter  # type: ignore[method-assign]


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


def is_control_path(path: str) -> bool:
    return f"{path}/".startswith(CONTROLS)
