"""Routing by the path as it was sent, which Werkzeug decodes before it looks for a rule."""

from urllib.parse import unquote, urlsplit

from flask import current_app, request
from werkzeug.exceptions import HTTPException, NotFound


def route_raw_path() -> None:
    """Route a path again that Werkzeug takes for another.

    It drops leading slashes, and takes an encoded slash for the end of a segment (RFC 3986 §2.2).
    Here an encoded slash stays encoded, also in what is recorded, and so does a percent sign, so
    that `%2F` is distinct from `%252F`.
    """
    environ = request.environ
    target, _, _ = environ["REQUEST_URI"].partition("?")
    if environ["PATH_INFO"].startswith("//"):
        request.url_rule, request.routing_exception = None, NotFound()
    elif "%" in target and ("%2F" in target.upper() or "%25" in target):
        path = "/".join(map(decode_segment, urlsplit(target).path.split("/")))
        request.path = path
        environ["PATH_INFO"] = path.encode().decode("latin-1")
        request.url_rule = request.routing_exception = None
        try:
            routes = current_app.url_map.bind("")
            request.url_rule, args = routes.match(path, request.method, return_rule=True)
            request.view_args = {name: unquote(value) for name, value in args.items()}
        except HTTPException as error:
            request.routing_exception = error


def decode_segment(segment: str) -> str:
    return unquote(segment).replace("%", "%25").replace("/", "%2F")
