"""The floors: Flask views that do next to nothing, to compare the stub with.

`python bench/floors.py (empty|parsing) (ours|stock) PORT FILE` responds to the operations with the
bytes of FILE. The server is the stub's own, or `waitress.serve` with its defaults.
"""

import json
import sys
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

JSON = "application/json"


def empty_app(body: bytes) -> Flask:
    app = Flask(__name__)

    @app.get("/v1/projects")
    @app.get("/v1/deployments/<deployment_id>")
    def view(deployment_id: str = "") -> Response:
        return Response(body, content_type=JSON)

    return app


def parsing_app(body: bytes) -> Flask:
    """Parses the body of a create, and holds it."""
    app = Flask(__name__)
    projects: list[Any] = []

    @app.post("/v1/projects")
    def view() -> Response:
        projects.append(json.loads(request.get_data()))
        return Response(body, 201, content_type=JSON)

    return app


def main() -> None:
    kind, server, port, file = sys.argv[1:]
    make_app = {"empty": empty_app, "parsing": parsing_app}[kind]
    app = make_app(Path(file).read_bytes())
    if server == "ours":
        sys.path.insert(0, str(Path(__file__).parent.parent))
        from server import ServerOptions, serve

        serve(app, "127.0.0.1", int(port), ServerOptions(control_prefix="/_stub/"))
    else:
        import waitress

        waitress.serve(app, host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main()
