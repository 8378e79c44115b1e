"""What a service sees of `verify`: its requests, in their order."""

import json
import re
import time
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from tests.verify import differences as parts
from tests.verify.conftest import (
    TOKEN,
    Request,
    Response,
    Service,
    judged,
    listening,
    told,
    verdict_of,
    verify,
)
from tests.verify.differences import first, on, on_listed, put, without
from verify.main import left_behind
from verify.privacy import Privacy
from verify.report import text_of_result
from verify.spellings import Secrets

with_process = pytest.mark.process


def asked(level: str, **more: Any) -> list[Request]:
    """The requests of a session without findings."""
    service = Service(**more)
    assert judged(service, level).findings == []
    return service.requests


@with_process
def test_each_request_is_safe_or_a_post_alone_and_its_token_in_one_header() -> None:
    service = Service()
    assert verify(service, level="write").status == 0
    assert {each.method for each in service.requests} == {"GET", "POST"}
    sent = Counter(each.header("Authorization") for each in service.requests)
    (wrong,) = {str(each) for each in sent} - {f"Bearer {TOKEN}", "None"}
    assert re.fullmatch(f"Bearer [a-z0-9]{{{len(TOKEN)}}}", wrong)
    assert sent[wrong] == sent[None] == 3
    assert {each.header("User-Agent") for each in service.requests} == {"stub-verify"}
    for each in service.requests:
        others = [value for name, value in each.headers if name != "Authorization"]
        assert TOKEN not in f"{each.target} {others} {each.body!r}"


def test_one_project_is_created_with_another_name_each_time() -> None:
    names = set()
    for _ in range(2):
        requests = asked("write")
        post, *rejected = [each for each in requests if each.method == "POST"]
        assert "/deployments/" in requests[requests.index(post) + 1].path
        assert post.header("Content-Type") == "application/json"
        assert re.fullmatch("stub-verify-[0-9a-f]{8}", post.json["name"])
        assert [each.body for each in rejected] == [b"{}", b"{}"]
        names.add(post.json["name"])
    assert len(names) == 2


def test_each_is_asked_once_and_a_5xx_once_more() -> None:
    requests = asked("read")
    assert {each.method for each in requests} == {"GET"}
    assert max(Counter(each.target for each in requests).values()) == 3  # each token, and none
    service = Service(first(1, on("anonymous", status=503)), on("unknown", status=500))
    judged(service)
    without = [each.status for each in service.sent if each.case in ("anonymous", "unknown")]
    assert sorted(without) == [401, 401, 500, 500, 503]
    failing = Service(on("created", status=503))
    judged(failing, "write")
    posts = zip(failing.requests, failing.sent, strict=True)
    assert [sent.status for each, sent in posts if each.method == "POST"] == [503, 401, 401]


def test_what_a_tolerant_service_creates_is_left_behind() -> None:
    opened = Service(opens="POST", accepts={"name"})
    exchanges = judged(opened, "write").log.exchanges
    assert [each["id"] for each in left_behind(exchanges)] == opened.created
    assert len(opened.created) == 3


TEXT = "application/vnd.api+json"


def test_a_creation_that_is_415_is_sent_once_more_as_the_list_is() -> None:
    def unless_text(request: Request) -> bool:
        return request.header("Content-Type") != TEXT

    service = Service(
        on("list", headers={"Content-Type": TEXT}),
        on("created", "media type", status=201, headers={"Content-Type": TEXT}),
        on("created", status=415, has=unless_text),
        accepts={"media type"},
    )
    found = told(judged(service, "write"))
    posts = [each for each in service.requests if each.method == "POST"]
    assert [each.header("Content-Type") for each in posts[:2]] == ["application/json", TEXT]
    assert (parts.BODY, "differs") in found


@with_process
def test_requests_are_sent_one_at_a_time_after_a_pause() -> None:
    service = Service()
    verify(service, "--pause", "0.03")
    pairs = pairwise(service.requests)
    assert min(after.at - before.until for before, after in pairs) >= 0.03


def test_ids_are_those_of_the_list_or_of_this_run_and_one_segment_of_the_path() -> None:
    paths = [each.path for each in asked("write", new_id="{}~{}".format)]
    ids = {each.split("/")[3] for each in paths if "/deployments/" in each}
    assert {each for each in ids if not each.startswith("stub-verify-")} == {"d~4"}
    strange = Service(on_listed(put(latest_deployment_id="../../admin?x=1#y")))
    judged(strange)
    assert not [each for each in strange.requests if "/admin" in each.path]


