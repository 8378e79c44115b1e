"""The list, the ids and the status of a service are found by their values."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from profiles.markers import CHOICE
from tests.profiles.conftest import profile
from tests.verify.apis import (
    BASE,
    NAME,
    Api,
    Project,
    infer_document,
    plain_deployment,
    plain_project,
    respond,
)
from tests.verify.conftest import Service, judged
from tests.verify.differences import Edit, first, on_projects, put, without
from verify.seen.candidates import find_in_bodies
from verify.seen.find_deployment import find_candidates
from verify.seen.find_places import find_places
from verify.seen.find_projects import find_arrays, find_ids, find_order
from verify.seen.hints import Hints
from verify.seen.kinds import find_kinds
from verify.seen.places import Place, Places
from verify.seen.service_log import Log, ServiceExchange
from verify.seen.status import find_status

TIME = "2026-01-01T00:00:00Z"
OLD, NEW = {"id": 1, "name": "a"}, {"id": 2, "name": "new"}

LISTS: list[tuple[Any, list[Any]]] = [
    ({"a": [OLD], "b": [OLD, NEW]}, [("b",)]),
    # Without the name, as on a first page: the outermost array of plain records.
    ({"x": {"y": [OLD]}, "z": [OLD]}, [("z",)]),
    ({"tags": ["a"], "y": [OLD]}, [("y",)]),
    ({"links": [{"rel": "up"}], "projects": [OLD]}, [("projects",)]),
    ({"count": 0, "all": []}, [("all",)]),
    ({"count": 0}, []),
    ([OLD, {**NEW, "runs": [{"name": "new"}]}], [()]),
    # Which of both it is, nothing says.
    ({"errors": [], "result": []}, [("errors",), ("result",)]),
    ({"teams": [OLD], "sites": [OLD]}, [("teams",), ("sites",)]),
]


@pytest.mark.parametrize(("body", "paths"), LISTS)
def test_the_list_is_the_array_with_the_created_project(body: Any, paths: list[Any]) -> None:
    assert find_arrays(body, "new") == paths


IDS: list[tuple[Any, list[Any], Any, list[Any]]] = [
    ({"uid": "u", "meta": {"id": 7}}, [], {"id": 7, "x": "u"}, [("meta", "id")]),
    ({"x": "c2", "service": {"id": "s2"}}, [], {"service": {"id": "s2"}}, [("service", "id")]),
    ({"ref": "r", "org": "o"}, [{"org": "o"}], {"r": "r", "o": "o"}, [("ref",)]),
    ({"at": TIME, "uid": "u"}, [], {"at": TIME, "x": "u"}, [("uid",)]),
    ({"self": "https://a.example/u", "uid": "u"}, [], {"a": "https://a.example/u", "u": "u"},
     [("uid",)]),
    ({"id": "new", "name": "new"}, [], {"id": "new", "name": "new"}, [("id",)]),
    ({"slug": "new", "name": "new"}, [], {"slug": "new", "name": "new"}, [("slug",)]),
    ({"name": "new", "latest_deployment_id": "d"}, [], {"x": "new", "y": "d"}, []),
    ({"name": "projects/7", "displayName": "new"}, [], {"name": "projects/7"}, [("name",)]),
    ({"key": "k", "code": "c"}, [], {"key": "k", "code": "c"}, [("key",), ("code",)]),
]  # fmt: skip


@pytest.mark.parametrize(("item", "others", "creation", "paths"), IDS)
def test_the_id_is_what_is_called_so_or_what_creation_and_list_alone_share(
    item: Any, others: list[Any], creation: Any, paths: list[Any]
) -> None:
    assert find_ids(item, others, creation, "new") == paths


# Members beside the id `p` of a project, and what may be the id of its deployment.
CANDIDATES: list[tuple[Any, list[str]]] = [
    ({"region": "fra", "deployment": "d"}, ["d", "fra", "p"]),
    ({"owner": {"id": "o"}, "latestDeployments": [{"id": "d"}]}, ["d", "o", "p"]),
    ({"_links": {"x": {"href": "/v1/deployments/d%201"}}}, ["d 1", "p"]),
    ({"jobs": [{"id": 7}], "built_at": TIME}, ["7", "p"]),
    ({"build": {"url": "https://a.example", "text": "a b"}, "ok": True}, ["p"]),
    ({"release": {"id": "p"}}, ["p"]),
    ({"deploy_key": "k", "deploy_token": "t", "job": {"ref": "r"}}, ["r", "p"]),
]


@pytest.mark.parametrize(("members", "ids"), CANDIDATES)
def test_ids_of_deployments_are_sought_first_where_a_name_says_so(members: Any, ids: Any) -> None:
    found = find_in_bodies([{"id": "p", **members}], "", "p")
    assert [each.id for each in found] == ids


def test_the_location_of_the_creation_may_name_the_deployment() -> None:
    fields = {"Location": "/v1/deployments/d%2F1", "Content-Location": "/v1/deployments/d-2"}
    api = Api(created=lambda _: (202, fields, None))
    creation = next(each for each in api.log().exchanges if each.is_creation)
    places = find_places(Log(BASE, (creation,)))
    assert [each.id for each in find_candidates(places, Hints())] == ["d/1"]


def test_the_location_of_a_project_names_no_deployment() -> None:
    for location, ids in (("/v1/runs/d-1", ["d-1"]), ("/v1/projects/p-1", [])):
        assert [each.id for each in find_in_bodies([], location, None)] == ids


def reads(*bodies: Any) -> list[Any]:
    return [{"id": "d", **body} for body in bodies]


STATUSES: list[tuple[Any, list[Any], bool]] = [
    ([{"status": "ok", "data": {"state": word}} for word in "ab"], [("data", "state")], False),
    (reads({"x": "a", "status": "q"}, *[{"x": "b", "status": "r"}] * 2), [("status",)], True),
    (reads(*({"life": word, "n": str(n)} for n, word in enumerate("abb"))), [("life",)], True),
    (reads({"status": "a"}), [("status",)], True),
    ([{"data": [{"status": word}]} for word in "ab"], [("data", 0, "status")], True),
    # Of several steps none tells the status.
    (reads(*({"x": w, "steps": [{"status": w}, {"status": w}]} for w in "ab")), [("x",)], True),
    ([{"status": None, "at": TIME}], [], False),
    # The place of the record itself, though a part of it changes more.
    (reads(*({"status": a, "build": {"status": b}} for a, b in ("aa", "ab", "bc"))),
     [("status",)], True),
    # It stands beside what changes.
    (reads({"status": "a", "step": "b"}, {"status": "a", "step": "c"}), [("status",)], True),
    (reads(*({"state": a, "summary": {"status": b}} for a, b in ("aa", "bb", "cb"))),
     [("state",)], True),
    (reads(*({"trace": f"r{n}", "data": {"status": "a"}} for n in range(3))),
     [("data", "status")], True),
    (reads(*({"trace": f"r{n}", "data": {"status": word}} for n, word in enumerate("abb"))),
     [("data", "status")], True),
    (reads({"status": 1}, {"status": 2}), [("status",)], True),
    # What changes beside it is no word, or one of two.
    (reads({"done": False, "n": 1}, {"done": True, "n": 2}), [], False),
    (reads({"stage": "a", "phase": "b"}, {"stage": "c", "phase": "d"}),
     [("stage",), ("phase",)], False),
]  # fmt: skip


@pytest.mark.parametrize(("bodies", "paths", "is_sure"), STATUSES)
def test_the_status_is_the_word_that_changes(bodies: Any, paths: Any, is_sure: bool) -> None:
    assert find_status(bodies) == (paths, is_sure)


# Logs


def test_a_flag_that_only_the_end_shows_is_false_before() -> None:
    def operate(project: Project) -> Any:
        done = {"done": True} if project.status else {}
        return {"id": project.deployment_id, **done}

    body = {"id": "{deployment.id}", "done": CHOICE}
    known = profile(statuses={"run": ["false", "true"]}, deployment={"body": body})
    places = find_places(Api(deployment=operate, run=(False, True)).log(), Hints(profile=known))
    assert places.words == ["false", "true", "true"]


def test_a_known_profile_says_where_things_are() -> None:
    """The names in its bodies would say otherwise."""

    def odd(project: Project) -> Any:
        return {"id": project.deployment_id, "status": "x", "at": project.status}

    api = Api(
        item=lambda each: {"id": each.number, "key": each.id, "name": each.name, "y": each.name},
        listed=lambda items: {"projects": [*items, {"id": 0}], "all": items},
        created=lambda each: (201, {}, {"key": each.id, "name": each.name}),
        deployment=odd,
    )
    known = profile(
        statuses={"run": ["x"]},
        list={"body": {"all": [{"key": "{project.id}", "y": "{deployment.id}"}]}},
        create={"body": {"key": "{project.id}"}},
        deployment={"body": {"id": "{deployment.id}", "at": "{deployment.status}"}},
    )
    places = find_places(api.log(), Hints(profile=known))
    assert (places.items_path, places.id_place) == (("all",), Place(("key",)))
    assert places.created_id == "prj_7044"
    assert (places.status_path, places.is_sure) == (("at",), True)
    assert find_candidates(places, Hints(profile=known))[0].id == NAME


def test_of_the_choices_of_a_known_profile_the_status_is_the_one_that_has_each_itself() -> None:
    choices = {"ok": {CHOICE: {"2": True, "": False}}, "at": {CHOICE: {"1": 1, "2": 2}}}
    body = {"id": "{deployment.id}", "status": "x", **choices}
    known = profile(statuses={"run": ["1", "2"]}, deployment={"body": body})
    api = Api(deployment=lambda each: {"id": each.deployment_id, "status": "x", "at": each.status})
    places = find_places(api.log(), Hints(profile=known))
    assert places.status_path == ("at",)


def test_a_given_deployment_is_followed_though_another_one_is_named() -> None:
    log = Api().log()
    others = []
    for exchange in log.exchanges:
        if exchange.purpose == "deployment":
            body = {**plain_deployment(Project(2, "sample-2", "on hold"))}
            target = "/v1/deployments/dpl_8052"
            others.append(respond(replace(exchange, target=target), 200, {}, body))
    log = Log(BASE, (*log.exchanges, *others))
    places = find_places(log, Hints(deployment="dpl_8052"))
    assert (places.deployment_id, places.owner_name, places.is_own) == (
        "dpl_8052",
        "sample-2",
        True,
    )
    assert find_places(log).deployment_id == "dpl_8054"


def test_of_several_creations_the_one_whose_deployment_was_read_most_is_followed() -> None:
    log = Api().log()
    before = [each for each in log.exchanges if each.is_creation]
    body = {"id": "prj_9", "name": "later", "latest_deployment_id": "dpl_9"}
    later = respond(replace(before[0], request_body=b'{"name": "later"}'), 201, {}, body)
    one_read = replace(
        next(each for each in log.exchanges if each.purpose == "deployment"),
        target="/v1/deployments/dpl_9",
    )
    places = find_places(recorded(Log(BASE, (*log.exchanges, later, one_read))))
    assert (places.created_name, places.deployment_id) == (NAME, "dpl_8054")


def test_in_a_recording_the_name_is_the_one_text_that_the_response_has_too() -> None:
    request = {"size": 1, "meta": {"label": "my shop", "plan": "free"}}

    def labelled(project: Project) -> Any:
        return {"kind": "web", "key": project.id, "label": "my shop"}

    places = find_places(recorded(Api(item=labelled, request=request).log()))
    assert places.created_name == "my shop"
    request = {"size": 1, "meta": {"label": "{project.name}", "plan": "free"}}
    assert places.request == request


def test_in_a_recording_the_name_is_the_text_that_is_a_name_in_the_response() -> None:
    request = {"title": "my shop", "team": "t_1"}

    def named(project: Project) -> Any:
        return {**plain_project(project), "name": "my shop", "team": "t_1"}

    places = find_places(recorded(Api(item=named, request=request).log()))
    assert places.request == {"title": "{project.name}", "team": "t_1"}


def test_a_member_without_a_name_is_no_name_of_a_project() -> None:
    places = find_places(Api(item=lambda project: {"id": project.id, "": "x"}).log())
    assert [places.find_name(item) for item in places.other_items] == ["", "", ""]


def test_what_is_not_certain_is_a_line_to_write() -> None:
    api = Api(
        item=lambda each: {"key": each.id, "code": f"c-{each.id}", "name": each.name},
        deployment=lambda each: {"ref": each.deployment_id, "done": each.status == "succeeded"},
    )
    kinds = {doubt.kind: doubt for doubt in find_places(api.log()).doubts}
    line = 'with "list": {"body": {"projects": [{"MEMBER": "{project.id}"}]}}'
    assert line in kinds["list"].advice
    assert kinds["list"].possible == "/key (string), /code (string)"
    line = '"deployment": {"body": {"MEMBER": "{deployment.status}"}}'
    assert line in kinds["deployment"].advice
    two = Api(listed=lambda items: {"a": items[:2], "b": items[:3]})
    (doubt,) = find_places(two.log()).doubts
    assert doubt.kind == "list"
    assert doubt.possible == "/a (array), /b (array)"
    skeleton = profile(list={"body": {"b": [{"name": "{project.name}"}]}})
    assert find_places(two.log(), Hints(profile=skeleton)).doubts == ()


def test_a_name_that_no_response_repeats_is_a_line_to_write() -> None:
    api = Api(request={"title": "my shop", "team": "t_1"})
    (doubt,) = find_places(recorded(api.log())).doubts
    assert doubt.kind == "create"
    assert 'with "create": {"request": {"MEMBER": "{project.name}"}, "body": {}}' in doubt.advice
    assert doubt.possible == "/title (string), /team (string)"


def recorded(log: Log) -> Log:
    """The log as somebody has recorded it."""
    exchanges = [replace(each, purpose="") for each in log.exchanges]
    return Log(log.base, tuple(exchanges))


ID = "latest_deployment_id"


@pytest.mark.parametrize("at_first", [without(ID), put(**{ID: None}), put(**{ID: ""})])
def test_an_id_that_appears_late_is_found_by_polling_the_list(at_first: Edit) -> None:
    service = Service(first(6, on_projects(at_first)))
    judged(service, "write")
    assert "/v1/deployments/d-4" in [each.path for each in service.requests]


KINDS: list[tuple[str, str, int, str, str]] = [
    ("GET", "/v1/projects", 200, "token", "list"),
    ("GET", "/v1/projects?page=2", 500, "token", "list"),
    ("GET", "/v1/projects", 304, "token", ""),
    ("GET", "/v1/projects", 401, "", "errors/token_missing"),
    ("GET", "/v1/projects", 401, "another", "errors/token_invalid"),
    ("GET", "/v1/projects", 403, "another", "errors/token_invalid"),
    ("GET", "/v1/projects", 400, "another", "errors/token_invalid"),
    ("GET", "/v1/projects", 400, "token", "list"),
    ("GET", "/v1/projects", 401, "token", "list"),  # it is accepted elsewhere
    ("GET", "/v1/projects", 403, "token", "list"),
    ("POST", "/v1/projects", 201, "token", "create"),
    ("POST", "/v1/projects", 403, "token", "create"),
    ("POST", "/v1/projects", 400, "token", "errors/malformed_json"),
    ("POST", "/v1/projects", 409, "token", "errors/name_taken"),
    ("POST", "/v1/projects", 415, "token", "errors/unsupported_media_type"),
    ("POST", "/v1/projects", 422, "token", "errors/invalid_body"),
    ("GET", "/v1/deployments/x", 200, "token", "deployment"),
    ("GET", "/v1/deployments/x", 404, "token", "errors/deployment_not_found"),
    ("GET", "/v1/deployments/x", 400, "token", ""),
    ("GET", "/v1/x", 404, "token", "errors/not_found"),
    ("DELETE", "/v1/projects", 405, "token", "errors/method_not_allowed"),
    ("GET", "/v1/users", 200, "token", ""),
]


def test_the_kind_of_a_recorded_response_follows_from_its_request() -> None:
    accepted = ServiceExchange(
        "GET", "/v1/projects", (("Authorization", "Bearer token"),), status=200
    )
    for method, target, status, token, kind in KINDS:
        fields = (("Authorization", f"Bearer {token}"),) if token else ()
        exchange = ServiceExchange(method, target, fields, b"{", status)
        found = find_kinds(Log(BASE, (accepted, exchange)))
        assert found.get(exchange, "") == kind, (method, target, status)


def test_what_was_sought_in_vain_and_what_was_asked_again_is_of_no_kind() -> None:
    kinds = {
        ("candidate", 404): "", ("candidate", 200): "deployment", ("repeated", 500): "",
        ("deployment", 404): "deployment", ("unknown path", 200): "errors/not_found",
    }  # fmt: skip
    for (purpose, status), kind in kinds.items():
        exchange = ServiceExchange("GET", "/v1/deployments/x", status=status, purpose=purpose)
        assert find_kinds(Log(BASE, (exchange,))).get(exchange, "") == kind


def test_the_order_is_that_of_the_times_else_that_of_the_created_project() -> None:
    bare = Api(item=lambda project: {"id": project.id, "name": project.name})
    orders = {
        Api(): "oldest first",
        Api(newest_first=True): "newest first",
        Api(listed=lambda items: {"projects": [items[1], items[0], *items[2:]]}): "another order",
        bare: "oldest first",
        replace(bare, newest_first=True): "newest first",
        replace(bare, listed=lambda items: {"projects": [*items[-1:], *items]}): "newest first",
    }
    for api, order in orders.items():
        assert find_order(find_places(api.log())) == order
    assert infer_document(Api(newest_first=True))["list"]["order"] == "newest first"


def test_what_was_listed_before_the_creation_is_no_created_deployment() -> None:
    def create(project: Project) -> Any:
        return 201, {}, {**plain_project(project), "deployments": [{"id": "dpl_8051"}]}

    places = find_places(Api(created=create).log())
    assert "dpl_8051" not in [each.id for each in find_candidates(places, Hints())]


def test_the_id_of_an_owner_is_not_that_of_the_project() -> None:
    for name in ("uid", "_id", "projectId", "key"):
        item = partial(own_project, name)
        api = Api(item=item, deployment=lambda each: {"id": each.deployment_id, "status": "any"})
        places = find_places(api.log())
        assert (places.created_id, places.doubts) == ("prj_7044", ()), name


def test_without_a_list_the_id_is_the_only_new_value_beside_the_name() -> None:
    def create(**more: str) -> Places:
        api = Api(item=lambda each: {**own_project("uid", each), "region": "fra", **more})
        (creation,) = api.log().creations
        return find_places(Log(BASE, (creation,)))

    assert create().created_id == "prj_7044"
    places = create(ref="r-7f3c")
    assert places.created_id is None
    (doubt,) = places.doubts
    assert doubt.advice == 'give --like FILE with "create": {"body": {"MEMBER": "{project.id}"}}'
    assert doubt.possible == "/uid (string), /ref (string)"


def test_a_project_that_begins_with_the_name_is_another() -> None:
    def item(project: Project) -> Any:
        name = f"{NAME}-staging" if project.number == 1 else project.name
        return {"id": project.id, "name": name, "note": f"fork of {NAME}"}

    places = find_places(Api(item=item).log())
    created = [each and each["id"] for each in places.created_items.values()]
    assert {*created[:2]} == {None}
    assert {*created[2:]} == {"prj_7044"}


def test_a_hint_prefers_a_value_that_is_only_the_marker() -> None:
    body = {"self": "/v1/deployments/{deployment.id}", "build": "{deployment.id}"}
    hints = Hints(profile=profile(create={"body": body}))
    assert hints.find_place("create", "deployment.id") == Place(("build",))


def test_a_flag_that_is_absent_while_running_is_false() -> None:
    done = profile(deployment={"body": {"done": {CHOICE: {"true": True}}}})
    api = Api(deployment=lambda each: {"id": each.deployment_id}, run=(None,))
    places = find_places(api.log(), Hints(profile=done))
    assert {*places.words} == {"false"}


def own_project(name: str, project: Project) -> Any:
    """Make a project that calls its id so, and has an owner with an `id`."""
    own = {name: project.id, "name": project.name, "latest_deployment_id": project.deployment_id}
    return {"owner": {"id": "usr_7"}, **own}


def test_the_order_is_that_of_the_lists_before_a_later_creation() -> None:
    log = Api(item=lambda each: {"id": each.id, "name": each.name}).log()
    (creation,) = log.creations
    later = replace(creation, request_body=b'{"name": "later"}', response_body=b'{"id": "prj_9"}')
    later = replace(later, time=log.exchanges[-1].time)
    again = [replace(each, time=later.time) for each in log.exchanges if each.is_list][-1]
    again = replace(again, response_body=again.response_body[:-2] + b', {"id": "prj_9"}]}')
    early = tuple(each for each in log.exchanges if not each.is_list)
    places = find_places(replace(log, exchanges=(*early, later, again)))
    assert find_order(places) == ""
