"""The contract that is served is that of the profile, with grease on top."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import validate

from profiles.profile import Profile, make_profile
from tests.conftest import make_stub
from tests.contract import CREATED
from tests.profiles.conftest import (
    DATE,
    SERVICES,
    STATUS,
    client_of,
    deployment_of,
    like,
    profile,
    request_of,
)
from tests.replayed import SCENARIOS, read
from tests.stub.greased import AXES

SEEN = {"observed": DATE}
# Those that a person may write, and those of the recorded responses.
FORMS = SERVICES | {
    name: make_profile(read(name)[0]["like"]) for name in SCENARIOS if name.startswith("own-")
}


def contract_of(service: Profile, **more: Any) -> Any:
    """The contract that an app serves which is like a service."""
    return client_of(like(service, **more)).get("/openapi.json").json


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
    projects, deployments = "/v1/projects", "/v1/deployments/{id}"
    sent = json.dumps(request_of(service, "Shop"))
    typed = {"Content-Type": service.request_type}
    created = client.post(projects, data=sent, headers=typed)
    found = [("post", projects, created), ("get", projects, client.get(projects))]
    deployment_id = quote(deployment_of(client, "Shop"), safe="")
    word = [*service.words, "failed"][0]
    client.put("/_stub/deployments/12", json={"status": word})
    for each in (deployment_id, "12", "none"):
        found += [("get", deployments, client.get(f"/v1/deployments/{each}"))]
    anonymous = {"Authorization": "Bearer x"}
    found += [
        ("post", projects, client.post(projects, data="[]", headers=typed)),
        ("post", projects, client.post(projects, data=sent, headers=typed)),
        ("post", projects, client.post(projects, data="{", headers={"Content-Type": "text/x"})),
        ("get", projects, client.get(projects, headers=anonymous)),
        ("get", projects, client.get(projects, headers={"Prefer": "code=503"})),
        ("", "", client.get("/v1/none")),
        ("", "", client.delete(projects)),
    ]
    return found


@pytest.mark.parametrize("axes", [(), AXES], ids=["", "greased"])
@pytest.mark.parametrize("name", FORMS)
def test_each_response_is_valid_against_the_contract_that_is_served(
    name: str, axes: tuple[str, ...]
) -> None:
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


def test_it_has_envelopes_records_and_errors_with_their_types() -> None:
    document = contract_of(SERVICES["northflank"])
    schemas = document["components"]["schemas"]
    envelope = schemas["ProjectList"]
    assert (envelope["required"], envelope["x-origin"]) == (["data", "pagination"], SEEN)
    array = envelope["properties"]["data"]["properties"]["projects"]
    assert (array["items"], array["description"]) == (
        {"$ref": "#/components/schemas/Project"}, "Oldest first.",
    )  # fmt: skip
    count = envelope["properties"]["pagination"]["properties"]["count"]
    assert (count["type"], schemas["Project"]["properties"]["uid"]["type"]) == ("integer", "string")
    data = schemas["Deployment"]["properties"]["data"]
    status = data["properties"]["status"]
    assert (status["x-origin"], status["examples"][0]) == ({"fixed": "§3"}, "QUEUED")
    assert status["x-running"] == ["QUEUED", "CLONING", "BUILDING"]
    assert data["properties"]["concluded"]["type"] == "boolean"
    assert data["properties"]["createdAt"]["format"] == "date-time"
    post = document["paths"]["/v1/projects"]["post"]
    assert [*post["responses"]][:2] == ["200", "400"]
    assert [*post["responses"]["200"]["content"]] == ["application/json"]
    assert "links" not in post["responses"]["200"]  # the body shows no deployment
    wanted = schemas["ProjectInput"]
    assert (wanted["required"], [*wanted["properties"]]) == (["name"], ["name", "region"])
    assert wanted["properties"]["name"]["maxLength"] == 100
    examples = post["requestBody"]["content"]["application/json"]["examples"]
    assert examples["observed"]["value"] == {"name": "shop", "region": "europe-west"}
    assert document["paths"]["/v1/projects"]["x-origin"] == {"fixed": "§4, §9"}


@pytest.mark.parametrize(
    ("name", "link"),
    [("render", "/deployId"), ("supabase", "/id"), ("vercel", "/latestDeployments/0/id")],
)
def test_the_creation_links_to_its_deployment_where_the_body_shows_it(name: str, link: str) -> None:
    responses = contract_of(SERVICES[name])["paths"]["/v1/projects"]["post"]
    created = responses["responses"]["200" if name == "vercel" else str(CREATED)]
    assert created["links"]["followDeployment"]["parameters"]["id"] == f"$response.body#{link}"


def test_errors_move_to_their_status_and_the_server_keeps_its_own() -> None:
    document = contract_of(SERVICES["vercel"])
    get = document["paths"]["/v1/projects"]["get"]["responses"]
    assert [*get["403"]["content"]["application/json"]["examples"]] == ["token_invalid"]
    assert [*get["401"]["content"]["application/json"]["examples"]] == ["token_missing"]
    assert [*get["413"]["content"]] == ["application/json", "application/problem+json"]
    assert get["413"]["x-codes"] == ["body_too_large"]
    post = document["paths"]["/v1/projects"]["post"]["responses"]
    assert "422" not in post
    bad = post["400"]["content"]["application/json"]
    assert {"malformed_json", "invalid_body"} <= {*bad["examples"]}
    assert [*document["x-elsewhere"]] == ["401", "403", "404", "405"]


def test_errors_of_one_status_have_any_of_their_forms() -> None:
    document = contract_of(FORMS["own-errors-mixed"])
    post = document["paths"]["/v1/projects"]["post"]["responses"]
    bad = post["400"]["content"]["application/json"]
    refs = [each["$ref"].rpartition("/")[2] for each in bad["schema"]["anyOf"]]
    assert refs == ["MalformedJsonError", "InvalidBodyError"]
    missing = document["paths"]["/v1/deployments/{id}"]["get"]["responses"]["404"]
    # What has its own status comes before what moved there, whose fields not all errors have.
    assert [*missing["content"]] == ["application/json", "application/problem+json"]
    assert missing["headers"]["cache-control"]["required"] is False


def test_what_a_profile_leaves_out_is_the_contracts_own() -> None:
    plain = client_of(make_stub()).get("/openapi.json").json
    numbers = contract_of(profile(ids={"deployments": 7040}))["components"]["schemas"]
    project = numbers["Project"]["properties"]
    assert project["id"] == plain["components"]["schemas"]["Project"]["properties"]["id"]
    own = project["latest_deployment_id"]
    assert (own["type"], own["x-origin"], "x-grease" in own) == ("integer", SEEN, False)
    listed = contract_of(profile(list={"body": [{"title": "{project.name}"}]}))
    schemas = listed["components"]["schemas"]
    assert "title" in schemas["ListedProject"]["properties"]
    assert "name" in schemas["Project"]["properties"]
    assert "x-elsewhere" not in listed
    post = plain["paths"]["/v1/projects"]["post"]
    assert listed["paths"]["/v1/projects"]["post"]["requestBody"] == post["requestBody"]


def test_a_response_without_a_body_has_no_content() -> None:
    post = contract_of(FORMS["own-no-bodies"])["paths"]["/v1/projects"]["post"]
    assert not {"content", "links"} & post["responses"]["202"].keys()
    assert [*post["requestBody"]["content"]] == ["a/b"]


def test_a_marker_has_the_type_of_its_value() -> None:
    body = {
        "at": "{deployment.created_at:2026-01-05T09:00:00+01:00}",
        "on": "{deployment.created_at:2026-01-05 09:00:00}",
        "ms": "{deployment.created_at:ms}",
        "id": "{deployment.id}",
        "text": "{deployment.id:text}",
        "uid": "{deployment.id:pod-1}",
        "of": "{project.id:text}",
        "done": {STATUS: {"A": True}},
        "all": {STATUS: {"A": 1, "B": 2}},
    }
    statuses = {"run": ["A", "B"]}
    service = profile(deployment={"body": body}, ids={"deployments": 1}, statuses=statuses)
    deployment = contract_of(service)["components"]["schemas"]["Deployment"]
    known = deployment["properties"]
    assert [known[name].get("format") for name in ("at", "on")] == ["date-time", None]
    types = {name: known[name].get("type") for name in body}
    assert types == {
        "at": "string", "on": "string", "ms": "integer", "id": "integer", "text": "string",
        "uid": "string", "of": None, "done": "boolean", "all": "integer",
    }  # fmt: skip
    assert [each["type"] for each in known["of"]["anyOf"]] == ["string", "null"]
    assert {*body} - {*deployment["required"]} == {"done"}
    errors = {"default": {"body": {"status": "{error.status:text}"}}}
    schemas = contract_of(profile(errors=errors))["components"]["schemas"]
    assert schemas["Error"]["properties"]["status"]["type"] == "string"


def test_a_value_of_several_types_has_them_all() -> None:
    body = {
        "a": {STATUS: {"queued": None, "building": "x", "": {"b": 1}}}, "c": [1, "x"], "d": [],
        "of": [{"b": 1, "c": 2}, {"c": 0.5, "d": None}],
        "e": {STATUS: {"": {}, "queued": {"f": 1}}},
    }  # fmt: skip
    words = {"run": ["queued", "building"]}
    document = contract_of(profile(deployment={"body": body}, statuses=words))
    known = document["components"]["schemas"]["Deployment"]["properties"]
    assert [each["type"] for each in known["a"]["anyOf"]] == ["null", "string", "object"]
    assert [each["type"] for each in known["c"]["items"]["anyOf"]] == ["integer", "string"]
    assert known["d"]["items"] == {}
    item = known["of"]["items"]
    assert (item["required"], [*item["properties"]]) == (["c"], ["b", "c", "d"])
    assert item["properties"]["c"]["type"] == "number"
    assert (known["e"]["required"], [*known["e"]["properties"]]) == ([], ["f"])


def test_a_greased_time_has_neither_the_digits_nor_the_offset_of_the_service() -> None:
    body = {"created": "{deployment.created_at:2026-01-05T09:00:00.000000+00:00}"}
    client = client_of(like(profile(deployment={"body": body}), grease=("times",)))
    client.put("/_stub/deployments/d", json={"status": "failed"})
    for seed in range(40):
        client.put("/_stub/grease", json={"axes": ["times"], "seed": seed})
        created = client.get("/v1/deployments/d").json["created"]
        assert not re.search(r"\.\d{6}\D", created), created
        assert not created.endswith("+00:00"), created
