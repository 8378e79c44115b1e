"""One session of all routes: over Redis they respond as over the memory."""

import json
import re
from typing import Any

import pytest

from profiles.profile import make_profile
from redis_store import RedisStores
from tests.conftest import ROOT, seed_of
from tests.replay import REQUESTS, Sent, assert_same, make_app, replay
from tests.services import DOCUMENTS

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
    # Faults
    Sent("POST", "/_stub/faults", {"operation": "createProject", "cut": 30, "delay": 2}),
    Sent("POST", "/v1/projects", {"name": "performed"}),
    Sent("POST", "/_stub/faults", {"status": 503, "retry_after": 5, "times": None}),
    *SHOW,
    Sent("DELETE", "/_stub/faults/flt_2"),
    Sent("GET", "/_stub/faults"),
    Sent("DELETE", "/_stub/faults"),
    *SHOW,
    Sent("POST", "/v1/projects", {"name": "p"}, {"Prefer": "code=409"}),
    # Grease
    Sent("PUT", "/_stub/grease", {"axes": ["ids", "list-order", "times-odd"], "seed": 3}),
    Sent("POST", "/v1/projects", {"name": "varied"}),
    *SHOW,
    # What was recorded
    Sent("GET", "/_stub/requests"),
    Sent("GET", "/_stub/coverage"),
    Sent("GET", "/_stub/worlds"),
    Sent("DELETE", "/_stub/worlds?idle=86400"),
    Sent("GET", "/_stub/worlds"),
    Sent("DELETE", "/_stub/requests"),
    Sent("GET", "/_stub/console"),
]
OPTIONS: list[dict[str, Any]] = [{}, {"like": make_profile(DOCUMENTS["vercel"]), "ids_seed": 1}]


@pytest.mark.parametrize("more", OPTIONS)
def test_responses_are_those_of_the_memory(redis_stores: RedisStores, more: dict[str, Any]) -> None:
    shop = seed_of({"projects": [{"name": "our shop", "id": "prj_shop"}]})
    options = {"states": {"our shop": shop}, "max_projects": 8, "pace": 0.5, **more}
    options["outcomes"] = [("*e*", "failed")]
    expected = replay(make_app(**options), SESSION)
    got = replay(make_app(**options, stores=redis_stores), SESSION)
    assert_same(got, expected, SESSION)
    assert "500 INTERNAL SERVER ERROR" not in [each.status for each in expected]


def test_the_session_has_each_operation_that_changes_a_world() -> None:
    sent = {(each.method, each.target.partition("?")[0]) for each in SESSION}
    paths = json.loads((ROOT / "stub/openapi.json").read_text("utf-8"))["paths"]
    for path, operations in paths.items():
        pattern = re.compile(re.sub(r"{\w+}", "[^/]+", path))
        methods = {method for method, target in sent if pattern.fullmatch(target)}
        changing = {each.upper() for each in operations} - {"GET"}
        assert changing <= methods, path
