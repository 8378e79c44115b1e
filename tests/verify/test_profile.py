"""What a log shows becomes a profile, with which the stub responds as the service does."""

import json
from typing import Any

import pytest

from profiles.markers import CHOICE
from tests.verify.apis import BASE, NAME, TOKEN, Api, Project, inferred, observed, profile
from tests.verify.replay import differences

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
    "plain": Api(),
    "relations": Api(
        item=relations,
        listed=lambda items: {"data": items, "meta": {"total": len(items)}, "links": {"next": None}},
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
        deployment=operation, run=(False, True), request={"displayName": NAME},
    ),
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
