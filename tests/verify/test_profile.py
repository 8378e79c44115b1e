"""What a log shows becomes a profile, with which the stub responds as the service does."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from itertools import count
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from profiles.ids import opaque_form
from profiles.markers import CHOICE
from profiles.profile import Profile, make_profile
from tests.services import DOCUMENTS
from tests.verify.apis import (
    BASE,
    NAME,
    START,
    TOKEN,
    Api,
    Project,
    inferred,
    observed,
    plain_deployment,
    plain_project,
    profile,
    sent,
)
from tests.verify.replay import differences
from verify.exchange import Exchange, Log
from verify.infer import profile_of
from verify.inputs import Inputs
from verify.main import judge
from verify.options import Options
from verify.ours import expected_log
from verify.spellings import Secrets
from verify.way import Hints

# Services as unlike as real ones are.


def relations(project: Project) -> Any:
    """A record of JSON:API."""
    return {
        "type": "projects", "id": str(project.number), "attributes": {"title": project.name},
        "links": {"self": f"{BASE}/v1/projects/{project.number}"},
        "relationships": {"build": {"data": {"type": "builds", "id": project.deployment_id}}},
    }  # fmt: skip


def operation(project: Project) -> Any:
    """A deployment without a status but whether it is done."""
    result = {"url": f"https://{project.name}.acme.example"} if project.status else None
    return {"name": f"operations/{project.deployment_id}", "done": project.status, "result": result}


def staged(project: Project) -> Any:
    """A deployment whose latest stage has the name that tells most."""
    status = "success" if project.status == "deploy" else "active"
    stage = {"name": project.status, "status": status, "ended_on": None}
    return {"result": {"id": project.deployment_id, "latest_stage": stage}, "success": True}


def numbered(project: Project) -> Any:
    """A deployment whose id and status are numbers."""
    return {
        "id": 8050 + project.number, "siteId": 7040 + project.number, "state": project.status,
        "percent": 50 * project.status, "at": 1795639088000 + project.number,
    }  # fmt: skip


def linked(project: Project) -> Any:
    """A record of HAL, with two names for the project."""
    href = f"{BASE}/v1/projects/{project.name}"
    return {
        "slug": project.name, "displayName": project.name, "_links": {"self": {"href": href}},
        "latestRun": {"ref": project.deployment_id, "phase": project.status},
    }  # fmt: skip


def failing(status: int, code: str) -> Any:
    return {"errors": [{"status": str(status), "code": code, "detail": f"It is {code}."}]}


APIS = {
    "relations": Api(
        item=relations,
        listed=lambda items: {"data": items, "meta": {"total": len(items)},
                              "links": {"next": None}},
        created=lambda project: (201, {"Location": f"{BASE}/v1/projects/4"}, {
            "data": relations(project), "links": {"self": f"{BASE}/v1/projects/4"}}),
        deployment=lambda project: {"data": {
            "type": "builds", "id": project.deployment_id,
            "attributes": {"state": project.status, "log": [f"{project.status} it"]}}},
        request={"data": {"type": "projects", "attributes": {"title": NAME}}},
        error=failing, media_type="application/vnd.api+json",
    ),
    "operations": Api(
        item=lambda project: {"name": f"projects/{project.id}", "displayName": project.name},
        listed=lambda items: {"items": items, "nextPageToken": ""},
        created=lambda project: (
            202, {"Operation-Location": f"{BASE}/v1/deployments/{project.deployment_id}"}, None),
        deployment=operation, run=(False, True), request={"displayName": NAME, "again": NAME},
    ),
    "texts": Api(deployment=lambda project: project.status),
    "stages": Api(
        listed=lambda items: {"result": items, "success": True, "errors": [],
                              "result_info": {"page": 1, "count": len(items), "total_pages": 1}},
        created=lambda project: (200, {}, {"result": {"id": project.id, "name": project.name},
                                           "success": True, "action_id": project.deployment_id}),
        deployment=staged, run=("queued", "build", "deploy"),
    ),
    "numbers": Api(
        item=lambda project: {"id": 7040 + project.number, "name": project.name,
                              "created": 1795639088 + project.number},
        listed=lambda items: items, newest_first=True,
        created=lambda project: (201, {}, {"site": {"id": 7040 + project.number},
                                           "taskUid": str(8050 + project.number)}),
        deployment=numbered, run=(0, 1, 2), path_of=lambda project: 8050 + project.number,
    ),
    "links": Api(
        item=linked, listed=lambda items: {"_embedded": {"projects": items}, "total": len(items)},
        deployment=lambda project: {"ref": project.deployment_id, "phase": project.status,
                                    "url": None if project.status == "Pending" else BASE},
        run=("Pending", "Ready"), request={"slug": NAME},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APIS)
def test_the_stub_responds_as_the_service_did(name: str) -> None:
    log = APIS[name].log()
    found = inferred(log)
    assert differences(found.document, log, observed(log).way) == []
    text = json.dumps(found.document)
    for value in ("acme.example/v1", "stub-verify", "sample-", TOKEN):
        assert value not in text


# What others own


# What the records of others have, and the created one has not.
PRIVATE = {
    "owner": "private-owner", "notes": ["private-note"], "size": 918273645,
    "nested": {"deep": {"text": "private-deep"}}, "url": "https://private.example/x",
    "who": ["alice", "bob"],
}  # fmt: skip


def privately(items: list[Any]) -> Any:
    """A list whose envelope has values of the projects in it."""
    second = items[1]
    return {
        "projects": [{**each, **PRIVATE} if each["name"] != NAME else each for each in items],
        "first": items[0]["id"], "last": {"href": f"/v1/projects?after={items[-1]['id']}"},
        "second": second["id"], "hint": "ask private-owner", "total": len(items), "limit": 50,
        "by_name": {second["name"]: 1}, "owners": {"alice": 1, "bob": 2},
        "cursor": base64.b64encode(second["id"].encode()).decode(),
    }  # fmt: skip


def test_no_value_of_another_record_is_in_a_profile() -> None:
    def rejecting(status: int, code: str) -> Any:
        return {"code": "private-owner", "owner": "private-owner", "status": status}

    api = Api(listed=privately, error=rejecting, headers={"X-Owner": "private-owner"})
    document = profile(api)
    codes = [each["body"].pop("code") for each in document["errors"].values()]
    assert set(codes) == {"private-owner"}  # which programs read
    text = json.dumps(document)
    for value in ("private", "918273645", "sample-", "alice", "prj_7041", "prj_7042"):
        assert value not in text
    body = document["list"]["body"]
    (record,) = body.pop("projects")
    assert (record, "id" in document["record"]) == ("{record}", True)
    assert body == {
        "first": "{first.id}", "last": {"href": "/v1/projects?after={last.id}"}, "second": "text",
        "hint": "text", "total": "{count}", "limit": 50, "by_name": {}, "owners": {},
        "cursor": None,
    }  # fmt: skip


@pytest.mark.parametrize(("more", "place"), [(0, 0), (1000, 500)])
def test_of_a_list_that_a_creation_responds_with_the_created_project_stays(
    more: int, place: int
) -> None:
    others = [Project(number, f"sample-{number}") for number in (1, 2, 3, *range(10, 10 + more))]

    def created(project: Project) -> Any:
        items = [plain_project(each) for each in others]
        items.insert(place, plain_project(project))
        return 201, {}, {"projects": items, "first": items[-1]["id"], "total": len(items)}

    log = Api(created=created).log()
    assert {each.deployment_id for each in observed(log).way.followed} == {"dpl_8054"}
    document = inferred(log).document
    body = document["create"]["body"]
    assert (body["projects"], body["total"]) == (["{record}"], 4 + more)
    text = json.dumps(document)
    for value in ("sample-", "prj_7041", "prj_7043"):
        assert value not in text
    without_lists = Log(BASE, tuple(each for each in log.exchanges if not each.is_list))
    assert "sample-" not in json.dumps(inferred(without_lists).document)


def test_a_list_is_found_however_long_and_left_out_without_the_created_project() -> None:
    others = [plain_project(Project(3, f"sample-{number}")) for number in range(150)]
    long = Api(listed=lambda items: {"projects": [*others, *items, *others], "total": len(items)})
    assert profile(long)["list"]["body"]["projects"] == ["{record}"]
    found = inferred(Api(listed=lambda items: {"projects": items[:3]}).log())
    assert "list" not in found.document
    assert "/list is left out: no list has the created project" in found.notes


def test_a_map_of_projects_is_no_list_and_is_told() -> None:
    """Also as the response to a creation."""

    def mapped(items: list[Any]) -> Any:
        return {"projects": {each["id"]: each for each in items}, "more": {}}

    def created(project: Project) -> Any:
        return 201, {}, mapped([plain_project(each) for each in (Project(1, "sample-1"), project)])

    log = Api(listed=mapped, created=created).log()
    found = inferred(log)
    assert found.document.keys() & {"list", "create"} == set()
    assert "/list is left out: it has no array of projects" in found.notes
    assert "/create is left out: it has other projects, or a map of them" in found.notes
    assert "prj_7041" not in json.dumps(found.document)
    alone = Api(listed=mapped, created=lambda each: (201, {}, mapped([plain_project(each)])))
    document = profile(alone)
    assert document["deployment"]["body"]["project_id"] == "{project.id}"
    assert "prj_7044" not in json.dumps(document)
    assert "create" in profile(Api(listed=mapped))


@pytest.mark.parametrize("key", ["", "siblings", "previous"])
def test_a_creation_that_shows_projects_of_others_is_left_out_and_told(key: str) -> None:
    first = plain_project(Project(1, "sample-1"))

    def created(project: Project) -> Any:
        record = {**plain_project(project), "siblings": [first], "previous": first}
        return 201, {}, {**plain_project(project), key: record[key]} if key else [first]

    found = inferred(Api(item=lambda each: {**plain_project(each), "latest_deployment_id": None},
                         created=created).log())  # fmt: skip
    assert "create" not in found.document
    assert "/create is left out: it has other projects, or a map of them" in found.notes
    assert "sample-1" not in json.dumps(found.document)


def test_what_names_a_stranger_stays_nowhere_though_the_created_deployment_has_it() -> None:
    mail = "owner@payroll.example"

    def item(project: Project) -> Any:
        owner = "me@acme.example" if project.name == NAME else mail
        return {**plain_project(project), "owner": owner, "branch": "main"}

    previous = {"id": "dpl_8051", "of": "prj_7041", "owner": mail, "branch": "main"}
    api = Api(item=item, headers={"X-Owner": mail},
              deployment=lambda each: {**plain_deployment(each), "previous": previous})  # fmt: skip
    document = profile(api)
    found = document["deployment"]["body"]["previous"]
    assert found == {"id": "text", "of": "text", "owner": "text", "branch": "main"}
    assert document["record"]["owner"] == "me@acme.example"
    assert mail not in json.dumps(document)


def test_a_word_that_others_have_too_does_no_harm() -> None:
    words = {"state": "created", "kind": "project", "app": "application", "by": "created_at"}
    api = Api(listed=lambda items: {"projects": [{**items[0], **words}, *items[1:]]})
    document = profile(api)
    assert document["content_type"] == "application/json"
    assert document["record"]["created_at"] == "{project.created_at:2026-01-05T09:00:00Z}"


def test_without_a_project_of_its_own_there_is_no_profile() -> None:
    log = Api().log()
    reads = [each for each in log.exchanges if not each.is_creation]
    only_reads = Log(BASE, tuple(reads))
    assert profile_of(observed(only_reads), only_reads, Secrets()) is None


def test_the_deployment_of_another_project_is_left_out_and_told() -> None:
    api = Api(
        item=lambda each: {"id": each.id, "name": each.name},
        deployment=lambda _: {"id": "dpl_1", "status": "private", "created_at": "2020-01-01"},
        error=lambda status, code: {"status": status, "text": "private"},
        path_of=lambda _: "dpl_1",
    )
    found = inferred(api.log())
    assert "deployment" not in found.document
    assert "/deployment is left out: none of the created project was read" in found.notes
    assert "private" not in json.dumps(found.document)


def test_an_id_that_is_a_number_in_one_body_and_a_text_in_another_is_a_marker_in_both() -> None:
    api = Api(
        item=lambda each: {**plain_project(each), "latest_deployment_id": 8050 + each.number},
        deployment=lambda each: {**plain_deployment(each), "id": str(8050 + each.number)},
        path_of=lambda each: 8050 + each.number,
    )
    document = profile(api)
    assert document["record"]["latest_deployment_id"] == "{deployment.id}"
    assert document["deployment"]["body"]["id"] == "{deployment.id:text}"
    assert document["ids"]["deployments"] == 7040


# Secrets


def test_no_secret_is_in_a_profile_and_each_one_is_told() -> None:
    """The token, and what has the name of a secret, wherever a response has room for it."""
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.s3cr3t-j"
    secrets = {
        "token": "s3cr3t-1", "apiKey": {"value": "s3cr3t-2"}, "passwords": ["s3cr3t-3"],
        "sent": f"Bearer {TOKEN}", "link": f"https://a.example/?t={quote(TOKEN, safe='')}",
        "database": "postgres://user:s3cr3t-4@db.example/x", "any": jwt, "key": "s3cr3t-8",
        "signed": "https://a.example/x?X-Amz-Signature=s3cr3t-5", "pin_password": 5318008,
        "connection": "Server=db;User Id=sa;Pwd=s3cr3t-6;", "connection_string": "s3cr3t-7",
    }  # fmt: skip
    headers = {"X-Sent": TOKEN, "X-Api-Key": "s3cr3t-9", "X-Plan": "free"}
    api = Api(
        item=lambda project: {**plain_project(project), **secrets},
        deployment=lambda project: {**plain_deployment(project), "env": secrets},
        request={"name": NAME, "db_pass": "s3cr3t-0"}, headers=headers,
    )  # fmt: skip
    found = inferred(api.log())
    text = json.dumps(found.document)
    for secret in ("s3cr3t", "5318008", TOKEN, quote(TOKEN, safe="")):
        assert secret not in text
    assert found.document["create"]["request"] == {"name": "{project.name}", "db_pass": "text"}
    assert found.document["create"]["headers"] == {"X-Plan": "free"}
    assert found.document["deployment"]["body"]["env"]["apiKey"] == {"value": "text"}
    why = "left out, as it may be a secret, or another's"
    for name in ("database", "key", "connection", "connection_string", "signed", "apiKey/value"):
        assert f"/deployment/body/env/{name}: {why}" in found.notes


# Members of a record, and what a profile has of them.
MEMBERS: list[tuple[str, Any, Any]] = [
    # Of a variable the value is a secret if its name is one.
    ("env", [{"key": "PORT", "value": "80"}], [{"key": "PORT", "value": "80"}]),
    ("env", [{"name": "A_TOKEN", "value": "s3cr3t"}], [{"name": "A_TOKEN", "value": "text"}]),
    # Of a secret the type stays, and a marker.
    ("secret", {"type": "secret_text", "value": "x"}, {"type": "secret_text", "value": "text"}),
    ("key", lambda project: project.id, "{project.id}"),
    ("primaryKey", "id", "id"),
    ("build_hook", "https://a.example/hooks/s3cr3t", "text"),
    ("hooks", [{"on": "push"}], [{"on": "push"}]),
    # Names of members that are data.
    ("routes", lambda project: {f"{project.id}.a.example": 1, project.time: 2, "all": 3},
     {"all": 3}),
]  # fmt: skip


def test_a_member_stays_or_has_its_type_or_a_marker() -> None:
    for name, value, expected in MEMBERS:
        record = profile(Api(item=with_member(name, value)))["record"]
        assert record[name] == expected


def with_member(name: str, value: Any) -> Callable[[Project], Any]:
    """A project with this member, or with what the function makes for each."""
    return lambda project: {
        **plain_project(project), name: value(project) if callable(value) else value,
    }  # fmt: skip


# The service's own address


def test_the_address_of_the_service_is_never_in_a_profile() -> None:
    def with_links(project: Project) -> Any:
        links = {
            "self": f"{BASE}/v1/projects/{project.id}", "plain": BASE.replace("https", "http"),
            "logs": f"wss://api.acme.example:443/{project.id}", "host": "api.acme.example",
            "login": f"https://sso.example/?to={quote(BASE, safe='')}", "docs": "https://acme.example",
        }  # fmt: skip
        return {**plain_project(project), "links": links}

    def rejecting(status: int, code: str) -> Any:
        return {"type": f"{BASE}/problems/{code}", "status": status}

    location = {"Location": f"{BASE}/v1/projects/prj_7044", "Link": f"<{BASE}/v1>; rel=up"}
    api = Api(item=with_links, error=rejecting,
              created=lambda project: (201, location, with_links(project)))  # fmt: skip
    document = profile(api)
    assert "api.acme" not in json.dumps(document)
    assert document["record"]["links"] == {
        "self": "{base}/v1/projects/{project.id}", "plain": "{base}", "host": "text",
        "logs": "{base}/{project.id}", "login": "text", "docs": "https://acme.example",
    }  # fmt: skip
    assert document["create"]["headers"] == {
        "Location": "{base}/v1/projects/{project.id}", "Link": "<{base}/v1>; rel=up",
    }  # fmt: skip
    assert document["errors"]["not_found"]["body"]["type"] == "{base}/problems/no_path"


# Pages, and header fields


def test_a_list_says_one_page() -> None:
    def paged(items: list[Any]) -> Any:
        return {
            "projects": items, "next": f"{BASE}/v1/projects?page=2", "next_cursor": "bmV4dA==",
            "hasMore": True, "page": 1, "total": 250, "total_pages": 13, "limit": 20,
            "total_ms": 7, "per_page": 20, "pageSize": 20, "isLast": False,
            "paging": {"next": {"after": "x"}, "prev": None}, "has_next_page": True,
        }  # fmt: skip

    link = f"<{BASE}/v1/projects?page=2>; rel=next"
    api = Api(listed=paged, headers={"Link": link, "X-Next-Page": "2", "X-Page": "1"})
    found = inferred(api.log())
    body = found.document["list"]["body"]
    del body["projects"]
    assert body == {
        "next": None, "next_cursor": None, "hasMore": False, "page": 1, "total": "{count}",
        "total_pages": 1, "limit": 20, "total_ms": 7, "has_next_page": False,
        "per_page": 20, "pageSize": 20, "isLast": True,
        "paging": {"next": {"after": None}, "prev": None},
    }  # fmt: skip
    assert found.document["list"]["headers"] == {"X-Page": "1"}
    assert "/list/headers/Link: left out, as it names another page" in found.notes
    assert "/list/body/next_cursor: as on the only page, not 'bmV4dA=='" in found.notes


DATE = "Wed, 25 Nov 2026 20:38:08 GMT"
COMPUTED = {
    "ETag": '"1"', "Last-Modified": "Wed, 25 Nov 2026 20:38:08 GMT", "Age": "3", "Expires": "0",
    "Digest": "sha-256=x", "Content-MD5": "x", "X-Request-Id": "r-1", "RateLimit-Limit": "9",
    "X-RateLimit-Remaining": "9", "Traceparent": "00-1", "CF-Ray": "1", "Retry-After": "1",
    "Date": DATE, "Server": "nginx", "Allow": "GET",
}  # fmt: skip


def test_header_fields_that_are_computed_are_in_no_profile() -> None:
    api = Api(headers={**COMPUTED, "Cache-Control": "no-store", "Vary": "Accept"})
    document = profile(api)
    parts = [document["list"], document["create"], document["deployment"]]
    for part in (*parts, *document["errors"].values()):
        assert part.get("headers", {}).keys() <= {"Cache-Control", "Vary"}


def test_a_header_field_that_varies_in_one_kind_of_response_is_in_none() -> None:
    numbers = count()
    log = Api(headers={"X-Index": "1"}).log()
    for exchange in log.exchanges:
        exchange.headers.replace_header("X-Index", str(next(numbers)))
    found = inferred(log)
    assert "X-Index" not in json.dumps(found.document)
    assert "/create/headers/X-Index: left out, as it varies" in found.notes


# Statuses


# The statuses of a run, and those of the profile: none is too long, a secret or a name of ours.
RUNS = [
    (("queued", "x" * 65, "done"), ["queued", "done"]),
    ((f"Bearer {TOKEN}", NAME, "done"), ["done"]),
]


def test_no_status_is_too_long_or_a_secret_or_a_name_of_ours() -> None:
    for run, expected in RUNS:
        document = profile(Api(run=run))
        assert document["statuses"] == {"run": expected}
        assert document["deployment"]["body"]["status"] == CHOICE
        assert not [word for word in {*run} - {*expected} if word in json.dumps(document)]


def test_no_name_of_ours_stands_around_the_list() -> None:
    """A small number may be the id of a project by chance."""
    api = Api(
        item=lambda each: {"id": each.number, "name": each.name},
        listed=lambda items: {"projects": items, "of": NAME, "limit": 4},
    )
    body = profile(api)["list"]["body"]
    assert (body["of"], body["limit"]) == ("text", 4)


def test_a_list_that_was_read_between_belongs_to_the_status_that_it_shows() -> None:
    """Or to the one that was read after it, if it is not as all others of the one before."""

    def item(project: Project) -> Any:
        return {**plain_project(project), "url": "u" if project.status == "done" else None}

    log = Api(item=item, run=("queued", "building", "done")).log()
    exchanges = [*log.exchanges]
    *_, late, done, _ = [number for number, each in enumerate(exchanges) if each.purpose == "list"]
    exchanges[late] = replace(exchanges[late], content=exchanges[done].content)
    document = inferred(Log(BASE, tuple(exchanges))).document
    assert document["list"]["body"]["projects"][0]["url"] == {CHOICE: {"done": "u", "": None}}


def test_a_status_between_two_reads_is_the_one_that_the_listed_project_shows() -> None:
    def item(project: Project) -> Any:
        return {**plain_project(project), "latest": {"status": project.status}}

    log = Api(item=item, run=("queued", "building", "done")).log()
    exchanges = [*log.exchanges]
    *_, late, _, _ = [number for number, each in enumerate(exchanges) if each.purpose == "list"]
    shown = exchanges[late].content.replace(b'"building"', b'"uploading"')
    assert shown != exchanges[late].content
    exchanges[late] = replace(exchanges[late], content=shown)
    document = inferred(Log(BASE, tuple(exchanges))).document
    assert document["list"]["body"]["projects"] == ["{record}"]
    assert document["record"]["latest"] == {"status": CHOICE}


def test_with_a_status_that_no_list_has_shown_a_project_is_as_with_the_one_before() -> None:
    def item(project: Project) -> Any:
        more = {} if project.status == "done" else {"pending": project.deployment_id}
        return {"id": project.id, "name": project.name, **more}

    log = Api(item=item, run=("queued", "building", "done")).log()
    lists = [each for each in log.exchanges if each.purpose == "list"]
    others = tuple(each for each in log.exchanges if each is not lists[3])
    document = inferred(Log(BASE, others)).document
    pending = document["list"]["body"]["projects"][0]["pending"]
    assert pending == {CHOICE: {"queued": "{deployment.id}", "building": "{deployment.id}"}}


def test_a_status_that_only_the_project_has_shown_is_one() -> None:
    def item(project: Project) -> Any:
        return {**plain_project(project), "latest": {"status": project.status}}

    def created(project: Project) -> Any:
        return 201, {}, item(replace(project, status="queued"))

    api = Api(item=item, run=("building", "done"), created=created)
    document = profile(api)
    assert document["statuses"] == {"run": ["queued", "building", "done"]}
    assert document["create"]["body"] == "{record}"
    assert document["record"]["latest"] == {"status": CHOICE}


@pytest.mark.parametrize("run", [("running", "canceled"), ("canceled",)])
def test_a_given_deployment_is_the_one_of_the_profile(run: tuple[str, ...]) -> None:
    """Its values may be shown; the id of its project is that of another one."""
    log = Api().log()
    exchanges = [each for each in log.exchanges if each.purpose != "deployment"]
    for word in (*run, run[-1]):
        project = Project(2, "sample-2", word)
        body = {**plain_deployment(project), "region": "fra"}
        target = f"/v1/deployments/{project.deployment_id}"
        read = Exchange("GET", target, sent_at=START.timestamp() + 30, purpose="deployment")
        exchanges.append(sent(read, 200, {"Content-Type": "application/json"}, body))
    log = Log(BASE, tuple(exchanges))
    document = inferred(log, Hints(deployment="dpl_8052")).document
    assert document["statuses"] == {"run": [*run]}
    assert document["deployment"]["body"] == {
        "id": "{deployment.id}", "project_id": "{project.id}", "status": CHOICE, "region": "fra",
        "created_at": "{deployment.created_at:2026-01-05T09:00:00Z}",
    }  # fmt: skip


# Errors


def test_codes_stay_in_an_error_and_prose_does_not() -> None:
    def rejecting(status: int, code: str) -> Any:
        return {
            "error": {"code": f"E{status}", "type": "NotFoundError", "reason": "NoRoute"},
            "message": f"There is no {code}.", "title": HTTPStatus(status).phrase,
            "resource": "projects", "status": str(status), "docs": "https://acme.example/errors",
            "description": "Unauthorized access", "number": 2000 + len(code),
            "path": "/v1/stub-verify-2", "retry": False,
        }  # fmt: skip

    errors = profile(Api(error=rejecting))["errors"]
    assert errors["token_missing"]["body"] == {
        "error": {"code": "E401", "type": "NotFoundError", "reason": "NoRoute"},
        "message": "{error.detail}", "title": "{error.title}", "resource": "projects",
        "status": "401", "docs": "https://acme.example/errors", "retry": False,
        "description": "{error.detail}", "path": "{error.detail}", "number": 2008,
    }  # fmt: skip
    default = errors["default"]["body"]
    assert default["error"] == {
        "code": "{error.code}",
        "type": "NotFoundError",
        "reason": "NoRoute",
    }
    assert (default["status"], default["title"]) == ("{error.status:text}", "{error.title}")
    assert default["number"] == "{error.status}"


def test_the_error_of_a_wrong_token_is_that_of_a_missing_one_if_it_was_not_seen() -> None:
    log = Api().log()
    seen = [each for each in log.exchanges if not each.purpose.endswith("with a wrong token")]
    errors = inferred(Log(BASE, tuple(seen))).document["errors"]
    assert errors["token_invalid"] == errors["token_missing"]


def test_an_error_that_is_no_error_of_its_kind_is_not_in_a_profile() -> None:
    """As an unknown path that is 200; of one without JSON the status stays."""
    log = Api().log()
    exchanges = []
    for exchange in log.exchanges:
        if exchange.purpose == "unknown path":
            exchange = replace(exchange, status=200)
        if exchange.purpose == "unknown deployment":
            exchange = replace(exchange, content=b"<p>")
        exchanges.append(exchange)
    log = Log(BASE, tuple(exchanges))
    found = inferred(log)
    errors = found.document["errors"]
    assert errors.keys() == {"token_missing", "token_invalid", "deployment_not_found"}
    assert errors["deployment_not_found"] == {"status": 404, "body": None}
    assert "/errors/deployment_not_found/body is left out: it is no JSON" in found.notes
    assert observed(log).templates["errors/not_found"].status == 200


# What a profile cannot have


def test_a_content_type_of_errors_alone_is_not_that_of_a_profile() -> None:
    failing = Api(listed=lambda _: b"<p>", created=lambda _: (201, {}, b"<p>"),
                  deployment=lambda _: b"<p>", media_type="text/plain")  # fmt: skip
    document = profile(failing)
    assert "content_type" not in document
    assert document["errors"]["not_found"]["content_type"] == "text/plain"


def test_what_varies_is_told_once_for_each_place() -> None:
    numbers = count()
    api = Api(
        deployment=lambda each: {**plain_deployment(each), "nonce": next(numbers)},
        listed=lambda items: {"projects": items, "took_ms": next(numbers)},
        error=lambda *_: {"message": f"Here is error {next(numbers)}.", "n": next(numbers)},
    )
    why = "another value in each reading; the profile has the first one"
    assert sorted(inferred(api.log()).notes) == [
        f"/deployment/body/nonce: {why}",
        f"/errors/deployment_not_found/body/n: {why}",
        f"/list/body/took_ms: {why}",
    ]


def test_what_is_no_strict_json_is_left_out_and_told() -> None:
    found = inferred(Api(deployment=lambda _: b'{"id": 1, "id": 2, "status": "x"}').log())
    assert "deployment" not in found.document
    (note,) = [each for each in found.notes if each.startswith("/deployment/body is left out")]
    assert "it is no strict JSON: " in note


def test_a_body_that_is_too_large_is_left_out_and_told() -> None:
    many = {f"m{number}": number for number in range(2000)}
    api = Api(deployment=lambda each: {**plain_deployment(each), "many": many})
    found = inferred(api.log())
    assert "deployment" not in found.document
    assert "/deployment/body is left out: it is too large" in found.notes
    assert len(observed(api.log()).remarks) == 1
    long = Api(item=lambda each: {**plain_project(each), "text": "x" * 30_000})
    assert inferred(long.log()).document.keys() & {"list", "create"} == set()


def test_what_a_profile_cannot_have_is_left_out() -> None:
    found = inferred(Api(created=lambda each: (203, {}, plain_project(each))).log())
    assert "status" not in found.document["create"]
    for sign in ("_", "\ud800", " "):
        api = Api(item=with_member("id", lambda each, sign=sign: sign * each.number))
        assert profile(api)["ids"].keys() == {"deployments"}


def test_our_own_member_is_left_out() -> None:
    request = {"name": NAME, "stubverify": "sent"}
    document = profile(Api(item=with_member("stubVerify", "sent"), request=request))
    assert "stubVerify" not in document["record"]
    assert document["create"]["request"] == {"name": "{project.name}"}


def test_a_clock_that_is_wrong_is_no_reason_to_miss_a_time() -> None:
    """The service is five years ahead."""
    api = Api(
        item=lambda each: {**plain_project(each), "created_at": each.time.replace("2026", "2031")},
        headers={"Date": "Tue, 25 Nov 2031 20:38:09 GMT"},
    )
    assert profile(api)["record"]["created_at"] == "{project.created_at:2026-01-05T09:00:00Z}"


def test_a_recording_without_times_has_those_of_the_responses() -> None:
    for headers, day in (({}, "1970-01-01"), ({"Date": DATE}, "2026-11-25")):
        log = Api(headers=headers).log()
        untimed = Log(BASE, tuple(replace(each, sent_at=0.0) for each in log.exchanges))
        document = inferred(untimed).document
        time = document["record"]["created_at"]
        assert (time, document["observed_at"]) == ("{project.created_at:2026-01-05T09:00:00Z}", day)


Ids = Callable[[Project], Any]
IDS: list[tuple[Ids, Ids, Any, Any]] = [
    (lambda each: 70401 + each.number, lambda each: each.deployment_id, 7040, "dpl_"),
    (lambda each: each.name, lambda each: f"build-{each.name}", "{project.name}",
     "build-{project.id}"),
    (lambda each: each.id, lambda each: each.id, "prj_", "{project.id}"),
    (lambda each: each.id, lambda each: f"{each.id}.1", "prj_", "{project.id}.1"),
]  # fmt: skip


@pytest.mark.parametrize(("project_id", "deployment_id", "projects", "deployments"), IDS)
def test_ids_are_examples_or_made_from_a_marker(
    project_id: Ids, deployment_id: Ids, projects: Any, deployments: Any
) -> None:
    api = Api(
        item=lambda each: {
            "id": project_id(each), "name": each.name, "deployment": deployment_id(each)},
        deployment=lambda each: {"id": deployment_id(each), "status": each.status},
        path_of=deployment_id,
    )  # fmt: skip
    ids = profile(api)["ids"]
    assert str(ids["projects"]).startswith(str(projects))
    assert ids["deployments"].startswith(deployments)
    assert "prj_7044" not in ids.values()


def test_an_id_that_is_a_ulid_has_examples_that_are_ulids() -> None:
    form = opaque_form("dep_01KB4X9V3T5N8Q2ZC7RD6MHJWE")
    for seed in range(50):
        assert re.fullmatch("dep_[0-7][0-9A-HJKMNP-TV-Z]{25}", form.make(Random(seed)))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_profile_of_a_stub_is_the_one_that_it_is_like(name: str) -> None:
    """But for what no response shows: failures, second ids, and the values of times."""
    known = DOCUMENTS[name]
    like = make_profile(known)
    log = expected_log(like, sends_more=False)
    read = [each.deployment_id for each in log.exchanges if each.purpose == "deployment"]
    hints = Hints(deployment=read[0], request=like.request)
    document = inferred(log, hints).document
    found = make_profile(document)
    assert found.run == like.run
    for part in ("list", "create", "deployment"):
        assert json.loads(plain(found, part)) == json.loads(plain(like, part)), part
    assert found.is_newest_first == like.is_newest_first
    asked = tuple(each for each in log.exchanges if each.purpose)
    found_differences = differences(document, Log(log.base, asked), observed(log, hints).way)
    # A list says one page.
    assert [each for each in found_differences if "nextCursor" not in each] == []
    again = judge(log, Options(), Inputs(replace(hints, profile=found)), "")
    assert again.drift_found == []


def plain(profile: Profile, part: str) -> str:
    form = profile.form(part)
    assert form
    text = json.dumps(form.body).replace('"FAILURE": true, ', "")
    text = text.replace('"nextCursor": "{last.id}"', '"nextCursor": null')
    text = text.replace("{deployment.id}", "{project.id}") if is_same_id(profile) else text
    text = text.replace("{deployment.created", "{project.created") if is_same_id(profile) else text
    text = re.sub(
        r"(created_at:)[-0-9T:.]{11,}\.([0-9]*)", lambda at: at[1] + str(len(at[2])), text
    )
    return re.sub('("(?:uid|cursor)"): "[^"]*"', r'\1: ""', text)


def is_same_id(profile: Profile) -> bool:
    return bool(profile.document["ids"].get("deployments") == "{project.id}")
