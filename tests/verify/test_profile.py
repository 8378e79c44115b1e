"""A log becomes a profile, and a stub with it responds like the service."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from itertools import count
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from profiles.ids import parse_id_example
from profiles.markers import CHOICE
from profiles.profile import Profile, make_profile
from tests.profiles.conftest import client_of, like, profile
from tests.services import DOCUMENTS
from tests.verify.apis import (
    BASE,
    NAME,
    START,
    TOKEN,
    Api,
    Body,
    Project,
    Sent,
    infer_document,
    infer_log,
    plain_deployment,
    plain_project,
    respond,
)
from tests.verify.replay import find_differences
from tests.verify.served import ask_stub
from traffic.exchange import UNKNOWN_TIME
from verify.inputs import Inputs
from verify.judge import judge
from verify.learn.errors import mark_error
from verify.learn.join import join_bodies
from verify.learn.templates import TemplateMaker
from verify.options import VerifyOptions
from verify.seen.find_places import find_places
from verify.seen.hints import Hints
from verify.seen.service_log import Log, ServiceExchange

CREATED_AT = "{project.created_at:2026-01-05T09:00:00Z}"
DATE = "Wed, 25 Nov 2026 20:38:08 GMT"
GONE = object()  # what is at a place that a profile has not

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
    """A deployment with its status in the name of the latest stage."""
    status = "success" if project.status == "deploy" else "active"
    stage = {"name": project.status, "status": status, "ended_on": None}
    return {"result": {"id": project.deployment_id, "latest_stage": stage}, "success": True}


def numbered(project: Project) -> Any:
    """A deployment with numbers as id and status."""
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
            202, {"Location": f"{BASE}/v1/deployments/{project.deployment_id}"}, None),
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
                                           "taskId": str(8050 + project.number)}),
        deployment=numbered, run=(0, 1, 2), id_in_path=lambda project: 8050 + project.number,
    ),
    "links": Api(
        item=linked, listed=lambda items: {"_embedded": {"projects": items}, "total": len(items)},
        deployment=lambda project: {"ref": project.deployment_id, "phase": project.status,
                                    "url": None if project.status == "Pending" else BASE},
        run=("Pending", "Ready"), request={"slug": NAME},
    ),
    "names": Api(
        item=lambda project: project.name, listed=lambda items: {"clusters": items},
        created=lambda project: (201, {}, {"cluster": project.name,
                                           "deploymentId": project.deployment_id}),
    ),
    "paths": Api(
        item=lambda project: {"path": f"/{project.name}", "key": f"projects/{project.id}"},
        created=lambda project: (200, {}, {"operation": f"operations/{project.deployment_id}"}),
    ),
    "present when done": Api(
        deployment=lambda project: {"name": project.deployment_id,
                                    **({"result": "OK"} if project.status else {})},
        run=(None, "OK"),
    ),
    "a body for each status": Api(
        deployment=lambda project: {"uid": project.deployment_id, "kind": project.status,
                                    **({"step": "wait"} if project.status == "queued"
                                       else {"step": "run", "port": 80})},
        run=("queued", "ready"),
    ),
    "a name as id": Api(
        item=lambda project: {"title": project.name, "code": f"c{project.number}",
                              "build": f"b{project.number}", "latest": project.deployment_id},
        deployment=lambda project: {"status": project.status, "project": project.name},
    ),
}  # fmt: skip


# Where a name says nothing, a profile with only these places does.
DONE = {"name": "operations/{deployment.id}", "done": {CHOICE: {"true": True, "false": False}}}
OPERATION = {"operation": "operations/{deployment.id}"}
PATHS = {"path": "/{project.name}", "key": "projects/{project.id}"}
KINDS = {kind: {"uid": "{deployment.id}", "kind": kind} for kind in ("queued", "ready")}
STATES = {str(number): number for number in range(3)}
HINTS = {
    "operations": profile(deployment={"body": DONE}),
    "numbers": profile(deployment={"body": {"state": {CHOICE: STATES}}}),
    "paths": profile(list={"body": {"projects": [PATHS]}}, create={"body": OPERATION}),
    "present when done": profile(
        statuses={"run": ["RUNNING", "OK"]},
        deployment={"body": {"result": {CHOICE: {"OK": "OK"}}}},
    ),
    "a body for each status": profile(deployment={"body": {CHOICE: KINDS}}),
    "a name as id": profile(
        list={"body": {"projects": [{"title": "{project.name}"}]}},
        ids={"projects": "{project.name}"},
    ),
}


@pytest.mark.parametrize("name", APIS)
def test_the_stub_responds_as_the_service_did(name: str) -> None:
    log = APIS[name].log()
    hints = Hints(profile=HINTS.get(name))
    found = infer_log(log, hints)
    places = find_places(log, hints)
    assert places.doubts == ()
    assert {"list", "create", "deployment"} <= found.document.keys()
    assert find_differences(found.document, log, places) == []
    text = json.dumps(found.document)
    for value in ("acme.example/v1", "stub-verify", "sample-", TOKEN):
        assert value not in text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_profile_of_a_stub_is_the_one_that_it_is_like(name: str) -> None:
    """No response shows failures, second ids, and the values of times."""
    like = make_profile(DOCUMENTS[name])
    hints = Hints(request=like.request.value, profile=like)
    log = ask_stub(like, hints)
    read = [each.deployment_id for each in log.exchanges if each.purpose == "deployment"]
    hints = replace(hints, deployment=read[0])
    document = infer_log(log, hints).document
    found = make_profile(document)
    assert (found.run, found.is_newest_first) == (like.run, like.is_newest_first)
    for part in ("list", "create", "deployment"):
        assert json.loads(show_part(found, part)) == json.loads(show_part(like, part)), part
    asked = tuple(each for each in log.exchanges if each.purpose)
    found_differences = find_differences(document, Log(log.base, asked), find_places(log, hints))
    # A list says one page.
    assert [each for each in found_differences if "nextCursor" not in each] == []
    again = judge(log, VerifyOptions(), Inputs(replace(hints, profile=found)), "")
    assert again.drifted == []


def show_part(like: Profile, part: str) -> str:
    """Return the body of a part as JSON, with plain values for those that no response shows."""
    form = like.form(part)
    assert form
    text = json.dumps(form.body).replace('"FAILURE": true, ', "")
    text = text.replace('"nextCursor": "{last.id}"', '"nextCursor": null')
    if like.document["ids"].get("deployments") == "{project.id}":
        text = text.replace("{deployment.id}", "{project.id}")
        text = text.replace("{deployment.created", "{project.created")
    digits = r"(created_at:)[-0-9T:.]{11,}\.([0-9]*)"
    text = re.sub(digits, lambda at: at[1] + str(len(at[2])), text)
    return re.sub('("(?:uid|cursor)"): "[^"]*"', r'\1: ""', text)


# Single services


class Case(NamedTuple):
    """A service, the values at places of its profile, notes about it, and texts that it lacks."""

    name: str
    api: Api
    has: dict[str, Any]
    told: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


def members(**more: Any) -> Body:
    """A project with further members, or with values that functions make."""
    return lambda project: {**plain_project(project), **make_members(more, project)}


def deployment_members(**more: Any) -> Body:
    return lambda project: {**plain_deployment(project), **make_members(more, project)}


def responding(make: Body) -> Callable[[Project], Sent]:
    """A creation with this body."""
    return lambda project: (201, {}, make(project))


def make_members(more: dict[str, Any], project: Project) -> dict[str, Any]:
    return {name: each(project) if callable(each) else each for name, each in more.items()}


def by_id(items: list[Any]) -> Any:
    """Projects by their ids."""
    return {"projects": {each["id"]: each for each in items}, "more": {}}


FIRST = plain_project(Project(1, "sample-1"))
OTHERS = [plain_project(Project(3, f"sample-{number}")) for number in range(150)]
NO_CREATE = "/create is left out: it has other projects, too"
MAIL = "owner@payroll.example"
PREVIOUS = {"id": "dpl_8051", "of": "prj_7041", "owner": MAIL, "branch": "main"}
# What the records of others have, and the created one has not.
PRIVATE = {
    "owner": "private-owner", "notes": ["private-note"], "size": 918273645,
    "nested": {"deep": {"text": "private-deep"}}, "url": "https://private.example/x",
    "who": ["alice", "bob"],
}  # fmt: skip


def list_privately(items: list[Any]) -> Any:
    """A list with values of its projects in the envelope."""
    second = items[1]
    return {
        "projects": [{**each, **PRIVATE} if each["name"] != NAME else each for each in items],
        "first": items[0]["id"], "last": {"href": f"/v1/projects?after={items[-1]['id']}"},
        "second": second["id"], "hint": "ask private-owner", "total": len(items), "limit": 50,
        "by_name": {second["name"]: 1}, "owners": {"alice": 1, "bob": 2},
        "cursor": base64.b64encode(second["id"].encode()).decode(),
    }  # fmt: skip


OTHERS_OWN = [
    Case("values of other records",
         Api(listed=list_privately, headers={"X-Owner": "private-owner"},
             error=lambda status, code: {"owner": "private-owner", "status": status}),
         {"/list/body": {
             "projects": ["{record}"], "first": "{first.id}", "second": "prj_7604", "hint": "text",
             "last": {"href": "/v1/projects?after={last.id}"}, "total": "{count}", "limit": 50,
             "by_name": {}, "owners": {}, "cursor": None}},
         lacks=("private", "918273645", "alice", "prj_7042")),
    Case("the code of an error, though others have it",
         Api(listed=list_privately, error=lambda status, code: {"code": "private-owner"}),
         {"/errors/not_found/body/code": "private-owner"}),
    Case("words that others have, too",
         Api(listed=lambda items: {"projects": [
             {**items[0], "state": "created", "app": "application", "by": "created_at"},
             *items[1:]]}),
         {"/content_type": "application/json", "/record/created_at": CREATED_AT}),
    Case("a long list",
         Api(listed=lambda items: {"projects": [*OTHERS, *items, *OTHERS], "total": len(items)}),
         {"/list/body/projects": ["{record}"]}),
    Case("a list without the created project",
         Api(listed=lambda items: {"projects": items[:3]}),
         {"/list": GONE}, ("/list is left out: no list has the created project",)),
    Case("maps of projects",
         Api(listed=by_id, created=responding(lambda each: by_id([FIRST, plain_project(each)]))),
         {"/list": GONE, "/create": GONE},
         ("/list is left out: it has no array of projects", NO_CREATE)),
    Case("a map of the created project alone",
         Api(listed=by_id, created=responding(lambda each: by_id([plain_project(each)]))),
         {"/deployment/body/project_id": "{project.id}"}),
    Case("a map as the list alone", Api(listed=by_id), {"/create/status": 201}),
    *(Case(f"a creation that shows another project {place}",
           Api(item=members(latest_deployment_id=None), created=responding(body)),
           {"/create": GONE}, (NO_CREATE,))
      for place, body in {"in an array": members(siblings=[FIRST]),
                          "in a member": members(previous=FIRST),
                          "alone": lambda _: [FIRST]}.items()),
    Case("what names a stranger, which the created deployment has, too",
         Api(item=members(branch="main",
                          owner=lambda each: "me@acme.example" if each.name == NAME else MAIL),
             headers={"X-Owner": MAIL}, deployment=deployment_members(previous=PREVIOUS)),
         {"/deployment/body/previous":
             {"id": "dpl_7604", "of": "prj_7604", "owner": "text@mail.example", "branch": "main"},
          "/record/owner": "text@mail.example"},
         lacks=(MAIL,)),
    Case("the deployment of another project",
         Api(item=lambda each: {"id": each.id, "name": each.name}, id_in_path=lambda _: "dpl_1",
             deployment=lambda _: {"id": "dpl_1", "owner": "private", "created_at": "2020-01-01"},
             error=lambda status, code: {"status": status, "text": "private"}),
         {"/deployment": GONE},
         (
             "/deployment is left out: no response names the deployment of the created project; if "
             "it was read, give its id as --deployment",
         ),
         ("private",)),
]  # fmt: skip

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.s3cr3t-j"
SECRETS = {
    "token": "s3cr3t-1", "apiKey": {"value": "s3cr3t-2"}, "passwords": ["s3cr3t-3"],
    "sent": f"Bearer {TOKEN}", "link": f"https://a.example/?t={quote(TOKEN, safe='')}",
    "database": "postgres://user:s3cr3t-4@db.example/x", "any": JWT, "key": "s3cr3t-8",
    "signed": "https://a.example/x?X-Amz-Signature=s3cr3t-5", "pin_password": 5318008,
    "auth_header": "Basic czNjcjN0LTEw", "creds": "s3cr3t-11", "refresh": "s3cr3t-12",
    "notify": "https://hooks.chat.example/services/T1/s3cr3t-13",
    "connection": "Server=db;User Id=sa;Pwd=s3cr3t-6;", "connection_string": "s3cr3t-7",
}  # fmt: skip
SECRET_NAMES = ("database", "key", "connection", "connection_string", "signed", "apiKey/value")
WHY = "left out: it may be a secret, or belong to others"
LINKS = {
    "self": lambda project: f"{BASE}/v1/projects/{project.id}",
    "plain": BASE.replace("https", "http"), "docs": "https://acme.example",
    "logs": lambda project: f"wss://api.acme.example:443/{project.id}",
    "host": "api.acme.example", "login": f"https://sso.example/?to={quote(BASE, safe='')}",
}  # fmt: skip
LOCATION = {"Location": f"{BASE}/v1/projects/prj_7044", "Link": f"<{BASE}/v1>; rel=up"}
OURS = [
    Case("secrets",
         Api(item=members(**SECRETS), deployment=deployment_members(env=SECRETS),
             request={"name": NAME, "db_pass": "s3cr3t-0"},
             headers={"X-Sent": TOKEN, "X-Api-Key": "s3cr3t-9", "X-Plan": "free"}),
         {"/create/request": {"name": "{project.name}", "db_pass": "text"},
          "/create/headers": {"X-Plan": "free"},
          "/deployment/body/env/apiKey": {"value": "text"}},
         tuple(f"/deployment/body/env/{name}: {WHY}" for name in SECRET_NAMES),
         ("s3cr3t", "czNjcjN0", "5318008", TOKEN, quote(TOKEN, safe=""))),
    Case("a variable", Api(item=members(env=[{"key": "PORT", "value": "80"}])),
         {"/record/env": [{"key": "PORT", "value": "80"}]}),
    Case("a variable with the name of a secret",
         Api(item=members(env=[{"name": "A_TOKEN", "value": "s3cr3t"},
                               {"varKey": "DB_PASSWORD", "varValue": "word"}])),
         {"/record/env": [{"name": "A_TOKEN", "value": "text"},
                          {"varKey": "DB_PASSWORD", "varValue": "text"}]}),
    Case("a secret with a type",
         Api(item=members(secret={"type": "secret_text", "value": "x"})),
         {"/record/secret": {"type": "secret_text", "value": "text"}}),
    Case("keys that are no secret", Api(item=members(key=lambda each: each.id, primaryKey="id")),
         {"/record/key": "{project.id}", "/record/primaryKey": "id"}),
    Case("a hook", Api(item=members(hook="https://a.example/hooks/x", hooks=[{"on": "push"}])),
         {"/record/hook": "https://text.example", "/record/hooks": [{"on": "push"}]}),
    Case("names of members that are data",
         Api(item=members(routes=lambda each: {f"{each.id}.a.example": 1, each.time: 2, "all": 3})),
         {"/record/routes": {"all": 3}}),
    Case("the address of the service",
         Api(item=members(links=lambda each: make_members(LINKS, each)),
             error=lambda status, code: {"type": f"{BASE}/problems/{code}", "status": status},
             created=lambda each: (201, LOCATION, members(links=make_members(LINKS, each))(each))),
         {"/record/links": {
             "self": "{base}/v1/projects/{project.id}", "plain": "{base}", "host": "text",
             "logs": "{base}/{project.id}", "login": "https://text.example", "docs": "https://acme.example"},
          "/create/headers": {
              "Location": "{base}/v1/projects/{project.id}", "Link": "<{base}/v1>; rel=up"},
          "/errors/not_found/body/type": "{base}/problems/no_path"},
         lacks=("api.acme",)),
    Case("our name, and an id that is a small number, around the list",
         Api(item=lambda each: {"id": each.number, "name": each.name},
             listed=lambda items: {"projects": items, "of": NAME, "limit": 4}),
         {"/list/body/of": "text", "/list/body/limit": 4}),
]  # fmt: skip

PAGE = {
    "next": f"{BASE}/v1/projects?page=2", "next_cursor": "bmV4dA==", "hasMore": True, "page": 1,
    "total": 250, "total_pages": 13, "limit": 20, "total_ms": 7, "per_page": 20, "pageSize": 20,
    "isLast": False, "paging": {"next": {"after": "x"}, "prev": None}, "has_next_page": True,
}  # fmt: skip
ONE_PAGE = {
    **PAGE, "next": None, "next_cursor": None, "hasMore": False, "total": "{count}",
    "total_pages": 1, "isLast": True, "paging": {"next": {"after": None}, "prev": None},
    "has_next_page": False,
}  # fmt: skip
COMPUTED = {
    "ETag": '"1"', "Last-Modified": DATE, "Age": "3", "Expires": "0", "Digest": "sha-256=x",
    "Content-MD5": "x", "X-Request-Id": "r-1", "RateLimit-Limit": "9", "CF-Ray": "1",
    "X-RateLimit-Remaining": "9", "Traceparent": "00-1", "Retry-After": "1", "Date": DATE,
    "Server": "nginx", "Allow": "GET",
}  # fmt: skip


def rejecting(status: int, code: str) -> Any:
    return {
        "error": {"code": f"E{status}", "type": "NotFoundError", "reason": "NoRoute"},
        "message": f"There is no {code}.", "title": HTTPStatus(status).phrase, "retry": False,
        "resource": "projects", "status": str(status), "docs": "https://acme.example/errors",
        "description": "Unauthorized access", "number": 2000 + len(code),
        "path": "/v1/stub-verify-2",
    }  # fmt: skip


TOKEN_ERROR: dict[str, Any] = {
    "error": {"code": "E401", "type": "NotFoundError", "reason": "NoRoute"},
    "message": "There is no no_token.", "title": "{error.title}", "resource": "projects",
    "status": "401", "docs": "https://acme.example/errors", "retry": False, "number": 2008,
    "description": "Unauthorized access", "path": "{error.detail}",
}  # fmt: skip
ANY_ERROR = {
    **TOKEN_ERROR, "message": "{error.detail}",
    "error": {**TOKEN_ERROR["error"], "code": "{error.code}"},
    "status": "{error.status:text}", "number": "{error.status}",
}  # fmt: skip
WORD = {"latest": lambda project: {"status": project.status}}
LONG = "x" * 30_000
FORMS = [
    Case("pages",
         Api(listed=lambda items: {"projects": items, **PAGE},
             headers={"Link": f"<{BASE}/v1/projects?page=2>; rel=next", "X-Next-Page": "2",
                      "X-Page": "1"}),
         {"/list/body": {"projects": ["{record}"], **ONE_PAGE}, "/list/headers": {"X-Page": "1"}},
         ("/list/headers/Link: left out, since it names a next page",
          "/list/body/next_cursor: as on a single page, not a text")),
    Case("header fields that are computed",
         Api(headers={**COMPUTED, "Cache-Control": "no-store"}),
         {f"/{part}/headers": {"Cache-Control": "no-store"}
          for part in ("list", "create", "deployment", "errors/not_found")}),
    Case("errors", Api(error=rejecting),
         {"/errors/token_missing/body": TOKEN_ERROR, "/errors/default/body": ANY_ERROR}),
    Case("a content type of errors alone",
         Api(listed=lambda _: b"<p>", created=lambda _: (201, {}, b"<p>"),
             deployment=lambda _: b"<p>", media_type="text/plain"),
         {"/content_type": GONE, "/errors/not_found/content_type": "text/plain"}),
    Case("a status that is too long", Api(run=("queued", "x" * 65, "done")),
         {"/statuses": {"run": ["queued", "done"]}, "/deployment/body/status": CHOICE}),
    Case("statuses that are a secret and a name of ours",
         Api(run=(f"Bearer {TOKEN}", NAME, "done")),
         {"/statuses": {"run": ["done"]}, "/deployment/body/status": CHOICE}, lacks=(TOKEN, NAME)),
    Case("a status that only the project has shown",
         Api(item=members(**WORD), run=("building", "done"),
             created=responding(members(latest={"status": "queued"}))),
         {"/statuses": {"run": ["queued", "building", "done"]}, "/create/body": "{record}",
          "/record/latest": {"status": CHOICE}}),
    Case("a deployment of no strict JSON",
         Api(deployment=lambda _: b'{"id": 1, "id": 2, "status": "x"}'),
         {"/deployment": GONE}, ("/deployment/body is left out: it is not strict JSON: ",)),
    Case("a status of HTTP that no profile has",
         Api(created=lambda each: (203, {}, plain_project(each))), {"/create/status": GONE}),
    *(Case(f"ids that are signs: {sign!r}",
           Api(item=members(id=lambda project, sign=sign: sign * project.number)),
           {"/ids/projects": GONE}) for sign in ("_", "\ud800")),
    Case("an id that is a number here and a text there",
         Api(item=members(latest_deployment_id=lambda each: 8050 + each.number),
             deployment=deployment_members(id=lambda each: str(8050 + each.number)),
             id_in_path=lambda each: 8050 + each.number),
         {"/record/latest_deployment_id": "{deployment.id}", "/ids/deployments": 7040,
          "/deployment/body/id": "{deployment.id:text}"}),
    Case("a clock that is five years ahead",
         Api(item=members(created_at=lambda each: each.time.replace("2026", "2031")),
             headers={"Date": "Tue, 25 Nov 2031 20:38:09 GMT"}),
         {"/record/created_at": CREATED_AT}),
    Case("a time that lies ahead", Api(item=members(expires_at="2036-01-05T09:00:00Z")),
         {"/record/created_at": CREATED_AT, "/record/expires_at": "2036-01-05T09:00:00Z"}),
]  # fmt: skip


@pytest.mark.parametrize("case", [*OTHERS_OWN, *OURS, *FORMS], ids=lambda case: case.name)
def test_a_profile_has_what_the_service_has_and_is_nobodys_own(case: Case) -> None:
    found = infer_log(case.api.log())
    for pointer, value in case.has.items():
        assert find_at(found.document, pointer) == value, pointer
    for line in case.told:
        assert line in "\n".join(found.notes)
    text = json.dumps(found.document)
    for value in (*case.lacks, "sample-", "prj_7041"):
        assert value not in text


def find_at(document: Any, pointer: str) -> Any:
    """Return the value at a pointer: `/list/body`."""
    for name in pointer.split("/")[1:]:
        document = document.get(name, GONE) if document is not GONE else GONE
    return document


# What is of others, or secret, and the texts in which a service may show it.
PLANTED = ("sample-2", "prj_7042", "dpl_8052", "two@payroll.example", "whsec_CxZcE2pTzGQcQ5grVTbM")
TEXTS = ("{}", "see {} there", "name {}..gamma-job", "/v1/projects/{}?after=1", "a,{};q=1")


def plant(place: str, text: str) -> Api:
    """Make a service that shows a text in a place of its responses: `item`."""

    def item(project: Project) -> Any:
        mail = {"owner": PLANTED[3]} if project.number == 2 else {}
        more = {"note": text} if place == "item" and project.number == 4 else {}
        return {**plain_project(project), **mail, **more}

    created = {**({"note": text} if place == "creation" else {})}
    return Api(
        item=item,
        listed=lambda items: {"projects": items, **({"note": text} if place == "list" else {})},
        created=lambda each: (201, {}, {**plain_project(each), **created}),
        deployment=lambda each: {
            **plain_deployment(each), **({"notes": [{"text": text}]} if place == "read" else {}),
            **({text: 1} if place == "name" else {}),
        },
        error=lambda status, code: {"code": code, **({"hint": text} if place == "error" else {}),
                                    **({"code": text} if place == "code" else {})},
        headers={"X-Note": text} if place == "fields" else {},
    )  # fmt: skip


PLACES = ("item", "creation", "list", "read", "name", "error", "code", "fields")


@pytest.mark.parametrize("place", PLACES)
def test_what_is_of_others_is_in_no_place_of_a_profile(place: str) -> None:
    """Each place has each value and each text, and each text has each value at some place."""
    start = PLACES.index(place) % len(TEXTS)
    for value, text in zip(PLANTED, TEXTS[start:] + TEXTS[:start], strict=True):
        found = infer_log(plant(place, text.format(value)).log())
        assert value not in json.dumps(found.document), text
        assert value not in "".join(found.notes), text
        assert {"list", "create", "deployment"} <= found.document.keys()


def test_a_creation_that_responds_with_a_list_of_others_is_left_out_and_told() -> None:
    others = [plain_project(Project(9, f"sample-{number}")) for number in range(1500)]

    def created(project: Project) -> Any:
        return 201, {}, {"projects": [*others[:750], plain_project(project), *others[750:]]}

    log = Api(created=created).log()
    found = infer_log(log)
    assert "create" not in found.document
    assert NO_CREATE in found.notes
    without_lists = Log(BASE, tuple(each for each in log.exchanges if not each.is_list))
    for each in (log, without_lists):
        assert "sample-" not in json.dumps(infer_log(each).document)


def test_a_header_field_that_varies_in_one_kind_of_response_is_in_none() -> None:
    numbers = count()
    log = Api(headers={"X-Index": "1"}).log()
    exchanges = []
    for exchange in log.exchanges:
        fields = dict(exchange.response_fields) | {"X-Index": str(next(numbers))}
        exchanges.append(replace(exchange, response_fields=[*fields.items()]))
    found = infer_log(Log(BASE, tuple(exchanges)))
    assert "X-Index" not in json.dumps(found.document)
    assert "/create/headers/X-Index: left out, since it varies" in found.notes


def test_an_error_has_the_words_of_the_service_and_what_the_request_had() -> None:
    log = Api(error=lambda status, code: {"message": "Try it later, please."}).log()
    exchanges = []
    for index, exchange in enumerate(log.exchanges):
        last = exchange.path.rpartition("/")[2]
        texts = {
            "unknown deployment": f"No deployment has the id {last}.",
            "unknown path": f"Nothing is at {exchange.path}.",
            "list with a wrong token": f"Request {index} has no valid token.",
        }
        body = json.dumps({"message": texts.get(exchange.purpose, "Try it later, please.")})
        is_error = exchange.status >= 400
        exchanges.append(replace(exchange, response_body=body.encode()) if is_error else exchange)
    errors = infer_log(Log(BASE, tuple(exchanges))).document["errors"]
    assert {code: form["body"]["message"] for code, form in errors.items()} == {
        "deployment_not_found": "No deployment has the id {error.subject}.",
        "not_found": "Nothing is at {error.subject}.",
        "token_missing": "Try it later, please.",
        "token_invalid": "{error.detail}",
        "default": "{error.detail}",
    }


def test_what_varies_is_told_once_for_each_place() -> None:
    numbers = count()
    api = Api(
        deployment=lambda each: {**plain_deployment(each), "nonce": next(numbers)},
        listed=lambda items: {"projects": items, "took_ms": next(numbers)},
        error=lambda *_: {"message": f"Here is error {next(numbers)}.", "n": next(numbers)},
    )
    why = "the responses differ; the profile has the first value"
    assert sorted(infer_log(api.log()).notes) == [
        f"/deployment/body/nonce: {why}",
        f"/errors/deployment_not_found/body/n: {why}",
        f"/list/body/took_ms: {why}",
    ]


def test_a_given_deployment_is_the_one_of_the_profile() -> None:
    """Its values may be shown. It is of a listed project, not of the created."""
    log = Api().log()
    exchanges = [each for each in log.exchanges if each.purpose != "deployment"]
    for word in ("running", "canceled", "canceled"):
        project = Project(2, "sample-2", word)
        body = {**plain_deployment(project), "region": "fra"}
        target = f"/v1/deployments/{project.deployment_id}"
        read = ServiceExchange(
            "GET", target, time=START + timedelta(seconds=30), purpose="deployment"
        )
        exchanges.append(respond(read, 200, {"Content-Type": "application/json"}, body))
    document = infer_log(Log(BASE, tuple(exchanges)), Hints(deployment="dpl_8052")).document
    assert document["statuses"] == {"run": ["running", "canceled"]}
    assert document["deployment"]["body"] == {
        "id": "{deployment.id}", "project_id": "{project.id}", "status": CHOICE, "region": "fra",
        "created_at": CREATED_AT.replace("project", "deployment"),
    }  # fmt: skip


def test_a_state_of_another_project_may_be_that_of_the_deployment() -> None:
    item = members(health=lambda each: "unknown" if each.name == NAME else "green")
    body = infer_document(Api(item=item, deployment=deployment_members(health="green")))
    assert body["deployment"]["body"]["health"] == "green"


def test_an_error_that_was_not_seen_as_such_is_not_in_a_profile() -> None:
    """Without JSON only the status stays. A wrong token is rejected like a missing token."""
    changes: dict[str, Callable[[ServiceExchange], ServiceExchange]] = {
        "unknown path": lambda each: replace(each, status=200),
        "unknown deployment": lambda each: replace(each, response_body=b"<p>"),
        "list with a wrong token": lambda each: replace(each, purpose="candidate"),
    }
    log = Api().log()
    exchanges = [changes.get(each.purpose, replace)(each) for each in log.exchanges]
    changed = Log(BASE, tuple(exchanges))
    found = infer_log(changed)
    errors = found.document["errors"]
    assert errors.keys() == {"token_missing", "token_invalid", "deployment_not_found"}
    assert errors["deployment_not_found"] == {"status": 404, "body": None}
    assert errors["token_invalid"] == errors["token_missing"]
    assert "/errors/deployment_not_found/body is left out: it is not JSON" in found.notes
    assert TemplateMaker(changed, find_places(changed)).templates["errors/not_found"].status == 200


def test_a_recording_without_times_has_those_of_the_responses() -> None:
    for headers, day in (({}, "1970-01-01"), ({"Date": DATE}, "2026-11-25")):
        log = Api(headers=headers).log()
        untimed = Log(BASE, tuple(replace(each, time=UNKNOWN_TIME) for each in log.exchanges))
        document = infer_log(untimed).document
        time = document["record"]["created_at"]
        assert (time, document["observed_at"]) == (CREATED_AT, day)


Ids = Callable[[Project], Any]
# How the ids of projects and of deployments are made, and how those of the profile begin.
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
        id_in_path=deployment_id,
    )  # fmt: skip
    ids = infer_document(api)["ids"]
    assert str(ids["projects"]).startswith(str(projects))
    assert ids["deployments"].startswith(deployments)
    assert "prj_7044" not in ids.values()


def test_an_id_that_is_a_path_keeps_what_is_before_its_last_slash() -> None:
    made = parse_id_example("/groups/7e/sites/4f9a2c").make(Random(7))
    assert re.fullmatch("/groups/7e/sites/[0-9a-f]{6}", made)


def test_a_status_of_the_project_is_not_that_of_its_deployment() -> None:
    def item(project: Project) -> Any:
        word = "live" if project.status == "succeeded" else "building"
        return {**plain_project(project), "status": word}

    api = Api(item=item, run=("queued", "building", "linking", "succeeded"))
    (listed,) = infer_document(api)["list"]["body"]["projects"]
    words = listed["status"]["{deployment.status}"]
    assert (words["succeeded"], words[""]) == ("live", "building")


def test_what_a_run_saw_is_added_to_a_profile_and_the_rest_stays() -> None:
    """A read, the recording of a team, and a run with --write add up to one profile."""
    log = Api(item=members(region="fra"), headers={"X-Plan": "free"}).log()
    whole = infer_log(log).document
    reads = [each for each in log.exchanges if not each.is_creation]
    first = infer_log(Log(BASE, tuple(reads[:7]))).document
    assert first.keys() == {"observed_at", "errors"}
    found = infer_log(log, Hints(profile=make_profile(first)))
    assert found.document == whole
    assert {"/list: added", "/create: added", "/errors/token_missing: added"} <= {*found.notes}
    assert "/errors/not_found: changed" not in found.notes
    # What sees less, such as one status, takes nothing away.
    last = [each for each in log.exchanges if each.purpose == "deployment"][-1]
    short = [each for each in log.exchanges if each.purpose != "deployment"]
    short.insert(5, last)
    again = infer_log(Log(BASE, tuple(short)), Hints(profile=make_profile(whole)))
    assert again.document == whole
    assert again.notes == ()
    changed = Api(item=members(region="iad"), headers={"X-Plan": "free"}).log()
    notes = infer_log(changed, Hints(profile=make_profile(whole))).notes
    assert {"/list: changed", "/create: changed"} == {*notes}


def test_a_part_of_the_profile_stays_if_the_service_shows_none() -> None:
    """A part that the profile lacks, too, is left out."""
    log = Api(listed=lambda items: {"projects": items[:3]}).log()
    why = "no list has the created project"
    listed = {"body": {"projects": [{"id": "{project.id}", "name": "{project.name}"}]}}
    for parts, note in (({"list": listed}, "stays as it was"), ({}, "is left out")):
        found = infer_log(log, Hints(profile=profile(**parts)))
        assert f"/list {note}: {why}" in found.notes
        assert ("list" in found.document) is ("list" in parts)


def test_a_second_id_differs_in_two_created_projects() -> None:
    def create(project: Project) -> Any:
        return 201, {}, {**plain_project(project), "uid": f"41510404126{project.number}"}

    log = Api(created=create).log()
    (creation,) = [each for each in log.exchanges if each.purpose == "create"]
    body = json.dumps(create(Project(5, "another"))[2]).encode()
    another = replace(creation, request_body=b'{"name": "another"}', response_body=body)
    made = infer_log(Log(BASE, (*log.exchanges, another))).document["create"]["body"]
    assert re.fullmatch(r"\{project\.id:[0-9]{12}\}", made["uid"])


def test_a_recording_tells_which_members_a_creation_needs() -> None:
    log = Api(request={"name": NAME, "team": "t_1", "plan": "free", "size": "s"}).log()
    (creation,) = [each for each in log.exchanges if each.purpose == "create"]

    def create(status: int, **sent: str) -> ServiceExchange:
        body = json.dumps({"name": "another", **sent}).encode()
        return replace(creation, request_body=body, status=status)

    more = [
        create(201, team="t_1", size="s"),  # an accepted one lacks the plan
        create(422, plan="free", size="s"),
        create(422, plan="free"),  # which of two members it needs is unknown
    ]
    exchanges = [replace(each, purpose="") for each in (*log.exchanges[:5], *more, *log.exchanges)]
    made = infer_log(Log(BASE, tuple(exchanges))).document["create"]
    assert (made["required"], made["optional"]) == (["/team"], ["/plan"])


def test_the_status_in_the_words_of_an_error_is_no_number_that_varies() -> None:
    for words, kept in (("404 Not found", True), ("no deployment 7417", False)):
        marked = mark_error(("message",), words, 404, is_same=False)
        assert (marked == words) == kept


def test_an_id_that_each_error_has_is_no_sentence_in_the_common_form() -> None:
    traces = iter(range(100, 200))
    case = Api(error=lambda status, code: {"code": code, "trace": f"tr-{next(traces)}f"})
    common = infer_log(case.log()).document["errors"]["default"]["body"]
    assert common["code"] == "{error.code}"
    assert re.fullmatch("tr-[0-9]{3}f", common["trace"])


def test_a_status_that_only_the_hint_has_stays_in_the_choices() -> None:
    words = {"0": 0, "1": 1, "3": 3}
    hint = profile(deployment={"body": {"status": {"{deployment.status}": words}}})
    found = infer_log(Api(run=(0, 3)).log(), Hints(profile=hint)).document
    body = found["deployment"]["body"]
    assert body["id"] == "{deployment.id}"
    assert body["status"]["{deployment.status}"].items() >= {"1": 1, "": 0}.items()
    assert found["statuses"] == {"run": ["0", "1", "3"]}


def test_joined_arrays_of_one_length_keep_the_choices_of_their_items() -> None:
    choice = {"{deployment.status}": {"FAILED": 1, "": 0}}
    kept = {"{deployment.status}": {"FAILED": 1, "": 2}}
    assert join_bodies([{"code": choice}], [{"code": 2}], ["FAILED"]) == [{"code": kept}]
    assert join_bodies([{"code": choice}], [], ["FAILED"]) == []


def test_a_second_id_is_another_one_in_each_project() -> None:
    def item(project: Project) -> Any:
        number = project.number
        more = {
            "uid": f"41510404126{number}",
            "cursor": f"c-{number}9f",
            "node_id": f"MDEwOl{number}",
            "plan": "pro2",
        }
        return {**plain_project(project), **more, "runtime": f"20.{number}", "mark": f"m{number}"}

    document = infer_document(Api(item=item))
    (note,) = infer_log(Api(item=members(number=lambda each: each.number)).log()).notes
    assert note.startswith("/list/body/projects/0/number: a stub has the same number")
    record = document["record"]
    for name in ("uid", "cursor", "node_id", "mark"):
        assert re.fullmatch(r"\{project\.id:[\w-]+\}", record[name]), name
        assert item(Project(4, NAME))[name] not in json.dumps(document)
    assert (record["plan"], record["runtime"]) == ("pro2", "20.4")
    client = client_of(like(make_profile(document)))
    created = [client.post("/v1/projects", json={"name": f"shop {n}"}).json for n in range(3)]
    assert len({each["uid"] for each in created if each}) == 3
