"""Grease: what the contract marks as free varies, axis by axis, and nothing else does."""

import itertools
import json
import re
from datetime import datetime
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from profiles.profile import make_profile
from records import make_timeline
from store import random_id
from stub.grease.json_text import write
from stub.grease.variants import draw_id, draw_media_type, draw_time, make_source
from tests.conftest import (
    BEARER,
    SAMPLE_SEED,
    Clock,
    client_of,
    control_client_of,
    counting_ids,
    make_stub,
    seed_of,
)
from tests.contract import CREATED, V1
from tests.replayed import play, read
from tests.stub.conftest import worlds_of
from tests.stub.greased import AXES, START, greased_app, path_of

SENT = (
    '{"name": "n\\u0061me", "n": [1.10, -0, 1e2, 12345678901234567890], "o": {"z": 1, "a": "\\/"}}'
)


def app_of(*grease: str, seed: int = 0, **options: Any) -> Flask:
    return greased_app(grease, seed, **{"new_id": counting_ids(), "seed": SAMPLE_SEED, **options})


def greased(axes: tuple[str, ...], grease_seed: int, **options: Any) -> FlaskClient:
    """A client that checks each response, varied or not, against the contract."""
    return client_of(greased_app(axes, grease_seed, **{"seed": SAMPLE_SEED, **options}))


def create(client: FlaskClient, body: str = SENT) -> Any:
    return client.post("/v1/projects", data=body.encode(), content_type="application/json")


def get(client: FlaskClient, name: str) -> Any:
    """What is at the path of a deployment, or of all projects for an empty name."""
    return json.loads(client.get(path_of(name) if name else "/v1/projects").data)


# A tolerant client


def moment_of(text: str) -> datetime:
    """The time of an RFC 3339 text; a fraction may have any number of digits."""
    match = re.fullmatch(r"([\d-]+)T([\d:]+)(?:\.(\d+))?(.+)", text.upper())
    assert match
    date, time, fraction, offset = match.groups("")
    offset = offset.replace("Z", "+00:00")
    return datetime.fromisoformat(f"{date}T{time}.{fraction[:6]:0<6}{offset}")


def test_a_tolerant_client_passes_under_all_axes() -> None:
    """It depends on the interface and on the promises of the contract alone."""
    clock = Clock()
    client = greased(AXES, 0, clock=clock)
    sent = json.loads(SENT)
    response = create(client)
    assert response.status_code in (200, CREATED)
    assert str(response.mimetype).lower() == "application/json"
    project = json.loads(response.data)
    (listed,) = (each for each in get(client, "")["projects"] if each["id"] == project["id"])
    assert {name: project[name] for name in sent} == {name: listed[name] for name in sent} == sent
    for _ in make_timeline(2.0):
        deployment = get(client, project["latest_deployment_id"])
        assert deployment["project_id"] == project["id"]
        assert moment_of(deployment["created_at"]) == START
        clock.advance(2)
    assert deployment["status"] == "succeeded"
    response = create(client)
    assert str(response.mimetype).lower() == "application/problem+json"
    assert (response.status_code, json.loads(response.data)["code"]) == (409, "name_taken")


# The forms

# What the parsers of Go, Java, Python 3.11 and zod read, without the `Z` that it had.
COMMON = re.compile(r"[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\d([Tt])\d\d:\d\d:\d\d(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")


SEEDS = range(60)


def times(at: str) -> list[set[Any]]:
    """The separators, fractions and offsets of a moment from many seeds."""
    found = []
    for seed in SEEDS:
        match = RFC3339.fullmatch(draw_time(at, make_source(seed, "times", "d")))
        assert match
        assert at[:4] in ("0001", "9999") or moment_of(match[0]) == moment_of(at)
        found.append(match.groups(""))
    return [*map(set, zip(*found, strict=True))]


def test_times_are_those_that_every_parser_reads() -> None:
    separators, fractions, offsets = times("2026-11-21T10:00:00.000Z")
    assert separators == {"T"}
    assert fractions == {"", *("0" * digits for digits in range(4, 10))}
    assert {"+00:00", "+05:30", "+14:00", "-14:00"} < offsets
    assert all(map(COMMON.fullmatch, offsets))
    _, fractions, _ = times("2026-11-21T10:00:00.120Z")
    assert fractions == {f"{'12':0<{digits}}" for digits in range(4, 10)}


