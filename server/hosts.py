"""Rejects requests for wrong hosts: a server on loopback serves only known names."""

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

from .problems import make_problem

WRONG_HOST = (
    "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or start it with "
    "--trusted-host and the name."
)

App = Callable[..., Iterable[bytes]]
"""A WSGI application (PEP 3333)."""


def serve_hosts(app: App, names: Collection[str], on_wrong_host: Callable[[str], None]) -> App:
    """Wrap an app so that it serves only loopback names and `names`, such as `team.test`.

    Otherwise the name of a malicious page could resolve to 127.0.0.1, and the page could read the
    responses (DNS rebinding).
    """
    loopback = r"(?:[a-z0-9_.-]+\.)?localhost\.?|127(?:\.[0-9]+){3}|\[::1\]"
    escaped = [re.escape(add_brackets(name)) for name in names]
    served = re.compile(f"(?:{'|'.join([loopback, *escaped])})(?::[0-9]{{0,5}})?", re.IGNORECASE)

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        host = find_host(environ)
        if served.fullmatch(host):
            return app(environ, start_response)
        on_wrong_host(re.sub(":[0-9]*$", "", host).strip("[]"))
        status, headers, body = make_problem(400, "Bad Request", "host_not_allowed", WRONG_HOST)
        start_response(status, [*headers, ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return call


def find_host(environ: dict[str, Any]) -> str:
    """Return the host of a request: the Host field, or the host in its target.

    A target such as `http://localhost/v1` overrides the field (RFC 9112 §3.2.2). A browser always
    sends the field.
    """
    target = environ["REQUEST_URI"]
    named = "" if target[0] == "/" else urlsplit(target).netloc
    return named or environ.get("HTTP_HOST", "localhost")


def check_hosts(names: Collection[str]) -> None:
    """Raise `ValueError` if a name is no host, such as `http://team.test` or `team.test:80`."""
    for name in names:
        if not is_host(name):
            raise ValueError(f"{name!r} is not a host name: give it without scheme and port")


def is_host(name: str) -> bool:
    """Return whether a text is a host name or an IP address."""
    return re.fullmatch(r"[A-Za-z0-9._~%-]+|\[[0-9A-Fa-f:.]+\]", add_brackets(name)) is not None


def add_brackets(host: str) -> str:
    """Return a host for a URL: `::1` becomes `[::1]`."""
    return f"[{host}]" if host.count(":") > 1 else host
