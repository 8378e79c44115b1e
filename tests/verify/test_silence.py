"""A run passes only if it saw what it set out to see."""

from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from profiles.profile import Profile, make_profile
from tests.profiles.conftest import profile
from tests.verify.conftest import TOKEN, Change, Response, Service, judged, learn, verify
from tests.verify.differences import (
    AWAY,
    HTML,
    on,
    on_deployment,
    on_list,
    on_listed,
    on_projects,
    put,
    without,
)
from tests.verify.test_har import har_of, record
from tests.verify.test_record import Proxy
from verify.inputs import Inputs
from verify.judge import VerifyFinding, judge
from verify.options import VerifyOptions
from verify.report import describe_result
from verify.seen.hints import Hints
from verify.seen.service_log import PROJECTS, Log, ServiceExchange
from verify.sources.har import read_har
from verify.sources.script import NotVerifiable

DEFAULT = ("broken", "leaks", "drift", "unseen")  # what ends a run with 1


def after(times: int, change: Change) -> Change:
    """A change of the responses of each case after the first ones."""
    return lambda response, request, number: (
        change(response, request, number) if number >= times else None
    )


def breaking(case: str) -> dict[str, Change]:
    """The ways in which the responses of a case show nothing any more."""
    own = partial(on, case)
    statuses = (400, 401, 403, 404, 422, 429, 500, 502, 503)
    ways = {str(status): own(status=status) for status in statuses}
    return ways | {
        "moved": own(status=302, headers=AWAY, raw=b""),
        "a page": own(status=200, headers={"Content-Type": HTML}, raw=b"<p>Log in.</p>"),
        "empty": own(status=200, raw=b""),
        "cut off": own(status=200, raw=b'{"id": "'),
        "no response": own(failure="timed out"),
    }


def stuck(response: Response, request: ServiceExchange, number: int) -> None:
    if response.case == "deployment":
        response.body["status"] = "queued"


def accept_nobody(response: Response, request: ServiceExchange, number: int) -> None:
    """Respond to a list without a token as to one with it."""
    if response.case == "anonymous" and request.is_list:
        response.status = 200
        response.body = {"projects": [{"id": "p-4", "name": "my shop"}]}
        response.headers["Content-Type"] = "application/json"


def lose_status(response: Response, request: ServiceExchange, number: int) -> None:
    """Name the status `phase`, and leave it out at the end; the status of a check stays."""
    if response.case == "deployment":
        phase = response.body.pop("status")
        response.body["check"] = {"status": "passed"}
        if phase != "succeeded":
            response.body["phase"] = phase


WAYS: dict[str, Change] = {
    **{f"list {name}": after(1, change) for name, change in breaking("list").items()},
    **{f"deployment {name}": after(1, change) for name, change in breaking("deployment").items()},
    **{f"creation {name}": change for name, change in breaking("created").items()},
    "an empty list": after(1, on_list(lambda _: [])),
    "a list of null": after(1, on("list", body=lambda _: None)),
    "a list that is moved": after(1, on("list", body=lambda body: {"items": body["projects"]})),
    "a third list of texts": after(2, on_listed(lambda project: project["id"])),
    "a deployment that stays": stuck,
    "a deployment that loses its status": lose_status,
    "a deployment without its id": after(1, on_deployment(without("id"))),
    "a deployment with a number as status": after(1, on_deployment(put(status=500))),
    "a third list without it": after(2, on_list(lambda projects: projects[:3])),
    "a list of empty records": after(1, on_listed(lambda _: {})),
    "a deployment without a status": after(1, on_deployment(without("status"))),
    "a deployment that is another": after(1, on_deployment(put(id="d-0"))),
    "a deployment that is another, but for a link": after(1, on_deployment(
        lambda body: {**body, "id": "d-0", "ref": body["id"]})),
    "a POST without a token 422": on("anonymous", "unauthorized", status=422,
                                     has=lambda each: each.method == "POST"),
    "a POST without a token 404": on("anonymous", "unauthorized", status=404,
                                     has=lambda each: each.method == "POST"),
    "all 401": on(status=401),
    "all 403": on(status=403),
    "all 429": on(status=429),
    "all 500": on(status=500),
    "all a page": on(status=200, headers={"Content-Type": HTML}, raw=b"<p>"),
    "all empty": on(status=200, raw=b""),
}  # fmt: skip


