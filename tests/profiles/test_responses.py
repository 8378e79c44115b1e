"""What the recorded responses of `tests/replayed` do not show: a proxy, and a state put back."""

from typing import Any

import pytest

from tests.profiles.conftest import NAME, SERVICES, client_of, like, profile, request_of

SECURE = {"X-Forwarded-Proto": "https"}
# The header fields of a request, its sender, and the address that it was sent to.
BASES: list[tuple[dict[str, str], str, str]] = [
    ({}, "127.0.0.1", "http://localhost"),
    ({"Host": "stub.example:8443", **SECURE}, "127.0.0.1", "https://stub.example:8443"),
    ({"Host": "[::1]:80", **SECURE}, "::1", "https://[::1]:80"),
    (SECURE, "192.0.2.1", "http://localhost"),
    ({"X-Forwarded-Proto": "gopher"}, "127.0.0.1", "http://localhost"),
]


def test_the_base_is_the_address_that_the_client_has_called() -> None:
    errors = {"default": {"body": "{base}", "headers": {"Link": "<{base}/help>"}}}
    client = client_of(like(profile(list={"body": [["{base}/{project.id}"]]}, errors=errors)))
    for headers, sender, base in BASES:
        sent: Any = {"headers": headers, "environ_overrides": {"REMOTE_ADDR": sender}}
        listed = client.get("/v1/projects", **sent).json  # which is cached
        assert listed[0] == [f"{base}/prj_website"]
        missing = client.get("/v1/none", **sent)
        assert (missing.json, missing.headers["Link"]) == (base, f"<{base}/help>")


@pytest.mark.parametrize("name", SERVICES)
def test_a_state_is_put_back_and_all_deployments_of_the_sample_are_there(name: str) -> None:
    service = SERVICES[name]
    client = client_of(like(service))
    headers = {"Content-Type": service.request_type}
    for _ in range(2):  # of which the second may be rejected
        client.post("/v1/projects", data=request_of(service, "twin"), headers=headers)
    listed = client.get("/v1/projects").data
    state: Any = client.get("/_stub/state").json
    assert client.post("/_stub/reset", json=state).status_code == 204
    assert client.get("/v1/projects").data == listed
    for each in state["deployments"]:
        assert client.get(f"/v1/deployments/{each['id']}").status_code == 200


def test_a_member_that_the_service_does_not_have_is_in_no_text() -> None:
    latest = "latest_deployment_id"
    item = {"id": "{project.id}", "name": "{project.name}"}
    short = {"list": {"body": [item]}, "create": {"body": item}}
    for parts, is_named in ((short, False), ({"list": short["list"]}, True), ({}, True)):
        client = client_of(like(profile(**parts)))
        detail = client.get("/v1/deployments/none").json["detail"]
        assert detail.startswith("No deployment has this id.")
        assert (latest in detail) == is_named
        assert (f"`{latest}`" in client.get("/openapi.json").text) == is_named


def test_the_subject_of_an_error_is_the_id_the_name_or_the_path_of_its_request() -> None:
    body = {"message": "There is no {error.subject}."}
    client = client_of(like(profile(errors={"default": {"body": body}})))
    client.post("/v1/projects", json={"name": "a shop"})
    for method, path, subject in (
        ("GET", "/v1/deployments/a%20b", "a b"),
        ("GET", "/v1/elsewhere", "/v1/elsewhere"),
        ("POST", "/v1/projects", "a shop"),
    ):
        sent = {"name": "a shop"} if method == "POST" else None
        response: Any = client.open(path, method=method, json=sent)
        assert response.json == {"message": f"There is no {subject}."}, path


def test_a_requested_503_has_the_form_of_an_unavailable_store() -> None:
    own = {"store_unavailable": {"body": {"own": "{error.code}"}}}
    client = client_of(like(profile(errors={"default": {"body": {}}, **own})))
    for status, expected in ((503, {"own": "injected_fault"}), (502, {})):
        client.post("/_stub/faults", json={"status": status})
        response = client.get("/v1/projects")
        assert (response.status_code, response.json) == (status, expected)


def test_a_fault_with_a_success_and_a_body_replaces_a_body_of_the_profile() -> None:
    listed = {"body": {"data": [{"id": "{project.id}", "name": NAME}]}}
    client = client_of(like(profile(list=listed)))
    fault = {"operation": "listProjects", "status": 200, "body": "hi"}
    assert client.post("/_stub/faults", json=fault).status_code == 201
    response = client.get("/v1/projects")
    assert (response.status_code, response.text) == (200, "hi")


def test_a_list_with_a_status_follows_a_deployment_that_was_created_before() -> None:
    body = [{"id": "{project.id}", "status": "{deployment.status}"}]
    run = {"run": ["queued", "done"]}
    client = client_of(like(profile(list={"body": body}, statuses=run), pace=10))
    client.post("/v1/projects", json={"name": "shop"})
    for seconds, status in ((6, "queued"), (3, "queued"), (1, "done")):
        client.post("/_stub/clock", json={"advance": seconds})
        listed: Any = client.get("/v1/projects").json
        assert listed[-1]["status"] == status
