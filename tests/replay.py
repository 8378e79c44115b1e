"""A table of requests of every kind; two apps that behave the same give it the same responses."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from app import create_app
from stub import StubOptions
from tests.conftest import BEARER, SAMPLE_SEED, START, Clock
from tests.stores import ids_counted_by_prefix

ORIGIN = "http://a.example"

FROZEN = StubOptions(freeze=START, sleep=lambda seconds: None)
"""With these the journal tells no milliseconds."""


class Sent(NamedTuple):
    """A request. A JSON body has its type, and each request the token, unless `headers` differ."""

    method: str
    target: str  # as on the request line
    body: Any = b""  # bytes, or what JSON makes of it
    headers: Mapping[str, str] = {}


class Got(NamedTuple):
    """A response, with its headers in order."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


JSON = "application/json"
NO_TOKEN = {"Authorization": ""}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PREFLIGHT = {
    "Authorization": "",
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type",
}

REQUESTS = [
    # The three operations
    Sent("GET", "/v1/projects"),
    Sent("HEAD", "/v1/projects"),
    Sent("POST", "/v1/projects", {"name": "a", "team": {"lead": None}}),
    Sent("POST", "/v1/projects", b' { "name":"b", "x": [1.10, -0, "\\u00e9"]}\r\n'),
    Sent("GET", "/v1/deployments/dpl_failed"),
    Sent("HEAD", "/v1/deployments/dpl_failed"),
    Sent("GET", "/v1/deployments/dpl_1"),
    Sent("GET", "/v1/deployments/nope"),
    Sent("HEAD", "/v1/deployments/nope"),
    Sent("GET", "/v1/projects"),
    # Bodies
    Sent("POST", "/v1/projects", {"name": "a"}),
    Sent("POST", "/v1/projects", b""),
    Sent("POST", "/v1/projects", b"", {"Content-Type": JSON}),
    Sent("POST", "/v1/projects", b"{"),
    Sent("POST", "/v1/projects", b'{"name": "c", "name": "d"}'),
    Sent("POST", "/v1/projects", b'{"name": "\xff"}'),
    Sent("POST", "/v1/projects", []),
    Sent("POST", "/v1/projects", {"name": "", "id": 1}),
    Sent("POST", "/v1/projects", {"name": "c", "filler": 66_000 * "x"}),
    Sent("POST", "/v1/projects", b'{"name": "c"}', FORM),
    Sent("POST", "/v1/projects", {"name": "c"}, {"Content-Encoding": "gzip"}),
    Sent("POST", "/v1/projects", {"name": "c"}, {"Content-Length": "99"}),
    Sent("POST", "/v1/projects", {"name": "c"}, {"Content-Type": "application/json; charset=x"}),
    # Authentication
    Sent("GET", "/v1/projects", b"", NO_TOKEN),
    Sent("HEAD", "/v1/projects", b"", NO_TOKEN),
    Sent("POST", "/v1/projects", {"name": "c"}, NO_TOKEN),
    Sent("GET", "/v1/projects", b"", {"Authorization": "Bearer wrong"}),
    Sent("GET", "/v1/projects", b"", {"Authorization": "bearer dev-token"}),
    Sent("GET", "/v1/projects", b"", {"Authorization": "Basic ZGV2"}),
    Sent("GET", "/v1/projects", b"", {"Authorization": "Bearer dev-token.job-42"}),
    Sent("GET", "/v1/projects", b"", {"Authorization": "Bearer dev-token.a/b"}),
    Sent("GET", "/v1/nowhere", b"", NO_TOKEN),
    Sent("DELETE", "/v1/projects", b"", NO_TOKEN),
    # Paths and methods
    Sent("GET", "/"),
    Sent("GET", "/v1"),
    Sent("GET", "/v1/projects/"),
    Sent("GET", "//v1/projects"),
    Sent("GET", "//"),
    Sent("GET", "/v1//projects"),
    Sent("GET", "/v1%2Fprojects"),
    Sent("GET", "/v1/deployments/dpl%2Ffailed"),
    Sent("GET", "/v1/deployments/dpl%2ffailed"),
    Sent("GET", "/v1/deployments/dpl%252Ffailed"),
    Sent("GET", "/v1/deployments/dpl%5Ffailed?a=%2F"),
    Sent("GET", "/v1/deployments/%ff%00%F0%9F%9A%80"),
    Sent("GET", f"{ORIGIN}/v1/deployments/a%2Fb"),
    Sent("GET", "/v1/projects?page=2&%00"),
    Sent("GET", "/v1/projects?"),
    Sent("OPTIONS", "/v1/projects"),
    Sent("OPTIONS", "*"),
    Sent("PUT", "/v1/deployments/dpl_failed", {"status": "failed"}),
    Sent("PATCH", "/openapi.json"),
    Sent("BREW", "/v1/projects"),
    Sent("TRACE", "/v1/nowhere"),
    Sent("GET", "/openapi.json"),
    Sent("HEAD", "/openapi.json", b"", NO_TOKEN),
    # Headers that describe the client
    Sent("GET", "/v1/projects", b"", {"Cookie": "session=x", "Host": "a.example:99"}),
    Sent("POST", "/v1/projects", {"name": "m"}, {"X-HTTP-Method-Override": "DELETE"}),
    Sent("GET", "/v1/projects", b"", {"Accept": "text/html", "Range": "bytes=0-3"}),
    Sent("GET", "/v1/projects", b"", {"If-None-Match": "*", "X-Forwarded-Prefix": "/x"}),
    Sent("GET", "/v1/projects", b"", {"Origin": ORIGIN}),
    Sent("GET", "/v1/nowhere", b"", {"Origin": "http://b.example"}),
    Sent("OPTIONS", "/v1/projects", b"", PREFLIGHT),
    # Outcomes that are requested
    Sent("GET", "/v1/projects", b"", {"Prefer": "code=503"}),
    Sent("GET", "/v1/deployments/x", b"", {"Prefer": "wait=1, code=405"}),
    Sent("POST", "/v1/projects", {"name": "p"}, {"Prefer": "code=422"}),
    Sent("POST", "/_stub/faults", {"status": 429, "retry_after": 7, "path": "/v1/projects"}),
    Sent("GET", "/v1/projects"),
    Sent("POST", "/_stub/faults", {"cut": 9, "delay": 1, "operation": "listProjects"}),
    Sent("GET", "/v1/projects"),
    # Control routes
    Sent("GET", "/_stub/health", b"", NO_TOKEN),
    Sent("HEAD", "/_stub/ready"),
    Sent("POST", "/_stub/health"),
    Sent("GET", "/_stub/nowhere"),
    Sent("PUT", "/_stub/deployments/x", {"status": "canceled", "project_id": "prj_website"}),
    Sent("PUT", "/_stub/deployments/a%2Fb", {"status": "failed"}),
    Sent("PUT", "/_stub/deployments/y", {"status": "failed", "project_id": "nope"}),
    Sent("POST", "/_stub/clock", {"advance": 3}),
    Sent("GET", "/v1/deployments/dpl_1"),
    Sent("GET", "/_stub/requests?status=404&limit=3"),
    Sent("GET", "/_stub/requests?x"),
    Sent("GET", "/_stub/coverage"),
    Sent("GET", "/_stub/state"),
    Sent("GET", "/_stub/console"),
    Sent("HEAD", "/_stub/console/console.css"),
    Sent("POST", "/_stub/pact", {"state": "a project exists", "params": {"name": "of pact"}}),
    Sent("PUT", "/_stub/grease", {"axes": ["members", "json-text", "headers"], "seed": 5}),
    Sent("GET", "/v1/projects"),
    Sent("GET", "/v1/deployments/nope"),
    Sent("PUT", "/_stub/grease", {"axes": []}),
    Sent("DELETE", "/_stub/requests"),
    Sent("POST", "/_stub/reset", b"{"),
    Sent("POST", "/_stub/reset"),
]


