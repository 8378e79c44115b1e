"""The contract that is served is that of the profile; `tests/replayed` has each of its bytes."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from jsonschema_rs import Draft202012Validator

from profiles.profile import Profile, make_profile
from tests.contract import CREATED
from tests.profiles.conftest import DATE, SERVICES, client_of, like, request_of
from tests.replayed import SCENARIOS, read
from tests.stub.greased import AXES

PROJECTS, DEPLOYMENTS = "/v1/projects", "/v1/deployments/{id}"
# Those that a person may write, and those of the recorded responses.
FORMS = SERVICES | {
    name: make_profile(read(name)[0]["like"]) for name in SCENARIOS if name.startswith("own-")
}
CASES = [(name, ()) for name in FORMS] + [(name, AXES) for name in SERVICES]


def resolved(document: Any, part: Any) -> Any:
    if "$ref" not in part:
        return part
    found = document
    for name in part["$ref"].split("/")[1:]:
        found = found[name]
    return found


def assert_declared(document: Any, responses: Any, response: Any) -> None:
    """Assert that a response is one of these responses of a contract."""
    status = str(response.status_code)
    if status in ("200", str(CREATED)) and status not in responses:
        # The axis `success-code` alone steps outside of what is declared.
        assert "success-code" in response.headers["Stub-Grease"]
        status = next(each for each in responses if each < "300")
    declared = resolved(document, responses[status])
    for name, header in declared["headers"].items():
        required = resolved(document, header).get("required")
        assert name in response.headers or not required, name
    if not response.data:
        assert "content" not in declared
        return
    schema = declared["content"][response.mimetype.lower()]["schema"]
    whole = {**schema, "components": document["components"]}
    Draft202012Validator(whole, validate_formats=True).validate(json.loads(response.data))


def session(client: FlaskClient, service: Profile) -> list[tuple[str, str, Any]]:
    """Responses to requests of all kinds, each with its path and method in the contract."""
    sent = request_of(service, "Shop")
    typed = {"Content-Type": service.request_type}
    found = [
        ("post", PROJECTS, client.post(PROJECTS, data=sent, headers=typed)),
        ("get", PROJECTS, client.get(PROJECTS)),
    ]
    client.put("/_stub/deployments/12", json={"status": [*service.words, "failed"][0]})
    state: Any = client.get("/_stub/state").json
    for deployment_id in [*(each["id"] for each in state["deployments"]), "none"]:
        path = f"/v1/deployments/{quote(deployment_id, safe='')}"
        found.append(("get", DEPLOYMENTS, client.get(path)))
    return [
        *found,
        ("post", PROJECTS, client.post(PROJECTS, data="[]", headers=typed)),
        ("post", PROJECTS, client.post(PROJECTS, data=sent, headers=typed)),
        ("post", PROJECTS, client.post(PROJECTS, data="{", headers={"Content-Type": "text/x"})),
        ("get", PROJECTS, client.get(PROJECTS, headers={"Authorization": "Bearer x"})),
        ("get", PROJECTS, client.get(PROJECTS, headers={"Prefer": "code=503"})),
        ("", "", client.get("/v1/none")),
        ("", "", client.delete(PROJECTS)),
    ]


@pytest.mark.parametrize(("name", "axes"), CASES)
@pytest.mark.xdist_group("openapi")  # one worker imports the validator
def test_each_response_is_valid_against_the_contract_that_is_served(
    name: str, axes: tuple[str, ...]
) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    service = FORMS[name]
    client = client_of(like(service, grease=axes, grease_seed=7))
    document: Any = client.get("/openapi.json").json
    if not axes:
        validate(document)
    for method, path, response in session(client, service):
        responses = document.get("x-elsewhere", {})
        if method:
            responses = document["paths"][path][method]["responses"]
        if responses:
            assert_declared(document, responses, response)


def test_it_has_the_envelopes_records_requests_and_errors_of_the_service() -> None:
    document: Any = client_of(like(SERVICES["northflank"])).get("/openapi.json").json
    schemas = document["components"]["schemas"]
    envelope = schemas["ProjectList"]
    assert envelope["required"] == ["data", "pagination"]
    assert envelope["x-origin"] == {"observed": DATE}
    items = envelope["properties"]["data"]["properties"]["projects"]["items"]
    assert items == {"$ref": "#/components/schemas/Project"}
    known = schemas["Deployment"]["properties"]["data"]["properties"]
    assert known["status"]["x-running"] == ["QUEUED", "CLONING", "BUILDING"]
    assert known["concluded"]["type"] == "boolean"
    assert known["createdAt"]["format"] == "date-time"
    wanted = schemas["ProjectInput"]
    assert (wanted["required"], [*wanted["properties"]]) == (["name"], ["name", "region"])
    post = document["paths"][PROJECTS]["post"]["responses"]
    assert [*post][:2] == ["200", "400"]
    assert "links" not in post["200"]  # the body shows no deployment

    document = client_of(like(SERVICES["vercel"])).get("/openapi.json").json
    links = document["paths"][PROJECTS]["post"]["responses"]["200"]["links"]
    place = links["followDeployment"]["parameters"]["id"]
    assert place == "$response.body#/latestDeployments/0/id"
    get = document["paths"][PROJECTS]["get"]["responses"]
    assert get["403"]["x-codes"] == ["token_invalid"]  # has moved there
    assert get["401"]["x-codes"] == ["token_missing"]