def test_a_body_has_white_space_and_escapes_but_no_time_has_one() -> None:
    for seed in SEEDS:
        text = write({"status": "failed", "at": "2026-11-21T10:00:00Z"}, make_source(seed, ""))
        assert text[0].isspace()
        assert '"failed"' not in text
        assert any(map(RFC3339.fullmatch, text.split('"')))


def test_a_media_type_has_another_case_and_a_parameter() -> None:
    drawn = [draw_media_type(make_source(seed, ""), "application/json") for seed in SEEDS]
    found = [each.partition(";") for each in drawn]
    assert len({media_type for media_type, _, _ in found}) > 2
    assert {media_type.lower() for media_type, _, _ in found} == {"application/json"}
    assert {more for _, _, more in found} == {"charset=utf-8", ' charset="UTF-8"', " v=1"}


def test_an_id_has_another_form_and_length() -> None:
    found = [draw_id(make_source(seed, "ids", "#1")) for seed in SEEDS]
    assert all(re.fullmatch(r"[a-z]~[A-Za-z0-9._~-]+", each) for each in found)
    assert {len(each) for each in found} == {16, 36, 64, 255}


def test_a_varied_id_stays_the_same_everywhere(clock: Clock) -> None:
    client = greased(("ids",), 7, clock=clock)
    project = create(client).json
    deployment = client.get(path_of(project["latest_deployment_id"])).json
    assert deployment["project_id"] == project["id"]
    document = control_client_of(client.application).get("/_stub/state").json
    other = control_client_of(make_stub(clock=clock))
    assert other.post("/_stub/reset", json=document).status_code == 204
    assert other.get("/v1/projects").json == get(client, "")
    assert other.get("/_stub/state").json == document


# What a client sent

BODIES = (
    '{"name":"shop"}',
    '{ "name" : "caf\\u00e9" ,\n\t"n":[1.10,-0, 1E2,1e-400,1' + 40 * "0" + "],"
    '"u": [null, true, "true", "1", ""]}',
    '{"name": "\\"id\\"", "o" :{"id":"x", "z" : { },"created_at":"2026-11-21T10:00:00Z"}}',
    '{"é\\/\\ud83d\\ude00": "😀 }],[{:\\u005c","projects":[ ],"\\u006ea\\u006De"\t:"a,b"}',
)
# A number is unlike each string, and unlike the same number in other digits.
EXACT = json.JSONDecoder(object_pairs_hook=list, parse_int=ascii, parse_float=ascii)
OURS = ["id", "created_at", "latest_deployment_id"]


@pytest.mark.parametrize("axes", [*[(axis,) for axis in AXES], AXES])
def test_no_axis_changes_a_value_that_a_client_sent(axes: tuple[str, ...]) -> None:
    client = greased(axes, 0, seed=seed_of({}))
    for body in BODIES:
        sent = EXACT.decode(body)
        got = EXACT.decode(create(client, body).text.strip())
        assert all(member in got for member in sent)
        if "member-order" not in axes:
            known = [name for name, _ in got if name in OURS or name in dict(sent)]
            assert known == [*OURS, *dict(sent)]
        assert ("members" in axes) == (len(got) > len(sent) + len(OURS))


def test_an_extra_member_replaces_none_that_was_sent() -> None:
    extra = create(greased(("members",), 7), '{"name": "shop"}').json.keys() - {"name", *OURS}
    assert extra
    sent = {"name": "shop", **dict.fromkeys(extra, "mine")}
    created = create(greased(("members",), 7), json.dumps(sent)).json
    assert created.items() >= sent.items()


# The parts of the contract

SCHEMAS = V1.document["components"]["schemas"]


def varied(app: Flask) -> set[tuple[str, str]]:
    return {(axis, part) for axis in AXES for part in worlds_of(app).shared.parts.list_varied(axis)}


def wire(response: TestResponse) -> tuple[int, list[tuple[str, str]], bytes]:
    return response.status_code, list(response.headers), response.data


