"""The seed document: what it may hold, what becomes of it, and every fault told at once."""

import json
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from stub.seed import SAMPLE, SeedError, parse_seed, read_seed
from tests.conftest import Clock, client_of, counting_ids

NOW = "2026-11-21T10:00:00.000Z"


def seeded(document: Any, clock: Clock) -> FlaskClient:
    seed = parse_seed(json.dumps(document))
    return client_of(create_app(clock=clock, new_id=counting_ids(), seed=seed))


@pytest.mark.parametrize("document", [{}, {"projects": []}, {"deployments": [], "projects": []}])
def test_an_empty_document_is_the_empty_state(document: Any, clock: Clock) -> None:
    assert seeded(document, clock).get("/v1/projects").json == {"projects": []}


def test_what_is_left_out_is_given_as_post_gives_it(clock: Clock) -> None:
    client = seeded({"projects": [{"name": "a", "tags": ["x", 1.0]}]}, clock)
    assert client.get("/v1/projects").json["projects"] == [
        {
            "id": "prj_1",
            "created_at": NOW,
            "latest_deployment_id": "dpl_2",
            "name": "a",
            "tags": ["x", 1.0],
        }
    ]
    statuses = []
    for _ in range(3):
        statuses.append(client.get("/v1/deployments/dpl_2").json["status"])
        clock.advance(2)
    assert statuses == ["queued", "building", "succeeded"]


def test_an_integer_keeps_its_value_and_its_sign(clock: Clock) -> None:
    seed = parse_seed('{"projects": [{"name": "a", "x": -0, "y": 12345678901234567890}]}')
    client = client_of(create_app(clock=clock, seed=seed))
    assert '"x": -0.0, "y": 12345678901234567890}' in client.get("/v1/projects").text


def test_a_projects_latest_deployment_is_the_last_that_names_it(clock: Clock) -> None:
    client = seeded(
        {
            "projects": [{"name": "a", "id": "p"}, {"name": "b", "id": "q"}],
            "deployments": [
                {"id": "d1", "project_id": "p", "status": "succeeded"},
                {"id": "d2", "project_id": "p", "status": "failed", "created_at": NOW},
                {"id": "d3", "project_id": None, "status": "canceled"},
            ],
        },
        clock,
    )
    first, second = client.get("/v1/projects").json["projects"]
    assert first["latest_deployment_id"] == "d2"
    assert second["latest_deployment_id"] == "dpl_1"
    assert client.get("/v1/deployments/d1").json["project_id"] == "p"
    assert client.get("/v1/deployments/d3").json["project_id"] is None


