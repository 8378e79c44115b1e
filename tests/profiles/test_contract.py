"""The contract that is served is that of the profile."""

from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from profiles.openapi import Names, find_unknown
from profiles.profile import Profile, make_profile
from tests.contract import Contract
from tests.profiles.conftest import DATE, SERVICES, client_of, like, profile, request_of
from tests.replayed import SCENARIOS, read
from tests.stub.greased import AXES

PROJECTS = "/v1/projects"
# Those that a person may write, and those of the recorded responses.
FORMS = SERVICES | {
    name: make_profile(read(name).options["like"]) for name in SCENARIOS if name.startswith("own-")
}
CASES = [(name, False) for name in FORMS] + [(name, True) for name in SERVICES]


def responses(client: FlaskClient, service: Profile) -> list[TestResponse]:
    """Responses to requests of all kinds."""
    sent = request_of(service, "Shop")
    typed = {"Content-Type": service.request_type}
    found = [client.post(PROJECTS, data=sent, headers=typed), client.get(PROJECTS)]
    client.put("/_stub/deployments/12", json={"status": [*service.statuses, "failed"][0]})
    state: Any = client.get("/_stub/state").json
    ids = [quote(each["id"], safe="") for each in state["deployments"]]
    return [
        *found,
        *(client.get(f"/v1/deployments/{each}") for each in [*ids, "none"]),
        client.post(PROJECTS, data="[]", headers=typed),
        client.post(PROJECTS, data=sent, headers=typed),
        client.post(PROJECTS, data="{", headers={"Content-Type": "text/x"}),
        client.get(PROJECTS, headers={"Authorization": "Bearer x"}),
        client.get(PROJECTS, headers={"Prefer": "code=503"}),
        client.get("/v1/none"),
        client.delete(PROJECTS),
    ]


@pytest.mark.parametrize(("name", "is_greased"), CASES)
@pytest.mark.xdist_group("openapi")  # one worker imports the validator
def test_each_response_is_valid_against_the_contract_that_is_served(
    name: str, is_greased: bool
) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    client = client_of(like(FORMS[name], grease=AXES if is_greased else (), grease_seed=7))
    document: Any = client.get("/openapi.json").json
    if not is_greased:
        validate(document)
    contract = Contract(document)
    for each in responses(client, FORMS[name]):
        path = each.request.environ["REQUEST_URI"]
        headers = dict(each.headers)
        contract.check(each.request.method, path, each.status_code, headers, each.data)


def test_it_has_the_envelopes_records_requests_and_errors_of_the_service() -> None:
    document: Any = client_of(like(SERVICES["northflank"])).get("/openapi.json").json
    schemas = document["components"]["schemas"]
    envelope = schemas["ProjectList"]
    assert envelope["required"] == ["data", "pagination"]
    assert envelope["x-origin"] == {"observed": DATE}
    items = envelope["properties"]["data"]["properties"]["projects"]["items"]
    assert items == {"$ref": "#/components/schemas/Project"}
    assert "status-values" not in envelope["x-grease"]
    assert "status-values" in schemas["Deployment"]["properties"]["data"]["x-grease"]
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


def test_members_are_unknown_by_their_objects() -> None:
    known: Names = {(): {"a", "b"}, ("a",): {"name"}}
    value = {"a": {"name": {"x": 1}, "y": 2}, "b": {"z": 3}, "c": 4, "name": 5}
    assert [*find_unknown(value, known)] == [("a", "y"), ("c",), ("name",)]
    assert [*find_unknown({"a": 1}, known)] == []


def test_only_ids_that_are_like_an_example_vary() -> None:
    """Grease gives an id another look; an id that is made from a name is a promise."""
    ids = {"projects": "prj_4f9a2c", "deployments": "d-{project.name}"}
    document: Any = client_of(like(profile(ids=ids))).get("/openapi.json").json
    schemas = document["components"]["schemas"]
    members = {name: schemas[name]["properties"]["id"] for name in ("Project", "Deployment")}
    assert [name for name, schema in members.items() if "x-grease" in schema] == ["Project"]
