"""The responses are those of the profile: bodies, markers, choices, header fields, errors."""

from typing import Any
from urllib.parse import quote

import pytest

from stub.like.profile import lacking
from stub.seed import Seed
from tests.conftest import Clock, seed_of
from tests.contract import CREATED
from tests.stub.like.conftest import (
    NAME,
    SERVICES,
    STATUS,
    client_of,
    deployment_of,
    like,
    profile,
    request_of,
    state_of,
)


def test_a_session_has_the_bodies_of_the_service() -> None:
    clock = Clock()
    client = client_of(like(SERVICES["northflank"], clock))
    listed = client.get("/v1/projects")
    assert listed.headers["Content-Type"] == "application/json; charset=utf-8"
    assert listed.json["pagination"] == {"hasNextPage": False, "count": 3}
    assert [each["id"] for each in listed.json["data"]["projects"]] == [
        "website", "billing", "search",
    ]  # fmt: skip
    created = client.post("/v1/projects", json={"name": "Shop Nº 1", "region": "us-east"})
    assert (created.status_code, created.json["data"]) == (200, {
        "id": "shop-no-1", "name": "Shop Nº 1", "description": "", "color": "#EF233C",
        "region": "us-east", "lifecycleStatus": "created", "createdAt": "2026-11-21T10:00:00.000Z",
        "updatedAt": "2026-11-21T10:00:00.000Z",
    })  # fmt: skip
    path = f"/v1/deployments/{deployment_of(client, 'Shop Nº 1')}"
    seen = []
    for _ in range(4):
        data = client.get(path).json["data"]
        seen.append((data["status"], data["success"], data["concluded"]))
        clock.advance(2)
    assert seen == [
        ("QUEUED", False, False), ("CLONING", False, False), ("BUILDING", False, False),
        ("SUCCESS", True, True),
    ]  # fmt: skip
    client.put(path.replace("/v1/", "/_stub/"), json={"status": "FAILURE"})
    data = client.get(path).json["data"]
    assert (data["status"], data["success"], data["concluded"]) == ("FAILURE", False, True)


def test_errors_have_the_form_of_their_code_and_what_was_requested_keeps_its_status() -> None:
    app = like(SERVICES["vercel"])
    client = client_of(app)
    wrong = client_of(app, "x").get("/v1/projects")
    assert (wrong.status_code, wrong.json["error"]["code"]) == (403, "forbidden")
    missing = app.test_client().get("/v1/projects")
    assert (missing.status_code, missing.json["error"]["code"]) == (401, "token_missing")
    invalid = client.post("/v1/projects", json={"name": ""})
    assert (invalid.status_code, invalid.json["error"]["code"]) == (400, "bad_request")
    assert invalid.json["error"]["message"] == "/name must not be blank"
    for status, code in ((403, "forbidden"), (503, "store_unavailable"), (418, "injected_fault")):
        forced = client.get("/v1/projects", headers={"Prefer": f"code={status}"})
        assert ("WWW-Authenticate" in forced.headers) == (status == 403)
        client.post("/_stub/faults", json={"status": status})
        for response in (forced, client.get("/v1/projects")):
            assert (response.status_code, response.json["error"]["code"]) == (status, code)
    client.post("/_stub/faults", json={"status": 500, "body": "as it is"})
    assert client.get("/v1/projects").data == b"as it is"
    head = client.head("/v1/deployments/none")
    assert (head.status_code, head.data) == (404, b"")
    assert head.headers["Content-Type"] == "application/json; charset=utf-8"
    ours = client.get("/_stub/nothing")
    assert (ours.status_code, ours.json["code"]) == (404, "not_found")
    moved = {"body_too_large": {"status": 400, "body": "{error.status}"}}
    kept = client_of(like(profile(errors=moved)))
    forced = kept.get("/v1/projects", headers={"Prefer": "code=413"})
    assert (forced.status_code, forced.json) == (413, 413)


def test_the_title_and_the_number_of_an_error_are_those_of_its_status() -> None:
    body = {"error": "{error.title} ({error.status})", "status": "{error.status}"}
    errors = {"not_found": {"status": 410, "body": body}, "default": {"body": body}}
    client = client_of(like(profile(errors=errors)))
    gone = client.get("/v1/none")
    assert (gone.status_code, gone.json) == (410, {"error": "Gone (410)", "status": 410})
    assert client.get("/v1/deployments/x").json == {"error": "Not Found (404)", "status": 404}


# A body of the deployment, and what it is for one of a project that is done, and for a new one of
# no project.
BODIES: list[tuple[Any, Any, Any]] = [
    ("<{project.name}>", "<website>", "<>"),
    ("{project.created_at:s}", 1767603600, None),
    ("{project.created_at:ms}", 1767603600000, None),
    ("at {project.created_at:s}", "at 1767603600", "at "),
    ([1, "{project.name}", None], [1, "website", None], [1, None, None]),
    (["{{project.id}} {{id}}"], ["{project.id} {{id}}"], ["{project.id} {{id}}"]),
    ({"{{project.id}}": 1}, {"{project.id}": 1}, {"{project.id}": 1}),
    ({STATUS: {"new": None, "": {STATUS: {"": {"is": True}}}}}, {"is": True}, None),
    ('"\\ü{deployment.status}', '"\\üdone', '"\\ünew'),
]


