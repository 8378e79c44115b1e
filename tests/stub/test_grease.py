"""Grease: what the contract marks as free varies, axis by axis, and nothing else does."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from records import timeline_of
from tests.conftest import SAMPLE_SEED, Clock, client_of, control_client_of, seed_of
from tests.contract import assert_problem
from tests.stub.greased import AXES, START, greased_app, path_of

SENT = (
    '{"name": "n\\u0061me", "n": [1.10, -0, 1e2, 12345678901234567890], "o": {"z": 1, "a": "\\/"}}'
)


def greased(axes: tuple[str, ...], grease_seed: int, **options: Any) -> FlaskClient:
    """A client that checks each response, varied or not, against the contract."""
    return client_of(greased_app(axes, grease_seed, **{"seed": SAMPLE_SEED, **options}))


def create(client: FlaskClient, body: str = SENT) -> Any:
    return client.post("/v1/projects", data=body.encode(), content_type="application/json")


def get(client: FlaskClient, name: str) -> Any:
    """What is at the path of a deployment, or of all projects for an empty name."""
    return json.loads(client.get(path_of(name) if name else "/v1/projects").data)


# Brittle and tolerant clients

KNOWN = ["id", "project_id", "status", "created_at"]
FIELDS = {"Content-Type", "Cache-Control", "Content-Length", "Stub-Grease"}
# What the parsers of Go, Java, Python 3.11 and zod read.
COMMON = re.compile(r"[\d-]+T[\d:]{8}(\.\d{1,9})?(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)")


def failed(client: FlaskClient) -> Any:
    return get(client, "dpl_failed")


def latest_as_it_is(client: FlaskClient) -> str:
    return f"/v1/deployments/{json.loads(create(client).data)['latest_deployment_id']}"


BRITTLE: list[tuple[str, Callable[[FlaskClient], object]]] = [
    ("members", lambda it: {*failed(it)} == {*KNOWN}),
    ("members", lambda it: {*get(it, "")} == {"projects"}),
    ("member-order", lambda it: [each for each in failed(it) if each in KNOWN] == KNOWN),
    ("json-text", lambda it: it.get("/v1/projects").text.startswith("{")),
    ("json-text", lambda it: '"status": "failed"' in it.get(path_of("dpl_failed")).text),
    ("headers", lambda it: {*it.get("/v1/projects").headers.keys()} <= FIELDS),
    ("ids", lambda it: json.loads(create(it).data)["id"].count("_") == 1),
    ("times", lambda it: re.search(r":\d\d\.\d{3}(?!\d)", failed(it)["created_at"])),
    ("list-order", lambda it: get(it, "")["projects"][-1]["name"] == "search"),
    ("status-values", lambda it: get(it, "dpl_building")["status"] == "building"),
    ("success-code", lambda it: create(it).status_code == 201),
    ("error-text", lambda it: get(it, "x")["title"] == "Not Found"),
    ("error-text", lambda it: get(it, "x")["detail"].startswith("No deployment")),
    ("media-type", lambda it: it.get("/v1/projects").content_type == "application/json"),
    ("times-odd", lambda it: COMMON.fullmatch(failed(it)["created_at"])),
    ("ids-encoded", lambda it: it.get(latest_as_it_is(it)).status_code == 200),
]


@pytest.mark.parametrize(("axis", "works"), BRITTLE)
def test_a_brittle_client_fails_under_its_own_axis_and_no_other(
    axis: str, works: Callable[[FlaskClient], object]
) -> None:
    # The text of a body varies with its values, too.
    others = tuple(each for each in AXES if each != axis != "json-text")
    assert all(works(greased(others, seed)) for seed in range(6))
    assert not all(works(greased((axis,), seed)) for seed in range(6))


def moment_of(text: str) -> datetime:
    """The time of an RFC 3339 text; a fraction may have any number of digits."""
    match = re.fullmatch(r"([\d-]+)T([\d:]+)(?:\.(\d+))?(.+)", text.upper())
    assert match
    date, time, fraction, offset = match.groups("")
    offset = offset.replace("Z", "+00:00")
    return datetime.fromisoformat(f"{date}T{time}.{fraction[:6]:0<6}{offset}")


@pytest.mark.parametrize("seed", range(12))
def test_a_tolerant_client_passes_under_all_axes(seed: int) -> None:
    """It depends on the interface and on the promises of the contract alone."""
    clock = Clock()
    client = greased(AXES, seed, clock=clock)
    sent = json.loads(SENT)
    response = create(client)
    assert response.status_code in (200, 201)
    assert str(response.mimetype).lower() == "application/json"
    project = json.loads(response.data)
    (listed,) = (each for each in get(client, "")["projects"] if each["id"] == project["id"])
    for record in (project, listed):
        assert {name: record[name] for name in sent} == sent
    for spelled in ("12345678901234567890", "1.10", "-0", "1e2"):
        assert spelled in client.get("/v1/projects").text
    status, reads = None, 0
    while status not in ("succeeded", "failed", "canceled"):
        deployment = get(client, project["latest_deployment_id"])
        status = deployment["status"]
        assert deployment["project_id"] == project["id"]
        assert moment_of(deployment["created_at"]) == START
        clock.advance(2)
        reads += 1
    assert reads == len(timeline_of(2.0))
    for response, code, number in (
        (client.get("/v1/deployments/x"), "deployment_not_found", 404),
        (create(client), "name_taken", 409),
    ):
        assert str(response.mimetype).lower() == "application/problem+json"
        problem = json.loads(response.data)
        assert (response.status_code, problem["status"], problem["code"]) == (number, number, code)


# Where it varies, and what is told of it


def test_head_has_the_headers_of_get() -> None:
    client = greased(AXES, 3)
    for path in ("/v1/projects", "/v1/deployments/x"):
        shown, head = client.get(path), client.head(path)
        assert head.headers == shown.headers
        assert int(head.headers["Content-Length"]) == len(shown.data)


def test_only_v1_varies() -> None:
    client, off = greased(AXES, 7), greased((), 7)
    for path in ("/openapi.json", "/_stub/health", "/_stub/faults", "/nowhere", "/_stub/nowhere"):
        here, there = client.get(path), off.get(path)
        assert (here.data, here.headers) == (there.data, there.headers)


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


# Times

RFC3339 = re.compile(r"\d{4}-\d\d-\d\d([Tt])\d\d:\d\d:\d\d(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")


def times(*axes: str, at: str = "2026-11-21T10:00:00.120Z") -> list[set[Any]]:
    """The separators, fractions and minutes of the offsets of a moment from many seeds."""
    seed = seed_of({"deployments": [{"id": "d", "status": "a", "created_at": at}]})
    control = control_client_of(greased((), 0, seed=seed).application)
    found = []
    for number in range(60):
        control.put("/_stub/grease", json={"axes": axes, "seed": number})
        match = RFC3339.fullmatch(control.get("/v1/deployments/d").json["created_at"])
        assert match
        assert at[:4] in ("0001", "9999") or moment_of(match[0]) == moment_of(at)
        separator, fraction, offset = match.groups("")
        if len(offset) > 1:
            offset = int(offset[:3]) * 60 + int(offset[0] + offset[4:])
        found.append((separator, fraction, offset))
    return [*map(set, zip(*found, strict=True))]


def test_times_of_tier_1_are_those_that_every_parser_reads() -> None:
    separators, fractions, offsets = times("times", at="2026-11-21T10:00:00Z")
    assert separators == {"T"}
    assert fractions == {"", *("0" * digits for digits in range(4, 10))}
    assert {0, 330} < offsets  # as numbers: no time has the `Z` that it had
    assert (min(offsets), max(offsets)) == (-14 * 60, 14 * 60)
    _, fractions, _ = times("times")
    assert fractions == {f"{'12':0<{digits}}" for digits in range(4, 10)}


@pytest.mark.parametrize("axes", [("times-odd",), ("times", "times-odd")])
def test_odd_times_are_those_that_many_parsers_reject(axes: tuple[str, ...]) -> None:
    separators, fractions, offsets = times(*axes)
    assert separators == {"t"}
    assert {"z", 1439, -1439} < offsets
    assert all(abs(each) > 14 * 60 for each in offsets - {"z"})
    assert "times" in axes or fractions == {"120"}
    for moment in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"):
        assert 0 in times(*axes, at=moment)[2]


def test_no_escape_is_in_a_time() -> None:
    for seed in range(9):
        text = greased(("json-text",), seed).get("/v1/deployments/dpl_failed").text
        assert any(map(RFC3339.fullmatch, text.split('"')))


# Ids


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
            if "ids-encoded" in axes:
                assert {"/", "%", " "} < {*given}
                assert not given.isascii()
                assert "ids" in axes or given[:4] in ("prj_", "dpl_")
            else:
                assert re.fullmatch(r"[a-z][A-Za-z0-9._~-]+", given)
        response = client.get(path_of(project["latest_deployment_id"]))
        assert response.json["project_id"] == project["id"]
        assert response.headers["Stub-Grease"] == f"seed={seed}; axes={','.join(axes)}"
    assert lengths == {16, 36, 64, 255} or "ids-encoded" in axes
    assert max(lengths) == 255 or "ids" not in axes
    assert len(others) > 2 or "ids-encoded" not in axes


ODD_IDS = ["a/b", "/", "//", "a/../b", " ", "100%", "%2F", "%41", "é", "漢字 😀", "a?b#c"]
ODD_IDS += ['q"\\', "\ufeff"]


def test_ids_that_must_be_encoded_may_be_seeded_put_and_restored(clock: Clock) -> None:
    projects = [{"name": f"p{each}", "id": each} for each in ODD_IDS]
    deployments = [{"id": f"d{each}", "project_id": each, "status": "failed"} for each in ODD_IDS]
    seed = seed_of({"projects": projects, "deployments": deployments})
    stub = control_client_of(create_app(clock=clock, seed=seed))
    assert [each["id"] for each in get(stub, "")["projects"]] == ODD_IDS
    for each in ODD_IDS:
        assert get(stub, f"d{each}")["project_id"] == each
        assert_problem(stub.get(path_of(each)), 404, "deployment_not_found")
        path = path_of(each).replace("/v1/", "/_stub/")
        assert stub.put(path, json={"status": "failed"}).status_code == 201
        assert stub.put(path, json={"status": "canceled"}).json["id"] == each
        assert get(stub, each)["status"] == "canceled"
        state = {"state": "a deployment exists", "params": {"id": each, "status": "failed"}}
        assert stub.post("/_stub/pact", json=state).json["id"] == each
    for client in (stub, greased(("ids", "ids-encoded"), 7, clock=clock)):
        create(client)
        document = control_client_of(client.application).get("/_stub/state").json
        other = control_client_of(create_app(clock=clock))
        assert other.post("/_stub/reset", json=document).status_code == 204
        assert other.get("/v1/projects").json == get(client, "")
        assert other.get("/_stub/state").json == document


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
OURS = ["id", "created_at", "latest_deployment_id"]


@pytest.mark.parametrize("axes", [*[(axis,) for axis in AXES], AXES])
def test_no_axis_changes_a_value_that_a_client_sent(axes: tuple[str, ...]) -> None:
    for seed in range(4):
        client = greased(axes, seed, seed=seed_of({}))
        for body in BODIES:
            sent = EXACT.decode(body)
            got = EXACT.decode(create(client, body).text.strip())
            assert all(member in got for member in sent)
            if "member-order" not in axes:
                known = [name for name, _ in got if name in OURS or name in dict(sent)]
                assert known == [*OURS, *dict(sent)]
            assert ("members" in axes) == (len(got) > len(sent) + len(OURS))


def test_an_extra_member_replaces_none_that_was_sent() -> None:
    def created(**members: str) -> dict[str, Any]:
        response = create(greased(("members",), 7), json.dumps({"name": "shop", **members}))
        document: dict[str, Any] = json.loads(response.data)
        return document

    extra = created().keys() - {"name", *OURS}
    assert extra
    sent = dict.fromkeys(extra, "mine")
    assert created(**sent).items() >= sent.items()