def test_a_deployment_runs_along_its_timeline(clock: Clock) -> None:
    timeline = [
        {"status": "queued", "seconds": 5},
        {"status": "on_hold", "seconds": 0.5},
        {"status": "failed"},
    ]
    client = seeded({"deployments": [{"id": "d", "timeline": timeline}]}, clock)
    seen = []
    for seconds in (4.999, 0.001, 0.499, 0.001, 10**9):
        seen.append(client.get("/v1/deployments/d").json["status"])
        clock.advance(seconds)
    assert seen == ["queued", "queued", "on_hold", "on_hold", "failed"]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02t03:04:05.6z", "2026-01-02T03:04:05.600Z"),
        ("2026-01-02T03:04:05.123987+00:00", "2026-01-02T03:04:05.123Z"),
        ("2026-01-02T00:04:05.5-05:30", "2026-01-02T05:34:05.500Z"),
        ("2026-01-01T23:59:59+23:59", "2026-01-01T00:00:59.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_times_are_rfc_3339_of_any_offset(sent: str, shown: str, clock: Clock) -> None:
    client = seeded({"projects": [{"name": "a", "created_at": sent}]}, clock)
    assert client.get("/v1/projects").json["projects"][0]["created_at"] == shown


def test_projects_are_listed_oldest_first_whatever_the_document_does(clock: Clock) -> None:
    projects = [
        {"name": "now"},
        {"name": "old", "created_at": "2020-01-01T00:00:00Z"},
        {"name": "older", "created_at": "2020-01-01T00:30:00+01:00"},
        {"name": "now too"},
    ]
    client = seeded({"projects": projects}, clock)
    client.post("/v1/projects", json={"name": "new"})
    listed = [each["name"] for each in client.get("/v1/projects").json["projects"]]
    assert listed == ["older", "old", "now", "now too", "new"]


def test_what_the_service_gives_avoids_the_ids_of_the_document(clock: Clock) -> None:
    document = {
        "projects": [{"name": "a"}, {"name": "b", "id": "prj_1"}],
        "deployments": [{"id": "dpl_3", "status": "failed"}],
    }
    client = seeded(document, clock)
    projects = client.get("/v1/projects").json["projects"]
    assert [each["id"] for each in projects] == ["prj_2", "prj_1"]
    assert {each["latest_deployment_id"] for each in projects} == {"dpl_4", "dpl_5"}


STAGE = {"status": "queued", "seconds": 1}
LAST = {"status": "failed"}


def of(project: Any = None, deployment: Any = None) -> Any:
    document: dict[str, Any] = {"projects": [{"name": "x", "id": "x"}]}
    if project is not None:
        document["projects"].append(project)
    if deployment is not None:
        document["deployments"] = [deployment]
    return document


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        ([], [""]),
        (None, [""]),
        ({"project": []}, ["/project"]),
        ({"projects": {}, "deployments": None}, ["/projects", "/deployments"]),
        ({"a/b": 1, "c~d": 1}, ["/a~1b", "/c~0d"]),
        (of("x"), ["/projects/1"]),
        (of({}), ["/projects/1/name"]),
        (of({"name": 1, "id": 2, "created_at": 3}),
         ["/projects/1/name", "/projects/1/id", "/projects/1/created_at"]),
        (of({"name": "a", "latest_deployment_id": "d"}), ["/projects/1/latest_deployment_id"]),
        (of({"name": "a\n"}), ["/projects/1/name"]),
        (of({"name": "a", "id": "."}), ["/projects/1/id"]),
        (of({"name": "a", "id": ".."}), ["/projects/1/id"]),
        (of({"name": "a", "id": ""}), ["/projects/1/id"]),
        (of({"name": "a", "id": "a/b"}), ["/projects/1/id"]),
        (of({"name": "a", "id": "é"}), ["/projects/1/id"]),
        (of({"name": "a", "id": 256 * "a"}), ["/projects/1/id"]),
        (of({"name": "a", "id": None}), ["/projects/1/id"]),
        (of({"name": "a", "created_at": None}), ["/projects/1/created_at"]),
        (of({"name": "a", "created_at": "2026-01-02"}), ["/projects/1/created_at"]),
        (of({"name": "a", "created_at": "2026-01-02 03:04:05Z"}), ["/projects/1/created_at"]),
        (of({"name": "a", "created_at": "2026-01-02T03:04:05"}), ["/projects/1/created_at"]),
        (of({"name": "a", "created_at": "2026-02-30T03:04:05Z"}), ["/projects/1/created_at"]),
        (of({"name": "a", "created_at": "0001-01-01T00:00:00+01:00"}), ["/projects/1/created_at"]),
        (of({"name": "a", "created_at": "2026-01-02T03:04:05+24:00"}), ["/projects/1/created_at"]),
        (of({"name": "a", "x": 65536 * "y"}), ["/projects/1"]),
        (of({"name": "x"}), ["/projects/1/name"]),
        (of({"name": "y", "id": "x"}), ["/projects/1/id"]),
        (of(deployment=1), ["/deployments/0"]),
        (of(deployment={}), ["/deployments/0/id", "/deployments/0"]),
        (of(deployment={"id": "d"}), ["/deployments/0"]),
        (of(deployment={"id": "d", "status": "failed", "timeline": [LAST]}), ["/deployments/0"]),
        (of(deployment={"id": "d", "status": "Failed"}), ["/deployments/0/status"]),
        (of(deployment={"id": "d", "status": ""}), ["/deployments/0/status"]),
        (of(deployment={"id": "d", "status": 65 * "a"}), ["/deployments/0/status"]),
        (of(deployment={"id": "d", "status": None}), ["/deployments/0/status"]),
        (of(deployment={"id": "d", "status": "failed", "name": 1}), ["/deployments/0/name"]),
        (of(deployment={"id": "d", "status": "failed", "project_id": "y"}),
         ["/deployments/0/project_id"]),
        (of(deployment={"id": "d", "status": "failed", "project_id": 1}),
         ["/deployments/0/project_id"]),
        (of(deployment={"id": 1, "status": 1, "created_at": 1, "x": 1}),
         ["/deployments/0/x", "/deployments/0/id", "/deployments/0/created_at",
          "/deployments/0/status"]),
        (of(deployment={"id": "d", "timeline": []}), ["/deployments/0/timeline"]),
        (of(deployment={"id": "d", "timeline": {}}), ["/deployments/0/timeline"]),
        (of(deployment={"id": "d", "timeline": [1, LAST]}), ["/deployments/0/timeline/0"]),
        (of(deployment={"id": "d", "timeline": [STAGE]}), ["/deployments/0/timeline/0/seconds"]),
        (of(deployment={"id": "d", "timeline": [LAST, LAST]}),
         ["/deployments/0/timeline/0/seconds"]),
        (of(deployment={"id": "d", "timeline": [{**STAGE, "seconds": True}, LAST]}),
         ["/deployments/0/timeline/0/seconds"]),
        (of(deployment={"id": "d", "timeline": [{**STAGE, "seconds": -0.1}, LAST]}),
         ["/deployments/0/timeline/0/seconds"]),
        (of(deployment={"id": "d", "timeline": [{**STAGE, "seconds": "1"}, LAST]}),
         ["/deployments/0/timeline/0/seconds"]),
        (of(deployment={"id": "d", "timeline": [{**STAGE, "x": 1}, {"statu": "a"}]}),
         ["/deployments/0/timeline/0/x", "/deployments/0/timeline/1/statu",
          "/deployments/0/timeline/1/status"]),
        ({"deployments": [{"id": "d", **LAST}, {"id": "d", **LAST}, {"id": "d", **LAST}]},
         ["/deployments/1/id", "/deployments/2/id"]),
        ({"projects": [{"name": "a", "id": "p"}, {"name": "a", "id": "p"}]},
         ["/projects/1/id", "/projects/1/name"]),
    ],
)  # fmt: skip
def test_every_fault_is_told_with_its_place(document: Any, pointers: list[str]) -> None:
    with pytest.raises(SeedError) as raised:
        parse_seed(json.dumps(document))
    assert [fault.pointer for fault in raised.value.errors] == pointers


