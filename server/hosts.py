"""The names of hosts that a server on loopback serves."""

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

from .problems import problem

HOST = r"(?:[A-Za-z0-9._~%-]+|\[[0-9A-Fa-f:.]+\])"
PORT = r"(?::[0-9]{0,5})?"
LOOPBACK = r"(?:[a-z0-9_.-]+\.)?localhost\.?|127(?:\.[0-9]+){3}|\[::1\]"
WRONG_HOST = (
    "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or start it with "
    "--trusted-host and the name."
)

App = Callable[..., Iterable[bytes]]  # of WSGI (PEP 3333)


def serve_hosts(app: App, names: Collection[str], on_wrong_host: Callable[[str], None]) -> App:
    """Return middleware that serves loopback names and these, and rejects any other host.

    Otherwise a page could make its own name resolve to 127.0.0.1 and read the responses (DNS
    rebinding).
    """
    escaped = [re.escape(in_brackets(name)) for name in names]
    served = re.compile(f"(?:{'|'.join([LOOPBACK, *escaped])}){PORT}", re.IGNORECASE)

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        host = requested_host(environ)
        if served.fullmatch(host):
            return app(environ, start_response)
        on_wrong_host(re.sub(":[0-9]*$", "", host).strip("[]"))
        status, headers, body = problem(400, "Bad Request", "host_not_allowed", WRONG_HOST)
        start_response(status, [*headers, ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return call


def requested_host(environ: dict[str, Any]) -> str:
    """Return the host of a request: that of a target such as `http://localhost/v1`, or the Host.

    The first overrides the second (RFC 9112 §3.2.2). A page of a browser cannot omit the field.
    """
    target = environ["REQUEST_URI"]
    named = "" if target[0] == "/" else urlsplit(target).netloc
    return named or environ.get("HTTP_HOST", "localhost")


def check_hosts(names: Collection[str]) -> None:
    """Raise ValueError for one that is no host name: a URL, or a name with a port."""
    for name in names:
        if not re.fullmatch(HOST, in_brackets(name)):
            raise ValueError(f"{name} is not a host name: give it without scheme and port")


def in_brackets(host: str) -> str:
    """Return a host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if host.count(":") > 1 else host
