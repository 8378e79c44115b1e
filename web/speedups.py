"""What makes a finished app faster and changes no response.

The one file that uses Flask's internals; the program applies it, and the app does not know it. Of a
GET it saves a third of the processor time in the app.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from flask import Flask, Request, Response
from werkzeug.routing import MapAdapter


class CompleteResponse(Response):
    """Sends a response in one piece as it is; Werkzeug would first look for headers to correct."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body: Any = self.response
        is_complete = isinstance(body, list) and len(body) == 1 and body[0]
        if not is_complete:
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return () if environ["REQUEST_METHOD"] == "HEAD" else body


class Route(MapAdapter):
    """The route of a path and a method, found once."""

    found: Any = None  # cache

    def match(self, *args: Any, **options: Any) -> Any:
        if self.found is None:
            self.found = super().match(*args, **options)
        rule, values = self.found
        return rule, dict(values)


def speed_up(app: Flask) -> Flask:
    """Apply the tricks to an app whose steps and views are not async. It gets no further routes."""

    # Routing depends on the path and the method alone.
    @lru_cache(maxsize=256)
    def route(path: str, method: str) -> Route:
        return Route(app.url_map, "", "/", "", "http", path, method)

    def create_url_adapter(request: Request | None) -> Route | None:
        return route(request.path, request.method) if request else None

    app.ensure_sync = lambda func: func  # type: ignore[method-assign]
    app.create_url_adapter = create_url_adapter  # type: ignore[method-assign]
    app.response_class = CompleteResponse
    return app
