"""What makes a finished app faster and changes no response.

The one file that uses Flask's internals; the program applies it, and the app does not know it. Of a
GET it saves a third of the processor time in the app.
"""

from collections.abc import Iterable
from functools import cache
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


def nothing(exc: BaseException | None = None) -> None:
    """What there is to tear down."""


MAX_ROUTES = 256  # that are remembered


def speed_up(app: Flask) -> Flask:
    """Apply the tricks to an app whose steps and views are not async. The app gets no further
    routes; nothing of it is to be torn down after a request, no response closed (`call_on_close`).
    """
    find_adapter = app.create_url_adapter
    found: dict[tuple[str, str, str | None], MapAdapter] = {}

    def create_url_adapter(request: Request | None) -> MapAdapter | None:
        """The adapter of a path, a method and a Host, which remembers its match."""
        if request is None:
            return find_adapter(None)
        key = (request.path, request.method, request.environ.get("HTTP_HOST"))
        adapter = found.get(key)
        if adapter is None:
            adapter = find_adapter(request)  # which raises for a Host that is none
            assert adapter
            adapter.match = cache(adapter.match)  # type: ignore[method-assign]
            if len(found) >= MAX_ROUTES:
                found.clear()
            found[key] = adapter
        return adapter

    app.ensure_sync = lambda func: func  # type: ignore[method-assign]
    app.create_url_adapter = create_url_adapter  # type: ignore[method-assign]
    app.do_teardown_request = nothing  # type: ignore[method-assign]
    app.do_teardown_appcontext = nothing  # type: ignore[method-assign]
    app.response_class = CompleteResponse
    return app
