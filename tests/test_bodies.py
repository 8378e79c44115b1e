"""The bodies that are too long for tests/replayed/bodies.jsonl, which has all others."""

import re

import pytest
from flask.testing import FlaskClient

from tests.conftest import client_of, make_stub
from tests.contract import CREATED, V1, assert_invalid, assert_problem

PATH = "/v1/projects"
JSON = {"content_type": "application/json"}


def sized(size: int) -> bytes:
    return b'{"name": "a", "filler": "%s"}' % ((size - 27) * b"x")


def test_a_body_has_at_most_64_kib(client: FlaskClient) -> None:
    for body in (sized(65537), 70_000 * b"{"):
        assert_problem(client.post(PATH, data=body, **JSON), 413, "body_too_large")
    response = client.post(PATH, data=sized(65537), content_type="text/plain")
    assert_problem(response, 415, "unsupported_media_type")
    assert client.post(PATH, data=sized(65536), **JSON).status_code == CREATED


# What Python's own reader rejects by an exception of another kind, or not at all.
MALFORMED: list[tuple[bytes, str]] = [
    (b'{"x": %s-}' % (5000 * b"9"), "line 1, column"),
    (b'{"x": %s}' % (5000 * b"1"), "/x: NaN, Infinity or a number too large"),
    (64_000 * b"[", "the document: More than 32"),
    (12_000 * b'{"a":', "the document: More than 32"),
]


@pytest.mark.parametrize(("body", "reason"), MALFORMED, ids=lambda each: each[:30])
def test_what_is_not_strict_json_is_rejected_with_the_place(
    client: FlaskClient, body: bytes, reason: str
) -> None:
    response = client.post(PATH, data=body, **JSON)
    assert f"At {reason}" in assert_problem(response, 400, "malformed_json")["detail"]


def test_the_first_thousand_errors_are_reported() -> None:
    client = client_of(make_stub(strict=True))
    names = [f"m{number:04}" for number in range(1001)]
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
    blanks = [chr(code) for code in range(0x11000) if chr(code).isspace()]
    for character in [*blanks, *"\0\x1b!~\x7f\x80\x9f\xa1\u180e\u200b", "\ufeffa", "\U0001f680"]:
        for name in (character, character + " ", f"x{character}y"):
            assert accepts(name) == bool(re.search(pattern, name)), repr(name)
    assert re.search(pattern, "\ufeff")  # ECMA-262, the dialect of the pattern, has no match
    assert not accepts("\ufeff")
