"""--like: the stub has the forms of a profile, in every world, and its contract says so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions, UnknownPart
from tests.conftest import BEARER, SAMPLE_SEED, Clock, client_of, control_client_of
from tests.contract import Contract, assert_invalid
from tests.program import not_started, run
from tests.stub.like import LIKE


def like(profile: Any = LIKE, clock: Clock | None = None, **more: Any) -> Flask:
    own = {name: more.pop(name) for name in [*more] if name in StubOptions._fields}
    options = StubOptions(like=profile, **own)
    return create_app(clock=clock or Clock(), seed=SAMPLE_SEED, stub_options=options, **more)


def served_contract(app: Flask, folder: Path) -> Contract:
    path = folder / "openapi.json"
    path.write_bytes(app.test_client().get("/openapi.json").data)
    return Contract(path)


def create(client: FlaskClient, **sent: Any) -> Any:
    response = client.post("/v1/projects", json={"name": "shop", **sent})
    assert response.status_code == 202
    return response.json


def test_each_form_is_that_of_the_profile() -> None:
    clock = Clock()
    client = control_client_of(like(clock=clock))
    project = create(client, tags=[{"id": 7}])
    assert [*project] == ["id", "latest_deployment_id", "name", "tags", "owner"]
    assert (project["owner"], project["tags"]) == ("text", [{"id": 7}])
    assert re.fullmatch("proj_[0-9A-Z]{20,22}", project["id"])
    assert re.fullmatch("[-0-9a-f]{36}", project["latest_deployment_id"])
    clock.advance(1)
    listed = client.get("/v1/projects").json["projects"]
    assert [each["name"] for each in listed] == ["shop", "search", "billing", "website"]
    assert listed[1]["owner"] == "text"
    path = f"/v1/deployments/{project['latest_deployment_id']}"
    statuses = []
    for _ in range(3):
        response = client.get(path)
        statuses.append(response.json["status"])
        clock.advance(2)
    assert statuses == ["PENDING", "RUNNING", "DONE"]
    assert response.json == {
        "id": project["latest_deployment_id"],
        "status": "DONE",
        "created_at": "2026-11-21T11:00:00.000000+01:00",
        "url": None,
    }
    assert response.headers["Content-Type"] == "application/vnd.api+json; charset=utf-8"
    assert response.headers["X-Request-Id"] == "1"
    for status in (404, 429):  # the contract declares the one
        error = client.get("/v1/deployments/none", headers={"Prefer": f"code={status}"})
        assert (error.status_code, error.headers["Content-Type"]) == (status, "text/json")
        assert error.headers["X-Request-Id"] == "1"


def test_it_holds_in_each_world_after_a_reset_and_over_redis(redis_stores: Any) -> None:
    clock = Clock()
    for store in ({}, {"new_store": redis_stores}):
        app = like(clock=clock, ids_seed=5, **store)
        for token in ("dev-token", "dev-token.other"):
            client = control_client_of(app, token)
            first = create(client)
            assert client.post("/_stub/reset").status_code == 204
            assert create(client) == first  # by the seed of the ids
            assert first["id"].startswith("proj_")
            clock.advance(2)
            path = f"/v1/deployments/{first['latest_deployment_id']}"
            assert client.get(path).json["status"] == "RUNNING"


def test_its_statuses_may_be_set_and_exported() -> None:
    client = like().test_client()
    client.environ_base |= {"HTTP_AUTHORIZATION": BEARER["Authorization"]}
    change: Any = {"state": "a deployment exists"}
    assert client.post("/_stub/pact", json=change).json["status"] == "DONE"
    change["params"] = {"id": "pact", "status": "RUNNING"}
    assert client.get("/_stub/console").json["statuses"] == LIKE["statuses"]["run"]
    assert client.put("/_stub/deployments/put", json={"status": "DONE"}).status_code == 201
    assert client.post("/_stub/pact", json=change).json["status"] == "RUNNING"
    state = client.get("/_stub/state")
    assert client.post("/_stub/reset", json=state.json).status_code == 204
    assert client.get("/v1/deployments/put").json["status"] == "DONE"
    assert client.put("/_stub/deployments/put", json={"status": "ERROR"}).status_code == 200
    assert_invalid(client.put("/_stub/deployments/put", json={"status": "a b"}), "/status")


def test_every_response_is_valid_against_the_contract_that_is_served(tmp_path: Path) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    app = like()
    contract = served_contract(app, tmp_path)
    validate(contract.document)
    for method, path, body in (
        ("GET", "/v1/projects", None),
        ("POST", "/v1/projects", {"name": "shop"}),
        ("POST", "/v1/projects", {}),
        ("GET", "/v1/deployments/dpl_failed", None),
        ("GET", "/v1/deployments/none", None),
    ):
        found = control_client_of(app).open(path, method=method, json=body)
        contract.check(method, path, found.status_code, dict(found.headers), found.data)


def test_the_contract_says_what_was_observed_and_what_confirmed(tmp_path: Path) -> None:
    document = served_contract(like(), tmp_path).document
    seen, schemas = {"observed": "2026-11-24"}, document["components"]["schemas"]
    for name in ("id", "created_at", "latest_deployment_id", "owner", "tags"):
        assert schemas["Project"]["properties"][name]["x-origin"] == seen, name
    assert "created_at" not in schemas["Project"]["required"]
    status = schemas["Deployment"]["properties"]["status"]
    assert (status["x-origin"], status["x-known"]["x-origin"]) == ({"fixed": "§3"}, seen)
    assert status["description"].startswith("Known are `PENDING`, `RUNNING`, `DONE`.")
    assert status["examples"] == ["PENDING", "RUNNING", "DONE"]
    assert status["x-running"] == ["PENDING", "RUNNING"]
    responses = document["paths"]["/v1/projects"]["post"]["responses"]
    assert next(iter(responses)) == "202"
    assert "201" not in responses
    assert responses["202"]["x-origin"] == seen
    assert [*responses["202"]["content"]] == ["application/vnd.api+json"]
    assert responses["202"]["headers"]["X-Request-Id"]["x-origin"] == seen
    for name, own in (("NotFound", "text/json"), ("HeadersTooLarge", "application/problem+json")):
        assert [*document["components"]["responses"][name]["content"]] == [own]
    projects = schemas["ProjectList"]["properties"]["projects"]
    assert (projects["x-origin"], projects["description"]) == (seen, "Newest first.")
    told = {"part": "#/paths/~1v1~1projects/get/responses/200", "what": "an array"}
    plain = {**LIKE, "media_types": {"json": "application/json"}, "creation_status": 201}
    plain |= {"headers": [], "not_imitated": [told], "members": {}}
    plain["times"] = {"offset": "Z", "digits": 3, "case": "upper"}
    document = served_contract(like(plain), tmp_path).document
    post, get = (document["paths"]["/v1/projects"][each]["responses"] for each in ("post", "get"))
    assert post["201"]["x-origin"].keys() == {"chosen", "confirmed"}
    missing = document["components"]["responses"]["NotFound"]
    assert get["200"]["x-origin"].keys() == missing["x-origin"].keys() == {"chosen"}
    for name, is_seen in (("Project", True), ("Deployment", False)):  # which no response had
        created = document["components"]["schemas"][name]["properties"]["created_at"]
        assert ("confirmed" in created["x-origin"]) == is_seen


def test_an_observed_member_of_a_client_is_unpromised_still() -> None:
    client = control_client_of(like())
    create(client, owner="me", team="x")
    entry = client.get("/_stub/requests").json["requests"][0]
    assert entry["unpromised"] == [
        "createProject: body member owner (observed)",
        "createProject: body member team",
    ]
    strict = client_of(like(LIKE | {"media_types": {}}, strict=True))
    assert_invalid(strict.post("/v1/projects", json={"name": "a", "owner": "me"}), "/owner")


def test_grease_varies_on_top_and_draws_no_observed_form() -> None:
    profile = {**LIKE, "times": {"offset": "+05:30", "digits": 6, "case": "upper"}}
    axes = ("times", "success-code", "list-order", "ids", "status-values", "media-type")
    for seed in range(15):
        clock = Clock()
        client = control_client_of(like(profile, clock, grease=axes, grease_seed=seed))
        response = client.post("/v1/projects", json={"name": "shop"})
        assert response.status_code == 200
        created = json.loads(response.data)
        assert not created["id"].startswith("proj_")
        found = client.get(f"/v1/deployments/{created['latest_deployment_id']}")
        deployment = json.loads(found.data)
        assert deployment["status"] not in LIKE["statuses"]["run"]
        assert not re.search(r"\.\d{6}\+|\+05:30", deployment["created_at"])
        assert re.fullmatch("(?i)application/vnd.api[+]json; v=1", found.headers["Content-Type"])
        clock.advance(1)
        listed = json.loads(client.get("/v1/projects").data)["projects"]
        assert [each["name"] for each in listed] != ["shop", "search", "billing", "website"]
    client = control_client_of(like({**LIKE, "creation_status": 200}, grease=("success-code",)))
    assert client.post("/v1/projects", json={"name": "shop"}).status_code == 201
    nameless = {**LIKE, "members": {"project": {"absent": ["id"]}}, "list_order": "oldest first"}
    app = like(nameless, grease=("list-order",))
    assert app.extensions["stub"].parts.origin("ProjectList.projects").startswith("chosen: ")
    assert control_client_of(app).get("/v1/projects").status_code == 200


def test_what_is_not_imitated_is_listed() -> None:
    shown = {name: LIKE[name] for name in ("observed_at", "not_imitated")}
    assert control_client_of(like()).get("/_stub/like").json == shown
    plain = control_client_of(create_app())
    assert plain.get("/_stub/like").json == {"observed_at": None, "not_imitated": []}


def test_short_ids_grow_as_in_a_sequence() -> None:
    digit = {"prefix": "", "alphabet": ["0-9"], "shortest": 1, "longest": 1}
    profile = {"observed_at": "2026-11-24", "ids": {"projects": digit}}
    for grease in ((), ("ids-encoded",)):
        client = control_client_of(like(profile, grease=grease))
        for number in range(11):
            assert client.post("/v1/projects", json={"name": f"p{number}"}).status_code == 201


def test_the_contract_has_a_member_in_camel_case_alone(tmp_path: Path) -> None:
    added = {"Id": "string", "createdAt": "string", "latestDeploymentId": "string"}
    members = {"added": added, "absent": ["id", "created_at", "latest_deployment_id"]}
    profile = {"observed_at": "2026-11-24", "members": {"project": members}}
    contract = served_contract(like(profile), tmp_path).document
    known = contract["components"]["schemas"]["Project"]["properties"]
    assert [*known] == ["name", "Id", "createdAt", "latestDeploymentId"]
    assert (known["createdAt"]["format"], known["createdAt"]["x-origin"]) == (
        "date-time", {"observed": "2026-11-24"},
    )  # fmt: skip
    created = contract["paths"]["/v1/projects"]["post"]["responses"]["201"]
    link = created["links"]["followDeployment"]["parameters"]["id"]
    assert link == "$response.body#/latestDeploymentId"
    client = control_client_of(like(profile, grease=("members", "ids@projects")))
    project = client.post("/v1/projects", json={"name": "a", "createdAt": "late"}).json
    assert project["createdAt"] != "late"  # the service gives it
    assert "~" in project["Id"]  # as in each varied id
    assert client.get("/v1/projects").json["projects"][-1] == project
    assert client.get(f"/v1/deployments/{project['latestDeploymentId']}").status_code == 200
    with pytest.raises(UnknownPart):
        like(profile, grease=("ids@Project.latestDeploymentId",))


def test_a_member_without_a_name_stays_and_a_text_alone_is_renamed(tmp_path: Path) -> None:
    added = {"createdAt": "integer", "latestDeploymentId": "string"}
    members = {"added": added, "absent": ["created_at", "latest_deployment_id"]}
    profile = {"observed_at": "2026-11-24", "members": {"project": members}}
    client = control_client_of(like(profile))
    created = client.post("/v1/projects", json={"name": "a", "": 1, "createdAt": "late"}).json
    assert (created[""], created["createdAt"]) == (1, 1)
    assert created["latestDeploymentId"].startswith("dpl_")
    contract = served_contract(like(profile), tmp_path).document
    known = contract["components"]["schemas"]["Project"]["properties"]
    assert [*known] == ["id", "name", "createdAt", "latestDeploymentId"]
    assert known["createdAt"]["type"] == "integer"


@pytest.mark.process
def test_the_program_starts_with_a_file_and_says_what_is_not_imitated(tmp_path: Path) -> None:
    file = tmp_path / "service.json"
    file.write_text(json.dumps(LIKE), "utf-8")
    seed = {"deployments": [{"id": "one", "status": "ERROR"}]}
    (tmp_path / "seed").write_text(json.dumps(seed), "utf-8")
    (tmp_path / "states").write_text(json.dumps({"a failure": seed}), "utf-8")
    files = ("--seed", f"{tmp_path}/seed", "--states", f"{tmp_path}/states")
    done = run(*files, env={"STUB_LIKE": str(file)})
    told = f"responses are like {file}; not imitated: 1, see GET /_stub/like\n"
    assert (done.status, told in done.stderr) == (0, True)
    for text, reason in (
        ('{"observed_at": "2026-11-24", "x": 1, "creation_status": 204}', "/x: is not a known"),
        ("[" * 40 + "]" * 40, "More levels deep"),
        ("[]", "the document: must be a JSON object"),
    ):
        file.write_text(text, "utf-8")
        told = not_started("--like", str(file))
        assert (f"{file}: " in told, reason in told) == (True, True)
    assert "No such file" in not_started("--like", str(tmp_path / "none"))
