"""The responses are those of the profile: bodies, markers, choices, header fields, errors."""

import json
import time
from typing import Any
from urllib.parse import quote

import pytest

from stub.seed import Seed
from tests.conftest import Clock, seed_of
from tests.contract import CREATED
from tests.profiles.conftest import (
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


def test_a_list_tells_of_its_records_and_of_their_deployments() -> None:
    item = {"id": "{project.id}", "of": "{count}", "at": "{deployment.created_at}", "is": STATUS}
    statuses = {"run": ["queued", "building", "succeeded"], "others": ["failed"]}
    form = {
        "order": "newest first",
        "headers": {"X-Total": "{count}", "X-First": "{first.id}"},
        "body": {"first": "{first.id}", "last": "{last.id}", "x": [{"y": [item]}]},
    }
    clock = Clock()
    like_it = profile(list=form, statuses=statuses)
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
    path = f"/_stub/deployments/{deployment_of(client, 'website')}"
    client.put(path, json={"status": "failed"})
    assert client.get("/v1/projects").json["x"][-1]["y"][0]["is"] == "failed"
    empty = client_of(like(like_it, seed=Seed()))
    assert empty.get("/v1/projects").json == {"first": None, "last": None, "x": []}


def test_a_header_field_of_a_deployment_knows_its_project() -> None:
    form = {"body": 1, "headers": {"X-Of": "{project.name}"}}
    client = client_of(like(profile(deployment=form)))
    found = client.get(f"/v1/deployments/{deployment_of(client, 'website')}")
    assert (found.headers["X-Of"], found.json) == ("website", 1)


@pytest.mark.slow
def test_the_first_response_of_a_large_body_is_made_in_time() -> None:
    client = client_of(like(profile(deployment={"body": [NAME, *[1] * 300_000]})))
    path = f"/v1/deployments/{deployment_of(client, 'website')}"
    started = time.process_time()
    found = client.get(path)
    spent = time.process_time() - started
    assert found.data.startswith(b'["website", 1, 1')
    assert spent < 5, spent  # a quadratic one takes 10 s


def test_a_response_may_have_no_body() -> None:
    accepted = {"status": 202, "body": None, "headers": {"Location": "{base}/{deployment.id}"}}
    errors = {"default": {"body": None}, "name_taken": {"body": "{error.code}"}}
    service = profile(create=accepted, deployment={"body": None}, errors=errors)
    client = client_of(like(service))
    created = client.post("/v1/projects", json={"name": "shop"})
    deployment_id = deployment_of(client, "shop")
    assert created.headers["Location"] == f"http://localhost/{deployment_id}"
    found = client.get(f"/v1/deployments/{deployment_id}")
    missing = client.get("/v1/deployments/none")
    for response, status in ((created, 202), (found, 200), (missing, 404)):
        assert (response.status_code, response.data) == (status, b"")
        assert "Content-Type" not in response.headers
    assert client.post("/v1/projects", json={"name": "shop"}).json == "name_taken"
    forced = client.get("/v1/projects", headers={"Prefer": "code=401"})
    assert (forced.status_code, forced.data) == (401, b"")


def test_the_base_is_the_address_that_the_client_has_called() -> None:
    body = {"data": [{"self": "{base}/{project.id}"}], "self": "{base}"}
    errors = {"default": {"body": "{base}", "headers": {"Link": "<{base}/help>"}}}
    client = client_of(like(profile(list={"body": body}, errors=errors)))
    secure = {"X-Forwarded-Proto": "https"}
    other = {"REMOTE_ADDR": "192.0.2.1"}
    for headers, environ, base in (
        ({}, {}, "http://localhost"),
        ({"Host": "stub.example:8443"}, {}, "http://stub.example:8443"),
        ({"Host": "stub.example:8443", **secure}, {}, "https://stub.example:8443"),
        ({"Host": "[::1]:80", **secure}, {"REMOTE_ADDR": "::1"}, "https://[::1]:80"),
        (secure, other, "http://localhost"),
        ({"X-Forwarded-Proto": "gopher"}, {}, "http://localhost"),
        ({"Host": 'a"b'}, {}, 'http://a"b'),
    ):
        sent: Any = {"headers": headers, "environ_overrides": environ}
        listed = client.get("/v1/projects", **sent).json  # which is cached
        assert listed["self"] == base
        assert listed["data"][0]["self"] == f"{base}/prj_website"
        missing = client.get("/v1/none", **sent)
        assert missing.json == base
        assert missing.headers["Link"] == f"<{base}/help>"


def test_a_named_error_is_as_the_default_where_it_says_nothing() -> None:
    default = {"body": {"is": "{error.code}"}, "content_type": "text/x", "headers": {"X": "1"}}
    errors = {
        "default": default,
        "not_found": {"status": 410},
        "deployment_not_found": {"body": 1, "headers": {"Y": "2"}},
    }
    client = client_of(like(profile(errors=errors, content_type="application/y")))
    gone = client.get("/v1/none")
    assert (gone.status_code, gone.headers["X"]) == (410, "1")
    assert json.loads(gone.data) == {"is": "not_found"}
    missing = client.get("/v1/deployments/none")
    assert (missing.status_code, missing.data, missing.headers["Y"]) == (404, b"1\n", "2")
    assert "X" not in missing.headers
    assert missing.headers["Content-Type"] == gone.headers["Content-Type"] == "text/x"


def test_the_content_type_is_that_at_the_top_where_a_response_names_none() -> None:
    service = profile(
        content_type="application/vnd.api+json",
        list={"body": [NAME]},
        create={"body": {}, "content_type": "text/x"},
        errors={"default": {"body": {}}},
    )
    client = client_of(like(service))
    own = client.get("/v1/deployments/dpl_queued")
    found = [client.get("/v1/projects"), client.post("/v1/projects", json={"name": "x"}), own]
    types = [each.headers["Content-Type"] for each in (*found, client.get("/v1/none"))]
    api = "application/vnd.api+json"
    assert types == [api, "text/x", "application/json", api]
    plain = client_of(like(profile(errors={"default": {"body": {}}})))
    assert plain.get("/v1/none").headers["Content-Type"] == "application/json"


def test_header_fields_that_outlive_a_response_are_dropped() -> None:
    fields = {"Set-Cookie": "a=b", "strict-transport-security": "max-age=1", "Content-Range": "x"}
    service = profile(list={"body": [NAME], "headers": fields})
    listed = client_of(like(service)).get("/v1/projects")
    assert listed.headers["Content-Range"] == "x"
    assert not {"Set-Cookie", "Strict-Transport-Security"} & {*listed.headers.keys()}
    assert [warning.partition(" ")[0] for warning in service.warnings] == [
        "/list/headers/Set-Cookie", "/list/headers/strict-transport-security",
    ]  # fmt: skip


def test_a_deployment_has_no_status_but_those_of_the_profile() -> None:
    """They may be those of the first choice, in its order; the last one stays."""
    choice = {STATUS: {"NEW": 1, "UP": 2}}
    service = profile(create={"body": {STATUS: {"UP": 1, "": 2}}}, deployment={"body": [choice]})
    clock = Clock()
    client = client_of(like(service, clock))
    client.post("/v1/projects", json={"name": "shop"})
    path = f"/v1/deployments/{deployment_of(client, 'shop')}"
    seen = [client.get(path).json]
    clock.advance(1000)
    assert [*seen, client.get(path).json] == [[1], [2]]
    control = path.replace("/v1/", "/_stub/")
    for word in ("succeeded", "queued", "up"):
        assert client.put(control, json={"status": word}).status_code == 422
        seed = {"deployments": [{"id": "d", "status": word}]}
        assert client.post("/_stub/reset", json=seed).status_code == 422
        state = {"state": "a deployment exists", "params": {"status": word}}
        assert client.post("/_stub/pact", json=state).status_code == 422
    assert client.put(control, json={"status": "NEW"}).status_code == 200
    assert client.get(path).json == [1]


def test_ids_that_are_made_from_others_are_the_same_in_memory_and_redis(redis_stores: Any) -> None:
    ids = {"projects": "{project.name}", "deployments": "{project.id}"}
    service = profile(ids=ids)
    for store in ({}, {"stores": redis_stores}):
        client = client_of(like(service, **store), "dev-token.slugs")
        for name, made in (("My Shöp", "my-shop"), ("my-shop", "my-shop-2"), ("漢字", "unnamed")):
            created = client.post("/v1/projects", json={"name": name}).json
            assert (created["id"], created["latest_deployment_id"]) == (made, made)
    many = client_of(like(profile(ids=ids, create={"body": ["{project.id}"], "unique": False})))
    seen = {many.post("/v1/projects", json={"name": "x"}).json[0] for _ in range(30)}
    assert len(seen) == 30
    state = state_of(client_of(like(profile(ids={**ids, "projects": 7}))))
    assert all(each["id"].isdigit() for each in state["deployments"])


def test_ids_have_text_around_their_marker() -> None:
    ids = {"projects": "svc-{project.name}.x", "deployments": "{project.name}-{base"}
    client = client_of(like(profile(ids=ids, create={"body": ["{project.id}", "{deployment.id}"],
                                                     "unique": False})))  # fmt: skip
    for number in ("", "-2"):
        created = client.post("/v1/projects", json={"name": "My Shop"}).json
        assert created == [f"svc-my-shop{number}.x", f"my-shop{number}-{{base"]
    deployments = [each["id"] for each in state_of(client)["deployments"]]
    assert deployments[-3].startswith("search")
    many = client_of(like(profile(ids={"projects": "{project.name}", "deployments": "d-1"})))
    for number in range(30):  # more than there are ids of this form
        assert many.post("/v1/projects", json={"name": f"x{number}"}).status_code == CREATED


def test_a_header_field_has_values_in_ascii() -> None:
    client = client_of(like(SERVICES["prisma"]))
    created = client.post("/v1/projects", json={"displayName": "Ünï/1\u2028", "projectId": "x"})
    at = created.headers["Location"]
    own_id = created.json["data"]["id"]
    assert at == f"http://localhost/v1/apps/{own_id}?name=%C3%9Cn%C3%AF%2F1%E2%80%A8"
    assert "Location" not in client.get("/v1/projects").headers


def test_a_name_stays_one_part_of_a_url() -> None:
    headers = {"Location": "{base}/p/{project.name}/d?x=1", "X": "{project.name}"}
    client = client_of(like(profile(create={"body": 1, "headers": headers})))
    for name, encoded in (("a#b?c/d", "a%23b%3Fc%2Fd"), ("50% off", "50%25%20off")):
        created = client.post("/v1/projects", json={"name": name})
        assert created.headers["Location"] == f"http://localhost/p/{encoded}/d?x=1"
        assert created.headers["X"] == name


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
        "projects": [{"id": 7, "name": "seven", "nodeVersion": "18.x"}],
        "deployments": [{"id": "d", "project_id": 7, "status": "CANCELED"}],
    }
    assert client.post("/_stub/reset", json=seed).status_code == 204
    (project,) = client.get("/v1/projects").json["projects"]
    assert (project["id"], project["nodeVersion"]) == (7, "22.x")
    assert client.get("/v1/deployments/d").json["projectId"] == 7
    change = {"state": "a deployment exists", "params": {"project_id": 7, "status": "ERROR"}}
    assert client.post("/_stub/pact", json=change).json["status"] == "ERROR"
    put = {"status": "BUILDING", "project_id": 7}
    assert client.put("/_stub/deployments/e", json=put).status_code == 201
    rejected = client.put("/_stub/deployments/e", json={"status": "Ready"})
    assert rejected.json["errors"][0]["pointer"] == "/status"
    status = client.get("/_stub/openapi.json").json["components"]["schemas"]["Status"]
    assert status["enum"] == [*SERVICES["vercel"].words]


