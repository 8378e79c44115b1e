"""Reading a JSON body: media type, size, and syntax."""

import gzip
import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from app import create_app
from tests import generated  # noqa: F401  sets Hypothesis up
from tests.conftest import client_of, unchanged
from tests.contract import assert_problem
from web.strict_json import MalformedJSON, is_json, parse_json

PATH = "/v1/projects"
BEYOND = 2**1024 - 2**970
"""The least integer that an IEEE double rounds to infinity."""


def post_body(
    client: FlaskClient, data: bytes, content_type: str | None = "application/json"
) -> Any:
    return client.post(PATH, data=data, content_type=content_type)


def test_json_in_utf_8_has_these_media_types() -> None:
    for accepted in (
        "application/json",
        "application/json;charset=UTF-8",
        'application/json; charset="Utf-8"',
        "APPLICATION/JSON ; CHARSET=utf-8",
        "application/json; profile=x; v=1",
        "application/json;",
    ):
        assert is_json(accepted), accepted
    for rejected in (
        "",
        "text/plain",
        "application/problem+json",
        "application/jsonp",
        "application/json, application/json",
        "application/json; charset=utf-16",
        "application/json; charset=utf8",
        "application/json; charset=",
        'application/json; charset="',
        "application/json; charset=utf-8; charset=utf-16",
    ):
        assert not is_json(rejected), rejected


def test_any_other_media_type_is_415(client: FlaskClient) -> None:
    with unchanged(client):
        for content_type in (None, "text/plain"):
            response = post_body(client, b'{"name": "a"}', content_type)
            problem = assert_problem(response, 415, "unsupported_media_type")
            assert "`Content-Type: application/json`" in problem["detail"]


def test_a_content_encoding_is_415(client: FlaskClient) -> None:
    body = {"data": gzip.compress(b'{"name": "a"}'), "content_type": "application/json"}
    for encoding in ("gzip", "identity, gzip"):
        response = client.post(PATH, **body, headers={"Content-Encoding": encoding})
        problem = assert_problem(response, 415, "unsupported_media_type")
        assert "Content-Encoding" in problem["detail"]
    for number, encoding in enumerate(("Identity", "")):
        headers = {"Content-Encoding": encoding}
        response = client.post(PATH, json={"name": f"{number}"}, headers=headers)
        assert response.status_code == 201


def sized(size: int) -> bytes:
    return b'{"name": "a", "filler": "%s"}' % ((size - 27) * b"x")


def test_a_body_has_at_most_64_kib(client: FlaskClient) -> None:
    assert len(sized(65536)) == 65536
    with unchanged(client):
        assert_problem(post_body(client, sized(65537)), 413, "body_too_large")
        assert_problem(post_body(client, sized(65537), "text/plain"), 415, "unsupported_media_type")
        assert_problem(post_body(client, 70_000 * b"{"), 413, "body_too_large")
    assert post_body(client, sized(65536)).status_code == 201


def nested(levels: int) -> bytes:
    inner = levels - 1
    return b'{"name": "a", "x": %s%s}' % (inner * b"[", inner * b"]")


SYNTAX: list[tuple[bytes, str]] = [
    (b"", "line 1, column 1"),
    (b"{", "line 1, column 2"),
    (b'{"name":\n  }', "line 2, column 3"),
    (b'{"name": "a",}', "line 1, column 1"),
    (b'{"name": "a"} {}', "line 1, column 15"),
    (b"{'name': 'a'}", "line 1, column 2"),
    (b'{"name": "a"}\x00', "line 1, column 14"),
    (b'{"name": "a\nb"}', "line 1, column 12: Invalid control character"),
    (b'{"name": "\\x"}', "line 1, column 11"),
    (b'{"x": 01}', "line 1, column 8"),
    (b'{"x": +1}', "line 1, column 7"),
    (b'{"x": .5}', "line 1, column 7"),
    (b'{"x": 1.}', "line 1, column 8"),
    *((b'{"x": %s%s}' % (5000 * b"9", end), "line 1, column") for end in (b"-", b"e", b"-1")),
    (30_000 * b'{"a": "\\"', "line 1, column"),
    (b'\xef\xbb\xbf{"name": "a"}', "line 1, column 1: A byte order mark"),
    ('{"name": "a"}'.encode("utf-16"), "byte 1: not UTF-8"),
    ('{"name": "a"}'.encode("utf-16-le"), "line 1, column 2"),
    (b'{"name": "\xed\xa0\x80"}', "byte 11: not UTF-8"),
    (b'{"name": "\xc0\xaf"}', "byte 11: not UTF-8"),
]
NUMBER = "NaN, Infinity or a number too large for an IEEE double"
NAME = "A member name that this object has already"
SURROGATE = "A surrogate without its partner"
LEVELS = "More levels deep than are allowed"
BEYOND_JSON: list[tuple[bytes, str]] = [
    (b"NaN", f"the document: {NUMBER}"),
    (b'{"a/b": [1, {"c~d": NaN}]}', f"/a~1b/1/c~0d: {NUMBER}"),
    (b'{"x": [-Infinity]}', f"/x/0: {NUMBER}"),
    (b'{"x": -1.5E+400}', f"/x: {NUMBER}"),
    *(
        (b'{"x": %s}' % number, f"/x: {NUMBER}")
        for number in (b"-" + 309 * b"9", 5000 * b"1", b"%d" % BEYOND, 400 * b"9" + b".0")
    ),
    (b'{"x": 1, "y": 1, "x"\t\r\n : 1}', f"/x: {NAME}"),
    (b'{"x": {"b": 1, "\\u0062" : {}}}', f"/x/b: {NAME}"),
    (b'{"x": "\\ud800"}', f"/x: {SURROGATE}"),
    (b'{"x": [["\\ud800\\ud800"]]}', f"/x/0/0: {SURROGATE}"),
    (b'{"x": "\\udc00\\ud800"}', f"/x: {SURROGATE}"),
    (b'{"x": {"\\uDC00x": 1}}', f"/x: A member name has {SURROGATE.lower()}"),
    (nested(33), f"/x{31 * '/0'}: {LEVELS}"),
    (nested(60), f"/x{31 * '/0'}: {LEVELS}"),
    (32_000 * b"[" + 32_000 * b"]", "the document: More"),
    (64_000 * b"[", "the document: More"),
    (12_000 * b'{"a":', "the document: More"),
]


