"""A session with grease. It imports little, since another process runs it, too."""

import json
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from flask import Flask
from werkzeug.test import Client, TestResponse

from app import create_app
from stub import StubOptions
from stub.grease.axes import AXES as AXES

START = datetime(2026, 11, 21, 10, 0, 0, tzinfo=timezone.utc)


def greased_app(axes: tuple[str, ...], grease_seed: int, **options: Any) -> Flask:
    """An app with random ids, as the program has, unless the options say otherwise."""
    stub_options = StubOptions(grease=axes, grease_seed=grease_seed)
    return create_app(**{"clock": lambda: START, "stub_options": stub_options, **options})


def path_of(deployment_id: str) -> str:
    return f"/v1/deployments/{quote(deployment_id, safe='')}"


def session(client: Client) -> list[TestResponse]:
    """Projects are created, looked at one by one and together, and some requests go wrong."""
    found = []
    for name in ("shop", "blog", "wiki", "news"):
        created = client.post("/v1/projects", json={"name": name, "note": "a note", "of": [1]})
        path = path_of(json.loads(created.data)["latest_deployment_id"])
        found += [created, client.get(path), client.put(path)]
    found += [client.get("/v1/projects"), client.head("/v1/projects")]
    found += [client.post("/v1/projects", json={"name": "shop"}), client.get(path_of("nothing"))]
    return found


def wire(response: TestResponse) -> tuple[int, list[tuple[str, str]], bytes]:
    return response.status_code, list(response.headers), response.data


def print_session() -> None:
    client = greased_app(AXES, 7).test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = "Bearer dev-token"
    print([wire(response) for response in session(client)])
