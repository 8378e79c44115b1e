"""What verify finds in bodies without names: the list, the ids, the deployment, the status."""

from typing import Any

import pytest

from cli.verify.places import find_candidates, find_id, find_items, find_record, find_status
from tests.verify.conftest import Service, save, verify
from tests.verify.differences import on, on_deployment, on_projects, put, without

TIME = "2026-01-01T00:00:00Z"
OLD, NEW = {"id": 1, "name": "a"}, {"id": 2, "name": "new"}


LISTS: list[tuple[Any, Any, Any]] = [
    ({"a": [OLD], "b": [OLD]}, {"a": [OLD], "b": [OLD, NEW]}, ("b",)),
    # Without the name, the one that has grown.
    ({"a": [OLD, OLD], "b": [OLD]}, {"a": [OLD, OLD], "b": [OLD, {"id": 2}]}, ("b",)),
    # Nothing has grown, as on a first page: the outermost array of objects.
    ({}, {"x": {"y": [OLD]}, "z": [OLD]}, ("z",)),
    ({}, {"tags": ["a"], "y": [OLD]}, ("y",)),
    ({}, {"all": [OLD], "projects": [OLD]}, ("projects",)),
    ({}, {"items": [OLD], "meta": {"projects": [OLD]}}, ("items",)),
    ({}, {"count": 0}, None),
    # Of several with the name, the one whose item is most like the creation.
    ({}, {"log": [{"of": "new"}], "projects": [OLD, NEW]}, ("projects",)),
    ({}, {"teams": [{"id": 9, "of": [OLD, NEW]}]}, ("teams", 0, "of")),
    ([OLD], [OLD, {**NEW, "runs": [{"name": "new"}]}], ()),
]


@pytest.mark.parametrize(("before", "after", "path"), LISTS)
def test_the_list_is_the_array_with_the_created_project(before: Any, after: Any, path: Any) -> None:
    assert find_items(after, before, "new", NEW) == path


IDS: list[tuple[Any, Any, Any, Any]] = [
    ({"meta": {"id": 7}, "uid": "u"}, [], {"id": 7, "x": "u"}, ("meta", "id")),
    ({"x": "c2", "service": {"id": "s2"}}, [], {"service": {"id": "s2"}}, ("service", "id")),
    ({"ref": "r", "org": {"id": "o"}}, [{"org": {"id": "o"}}], {"r": "r", "o": "o"}, ("ref",)),
    ({"at": TIME, "uid": "u"}, [], {"at": TIME, "x": "u"}, ("uid",)),
    ({"id": "new", "name": "new"}, [], {"id": "new", "name": "new"}, ("id",)),
    ({"name": "new", "latest_deployment_id": "d"}, [], {"x": "new", "y": "d"}, None),
    ({"uuid": "p2", "latest_deployment": {"id": "d"}}, [], {"uuid": "p2", "x": "d"}, ("uuid",)),
    ({"name": "projects/7", "displayName": "new"}, [], {"name": "projects/7"}, ("name",)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "others", "creation", "path"), IDS)
def test_the_id_is_what_creation_and_list_share_alone(
    item: Any, others: Any, creation: Any, path: Any
) -> None:
    assert find_id(item, others, creation, "new") == path


# Members beside the id of a project, and what may be the id of its deployment.
CANDIDATES: list[tuple[Any, list[str]]] = [
    ({"deployment": "d"}, ["d"]),
    ({"owner": {"id": "o"}, "latestDeployments": [{"id": "d"}]}, ["d", "o"]),
    ({"autoDeploy": "yes", "deployId": "d", "buildCommand": "make"}, ["d", "yes", "make"]),
    ({"_links": {"x": {"href": "/v1/deployments/d%201"}}}, ["d 1"]),
    ({"jobs": [{"id": 7}], "runtime": "node", "built_at": 5}, ["7"]),
    ({"build": {"url": "https://a.example", "text": "a b"}, "ok": True}, []),
    ({"release": {"id": "p"}}, []),
    ({"build": {f"v{n}": f"x{n}" for n in range(20)}}, [f"x{n}" for n in range(8)]),
    ({"deploy_key": "k", "deploy_token": "t", "job": {"ref": "r"}}, ["r"]),
]


@pytest.mark.parametrize(("members", "ids"), CANDIDATES)
def test_ids_of_deployments_are_sought_first_where_a_name_says_so(members: Any, ids: Any) -> None:
    assert [each.id for each in find_candidates([{"id": "p", **members}], "p")] == [*ids, "p"]


def test_of_records_alike_the_first_of_the_outermost_counts() -> None:
    body = {"x": {"y": {"id": 1}}, "a": {"id": 2}, "b": {"id": 3}}
    assert find_record(body, ["id"]).path == ("a",)


