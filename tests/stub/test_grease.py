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
from stub import TIER_1, StubOptions
from tests.conftest import (
    SAMPLE_SEED,
    START,
    Clock,
    client_of,
    control_client_of,
    counting_ids,
    seed_of,
)
from tests.contract import V1, assert_invalid, assert_problem
from tests.stub.conftest import status_of
from tests.stub.greased import AXES

SENT = (
    '{"name": "n\\u0061me", "n": [1.10, -0, 1e2, 12345678901234567890], "o": {"z": 1, "a": "\\/"}}'
)


def greased(axes: tuple[str, ...], grease_seed: int, **options: Any) -> FlaskClient:
    """A client that checks each response, varied or not, against the contract."""
    options = {"clock": Clock(), "new_id": counting_ids(), "seed": SAMPLE_SEED, **options}
    return client_of(
        create_app(stub_options=StubOptions(grease=axes, grease_seed=grease_seed), **options)
    )


def create(client: FlaskClient, body: str = SENT) -> Any:
    return client.post("/v1/projects", data=body.encode(), content_type="application/json")


def parsed(response: Any) -> Any:
    return json.loads(response.data)


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
    assert str(response.mimetype).lower() == "application/json"
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
    assert str(response.mimetype).lower() == "application/problem+json"
    assert (response.status_code, parsed(response)["status"]) == (404, 404)
    assert parsed(response)["code"] == "deployment_not_found"
    again = create(client)
    assert (again.status_code, parsed(again)["code"]) == (409, "name_taken")
    assert parsed(client.get("/v1/deployments/dpl_failed"))["status"] == "failed"


@pytest.mark.parametrize("seed", range(20))
def test_a_tolerant_client_passes_under_all_axes(seed: int) -> None:
    clock = Clock()
    tolerant_session(greased(AXES, seed, clock=clock), clock)


def test_head_has_the_headers_of_get() -> None:
    client = greased(AXES, 3)
    for path in ("/v1/projects", "/v1/deployments/x"):
        get, head = client.get(path), client.head(path)
        assert head.headers == get.headers
        assert int(head.headers["Content-Length"]) == len(get.data)


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


TIME = re.compile(r"\d{4}-\d\d-\d\d([Tt])\d\d:\d\d:\d\d(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")


def times(*axes: str, at: str = "2026-11-21T10:00:00.120Z") -> list[tuple[str, str, str]]:
    """The separators, digits and offsets of a moment from many seeds."""
    seed = seed_of({"deployments": [{"id": "d", "status": "a", "created_at": at}]})
    control = control_client_of(greased((), 0, seed=seed).application)
    found = []
    for number in range(60):
        control.put("/_stub/grease", json={"axes": axes, "seed": number})
        text = control.get("/v1/deployments/d").json["created_at"]
        match = TIME.fullmatch(text)
        assert match
        assert at[:4] in ("0001", "9999") or moment_of(text) == moment_of(at)
        separator, digits, offset = match.groups("")
        found.append((separator, digits, offset))
    return found


def minutes(offset: str) -> int:
    return int(offset[:3]) * 60 + int(offset[0] + offset[4:]) if len(offset) > 1 else 0


def test_times_of_tier_1_are_those_that_every_parser_reads() -> None:
    separators, digits, offsets = map(set, zip(*times("times", at=f"{START:%FT%T}Z"), strict=True))
    assert separators == {"T"}
    assert {*map(len, digits)} == {0, *range(4, 10)}
    assert {"+00:00", "+05:30"} < offsets
    assert offsets.isdisjoint({"Z", "z"})  # no time is as it was
    assert {max(map(minutes, offsets)), -min(map(minutes, offsets))} == {14 * 60}
    digits = {digits for _, digits, _ in times("times")}
    assert {each[:3].rstrip("0") for each in digits} == {"12"}
    assert {*map(len, digits)} == {*range(4, 10)}


def test_odd_times_are_those_that_many_parsers_reject() -> None:
    for axes in (("times-odd",), ("times", "times-odd")):
        separators, digits, offsets = map(set, zip(*times(*axes), strict=True))
        assert separators == {"t"}
        assert {"z", "+23:59", "-23:59"} < offsets
        assert all(each == "z" or abs(minutes(each)) > 14 * 60 for each in offsets)
        assert "times" in axes or digits == {"120"}


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
def test_the_first_and_the_last_moment_have_odd_times_too(moment: str) -> None:
    assert times("times", "times-odd", at=moment)


def test_no_escape_is_in_a_time() -> None:
    for seed in range(9):
        for axes in (("json-text",), ("json-text", "times", "times-odd")):
            text = greased(axes, seed).get("/v1/deployments/dpl_failed").text
            assert any(TIME.fullmatch(each) for each in text.split('"'))


def encoded(path_segment: str) -> str:
    return quote(path_segment, safe="")


@pytest.mark.parametrize("axes", [("ids",), ("ids-encoded",), ("ids", "ids-encoded")])
def test_an_id_has_the_characters_of_its_axes_and_stays_valid(axes: tuple[str, ...]) -> None:
    lengths, others = set(), set()
    for seed in range(30):
        client = greased(axes, seed)
        control = control_client_of(client.application)
        project = create(client).json
        control.put("/_stub/grease", json={"axes": []})
        for given in (project["id"], project["latest_deployment_id"]):
            lengths.add(len(given))
            others |= {*re.sub("[ -~]", "", given)}
            assert given.strip() == given
            if "ids-encoded" in axes:
                assert {"/", "%", " "} < {*given}
                assert not given.isascii()
            else:
                assert re.fullmatch(r"[a-z][A-Za-z0-9._~-]+", given)
        response = client.get(f"/v1/deployments/{encoded(project['latest_deployment_id'])}")
        assert response.json["project_id"] == project["id"]
        assert response.headers["Stub-Grease"] == f"seed={seed}; axes={','.join(axes)}"
    assert lengths == {16, 36, 64, 255} or "ids-encoded" in axes
    assert max(lengths) == 255 or "ids" not in axes
    assert len(others) > 2 or "ids-encoded" not in axes
    mine = control.put("/_stub/deployments/mine", json={"status": "failed"})
    assert mine.json["id"] == "mine"


