"""Routing by the path as it was sent, which Werkzeug decodes before it looks for a rule."""

from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from flask import Flask, Request
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map, MapAdapter, Rule


class MatchedRule(Rule):
    """A rule that is matched only. Werkzeug compiles two functions that build its URL, which takes
    80 % of the time of `create_app`: 5 s of the tests.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Any:
        return MatchedRule.build_no_url  # a function, which Werkzeug binds to the rule

    def build_no_url(self, **values: Any) -> Any:
        raise NotImplementedError("web/routing.py leaves out what url_for() needs")


class RawPath(MapAdapter):
    """The route of a path and a method. Werkzeug drops leading slashes, which are part of it."""

    found: Any = None

    def __init__(self, rules: Map, path: str, method: str, *, is_encoded: bool) -> None:
        super().__init__(rules, "", "/", "", "http", path, method)
        self.is_encoded = is_encoded

    def match(self, *args: Any, **options: Any) -> Any:
        """Caches the rule that Flask asks for, and its arguments."""
        if args or options != {"return_rule": True}:
            return super().match(*args, **options)
        if self.path_info.startswith("//"):
            raise NotFound
        if self.found is None:
            rule, values = super().match(return_rule=True)
            if self.is_encoded:
                values = {name: unquote(value) for name, value in values.items()}
            self.found = rule, values
        rule, values = self.found
        return rule, values.copy()


def route_raw_path(app: Flask) -> None:
    """Route the path of each request as it was sent, by the rules that are added from now on.

    An encoded slash does not end a segment (RFC 3986 §2.2). It stays encoded, also in what is
    recorded, and so does a percent sign, so that `%2F` is distinct from `%252F`.
    """

    @lru_cache(maxsize=256)
    def adapter(path: str, method: str, is_encoded: bool) -> RawPath:
        return RawPath(app.url_map, path, method, is_encoded=is_encoded)

    def create_url_adapter(request: Request | None) -> RawPath | None:
        if request is None:
            return None
        environ = request.environ
        target, _, _ = environ["REQUEST_URI"].partition("?")
        # A percent sign is encoded, or alone: `100%` is taken as `100%25`.
        is_encoded = "%" in target and ("%2F" in target.upper() or "%" in request.path)
        if is_encoded:
            request.path = "/".join(map(decode_segment, urlsplit(target).path.split("/")))
            environ["PATH_INFO"] = request.path.encode().decode("latin-1")
        # request.path has lost its leading slashes.
        path = "//" if environ["PATH_INFO"].startswith("//") else request.path
        return adapter(path, request.method, is_encoded)

    app.url_rule_class = MatchedRule
    app.create_url_adapter = create_url_adapter  # type: ignore[method-assign]


def decode_segment(segment: str) -> str:
    return unquote(segment).replace("%", "%25").replace("/", "%2F")
