"""CORS, off unless it is asked for."""

import pytest
from flask.testing import FlaskClient

from app import create_app
from stub import Options
from tests.conftest import BEARER, program
from tests.wire import Connection

PAGE = "http://localhost:5173"
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def browser() -> FlaskClient:
    return create_app(stub_options=Options(cors_origins=[PAGE, "app://x"])).test_client()


def cors_headers(response: object) -> dict[str, str]:
    headers = dict(getattr(response, "headers", {}))
    names = {name for name in headers if name.startswith("Access-Control-")} | {"Vary"}
    return {name: headers[name] for name in names & headers.keys()}


@pytest.mark.parametrize("path", ["/v1/projects", "/v1/nowhere", "/_stub/reset", "/", "//x"])
def test_a_preflight_is_answered_before_the_token(browser: FlaskClient, path: str) -> None:
    environ = {"PATH_INFO": path}
    response = browser.options("/", headers={"Origin": PAGE, **ASKED}, environ_overrides=environ)
    assert (response.status_code, response.data) == (204, b"")
    told = cors_headers(response)
    assert told["Access-Control-Allow-Origin"] == PAGE
    assert told["Access-Control-Allow-Headers"] == "Authorization, Content-Type, Prefer"
    assert {"GET", "POST", "PUT", "DELETE"} <= {*told["Access-Control-Allow-Methods"].split(", ")}
    assert told["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in told
    assert response.headers["Cache-Control"] == "no-store"
    assert browser.get("/_stub/requests", headers=BEARER).json["requests"] == []


@pytest.mark.parametrize(("headers", "status"), [(BEARER, 200), ({}, 401)])
def test_every_answer_may_be_read_by_the_page(
    browser: FlaskClient, headers: dict[str, str], status: int
) -> None:
    response = browser.get("/v1/projects", headers={"Origin": PAGE, **headers})
    assert response.status_code == status
    assert cors_headers(response) == {
        "Access-Control-Allow-Origin": PAGE,
        "Access-Control-Expose-Headers": (
            "WWW-Authenticate, Retry-After, Allow, Preference-Applied, Stub-Grease"
        ),
        "Vary": "Origin",
    }


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:5174", **ASKED},
        {"Origin": "https://localhost:5173", **ASKED},
        {"Origin": "null", **ASKED},
        {"Origin": PAGE},
        ASKED,
    ],
)
def test_anything_else_is_as_if_it_were_off(browser: FlaskClient, headers: dict[str, str]) -> None:
    off = create_app().test_client()
    for token in ({}, BEARER):
        here, there = (
            client.options("/v1/projects", headers={**headers, **token})
            for client in (browser, off)
        )
        assert (here.status_code, here.data) == (there.status_code, there.data)
        if headers.get("Origin") != PAGE:
            assert cors_headers(here) == {}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (["Host: a.invalid"], 400),
        (["Host: localhost", f"Content-Length: {10**9}"], 413),
    ],
)
def test_so_may_the_answers_of_the_server_itself(fields: list[str], status: int) -> None:
    with program("--cors-origin", PAGE) as (_, url):
        for origin in (PAGE, "http://elsewhere"):
            with Connection(int(url.rpartition(":")[2])) as page:
                page.send(
                    "\r\n".join(["GET / HTTP/1.1", f"Origin: {origin}", *fields, "", ""]).encode()
                )
                reply = page.reply()
            assert reply.status == status
            told = {"Access-Control-Allow-Origin": PAGE, "Vary": "Origin"}.items()
            assert (told <= reply.headers.items()) == (origin == PAGE)


def test_any_origin_is_a_star() -> None:
    browser = create_app(stub_options=Options(cors_origins=["*"])).test_client()
    response = browser.get("/_stub/health", headers={"Origin": "https://anywhere"})
    assert cors_headers(response)["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize(
    "origin",
    [
        "localhost",
        PAGE + "/",
        PAGE + "/a",
        "",
        "//a",
        "null",
        "a b",
        "http://LOCALHOST:5173",
        "http://a:80",
        "https://a:443",
        "https://*.example",
        "http://a:b",
        "http://a:",
        "http://\u00fc",
    ],
)
def test_what_is_no_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(ValueError, match="origin"):
        create_app(stub_options=Options(cors_origins=[origin]))
