"""A service that misbehaves is a sentence and status 2, or what could not be checked."""

import socket
import time
from collections import Counter
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

import pytest

from tests.verify import misbehaving
from tests.verify.changes import of_projects, on, put
from tests.verify.misbehaving import endless, limited, redirects
from tests.verify.parts import UNKNOWN, Difference, unchecked
from tests.verify.service import TOKEN, Request, Response, Service, listening, plain
from tests.verify.verified import Verified, find, verify
from tests.wire import free_port

pytestmark = [pytest.mark.process, pytest.mark.slow]


def assert_nothing_checked(done: Verified) -> None:
    """Status 2, and a sentence of why."""
    assert done.status == 2, done
    assert done.stderr.strip() or done.stdout.strip()
    assert TOKEN not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", misbehaving.NOTHING_CHECKED)
def test_nothing_can_be_checked_and_nothing_is_created(name: str) -> None:
    service = misbehaving.NOTHING_CHECKED[name]()
    assert_nothing_checked(verify(service, level="abuse"))
    assert {each.method for each in service.requests} <= {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("difference", misbehaving.PARTLY, ids=lambda each: each.name)
def test_what_misbehaves_in_one_place_could_not_be_checked_there(difference: Difference) -> None:
    done = find(difference)
    assert "\x1b" not in done.stdout + done.stderr


def test_nobody_listens() -> None:
    assert_nothing_checked(verify(f"http://127.0.0.1:{free_port()}", level="abuse"))


def test_the_name_has_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*args: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert_nothing_checked(verify("http://service.invalid"))


def test_a_redirect_is_not_followed_to_another_origin() -> None:
    trap = Service()
    with listening(trap) as other:
        done = verify(Service(redirects(f"{other}/v1/projects")), level="abuse")
    assert_nothing_checked(done)
    assert trap.requests == []


@pytest.mark.parametrize(
    ("case", "status"),
    [("created", 303), ("deployment", 307), ("unknown", 301), ("anonymous", 302)],
)
def test_a_redirect_in_one_place_is_not_followed(case: str, status: int) -> None:
    trap = Service()
    with listening(trap) as other:
        headers = {"Location": f"{other}/v1/projects", "Refresh": f"0; url={other}"}
        service = Service(on(case, status=status, headers=headers, raw=b""))
        verify(service, level="abuse")
    assert trap.requests == []
    assert {each.path.split("/")[1] for each in service.requests} == {"v1"}


def test_a_redirect_to_a_path_of_its_own_is_not_followed() -> None:
    service = Service(on("unknown", status=302, headers={"Location": "/v1/secret"}, raw=b""))
    verify(service)
    assert "/v1/secret" not in {each.path for each in service.requests}


def test_retry_after_is_obeyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.service.MAX_RETRY_AFTER", 1.0)  # so long, and no longer
    service = Service(limited(1, "1", "unknown"))
    assert verify(service).status == 0
    asked = [each for each in service.requests if each.status in (404, 429)]
    first = next(each for each in asked if each.status == 429)
    following = service.requests[service.requests.index(first) + 1]
    assert following.target == first.target
    assert following.at - first.until >= 1


@pytest.mark.parametrize("value", ["11", "86400"])
def test_a_long_retry_after_is_not_obeyed(value: str) -> None:
    service = Service(limited(10**6, value, "unknown"))
    verify(service)
    assert sum(each.status == 429 for each in service.requests) == 1


def test_a_probe_ends_with_its_second_429() -> None:
    service = Service(limited(10**6, "0", "unknown"))
    verify(service)
    assert sum(each.status == 429 for each in service.requests) == 2


def test_a_body_is_read_to_4_mib() -> None:
    service = Service(write=endless)
    verify(service)
    in_sockets = 60  # MiB that the system may hold; without a limit it is all that fits into 10 s
    assert max(each.status for each in service.requests) <= 4 + in_sockets


def test_a_creation_that_is_cut_off_is_not_repeated_but_told() -> None:
    """The record may exist: whoever reads that has its name."""
    write = misbehaving.at("created", write=misbehaving.sends(b"HTTP/1.1 201 Created\r\nX"))
    service = Service(write=write)
    done = verify(service, level="write")
    posts = [each for each in service.requests if each.method == "POST"]
    assert len(posts) == 1
    assert posts[0].json["name"] in done.stdout + done.stderr
    assert [each["name"] for each in done.report["created"]] == [posts[0].json["name"]]


@pytest.mark.parametrize("name", misbehaving.SLOW)
def test_after_three_timeouts_nothing_more_is_asked(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.verify.service.TIMEOUT", 0.5)
    service = misbehaving.SLOW[name]()
    done = verify(service, level="abuse")
    assert_nothing_checked(done)
    assert done.stdout.count("could not check: timeout") == 2
    assert len(service.requests) <= 3  # the server may read them later


def test_a_service_that_accepts_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.service.TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        for _ in range(8):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        assert_nothing_checked(verify(f"http://127.0.0.1:{server.getsockname()[1]}"))


def test_timeouts_that_are_not_in_a_row_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.service.TIMEOUT", 2.0)  # for the other responses, too

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        is_first = not any(each.method == "OPTIONS" for each in service.requests[:-1])
        is_slow = response.case == "unknown" or (request.method == "OPTIONS" and is_first)
        (misbehaving.waits() if is_slow else plain)(handler, request, response)

    service = Service(write=write)
    done = verify(service)
    assert done.found == unchecked(UNKNOWN)


def test_polls_end_after_three_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.service.TIMEOUT", 1.0)

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        is_slow = service.created and request.method == "GET"
        (misbehaving.waits() if is_slow else plain)(handler, request, response)

    service = Service(write=write)
    started = time.monotonic()
    done = verify(service, "--wait", "30", level="write")
    assert time.monotonic() - started < 25
    assert [each["requests"] for each in done.report["probes"]][-7:] == [3, *[0] * 6]
    assert len(done.report["created"]) == 1


@pytest.mark.parametrize("member", ["id", "name", "latest_deployment_id"])
def test_text_that_is_no_unicode_is_told_as_other_text(member: str) -> None:
    """JSON may have half of a character (RFC 8259 §8.2)."""
    edit = of_projects(put(**{member: "S"}))
    ascii_only = misbehaving.framed(
        lambda response, data: misbehaving.head(response) + data.replace(b'"S"', b'"\\ud800"')
    )
    done = verify(Service(edit, write=ascii_only), level="write")
    assert done.status in (0, 1)
    assert len(done.report["created"]) == 1


def test_a_429_ends_the_polls() -> None:
    def limited_later(response: Response, request: Request, number: int) -> None:
        if service.created and request.method == "GET":
            on(status=429, headers={"Retry-After": "0"})(response, request, number)

    service = Service(limited_later)
    verify(service, level="write")
    assert len(service.created) == 1
    targets = Counter(each.target for each in service.requests if each.status == 429)
    assert targets.pop("/v1/projects") <= 2
    assert sum(targets.values()) <= 8


def test_a_deployment_that_changes_no_more_is_followed_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cli.verify.session.STILL", 0.0)
    done = verify(Service(ends=False), "--wait", "3", level="write")
    requests = {each["name"]: each["requests"] for each in done.report["probes"]}
    assert requests["created deployment"] == 1