def make_app(**options: Any) -> Flask:
    """An app whose responses depend on the requests alone."""
    defaults = {"clock": Clock(), "new_id": ids_counted_by_prefix(), "seed": SAMPLE_SEED}
    return create_app(**{**defaults, "stub_options": FROZEN, **options})


def replay(app: Flask, requests: Iterable[Sent] = REQUESTS) -> list[Got]:
    return [respond(app, request) for request in requests]


def respond(app: Flask, sent: Sent) -> Got:
    """The response of the app itself: no client stands between."""
    body = sent.body if isinstance(sent.body, bytes) else json.dumps(sent.body).encode()
    headers = {**BEARER, **({"Content-Type": JSON} if body else {}), **sent.headers}
    path, _, query = sent.target.partition("?")
    environ = create_environ(method=sent.method, data=body)
    for name, value in headers.items():
        name = name.upper().replace("-", "_")
        environ[name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"] = value
    environ["REQUEST_URI"] = sent.target
    environ["PATH_INFO"] = unquote_to_bytes(path.removeprefix(ORIGIN)).decode("latin-1")
    environ["QUERY_STRING"] = query
    chunks, status, fields = run_wsgi_app(app, environ)
    shown = re.sub(rb'"instance": "\w+"', b'"instance": "random"', b"".join(chunks))
    return Got(status, fields.to_wsgi_list(), shown)


def assert_same(got: list[Got], expected: list[Got], requests: Sequence[Sent]) -> None:
    """Assert that status, headers and body are the same, response by response."""
    for sent, one, other in zip(requests, got, expected, strict=True):
        assert one == other, sent