def test_a_client_that_does_not_encode_gets_404() -> None:
    client = greased(("ids-encoded",), 8)
    given = create(client).json["latest_deployment_id"]
    for path in (given, given.replace("/", "%2F"), encoded(given).replace("%25", "%")):
        assert client.get(f"/v1/deployments/{path}").status_code == 404


ODD_IDS = ["a/b", "/", "//", "a/../b", " ", "100%", "%2F", "%41", "é", "漢字 😀", "a?b#c"]
ODD_IDS += ['q"\\', "\ufeff"]


def seeded(clock: Clock) -> FlaskClient:
    document = {
        "projects": [{"name": f"p{each}", "id": each} for each in ODD_IDS],
        "deployments": [
            {"id": f"d{each}", "project_id": each, "status": "failed"} for each in ODD_IDS
        ]
        + [{"id": each, "status": "canceled"} for each in ODD_IDS],
    }
    return control_client_of(create_app(clock=clock, seed=seed_of(document)))


def test_a_seed_may_have_ids_that_must_be_encoded(clock: Clock) -> None:
    client = seeded(clock)
    assert [each["id"] for each in client.get("/v1/projects").json["projects"]] == ODD_IDS
    for each in ODD_IDS:
        deployment = client.get(f"/v1/deployments/{encoded('d' + each)}").json
        assert (deployment["id"], deployment["project_id"]) == (f"d{each}", each)
        assert status_of(client, encoded(each)) == "canceled"


def test_a_state_with_such_ids_is_restored(clock: Clock) -> None:
    for client in (seeded(clock), greased(("ids", "ids-encoded"), 7, clock=clock)):
        create(client)
        control = control_client_of(client.application)
        state = control.get("/_stub/state").json
        listed = control.get("/v1/projects").json
        other = control_client_of(create_app(clock=clock))
        reset = other.post("/_stub/reset", json=state)
        assert reset.status_code == 204
        assert other.get("/v1/projects").json == listed
        assert other.get("/_stub/state").json == state


def test_such_a_deployment_can_be_put_and_an_unknown_one_is_no_unknown_path(
    stub: FlaskClient,
) -> None:
    for each in ODD_IDS:
        assert_problem(stub.get(f"/v1/deployments/{encoded(each)}"), 404, "deployment_not_found")
        path = f"/_stub/deployments/{encoded(each)}"
        assert stub.put(path, json={"status": "failed"}).status_code == 201
        assert stub.put(path, json={"status": "canceled"}).json["id"] == each
        assert status_of(stub, encoded(each)) == "canceled"
        state = {"state": "a deployment exists", "params": {"id": each, "status": "failed"}}
        assert stub.post("/_stub/pact", json=state).json["id"] == each


# What a client sent

BODIES = (
    '{"name":"shop"}',
    '{ "name" : "caf\\u00e9" ,\n\t"n":[1.10,-0, 1E2,1e-400,1' + 40 * "0" + "],"
    '"u": [null, true, "true", "1"]}',
    '{"name": "\\"id\\"", "o" :{"id":"x", "z" : { },"created_at":"2026-11-21T10:00:00Z"}}',
    '{"é\\/\\ud83d\\ude00": "😀 }],[{:\\u005c","projects":[ ],"\\u006ea\\u006De"\t:"a,b"}',
)
EXACT = json.JSONDecoder(
    object_pairs_hook=list, parse_int=lambda text: (text,), parse_float=lambda text: (text,)
)


@pytest.mark.parametrize("axis", [*AXES, "all"])
def test_no_axis_changes_a_value_that_a_client_sent(axis: str) -> None:
    ours = {"id", "created_at", "latest_deployment_id"}
    for seed in range(4):
        client = greased(AXES if axis == "all" else (axis,), seed, seed=seed_of({}))
        for body in BODIES:
            sent = EXACT.decode(body)
            response = create(client, body)
            got = EXACT.decode(response.text.strip())
            assert all(member in got for member in sent)
            if axis not in ("member-order", "all"):
                known = [name for name, _ in got if name in ours or name in dict(sent)]
                assert known == ["id", "created_at", "latest_deployment_id", *dict(sent)]
            if axis != "members" and axis != "all":
                assert len(got) == len(sent) + len(ours)


def test_another_spelling_has_the_same_names_values_and_order() -> None:
    for seed in range(4):
        for others in [(), *[(axis,) for axis in AXES if axis != "json-text"]]:
            clients = [greased(axes, seed) for axes in (("json-text", *others), others)]
            for body in BODIES:
                spelled, plain = (create(client, body).text for client in clients)
                assert spelled != plain
                assert EXACT.decode(spelled.strip()) == EXACT.decode(plain)


def test_what_nothing_varies_stays_to_the_letter() -> None:
    plain = greased(("list-order", "status-values"), 7)
    assert SENT[1:] in create(plain).text
    assert "Stub-Grease" not in plain.get("/v1/projects/").headers
