"""What a service sees of `verify`: its requests, in their order."""

import base64
import json
import re
from collections import Counter
from itertools import pairwise

import pytest

from tests.program import run
from tests.verify.changes import on, put
from tests.verify.service import TOKEN, Request, Service, listening
from tests.verify.verified import LEVELS, verify

pytestmark = [pytest.mark.process, pytest.mark.slow]

SAFE = {"GET", "HEAD", "OPTIONS"}


def asked(level: str, *options: str, service: Service | None = None) -> list[Request]:
    service = service or Service()
    assert verify(service, *options, level=level).status == 0
    return service.requests


def created(requests: list[Request]) -> list[Request]:
    return [each for each in requests if each.method == "POST"]


@pytest.mark.parametrize("level", LEVELS)
def test_the_methods_are_safe_or_post(level: str) -> None:
    methods = {each.method for each in asked(level)}
    assert methods == (SAFE if level == "read" else {*SAFE, "POST"})


def test_one_project_is_created() -> None:
    (post,) = created(asked("write"))
    assert post.json["name"].startswith("stub-verify-")
    assert len(post.json["name"]) > len("stub-verify-") + 3
    assert set(post.json) > {"name"}
    assert post.header("Content-Type") == "application/json"


def test_each_run_creates_another_name() -> None:
    names = {created(asked("write"))[0].json["name"] for _ in range(3)}
    assert len(names) == 3


def test_abusive_bodies_are_those_that_the_contract_rejects() -> None:
    service = Service()
    posts = created(asked("abuse", service=service))
    statuses = [each.status for each in posts]
    assert statuses.count(201) == 1
    assert {*statuses} == {201, 400, 409, 413, 415, 422}
    assert len(service.created) == 1
    for status in {*statuses} - {201}:
        assert statuses.count(status) % 2 == 0, status
    assert max(len(each.body) for each in posts) < 80 * 1024


def test_an_abusive_body_has_another_name_each_time() -> None:
    service = Service(needs_media_type=False, limit=1 << 20, takes_ids=True)
    done = verify(service, level="abuse")
    assert len(service.created) >= 7
    left = {each["id"] for each in done.report["created"]}
    assert left == {*service.created}
    for each in service.created:
        assert each in done.stdout + done.stderr
    for project in service.projects[3:]:
        assert project["name"].startswith("stub-verify-")


@pytest.mark.parametrize("level", LEVELS)
def test_the_token_is_in_one_header_alone(level: str) -> None:
    requests = asked(level)
    for each in requests:
        others = [value for name, value in each.headers if name.lower() != "authorization"]
        sent = f"{each.target} {others} {each.body!r}"
        assert TOKEN not in sent
        authorization = each.header("Authorization")
        if authorization is not None and authorization != f"Bearer {TOKEN}":
            scheme, _, value = authorization.partition(" ")
            assert scheme == "Basic"
            assert TOKEN.encode() not in base64.b64decode(value)
    kinds = [str(each.header("Authorization")).split()[0] for each in requests]
    assert {*kinds} == {"Bearer", "Basic", "None"}


@pytest.mark.parametrize("level", LEVELS)
def test_one_request_at_a_time(level: str) -> None:
    requests = asked(level, "--pause", "0.02")
    assert {each.in_flight for each in requests} == {1}
    for one, following in pairwise(requests):
        assert following.at >= one.at


def test_there_is_a_pause_between_requests() -> None:
    requests = asked("abuse", "--pause", "0.05")
    for one, following in pairwise(requests):
        assert following.at - one.at >= 0.05, (one.target, following.target)


def test_the_pause_is_a_fifth_of_a_second() -> None:
    service = Service(on("list", status=302))  # which ends the run
    with listening(service) as url:
        run("verify", url, env={"VERIFY_TOKEN": TOKEN})
    gaps = [b.at - a.at for a, b in pairwise(service.requests)]
    assert gaps
    assert min(gaps) >= 0.2


def test_ids_are_those_of_the_list_or_of_this_run() -> None:
    service = Service(id_form="{}~{}")
    asked("abuse", service=service)
    ids = {each.path.split("/")[3] for each in service.requests if "/deployments/" in each.path}
    unknown = ids - {*service.deployments}
    assert "d~4" in ids
    assert {each[:12] for each in unknown} == {"stub-verify-"}
    listed_or_created = {"d~1", "d~2", "d~3", "d~4"}
    assert ids - unknown <= listed_or_created


def test_an_id_is_one_segment_of_the_path() -> None:
    edit = put(latest_deployment_id="../../admin?x=1#y")
    service = Service(on("list", body=put(projects=lambda each: [edit(one) for one in each])))
    verify(service)
    for each in service.requests:
        assert each.path.startswith("/v1/"), each.target
        assert "/admin" not in each.path


def test_the_number_of_requests_is_small() -> None:
    assert len(asked("read")) <= 30
    assert len(asked("abuse")) <= 60


def test_safe_probes_are_asked_twice() -> None:
    kinds = Counter(
        (each.method, re.sub("=.*|stub-verify-.*", "", each.target), each.header("Authorization"))
        for each in asked("read")
    )
    assert {each for each, count in kinds.items() if count % 2} == set()


def test_the_base_url_may_end_with_a_slash_or_have_a_path() -> None:
    for base, end in (("", "/"), ("/api", ""), ("/api", "/")):
        service = Service(base=base)
        with listening(service) as url:
            assert verify(url + end).status == 0
        assert {each.path.startswith(f"{base}/v1/") for each in service.requests} == {True}


def test_proxies_of_the_environment_do_not_get_the_token() -> None:
    proxy = Service()
    with listening(proxy) as url:
        env = {"VERIFY_TOKEN": TOKEN, "http_proxy": url, "HTTP_PROXY": url, "ALL_PROXY": url}
        verify(Service(), env=env)
    assert TOKEN not in json.dumps([each.headers for each in proxy.requests])
