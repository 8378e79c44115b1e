"""Helpers of the tests of worlds and control routes."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from stub import Verdict, Worlds
from stub.access_log import format_line
from tests.conftest import control_client_of, in_parallel, make_stub

Clients = Callable[[str], FlaskClient]


@pytest.fixture
def world(app: Flask) -> Clients:
    return lambda name: control_client_of(app, f"dev-token.{name}")


def status_of(client: FlaskClient, deployment_id: str) -> Any:
    return client.get(f"/v1/deployments/{deployment_id}").json["status"]


def entries(client: FlaskClient, query: str = "") -> list[Any]:
    found: list[Any] = client.get(f"/_stub/requests{query}").json["requests"]
    return found


def race(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all at once, in threads that take turns at nearly every step; none may fail."""
    previous = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        results = in_parallel(jobs)
    finally:
        sys.setswitchinterval(previous)
    assert not [result for result in results if isinstance(result, Exception)]
    return results


def logged_stub(**options: Any) -> tuple[Flask, list[str]]:
    """A stub, and the lines of its log without their milliseconds."""
    lines: list[str] = []

    def log(response: Response) -> Response:
        line = format_line(response, worlds_of(app).shared.redactor)
        lines.extend(re.findall(r"\A(.*) \d+\.\d ms\n\Z", line))
        return response

    app = make_stub(log=log, **options)
    return app, lines


def worlds_of(app: Flask) -> Worlds:
    """What the program takes of an app that has the stub."""
    worlds: Worlds = app.extensions["worlds"]
    return worlds


def verdict_of(app: Flask, *more: Any) -> Verdict:
    """That of all requests so far; `more` are the further arguments of `Verdict`."""
    return Verdict(worlds_of(app), *more)