@cache
def like() -> Profile:
    return make_profile(learn(Service()))


def ask(change: Change, hints: Hints, folder: Path) -> list[VerifyFinding]:
    """The findings of a session."""
    result = judged(Service(change), "write", hints.profile)
    return result.select_findings(DEFAULT)


def judge_log(log: Log, options: VerifyOptions, hints: Hints) -> list[VerifyFinding]:
    return judge(log, options, Inputs(hints), "").select_findings(DEFAULT)


def read_recording(change: Change, hints: Hints, folder: Path) -> list[VerifyFinding]:
    (folder / "har").write_bytes(har_of(record(Service(change))))
    return judge_log(read_har(folder / "har"), VerifyOptions(har=folder / "har"), hints)


def pass_on(change: Change, hints: Hints, folder: Path) -> list[VerifyFinding]:
    """The findings of what a command has asked."""
    proxy = Proxy(change)
    proxy.call("GET", PROJECTS)
    proxy.create()
    for _ in range(3):
        proxy.call("GET", "/v1/deployments/d-4")
        proxy.call("GET", PROJECTS)
    proxy.call("GET", PROJECTS, token="")
    for token in ("", "wrong-token-5"):
        proxy.call("POST", PROJECTS, "{}", token=token, Content_Type="application/json")
    return judge_log(proxy.recorder.log(), VerifyOptions(url="x", words=["true"]), hints)


SOURCES = {"URL": ask, "HAR": read_recording, "COMMAND": pass_on}


@pytest.mark.parametrize("source", SOURCES)
def test_a_service_that_is_whole_passes(source: str, tmp_path: Path) -> None:
    for hints in (Hints(), Hints(profile=like())):
        found = SOURCES[source](lambda *_: None, hints, tmp_path)
        assert [each.line for each in found] == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_way_to_break_after_a_good_response_ends_with_0(source: str, tmp_path: Path) -> None:
    silent = []
    both = [Hints(), Hints(profile=like())]
    for (name, change), hints in product(WAYS.items(), both):
        if source == "HAR" and "without a token" in name:
            continue  # that recording has none
        if source == "URL" and name in ("a third list of texts", "a third list without it"):
            continue  # It reads two lists.
        if source == "HAR" and not hints.profile and name in ("creation 400", "creation 422"):
            continue  # The body may have been wrong, and without a profile a good list is enough.
        try:
            found = SOURCES[source](change, hints, tmp_path)
        except (NotVerifiable, ValueError):
            continue  # nothing was seen at all: the status is 2
        if not found:
            silent.append((name, hints.profile is not None))
    assert silent == []
    assert len(WAYS) >= 40


def test_an_unknown_deployment_that_exists_is_broken() -> None:
    """All ids name the same deployment then, or none is looked up."""
    exists = on("no deployment", status=200, body=lambda _: {"errors": ["gone"]})
    for like_it in (None, like()):
        result = judged(Service(exists), "write", like_it)
        (found,) = [each.line for each in result.select_findings(["broken"])]
        line = "the deployment of this id in the contract, 200 for an unknown id in the service"
        assert line in found


