"""What a service sees of `verify`: its requests, in their order."""

import json
import re
import time
from collections import Counter
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Response, Service, find_verdict, judged, listening, verify
from tests.verify.differences import first, on, on_deployment, on_listed, put, without
from verify.report import describe_result, list_left_behind
from verify.seen.kinds import REJECTED
from verify.seen.service_log import PROJECTS, ServiceExchange
from verify.sources.script import Plan, read_retry_after


def posts(service: Service) -> list[ServiceExchange]:
    return [each for each in service.requests if each.method == "POST"]


def statuses(service: Service, *cases: str) -> list[int]:
    """Those of the responses that are such ones."""
    return [each.status for each in service.sent if each.case in cases]


@pytest.mark.process
def test_each_request_is_safe_or_a_post_alone_and_its_token_in_one_header() -> None:
    """The base URL may have a path, and end with a slash."""
    service = Service(base="/api")
    with listening(service) as url:
        assert verify(f"{url}/", "--write").status == 0
    assert {each.method for each in service.requests} == {"GET", "POST"}
    sent = Counter(each.find_request_field("Authorization") for each in service.requests)
    (wrong,) = {*sent} - {f"Bearer {TOKEN}", ""}
    assert re.fullmatch(f"Bearer [a-z0-9]{{{len(TOKEN)}}}", wrong)
    assert sent[wrong] == sent[""] == 3
    assert {each.find_request_field("User-Agent") for each in service.requests} == {"stub-verify"}
    for each in service.requests:
        assert each.path.startswith("/api/v1/")
        others = [value for name, value in each.request_fields if name != "Authorization"]
        assert TOKEN not in f"{each.target} {others} {each.request_body!r}"


@pytest.mark.process
def test_the_program_pauses_and_waits_as_its_options_say() -> None:
    times = []
    service = Service(lambda *_: times.append(time.monotonic()))
    verify(service, "--write", "--pause", "0.03", "--wait", "5")
    assert min(after - before for before, after in pairwise(times)) >= 0.03
    assert service.deployments["d-4"]["status"] == "succeeded"


def test_one_project_is_created_with_another_name_each_time() -> None:
    names = set()
    for _ in range(2):
        service = Service(new_id="{}~{}".format)
        assert judged(service, "write").findings == []
        post, *rejected = posts(service)
        read = service.requests[service.requests.index(post) + 1]
        assert read.path == "/v1/deployments/d~4"
        assert post.find_request_field("Content-Type") == "application/json"
        assert re.fullmatch("stub-verify-[0-9a-f]{8}", post.request_json["name"])
        assert [each.request_body for each in rejected] == [b"{}"] * 3  # with and without the token
        names.add(post.request_json["name"])
    assert len(names) == 2


def test_each_is_asked_once_after_a_pause_and_a_5xx_once_more_but_for_a_post() -> None:
    service = Service()
    result = judged(service, pause=3.0)
    times = [each.sent_at for each in result.log.exchanges]
    for before, after in pairwise(times):
        assert after - before > 3
    assert {each.method for each in service.requests} == {"GET"}
    assert max(Counter(each.target for each in service.requests).values()) == 3  # with each token
    service = Service(first(1, on("anonymous", status=503)), on("unknown", status=500))
    judged(service)
    assert statuses(service, "anonymous", "unknown") == [500, 500, 503, 401, 401]
    service = Service(on("created", status=503))
    judged(service, "write")
    assert statuses(service, "created") == [503]


def test_the_list_is_read_with_the_first_status_though_its_place_is_unknown() -> None:
    renamed = on_deployment(lambda body: {**without("status")(body), "phase": body["status"]})
    service = Service(renamed)
    judged(service, "write", saves=True)
    targets = [each.target for each in service.requests]
    read = targets.index("/v1/deployments/d-4")
    assert targets[read + 1 : read + 3] == [PROJECTS, "/v1/deployments/d-4"]


def test_what_a_tolerant_service_creates_is_left_behind() -> None:
    opened = Service(opens="POST", accepts={"name"})
    exchanges = judged(opened, "write").log.exchanges
    assert [each["id"] for each in list_left_behind(exchanges)] == opened.created
    assert len(opened.created) == 4


