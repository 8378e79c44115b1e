"""Speedups change nothing: every response is the same without them, byte for byte."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import (
    Blueprint,
    Flask,
    after_this_request,
    request_finished,
    request_started,
    session,
    url_for,
)
from flask.sessions import SecureCookieSessionInterface
from flask.testing import FlaskClient
from itsdangerous import URLSafeTimedSerializer

from tests.replay import FROZEN, ORIGIN, REQUESTS, assert_same, make_app, replay
from tests.stores import BrokenStore
from web.speedups import QuickFlask

APPS: dict[str, dict[str, Any]] = {
    "with defaults": {},
    "strict": {"strict": True},
    "without the stub": {"stub_options": None},
    "for browsers": {"stub_options": FROZEN._replace(cors_origins=(ORIGIN,))},
    "full": {"max_projects": 4},
    "failing": {"new_store": BrokenStore},
}
TWICE = [*REQUESTS, *REQUESTS]  # what is cached is the same


@pytest.mark.parametrize("options", APPS.values(), ids=APPS)
def test_responses_are_the_same_without_speedups(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = replay(make_app(**options), TWICE)
    monkeypatch.setattr("app.QuickFlask", Flask)
    assert_same(replay(make_app(**options), TWICE), fast, TWICE)


Note = Callable[[], Any]
Use = Callable[[QuickFlask, Note], None]


def blueprint_step(app: QuickFlask, note: Note) -> None:
    other = Blueprint("other", __name__)
    other.before_request(note)
    other.get("/noted")(lambda: "")
    app.register_blueprint(other)


def blueprint_last_step(app: QuickFlask, note: Note) -> None:
    other = Blueprint("other", __name__)
    other.after_request(lambda response: note() or response)
    other.get("/noted")(lambda: "")
    app.register_blueprint(other)


def url_processor(app: QuickFlask, note: Note) -> None:
    app.url_value_preprocessor(lambda endpoint, values: note())
    app.get("/noted")(lambda: "")


def signal(name: str) -> Use:
    def use(app: QuickFlask, note: Note) -> None:
        sender = {"started": request_started, "finished": request_finished}[name]
        sender.connect(lambda *_, **__: note(), app, weak=False)
        app.get("/noted")(lambda: "")

    return use


def step_of_one_request(app: QuickFlask, note: Note) -> None:
    @app.get("/noted")
    def view() -> str:
        after_this_request(lambda response: note() or response)
        return ""


USES = {
    "a step of a blueprint": blueprint_step,
    "a last step of a blueprint": blueprint_last_step,
    "a URL processor": url_processor,
    "the signal before a request": signal("started"),
    "the signal after a request": signal("finished"),
    "a step of one request": step_of_one_request,
}


@pytest.fixture
def quick_app() -> Iterator[QuickFlask]:
    app = QuickFlask(__name__)
    app.before_request(lambda: None)
    app.after_request(lambda response: response)
    yield app
    for each in (request_started, request_finished):
        each._clear_state()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_the_app_does_not_use_works_when_it_is_used(use: Use, quick_app: QuickFlask) -> None:
    noted = []
    use(quick_app, lambda: noted.append(1))
    assert quick_app.test_client().get("/noted").status_code == 200
    assert noted


class Sessions(SecureCookieSessionInterface):
    """Signs its cookie with a key of its own."""

    def get_signing_serializer(self, app: Flask) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer("secret")


def test_a_session_is_saved_by_an_interface_that_needs_no_key(quick_app: QuickFlask) -> None:
    quick_app.session_interface = Sessions()
    quick_app.get("/noted")(lambda: session.update(seen=True) or "")
    assert quick_app.test_client().get("/noted").headers["Set-Cookie"]


def test_a_route_cannot_be_added_after_the_first_request(quick_app: QuickFlask) -> None:
    quick_app.test_client().get("/")
    with pytest.raises(AssertionError, match="has already handled its first request"):
        quick_app.get("/late")(lambda: "")


def test_a_url_processor_may_take_an_argument_of_each_request(app: Flask) -> None:
    taken: list[Any] = []
    app.url_value_preprocessor(lambda _, values: taken.append(values and values.pop("thing", None)))
    app.get("/things/<thing>")(lambda: "")
    client, headers = FlaskClient(app), {"Authorization": "Bearer dev-token"}
    statuses = [client.get("/things/x", headers=headers).status_code for _ in range(2)]
    assert (statuses, taken) == ([200, 200], ["x", "x"])


def test_a_session_is_saved_where_there_is_a_secret_key(quick_app: QuickFlask) -> None:
    quick_app.secret_key = "secret"
    quick_app.get("/noted")(lambda: session.update(seen=True) or "")
    assert quick_app.test_client().get("/noted").headers["Set-Cookie"]


def test_a_url_cannot_be_built() -> None:
    with make_app().test_request_context(), pytest.raises(NotImplementedError, match="url_for"):
        url_for("v1.list_projects")
