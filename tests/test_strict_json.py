"""Reading a JSON body: size and limits; tests/replayed/bodies.jsonl has media types and syntax."""

import pytest
from flask.testing import FlaskClient

from tests.conftest import unchanged
from tests.contract import CREATED, assert_problem
from web.strict_json import MalformedJSON, parse_json

PATH = "/v1/projects"
BEYOND = 2**1024 - 2**970
"""The least integer that an IEEE double rounds to infinity."""


def sized(size: int) -> bytes:
    return b'{"name": "a", "filler": "%s"}' % ((size - 27) * b"x")


def test_a_body_has_at_most_64_kib(client: FlaskClient) -> None:
    json = {"content_type": "application/json"}
    assert len(sized(65536)) == 65536
    with unchanged(client):
        for body in (sized(65537), 70_000 * b"{"):
            assert_problem(client.post(PATH, data=body, **json), 413, "body_too_large")
        response = client.post(PATH, data=sized(65537), content_type="text/plain")
        assert_problem(response, 415, "unsupported_media_type")
    assert client.post(PATH, data=sized(65536), **json).status_code == CREATED


def nested(levels: int) -> bytes:
    inner = levels - 1
    return b'{"name": "a", "x": %s%s}' % (inner * b"[", inner * b"]")


# What is too long for the recorded table, or is at the limit of an IEEE double.
NUMBER = "NaN, Infinity or a number too large for an IEEE double"
REJECTED: list[tuple[bytes, str]] = [
    (b'{"x": %s-}' % (5000 * b"9"), "line 1, column"),
    (b'{"x": %s}' % (5000 * b"1"), f"/x: {NUMBER}"),
    (b'{"x": %d}' % BEYOND, f"/x: {NUMBER}"),
    (b'{"a/b": [1, {"c~d": -Infinity}]}', f"/a~1b/1/c~0d: {NUMBER}"),
    (b'{"x": {"\\uDFFFx": 1}}', "/x: A member name has a surrogate without its partner"),
    (nested(33), f"/x{31 * '/0'}: More levels deep than are allowed"),
    (64_000 * b"[", "the document: More than 32"),
    (12_000 * b'{"a":', "the document: More than 32"),
]


@pytest.mark.parametrize(("body", "reason"), REJECTED, ids=lambda each: each[:30])
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
        created = client.post(PATH, data=text.encode(), content_type="application/json")
        assert created.status_code == CREATED
        assert members in created.text
        assert created.text.rstrip() in client.get(PATH).text
