"""The console: a page at `/` that shows a world. It polls a view of the world every second."""

import json
from pathlib import Path

from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from web.strict_json import JSON

from ..control.operations import View
from ..control.routes import get_shared, open_world

POLL_PATH = "/_stub/console"
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
FILES = {each.name: each for each in Path(__file__).parent.iterdir() if each.suffix in MEDIA_TYPES}
CONSOLE_PATHS = ("/", *[f"{POLL_PATH}/{name}" for name in FILES])

SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def serve_file(file: str = "index.html") -> ResponseReturnValue:
    """Serve a file of the page. It has no data: the page requests data with the token."""
    if file not in FILES:
        raise NotFound
    suffix = Path(file).suffix
    content_type = f"{MEDIA_TYPES[suffix]}; charset=utf-8"
    return FILES[file].read_bytes(), 200, {**SAFE, "Content-Type": content_type}


def show_world() -> ResponseReturnValue:
    from .document import describe_world

    document = describe_world(open_world(), get_shared())
    return f"{json.dumps(document, ensure_ascii=False)}\n".encode(errors="replace"), 200, JSON


VIEWS: dict[str, View] = {
    "getPage": serve_file,
    "getConsole": show_world,
    "getConsoleFile": serve_file,
}