@pytest.mark.parametrize("number", ["0", "0.0", "1e3", "86400000", 400 * "9"])
def test_a_stage_may_last_any_number_of_seconds(number: str, clock: Clock) -> None:
    stages = f'[{{"status": "a", "seconds": {number}}}, {{"status": "b"}}]'
    seed = parse_seed(f'{{"deployments": [{{"id": "d", "timeline": {stages}}}]}}')
    client = client_of(create_app(clock=clock, seed=seed))
    assert client.get("/v1/deployments/d").status_code == 200


def test_a_seed_larger_than_the_store_is_refused() -> None:
    text = json.dumps({"projects": [{"name": str(number)} for number in range(3)]})
    assert len(parse_seed(text, max_projects=3).projects) == 3
    with pytest.raises(SeedError, match="/projects: must have at most 2"):
        parse_seed(text, max_projects=2)


def test_a_seed_that_is_too_large_is_told_its_other_faults_too() -> None:
    projects = [{"name": ""}, {"name": "b", "id": "p"}]
    deployments = [{"id": "d", "project_id": "p", "status": "failed"}, {"id": "e", "status": 1}]
    text = json.dumps({"projects": projects, "deployments": deployments})
    with pytest.raises(SeedError) as raised:
        parse_seed(text, max_projects=1)
    pointers = [error.pointer for error in raised.value.errors]
    assert pointers == ["/projects", "/projects/0/name", "/deployments/1/status"]


@pytest.mark.parametrize(
    "member", ["NaN", "1e999", '"\\ud800"', 5000 * "1", 33 * "[" + 33 * "]", '{"a": 1, "a": 2}']
)
def test_a_seed_is_read_as_strictly_as_a_body(member: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        parse_seed(f'{{"projects": [{{"name": "a", "x": {member}}}]}}')


def test_a_project_of_a_seed_may_be_as_deep_as_one_that_is_posted(clock: Clock) -> None:
    value = 31 * "[" + 31 * "]"
    seed = parse_seed(f'{{"projects": [{{"name": "a", "x": {value}}}]}}')
    assert value in client_of(create_app(seed=seed)).get("/v1/projects").text


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        (None, ["No such file or directory"]),
        (b"\xff", ["byte 1: not UTF-8"]),
        (b'{"projects":\n [}', ["line 2, column 3: Expecting value"]),
        (b'{"projects": [{}, 1]}', ["/projects/0/name: is required",
                                    "/projects/1: must be a JSON object"]),
        (b"[]", ["the document: must be a JSON object"]),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_the_file_the_place_and_the_reason(
    tmp_path: Path, content: bytes | None, reasons: list[str]
) -> None:
    path = tmp_path / "seed.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r".+") as raised:
        read_seed(path)
    assert str(raised.value).splitlines() == [f"{path}: {reason}" for reason in reasons]


def test_the_sample_is_a_seed_document_like_any_other() -> None:
    seed = read_seed(SAMPLE)
    assert len(seed.projects) == 3
    assert len(seed.deployments) == 5
