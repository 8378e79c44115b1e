"""The coverage."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import control_client_of, counting_ids, seed_of
from tests.contract import STATUSES, V1
from tests.stub.conftest import coverage, stub_of


def test_every_declared_outcome_is_counted(stub: FlaskClient) -> None:
    for path in ("dpl_failed", "dpl_failed", "dpl_queued", "x", "y"):
        stub.get(f"/v1/deployments/{path}")
    stub.head("/v1/deployments/dpl_failed")
    stub.post("/v1/projects", json={"name": "a", "team": 1})
    stub.post("/v1/projects", json={"name": "b", "team": 2}, headers={"Prefer": "code=502"})
    control_client_of(stub.application, "wrong").get("/v1/projects")
    control_client_of(stub.application, "wrong.w").get("/v1/projects")
    shown = coverage(stub)
    declared = {
        operation["operationId"]: {*operation["responses"], "other"}
        for _, _, operation in V1.operations()
    }
    assert {name: {*counts} for name, counts in shown["operations"].items()} == declared
    seen = {
        (name, status): count
        for name, counts in shown["operations"].items()
        for status, count in counts.items()
        if count
    }
    assert seen == {
        ("getDeployment", "200"): 4,
        ("getDeployment", "404"): 2,
        ("createProject", "201"): 1,
        ("createProject", "other"): 1,
        ("listProjects", "401"): 2,
    }
    assert shown["met"] == 4
    assert shown["of"] == sum(map(len, declared.values())) - len(declared)
    assert shown["deployment_statuses"] == dict.fromkeys(STATUSES, 0) | {"queued": 1, "failed": 2}
    assert shown["unpromised"] == [
        {"what": "createProject: body member team", "count": 2, "example": 7},
    ]
    assert shown["violations"] == []


def test_kinds_are_bounded_and_the_rest_counts_as_others(
    stub: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stub.coverage.MAX_KINDS", 20)
    for number in range(30):
        stub.get(f"/v1/projects?p{number}=1")
    stub.get("/v1/projects?p7=1")
    rows = coverage(stub)["unpromised"]
    assert len(rows) == 21
    assert rows[7] == {"what": "listProjects: query parameter p7", "count": 2, "example": 8}
    assert rows[-1] == {"what": "others", "count": 10, "example": 21}


def test_statuses_are_bounded_except_those_of_the_contract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stub.coverage.MAX_KINDS", 20)  # those of the contract are five
    own = [{"id": str(number), "status": f"own-{number}"} for number in range(30)]
    queued = {"id": "dpl_queued", "status": "queued"}
    stub = control_client_of(create_app(seed=seed_of({"deployments": [*own, queued]})))
    for each in own:
        stub.get(f"/v1/deployments/{each['id']}")
    stub.get("/v1/deployments/dpl_queued")
    shown = coverage(stub)
    assert len(shown["deployment_statuses"]) == 20 + 1
    assert shown["deployment_statuses"]["others"] == 10 + len(STATUSES)
    assert shown["deployment_statuses"]["queued"] == 1
    assert shown["operations"]["getDeployment"]["200"] == 31


def table(app: Flask) -> str:
    verdict = stub_of(app).judge()
    return verdict.table()


def test_the_table_is_of_all_worlds() -> None:
    app = create_app(new_id=counting_ids())
    assert table(app) == ""
    client = control_client_of(app)
    client.get("/v1/projects?page=1")
    other = control_client_of(app, "dev-token.w")
    other.get("/v1/projects")
    other.get("/v1/dev-token")
    first, *lines = table(app).splitlines()
    assert first == f"coverage: 1 of {coverage(client)['of']} outcomes met"
    assert lines[0].startswith("  listProjects   200 x2; not met: 400 401")
    assert lines[-2:] == [
        "unpromised: listProjects: query parameter page (x1, first: #1)",
        "violations: no operation: GET /v1/*** (x1, first: w #2)",
    ]


def test_the_table_is_short() -> None:
    app = create_app()
    client = control_client_of(app)
    for number in range(25):
        client.get(f"/v1/projects?p{number}=1")
    lines = table(app).splitlines()
    assert len(lines) == 1 + len([*V1.operations()]) + 20 + 1
    assert lines[-1] == "unpromised: 5 more"


def test_an_accepted_header_is_no_violation() -> None:
    client = control_client_of(create_app(tokens=["padded=="]), "padded==.job")
    client.get("/v1/nowhere")
    assert [row["what"] for row in coverage(client)["violations"]] == [
        "no operation: GET /v1/nowhere"
    ]