def test_a_deployment_that_goes_back_has_not_ended() -> None:
    def go_back(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment" and number > 2:
            response.body["status"] = "building"

    findings = judged(Service(go_back), "write", like()).select_findings(["unseen"])
    assert [each.line for each in findings] == [
        "unseen: deployment: its end: the deployment stayed building"
    ]


def test_a_further_page_may_lack_the_created_project() -> None:
    page = on_list(lambda projects: [{**projects[0], "name": str(n), "id": n} for n in range(9)])
    proxy = Proxy(after(1, page))
    proxy.create()
    for _ in range(2):
        proxy.call("GET", PROJECTS)
    options = VerifyOptions(url="x", words=["true"])
    assert judge_log(proxy.recorder.log(), options, Hints()) == []


def test_a_rejected_creation_without_a_name_whose_body_is_cut_off_is_unseen() -> None:
    cut = on("invalid", failure="the connection was cut off")
    findings = judged(Service(cut), "write").select_findings(["unseen"])
    line = "unseen: creation without a name: the connection was cut off"
    assert [each.line for each in findings] == [line]


def test_a_flag_is_not_called_a_broken_status() -> None:
    def finish(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment":
            response.body["done"] = response.body.pop("status") == "succeeded"

    (found,) = judged(Service(finish), "write").select_findings(DEFAULT)
    choice = '{"{deployment.status}": {"true": true, "false": false}}'
    assert f"or for a boolean {choice} in place of the marker" in found.line


@pytest.mark.parametrize(
    ("level", "advice"),
    [
        ("read", "give --deployment ID, or --write"),
        ("write", 'give --deployment ID, or --like FILE with "create"'),
    ],
)
def test_a_deployment_that_no_response_names_has_an_advice(level: str, advice: str) -> None:
    hidden = on_projects(without("latest_deployment_id"))
    findings = judged(Service(hidden), level).select_findings(["unseen"])
    assert any(f"no response names a deployment; {advice}" in each.line for each in findings)


def test_the_only_array_of_objects_is_the_list() -> None:
    service = Service(
        on("list", body=lambda body: [{"key": each["id"]} for each in body["projects"]])
    )
    result = judged(service)
    assert (result.places.items_path, result.places.doubts) == ((), ())


def test_an_unknown_status_that_stays_is_not_an_end() -> None:
    def stay(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment":
            response.body["status"] = "provisioning"

    line = '"statuses": {"run": ["provisioning"]}'
    advice = f"give a longer --wait, or if that is its end, --like FILE with {line}"
    hints = profile(statuses={"run": ["provisioning"]})
    for like_it, lines in (
        (None, [f"unseen: deployment: its end: the deployment stayed provisioning; {advice}"]),
        (hints, []),
    ):
        findings = judged(Service(stay), "write", like_it).select_findings(["unseen"])
        assert [each.line for each in findings] == lines


def test_what_is_unseen_has_the_reason_of_its_last_response() -> None:
    advice = "give --body FILE with what the service asks for, and the text {name}"
    reasons = {
        "list 401": "list: 401: the token is not accepted for this",
        "list a page": "list: 200, but its body is not JSON",
        "deployment 404": "deployment: 404",
        "deployment no response": "deployment: timed out",
        "creation 500": "project: no project was created: 500",
        "creation 400": f"project: no project was created: 400; {advice}",
        "creation 422": f"project: no project was created: 422; {advice}",
        "an empty list": "list: the created project is not in it",
        "a deployment that stays": "deployment: its end: the deployment stayed queued",
    }
    for name, reason in reasons.items():
        findings = judged(Service(WAYS[name]), "write").select_findings(["unseen"])
        assert f"unseen: {reason}" in [each.line for each in findings], name


@pytest.mark.parametrize("source", ["HAR", "COMMAND"])
def test_a_recording_must_have_the_deployment_that_a_person_named(
    source: str, tmp_path: Path
) -> None:
    for given, lines in (
        ("d-4", []),
        ("d-none", ["unseen: deployment: --deployment d-none was not read"]),
    ):
        found = SOURCES[source](lambda *_: None, Hints(deployment=given), tmp_path)
        assert [each.line for each in found] == lines


@pytest.mark.parametrize("changed", [{}, None], ids=["empty", "null"])
def test_a_recording_is_judged_by_its_last_creation_and_its_last_list(changed: Any) -> None:
    wrapped = on("list", body=lambda _: [{"a": {"id": "p-1"}}])
    proxy = Proxy(
        wrapped,
        after(1, on("list", body=lambda _: changed)),
        after(1, on("created", body=lambda _: changed)),
    )
    for _ in range(2):
        proxy.create()
        proxy.call("GET", PROJECTS)
    options = VerifyOptions(url="x", words=["true"])
    lines = {each.line for each in judge_log(proxy.recorder.log(), options, Hints())}
    assert {
        "unseen: list: no array is at the top any more",
        "unseen: project: no member of an earlier record is in it",
    } <= lines
    found = judge_log(proxy.recorder.log(), options, Hints(profile=like()))
    assert ("drift: /create/body: object in the profile, null in the service" in {
        each.line for each in found
    }) == (changed is None)  # fmt: skip


@pytest.mark.parametrize("status", [404, 429, 503])
def test_a_record_after_an_error_is_seen(status: int, tmp_path: Path) -> None:
    reject = on("deployment", status=status, body=lambda _: {"message": "Please wait."})

    def reject_first(response: Response, request: ServiceExchange, number: int) -> None:
        if number == 0:
            reject(response, request, number)

    assert pass_on(reject_first, Hints(), tmp_path) == []


def test_an_earlier_list_without_projects_may_have_null(tmp_path: Path) -> None:
    empty = on("list", body=lambda _: {"projects": None, "links": [{"rel": "self"}]})

    def empty_first(response: Response, request: ServiceExchange, number: int) -> None:
        if number == 0:
            empty(response, request, number)

    assert pass_on(empty_first, Hints(), tmp_path) == []


def test_the_reason_for_nothing_is_that_of_a_request_with_the_token() -> None:
    with pytest.raises(ValueError, match="nothing could be checked: 500"):
        judged(Service(on("list", "deployment", status=500)))


def test_an_outage_is_not_saved_as_an_error_of_the_service() -> None:
    outage = on("no deployment", status=503)
    inferred = judged(Service(outage), "write", like(), saves=True).inferred
    assert inferred
    assert inferred.document["errors"]["deployment_not_found"]["status"] == 404
    assert "/errors/deployment_not_found stays as it was: the status was 503" in inferred.notes


def test_a_status_whose_place_is_uncertain_is_not_broken() -> None:
    def name_two(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment":
            response.body["state"] = response.body["stage"] = response.body.pop("status")

    found = judged(Service(name_two), "write").select_findings(DEFAULT)
    assert [each.kind for each in found] == ["unseen"]


def test_a_finding_of_a_recording_shows_no_id_of_others() -> None:
    proxy = Proxy(on_deployment(put(created_at=5)))
    proxy.call("GET", "/v1/deployments/d-1")
    result = judge(
        proxy.recorder.log(), VerifyOptions(url="x", words=["true"]), Inputs(Hints()), ""
    )
    text = "\n".join(describe_result(result))
    assert "  probe:     GET /v1/deployments/{id}" in text
    assert "d-1" not in text


def test_a_recording_may_end_without_projects_if_it_has_a_deletion() -> None:
    endings: list[Any] = [[], None, {}]
    for empty in endings:
        for method, lines in (
            ("DELETE", []),
            ("GET", ["unseen: list: the created project is not in it any more"]),
        ):
            deleted = on("unknown", status=204, raw=b"")
            proxy = Proxy(after(2, on("list", body=put(projects=empty))), deleted)
            proxy.create()
            for _ in range(2):
                proxy.call("GET", PROJECTS)
            proxy.call(method, f"{PROJECTS}/p-4")
            proxy.call("GET", PROJECTS)
            options = VerifyOptions(url="x", words=["true"])
            found = judge_log(proxy.recorder.log(), options, Hints())
            assert [each.line for each in found] == lines, (method, empty)


def test_two_creations_are_judged_by_their_own_names() -> None:
    def rename_second(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "created" and number == 1:
            response.body["name"] = "another"

    def lose_id(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "created" and number == 1:
            del response.body["id"]

    name = "the name as it was sent in the profile, another one in the service"
    for change, lines in (
        (lambda *_: None, []),
        (rename_second, [f"drift: /create/body/name: {name}"]),
        (lose_id, ["drift: /create/body/id: present in the profile, missing in the service"]),
    ):
        proxy = Proxy(change)
        proxy.create()
        for _ in range(3):
            proxy.call("GET", "/v1/deployments/d-4")
        proxy.call("POST", PROJECTS, '{"name": "second"}', Content_Type="application/json")
        proxy.call("GET", PROJECTS)
        options = VerifyOptions(url="x", words=["true"])
        found = judge_log(proxy.recorder.log(), options, Hints(profile=like()))
        assert [each.line for each in found if each.kind == "drift"] == lines


@pytest.mark.parametrize("method", ["DELETE", "GET"])
def test_a_created_deployment_that_is_404_is_unseen_unless_it_was_deleted(method: str) -> None:
    proxy = Proxy(on("unknown", status=204, raw=b""))
    proxy.create()
    proxy.call("GET", PROJECTS)
    proxy.service.deployments.clear()
    proxy.call(method, f"{PROJECTS}/p-4")
    proxy.call("GET", "/v1/deployments/d-4")
    options = VerifyOptions(url="x", words=["true"])
    lines = [each.line for each in judge_log(proxy.recorder.log(), options, Hints())]
    assert lines == ([] if method == "DELETE" else ["unseen: deployment: 404"])


def test_an_accepted_creation_without_a_name_is_a_record() -> None:
    def lose_record(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "created" and number == 1:
            response.body = {"errors": ["no name"]}

    for changes, lines in (
        ([], []),
        ([lose_record], ["201, but no member of an earlier record is in it"]),
    ):
        service = Service(*changes, accepts=["name"])
        findings = judged(service, "write").select_findings(["unseen"])
        expected = [f"unseen: creation without a name: {line}" for line in lines]
        assert [each.line for each in findings] == expected


@pytest.mark.parametrize("status", [302, 404, 418])
def test_a_creation_without_a_name_must_be_accepted_or_rejected(status: int) -> None:
    findings = judged(Service(on("invalid", status=status)), "write").select_findings(["unseen"])
    assert [each.line for each in findings] == [f"unseen: creation without a name: {status}"]


def test_a_recorded_list_without_a_token_must_be_rejected() -> None:
    proxy = Proxy(accept_nobody)
    proxy.create()
    for token in (TOKEN, ""):
        proxy.call("GET", PROJECTS, token=token)
    options = VerifyOptions(url="x", words=["true"])
    (found,) = judge_log(proxy.recorder.log(), options, Hints())
    proxy = Proxy(accept_nobody)
    proxy.create()
    proxy.call("GET", PROJECTS)
    proxy.client.set_cookie("session", "1")  # It is a page in a browser.
    proxy.call("GET", PROJECTS, token="")
    assert judge_log(proxy.recorder.log(), options, Hints()) == []
    assert found.line == (
        "broken: #/components/securitySchemes/bearer: rejected in the contract, accepted with 200 "
        "in the service"
    )


@pytest.mark.process
def test_an_unseen_line_can_be_known_and_nothing_at_all_is_status_2(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("unseen: list: *\nunseen: deployment: *\n")
    service = Service(after(1, on("list", status=500)), on_projects(without("id")))
    assert verify(service, "--write").status == 1
    assert verify(service, "--write", "--known", f"{tmp_path}/known").status == 0
    profile = tmp_path / "profile"
    done = verify(Service(on(status=500)), "--write", "--save", str(profile))
    assert (done.status, profile.exists()) == (2, False)
