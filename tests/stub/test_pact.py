"""Provider states; test_pact_verifier.py sets them up with Pact's own verifier."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import (
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
