"""An empty view of Flask on the server of the program: the least cost of a service on Flask.

It parses the body of a creation, and has a fixed response for every operation.
"""

import json
import sys
from pathlib import Path

from flask import Flask, Response, request

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import server

TIME = "2026-11-27T10:00:00.000Z"
PROJECT = {"id": "prj_1", "created_at": TIME, "latest_deployment_id": "dpl_1", "name": "project"}
DEPLOYMENT = {"id": "dpl_1", "project_id": "prj_1", "status": "succeeded", "created_at": TIME}


def create_app() -> Flask:
    app = Flask(__name__)
    project = json.dumps(PROJECT)
    deployment = json.dumps(DEPLOYMENT)
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


if __name__ == "__main__":
    options = server.ServerOptions(
        on_listening=lambda port, _: print(f"on :{port}", flush=True), prepare=server.speed_up
    )
    server.serve(create_app(), "127.0.0.1", 0, options)
