"""Reading a JSON body: media type, size, and syntax."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import unchanged
from tests.contract import CREATED, assert_problem
from web.strict_json import MalformedJSON, parse_json

PATH = "/v1/projects"
BEYOND = 2**1024 - 2**970
"""The least integer that an IEEE double rounds to infinity."""


def post_body(
    client: FlaskClient, data: bytes, content_type: str | None = "application/json"
) -> Any:
    return client.post(PATH, data=data, content_type=content_type)


ACCEPTED = (
    "application/json",
    'application/json; charset="Utf-8"',
    "APPLICATION/JSON ; CHARSET=utf-8",
    "application/json; profile=x; v=1",
)
REJECTED = (
    None,
    "text/plain",
    "application/problem+json",
    "application/json, application/json",
    "application/json; charset=utf-16",
)


def test_anything_but_json_in_utf_8_is_415(client: FlaskClient) -> None:
    rule = "that every parser reads the same way (RFC 8259, RFC 7493). At line 1, column 2: "
    for content_type in ACCEPTED:
        problem = assert_problem(post_body(client, b"{", content_type), 400, "malformed_json")
        assert rule in problem["detail"]
    for other in REJECTED:
        problem = assert_problem(post_body(client, b"{", other), 415, "unsupported_media_type")
        assert "`Content-Type: application/json`" in problem["detail"]
    for encoding, status in (("gzip", 415), ("identity, gzip", 415), ("Identity", CREATED)):
        headers = {"Content-Encoding": encoding}
        assert client.post(PATH, json={"name": "a"}, headers=headers).status_code == status


def sized(size: int) -> bytes:
    return b'{"name": "a", "filler": "%s"}' % ((size - 27) * b"x")


def test_a_body_has_at_most_64_kib(client: FlaskClient) -> None:
    assert len(sized(65536)) == 65536
    with unchanged(client):
        assert_problem(post_body(client, sized(65537)), 413, "body_too_large")
        assert_problem(post_body(client, 70_000 * b"{"), 413, "body_too_large")
        assert_problem(post_body(client, sized(65537), "text/plain"), 415, "unsupported_media_type")
    assert post_body(client, sized(65536)).status_code == CREATED


def nested(levels: int) -> bytes:
    inner = levels - 1
    return b'{"name": "a", "x": %s%s}' % (inner * b"[", inner * b"]")


SYNTAX: list[tuple[bytes, str]] = [
    (b"", "line 1, column 1: The text is empty"),
    (b'{"name":\n  }', "line 2, column 3"),
    (b'{"name": "a"}\x00', "line 1, column 14"),
    (b'{"name": "a\nb"}', "line 1, column 12: Invalid control character"),
    (b'{"x": 01}', "line 1, column 8"),
    (b'{"x": %s-}' % (5000 * b"9"), "line 1, column"),
    (b'\xef\xbb\xbf{"name": "a"}', "line 1, column 1: A byte order mark"),
    ('{"name": "a"}'.encode("utf-16"), "byte 1: not UTF-8"),
    (b'{"name": "\xed\xa0\x80"}', "byte 11: not UTF-8"),
]
NUMBER = "NaN, Infinity or a number too large for an IEEE double"
NAME = "A member name that this object has already"
SURROGATE = "A surrogate without its partner"
LEVELS = "More levels deep than are allowed"
BEYOND_JSON: list[tuple[bytes, str]] = [
    (b"NaN", f"the document: {NUMBER}"),
    (b'{"a/b": [1, {"c~d": -Infinity}]}', f"/a~1b/1/c~0d: {NUMBER}"),
    (b'{"x": -1.5E+400}', f"/x: {NUMBER}"),
    (b'{"x": %d}' % BEYOND, f"/x: {NUMBER}"),
    (b'{"x": %s}' % (5000 * b"1"), f"/x: {NUMBER}"),
    (b'{"x": 1, "y": 1, "x"\t\r\n : 1}', f"/x: {NAME}"),
    (b'{"x": {"b": 1, "\\u0062" : {}}}', f"/x/b: {NAME}"),
    (b'{"x": [["\\ud800\\ud800"]]}', f"/x/0/0: {SURROGATE}"),
    (b'{"x": "\\udc00\\ud800"}', f"/x: {SURROGATE}"),
    (b'{"x": {"\\uDFFFx": 1}}', f"/x: A member name has {SURROGATE.lower()}"),
    (nested(33), f"/x{31 * '/0'}: {LEVELS}"),
    (64_000 * b"[", "the document: More than 32"),
    (12_000 * b'{"a":', "the document: More than 32"),
]


@pytest.mark.parametrize(("body", "reason"), [*SYNTAX, *BEYOND_JSON], ids=lambda each: each[:30])
def test_anything_but_strict_json_is_rejected_with_the_place(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedJSON) as caught:
        parse_json(body)
    assert str(caught.value).startswith(reason)


MEMBERS = (
    f'"x": {BEYOND - 1}, "y": [-{BEYOND - 1}]',
    '"x": 1.0, "y": 1.10, "z": 1e2, "w": -0, "v": -0.0, "u": 1E-400, "t": -1.7e308, "s": true',
    r'"x": "\u00e9\/\u0000\ud83d\ude80", "y\u0020z": ""',
    '"x":\t[ 1 ,\r\n 2 ]  ',
    '"x": "🚀\u2028", "Name": "b", "": {"id": 1, "": {}}',
    f'"x": "{40 * "[{"}", "y": [{39 * "{}, "}null]',
    nested(32)[14:-1].decode(),
)


def test_members_are_returned_to_the_letter(client: FlaskClient) -> None:
    for number, members in enumerate(MEMBERS):
        text = f'  {{\n"name": "{number}", {members}}}\r\n'
        created = post_body(client, text.encode())
        assert created.status_code == CREATED
        assert members in created.text
        assert created.text.rstrip() in client.get(PATH).text