@with_process
def test_the_base_url_may_have_a_path_and_end_with_a_slash() -> None:
    service = Service(base="/api")
    with listening(service) as url:
        assert verify(f"{url}/").status == 0
    assert {each.path.startswith("/api/v1/") for each in service.requests} == {True}


@with_process
def test_redirects_are_not_followed() -> None:
    trap = Service()
    with listening(trap) as other:
        headers: dict[str, str | None] = {"Location": f"{other}/v1/projects"}
        moved = on("list", "created", status=303, headers=headers, raw=b"")
        done = verify(Service(moved), level="write")
    assert (done.requests["create"], trap.requests) == (1, [])


@pytest.mark.parametrize("status", [308, 429])
def test_a_redirect_or_a_429_ends_the_polls(status: int) -> None:
    service = Service(on("list", status=status, raw=b"", has=lambda _: bool(service.created)))
    judged(service, "write")
    assert [each.status for each in service.sent].count(status) == 1


def test_a_429_is_waited_for_once_and_for_ten_seconds_at_most() -> None:
    for seconds, times in (("0", 2), ("10", 2), ("11", 1)):
        service = Service(on("unknown", status=429, headers={"Retry-After": seconds}))
        result = judged(service)
        asked = [each.sent_at for each in result.log.exchanges if each.status == 429]
        assert len(asked) == times
        assert asked[-1] - asked[0] >= (times - 1) * int(seconds)


@with_process
def test_a_given_deployment_is_followed_until_it_has_ended() -> None:
    for level in ("read", "write"):
        service = Service()
        service.created.append("p-1")
        service.deployments["d-1"]["status"] = "queued"
        done = verify(service, "--deployment", "d-1", "--wait", "5", level=level)
        read = [each.status for each in service.requests if each.path == "/v1/deployments/d-1"]
        assert (done.status, read) == (0, [200, 200, 200, *[401] * 2]), done.stdout


def test_a_given_deployment_that_was_not_read_is_a_finding() -> None:
    failing = on("deployment", status=500)
    for own_id, reason in (("d-none", "404"), ("d-2", "500")):
        found = judged(Service(failing), deployment=own_id).findings
        line = f"unseen: deployment: {own_id} was not read: {reason}"
        assert line in [each.line for each in found]


FAILING = {"x-1": 403, "x-2": 405, "x-3": 500}


def moved(body: dict[str, Any]) -> dict[str, Any]:
    """A creation that has the id of its deployment behind those of something else."""
    ids = [*FAILING, body["latest_deployment_id"]]
    more = {f"build_{number}": {"id": own_id} for number, own_id in enumerate(ids)}
    return {**without("latest_deployment_id")(body), **more}


def test_candidates_go_on_after_an_error_to_one_that_is_200() -> None:
    def fail(response: Response, request: Request, number: int) -> None:
        name = request.path.rpartition("/")[2]
        response.status = FAILING.get(name, response.status)

    listed = on_listed(without("latest_deployment_id"))
    service = Service(on("created", body=moved), fail, listed)
    assert verdict_of(parts.DEP, service, "write") == ("kept", "")
    assert {*FAILING.values()} <= {each.status for each in service.sent}


LARGE: dict[str, Any] = {
    "deep": json.loads('{"a": ' * 450 + "1" + "}" * 450),
    "long": "x" * 3_500_000,
    "wide": [{"id": f"p-{n}", "name": "x" * 20, "in": {"a": [1, 2]}} for n in range(5_000)],
}


def test_a_large_response_is_judged_in_little_time() -> None:
    large = on("created", "no deployment", body=put(**LARGE))
    started = time.process_time()
    result = judged(Service(large), "write", saves=True)
    assert result.findings == []
    assert time.process_time() - started < 6  # three such responses, and what the service takes
    assert len("".join(text_of_result(result))) < 20_000


def test_many_values_of_others_are_kept_out_in_little_time() -> None:
    others = [f"value number {number} of them" for number in range(20_000)]
    privacy = Privacy(
        Secrets(), "https://x.example", others=[others], own=[], names=[], strangers=[]
    )
    texts = {f"m{number}": f"some text {number} beside it" for number in range(10_000)}
    started = time.process_time()
    cleaned = privacy.clean_around({**texts, "last": f"see {others[7]}."}, "/list")
    assert cleaned == {**texts, "last": "text"}
    assert time.process_time() - started < 6  # each text with each value takes half a minute
