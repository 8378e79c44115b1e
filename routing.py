"""Routing by the path as it was sent, which Werkzeug decodes before it looks for a rule."""

from urllib.parse import quote, unquote, urlsplit

from flask import current_app, request
from werkzeug.exceptions import HTTPException, NotFound


def route_raw_path() -> None:
    """Route a path again that Werkzeug takes for another.

    It drops leading slashes, and takes an encoded slash for the end of a segment (RFC 3986 §2.2).
    """
    target, _, _ = request.environ["REQUEST_URI"].partition("?")
    if request.environ["PATH_INFO"].startswith("//"):
        request.url_rule, request.routing_exception = None, NotFound()
    elif "%2f" in target.lower():
        segments = urlsplit(target).path.split("/")
        path = "/".join(quote(unquote(segment), safe="") for segment in segments)
        request.path = request.environ["PATH_INFO"] = path
        request.url_rule = request.routing_exception = None
        try:
            routes = current_app.url_map.bind("")
            request.url_rule, args = routes.match(path, request.method, return_rule=True)
            request.view_args = {name: unquote(value) for name, value in args.items()}
        except HTTPException as error:
            request.routing_exception = error
