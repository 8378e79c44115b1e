"""One session of all routes: over Redis they respond as over the memory."""

from typing import Any

import pytest

from profiles.profile import make_profile
from redis_store import RedisStores
from tests.conftest import seed_of
from tests.replay import REQUESTS, Sent, assert_same, make_app, replay
from tests.services import DOCUMENTS

pytestmark = pytest.mark.process

PACT = "/_stub/pact"
STAGES = [{"status": "queued", "seconds": 5}, {"status": "over"}]
STATE = {
    "projects": [
        {"name": "one", "id": "p1", "created_at": "2026-01-02T00:00:00Z", "n": [{"z": 1}]},
        {"name": "two", "created_at": "2026-01-01T00:00:00Z"},
    ],
    "deployments": [
        {"id": "d1", "project_id": "p1", "status": "failed"},
        {"id": "d2", "timeline": STAGES},
    ],
}
OTHER = {"Authorization": "Bearer dev-token.other"}
SHOW = [Sent("GET", "/v1/projects"), Sent("GET", "/_stub/state"), Sent("GET", "/_stub/clock")]
SESSION = [
    *REQUESTS[:-1],  # the last one resets the world
    *SHOW,
    Sent("POST", "/v1/projects", {"name": "elsewhere"}, OTHER),
    Sent("GET", "/v1/projects", b"", OTHER),
    # Returned to the letter
    Sent("POST", "/v1/projects", b'{\n"name": "caf\xc3\xa9",\r\n "x": ["\\u0000\\n", 1.10]}\n'),
    Sent("POST", "/v1/projects", b'{"name": "caf\\u00e9"}'),
    Sent("POST", "/v1/projects", {"name": " a\u2028b ", "": {"id p1": "name \U0001f680"}}),
    # Pact
    Sent("POST", PACT, {"state": "our shop", "action": "setup"}),
    *SHOW,
    Sent("POST", PACT, {"state": "our shop", "action": "teardown"}),
    Sent("POST", PACT, {"state": "a deployment exists", "params": {"id": "d"}}),
    *SHOW,
    Sent("POST", PACT, {"state": "no projects exist"}),
    Sent("POST", PACT, {"state": "a project exists"}),
    # Time
    Sent("POST", "/_stub/clock", {"frozen": False}),
    Sent("POST", "/_stub/clock", {"advance": 1.5}),
    Sent("POST", "/_stub/clock", {"advance": 3653 * 86400}),
    Sent("PUT", "/_stub/deployments/d", {"timeline": STAGES}),
    *SHOW,
    Sent("POST", "/_stub/clock", {"advance": 5, "frozen": True}),
    Sent("GET", "/v1/deployments/d"),
    Sent("POST", "/_stub/clock", {"tick": 2.5}),
    *3 * [Sent("GET", "/v1/deployments/d")],
    *SHOW,
    # Resets, and no room
    Sent("POST", "/_stub/reset", STATE),
    *SHOW,
    *[Sent("POST", "/v1/projects", {"name": f"more {number}"}) for number in range(8)],
    *[Sent("PUT", f"/_stub/deployments/m{number}", {"status": "over"}) for number in range(9)],
    Sent("POST", PACT, {"state": "a project exists"}),
    *SHOW,
    Sent("POST", "/_stub/reset"),
    *SHOW,
    Sent("PUT", "/_stub/grease", {"axes": ["ids", "list-order", "times-odd"], "seed": 3}),
    Sent("POST", "/v1/projects", {"name": "varied"}),
    *SHOW,
    Sent("GET", "/_stub/worlds"),
    Sent("GET", "/_stub/console"),
]
OPTIONS: list[dict[str, Any]] = [{}, {"like": make_profile(DOCUMENTS["vercel"]), "ids_seed": 1}]


@pytest.mark.parametrize("more", OPTIONS)
def test_responses_are_those_of_the_memory(redis_stores: RedisStores, more: dict[str, Any]) -> None:
    shop = seed_of({"projects": [{"name": "our shop", "id": "prj_shop"}]})
    options = {"states": {"our shop": shop}, "max_projects": 8, "pace": 0.5, **more}
    expected = replay(make_app(**options), SESSION)
    assert_same(replay(make_app(**options, stores=redis_stores), SESSION), expected, SESSION)
    statuses = {each.status[:3] for each in expected}
    assert {"201", "204", "422", "507"} <= statuses
    assert "500" not in statuses