@pytest.mark.parametrize(("body", "of_project", "of_none"), BODIES)
def test_a_marker_has_its_value_and_inside_a_text_its_text(
    body: Any, of_project: Any, of_none: Any
) -> None:
    statuses = {"run": ["new", "done"], "ended": "done"}
    client = client_of(like(profile(statuses=statuses, deployment={"body": body})))
    path = f"/v1/deployments/{deployment_of(client, 'website')}"
    assert client.get(path).json == of_project
    client.put("/_stub/deployments/alone", json={"status": "new"})
    assert client.get("/v1/deployments/alone").json == of_none


def test_a_list_tells_of_its_records_and_of_their_deployments() -> None:
    item = {"id": "{project.id}", "of": "{count}", "at": "{deployment.created_at}", "is": STATUS}
    form = {
        "order": "newest first",
        "headers": {"X-Total": "{count}", "X-First": "{first.id}"},
        "body": {"first": "{first.id}", "last": "{last.id}", "x": [{"y": [item]}]},
    }
    clock = Clock()
    like_it = profile(list=form)
    client = client_of(like(like_it, clock, pace=2))
    client.post("/v1/projects", json={"name": "shop"})
    for status in ("queued", "building", "succeeded", "succeeded"):
        listed = client.get("/v1/projects")
        projects = [each["y"][0] for each in listed.json["x"]]
        assert [each["of"] for each in projects] == [4] * 4
        assert (projects[0]["is"], projects[-1]["id"]) == (status, "prj_website")
        assert (listed.json["first"], listed.json["last"]) == (projects[0]["id"], "prj_website")
        assert (listed.headers["X-Total"], listed.headers["X-First"]) == ("4", projects[0]["id"])
        clock.advance(2)
    client.put("/_stub/deployments/dpl_succeeded", json={"status": "failed"})
    assert client.get("/v1/projects").json["x"][-1]["y"][0]["is"] == "failed"
    empty = client_of(like(like_it, seed=Seed()))
    assert empty.get("/v1/projects").json == {"first": None, "last": None, "x": []}


def test_a_header_field_of_a_deployment_knows_its_project() -> None:
    form = {"body": None, "headers": {"X-Of": "{project.name}"}}
    client = client_of(like(profile(deployment=form)))
    found = client.get(f"/v1/deployments/{deployment_of(client, 'website')}")
    assert (found.headers["X-Of"], found.json) == ("website", None)
    assert client.get("/_stub/console").json["statuses"][:2] == ["queued", "building"]


def test_ids_that_are_made_from_others_are_the_same_in_memory_and_redis(redis_stores: Any) -> None:
    ids = {"projects": {"slug": True}, "deployments": {"same": True}}
    service = profile(ids=ids)
    for store in ({}, {"stores": redis_stores}):
        client = client_of(like(service, **store), "dev-token.slugs")
        for name, made in (("My Shöp", "my-shop"), ("my-shop", "my-shop-2"), ("漢字", "unnamed")):
            created = client.post("/v1/projects", json={"name": name}).json
            assert (created["id"], created["latest_deployment_id"]) == (made, made)
    many = client_of(like(profile(ids=ids, create={"body": ["{project.id}"], "unique": False})))
    seen = {many.post("/v1/projects", json={"name": "x"}).json[0] for _ in range(30)}
    assert len(seen) == 30
    numbers = {"projects": {"integers": True}, "deployments": {"same": True}}
    state = state_of(client_of(like(profile(ids=numbers))))
    assert all(each["id"].isdigit() for each in state["deployments"])


def test_a_header_field_has_values_in_ascii() -> None:
    client = client_of(like(SERVICES["prisma"]))
    created = client.post("/v1/projects", json={"displayName": "Ünï/1\u2028", "projectId": "x"})
    at = created.headers["Location"]
    assert at == f"/v1/apps/{created.json['data']['id']}?name=%C3%9Cn%C3%AF/1%E2%80%A8"
    assert "Location" not in client.get("/v1/projects").headers


@pytest.mark.parametrize("name", SERVICES)
def test_the_sample_is_of_the_profile(name: str) -> None:
    service = SERVICES[name]
    client, again = (client_of(like(service)) for _ in range(2))
    assert client.get("/v1/projects").data == again.get("/v1/projects").data
    state = state_of(client)
    assert [each["name"] for each in state["projects"]] == ["website", "billing", "search"]
    run = service.run or ("queued", "building", "succeeded")
    assert {*run} <= {each["status"] for each in state["deployments"]}
    if service.run:  # each status once, but where there are more projects than statuses
        assert [each["status"] for each in state["deployments"]][-len(run) :] == [*run]
    for each in state["deployments"]:
        assert client.get(f"/v1/deployments/{each['id']}").status_code == 200


