"""A Flask view that does next to nothing, on the server of the stub: what the stub cannot be below.

`python bench/floors.py PORT FILE` responds with the bytes of FILE. A POST holds its parsed body.
"""

import json
import sys
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

sys.path.insert(0, str(Path(__file__).parent.parent))
from server import ServerOptions, serve

JSON = "application/json"


def make_app(body: bytes) -> Flask:
    app = Flask(__name__)
    projects: list[Any] = []

    @app.get("/v1/projects")
    @app.get("/v1/deployments/<deployment_id>")
    def view(deployment_id: str = "") -> Response:
        return Response(body, content_type=JSON)

    @app.post("/v1/projects")
    def parsing_view() -> Response:
        projects.append(json.loads(request.get_data()))
        return Response(body, 201, content_type=JSON)

    return app


if __name__ == "__main__":
    port, file = sys.argv[1:]
    options = ServerOptions()
    serve(make_app(Path(file).read_bytes()), "127.0.0.1", int(port), options)
