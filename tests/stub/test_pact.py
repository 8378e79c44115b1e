"""Provider states; test_pact_verifier.py sets them up with Pact's own verifier."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import (
    SAMPLE_NAMES,
    SAMPLE_SEED,
    Clock,
    control_client_of,
    make_stub,
    names,
    seed_of,
)
from tests.contract import assert_invalid, assert_problem
from tests.stub.conftest import status_of


def change(client: FlaskClient, state: str, **params: Any) -> Any:
    document = {"state": state, "params": params, "action": "setup", "consumer": "c"}
    response = client.post("/_stub/pact", json=document)
    assert response.status_code == 200, response.text
    return response.json


def with_states(documents: dict[str, Any], **options: Any) -> FlaskClient:
    """A client of an app with provider states of its own."""
    states = {name: seed_of(document) for name, document in documents.items()}
    return control_client_of(make_stub(states=states, **options))


def test_built_in_states_return_the_values_they_made(stub: FlaskClient) -> None:
    assert change(stub, "no projects exist") == {}
    assert stub.get("/v1/projects").json == {"projects": []}
    stub.post("/v1/projects", json={"name": "zoo"})
    made = change(stub, "a project exists", name="shop")
    _, project = stub.get("/v1/projects").json["projects"]
    assert made == {
        "id": project["id"],
        "project_id": project["id"],
        "name": "shop",
        "deployment_id": project["latest_deployment_id"],
    }
    assert change(stub, "a project exists", name="shop") == made
    made = change(stub, "a deployment exists", id="d", status="failed")
    assert made == {"id": "d", "deployment_id": "d", "status": "failed"}
    made = change(stub, "a deployment exists", id="e", status="x", project_id=project["id"])
    assert made["project_id"] == project["id"]
    assert status_of(stub, "e") == "x"
    change(stub, "no projects exist")
    assert names(stub) == []
    assert status_of(stub, "d") == "failed"


def test_a_change_may_be_in_the_query(stub: FlaskClient) -> None:
    query = "state=a%20deployment%20exists&action=setup&id=q&status=failed"
    made = {"id": "q", "deployment_id": "q", "status": "failed"}
    assert stub.post(f"/_stub/pact?{query}").json == made
    assert stub.post("/_stub/pact?state=a+project+exists").json["name"] == "project_1"
    assert_invalid(stub.post("/_stub/pact?state=a+project+exists&name="), "/params/name")
    assert_invalid(stub.post("/_stub/pact?state=no+projects+exist&other=1"), "/params/other")


def test_no_state_and_a_teardown_of_none_change_nothing(stub: FlaskClient) -> None:
    for query in ("state=", "state=nope&action=teardown"):
        assert stub.post(f"/_stub/pact?{query}").json == {}
    for document in (
        {"state": "", "action": "setup", "params": None},
        {"state": "no projects exist", "action": "teardown"},
        {"state": "unheard of", "action": "teardown", "params": {"a": 1}, "states": []},
    ):
        response = stub.post("/_stub/pact", json=document)
        assert (response.status_code, response.json) == (200, {})
    assert names(stub) == SAMPLE_NAMES


def test_a_full_store_and_too_many_worlds_are_422(full_app: Flask) -> None:
    stub = control_client_of(make_stub(max_projects=1))
    change(stub, "a project exists", name="a")
    document = {"state": "a project exists", "params": {"name": "b"}}
    assert_invalid(stub.post("/_stub/pact", json=document), "")
    full = control_client_of(full_app, "dev-token.more").post("/_stub/pact", json=document)
    assert_invalid(full, "")


def test_a_project_without_a_name_is_a_new_one() -> None:
    stub = control_client_of(make_stub())
    for params in ({}, {"name": None}, None):
        response = stub.post("/_stub/pact", json={"state": "a project exists", "params": params})
        assert response.json["name"] == names(stub)[-1]
    assert len({*names(stub)}) == 3


def test_a_project_may_have_what_that_of_a_seed_has(stub: FlaskClient) -> None:
    made = change(stub, "a project exists", name="shop", id="prj_shop", team={"n": 1})
    assert (made["project_id"], made["name"]) == ("prj_shop", "shop")
    project = stub.get("/v1/projects").json["projects"][-1]
    assert (project["id"], project["team"]) == ("prj_shop", {"n": 1})
    taken = {"state": "a project exists", "params": {"name": "new", "id": "prj_shop"}}
    assert_invalid(stub.post("/_stub/pact", json=taken), "/state")


OWN = {
    "a team's own": {
        "projects": [{"name": "website", "id": "other"}, {"name": "mine", "id": "prj_mine"}],
        "deployments": [
            {"id": "dpl_failed", "status": "failed"},
            {"id": "dpl_new", "status": "canceled", "project_id": "other"},
        ],
    },
    "nothing": {},
}


def test_a_team_adds_states_of_its_own() -> None:
    stub = with_states(OWN)
    change(stub, "a project exists", name="website")
    (website,) = stub.get("/v1/projects").json["projects"]
    change(stub, "a deployment exists", id="dpl_failed", status="failed")
    for _ in range(2):
        made = change(stub, "a team's own")
        assert made == {
            "id": "dpl_new",
            "deployment_id": "dpl_new",
            "status": "canceled",
            "project_id": website["id"],
            "name": "mine",
        }
        assert len(stub.get("/v1/projects").json["projects"]) == 2
    assert status_of(stub, "dpl_failed") == "failed"
    assert change(stub, "nothing") == {}
    response = stub.post("/_stub/pact", json={"state": "unheard of"})
    detail = assert_problem(response, 404, "not_found")["detail"]
    built_in = '"no projects exist", "a project exists", "a deployment exists"'
    assert f'{built_in}, "a team\'s own", "nothing"' in detail
    assert "unheard" not in detail


@pytest.mark.parametrize("given", [{}, {"id": "prj_shop"}])
def test_a_deployment_of_no_project_stays_one_whatever_exists(given: dict[str, str]) -> None:
    document = {
        "projects": [{"name": "shop", **given}, {"name": "other"}],
        "deployments": [{"id": "d", "status": "failed"}],
    }
    for before in ([], ["shop"], ["shop", "other"]):
        stub = with_states({"s": document})
        for name in before:
            change(stub, "a project exists", name=name)
        made = change(stub, "s")
        assert (made["deployment_id"], change(stub, "s")) == ("d", made)
        assert stub.get("/v1/deployments/d").json["project_id"] is None
        assert names(stub) == ["shop", "other"]


WEBSITE = {"name": "website", "id": "w"}
OTHERS_HAVE: list[tuple[Any, str]] = [
    ({"projects": [{"name": "shop", "id": "prj_website"}]},
     "its project shop has the id prj_website, as has website here"),
    ({"deployments": [{"id": "dpl_failed", "status": "failed"}]},
     "its deployment dpl_failed exists with another project or other statuses: use a "
     "teardown, or reset the world"),
    ({"projects": [WEBSITE],
      "deployments": [{"id": "dpl_failed", "status": "queued", "project_id": "w"}]},
     "its deployment dpl_failed exists with another project or other statuses: use a "
     "teardown, or reset the world"),
]  # fmt: skip


def test_a_state_whose_ids_others_have_sets_up_nothing() -> None:
    for state, detail in OTHERS_HAVE:
        document = {**state, "projects": [*state.get("projects", ()), {"name": "new"}]}
        stub = with_states({"s": document}, seed=SAMPLE_SEED)
        before = stub.get("/_stub/state").data
        response = stub.post("/_stub/pact", json={"state": "s"})
        assert assert_invalid(response, "/state")[0]["detail"] == detail
        assert stub.get("/_stub/state").data == before


def test_a_teardown_takes_back_its_state_and_what_requests_changed(clock: Clock) -> None:
    states = {"own": {"projects": [{"name": "own"}], "deployments": [{"id": "d", "status": "x"}]}}
    stub = with_states(states, seed=SAMPLE_SEED, clock=clock)

    def tear_down(state: str, **params: Any) -> None:
        document = {"state": state, "params": params, "action": "teardown"}
        assert stub.post("/_stub/pact", json=document).json == {}

    before = stub.get("/_stub/state").data
    for state, params in (
        ("own", {}),
        ("no projects exist", {}),
        ("a project exists", {"name": "shop"}),
        ("a deployment exists", {"id": "dpl_failed", "status": "queued"}),
    ):
        change(stub, state, **params)
        stub.post("/v1/projects", json={"name": "of a request"})
        stub.post("/_stub/clock", json={"advance": 1})
        tear_down(state, name="another")
        assert stub.get("/_stub/state").data != before
        tear_down(state, **params)
        assert stub.get("/_stub/state").data == before
    for name in ("first", "second"):
        change(stub, "a project exists", name=name)
    for name in ("first", "second"):  # in the order of a verifier
        tear_down("a project exists", name=name)
        assert stub.get("/_stub/state").data == before
    change(stub, "a project exists", name="first")
    middle = stub.get("/_stub/state").data
    change(stub, "a project exists", name="second")
    for name in ("second", "first"):
        tear_down("a project exists", name=name)
        assert stub.get("/_stub/state").data == middle


def test_a_deployment_without_an_id_gets_one_and_has_succeeded(stub: FlaskClient) -> None:
    for params, status, project_id in (
        ({}, "succeeded", None),
        ({"status": "failed"}, "failed", None),
        ({"id": None, "status": None, "project_id": "prj_search"}, "succeeded", "prj_search"),
    ):
        values = change(stub, "a deployment exists", **params)
        assert values["status"] == status
        found = stub.get(f"/v1/deployments/{values['deployment_id']}").json
        assert (found["status"], found["project_id"]) == (status, project_id)
