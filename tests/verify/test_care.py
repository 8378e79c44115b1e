"""What a service sees of `verify`: its requests, in their order."""

import json
import re
from collections import Counter
from itertools import pairwise

import pytest

from tests.program import run
from tests.verify.changes import first, of_listed, on, put
from tests.verify.service import TOKEN, Request, Service, listening
from tests.verify.verified import LEVELS, verify

pytestmark = pytest.mark.process


def asked(level: str, *options: str, service: Service | None = None) -> list[Request]:
    service = service or Service()
    assert verify(service, *options, level=level).status == 0
    return service.requests


@pytest.mark.parametrize("level", LEVELS)
def test_each_request_is_safe_or_a_post_alone_and_its_token_in_one_header(level: str) -> None:
    requests = asked(level)
    safe = {"GET", "HEAD", "OPTIONS"}
    assert {each.method for each in requests} == (safe if level == "read" else {*safe, "POST"})
    assert {each.in_flight for each in requests} == {1}
    sent = Counter(each.header("Authorization") for each in requests)
    wrong = {str(each) for each in sent} - {f"Bearer {TOKEN}", "Basic c3R1YjpzdHVi", "None"}
    (credential,) = wrong
    assert re.fullmatch(f"Bearer [a-z0-9]{{{len(TOKEN)}}}", credential)
    assert sent[credential] == sent[None] == (2 if level == "read" else 3)
    for each in requests:
        others = [value for name, value in each.headers if name != "Authorization"]
        assert TOKEN not in f"{each.target} {others} {each.body!r}"


def test_one_project_is_created_with_another_name_each_time() -> None:
    names = set()
    for _ in range(2):
        post, *rejected = [each for each in asked("write") if each.method == "POST"]
        assert post.header("Content-Type") == "application/json"
        assert re.fullmatch("stub-verify-[0-9a-f]{8}", post.json["name"])
        assert [each.body for each in rejected] == [b"{}", b"{}"]
        names.add(post.json["name"])
    assert len(names) == 2


def test_each_is_asked_once_and_a_5xx_once_more() -> None:
    counts = Counter((each.method, each.target) for each in asked("read"))
    assert max(counts.values()) == 4  # the list: with, without, another token, and Basic
    service = Service(first(1, on("method", status=503)), first(9, on("unknown", status=500)))
    done = verify(service)
    options = [each.status for each in service.requests if each.method == "OPTIONS"]
    assert options == [503, 405, 503, 405]
    assert "list, OPTIONS              agrees; once 503\n" in done.stdout
    assert sum(each.status == 500 for each in service.requests) == 2
    failing = Service(on("created", status=503))
    verify(failing, level="write")
    assert [each.status for each in failing.requests if each.method == "POST"] == [503, 401, 401]


def test_abusive_bodies_are_those_that_the_contract_rejects() -> None:
    service = Service()
    posts = [each for each in asked("abuse", service=service) if each.method == "POST"]
    assert sorted(each.status for each in posts) == [201, 400, 401, 401, 409, 413, 415, *[422] * 3]
    assert max(len(each.body) for each in posts) < 80 * 1024
    assert len(service.created) == 1
    assert len(service.requests) <= 40


def test_what_a_tolerant_service_creates_has_another_name_each_time_and_is_told() -> None:
    service = Service(needs_media_type=False, limit=1 << 20, takes_ids=True, unique=False)
    done = verify(service, level="abuse")
    assert len(service.created) == 5
    assert [each["id"] for each in done.report["created"]] == service.created
    names = [each["name"] for each in service.projects[3:]]
    assert len({*names}) == 4  # one is sent again
    for each in (*names, *service.created):
        assert f'"{each}"' in done.stdout


def test_what_a_post_without_a_token_creates_is_told() -> None:
    service = Service(opens="POST", needs_name=False)
    done = verify(service, level="write")
    assert len(service.created) == 3
    assert [each["id"] for each in done.report["created"]] == service.created


def test_there_is_a_pause_between_requests() -> None:
    requests = asked("read", "--pause", "0.03")
    assert min(after.at - before.until for before, after in pairwise(requests)) >= 0.03


def test_the_pause_is_a_fifth_of_a_second() -> None:
    service = Service(on(status=401))  # which ends the run
    with listening(service) as url:
        run("verify", url, env={"VERIFY_TOKEN": TOKEN})
    before, after = service.requests
    assert after.at - before.until >= 0.2


def test_ids_are_those_of_the_list_or_of_this_run_and_one_segment_of_the_path() -> None:
    service = Service(id_form="{}~{}")
    asked("abuse", service=service)
    ids = {each.path.split("/")[3] for each in service.requests if "/deployments/" in each.path}
    assert {each for each in ids if not each.startswith("stub-verify-")} == {"d~1", "d~4"}
    strange = Service(of_listed(put(latest_deployment_id="../../admin?x=1#y")))
    verify(strange)
    assert not [each for each in strange.requests if "/admin" in each.path]


def test_the_base_url_may_end_with_a_slash_or_have_a_path() -> None:
    for base, end in (("", "/"), ("/api", ""), ("/api", "/")):
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
    assert json.dumps([each.headers for each in proxy.requests]) == "[]"
