"""Serves an app, or calls it in its process: `python bench/apps.py CHECKOUT APP LOAD`."""

import json
import sys
import time
from importlib import import_module
from itertools import count
from typing import Any

from flask import Flask, Response, request
from werkzeug.test import create_environ

FLOOR, ALONE, STUB = "empty view", "service alone", "stub"
CALLS = 100  # of a round
HEADERS = {"Authorization": "Bearer dev-token"}
TIME = "2026-11-27T10:00:00.000Z"
PROJECT = {"id": "prj_1", "created_at": TIME, "latest_deployment_id": "dpl_1", "name": "project"}
DEPLOYMENT = {"id": "dpl_1", "project_id": "prj_1", "status": "succeeded", "created_at": TIME}


def empty_view() -> Flask:
    """What no service on Flask is below: it parses a body, and has one response for all."""
    app = Flask(__name__)
    project, deployment = json.dumps(PROJECT), json.dumps(DEPLOYMENT)
    projects = json.dumps({"projects": 1000 * [PROJECT]})

    @app.get("/v1/projects", defaults={"body": projects})
    @app.get("/v1/deployments/<_>", defaults={"body": deployment})
    def show(body: str, _: str = "") -> Response:
        return Response(body, content_type="application/json")

    @app.post("/v1/projects")
    def create() -> Response:
        json.loads(request.get_data())
        return Response(project, 201, content_type="application/json")

    return app


def make_app(name: str) -> Any:
    """An app of the checkout. One without `create_stub` has the design that was before."""
    if name == FLOOR:
        return empty_view()
    create_app = import_module("app").create_app
    create_stub = getattr(import_module("stub"), "create_stub", None)
    if create_stub is None:
        return create_app(stub_options=True if name == STUB else None)
    app = create_stub() if name == STUB else create_app()
    import_module("web.speedups").speed_up(app)
    return app


def call(app: Any, load: str) -> None:
    """For each line on stdin, print the processor seconds of a call."""
    first = app.test_client().post("/v1/projects", json={"name": "first"}, headers=HEADERS)
    deployment = f"/v1/deployments/{first.json['latest_deployment_id']}"
    numbers = count(1)

    def make_environ() -> dict[str, Any]:
        if load == "called-get":
            return create_environ(deployment, headers=HEADERS)
        body = {"name": f"project {next(numbers)}"}
        return create_environ("/v1/projects", method="POST", json=body, headers=HEADERS)

    for _ in sys.stdin:
        environs = [make_environ() for _ in range(CALLS)]
        before = time.process_time()
        for environ in environs:
            b"".join(app(environ, lambda *_: None))
        print((time.process_time() - before) / CALLS, flush=True)


def serve(app: Any) -> None:
    """Serve on a free port, and print it as the program does."""
    server = import_module("server")
    options = server.ServerOptions(on_listening=lambda port, _: print(f"on :{port}", flush=True))
    server.serve(app, "127.0.0.1", 0, options)


if __name__ == "__main__":
    _, checkout, name, load = sys.argv
    sys.path.insert(0, checkout)
    app = make_app(name)
    call(app, load) if load.startswith("called") else serve(app)