STATUSES: list[tuple[Any, Any]] = [
    ([{"status": "ok", "data": {"state": word}} for word in "ab"], ("data", "state")),
    ([{"x": "a", "status": "q"}, *[{"x": "b", "status": "r"}] * 2], ("status",)),
    ([{"life": word, "n": str(n)} for n, word in enumerate("abb")], ("life",)),
    ([{"readyState": "a"}], ("readyState",)),
    ([{"steps": [{"status": word}]} for word in "ab"], ("steps", 0, "status")),
    ([{"x": word, "steps": [{"status": word}]} for word in "ab"], ("x",)),
    ([{"status": None, "at": TIME}], None),
    ([], None),
]


@pytest.mark.parametrize(("bodies", "path"), STATUSES)
def test_the_status_is_what_changes_or_what_is_called_so(bodies: Any, path: Any) -> None:
    assert find_status(bodies) == path


# Runs


JOBS = [{"id": f"job-{number}"} for number in range(30)]
HIDDEN = on_projects(lambda body: {"id": body["id"], "name": body["name"], "jobs": JOBS})


@pytest.mark.process
def test_at_most_ten_gets_look_for_a_deployment() -> None:
    service = Service(HIDDEN)
    done = save(service)
    sought = [each for each in service.requests if "/v1/deployments/job-" in each.path]
    assert 1 < len(sought) <= 10
    why = "no deployment was read: no response names one; give --deployment ID"
    first_screen = done.stdout.splitlines()[:24]
    assert f"{why}; the profile lacks deployment, statuses" in first_screen
    assert f"finding: unseen: deployment: {why}" in done.stdout
    assert done.status == 1
    assert verify(service, "--fail-on", "broken", level="write").status == 0
    assert verify(Service(HIDDEN), level="read").status == 0
    given = verify(Service(HIDDEN), "--deployment", "d-2", level="write")
    assert given.requests["deployment"] == 1


@pytest.mark.process
def test_an_envelope_is_named_by_its_pointer() -> None:
    in_data = on("list", "deployment", body=lambda body: {"data": body})
    found = verify(Service(in_data, on("unknown", body=lambda body: {"error": body}))).parts
    for name, place in (("ProjectList", "/data"), ("Deployment", "/data"), ("Problem", "/error")):
        assert found[f"#/components/schemas/{name}"]["observed"] == f"at {place}"


@pytest.mark.process
def test_another_member_than_that_of_the_contract_may_have_the_id() -> None:
    change = put(latest_deployment_id="none-yet", build={"id": "x-4"})
    service = Service(on_projects(change), new_id="x-{1}".format)
    assert verify(service, level="write").requests["created deployment"] > 1


@pytest.mark.process
def test_a_creation_that_is_rejected_is_unseen() -> None:
    done = verify(Service(on("created", status=422)), level="write")
    why = "no project was created: 422; give --body FILE with what the service asks for"
    assert f"finding: unseen: project: {why}\n" in done.stdout
    failed = verify(Service(on("created", status=500)), level="write").stdout
    assert "finding: unseen: project: no project was created: 500\n" in failed
    done = verify(Service(), "--deployment", "nope", level="write")
    assert "finding: unseen: deployment: nope was not read: 404\n" in done.stdout


@pytest.mark.process
def test_a_deployment_is_read_whatever_names_it() -> None:
    hidden = without("latest_deployment_id")

    def linked(body: Any) -> Any:
        return {**hidden(body), "build": {"ref": body["latest_deployment_id"], "kind": "web"}}

    done = verify(Service(on_projects(linked)), level="write")
    assert done.requests["created deployment"] > 1
    own = on_projects(lambda body: {**hidden(body), "id": body["latest_deployment_id"]})
    service = Service(own, on_deployment(put(project_id=None)))
    assert verify(service, level="write").requests["created deployment"] > 1
    assert verify(service).requests["deployment"] == 1
    assert verify(Service(on_projects(linked))).requests["deployment"] == 1


@pytest.mark.process
def test_the_body_of_a_creation_may_be_given() -> None:
    service = Service()
    body = '{"app": {"name": "{name}", "plan": "{word} {created} {write}"}}'
    verify(service, level="write", body=body)
    sent = next(each.json["app"] for each in service.requests if each.method == "POST")
    assert sent["name"].startswith("stub-verify-")
    assert sent["plan"] == "{word} {created} {write}"
    for text in ("", "[]", '{"name": "x"}', '{"a": "{name}", "b": "{name}"}', '{"a": ["{name}"]}',
                 '{"a": "my-{name}"}'):  # fmt: skip
        done = verify(Service(), level="write", body=text)
        assert (done.status, "/body: " in done.stderr) == (2, True)
