"""What makes Flask faster and changes nothing else: the service behaves the same without it.

It ignores the header `Upgrade`, which `server/` removes before it calls the app.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from flask import Flask, Request, Response
from flask.sessions import NullSession, SessionInterface
from werkzeug.datastructures import Headers
from werkzeug.routing import Map, MapAdapter, Rule


class CompleteResponse(Response):
    """A response of one piece, with its length: Werkzeug need not look for what to correct."""

    is_complete = False

    def __init__(
        self, response: Any = None, status: Any = None, headers: Any = None, **more: Any
    ) -> None:
        if isinstance(response, str):
            response = response.encode()
        if isinstance(response, bytes) and headers and not more:
            self.is_complete = True
            headers = Headers([*headers.items(), ("Content-Length", str(len(response)))])
            response = [response]
        super().__init__(response, status, headers, **more)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not self.is_complete:
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        body: Any = self.response  # a list of bytes, also after set_data()
        return () if environ["REQUEST_METHOD"] == "HEAD" else body


class LimitedRequest(Request):
    """A request whose size the server has limited: Flask need not look for a limit of its own."""

    max_content_length = None


class NoSessions(SessionInterface):
    """Nothing is kept of a client between two requests."""

    session = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:
        return self.session


class MatchingRule(Rule):
    """A rule without the two functions that Werkzeug compiles to build URLs: 5 % of a start."""

    def _compile_builder(self, append_unknown: bool = True) -> Any:
        return MatchingRule.build_no_url  # a function, which Werkzeug binds to the rule

    def build_no_url(self, **values: Any) -> Any:
        raise NotImplementedError("speedups.py leaves out what url_for() needs")


class Route(MapAdapter):
    """Caches the routing result of one path and method."""

    result: Any = None

    def __init__(self, rules: Map, path: str, method: str) -> None:
        super().__init__(rules, "", "/", "", "http", path, method)

    def match(self, *args: Any, **kwargs: Any) -> Any:
        if self.result is None:
            self.result = super().match(*args, **kwargs)
        return self.result


def install(app: Flask) -> None:
    """Make this app faster, before it has routes.

    It must have no async views, no functions of a blueprint's own, no teardown functions, no URL
    processors and no `after_this_request`: these are not called. `url_for` raises an error.
    """

    @lru_cache(maxsize=256)
    def route(path: str, method: str) -> Route:
        return Route(app.url_map, path, method)

    def create_url_adapter(request: Request | None) -> MapAdapter | None:
        return None if request is None else route(request.path, request.method)

    def preprocess_request() -> Any:
        for function in app.before_request_funcs[None]:
            result = function()
            if result is not None:
                return result
        return None

    def process_response(response: Response) -> Any:
        for function in reversed(app.after_request_funcs.get(None, ())):
            response = function(response)
        return response

    app.url_rule_class = MatchingRule
    app.request_class = LimitedRequest
    app.response_class = CompleteResponse
    app.session_interface = NoSessions()
    vars(app).update(
        create_url_adapter=create_url_adapter,
        preprocess_request=preprocess_request,
        process_response=process_response,
        ensure_sync=lambda function: function,
        do_teardown_request=lambda error: None,
        do_teardown_appcontext=lambda error: None,
    )
