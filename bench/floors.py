"""The floors: the same bytes from an empty callable, on stock waitress or on our set-up of it.

`python bench/floors.py (wsgi|flask) (stock|ours) FILE` answers every request with the bytes of
FILE and prints its port.
"""

import sys
from pathlib import Path
from typing import Any

from flask import Flask, Response
from waitress.server import create_server as stock_server

sys.path.insert(0, str(Path(__file__).parent.parent))

from server import create_server


def wsgi_app(body: bytes) -> Any:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]

    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", headers)
        return [body]

    return app


def flask_app(body: bytes) -> Flask:
    app = Flask(__name__)

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
    @app.route("/<path:path>", methods=["GET", "POST"])
    def view(path: str) -> Response:
        return Response(body, content_type="application/json")

    return app


def main() -> None:
    kind, setup, file = sys.argv[1:]
    app = (wsgi_app if kind == "wsgi" else flask_app)(Path(file).read_bytes())
    if setup == "ours":
        server: Any = create_server(app, "127.0.0.1", 0)
        port = server.effective_port
    else:
        server = stock_server(app, host="127.0.0.1", port=0)
        port = server.effective_port
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
