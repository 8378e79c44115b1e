"""What verify finds in bodies without names: the list, the ids, the deployment, the status."""

from pathlib import Path
from typing import Any

import pytest

from cli.verify.places import find_candidates, find_id, find_items, find_status
from tests.verify.conftest import Service, verify
from tests.verify.differences import on, on_deployment, on_projects, put, without

OLD, NEW = {"id": 1, "name": "a"}, {"id": 2, "name": "new"}


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ([], [NEW], ()),
        ({"x": {"y": [OLD]}}, {"x": {"y": [OLD, NEW]}}, ("x", "y")),
        ({"a": [OLD], "b": [OLD]}, {"a": [OLD], "b": [OLD, NEW]}, ("b",)),
        # Without the name, the one that has grown.
        ({"a": [OLD, OLD], "b": [OLD]}, {"a": [OLD, OLD], "b": [OLD, {"id": 2}]}, ("b",)),
        # Nothing has grown, as on a first page: the outermost array of objects.
        ({"x": {"y": [OLD]}, "z": [OLD]}, {"x": {"y": [OLD]}, "z": [OLD]}, ("z",)),
        ({"tags": ["a"], "y": [OLD]}, {"tags": ["a"], "y": [OLD]}, ("y",)),
        ({"all": [OLD], "projects": [OLD]}, {"all": [OLD], "projects": [OLD]}, ("projects",)),
        ({"ids": [1, 2], "items": [NEW]}, {"ids": [1, 2, 3], "items": [OLD, NEW]}, ("items",)),
        ({"count": 0}, {"count": 0}, None),
        # Of several with the name, the one whose item is most like the creation.
        (
            {"log": [], "projects": [OLD]},
            {"log": [{"of": "new"}], "projects": [OLD, NEW]},
            ("projects",),
        ),
        ({"teams": [{"of": [OLD]}]}, {"teams": [{"id": 9, "of": [OLD, NEW]}]}, ("teams", 0, "of")),
        ([OLD], [OLD, {**NEW, "runs": [{"name": "new"}]}], ()),
    ],
)
def test_the_list_is_the_array_with_the_created_project(before: Any, after: Any, path: Any) -> None:
    assert find_items(after, before, "new", NEW) == path


@pytest.mark.parametrize(
    ("item", "others", "creation", "path"),
    [
        ({"id": "p2", "name": "new"}, [OLD], {"data": {"id": "p2"}}, ("id",)),
        ({"meta": {"id": 7}, "uid": "u"}, [], {"id": 7, "x": "u"}, ("meta", "id")),
        ({"x": "c2", "service": {"id": "s2"}}, [], {"service": {"id": "s2"}}, ("service", "id")),
        ({"ref": "r", "org": {"id": "o"}}, [{"org": {"id": "o"}}], {"r": "r", "o": "o"}, ("ref",)),
        ({"at": "2026-01-01T00:00:00Z", "uid": "u"}, [], {"at": "2026-01-01T00:00:00Z", "u": "u"},
         ("uid",)),
        ({"id": "new", "name": "new"}, [], {"id": "new", "name": "new"}, ("id",)),
        ({"name": "new", "latest_deployment_id": "d"}, [], {"x": "new", "y": "d"}, None),
        ({"uuid": "p2", "latest_deployment": {"id": "d"}}, [], {"uuid": "p2", "x": "d"}, ("uuid",)),
        ({"name": "projects/7", "displayName": "new"}, [], {"name": "projects/7"}, ("name",)),
    ],
)  # fmt: skip
def test_the_id_is_what_creation_and_list_share_alone(
    item: Any, others: Any, creation: Any, path: Any
) -> None:
    assert find_id(item, others, creation, "new") == path


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        ({"id": "p", "latest_deployment_id": "d"}, ["d", "p"]),
        ({"id": "p", "deployment": "d"}, ["d", "p"]),
        ({"id": "p", "owner": {"id": "o"}, "latestDeployments": [{"id": "d"}]}, ["d", "o", "p"]),
        (
            {"id": "p", "autoDeploy": "yes", "deployId": "d", "buildCommand": "make"},
            ["d", "yes", "make", "p"],
        ),
        ({"id": "p", "_links": {"x": {"href": "/v1/deployments/d%201"}}}, ["d 1", "p"]),
        ({"id": "p", "jobs": [{"id": 7}], "runtime": "node", "built_at": 5}, ["7", "p"]),
        ({"id": "p", "build": {"url": "https://a.example", "text": "a b"}, "ok": True}, ["p"]),
        ({"id": "p", "release": {"id": "p"}}, ["p"]),
        (
            {"id": "p", "build": {f"v{n}": f"x{n}" for n in range(20)}},
            [*(f"x{n}" for n in range(8)), "p"],
        ),
        ({"id": "p", "deploy_key": "k", "deploy_token": "t", "job": {"ref": "r"}}, ["r", "p"]),
    ],
)
def test_ids_of_deployments_are_sought_first_where_a_name_says_so(body: Any, ids: Any) -> None:
    assert [each.id for each in find_candidates([body], "p")] == ids


