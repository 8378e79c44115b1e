"""verify --like finds the changes since a profile was saved, and nothing else."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from profiles.ids import parse_id_example
from profiles.markers import CHOICE
from profiles.profile import Profile, make_profile
from tests.profiles.conftest import profile
from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Change, Direct, Response, Service, judged, learn
from tests.verify.differences import (
    Edit,
    on,
    on_deployment,
    on_errors,
    on_list,
    on_projects,
    put,
    without,
)
from verify.inputs import Inputs
from verify.judge import Result, judge
from verify.judges.drift import write_drift_line
from verify.judges.parts import VERDICTS
from verify.options import VerifyOptions
from verify.report import describe_result
from verify.seen.hints import Hints
from verify.seen.service_log import PROJECTS, Log, ServiceExchange

KINDS = ("broken", "differs", "drift", "unseen")  # With a profile nothing differs: it drifts.


@cache
def save_profile(service: tuple[Change, ...]) -> Profile:
    """The profile of a service as `verify` saves it."""
    return make_profile(learn(Service(*service)))


def compare(
    like: Profile, now: tuple[Change, ...], level: str = "write"
) -> tuple[Result, list[str]]:
    """A run with the profile of before; and its findings."""
    result = judged(Service(*now), level, like)
    found = [each.line.removeprefix("drift: ") for each in result.select_findings(KINDS)]
    return result, found


def inside(name: str, *cases: str) -> Change:
    return on(*cases, body=lambda body: {name: body})


def in_error(edit: Edit) -> Change:
    return on("unknown", body=lambda body: {"error": edit(body["error"])})


def renamed(old: str, new: str) -> Edit:
    return lambda body: {new if name == old else name: each for name, each in body.items()}


OWNER = on_projects(put(owner={"id": "u-1", "plan": "pro"}))
NEAR = on_projects(put(created_at="2026-01-04T09:00:00.123Z"))
TAGS = on_projects(put(tags=["a"]))
NOW = lambda _: int(time.time() * 1000)  # noqa: E731
HOSTS = [{"name": "a.example"}, {"name": "b.example"}]
STEPS = [{"id": 1}, {"id": 2, "log": "x"}]
RICH = (
    OWNER, NEAR, TAGS, on("created", body=put(at=NOW)),
    on_deployment(put(steps=STEPS, hosts=HOSTS, load=lambda _: time.time(), size=1)),
    on("list", headers={"X-Limit": "9"}),
    on_errors(lambda body: {"error": {"code": body["code"], "message": "It is so.", "at": 1}}),
)  # fmt: skip
BARE = (on("list", body=lambda body: body["projects"]),)
IN_ANOTHER_ZONE = put(created_at=lambda at: f"{at[:-1]}+01:00")


def with_ids(prefix: str) -> tuple[Change, ...]:
    """Ids of projects with a prefix, also in their deployments."""

    def rename(own_id: str) -> str:
        return f"{prefix}{own_id[2:]}7c4f"

    return on_projects(put(id=rename)), on_deployment(put(project_id=rename))


def with_time(spell: Callable[[float], object]) -> tuple[Change, ...]:
    return (on_deployment(put(at=lambda _: spell(time.time()))),)


def spelled(pattern: str) -> tuple[Change, ...]:
    return with_time(lambda now: datetime.fromtimestamp(now, UTC).strftime(pattern))


MILLISECONDS = spelled("%Y-%m-%dT%H:%M:%S.123Z")

# The service of before, what is added to it, and where that is found.
CHANGES: dict[str, tuple[tuple[Change, ...], tuple[Change, ...], list[str]]] = {
    "a bare array in an envelope": (BARE, (inside("data", "list"),), ["/list/body"]),
    "another envelope of all": ((), (inside("data", "list", "created", "deployment"),), [
        "/list/body/projects", "/create/body", f"broken: {parts.STATUS}"]),
    "arrays around records": ((), (
        on("created", "deployment", "unknown", body=lambda body: [body]),
    ), ["/create/body", f"broken: {parts.STATUS}", "/errors/not_found/body"]),
    "members, and a header field": (RICH, (
        on_projects(put(owner=renamed("plan", "tier"))),
        on("created", body=put(at=17, created_at="today")),
        on_deployment(put(steps=[{"id": 1}, {"id": 2}], load=str, size="1")),
        on_deployment(put(hosts=[{"ip": 1}, {"ip": 2}])),
        on("list", headers={"X-Limit": None}), in_error(put(at="1", code="no_route")),
        in_error(renamed("message", "msg")),
    ), ["/list/headers/X-Limit", "/list/body/projects/0/owner/plan", "/create/body/created_at",
        "/create/body/owner/plan", "/create/body/at",
        "/deployment/body/hosts/0/name", "/deployment/body/load", "/deployment/body/size",
        "/errors/not_found/body/error/code", "/errors/not_found/body/error/message",
        "/errors/not_found/body/error/at"]),
    "the code of the only error in an array": (
        (on("unknown", body=lambda _: {"errors": [{"code": 8000009, "message": "It is so."}]}),),
        (on("unknown", body=lambda _: {"errors": [{"code": 8000010, "message": "It was so."}]}),),
        ["/errors/not_found/body/errors/0/code"]),
    "statuses of responses": ((), (
        on("list", status=206), on("created", status=200), on("deployment", status=203),
        on("unknown", status=410), on("unauthorized", status=403),
    ), ["/create/status", "/list/status", "/deployment/status", "/errors/not_found/status",
        "/errors/not_found/body/status", "/errors/token_invalid/status",
        "/errors/token_invalid/body/status"]),
    "what fails": ((), (
        on("list", status=500), on("deployment", status=404), on("unknown", status=200),
    ), ["unseen: list", "unseen: deployment", "/errors/not_found/status"]),
    "no creation": ((), (on("created", status=503),), ["unseen: project"]),
    "another prefix of ids": (with_ids("prj_"), with_ids("ect_"), [
        "/list/body/projects/0/id", "/create/body/id", "/deployment/body/project_id"]),
    "milliseconds for seconds": (with_time(int), with_time(lambda now: int(now * 1000)),
                                 ["/deployment/body/at"]),
    "lost milliseconds": (MILLISECONDS, spelled("%Y-%m-%dT%H:%M:%SZ"), ["/deployment/body/at"]),
    "a lost zone": (MILLISECONDS, spelled("%Y-%m-%dT%H:%M:%S.123"), ["/deployment/body/at"]),
    "the content type, and a new status": ((), (
        on("list", headers={"Content-Type": "application/vnd.api+json"}),
        on_deployment(put(status=lambda word: "waiting" if word == "building" else word)),
    ), ["/statuses/run", "/list/content_type"]),
    "a page for people, no JSON of a deployment, and an open list": ((), (
        on("unknown", headers={"Content-Type": "text/html"}, raw=b"<p>"),
        on("deployment", raw=b"<p>"), on("anonymous", status=200),
    ), ["/errors/not_found/content_type", "/errors/not_found/body", "unseen: deployment",
        f"broken: {parts.BEARER}"]),
    "an empty list": ((), (on_list(lambda _: []),), ["unseen: list"]),
    "times of another form": ((), (
        on_projects(IN_ANOTHER_ZONE), on_deployment(IN_ANOTHER_ZONE),
    ), ["/list/body/projects/0/created_at", "/create/body/created_at",
        "/deployment/body/created_at"]),
    "another array than that of the list, and a time in another unit": (
        (on("list", body=put(errors=[])), on("created", body=put(at=NOW))),
        (on("list", body=put(projects=None)),
         on("created", body=put(at=lambda _: int(time.time())))),
        ["unseen: list", "/create/body/at"]),
    "another order, more digits in one member, and ids that are numbers": ((), (
        on_list(lambda found: [*reversed(found)]),
        on_deployment(put(created_at=lambda at: f"{at[:-1]}.456Z")),
        on_projects(put(id=lambda each: int(each[2:]))),
    ), ["/list/order", "/list/body/projects/0/id", "/create/body/id", "/deployment/body/created_at",
        "/deployment/body/project_id"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found_once_at_its_place(name: str) -> None:
    before, change, places = CHANGES[name]
    _, found = compare(save_profile(before), (*before, *change))
    assert len(found) == len(places), found
    for line, place in zip(sorted(found), sorted(places), strict=True):
        assert line.startswith(f"{place}: ")


OTHER_IDS = (on_projects(put(id=lambda each: f"other_{each}")),)

# The service of before, what is added to it, and the level of the run that finds nothing.
VARIATIONS: dict[str, tuple[tuple[Change, ...], tuple[Change, ...], str]] = {
    "ids of others in another form": ((), OTHER_IDS, "read"),
    "values, members and header fields": (RICH, (
        on_projects(put(owner={"id": "u-2", "plan": "free"}, tags=["a", "b", "c"], more={"id": 1})),
        on_projects(lambda body: dict(reversed(body.items()))),
        on_deployment(put(more=[1])), on("list", body=put(more=1)), on(headers={"X-New": "1"}),
        on_errors(lambda body: {"error": {**body["error"], "message": "Another text.", "more": 1}}),
        on_deployment(put(status=lambda word: "queued" if word == "building" else word)),
    ), "write"),
    "a charset, and an array of objects in another order": (RICH, (
        on("list", headers={"Content-Type": "application/json; charset=utf-8"}),
        on_deployment(put(steps=[*reversed(STEPS)])),
    ), "write"),
    "less": (RICH, (
        on_projects(put(owner=None, tags=[], created_at="2026-01-04T09:00:00.12Z")),
        on_deployment(put(created_at="")),
    ), "write"),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIATIONS)
def test_what_may_vary_is_no_finding(name: str) -> None:
    before, more, level = VARIATIONS[name]
    _, found = compare(save_profile(before), (*before, *more), level)
    assert found == []


def test_a_broken_part_that_has_drifted_is_one_finding_with_both() -> None:
    result, (line,) = compare(save_profile(()), (on_deployment(without("status")),))
    broken = f"broken: {parts.STATUS}: present in the contract, missing in the service"
    drift = "/deployment/body/status: present in the profile, missing in the service"
    assert line == f"{broken}; drift: {drift}"
    text = "\n".join(describe_result(result))
    assert text.count(drift) == 1
    assert f"    drift:     {drift}\n" in text
    accepted = result.select_findings(KINDS, [f"drift: {drift}"])
    for found in (result.select_findings(["broken"]), accepted):
        assert [each.line for each in found] == [broken]
    assert result.select_findings(KINDS, [line]) == []
    assert result.select_unused([line, f"drift: {drift}", "drift: /list/*"]) == ["drift: /list/*"]


def test_another_drift_of_the_response_is_a_finding_of_its_own() -> None:
    change = (on_deployment(without("status")), on_deployment(put(created_at="today")))
    _, found = compare(save_profile(()), change)
    assert [line.partition(": ")[0] for line in found] == ["/deployment/body/created_at", "broken"]


def test_with_a_profile_the_output_has_no_parts_of_the_contract() -> None:
    result, found = compare(save_profile((OWNER,)), (OWNER,))
    assert found == []
    text = "\n".join(describe_result(result))
    assert text.startswith("found: the list at /projects, ")
    assert "\nno drift from the profile" in text
    for verdict in VERDICTS:
        assert verdict not in text.replace("in the profile, but not seen", "")


def test_a_drift_is_shown_with_its_own_exchange_alone_and_what_varies_is_told() -> None:
    change = (on_projects(put(owner=None, more=1)), on_deployment(put(created_at="today")))
    result, (finding,) = compare(save_profile((OWNER,)), change)
    text = "\n".join(describe_result(result))
    assert f"\n  {finding}\n    > GET /v1/deployments/" in text
    assert text.count("    > GET ") == 1
    assert "\nvaries (no finding):\n" in text
    assert "\n  /create/body/owner: object in the profile, null in the service" in text
    assert "\ndiffers (" not in text


def test_a_read_finds_what_all_records_of_others_lack() -> None:
    other = on_projects(lambda body: {**without("owner")(body), "created_at": "?"})
    like = save_profile((OWNER,))
    missing = "/list/body/projects/0/owner: present in the profile, missing in the service"
    _, found = compare(like, (OWNER, other), level="read")
    assert found == [missing]
    lacks_one = on_list(lambda projects: [without("owner")(projects[0]), *projects[1:]])
    assert compare(like, (OWNER, lacks_one), level="read")[1] == []
    only = judged(Service(OWNER, other, sample=1), "read", like)
    assert [*map(write_drift_line, only.drifted)] == []  # There is nothing to compare it with.
    assert missing in map(write_drift_line, only.variations)


def test_a_profile_of_a_person_is_compared_where_it_says_something() -> None:
    errors = {"default": {"body": {"error": "{error.code}", "text": "{error.detail}"}}}
    created = {"body": {"id": "{project.id}", "name": "{project.name}"}}  # with any 2xx
    _, found = compare(profile(create=created, errors=errors), (on("created", status=200),))
    line = "/errors/not_found/body: members error, text in the profile, none of them in the service"
    assert line in found
    assert all(each.startswith("/errors/") for each in found)


# An example of before, one of now, and whether they may be of one form.
IDS = [
    ("prj_5d400d0a", "prj_cd18fc9f", True),
    ("prj_5d400d0a", "project_cd18fc9f", False),
    ("prj_5d400d0a", "cd18fc9f", False),
    ("jobs/5d400d0a", "jobs/cd18fc9f", True),
    ("jobs/5d400d0a", "operations/cd18fc9f", False),
    ("jobs/my6biq7mzj", "jobs/1391614558", True),
    ("jobs/my6biq7mzj", "jobs/MDSBY3B4Z2", False),
    ("jobs/my6biq7mzj", "jobs/p-my6biq7mzj", False),
    ("prj_website10", "prj_shop", True),
    ("shiny-wind-42", "calm-sea-7", True),  # words of one id alone
    ("dQwGzWgXcQ", "Wg3czQ9-w_", True),
    ("f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "0B8E7D2C-1F6A-4C3B-9D5E-7A6B5C4D3E2F", True),
    ("f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "cd18fc9f", False),
    ("dep-98", "dep-1042", True),
    ("5f2c9a4be1d07c36", "0a1b2c3d4e5f60718293", False),
    ("prj_7Yc3k9RtQw2Zb5Xn8VmL", "prj_7Yc3k9RtQw2Zb5Xn8VmLp4Hd", False),
    ("prj_7Yc3k9RtQw2Zb5Xn8VmL", "prj_4Hd9k2LmXs8Vb1Nc6Zq", True),  # base58
    ("prj_7yc3k9rtqw2zb5xn8vml", "prj_7YC3K9RTQW2ZB5XN8VML", False),
    ("prj_website", "prj_website-of-the-shop-7", True),
    ("5f2c9a4be1d07c36", "site_5f2c9a4be1d07c36", False),
    ("kemubcrdlsb9gbcnnchc", "lnxohnglqc2gyuxaubva", True),
    ("kemubcrdlsbxgbcnnchc", "lnxohnglqcxgyuxaubvaqqqq", False),
    ("kemubcrdlsb9gbcnnchc", "srv-lnxohnglqc2gyuxaubva", False),
    ("5f2c9a", "k7-q2x", True),  # too short to be one for sure
    ("01KB4X9V3T5N8Q2ZC7RD6MHJWE", "01KC0000000000000000000000", True),
    ("01KB4X9V3T5N8Q2ZC7RD6MHJWE", "dep_01KB4X9V3T5N8Q2ZC7RD6MHJWE", False),
    ("8f3a21c0", "dep_8f3a21c0", False),
    ("1234567", "dep_1234567", False),
    ("1234567", "76543210", True),
    ("x7k2q9w4zt", "dep_x7k2q9w4zt", False),
]


def test_an_id_of_another_form_is_a_change() -> None:
    for before, now, is_same in IDS:
        pattern = parse_id_example(before).pattern or ".*"
        assert (re.fullmatch(pattern, now) is not None) == is_same, (before, now)


@pytest.mark.parametrize(
    ("own_id", "line"),
    [
        (
            "{}rj_7yc3k9rtqw2z{:09d}",
            "prj_… of 16 characters in the profile, prj_… of 25 characters in the service",
        ),
        (
            "{}rj_7YC3K9RTQW{:02d}",
            "prj_… in the profile, prj_… of other characters in the service",
        ),
    ],
)
def test_an_id_of_another_length_or_case_is_described(own_id: str, line: str) -> None:
    service = Service(new_id=lambda kind, number, name: own_id.format(kind, number))
    like = profile(
        list={"body": {"projects": [{"id": "{project.id}"}]}}, ids={"projects": "prj_7yc3k9rtqw2z"}
    )
    (found,) = {*map(write_drift_line, judged(service, "write", like).drifted)}
    assert found == f"/list/body/projects/0/id: {line}"


def test_an_id_that_is_no_longer_made_from_the_name_is_drift() -> None:
    def name_id(kind: str, number: int, name: str) -> str:
        return name if kind == "p" else f"dpl_{number}"

    like = make_profile(learn(Service(new_id=name_id)))
    assert like.document["ids"]["projects"] == "{project.name}"
    assert judged(Service(new_id=name_id), "write", like).drifted == []
    lines = {*map(write_drift_line, judged(Service(), "write", like).drifted)}
    assert "/ids/projects: {project.name} in the profile, another form in the service" in lines


def test_an_id_of_a_deployment_that_is_no_longer_made_from_the_project_is_drift() -> None:
    def name_id(kind: str, number: int, name: str) -> str:
        return f"prj_5d400d0{number}" if kind == "p" else f"dep-prj_5d400d0{number}"

    like = make_profile(learn(Service(new_id=name_id)))
    assert like.document["ids"]["deployments"] == "dep-{project.id}"
    assert judged(Service(new_id=name_id), "write", like).drifted == []
    other = Service(new_id=lambda *words: name_id(*words).replace("dep-prj_", "dep-"))
    lines = {*map(write_drift_line, judged(other, "write", like).drifted)}
    assert "/ids/deployments: dep-{project.id} in the profile, another form in the service" in lines


@pytest.mark.parametrize("lost", [None, ""])
def test_no_value_in_place_of_the_id_of_a_project_is_drift(lost: str | None) -> None:
    like = {"list": {"body": {"projects": [{"id": "{project.id}"}]}}, "ids": {"projects": "p-1"}}
    service = Service(on_list(lambda projects: [{**each, "id": lost} for each in projects]))
    lines = {*map(write_drift_line, judged(service, "read", profile(**like)).drifted)}
    assert lines == {"/list/body/projects/0/id: an id in the profile, none in the service"}


def test_an_empty_array_lacks_the_id_in_it() -> None:
    def list_builds(body: Any) -> Any:
        return {**body, "builds": [{"id": body.pop("latest_deployment_id")}]}

    like = make_profile(learn(Service(on_projects(list_builds))))
    emptied = on("created", body=put(builds=[]))
    _, found = compare(like, (on_projects(list_builds), emptied))
    line = "the id of the deployment in the profile, missing in the service"
    assert found == [f"/create/body/builds/0/id: {line}"]


def test_a_creation_may_lack_what_its_request_lacks() -> None:
    creations = [b'{"name": "my shop", "team": "a"}', b'{"name": "second"}']
    service = Service()
    sent = [("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json")]
    client = Direct(service)
    requests = [ServiceExchange("POST", PROJECTS, sent, body) for body in creations]
    log = Log("http://127.0.0.1", tuple(map(client.send, requests)))
    options = VerifyOptions(har=Path("x"), save=Path("y"))
    inferred = judge(log, options, Inputs(Hints()), "").inferred
    assert inferred
    like = make_profile(inferred.document)
    assert judge(log, VerifyOptions(har=Path("x")), Inputs(Hints(profile=like)), "").drifted == []


def test_a_deployment_has_all_members_each_time() -> None:
    def lose_member(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment" and number > 0:
            del response.body["created_at"]

    _, found = compare(save_profile(()), (lose_member,))
    line = "/deployment/body/created_at: present in the profile, missing in the service"
    assert found == [line]


def test_a_creation_without_a_name_is_sent_twice_to_see_what_varies() -> None:
    service = Service()
    save = judged(service, "write", saves=True)
    assert [each.purpose for each in save.log.exchanges].count("creation without a name") == 2
    accepting = judged(Service(accepts=["name"]), "write", saves=True).log
    assert [each.purpose for each in accepting.exchanges].count("creation without a name") == 1


def test_a_status_that_is_absent_at_first_is_no_other_type() -> None:
    def omit_first(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment" and response.body["status"] == "queued":
            del response.body["status"]

    like = profile(
        statuses={"run": ["queued", "building", "succeeded"]},
        deployment={
            "body": {"status": {CHOICE: {"building": "building", "succeeded": "succeeded"}}}
        },
    )
    findings = judged(Service(omit_first), "write", like).findings
    assert [each.line for each in findings if each.kind in ("broken", "drift")] == []


def test_errors_of_one_kind_may_have_members_of_their_own() -> None:
    def name_code(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "no deployment":
            response.body = {"code": "gone", f"field-{number % 2}": ["is wrong"]}

    like = make_profile(learn(Service(name_code)))
    assert judged(Service(name_code), "write", like).drifted == []


@pytest.mark.parametrize("level", ["read", "write"])
def test_a_type_that_is_wrong_in_one_record_of_others_is_drift(level: str) -> None:
    def put_in_one(value: object) -> Change:
        return on_list(lambda projects: [put(name=value)(projects[0]), *projects[1:]])

    _, found = compare(save_profile(()), (put_in_one(7),), level)
    line = "/list/body/projects/0/name: string in the profile, number in the service"
    assert found == [line]
    _, found = compare(save_profile(()), (put_in_one(None),), level)
    assert found == []


def test_what_no_request_of_a_run_causes_is_one_line_and_no_finding() -> None:
    taken = {"name_taken": {"status": 409, "body": {"code": "taken"}}}
    like = save_profile(()).document
    like = {**like, "errors": {**like["errors"], **taken}}
    result, found = compare(make_profile(like), (), level="read")
    assert found == []
    line = "in the profile, but not seen: create, errors/invalid_body, errors/name_taken"
    assert line in describe_result(result)


def test_a_skeleton_says_no_type_of_an_id() -> None:
    numbers = {"p": 7000, "d": 8000}
    skeleton = profile(
        list={"body": {"projects": [{"id": "{project.id}"}]}},
        deployment={"body": {"id": "{deployment.id}"}},
    )
    service = Service(new_id=lambda kind, number, name: numbers[kind] + number)
    assert judged(service, "write", skeleton).drifted == []