def session(app: Flask) -> list[tuple[int, list[tuple[str, str]], bytes]]:
    """All responses of the contract."""
    client = control_client_of(app)
    found = []
    for name in ("shop", "blog"):
        created = client.post("/v1/projects", json={"name": name})
        latest = path_of(json.loads(created.data)["latest_deployment_id"])
        found += [created, client.get(latest)]
    for method, path, operation in V1.operations():
        for status in operation["responses"]:
            if status > "4":
                prefer = {"Prefer": f"code={status}"}
                found.append(client.open(path, method=method, headers=prefer))
    found += [
        client.get("/v1/projects"),
        client.post("/v1/projects", json={"name": 1}),
        client.get("/v1/nothing"),
        client.delete("/v1/projects"),
        app.test_client().get("/v1/nothing"),
    ]
    return [wire(response) for response in found]


def test_a_response_names_its_axis_exactly_if_it_varies() -> None:
    """Each part of each axis is recorded alone."""
    scenario = read("grease-each-part")
    off = {"send": ["PUT", "/_stub/grease", {"axes": []}]}
    steps = [off if step["send"][0] == "PUT" else step for step in scenario.steps]
    note = ""
    for step, plain, varied in zip(
        scenario.steps, play(scenario._replace(steps=steps)), play(scenario), strict=True
    ):
        method, path, *sent = step["send"]
        if method == "PUT":
            note = f"seed={sent[0]['seed']}; axes={sent[0]['axes'][0]}"
        if path.startswith("/v1/"):
            assert plain
            assert varied
            headers = {**varied.headers}
            named = headers.pop("Stub-Grease", None)
            is_varied = varied._replace(headers=headers) != plain
            assert named == (note if is_varied else None), step


def test_each_part_of_the_contract_that_is_met_varies_and_none_is_fixed() -> None:
    app = app_of(*AXES)
    session(app)
    shared = worlds_of(app).shared
    parts = shared.parts
    unmet = set()
    for operation, counts in shared.coverage.document()["operations"].items():
        unmet |= {f"{operation} {status}" for status, count in counts.items() if not count}
    expected = {(axis, part) for axis in AXES for part in parts.by_axis[axis] if part not in unmet}
    assert varied(app) == expected
    assert not [each for each in parts.described.values() if "fixed" in each["x-origin"]]


def test_the_fields_of_a_response_without_a_body_vary() -> None:
    like = make_profile({"observed_at": "2026-01-05", "deployment": {"body": None}})
    client = app_of("headers", "media-type", like=like).test_client()
    response = client.get("/v1/deployments/dpl_failed", headers=BEARER)
    assert response.data == b""
    assert "Content-Type" not in response.headers
    assert response.headers["Stub-Grease"] == "seed=0; axes=headers"
    assert any(name.startswith("X-") for name, _ in response.headers)


# Each variation is a function of the seed, the axis, the part, and the resource or the request


def test_random_ids_change_no_variation() -> None:
    first, second = (session(app_of(*AXES, new_id=random_id)) for _ in range(2))
    assert first == second


def test_what_was_created_without_grease_varies_alike_once_it_is_on() -> None:
    axes = [axis for axis in AXES if axis != "ids"]
    late, early = control_client_of(app_of()), control_client_of(app_of(*axes))
    for client in (late, early):
        client.post("/v1/projects", json={"name": "shop"})
    late.put("/_stub/grease", json={"axes": axes})
    assert wire(late.get("/v1/projects")) == wire(early.get("/v1/projects"))


@pytest.mark.parametrize("where", ["start", "reset"])
def test_the_records_of_a_seed_vary_alike_and_unlike_what_is_created(where: str) -> None:
    document = {"projects": [{"name": "shop"}, {"name": "blog", "id": "mine"}, {"name": "wiki"}]}

    def extra() -> list[set[str]]:
        seed = seed_of(document if where == "start" else {})
        control = control_client_of(greased_app(("members",), 0, new_id=random_id, seed=seed))
        if where == "reset":
            control.post("/_stub/reset", json=document)
        control.post("/v1/projects", json={"name": "news"})
        records = control.get("/v1/projects").json["projects"]
        return [each.keys() - SCHEMAS["Project"]["properties"].keys() for each in records]

    assert extra() == extra()
    for one, other in itertools.combinations(extra(), 2):
        assert one
        assert not one & other


def test_the_order_of_two_projects_does_not_depend_on_a_third() -> None:
    for seed in range(3):
        client = control_client_of(app_of("list-order", seed=seed))
        before = [each["name"] for each in client.get("/v1/projects").json["projects"]]
        client.post("/v1/projects", json={"name": "late"})
        after = [each["name"] for each in client.get("/v1/projects").json["projects"]]
        assert [name for name in after if name != "late"] == before
