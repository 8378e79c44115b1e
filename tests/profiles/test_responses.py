"""What the recorded responses of `tests/replayed` do not show: a proxy, and a state put back."""

from typing import Any

import pytest

from tests.profiles.conftest import SERVICES, client_of, like, profile, request_of


def test_the_base_is_the_address_that_the_client_has_called() -> None:
    body = {"data": [{"self": "{base}/{project.id}"}], "self": "{base}"}
    errors = {"default": {"body": "{base}", "headers": {"Link": "<{base}/help>"}}}
    client = client_of(like(profile(list={"body": body}, errors=errors)))
    secure = {"X-Forwarded-Proto": "https"}
    other = {"REMOTE_ADDR": "192.0.2.1"}
    for headers, environ, base in (
        ({}, {}, "http://localhost"),
        ({"Host": "stub.example:8443", **secure}, {}, "https://stub.example:8443"),
        ({"Host": "[::1]:80", **secure}, {"REMOTE_ADDR": "::1"}, "https://[::1]:80"),
        (secure, other, "http://localhost"),
        ({"X-Forwarded-Proto": "gopher"}, {}, "http://localhost"),
    ):
        sent: Any = {"headers": headers, "environ_overrides": environ}
        listed = client.get("/v1/projects", **sent).json  # which is cached
        assert listed["self"] == base
        assert listed["data"][0]["self"] == f"{base}/prj_website"
        missing = client.get("/v1/none", **sent)
        assert missing.json == base
        assert missing.headers["Link"] == f"<{base}/help>"


@pytest.mark.parametrize("name", SERVICES)
def test_a_state_is_put_back_and_all_deployments_of_the_sample_are_there(name: str) -> None:
    service = SERVICES[name]
    client = client_of(like(service))
    for _ in range(1 if service.has_unique_names else 2):
        client.post("/v1/projects", json=request_of(service, "twin"))
    listed = client.get("/v1/projects").data
    state: Any = client.get("/_stub/state").json
    assert client.post("/_stub/reset", json=state).status_code == 204
    assert client.get("/v1/projects").data == listed
    for each in state["deployments"]:
        assert client.get(f"/v1/deployments/{each['id']}").status_code == 200
