"""The coverage."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import control_client_of, counting_ids, make_stub, seed_of
from tests.contract import CREATED, STATUSES, V1
from tests.stub.conftest import coverage, verdict_of


def test_every_declared_response_is_counted(stub: FlaskClient) -> None:
    for path in ("dpl_failed", "dpl_failed", "dpl_queued", "x", "y"):
        stub.get(f"/v1/deployments/{path}")
    stub.head("/v1/deployments/dpl_failed")
    stub.post("/v1/projects", json={"name": "a", "team": 1})
    stub.post("/v1/projects", json={"name": "b", "team": 2}, headers={"Prefer": "code=502"})
    for token in ("wrong", "wrong.w"):
        control_client_of(stub.application, token).get("/v1/projects")
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
        ("createProject", str(CREATED)): 1,
        ("createProject", "other"): 1,
        ("listProjects", "401"): 2,
    }
    assert (shown["met"], shown["of"]) == (4, sum(map(len, declared.values())) - len(declared))
    assert shown["deployment_statuses"] == dict.fromkeys(STATUSES, 0) | {"queued": 1, "failed": 2}
    assert shown["unpromised"] == [
        {"what": "createProject: body member team", "count": 2, "example": 7}
    ]
    assert shown["violations"] == []


def table(app: Flask) -> str:
    return verdict_of(app).table()


def test_kinds_and_statuses_beyond_a_bound_count_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.coverage.MAX_KINDS", 25)
    own = [{"id": str(number), "status": f"own-{number}"} for number in range(30)]
    app = make_stub(seed=seed_of({"deployments": own}))
    stub = control_client_of(app)
    for number in (*range(30), 7):
        stub.get(f"/v1/deployments/{number}?p{number}=1")
    shown = coverage(stub)
    rows = shown["unpromised"]
    assert len(rows) == len(shown["deployment_statuses"]) == 26
    assert rows[7] == {"what": "getDeployment: query parameter p7", "count": 2, "example": 8}
    assert rows[-1] == {"what": "others", "count": 5, "example": 26}
    assert shown["deployment_statuses"]["others"] == 5 + len(STATUSES)
    assert shown["operations"]["getDeployment"]["200"] == 31
    *_, last_row, rest = table(app).splitlines()
    assert last_row.startswith("unpromised: getDeployment: query parameter p19 ")
    assert rest == "unpromised: 6 more"


def test_the_table_is_of_all_worlds() -> None:
    app = make_stub(new_id=counting_ids())
    assert table(app) == ""
    client = control_client_of(app)
    client.get("/v1/projects?page=1")
    other = control_client_of(app, "dev-token.w")
    other.get("/v1/projects")
    other.get("/v1/dev-token")
    first, *lines = table(app).splitlines()
    assert first == f"coverage: 1 of {coverage(client)['of']} responses met"
    assert lines[0].startswith("  listProjects   200 x2; not met: 400 401")
    assert lines[-2:] == [
        "unpromised: listProjects: query parameter page (x1, first: #1)",
        "violations: no operation: GET /v1/*** (x1, first: w #2)",
    ]


def test_an_accepted_header_is_no_violation() -> None:
    client = control_client_of(make_stub(tokens=["padded=="]), "padded==.job")
    client.get("/v1/nowhere")
    violations = [row["what"] for row in coverage(client)["violations"]]
    assert violations == ["no operation: GET /v1/nowhere"]
