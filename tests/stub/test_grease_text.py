"""Grease: an axis other than `json-text` leaves the text of all that it does not vary."""

import copy
import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import seed_of
from tests.contract import V1
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
SENT_MEMBERS = [text for pieces in SENT for text in pieces[1::2]]
EXACT = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str)
STRING = r'"(?:[^"\\]|\\.)*"'


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


def objects(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [document, *document.get("projects", ()), *document.get("errors", ())]


def without_extras(text: str, plain: str) -> str:
    """The text without what was put in before a closing brace: a comma and a new member."""
    at = 0
    while match := re.compile(r', "([a-z]{6,12})": ').search(text, at):
        at = match.end()
        if match[1] not in plain:
            at = match.start()
            _, end = json.JSONDecoder().raw_decode(text, match.end())
            assert re.match(r'\s*\}|, "[a-z]', text[end:])
            text = text[:at] + text[end:]
    return text


def without_members(text: str, plain: str) -> str:
    """What is around the members."""
    parsed = objects(json.loads(plain))
    ours = [json.dumps({name: each[name]})[1:-1] for each in parsed for name in each]
    for each in sorted({*SENT_MEMBERS, *ours}, key=len, reverse=True):
        text = text.replace(each, "@")
    return re.sub(r'"errors": \[.*?\]', "@", text)


def without_records(text: str, plain: str) -> str:
    """What is around the records of a list."""
    if plain.startswith('{"projects": '):
        for pieces in SENT:
            sent = re.escape("".join(pieces)[1:].lstrip())
            text, count = re.subn(rf'\{{"id": {STRING}, (?:(?!"id": ).)*?{sent}', "@", text)
            assert count == 1
    return text


def without_ids(text: str, _: str) -> str:
    names = "id|project_id|latest_deployment_id"
    return re.sub(rf'"({names})": {STRING}(?=, ")', r'"\1": @', text)


def without_times(text: str, _: str) -> str:
    return re.sub(rf'"created_at": {STRING}', "@", text)


def without_error_text(text: str, _: str) -> str:
    if text.startswith('{"type": '):
        text = re.sub(rf'"title": {STRING}', "@", text, count=1)
        text = re.sub(rf'"detail": {STRING}', "@", text, count=1)
    return text


def without_status(text: str, _: str) -> str:
    is_deployment = '"project_id": ' in text
    return re.sub(rf'"status": {STRING}', "@", text) if is_deployment else text


def unchanged(text: str, _: str) -> str:
    return text


# What each axis may not change; the others may change nothing of a body.
WITHOUT = {
    "members": without_extras,
    "member-order": without_members,
    "list-order": without_records,
    "ids": without_ids,
    "ids-encoded": without_ids,
    "times": without_times,
    "times-odd": without_times,
    "error-text": without_error_text,
    "status-values": without_status,
}


@pytest.mark.parametrize("axis", BUT_JSON_TEXT)
def test_an_axis_changes_the_text_of_what_it_varies_alone(axis: str) -> None:
    without, varied = WITHOUT.get(axis, unchanged), 0
    for seed in range(4):
        for response, expected in zip(session((axis,), seed), session((), seed), strict=True):
            text, plain = response.text, expected.text
            assert without(text, plain) == without(plain, plain)
            varied += text != plain
    assert (varied > 0) == (axis in WITHOUT)


def test_all_of_these_axes_leave_what_clients_sent() -> None:
    for seed in range(4):
        for response, pieces in zip(session(BUT_JSON_TEXT, seed), SENT, strict=False):
            assert all(text in response.text for text in pieces[1::2])


@pytest.mark.parametrize("seed", range(4))
def test_another_spelling_has_the_same_names_values_and_order(seed: int) -> None:
    for others in [(), *[(axis,) for axis in BUT_JSON_TEXT], BUT_JSON_TEXT]:
        respelled = session(("json-text", *others), seed)
        for response, expected in zip(respelled, session(others, seed), strict=True):
            assert response.text != expected.text
            assert EXACT.decode(response.text.strip()) == EXACT.decode(expected.text)


@pytest.mark.parametrize("spelled", ["{}", "{ }", '{"a":1}', '{\n"a" : 1 }'])
def test_members_are_added_to_an_object_of_any_spelling(
    spelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = copy.deepcopy(V1.document)
    owner = {"x-grease": ["members"], "properties": {}}
    document["components"]["schemas"]["Project"]["properties"]["owner"] = owner
    monkeypatch.setattr("app.get_data", lambda *_: json.dumps(document).encode())
    text = create(greased(("members@Project.owner",), 7), f'{{"name":"a","owner":{spelled}}}').text
    owner = json.loads(text)["owner"]
    extra = json.dumps({name: owner[name] for name in owner if name != "a"})[1:-1]
    assert extra
    comma = ", " if '"a"' in spelled else ""
    at = spelled.find("1") + 1 or len(spelled) - 1
    assert f'"owner":{spelled[:at]}{comma}{extra}{spelled[at:]}}}\n' in text
