"""CORS, which is off by default."""

import pytest
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import BEARER
from tests.contract import assert_problem

PAGE = "http://localhost:5173"
REQUEST = "Access-Control-Request"
PREFLIGHT = {f"{REQUEST}-Method": "POST", f"{REQUEST}-Headers": "authorization, x-request-id"}


@pytest.fixture
def browser() -> FlaskClient:
    return create_app(stub_options=StubOptions(cors_origins=[PAGE, "app://x"])).test_client()


def cors_headers(response: object) -> dict[str, str]:
    headers = dict(getattr(response, "headers", {}))
    names = {name for name in headers if name.startswith("Access-Control-")} | {"Vary"}
    return {name: headers[name] for name in names & headers.keys()}


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/projects", "GET, POST"),
        ("/v1/deployments/a", "GET"),
        ("/_stub/requests", "DELETE, GET"),
        ("/_stub/reset", "POST"),
        ("/_stub/deployments/a", "PUT"),
        ("/", "GET"),
        ("/v1/nowhere", "POST"),
        ("//v1/projects", "POST"),
    ],
)
def test_a_preflight_needs_no_token_and_names_the_methods_of_its_path(
    browser: FlaskClient, path: str, methods: str
) -> None:
    environ = {"PATH_INFO": path}
    headers = {"Origin": PAGE, **PREFLIGHT}
    response = browser.options("/", headers=headers, environ_overrides=environ)
    assert (response.status_code, response.data) == (204, b"")
    allowed = cors_headers(response)
    assert allowed["Access-Control-Allow-Origin"] == PAGE
    assert allowed["Access-Control-Allow-Headers"] == "authorization, x-request-id"
    assert allowed["Access-Control-Max-Age"] == "7200"
    assert allowed["Access-Control-Allow-Methods"] == methods
    assert allowed["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in allowed
    assert response.headers["Cache-Control"] == "no-store"
    assert browser.get("/_stub/requests", headers=BEARER).json["requests"] == []


@pytest.mark.parametrize(("token", "status"), [(BEARER, 200), ({}, 401)])
def test_the_page_may_read_every_response(
    browser: FlaskClient, token: dict[str, str], status: int
) -> None:
    response = browser.get("/v1/projects", headers={"Origin": PAGE, **token})
    if status == 401:
        assert_problem(response, 401, "token_missing")
    assert response.status_code == status
    assert cors_headers(response) == {
        "Access-Control-Allow-Origin": PAGE,
        "Access-Control-Expose-Headers": (
            "WWW-Authenticate, Retry-After, Allow, Preference-Applied, Stub-Grease"
        ),
        "Vary": "Origin",
    }


OTHERS = [
    {"Origin": "http://localhost:5174", **PREFLIGHT},
    {"Origin": "https://localhost:5173", **PREFLIGHT},
    {"Origin": "null", **PREFLIGHT},
    {"Origin": PAGE},
    PREFLIGHT,
]


@pytest.mark.parametrize("headers", OTHERS)
def test_other_requests_are_treated_as_without_cors(
    browser: FlaskClient, headers: dict[str, str]
) -> None:
    off = create_app().test_client()
    for token in ({}, BEARER):
        here, there = (
            client.options("/v1/projects", headers={**headers, **token})
            for client in (browser, off)
        )
        assert (here.status_code, here.data) == (there.status_code, there.data)
        if headers.get("Origin") != PAGE:
            assert cors_headers(here) == {"Vary": "Origin"}


def test_a_star_allows_every_origin() -> None:
    browser = create_app(stub_options=StubOptions(cors_origins=["*"])).test_client()
    response = browser.get("/_stub/health", headers={"Origin": "https://anywhere"})
    assert cors_headers(response)["Access-Control-Allow-Origin"] == "*"


NO_ORIGINS = [
    *("localhost", f"{PAGE}/", f"{PAGE}/a", "", "//a", "null", "a b", "http://LOCALHOST:5173"),
    *(
        "http://a:80",
        "https://a:443",
        "https://*.example",
        "http://a:b",
        "http://a:",
        "http://\u00fc",
    ),
]


@pytest.mark.parametrize("origin", NO_ORIGINS)
def test_an_app_is_not_made_with_an_invalid_origin(origin: str) -> None:
    with pytest.raises(ValueError, match="origin"):
        create_app(stub_options=StubOptions(cors_origins=[origin]))
