"""Grease: what the contract marks as free varies, axis by axis, and nothing else does."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from app import create_app
from records import timeline_of
from stub import StubOptions
from tests.conftest import SAMPLE_SEED, START, Clock, client_of, control_client_of, counting_ids
from tests.contract import V1, assert_invalid
from tests.stub.greased import AXES, TIER_1

SENT = (
    '{"name": "n\\u0061me", "n": [1.10, -0, 1e2, 12345678901234567890], "o": {"z": 1, "a": "\\/"}}'
)


def greased(axes: tuple[str, ...], grease_seed: int, **options: Any) -> FlaskClient:
    """A client that checks each response, varied or not, against the contract."""
    options = {"clock": Clock(), "new_id": counting_ids(), "seed": SAMPLE_SEED, **options}
    return client_of(
        create_app(stub_options=StubOptions(grease=axes, grease_seed=grease_seed), **options)
    )


def create(client: FlaskClient) -> Any:
    return client.post("/v1/projects", data=SENT, content_type="application/json")


def parsed(response: Any) -> Any:
    return json.loads(response.data)


def media_type(response: Any) -> Any:
    return response.mimetype.lower()


def closed_model(client: FlaskClient) -> None:
    deployment = parsed(client.get("/v1/deployments/dpl_failed"))
    assert {*deployment} == {"id", "project_id", "status", "created_at"}


def closed_list(client: FlaskClient) -> None:
    assert {*parsed(client.get("/v1/projects"))} == {"projects"}


def known_members_in_order(client: FlaskClient) -> None:
    known = ["id", "project_id", "status", "created_at"]
    members = parsed(client.get("/v1/deployments/dpl_failed"))
    assert [name for name in members if name in known] == known


def text_as_it_was(client: FlaskClient) -> None:
    text = client.get("/v1/deployments/dpl_failed").text
    assert re.search(r'"id": "dpl_failed"[,}]', text) or not text.startswith("{")
    assert text.startswith("{")


def known_headers(client: FlaskClient) -> None:
    headers = {*client.get("/v1/projects").headers.keys()} - {"Stub-Grease"}
    assert headers == {"Content-Type", "Cache-Control", "Content-Length"}


def pattern_of_ids(client: FlaskClient) -> None:
    assert parsed(create(client))["id"].count("_") == 1


def id_as_it_is_in_a_path(client: FlaskClient) -> None:
    path = f"/v1/deployments/{parsed(create(client))['latest_deployment_id']}"
    assert client.get(path).status_code == 200


def three_digits_of_a_second(client: FlaskClient) -> None:
    moment = parsed(client.get("/v1/deployments/dpl_failed"))["created_at"]
    assert re.search(r":\d\d\.\d{3}(?!\d)", moment)


def common_times(client: FlaskClient) -> None:
    """What the parsers of Go, Java, Python 3.11 and zod read."""
    moment = parsed(client.get("/v1/deployments/dpl_failed"))["created_at"]
    assert re.fullmatch(
        r"[\d-]+T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)", moment
    )


def newest_last(client: FlaskClient) -> None:
    listed = [project["id"] for project in parsed(client.get("/v1/projects"))["projects"]]
    assert listed == ["prj_website", "prj_billing", "prj_search"]


def closed_set_of_statuses(client: FlaskClient) -> None:
    status = parsed(client.get("/v1/deployments/dpl_building"))["status"]
    assert status in ("queued", "building", "succeeded", "failed", "canceled")


def exact_201(client: FlaskClient) -> None:
    assert create(client).status_code == 201


def text_of_errors(client: FlaskClient) -> None:
    problem = parsed(client.get("/v1/deployments/x"))
    assert (problem["title"], problem["detail"][:13]) == ("Not Found", "No deployment")


def exact_media_type(client: FlaskClient) -> None:
    assert client.get("/v1/projects").headers["Content-Type"] == "application/json"


BRITTLE: list[tuple[str, Callable[[FlaskClient], None]]] = [
    ("members", closed_model),
    ("members", closed_list),
    ("member-order", known_members_in_order),
    ("json-text", text_as_it_was),
    ("headers", known_headers),
    ("ids", pattern_of_ids),
    ("times", three_digits_of_a_second),
    ("list-order", newest_last),
    ("status-values", closed_set_of_statuses),
    ("success-code", exact_201),
    ("error-text", text_of_errors),
    ("media-type", exact_media_type),
    ("times-odd", common_times),
    ("ids-encoded", id_as_it_is_in_a_path),
]


@pytest.mark.parametrize(("axis", "client_code"), BRITTLE)
def test_a_brittle_client_fails_under_its_own_axis_and_no_other(
    axis: str, client_code: Callable[[FlaskClient], None]
) -> None:
    broken = []
    others = tuple(each for each in AXES if each != axis)
    # It looks at a text which the other axes vary, too: so one by one.
    sets = [(each,) for each in others] if client_code is text_as_it_was else [others]
    for seed in range(6):
        for each in sets:
            client_code(greased(each, seed))
        try:
            client_code(greased((axis,), seed))
        except (AssertionError, ValueError):
            broken.append(seed)
    assert broken


def moment_of(text: str) -> datetime:
    """The time of an RFC 3339 text; a fraction may have any number of digits."""
    match = re.fullmatch(r"([\d-]+)T([\d:]+)(?:\.(\d+))?(.+)", text.upper())
    assert match
    date, time, fraction, offset = match.groups("")
    offset = offset.replace("Z", "+00:00")
    return datetime.fromisoformat(f"{date}T{time}.{fraction[:6]:0<6}{offset}")


def tolerant_session(client: FlaskClient, clock: Clock) -> None:
    """A client that depends on the interface and on the promises of the contract alone."""
    sent = json.loads(SENT)
    response = create(client)
    assert response.status_code in (200, 201)
    assert media_type(response) == "application/json"
    project = parsed(response)
    assert {name: project[name] for name in sent} == sent
    listed = {each["id"]: each for each in parsed(client.get("/v1/projects"))["projects"]}
    assert {name: listed[project["id"]][name] for name in sent} == sent
    assert "12345678901234567890" in client.get("/v1/projects").text
    for spelled in ("1.10", "-0", "1e2"):
        assert spelled in client.get("/v1/projects").text
    path = f"/v1/deployments/{quote(project['latest_deployment_id'], safe='')}"
    status, reads = None, 0
    while status not in ("succeeded", "failed", "canceled"):
        deployment = parsed(client.get(path))
        status = deployment["status"]
        assert deployment["project_id"] == project["id"]
        assert moment_of(deployment["created_at"]) == START
        clock.advance(2)
        reads += 1
    assert reads == len(timeline_of(2.0))
    response = client.get("/v1/deployments/x")
    assert media_type(response) == "application/problem+json"
    assert (response.status_code, parsed(response)["status"]) == (404, 404)
    assert parsed(response)["code"] == "deployment_not_found"
    again = create(client)
    assert (again.status_code, parsed(again)["code"]) == (409, "name_taken")
    assert parsed(client.get("/v1/deployments/dpl_failed"))["status"] == "failed"


@pytest.mark.parametrize("seed", range(20))
def test_a_tolerant_client_passes_under_all_axes(seed: int) -> None:
    clock = Clock()
    tolerant_session(greased(AXES, seed, clock=clock), clock)


@pytest.mark.parametrize("axis", AXES)
def test_a_tolerant_client_passes_under_each_axis_alone(axis: str) -> None:
    clock = Clock()
    tolerant_session(greased((axis,), 5, clock=clock), clock)


def session(client: FlaskClient) -> list[tuple[int, list[Any], bytes]]:
    responses = [
        create(client),
        client.get("/v1/projects"),
        *(client.get(f"/v1/deployments/{name}") for name in ("dpl_failed", "dpl_queued", "x")),
        client.get("/v1/nowhere"),
        client.put("/v1/projects"),
    ]
    return [(each.status_code, list(each.headers), each.data) for each in responses]


def test_the_same_seed_gives_the_same_responses_in_any_order() -> None:
    first = session(greased(AXES, 7))
    assert session(greased(AXES, 7)) == first
    assert session(greased(AXES, 8)) != first
    client = greased(AXES, 7)
    for path in ("/v1/deployments/dpl_queued", "/v1/projects", "/v1/nowhere"):
        for _ in range(3):
            client.get(path)
    assert session(client) == first


def test_an_axis_varies_the_same_alone_and_among_others() -> None:
    path = "/v1/deployments/dpl_building"
    known = ("id", "project_id", "status", "created_at")
    for seed in range(5):
        among = greased(AXES, seed).get(path)
        looks: dict[str, Callable[[Any], Any]] = {
            "times": lambda it: re.findall(r"\.\d*", parsed(it)["created_at"]),
            "times-odd": lambda it: re.findall(
                r"[Tt]|[Zz]$|[+-]\d\d:\d\d$", parsed(it)["created_at"]
            ),
            "status-values": lambda it: parsed(it)["status"],
            "member-order": lambda it: [name for name in parsed(it) if name in known],
            "members": lambda it: {k: v for k, v in parsed(it).items() if k not in known},
            "media-type": lambda it: it.headers["Content-Type"],
            "headers": lambda it: [pair for pair in it.headers if pair[0].startswith("X-")],
        }
        for axis, seen in looks.items():
            assert seen(greased((axis,), seed).get(path)) == seen(among), axis


def test_head_has_the_headers_of_get() -> None:
    client = greased(AXES, 3)
    for path in ("/v1/projects", "/v1/deployments/x"):
        get, head = client.get(path), client.head(path)
        assert head.headers == get.headers
        assert int(head.headers["Content-Length"]) == len(get.data)


def test_an_id_is_of_unreserved_characters_and_stays_valid() -> None:
    for seed in range(20):
        client = greased(("ids",), seed)
        project = parsed(create(client))
        for given in (project["id"], project["latest_deployment_id"]):
            assert re.fullmatch(r"[A-Za-z0-9._~-]{1,255}", given)
            assert given not in (".", "..")
        control = control_client_of(client.application)
        control.put("/_stub/grease", json={"axes": []})
        deployment = control.get(f"/v1/deployments/{project['latest_deployment_id']}").json
        assert deployment["project_id"] == project["id"]
        assert (
            control.put("/_stub/deployments/mine", json={"status": "failed"}).json["id"] == "mine"
        )


def test_a_varied_response_names_its_axes_and_others_do_not_vary() -> None:
    off = greased((), 7)
    plain = session(off)
    assert all("Stub-Grease" not in dict(headers) for _, headers, _ in plain)
    assert SENT[1:] in off.get("/v1/projects").text
    response = create(greased(("ids", "members"), 7))
    assert response.headers["Stub-Grease"] == "seed=7; axes=members,ids"
    assert greased(("ids",), 7).get("/v1/projects").headers.get("Stub-Grease") is None


def test_only_v1_varies() -> None:
    client, off = greased(AXES, 7), greased((), 7)
    for path in ("/openapi.json", "/_stub/health", "/_stub/faults", "/nowhere", "/_stub/nowhere"):
        here, there = client.get(path), off.get(path)
        assert (here.data, here.headers) == (there.data, there.headers)


def test_grease_is_switched_for_one_world() -> None:
    app = create_app(stub_options=StubOptions(grease=TIER_1, grease_seed=7))
    stub, other = control_client_of(app), control_client_of(app, "dev-token.w")
    assert stub.get("/_stub/grease").json == {"axes": list(TIER_1), "seed": 7}
    switched = stub.put("/_stub/grease", json={"axes": ["times", "members", "times"], "seed": 9})
    assert (switched.status_code, switched.json) == (200, {"axes": ["members", "times"], "seed": 9})
    assert stub.get("/_stub/grease").json == switched.json
    assert other.get("/_stub/grease").json == {"axes": list(TIER_1), "seed": 7}
    stub.put("/_stub/grease", json={"axes": []})
    assert stub.get("/_stub/grease").json == {"axes": [], "seed": 9}
    assert stub.get("/v1/projects").json == {"projects": []}
    stub.post("/_stub/reset")
    assert stub.get("/_stub/grease").json == {"axes": list(TIER_1), "seed": 7}


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        ([], [""]),
        ({}, ["/axes"]),
        ({"axes": "members"}, ["/axes"]),
        ({"axes": ["member"]}, ["/axes"]),
        ({"axes": [[]], "seed": "1", "x": 1}, ["/x", "/axes", "/seed"]),
        ({"axes": [], "seed": -1}, ["/seed"]),
        ({"axes": [], "seed": True}, ["/seed"]),
        ({"axes": [], "seed": 1.5}, ["/seed"]),
    ],
)
def test_an_invalid_switch_is_422_and_changes_nothing(document: Any, pointers: list[str]) -> None:
    stub = control_client_of(create_app(stub_options=StubOptions(grease=("times",), grease_seed=7)))
    errors = assert_invalid(stub.put("/_stub/grease", json=document), *pointers)
    for error in errors:
        if error["pointer"] == "/axes":
            assert all(axis in error["detail"] for axis in AXES)
    assert stub.get("/_stub/grease").json == {"axes": ["times"], "seed": 7}


def test_the_journal_and_the_coverage_show_the_applied_axes() -> None:
    client = greased(("members", "success-code", "ids"), 7)
    stub = control_client_of(client.application)
    create(client)
    client.get("/v1/projects")
    first, second = stub.get("/_stub/requests").json["requests"]
    assert (first["grease"], first["status"]) == (["members", "ids", "success-code"], 200)
    assert second["grease"] == ["members", "ids"]
    counted = stub.get("/_stub/coverage").json
    assert counted["grease"] == dict.fromkeys(AXES, 0) | {"members": 2, "ids": 2, "success-code": 1}
    assert counted["operations"]["createProject"]["201"] == 1
    assert "200" not in counted["operations"]["createProject"]


def parts_with_origin(part: Any) -> Iterator[Any]:
    """Every part of a contract that tells its origin."""
    if isinstance(part, dict) and "x-origin" in part:
        yield part
    if isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from parts_with_origin(each)


def test_no_fixed_part_varies_and_every_axis_is_used() -> None:
    parts = list(parts_with_origin(V1.document))
    named = {axis for part in parts for axis in part.get("x-grease", ())}
    assert named == {*AXES}
    assert not [part for part in parts if "fixed" in part["x-origin"] and "x-grease" in part]


def test_parts_without_an_axis_do_not_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = json.dumps(V1.document).replace('["times", "times-odd"]', "[]")
    data = contract.replace('"json-text", ', "").encode()
    monkeypatch.setattr("app.get_data", lambda *_: data)
    assert session(greased(("times", "json-text"), 7)) == session(greased((), 7))


def test_an_extra_member_replaces_none_that_was_sent() -> None:
    def created(document: dict[str, Any]) -> dict[str, Any]:
        response = greased(("members",), 7).post("/v1/projects", json=document)
        members: dict[str, Any] = json.loads(response.data)
        return members

    ours = {"id", "name", "created_at", "latest_deployment_id"}
    extra = created({"name": "shop"}).keys() - ours
    assert extra
    sent = dict.fromkeys(extra, "mine")
    assert created({"name": "shop", **sent}).items() >= sent.items()
