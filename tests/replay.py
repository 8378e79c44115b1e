"""A table of requests of every kind; two apps that behave the same give it the same responses."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from tests.conftest import BEARER, SAMPLE_SEED, START, Clock, make_stub
from tests.stores import ids_counted_by_prefix

ORIGIN = "http://a.example"

FROZEN: dict[str, Any] = {"freeze": START, "sleep": lambda seconds: None}
"""With these the journal tells no milliseconds."""


class Sent(NamedTuple):
    """A request. A JSON body has its type, and each request the token, unless `headers` differ."""

    method: str
    target: str
    body: Any = b""  # bytes, or what JSON makes of it
    headers: Mapping[str, str] = {}


class Got(NamedTuple):
    """A response, with its headers in order."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


JSON = "application/json"
NO_TOKEN = {"Authorization": ""}
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
    Sent("HEAD", "/v1/deployments/nope"),
    Sent("GET", "/v1/projects?page=2"),
    # What is rejected
    Sent("POST", "/v1/projects", {"name": "a"}),
    Sent("POST", "/v1/projects", b""),
    Sent("POST", "/v1/projects", b"{"),
    Sent("POST", "/v1/projects", {"name": "", "id": 1}),
    Sent("POST", "/v1/projects", {"name": "c", "filler": 66_000 * "x"}),
    Sent("POST", "/v1/projects", {"name": "c"}, NO_TOKEN),
    Sent("HEAD", "/v1/projects", b"", NO_TOKEN),
    Sent("GET", "/v1/projects", b"", {"Authorization": "bearer dev-token"}),
    Sent("GET", "/v1/projects", b"", {"Authorization": "Bearer dev-token.job-42"}),
    Sent("GET", "/v1/projects/"),
    Sent("GET", "/v1/deployments/dpl%2Ffailed"),
    Sent("OPTIONS", "/v1/projects"),
    Sent("PUT", "/v1/deployments/dpl_failed", {"status": "failed"}),
    Sent("HEAD", "/openapi.json", b"", NO_TOKEN),
    Sent("GET", "/v1/projects", b"", {"Host": "a..b"}),
    Sent("GET", "/v1/nope", b"", {"Host": 300 * "x"}),
    Sent("GET", "/v1/projects", b"", {"Host": "b.example:81"}),
    # Browsers
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
    Sent("PUT", "/_stub/deployments/x", {"status": "canceled", "project_id": "prj_website"}),
    Sent("PUT", "/_stub/deployments/a%2Fb", {"status": "failed"}),
    Sent("PUT", "/_stub/deployments/y", {"status": "failed", "project_id": "nope"}),
    Sent("POST", "/_stub/clock", {"advance": 3}),
    Sent("GET", "/v1/deployments/dpl_1"),
    Sent("GET", "/_stub/requests?status=404&limit=3"),
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
    return make_stub(**{**defaults, **FROZEN, **options})


def replay(app: Flask, requests: Iterable[Sent]) -> list[Got]:
    return [respond(app, request) for request in requests]


def respond(app: Flask, sent: Sent) -> Got:
    """The response of the app itself: no client stands between."""
    body = sent.body if isinstance(sent.body, bytes) else json.dumps(sent.body).encode()
    headers = {**BEARER, **({"Content-Type": JSON} if body else {}), **sent.headers}
    environ = create_environ(sent.target, method=sent.method, data=body, headers=headers)
    chunks, status, fields = run_wsgi_app(app, environ)
    shown = re.sub(rb'"instance": "\w+"', b'"instance": "random"', b"".join(chunks))
    return Got(status, fields.to_wsgi_list(), shown)


def assert_same(got: list[Got], expected: list[Got], requests: Sequence[Sent]) -> None:
    """Assert that status, headers and body are the same, response by response."""
    for sent, one, other in zip(requests, got, expected, strict=True):
        assert one == other, sent
