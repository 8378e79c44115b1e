"""The failures of --probe: which request meets one, what its client gets, and what it did then."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

import pytest

from app import create_app
from stub import StubOptions
from stub.failures import FAILURES, Failures
from tests.conftest import SAMPLE_SEED, TOKEN, eventually
from tests.live import serving
from tests.wire import Connection, call, get, port_of

OPERATIONS = ("listProjects", "createProject", "getDeployment")
SHOP = b'{"name": "shop"}'

pytestmark = pytest.mark.process


@contextmanager
def failing(name: str, **more: Any) -> Iterator[tuple[str, Failures]]:
    """A server whose operations each fail once; two threads, of which a stall takes one."""
    failures = Failures(name, **{"operations": OPERATIONS, **more})
    app = create_app(seed=SAMPLE_SEED, stub_options=StubOptions(failures=failures), max_projects=4)
    with serving(app, control_prefix="/_stub/", threads=2) as port:
        yield f"http://127.0.0.1:{port}", failures


def requests_of(url: str) -> list[tuple[str, int, str | None]]:
    journal = call(url, "/_stub/requests").json["requests"]
    return [(entry["operation"], entry["status"], entry["fault"]) for entry in journal]


def exchange(url: str, path: str, body: bytes = b"") -> bytes:
    """All bytes of the response, until the connection closes."""
    fields = ["Host: localhost", f"Authorization: Bearer {TOKEN}", "Connection: close"]
    fields += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with Connection(port_of(url)) as connection:
        connection.send(get(path, *fields, method="POST" if body else "GET") + body)
        with suppress(ConnectionResetError):
            while connection.more():
                pass
        return connection.unread


def test_an_outage_performs_nothing_and_leaves_what_would_fail() -> None:
    with failing("unavailable") as (url, failures):
        assert call(url, "/v1/deployments/none").status_code == 404
        assert call(url, "/v1/projects", body=b'{"name": "website"}').status_code == 409
        assert call(url, "/v1/projects", body=b"{}").status_code == 422
        for path, body in (
            ("/v1/projects", SHOP),
            ("/v1/projects", b""),
            ("/v1/deployments/dpl_failed", b""),
        ):
            reply = call(url, path, body=body)
            assert (reply.status_code, reply.headers["Retry-After"]) == (503, "1")
            assert reply.json["code"] == "injected_fault"
        assert len(call(url, "/v1/projects").json["projects"]) == 3
        assert call(url, "/v1/projects", body=SHOP).status_code == 201
        assert call(url, "/v1/deployments/dpl_failed").status_code == 200
        assert [each for each in requests_of(url) if each[2]] == [
            ("createProject", 503, "unavailable"),
            ("listProjects", 503, "unavailable"),
            ("getDeployment", 503, "unavailable"),
        ]
        assert {*failures.met} == {*OPERATIONS}


def test_a_lost_response_is_performed_and_has_no_byte() -> None:
    with failing("lost-response") as (url, _):
        assert exchange(url, "/v1/projects", SHOP) == b""
        assert exchange(url, "/v1/projects", SHOP).startswith(b"HTTP/1.1 409 ")
        assert exchange(url, "/v1/projects") == b""
        assert exchange(url, "/v1/projects").startswith(b"HTTP/1.1 200 ")
        assert requests_of(url)[0] == ("createProject", 201, "lost-response")
        log = call(url, "/_stub/requests?limit=1").json["requests"][0]
        assert log["response"]["body"] == ""


def test_a_cut_body_is_performed_and_ends_in_its_middle() -> None:
    with failing("cut-body") as (url, _):
        head, _, body = exchange(url, "/v1/projects", SHOP).partition(b"\r\n\r\n")
        cut, whole = (exchange(url, "/v1/projects").partition(b"\r\n\r\n")[2] for _ in range(2))
        assert cut == whole[: len(whole) // 2]
        created = json.dumps(json.loads(whole)["projects"][-1]) + "\n"
        assert head.startswith(b"HTTP/1.1 201 ")
        assert f"Content-Length: {len(created)}\r\n".encode() in head
        assert body == created.encode()[: len(created) // 2]


def test_a_stalled_response_comes_late_and_what_the_client_does_is_seen() -> None:
    with failing("stalled", stall=0.3) as (url, failures):
        assert exchange(url, "/v1/projects").startswith(b"HTTP/1.1 200 ")
        failures.stall = 20.0
        with Connection(port_of(url)) as connection:
            fields = ("Host: localhost", f"Authorization: Bearer {TOKEN}")
            connection.send(get("/v1/deployments/dpl_failed", *fields))
            eventually(lambda: "getDeployment" in failures.met)
            assert call(url, "/v1/projects").status_code == 200  # by the other thread
            assert call(url, "/_stub/requests").status_code == 200
            assert connection.is_silent()
        eventually(lambda: failures.met["getDeployment"].ended is not None)
        waited, closed = failures.met["listProjects"], failures.met["getDeployment"]
        assert waited.closed_after is None
        assert waited.ended
        assert 0.3 <= waited.ended - waited.arrived < 10
        assert closed.closed_after is not None


def test_a_fault_of_the_tests_and_an_operation_that_never_succeeded_meet_no_failure() -> None:
    with failing("lost-response", operations=("listProjects",)) as (url, failures):
        call(url, "/_stub/faults", body=b'{"delay": 0}')
        assert call(url, "/v1/projects").status_code == 200
        assert call(url, "/v1/deployments/dpl_failed").status_code == 200
        assert not failures.met


AGAIN: list[tuple[str, list[str], list[str], int]] = [
    # What was asked plain and in the run, each a path or a world, and how often it is repeated.
    ("once more", ["/v1/projects"], ["/v1/projects"] * 2, 1),
    ("twice more", ["/v1/projects"], ["/v1/projects"] * 3, 2),
    ("two tests that list", ["/v1/projects"] * 2, ["/v1/projects"] * 2, 0),
    ("given up", ["/v1/projects"], ["/v1/projects"], 0),
    ("fewer than plain", ["/v1/projects"] * 3, ["/v1/projects"] * 2, 0),
    ("another query", ["/v1/projects"], ["/v1/projects", "/v1/projects?page=2"], 0),
    ("another world", ["/v1/projects"], ["/v1/projects", "w /v1/projects"], 0),
    ("a new name", [], ["/v1/projects"] * 2, 1),
]


@pytest.mark.parametrize(("what", "plain", "run", "count"), AGAIN)
def test_a_repetition_is_a_later_request_beyond_those_of_the_plain_run(
    what: str, plain: list[str], run: list[str], count: int
) -> None:
    found = {}
    for name, asked in (("", plain), ("unavailable", run)):
        with failing(name) as (url, found[name]):
            for each in asked:
                world, _, path = each.rpartition(" ")
                call(url, path, token=f"{TOKEN}.{world}" if world else TOKEN)
    failures = found["unavailable"]
    failures.settle(found[""])
    attempt = failures.met["listProjects"]
    assert len(attempt.again_after) == count
    assert attempt.again_after == sorted(attempt.again_after)
    assert all(0 <= each < 10 for each in attempt.again_after)


def test_of_many_at_once_one_meets_the_failure() -> None:
    with failing("unavailable") as (url, _):
        replies: list[int] = []
        threads = [
            Thread(target=lambda: replies.append(call(url, "/v1/projects").status_code))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(replies) == [200] * 7 + [503]


def test_the_plain_run_knows_what_succeeded() -> None:
    with failing("", operations=()) as (url, failures):
        call(url, "/v1/projects")
        call(url, "/v1/deployments/none")
        assert failures.succeeded == {"listProjects"}
    assert FAILURES == ("unavailable", "lost-response", "cut-body", "stalled")
