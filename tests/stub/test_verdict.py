"""The verdict of a run: what all requests to all worlds met. The recorded table has a world's."""

from collections.abc import Collection
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import control_client_of, make_stub
from tests.contract import V1
from tests.stub.conftest import entries, verdict_of

KINDS = ("violations", "unpromised", "rejected", "idle", "unused-faults")


def findings(app: Flask, fail_on: Collection[str], allowed: Collection[str] = ()) -> list[str]:
    verdict = verdict_of(app, fail_on, allowed)
    return [f"{finding.what} x{finding.count}" for finding in verdict.findings]


def report(app: Flask, *fail_on: str) -> dict[str, Any]:
    return verdict_of(app, fail_on).document(0)


def use(client: FlaskClient) -> None:
    """Something of each kind that is counted."""
    client.get("/v1/projects?page=1")
    client.post("/v1/projects", json={"nome": "x"})
    client.post("/v1/projects", data=b"{")
    client.get("/v1/nowhere")
    client.post("/_stub/faults", json={"operation": "getDeployment", "status": 503})
    client.put("/_stub/grease", json={"axes": ["headers"]})
    client.get("/v1/projects")


EXPECTED = {
    "violations": ["no operation: GET /v1/nowhere x{0}"],
    "unpromised": [
        "listProjects: query parameter page x{0}",
        "createProject: body member nome x{0}",
    ],
    "rejected": ["createProject 422 x{0}", "createProject 415 x{0}"],
    "idle": [
        f"{operation['operationId']} x0"
        for _, _, operation in V1.operations()
        if operation["operationId"] not in ("listProjects", "createProject")
    ],
    "unused-faults": ["getDeployment: status 503 x{0}"],
}


def test_each_kind_is_found_over_all_worlds_and_resets(app: Flask) -> None:
    for token in ("dev-token", "dev-token.one", "dev-token.two"):
        use(control_client_of(app, token))
    control_client_of(app).post("/_stub/reset", json={})
    control_client_of(app, "dev-token.one").post("/_stub/reset")
    use(control_client_of(app, "dev-token.one"))
    for kind, expected in EXPECTED.items():
        assert findings(app, [kind]) == [each.format(4) for each in expected]
        assert findings(app, KINDS, [f"{kind}: *"]) == findings(app, set(KINDS) - {kind})
    assert findings(app, []) == []
    assert {finding["first"] for finding in report(app, "idle")["findings"]} == {None}
    assert report(app)["grease"]["headers"] == 4


def test_an_unused_fault_is_found_with_the_world_of_its_test(app: Flask) -> None:
    for name, operation in (("ended", "createProject"), ("open", "listProjects")):
        fault = {"operation": operation, "drop": True}
        control_client_of(app, f"dev-token.{name}").post("/_stub/faults", json=fault)
    control_client_of(app, "dev-token.ended").post("/_stub/reset")
    found = verdict_of(app, ["unused-faults"]).findings
    assert [each.what for each in found] == ["createProject: drop", "listProjects: drop"]
    assert [each.first_name for each in found] == ["world ended", "world open"]


def test_a_finding_says_where_it_was_first_seen_and_what_to_do(app: Flask) -> None:
    for _ in range(2):
        control_client_of(app).get("/v1/projects?page=1")
    job = control_client_of(app, "dev-token.job-5")
    for document in ({"name": "x"}, {}, {"name": 1}, {"name": ""}):
        job.post("/v1/projects", json=document)
    verdict = verdict_of(app, ["unpromised", "rejected", "unused-faults"])
    advice = "correct the request: the contract does not allow it"
    assert [finding.sentence for finding in verdict.findings] == [
        "unpromised: listProjects: query parameter page (x2, first: #1): "
        "do not depend on it: no document promises it",
        f"rejected: createProject 422 (x3, first: job-5 #2: /name is required): {advice}",
    ]


def test_the_report_has_the_first_request_of_a_finding_also_of_an_ended_world(app: Flask) -> None:
    client = control_client_of(app, "dev-token.ended")
    client.post("/v1/projects", json={"x": 5000 * "x"}, headers={"X-Api-Key": "s"})
    (entry,) = entries(client)
    client.post("/_stub/reset")
    client.post("/v1/projects", json={})
    (finding,) = report(app, "rejected")["findings"]
    first = finding["first"]
    assert (finding["count"], first.pop("world"), len(first["body"])) == (2, "ended", 4096)
    assert first == {name: entry[name] for name in first}
    assert report(app)["unpromised"][0]["world"] == "ended"


def test_each_unpromised_member_of_a_body_is_judged() -> None:
    client = control_client_of(make_stub(max_firsts=300))
    long = 200 * "x"
    for more in ({}, {f"{long}1": 1, f"{long}2": 2}):
        client.post("/v1/projects", json={f"m{number}": 1 for number in range(150)} | more)
    found = findings(client.application, ["unpromised"])
    assert len(found) == len({*found}) == 152
    assert "createProject: body member m149 x2" in found
    allowed = [f"unpromised: *member m{number}" for number in range(100)]
    assert len(findings(client.application, ["unpromised"], allowed)) == 52
    assert [len(each["unpromised"]) for each in entries(client)] == [100, 100]
    client.post("/v1/projects", json={f"n{number}": 1 for number in range(200)})
    found = findings(client.application, ["unpromised"])
    assert len(found) == len({*found}) == 352