@pytest.mark.parametrize(
    ("bodies", "path"),
    [
        (
            [{"status": "ok", "data": {"state": "a"}}, {"status": "ok", "data": {"state": "b"}}],
            ("data", "state"),
        ),
        (
            [{"x": "a", "status": "q"}, {"x": "b", "status": "r"}, {"x": "b", "status": "r"}],
            ("status",),
        ),
        ([{"life": "a", "n": "1"}, {"life": "b", "n": "2"}, {"life": "b", "n": "3"}], ("life",)),
        ([{"readyState": "a"}], ("readyState",)),
        ([{"steps": [{"status": "a"}]}, {"steps": [{"status": "b"}]}], ("steps", 0, "status")),
        ([{"x": "a", "steps": [{"status": "a"}]}, {"x": "b", "steps": [{"status": "b"}]}], ("x",)),
        ([{"status": None, "at": "2026-01-01T00:00:00Z"}], None),
        ([], None),
    ],
)
def test_the_status_is_what_changes_or_what_is_called_so(bodies: Any, path: Any) -> None:
    assert find_status(bodies) == path


# Runs


@pytest.mark.process
def test_at_most_ten_gets_look_for_a_deployment() -> None:
    jobs = [{"id": f"job-{number}"} for number in range(30)]
    service = Service(
        on_projects(lambda body: {"id": body["id"], "name": body["name"], "jobs": jobs})
    )
    done = verify(service, level="write")
    sought = [each for each in service.requests if "/v1/deployments/job-" in each.path]
    assert 1 < len(sought) <= 10
    why = "no deployment was read: no response names one; give --deployment ID"
    assert done.stdout.splitlines().index(why) < 24  # in the first screen
    assert f"finding: unseen: deployment: {why}" in done.stdout
    assert done.status == 1
    assert verify(service, "--fail-on", "broken", level="write").status == 0
    assert verify(Service(*service.changes), level="read").status == 0


@pytest.mark.process
def test_what_a_profile_will_lack_is_in_the_first_screen(tmp_path: Path) -> None:
    hidden = on_projects(without("latest_deployment_id"))
    done = verify(Service(hidden), "--save", str(tmp_path / "p"), level="write")
    first = done.stdout.splitlines()[:24]
    why = "no deployment was read: no response names one; give --deployment ID"
    assert f"{why}; the profile lacks deployment, statuses" in first


@pytest.mark.process
def test_an_envelope_is_named_by_its_pointer() -> None:
    def around(body: Any) -> Any:
        return {"data": body}

    error = on("unknown", body=lambda body: {"error": body})
    service = Service(on("list", body=around), on_deployment(around), error)
    parts = verify(service).parts
    schemas = "#/components/schemas/"
    for name, place in (("ProjectList", "/data"), ("Deployment", "/data"), ("Problem", "/error")):
        assert parts[schemas + name]["observed"] == f"at {place}"


@pytest.mark.process
def test_another_member_than_that_of_the_contract_may_have_the_id() -> None:
    def change(body: Any) -> Any:
        return {**body, "latest_deployment_id": "none-yet", "build": {"id": body["id"]}}

    def deployment(body: Any) -> Any:
        return {**body, "id": body["project_id"]}

    service = Service(on_projects(change), on_deployment(deployment))
    service.deployments = Aliases(service.deployments)
    assert verify(service, level="write").requests["created deployment"] > 1
    jobs = [{"id": f"job-{number}"} for number in range(30)]
    many = Service(on_projects(lambda x: {"id": x["id"], "name": x["name"], "jobs": jobs}))
    assert verify(many, "--deployment", "d-2", level="write").requests["deployment"] == 1


class Aliases(dict[str, Any]):
    """Deployments that are found by the ids of their projects, too."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.replace("p", "d"), default)


@pytest.mark.process
def test_a_creation_that_is_rejected_is_unseen() -> None:
    done = verify(Service(on("created", status=422)), level="write")
    why = "no project was created: 422; give --body FILE with what the service asks for"
    assert f"finding: unseen: project: {why}\n" in done.stdout
    done = verify(Service(), "--deployment", "nope", level="write")
    assert "finding: unseen: deployment: nope was not read: 404\n" in done.stdout


@pytest.mark.process
def test_a_deployment_is_read_whatever_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.session.STILL", 0.1)
    hidden = without("latest_deployment_id")

    def linked(body: Any) -> Any:
        return {**hidden(body), "build": {"ref": body["latest_deployment_id"], "kind": "web"}}

    done = verify(Service(on_projects(linked)), level="write")
    assert done.requests["created deployment"] > 1
    own = on_projects(lambda body: {**hidden(body), "id": body["latest_deployment_id"]})
    service = Service(own, on_deployment(put(project_id=None)))
    assert verify(service, level="write").requests["created deployment"] > 1
    assert verify(Service(on_projects(linked))).requests["deployment"] == 1


@pytest.mark.process
def test_the_body_of_a_creation_may_be_given(tmp_path: Any) -> None:
    file = tmp_path / "body.json"
    file.write_text('{"app": {"name": "{name}", "plan": "{word} {created} {write}"}}', "utf-8")
    service = Service()
    verify(service, "--body", str(file), level="write")
    sent = next(each.json for each in service.requests if each.method == "POST")
    assert (sent["app"]["name"][:12], sent["app"]["plan"]) == (
        "stub-verify-",
        "{word} {created} {write}",
    )
    for text in ("", "[]", '{"name": "x"}', '{"a": "{name}", "b": "{name}"}', '{"a": ["{name}"]}',
                 '{"a": "my-{name}"}'):  # fmt: skip
        file.write_text(text, "utf-8")
        done = verify(Service(), "--body", str(file), level="write")
        assert (done.status, str(file) in done.stderr) == (2, True)
