"""What makes the service a good stub, all of it under `/_stub`: the service runs without."""

from collections.abc import Callable

from flask import Blueprint, Flask, Response


def install(app: Flask, *, answer: Callable[[bytes], Response]) -> None:
    """Add the control routes; `answer` makes a JSON response of bytes."""
    routes = Blueprint("stub", __name__, url_prefix="/_stub")

    @routes.get("/health")
    def health() -> Response:
        return answer(b'{"status": "ok"}')

    app.register_blueprint(routes)
