"""One session of all routes: over Redis they respond as over the memory."""

from collections.abc import Callable
from typing import Any

import pytest

from stub.store import WorldStore
from tests.conftest import seed_of
from tests.replay import REQUESTS, Got, Sent, assert_same, make_app, replay

pytestmark = pytest.mark.process

PACT = "/_stub/pact"
A_PROJECT = {"state": "a project exists"}
A_DEPLOYMENT = {"state": "a deployment exists"}
STATE = {
    "projects": [
        {"name": "one", "id": "p1", "created_at": "2026-01-02T00:00:00Z", "n": [{"z": 1}]},
        {"name": "two", "created_at": "2026-01-01T00:00:00Z"},
    ],
    "deployments": [
        {"id": "d1", "project_id": "p1", "status": "failed"},
        {"id": "d2", "timeline": [{"status": "queued", "seconds": 5}, {"status": "over"}]},
    ],
}
SHOW = [Sent("GET", "/v1/projects"), Sent("GET", "/_stub/state"), Sent("GET", "/_stub/clock")]
SESSION = [
    *REQUESTS,
    *SHOW,
    # Worlds
    *(
        Sent(each.method, each.target, each.body, {"Authorization": "Bearer dev-token.other"})
        for each in (Sent("POST", "/v1/projects", {"name": "elsewhere"}), *SHOW)
    ),
    *SHOW,
    # Names, and what is returned to the letter
    Sent("POST", "/v1/projects", b'{\n"name": "caf\xc3\xa9",\r\n "x": ["\\u0000\\n", 1.10]}\n'),
    Sent("POST", "/v1/projects", b'{"name": "caf\\u00e9"}'),
    Sent("POST", "/v1/projects", {"name": "cafe\u0301"}),
    Sent("POST", "/v1/projects", {"name": 100 * "\U0001f680", "": {"id p1": "name a"}}),
    Sent("POST", "/v1/projects", {"name": " a\u2028b "}),
    *SHOW,
    # Pact
    Sent("POST", PACT, {"state": "no projects exist"}),
    Sent("POST", PACT, A_PROJECT),
    Sent("POST", PACT, {**A_PROJECT, "params": {"name": "shop"}}),
    Sent("POST", PACT, {**A_PROJECT, "params": {"name": "shop"}}),
    Sent("POST", PACT, {**A_PROJECT, "params": {"name": ""}}),
    Sent("POST", PACT, A_DEPLOYMENT),
    Sent("POST", PACT, {**A_DEPLOYMENT, "params": {"id": "d", "status": "canceled"}}),
    Sent("POST", PACT, {**A_DEPLOYMENT, "params": {"id": "d", "project_id": "nope"}}),
    Sent("POST", PACT, {"state": "our shop", "action": "setup"}),
    Sent("POST", PACT, {"state": "our shop", "action": "setup"}),
    Sent("POST", PACT, {"state": "our shop", "action": "teardown"}),
    Sent("POST", f"{PACT}?state=a+project+exists&name=by+query"),
    Sent("POST", PACT, {"state": "unknown"}),
    *SHOW,
    # The clock
    Sent("POST", "/v1/projects", {"name": "timed"}),
    Sent("POST", "/_stub/clock", {"frozen": False}),
    Sent("POST", "/_stub/clock", {"advance": 1.5}),
    Sent("POST", "/v1/projects", {"name": "later"}),
    Sent("POST", "/_stub/clock", {"advance": 3, "frozen": True}),
    Sent("POST", "/_stub/clock", {"advance": 3653 * 86400}),
    Sent("POST", "/_stub/clock", {"advance": -1}),
    *SHOW,
    # Deployments
    Sent("PUT", "/_stub/deployments/d", {"status": "failed"}),
    Sent("PUT", "/_stub/deployments/e", {"timeline": STATE["deployments"][1]["timeline"]}),
    Sent("GET", "/v1/deployments/e"),
    Sent("POST", "/_stub/clock", {"advance": 5}),
    Sent("GET", "/v1/deployments/e"),
    *SHOW,
    # Reset and state
    Sent("POST", "/_stub/reset", {"projects": [{}]}),
    Sent("POST", "/_stub/reset", STATE),
    *SHOW,
    Sent("PUT", "/_stub/deployments/d1", {"status": "queued"}),
    Sent("POST", "/v1/projects", {"name": "one"}),
    *(Sent("POST", "/v1/projects", {"name": f"more {number}"}) for number in range(9)),
    *(Sent("PUT", f"/_stub/deployments/m{number}", {"status": "failed"}) for number in range(9)),
    Sent("POST", PACT, A_PROJECT),
    *SHOW,
    Sent("POST", "/_stub/reset", {}),
    *SHOW,
    Sent("POST", "/_stub/reset"),
    *SHOW,
    # What was recorded
    Sent("GET", "/_stub/requests"),
    Sent("GET", "/_stub/coverage"),
]


def comparable(got: list[Got], session: list[Sent]) -> list[Got]:
    """The responses; nothing depends on the order of the deployments in an exported state."""
    return [
        each._replace(body=sorted_lines(each.body)) if sent.target == "/_stub/state" else each
        for sent, each in zip(session, got, strict=True)
    ]


def sorted_lines(state: bytes) -> bytes:
    lines = state.removesuffix(b"]}\n").replace(b",\n", b"\n").splitlines()
    return b"\n".join(sorted(lines))


def test_responses_are_those_of_the_memory(redis_stores: Callable[..., WorldStore]) -> None:
    shop = seed_of({"projects": [{"name": "our shop", "id": "prj_shop"}]})
    options: dict[str, Any] = {"states": {"our shop": shop}}
    options |= {"max_projects": 8, "pace": 0.5, "outcomes": [("*e*", "failed")]}
    expected = replay(make_app(**options), SESSION)
    got = replay(make_app(**options, new_store=redis_stores), SESSION)
    assert_same(comparable(got, SESSION), comparable(expected, SESSION), SESSION)
