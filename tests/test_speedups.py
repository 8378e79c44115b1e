"""Speedups change nothing: every response is the same without them, byte for byte."""

from typing import Any

import pytest
from flask import Blueprint, Flask, Response, after_this_request, url_for

from tests.replay import FROZEN, ORIGIN, REQUESTS, assert_same, make_app, replay
from tests.stores import BrokenStore
from web import speedups

APPS: dict[str, dict[str, Any]] = {
    "with defaults": {},
    "strict": {"strict": True},
    "without the stub": {"stub_options": None},
    "for browsers": {"stub_options": FROZEN._replace(cors_origins=(ORIGIN,))},
    "full": {"max_projects": 4},
    "failing": {"new_store": BrokenStore},
}
TWICE = [*REQUESTS, *REQUESTS]  # speedups cache


@pytest.mark.parametrize("options", APPS.values(), ids=APPS)
def test_responses_are_the_same_without_speedups(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = replay(make_app(**options), TWICE)
    monkeypatch.setattr("web.speedups.install", lambda app: None)
    assert_same(replay(make_app(**options), TWICE), fast, TWICE)


def test_what_would_never_be_called_is_rejected_at_once() -> None:
    def use(app: Flask, name: str) -> None:
        getattr(app, name)(lambda *args: None)

    app = Flask(__name__)
    use(app, "url_value_preprocessor")
    with pytest.raises(ValueError, match="speedups support"):
        speedups.install(app)
    app = Flask(__name__)
    app.secret_key = "which sessions need"
    with pytest.raises(ValueError, match="speedups support"):
        speedups.install(app)
    app, blueprint = Flask(__name__), Blueprint("own", __name__)
    use(blueprint, "before_request")  # type: ignore[arg-type]
    app.register_blueprint(blueprint)
    with pytest.raises(ValueError, match="speedups support"):
        speedups.install(app)
    app = make_app()
    for name in ("before_request", "after_request"):
        with pytest.raises(AttributeError):
            use(app, name)


def test_a_function_after_this_request_is_called() -> None:
    app = Flask(__name__)

    @app.get("/")
    def view() -> str:
        @after_this_request
        def mark(response: Response) -> Response:
            response.headers["X-Marked"] = "yes"
            return response

        return "text"

    speedups.install(app)
    assert app.test_client().get("/").headers["X-Marked"] == "yes"


def test_a_url_cannot_be_built() -> None:
    with make_app().test_request_context(), pytest.raises(NotImplementedError, match="url_for"):
        url_for("v1.list_projects")
