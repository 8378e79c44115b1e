"""The floors: the same bytes from an empty callable, on stock waitress or on our set-up of it.

`python bench/floors.py (wsgi|flask) (stock|ours) PORT FILE` answers each of the three operations
with the bytes of FILE.
"""

import sys
from pathlib import Path
from typing import Any


def wsgi_app(body: bytes) -> Any:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]

    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", headers)
        return [body]

    return app


def flask_app(body: bytes) -> Any:
    # Here, so that the WSGI callable is not charged for Flask.
    from flask import Flask, Response

    app = Flask(__name__)

    @app.route("/v1/projects", methods=["GET", "POST"])
    @app.get("/v1/deployments/<deployment_id>")
    def view(deployment_id: str = "") -> Response:
        return Response(body, content_type="application/json")

    return app


def main() -> None:
    kind, setup, port, file = sys.argv[1:]
    app = (wsgi_app if kind == "wsgi" else flask_app)(Path(file).read_bytes())
    if setup == "ours":
        sys.path.insert(0, str(Path(__file__).parent.parent))
        from server import Options, serve

        serve(app, "127.0.0.1", int(port), Options(control_prefix="/_stub/"))
    else:
        import waitress

        waitress.serve(app, host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main()
