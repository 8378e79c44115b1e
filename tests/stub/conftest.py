"""Helpers of the tests of worlds and control routes."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import control_client_of


@pytest.fixture
def world(app: Flask) -> Callable[[str], FlaskClient]:
    return lambda name: control_client_of(app, f"dev-token.{name}")


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