def test_it_holds_in_each_world_after_a_reset_and_over_redis(redis_stores: Any) -> None:
    clock = Clock()
    for name in ("vercel", "supabase", "northflank"):
        service = SERVICES[name]
        seen = []
        for store in ({}, {"stores": redis_stores}):
            app = like(service, clock, ids_seed=5, **store)
            for token in (f"dev-token.{name}", f"dev-token.{name}-2"):
                client = client_of(app, token)
                first = client.post("/v1/projects", json=request_of(service, "Shop"))
                listed = client.get("/v1/projects").data
                assert client.post("/_stub/reset", json=state_of(client)).status_code == 204
                assert client.get("/v1/projects").data == listed
                assert client.post("/_stub/reset").status_code == 204
                again = client.post("/v1/projects", json=request_of(service, "Shop"))
                assert again.data == first.data  # by the seed of the ids
                deployment_id = deployment_of(client, "Shop")
                clock.advance(2)
                found = client.get(f"/v1/deployments/{deployment_id}")
                assert service.run[1] in found.text
                clock.advance(-2)
                seen.append(first.data)
        assert seen[:2] == seen[2:]


def test_names_that_may_be_taken_twice_are_taken_in_memory_and_redis(redis_stores: Any) -> None:
    for store in ({}, {"stores": redis_stores}):
        client = client_of(like(SERVICES["supabase"], **store), "dev-token.twice")
        for _ in range(2):
            sent = request_of(SERVICES["supabase"], "twin")
            assert client.post("/v1/projects", json=sent).status_code == CREATED
        state = state_of(client)
        assert client.post("/_stub/reset", json=state).status_code == 204
        assert [each["name"] for each in state_of(client)["projects"]][-2:] == ["twin", "twin"]
    unique = client_of(like(SERVICES["kernel"]))
    assert unique.post("/v1/projects", json={"name": "website"}).status_code == 409


def test_seeds_states_and_puts_take_the_words_and_the_numbers_of_the_service() -> None:
    client = client_of(like(SERVICES["vercel"]))
    seed = {
        "projects": [{"id": 7, "name": "seven", "nodeVersion": "18.x", "alias": [1.50]}],
        "deployments": [{"id": "d", "project_id": 7, "status": "CANCELED"}],
    }
    assert client.post("/_stub/reset", json=seed).status_code == 204
    (project,) = client.get("/v1/projects").json["projects"]
    assert (project["id"], project["nodeVersion"]) == (7, "18.x")
    assert b'"alias": [1.5]' in client.get("/v1/projects").data
    assert client.get("/v1/deployments/d").json["projectId"] == 7
    change = {"state": "a deployment exists", "params": {"project_id": 7, "status": "ERROR"}}
    assert client.post("/_stub/pact", json=change).json["status"] == "ERROR"
    put = {"status": "BUILDING", "project_id": 7}
    assert client.put("/_stub/deployments/e", json=put).status_code == 201
    assert client.put("/_stub/deployments/e", json={"status": "own-word"}).status_code == 200
    rejected = client.put("/_stub/deployments/e", json={"status": "Ready"})
    assert rejected.json["errors"][0]["pointer"] == "/status"
    status = client.get("/_stub/openapi.json").json["components"]["schemas"]["Status"]
    assert {"enum": [*SERVICES["vercel"].words]} in status["anyOf"]


def test_an_id_of_digits_is_a_number_where_those_of_its_kind_are() -> None:
    body = {"id": "{deployment.id}", "of": "{project.id}", "is": STATUS}
    service = profile(ids={"deployments": {"integers": True}}, deployment={"body": body})
    client = client_of(like(service, seed=seed_of({"projects": [{"name": "x", "id": "7"}]})))
    deployment_id = deployment_of(client, "x")
    found = client.get(f"/v1/deployments/{deployment_id}").json
    assert (found["id"], found["of"]) == (int(deployment_id), "7")
    for alone in ("alone", "07", "٣"):
        client.put(f"/_stub/deployments/{quote(alone)}", json={"status": "failed"})
        assert client.get(f"/v1/deployments/{quote(alone)}").json["id"] == alone


def test_times_are_lacking_where_a_text_may_be_one() -> None:
    forms = {"list": {"body": [NAME]}, "create": {"body": {"id": 1}}}
    for body, is_lacking in (("{deployment.created_at}", True), (STATUS, False)):
        service = profile(**forms, deployment={"body": {"at": body}})
        assert ("times" in lacking(service)) == is_lacking
    assert "times" in lacking(profile(**forms))


def test_the_profile_and_what_it_lacks_are_shown() -> None:
    some = profile(times={"offset": "Z", "digits": 0.0, "case": "lower"})
    client = client_of(like(some))
    shown = client.get("/_stub/like").json
    assert (shown["profile"], "times" in shown["lacks"]) == (some.document, False)
    assert shown["lacks"] == ["statuses", "list", "create", "deployment", "errors", "ids"]
    assert client.get("/v1/projects").json["projects"][0]["created_at"] == "2026-01-05t09:00:00z"
    client.post("/v1/projects", json={"name": "shop", "tag": 1})
    newest = client.get("/v1/projects").json["projects"][-1]
    assert [*newest] == ["id", "created_at", "latest_deployment_id", "name", "tag"]
