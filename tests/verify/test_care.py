"""What a service sees of `verify`: its requests, in their order."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from tests.contract import CREATED
from tests.verify.conftest import TOKEN, Request, Service, listening, verify
from tests.verify.differences import first, on, on_deployment, on_listed, put

pytestmark = pytest.mark.process


def asked(level: str, *options: str, **more: object) -> list[Request]:
    """The requests of a run without findings."""
    service = Service(**more)  # type: ignore[arg-type]
    assert verify(service, *options, level=level).status == 0
    return service.requests


@pytest.mark.parametrize(("level", "methods"), [("read", {"GET"}), ("abuse", {"GET", "POST"})])
def test_each_request_is_safe_or_a_post_alone_and_its_token_in_one_header(
    level: str, methods: set[str]
) -> None:
    requests = asked(level)
    assert {each.method for each in requests} == {"OPTIONS", *methods}
    sent = Counter(each.header("Authorization") for each in requests)
    (wrong,) = {str(each) for each in sent} - {f"Bearer {TOKEN}", "None"}
    assert re.fullmatch(f"Bearer [a-z0-9]{{{len(TOKEN)}}}", wrong)
    assert sent[wrong] == sent[None] == len(methods) + 1
    for each in requests:
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
    counts = Counter((each.method, each.target) for each in asked("read"))
    assert max(counts.values()) == 3  # with, without, and another token
    service = Service(first(1, on("method", status=503)), first(9, on("unknown", status=500)))
    done = verify(service)
    options = [each.status for each in service.requests if each.method == "OPTIONS"]
    assert options == [503, 405, 405]
    assert "list, OPTIONS              agrees; sent again after a 503\n" in done.stdout
    assert sum(each.status == 500 for each in service.requests) == 2
    failing = Service(on("created", status=503))
    verify(failing, level="write")
    assert [each.status for each in failing.requests if each.method == "POST"] == [503, 401, 401]


def test_abusive_bodies_are_those_that_the_contract_rejects() -> None:
    posts = [each for each in asked("abuse") if each.method == "POST"]
    statuses = sorted(each.status for each in posts)
    assert statuses == [CREATED, 400, 401, 401, 409, 413, 415, 415, 422, 422, 422]
    assert max(len(each.body) for each in posts) < 80 * 1024


def test_what_a_tolerant_service_creates_has_another_name_each_time_and_is_told() -> None:
    service = Service(accepts={"media type", "large", "id", "taken"})
    done = verify(service, level="abuse")
    assert [each["id"] for each in done.report["created"]] == service.created
    names = [each["name"] for each in service.projects[3:]]
    assert (len(names), len({*names})) == (6, 5)  # one is sent again
    for each in (*names, *service.created):
        assert f'"{each}"' in done.stdout
    opened = Service(opens="POST", accepts={"name"})
    assert len(verify(opened, level="write").report["created"]) == len(opened.created) == 3


def test_requests_are_sent_one_at_a_time_after_a_pause() -> None:
    requests = asked("read", "--pause", "0.03")
    assert min(after.at - before.until for before, after in pairwise(requests)) >= 0.03


def test_ids_are_those_of_the_list_or_of_this_run_and_one_segment_of_the_path() -> None:
    paths = [each.path for each in asked("abuse", new_id="{}~{}".format)]
    ids = {each.split("/")[3] for each in paths if "/deployments/" in each}
    assert {each for each in ids if not each.startswith("stub-verify-")} == {"d~1", "d~4"}
    strange = Service(on_listed(put(latest_deployment_id="../../admin?x=1#y")))
    verify(strange)
    assert not [each for each in strange.requests if "/admin" in each.path]


def test_the_base_url_may_end_with_a_slash_or_have_a_path() -> None:
    for base, end in (("", "/"), ("/api", "")):
        service = Service(base=base)
        with listening(service) as url:
            assert verify(url + end).status == 0
        assert {each.path.startswith(f"{base}/v1/") for each in service.requests} == {True}


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Service()
    with listening(proxy) as url:
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", "")
        assert verify(Service()).status == 0
    assert proxy.requests == []


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
    done = verify(service, "--wait", "5", level="write")
    assert done.requests["created is listed"] == 1


def test_a_429_with_its_time_is_asked_once_more() -> None:
    limited = Service(first(1, on(status=429, headers={"Retry-After": "0"})))
    done = verify(limited, level="write")
    asked = [done.requests[name] for name in ("list", "create", "list, wrong token")]
    assert (done.status, asked) == (0, [2, 2, 2]), done.stdout
    assert "list                       agrees; sent again after a 429" in done.stdout


@pytest.mark.parametrize(("seconds", "times"), [("1", 2), ("11", 1), ("soon", 1)])
def test_a_429_is_waited_for_once_and_for_ten_seconds_at_most(seconds: str, times: int) -> None:
    service = Service(on("unknown", status=429, headers={"Retry-After": seconds}))
    assert verify(service).requests["unknown path"] == times
    asked = [each.at for each in service.requests if each.status == 429]
    assert asked[-1] - asked[0] >= times - 1


def test_a_deployment_that_changes_no_more_is_followed_no_longer() -> None:
    done = verify(Service(on_deployment(put(status="new"))), "--wait", "3", level="write")
    assert 1 < done.requests["created deployment"] < 30