def test_an_id_of_digits_is_a_number_where_those_of_its_kind_are() -> None:
    body = {"id": "{deployment.id}", "of": "{project.id}"}
    service = profile(ids={"deployments": 7040}, deployment={"body": body})
    client = client_of(like(service, seed=seed_of({"projects": [{"name": "x", "id": "7"}]})))
    deployment_id = deployment_of(client, "x")
    found = client.get(f"/v1/deployments/{deployment_id}").json
    assert (found["id"], found["of"]) == (int(deployment_id), "7")
    for alone in ("alone", "07", "٣"):
        client.put(f"/_stub/deployments/{quote(alone)}", json={"status": "failed"})
        assert client.get(f"/v1/deployments/{quote(alone)}").json["id"] == alone


def test_the_profile_and_what_it_lacks_are_shown() -> None:
    some = profile(ids={"projects": "p1"})
    client = client_of(like(some))
    shown = client.get("/_stub/like").json
    assert shown["profile"] == some.document
    assert shown["lacks"] == ["statuses", "list", "create", "deployment", "errors"]
    client.post("/v1/projects", json={"name": "shop", "tag": 1.50})
    newest = client.get("/v1/projects").json["projects"][-1]
    assert [*newest] == ["id", "created_at", "latest_deployment_id", "name", "tag"]
    choice = profile(deployment={"body": {STATUS: {"A": 1}}})
    assert "statuses" not in client_of(like(choice)).get("/_stub/like").json["lacks"]
