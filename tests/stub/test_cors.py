"""CORS, which is off by default."""

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import BEARER, control_client_of, make_stub
from tests.contract import assert_problem

PAGE = "http://localhost:3000"
REQUEST = "Access-Control-Request"
PREFLIGHT = {f"{REQUEST}-Method": "POST", f"{REQUEST}-Headers": "authorization, x-request-id"}


@pytest.fixture
def browser() -> FlaskClient:
    return make_stub(cors_origins=[PAGE, "app://x"]).test_client()


def cors_headers(response: TestResponse) -> dict[str, str]:
    return {
        name: value
        for name, value in response.headers.items()
        if name.startswith("Access-Control-") or name in ("Vary", "Cache-Control")
    }


OTHERS = [
    {"Origin": "http://localhost:3001", **PREFLIGHT},
    {"Origin": "https://localhost:3000", **PREFLIGHT},
    {"Origin": "null", **PREFLIGHT},
    {"Origin": PAGE},
    PREFLIGHT,
]


def test_other_requests_are_treated_as_without_cors(browser: FlaskClient) -> None:
    off = make_stub().test_client()
    for headers in OTHERS:
        for token in ({}, BEARER):
            here, there = (
                client.options("/v1/projects", headers={**headers, **token})
                for client in (browser, off)
            )
            assert (here.status_code, here.data) == (there.status_code, there.data)
            if headers.get("Origin") != PAGE:
                assert cors_headers(here) == {"Vary": "Origin", "Cache-Control": "no-store"}


def test_a_preflight_with_a_token_uses_up_no_fault_and_is_not_recorded() -> None:
    stub = control_client_of(make_stub())
    stub.post("/_stub/faults", json={"status": 503})
    asked = {"Origin": PAGE, **PREFLIGHT, "Prefer": "code=502"}
    assert_problem(stub.options("/v1/projects", headers=asked), 405, "method_not_allowed")
    assert stub.get("/_stub/faults").json["faults"][0]["remaining"] == 1
    assert stub.get("/_stub/requests").json["last"] == 0


def test_a_preflight_of_a_page_that_is_a_file_is_told_to_allow_all() -> None:
    client = make_stub().test_client()
    rejected = client.options("/v1/projects", headers={"Origin": "null", **PREFLIGHT})
    assert rejected.json["detail"].endswith(
        "preflight from null: start with --cors-origin '*', or STUB_CORS_ORIGIN='*'."
    )


NO_ORIGINS = (
    "localhost", f"{PAGE}/", "", "//a", "null", "a b", "http://LOCALHOST:5173", "http://a:80",
    "https://a:443", "https://*.example", "http://a:b", "http://a:", "http://\u00fc",
)  # fmt: skip


def test_an_app_is_not_made_with_an_invalid_origin() -> None:
    for origin in NO_ORIGINS:
        with pytest.raises(ValueError, match="origin"):
            make_stub(cors_origins=[origin])
