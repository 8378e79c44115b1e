"""Helpers of the tests of worlds and control routes."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from stub import Verdict, Worlds
from stub.access_log import line_of
from tests.conftest import ROOT, control_client_of, make_stub

Clients = Callable[[str], FlaskClient]


@pytest.fixture
def world(app: Flask) -> Clients:
    return lambda name: control_client_of(app, f"dev-token.{name}")


@pytest.fixture
def full_app(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    """An app with as many worlds as there can be, here five: 0 to 4."""
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 5)
    for number in range(5):
        assert control_client_of(app, f"dev-token.{number}").get("/v1/projects").status_code == 200
    return app


def status_of(client: FlaskClient, deployment_id: str) -> Any:
    return client.get(f"/v1/deployments/{deployment_id}").json["status"]


def entries(client: FlaskClient, query: str = "") -> list[Any]:
    found: list[Any] = client.get(f"/_stub/requests{query}").json["requests"]
    return found


def coverage(client: FlaskClient) -> Any:
    return client.get("/_stub/coverage").json


def snapshot(client: FlaskClient) -> list[bytes]:
    """What a world shows of its projects, a deployment, and its faults."""
    paths = ("/v1/projects", "/v1/deployments/dpl_x", "/_stub/faults")
    return [client.get(path).data for path in paths]


@contextmanager
def interrupted(interrupt: Callable[[int], None], file: str = ".py") -> Iterator[None]:
    """Call `interrupt` with 0, 1, 2, … before each line of the stub that this thread runs.

    With a `file` it is called before the lines of that one alone.
    """
    folder, lines = str(ROOT / "stub"), 0

    def on_event(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        path = frame.f_code.co_filename
        if path.startswith(folder) and path.endswith(file):
            if event == "line":
                interrupt(lines)
                lines += 1
            return on_event
        return None

    previous = sys.gettrace()  # such as that of a measurement of the coverage
    sys.settrace(on_event)
    try:
        yield
    finally:
        sys.settrace(previous)


def in_thread(call: Callable[[], Any], seconds: float) -> tuple[threading.Thread, list[Any]]:
    """Run in another thread, and wait so long at most: it may need what this thread locked."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join(seconds)
    return thread, results


def logged_stub(**options: Any) -> tuple[Flask, list[str]]:
    """A stub, and the lines of its log."""
    lines: list[str] = []

    def log(response: Response) -> Response:
        lines.append(line_of(response, worlds_of(app).common.redactor))
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
