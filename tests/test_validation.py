"""The rules of a project."""

import json
import re
from typing import Any

from flask.testing import FlaskClient

from tests.conftest import client_of, make_stub, unchanged
from tests.contract import CREATED, V1, assert_invalid

PATH = "/v1/projects"

INVALID: list[tuple[Any, list[str]]] = [
    (None, [""]),
    ([], [""]),
    ({}, ["/name"]),
    ({"name": None}, ["/name"]),
    ({"name": ""}, ["/name"]),
    ({"name": " \t\u2003"}, ["/name", "/name"]),
    ({"name": 101 * "\n"}, ["/name", "/name", "/name"]),
    ({"name": "a", "id": None}, ["/id"]),
    (
        {"latest_deployment_id": 3, "created_at": 2, "id": 1},
        ["/id", "/created_at", "/latest_deployment_id", "/name"],
    ),
]


def test_invalid_content_is_422_with_every_error(client: FlaskClient) -> None:
    with unchanged(client):
        for body, pointers in INVALID:
            response = client.post(PATH, data=json.dumps(body), content_type="application/json")
            assert_invalid(response, *pointers)


def test_a_name_of_1_to_100_code_points_is_kept_unchanged(client: FlaskClient) -> None:
    for name in ("a", 100 * "🚀", "\u200b", " a ", "\ufeffa", "a\u2028b"):
        assert client.post(PATH, json={"name": name}).json["name"] == name


def test_strict_rejects_unknown_members() -> None:
    client = client_of(make_stub(strict=True))
    document = {"name": "", "a/b": 1, "c~d": 2, "id": 3}
    with unchanged(client):
        response = client.post(PATH, json=document)
        assert_invalid(response, "/id", "/name", "/a~1b", "/c~0d")


def test_the_first_thousand_errors_are_reported() -> None:
    client = client_of(make_stub(strict=True))
    names = [f"m{number:04}" for number in range(2000)]
    response = client.post(PATH, json={"name": "n", **dict.fromkeys(names)})
    assert_invalid(response, *(f"/{name}" for name in names[:1000]))


def test_the_schema_of_the_contract_is_the_rule(client: FlaskClient) -> None:
    def accepts(name: str) -> bool:
        return client.post(PATH, json={"name": name}).status_code == CREATED

    schema = V1.components["schemas"]["ProjectInput"]["properties"]["name"]
    for length in (0, 1, 100, 101):
        is_allowed = schema["minLength"] <= length <= schema["maxLength"]
        assert accepts(length * "é") == is_allowed
    pattern = schema["pattern"]
    blanks = [chr(code) for code in range(0x11000) if chr(code).isspace() or code < 0xA1]
    for character in [*blanks, "\u180e", "\u200b", "\ufeffa", "\U0001f680"]:
        for name in (character, character + " ", f"x{character}y"):
            assert accepts(name) == bool(re.search(pattern, name)), repr(name)
    assert re.search(pattern, "\ufeff")  # ECMA-262, the dialect of the pattern, has no match
    assert not accepts("\ufeff")
