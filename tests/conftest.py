"""Fixtures, and what every test shares: the error shape, the contract, the running program."""

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.test import TestResponse

from app import create_app
from stub.seed import SAMPLE, read_seed
from tests.contract import assert_in_contract

ROOT = Path(__file__).parent.parent
TOKEN = "dev-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
START = datetime(2026, 11, 21, 10, 0, 0, tzinfo=timezone.utc)


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class ControlClient(FlaskClient):
    """A client that holds the control routes against their contract; it may force outcomes."""

    checked = "/_stub/"

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        path = response.request.environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
        if path.startswith(self.checked):
            assert_in_contract(
                response.request.method,
                path,
                response.status_code,
                dict(response.headers),
                response.data,
            )
        return response


class CheckedClient(ControlClient):
    """A client that holds each response against its contract."""

    checked = ""


def control_client_of(app: Flask, token: str = TOKEN) -> FlaskClient:
    """A client of what goes beyond the contract: forced outcomes and control routes."""
    client = ControlClient(app, app.response_class)
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


def client_of(app: Flask, authorization: str | None = BEARER["Authorization"]) -> FlaskClient:
    client = CheckedClient(app, app.response_class)
    if authorization is not None:
        client.environ_base["HTTP_AUTHORIZATION"] = authorization
    return client


def counting_ids() -> Callable[[str], str]:
    counter = itertools.count(1)
    return lambda prefix: f"{prefix}_{next(counter)}"


def assert_problem(response: TestResponse, status: int, code: str) -> dict[str, Any]:
    """The one error shape (RFC 9457); gives the document."""
    assert response.status_code == status, response.text
    assert response.content_type == "application/problem+json"
    assert response.headers["Cache-Control"] == "no-store"
    problem: dict[str, Any] = response.json
    assert list(problem)[:5] == ["type", "title", "status", "detail", "code"]
    assert problem["type"] == "about:blank"
    assert problem["title"] == HTTP_STATUS_CODES.get(status, "Unknown Error")
    assert problem["status"] == status
    assert problem["code"] == code
    assert len(problem["detail"]) > 20
    assert ("errors" in problem) == (code == "invalid_body")
    assert TOKEN not in response.text
    return problem


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(clock: Clock) -> Flask:
    """The service with the sample, a clock that stands still, and ids that count."""
    return create_app(clock=clock, new_id=counting_ids(), seed=read_seed(SAMPLE))


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return client_of(app)


@pytest.fixture
def anonymous(app: Flask) -> FlaskClient:
    return client_of(app, None)


@contextmanager
def unchanged(client: FlaskClient) -> Iterator[None]:
    """What is done inside leaves the list as it was, byte for byte."""
    before = client.get("/v1/projects").data
    yield
    assert client.get("/v1/projects").data == before


def in_parallel(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all at once, each in a thread of its own, and give what they return or raise."""
    barrier = threading.Barrier(len(jobs))
    results: list[Any] = [None] * len(jobs)

    def run(index: int) -> None:
        barrier.wait()
        try:
            results[index] = jobs[index]()
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """This process' environment without what would change the program."""
    changing = ("STUB_", "PYTHON", "FLASK_")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    return {**mine, "PYTHONWARNINGS": "error", **(more or {})}


@contextmanager
def program(
    *args: str, env: dict[str, str] | None = None, quiet: bool = True
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The running program on a free port, and its URL."""
    command = [sys.executable, "app.py", "--port", "0", *(["--quiet"] if quiet else []), *args]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("listening on "), process.communicate()[1]
        try:
            yield process, line.split()[-1]
        finally:
            process.kill()
