"""Grease: no axis changes a value that a client sent."""

import json

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import seed_of
from tests.stub.greased import AXES, path_of
from tests.stub.test_grease import greased

BUT_JSON_TEXT = tuple(axis for axis in AXES if axis != "json-text")
# What clients send, cut before and after each member.
SENT = [
    ["{", '"name":"shop"', "}"],
    [
        *("{ ", '"name" : "caf\\u00e9"', " ,\n\t", '"n":[1.10,-0, 1E2,1' + 40 * "0" + "]", ","),
        *('"o" :{"id":"x", "z" : { },"name":"shop","created_at":"2026-11-21T10:00:00.000Z"}', ", "),
        *(r'"\"id\"":"\"id\": \"prj_1\", \\"', "  ,", '"é\\/\\ud83d\\ude00": "😀 }],[{:\\u005c"'),
        *(",", '"projects":[ ]', " }"),
    ],
    ["{\r\n", '"\\u006ea\\u006De"\t:"a,b"', ",", '"status":"queued"', ", ", '"of": null', "\n}"],
    ["{", '"last":{"last" :[[],{}]}', " , ", '"name":"blog"', ",", '"created_by": "me"', "}"],
]
EXACT = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str)


def session(axes: tuple[str, ...], seed: int) -> list[TestResponse]:
    client = greased(axes, seed, seed=seed_of({}))
    responses = [create(client, "".join(pieces)) for pieces in SENT]
    latest = json.loads(responses[0].data)["latest_deployment_id"]
    return [
        *responses,
        client.get("/v1/projects"),
        client.get("/v1/deployments/nothing"),
        create(client, '{"name":"shop"}'),
        create(client, '{"name":1}'),
        client.put("/v1/projects"),
        client.get("/v1/deployments/{}", headers={"Prefer": "code=500"}),
        client.get(path_of(latest)),
    ]


def create(client: FlaskClient, text: str) -> TestResponse:
    return client.post("/v1/projects", data=text.encode(), content_type="application/json")


@pytest.mark.parametrize("axis", AXES)
def test_no_axis_changes_a_value_that_a_client_sent(axis: str) -> None:
    for seed in range(4):
        for response, pieces in zip(session((axis,), seed), SENT, strict=False):
            sent, got = EXACT.decode("".join(pieces)), EXACT.decode(response.text.strip())
            assert [member for member in got if member in sent] == sent or axis == "member-order"
            assert all(member in got for member in sent)


@pytest.mark.parametrize("seed", range(4))
def test_another_spelling_has_the_same_names_values_and_order(seed: int) -> None:
    for others in [(), *[(axis,) for axis in BUT_JSON_TEXT], BUT_JSON_TEXT]:
        respelled = session(("json-text", *others), seed)
        for response, expected in zip(respelled, session(others, seed), strict=True):
            assert response.text != expected.text
            assert EXACT.decode(response.text.strip()) == EXACT.decode(expected.text)
