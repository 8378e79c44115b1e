"""Grease: the forms that times and ids take, and what the stub does with such ids."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import START, Clock, control_client_of, seed_of
from tests.contract import assert_problem
from tests.stub.conftest import status_of
from tests.stub.test_grease import create, greased, moment_of

TIME = re.compile(r"\d{4}-\d\d-\d\d([Tt])\d\d:\d\d:\d\d(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")
ODD_IDS = [
    "a/b",
    "/",
    "//",
    "a/../b",
    " ",
    "100%",
    "%2F",
    "%41",
    "é",
    "漢字 😀",
    "a?b#c",
    'q"\\',
    "\ufeff",
]


def times(axes: tuple[str, ...], milliseconds: int = 120) -> list[tuple[str, str, str]]:
    """The separators, digits and offsets of the same moment from many seeds."""
    at = START.replace(microsecond=milliseconds * 1000)
    seed = seed_of({"deployments": [{"id": "d", "status": "a", "created_at": at.isoformat()}]})
    client = greased((), 0, seed=seed)
    control = control_client_of(client.application)
    found = []
    for number in range(100):
        control.put("/_stub/grease", json={"axes": list(axes), "seed": number})
        text = client.get("/v1/deployments/d").json["created_at"]
        assert moment_of(text) == at
        match = TIME.fullmatch(text)
        assert match
        separator, digits, offset = match.groups("")
        found.append((separator, digits, offset))
    return found


def minutes(offset: str) -> int:
    return int(offset[:3]) * 60 + int(offset[0] + offset[4:]) if len(offset) > 1 else 0


def test_times_of_tier_1_are_those_that_every_parser_reads() -> None:
    found = times(("times",), 0)
    assert {separator for separator, _, _ in found} == {"T"}
    assert {len(digits) for _, digits, _ in found} == {0, *range(4, 10)}
    offsets = {offset for _, _, offset in found}
    assert {"+00:00", "+05:30"} < offsets
    assert offsets.isdisjoint({"Z", "z"})  # no time is as it was
    assert {max(map(minutes, offsets)), -min(map(minutes, offsets))} == {14 * 60}
    digits_of_120 = {digits for _, digits, _ in times(("times",), 120)}
    assert {digits[:3].rstrip("0") for digits in digits_of_120} == {"12"}
    assert {*map(len, digits_of_120)} == {*range(4, 10)}


def test_odd_times_are_those_that_many_parsers_reject() -> None:
    for axes in (("times-odd",), ("times", "times-odd")):
        found = times(axes)
        assert all(each[2] == "z" or abs(minutes(each[2])) > 14 * 60 for each in found)
        assert {separator for separator, _, _ in found} == {"t"}
        assert {"z", "+23:59", "-23:59"} < {offset for _, _, offset in found}
        assert "times" in axes or {digits for _, digits, _ in found} == {"120"}


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
def test_the_first_and_the_last_moment_have_odd_times_too(moment: str) -> None:
    seed = seed_of({"deployments": [{"id": "d", "status": "a", "created_at": moment}]})
    client = greased((), 0, seed=seed)
    control = control_client_of(client.application)
    for number in range(40):
        control.put("/_stub/grease", json={"axes": ["times", "times-odd"], "seed": number})
        assert TIME.fullmatch(client.get("/v1/deployments/d").json["created_at"])


def test_no_escape_is_in_a_time() -> None:
    for seed in range(20):
        for axes in (("json-text",), ("json-text", "times", "times-odd")):
            text = greased(axes, seed).get("/v1/deployments/dpl_failed").text
            spelled = re.search(r'(\d{4}-\d\d-\d\d[Tt][^"]*)"', text)
            assert spelled
            assert TIME.fullmatch(spelled[1])


def encoded(path_segment: str) -> str:
    return quote(path_segment, safe="")


@pytest.mark.parametrize("axes", [("ids-encoded",), ("ids", "ids-encoded")])
def test_every_encoded_id_has_a_character_of_each_kind(axes: tuple[str, ...]) -> None:
    kinds = set()
    for seed in range(20):
        client = greased(axes, seed)
        project = json.loads(create(client).data)
        for given in (project["id"], project["latest_deployment_id"]):
            assert {"/", "%", " "} < {*given}
            assert not given.isascii()
            assert given.strip() == given
            assert 5 < len(given) <= 255
            kinds |= {*re.sub("[ -~]", "", given)}
        response = client.get(f"/v1/deployments/{encoded(project['latest_deployment_id'])}")
        assert response.json["project_id"] == project["id"]
        assert response.headers["Stub-Grease"] == f"seed={seed}; axes={','.join(axes)}"
    assert len(kinds) > 2


def test_an_id_of_the_longest_kind_is_shortened() -> None:
    lengths = set()
    for seed in range(30):
        lengths |= {len(json.loads(create(greased(("ids", "ids-encoded"), seed)).data)["id"])}
    assert max(lengths) == 255


def test_a_client_that_does_not_encode_gets_404() -> None:
    client = greased(("ids-encoded",), 8)
    given = json.loads(create(client).data)["latest_deployment_id"]
    for path in (given, given.replace("/", "%2F"), encoded(given).replace("%25", "%")):
        assert client.get(f"/v1/deployments/{path}").status_code == 404


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


@pytest.mark.parametrize("deployment_id", ODD_IDS)
def test_such_a_deployment_can_be_put(deployment_id: str, stub: FlaskClient) -> None:
    path = f"/_stub/deployments/{encoded(deployment_id)}"
    assert stub.put(path, json={"status": "failed"}).status_code == 201
    assert stub.put(path, json={"status": "canceled"}).json["id"] == deployment_id
    assert status_of(stub, encoded(deployment_id)) == "canceled"
    params = {"id": deployment_id, "status": "failed"}
    state = {"state": "a deployment exists", "params": params}
    assert stub.post("/_stub/pact", json=state).json["id"] == deployment_id


@pytest.mark.parametrize("deployment_id", ODD_IDS)
def test_an_unknown_id_with_a_slash_is_no_unknown_path(
    deployment_id: str, client: FlaskClient
) -> None:
    response = client.get(f"/v1/deployments/{encoded(deployment_id)}")
    assert_problem(response, 404, "deployment_not_found")


def test_the_draws_of_a_request_do_not_depend_on_the_letters_of_its_id() -> None:
    def told(prefix: str) -> Any:
        ids = iter(f"{prefix}{number}" for number in range(9))
        axes = ("headers", "media-type", "json-text", "ids-encoded")
        client = greased(axes, 7, new_id=lambda _: next(ids))
        given = json.loads(create(client).data)["latest_deployment_id"]
        response = client.get(f"/v1/deployments/{encoded(given)}")
        return response.headers["Content-Type"], [*response.headers.keys()], response.text[:9]

    assert told("first") == told("other")