def test_a_status_that_lasts_0_3_seconds_is_read() -> None:
    words = ("queued", "building", "linking", "succeeded")
    created: list[datetime] = []

    def move(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "created":
            created.append(request.time)
        if response.case == "deployment" and created:
            age = (request.time - created[0]).total_seconds()
            response.body["status"] = words[min(int(age / 0.3), 3)]

    result = judged(Service(move), "write", saves=True, pause=Plan(TOKEN).pause)
    assert tuple(dict.fromkeys(result.places.words)) == words


TEXT = "application/vnd.api+json"


def test_a_creation_that_is_415_is_sent_once_more_as_the_list_is() -> None:
    def unless_text(request: ServiceExchange) -> bool:
        return request.find_request_field("Content-Type") != TEXT

    service = Service(
        on("list", headers={"Content-Type": TEXT}),
        on("created", "media type", status=201, headers={"Content-Type": TEXT}),
        on("created", status=415, has=unless_text),
        accepts={"media type"},
    )
    result = judged(service, "write")
    types = [each.find_request_field("Content-Type") for each in posts(service)]
    assert types == ["application/json", TEXT, TEXT, "application/json", "application/json"]
    assert find_verdict(parts.BODY, result) == ("differs", "")
    rejected, *_ = [each for each in result.log.exchanges if each.is_creation]
    assert (rejected.status, rejected.purpose) == (415, REJECTED)


def test_an_id_is_one_segment_of_the_path() -> None:
    service = Service(on_listed(put(latest_deployment_id="../../admin?x=1#y")))
    judged(service)
    paths = [each.target for each in service.requests]
    assert "/v1/deployments/..%2F..%2Fadmin%3Fx%3D1%23y" in paths


def test_a_redirect_or_a_429_ends_the_polls() -> None:
    for status in (308, 429):

        def respond(response: Response, request: ServiceExchange, number: int) -> None:
            if response.case == "list" and number > 0:
                response.status = status  # noqa: B023

        service = Service(respond)
        judged(service, "write")
        assert statuses(service, "list") == [200, status]


def test_a_429_is_waited_for_once_and_for_ten_seconds_at_most() -> None:
    for seconds, times in (("0", 2), ("10", 2), ("11", 1)):
        service = Service(on("unknown", status=429, headers={"Retry-After": seconds}))
        result = judged(service)
        asked = [each.sent_at for each in result.log.exchanges if each.status == 429]
        assert len(asked) == times
        assert asked[-1] - asked[0] >= (times - 1) * int(seconds)


def test_a_retry_after_may_be_a_date() -> None:
    fields = [("Date", "Wed, 25 Nov 2026 20:38:08 GMT")]
    for text, seconds in (("Wed, 25 Nov 2026 20:38:13 GMT", 5.0), ("7", 7.0), ("soon", None)):
        exchange = ServiceExchange("GET", "/v1/x", response_fields=[*fields, ("Retry-After", text)])
        assert read_retry_after(exchange) == seconds


def test_a_new_deployment_that_is_not_there_yet_is_asked_for_again() -> None:
    for status in (404, 409, 412, 425):
        service = Service(first(3, on("deployment", status=status)))
        assert judged(service, "write").findings == []
        assert statuses(service, "deployment")[:4] == [status] * 3 + [200]
        late = Service(first(40, on("deployment", status=status)))  # over ten seconds
        assert judged(late, "write", wait=60.0).findings == []


def test_a_status_in_capitals_may_run_as_long_as_any() -> None:
    def build_slowly(response: Response, request: ServiceExchange, number: int) -> None:
        if response.case == "deployment":  # over ten seconds
            response.body["status"] = "BUILDING" if number < 60 else "SUCCEEDED"

    assert judged(Service(build_slowly), "write", wait=60.0).findings == []


def test_a_given_deployment_is_followed_until_it_has_ended() -> None:
    for level in ("read", "write"):
        service = Service()
        service.created.append("p-1")
        service.deployments["d-1"]["status"] = "queued"
        assert find_verdict(parts.STATUS, judged(service, level, deployment="d-1")) == ("kept", "")
        polled = [each.path for each in service.requests].count("/v1/deployments/d-1")
        assert (polled, statuses(service, "deployment")) == (5, [200, 200, 200])


FAILING = {"x-1": 403, "x-2": 405, "x-3": 500}


def moved(body: dict[str, Any]) -> dict[str, Any]:
    """A creation that has the id of its deployment behind those of something else."""
    ids = [*FAILING, body["latest_deployment_id"]]
    more = {f"build_{number}": {"id": own_id} for number, own_id in enumerate(ids)}
    return {**without("latest_deployment_id")(body), **more}


def test_candidates_go_on_after_an_error_to_one_that_is_200() -> None:
    def fail(response: Response, request: ServiceExchange, number: int) -> None:
        response.status = FAILING.get(request.deployment_id, response.status)

    listed = on_listed(without("latest_deployment_id"))
    service = Service(on("created", body=moved), fail, listed)
    assert find_verdict(parts.DEP, judged(service, "write")) == ("kept", "")
    assert {*FAILING.values()} <= {each.status for each in service.sent}


LARGE: dict[str, Any] = {
    "deep": json.loads('{"a": ' * 450 + "1" + "}" * 450),
    "long": "x" * 500_000,
    "wide": [{"id": f"p-{n}", "name": "x" * 20, "in": {"a": [1, 2]}} for n in range(1_500)],
}


def test_a_large_response_is_judged_in_little_time() -> None:
    large = on("created", "no deployment", body=put(**LARGE))
    started = time.process_time()
    result = judged(Service(large), "write", saves=True)
    assert result.findings == []
    assert time.process_time() - started < 4  # three such responses, and what the service takes
    assert len("".join(describe_result(result))) < 20_000
