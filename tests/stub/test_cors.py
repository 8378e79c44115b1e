"""An origin is one that a browser sends; the recorded table has the requests of pages."""

import pytest

from profiles.profile import make_profile
from tests.conftest import control_client_of, make_stub
from tests.services import DOCUMENTS

NO_ORIGINS = (
    "localhost", "http://localhost:3000/", "", "//a", "null", "a b", "http://LOCALHOST:5173", "http://a:80",
    "https://a:443", "https://*.example", "http://a:b", "http://a:", "http://\u00fc",
)  # fmt: skip


def test_an_app_is_not_made_with_an_invalid_origin() -> None:
    for origin in NO_ORIGINS:
        with pytest.raises(ValueError, match="origin"):
            make_stub(cors_origins=[origin])


def test_a_page_may_read_the_fields_of_a_profile_and_of_a_fault() -> None:
    created = {"body": {"id": "{project.id}"}, "headers": {"Location": "/{project.id}"}}
    like = make_profile({**DOCUMENTS["mild"], "create": created})
    client = control_client_of(make_stub(cors_origins=["http://a"], like=like))
    page = {"Origin": "http://a"}
    fault = {"status": 429, "headers": {"X-RateLimit-Reset": "9", "Set-Cookie": ["a=1", "b=2"]}}
    client.post("/_stub/faults", json={**fault, "operation": "listProjects"})
    for response, names in (
        (client.post("/v1/projects", json={"name": "shop"}, headers=page), {"Location"}),
        (client.get("/v1/projects", headers=page), {"Set-Cookie", "X-RateLimit-Reset"}),
        (client.get("/v1/projects", headers=page), set()),
    ):
        exposed = response.headers["Access-Control-Expose-Headers"].split(", ")
        assert {*exposed} == names | {"Vary", "Date"}


def test_a_response_varies_by_the_fields_of_a_profile_and_by_the_origin() -> None:
    errors = {"name_taken": {"status": 409, "body": {}, "headers": {"vary": "Accept-Language"}}}
    created = {"body": {"id": "{project.id}"}, "headers": {"Vary": "Accept"}}
    like = make_profile({**DOCUMENTS["mild"], "create": created, "errors": errors})
    client = control_client_of(make_stub(cors_origins=["http://a"], like=like))
    responses = [client.post("/v1/projects", json={"name": "shop"}) for _ in range(2)]
    fields = [{*response.vary} for response in responses]
    assert fields == [{"Accept", "Origin"}, {"Accept-Language", "Origin"}]