@pytest.mark.parametrize(("body", "reason"), [*SYNTAX, *BEYOND_JSON], ids=lambda each: each[:30])
def test_anything_but_strict_json_is_rejected_with_the_place(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedJSON) as caught:
        parse_json(body)
    assert str(caught.value).startswith(reason)


def test_malformed_json_is_400(client: FlaskClient) -> None:
    rule = "that every parser reads the same way (RFC 8259, RFC 7493). At "
    with unchanged(client):
        for body in (b"{", b"\xff", 64_000 * b"[", b'{"x": 1e999}'):
            problem = assert_problem(post_body(client, body), 400, "malformed_json")
            assert rule in problem["detail"]


@pytest.mark.parametrize(
    "members",
    [
        f'"x": {BEYOND - 1}, "y": [-{BEYOND - 1}]',
        '"x": 1.0, "y": 1.10, "z": 1e2, "w": -0, "v": -0.0, "u": 1E-400',
        '"x": 0.1000000000000000055511151231257827021181583404541015625',
        r'"x": "\u00e9\/\u0000\ud83d\ude80", "y\u0020z": ""',
        '"x":\t[ 1 ,\r\n 2 ]  ',
        '"x": "🚀\u2028", "Name": "b", "": {"id": 1, "": {}}',
        '"__proto__": {}, "constructor": null, "projects": []',
        f'"x": "{40 * "[{"}", "y": [{39 * "{}, "}null]',
        nested(32)[14:-1].decode(),
    ],
)
def test_members_are_returned_to_the_letter(client: FlaskClient, members: str) -> None:
    text = '  {\n"name": "a", ' + members + "}\r\n"
    created = post_body(client, text.encode())
    assert created.status_code == 201
    assert members in created.text
    assert created.text.rstrip() in client.get(PATH).text


def test_a_body_cut_short_is_400(client: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "999"}
    with unchanged(client):
        response = client.post(
            PATH, data=b'{"name": "a"}', content_type="application/json", environ_overrides=environ
        )
        assert_problem(response, 400, "malformed_request")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

own_members = st.dictionaries(
    st.text().filter(lambda name: name not in ("id", "created_at", "latest_deployment_id")),
    json_values,
    max_size=5,
)


@pytest.mark.generated
@given(members=own_members, ascii_only=st.booleans(), indent=st.none() | st.integers(0, 3))
def test_any_members_are_returned_as_sent(
    members: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    client = client_of(create_app())
    sent = {**members, "name": "a"}
    body = json.dumps(sent, ensure_ascii=ascii_only, indent=indent).encode()
    created = post_body(client, body)
    assert created.status_code == 201
    assert client.get(PATH).json == {"projects": [created.json]}
    returned = {name: created.json[name] for name in sent}
    assert repr(sorted(returned.items())) == repr(sorted(sent.items()))


@pytest.mark.generated
@given(st.binary(max_size=200) | st.text().map(str.encode) | json_values.map(
    lambda value: json.dumps(value).encode()
))  # fmt: skip
def test_no_body_makes_the_service_fail(body: bytes) -> None:
    client = client_of(create_app())
    response = post_body(client, body)
    assert response.status_code in (201, 400, 422)
    if response.status_code != 201:
        assert client.get(PATH).json == {"projects": []}
