"""Reading a JSON body: media type, size, and syntax."""

import gzip
import sys
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import unchanged
from tests.contract import assert_problem

PATH = "/v1/projects"
BEYOND = 2**1024 - 2**970
"""The least integer that an IEEE double rounds to infinity."""


def post_body(
    client: FlaskClient, data: bytes, content_type: str | None = "application/json"
) -> Any:
    return client.post(PATH, data=data, content_type=content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json; charset="Utf-8"',
        "APPLICATION/JSON ; CHARSET=utf-8",
        "application/json; profile=x; v=1",
        "application/json;",
    ],
)
def test_every_spelling_of_json_in_utf_8_is_accepted(
    client: FlaskClient, content_type: str
) -> None:
    assert post_body(client, b'{"name": "a"}', content_type).status_code == 201


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/problem+json",
        "application/merge-patch+json",
        "application/jsonp",
        "text/json",
        "application/json, application/json",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/json; charset=utf8",
        "application/json; charset=",
        'application/json; charset="',
        "application/json; charset=utf-8; charset=utf-16",
        "*/*",
        "json",
    ],
)
def test_any_other_media_type_is_415(client: FlaskClient, content_type: str | None) -> None:
    with unchanged(client):
        response = post_body(client, b'{"name": "a"}', content_type)
        problem = assert_problem(response, 415, "unsupported_media_type")
    assert "`Content-Type: application/json`" in problem["detail"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "x", "identity, gzip"])
def test_a_content_encoding_is_415(client: FlaskClient, encoding: str) -> None:
    headers = {"Content-Encoding": encoding}
    body = gzip.compress(b'{"name": "a"}')
    response = client.post(PATH, data=body, content_type="application/json", headers=headers)
    problem = assert_problem(response, 415, "unsupported_media_type")
    assert "Content-Encoding" in problem["detail"]


@pytest.mark.parametrize("encoding", ["Identity", ""])
def test_the_content_encoding_identity_is_accepted(client: FlaskClient, encoding: str) -> None:
    headers = {"Content-Encoding": encoding}
    assert client.post(PATH, json={"name": "a"}, headers=headers).status_code == 201


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


MALFORMED: list[tuple[bytes, str]] = [
    (b"", "line 1, column 1"),
    (b" ", "line 1, column 2"),
    (b"{", "line 1, column 2"),
    (b'{"name": "a"', "line 1, column 13"),
    (b'{"name":\n  }', "line 2, column 3"),
    (b'{"name": "a",}', "line 1, column 1"),
    (b'{"name": "a"} {}', "line 1, column 15"),
    (b"{'name': 'a'}", "line 1, column 2"),
    (b'{"name": "a"}\x00', "line 1, column 14"),
    (b'{"name": "a\x01b"}', "line 1, column 12"),
    (b'{"name": "a\nb"}', "line 1, column 12"),
    (b'{"name": "\\x"}', "line 1, column 11"),
    (b'{"name": "\\u12"}', "line 1, column"),
    (b"name=a", "line 1, column 1"),
    (b"NaN", "line 1, column 1"),
    (b'{"name": "a", "x": NaN}', "line 1, column 20"),
    (b'{"name": "a", "x": [-Infinity]}', "line 1, column 21"),
    (b'{"name": "a", "x": Infinity}', "line 1, column 20"),
    (b'{"name": "a", "x": 1e999}', "line 1, column 20"),
    (b'{"name": "a", "x": -1.5E+400}', "line 1, column 20"),
    (b'{"name": "a", "x": %s}' % (400 * b"9" + b".0"), "line 1, column 20"),
    (b'{"name": "a", "x": 01}', "line 1, column 21"),
    (b'{"name": "a", "x": +1}', "line 1, column 20"),
    (b'{"name": "a", "x": .5}', "line 1, column 20"),
    (b'{"name": "a", "x": 1.}', "line 1, column 21"),
    (b'{"name": "a", "x": 0x10}', "line 1, column 21"),
    *(
        (b'{"name": "%s", "x": %s}' % (name, number), "line 1, column 2")
        for name in (b"a", b"\\u0061")  # the quick reader, and the strict one
        for number in (309 * b"9", b"-" + 309 * b"9", 400 * b"1", 5000 * b"1", b"%d" % BEYOND)
    ),
    (b'{"name": "a", "name": "b"}', "line 1, column 15"),
    (b'{"x": 1, "x"\t\r\n : 2}', "line 1, column 10"),
    *(
        (b'{"x": %s%s}' % (5000 * b"9", end), "line 1, column")
        for end in (b"-", b"e", b"+", b".e", b"E+", b"-1", b"..")
    ),
    (b'{"name": "a", "x": {"b": 1, "\\u0062" : 2}}', "line 1, column 29"),
    (b'{"name": "\\ud800"}', "line 1, column 10"),
    (b'{"name": "a", "\\uDC00x": 1}', "line 1, column 15"),
    (b'{"name": "a", "x": [["\\ud800\\ud800"]]}', "line 1, column 22"),
    (b'{"name": "a", "x": "\\udc00\\ud800"}', "line 1, column 20"),
    (nested(33), "line 1, column 51"),
    (b'{"name": "a", "x": %s1%s}' % (32 * b'["]}", ', 32 * b"]"), "line 1, column 237"),
    (10_000 * b"[", "line 1, column 33"),
    (10_000 * b'{"a":', "line 1, column"),
    (b'{"name": "' + 30_000 * b'\\"', "line 1, column 10"),
    (b'\xef\xbb\xbf{"name": "a"}', "line 1, column 1"),
    ('{"name": "a"}'.encode("utf-16"), "byte 1"),
    ('{"name": "a"}'.encode("utf-16-le"), "line 1, column 2"),
    (b'{"name": "a\xff"}', "byte 12"),
    (b'{"name": "\xed\xa0\x80"}', "byte 11"),
    (b'{"name": "\xc0\xaf"}', "byte 11"),
    (b'{"name": "a\xe2\x82', "byte 12"),
]


@pytest.mark.parametrize(("body", "place"), MALFORMED)
def test_anything_but_strict_json_is_400_with_the_place(
    client: FlaskClient, body: bytes, place: str
) -> None:
    with unchanged(client):
        problem = assert_problem(post_body(client, body), 400, "malformed_json")
    assert place in problem["detail"]


@pytest.mark.parametrize(
    "members",
    [
        '"x": %s' % (308 * "9"),
        '"x": -%s' % (308 * "9"),
        f'"x": {BEYOND - 1}, "y": [-{BEYOND - 1}]',
        rf'"x\u0020": {BEYOND - 1}',
        '"x": 1.0, "y": 1.10, "z": 1e2, "w": -0, "v": -0.0, "u": 1E-400',
        '"x": 0.1000000000000000055511151231257827021181583404541015625',
        r'"x": "\u00e9\/\u0000\ud83d\ude80", "y\u0020z": ""',
        '"x":\t[ 1 ,\r\n 2 ]  ',
        '"x": "🚀\u2028", "Name": "b", "": {"id": 1, "": {}}',
        '"__proto__": {}, "constructor": null, "projects": []',
        f'"x": "{40 * "[{"}", "y": [{39 * "{}, "}null]',
    ],
)
def test_members_are_returned_to_the_letter(client: FlaskClient, members: str) -> None:
    text = '  {\n"name": "a", ' + members + "}\r\n"
    created = post_body(client, text.encode())
    assert created.status_code == 201
    assert members in created.text
    assert created.text.rstrip() in client.get(PATH).text


def test_32_levels_are_accepted(client: FlaskClient) -> None:
    assert post_body(client, nested(32)).status_code == 201
    assert nested(32)[14:].decode() in client.get(PATH).text


def test_a_body_cut_short_is_400(client: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "999"}
    with unchanged(client):
        response = client.post(
            PATH, data=b'{"name": "a"}', content_type="application/json", environ_overrides=environ
        )
        assert_problem(response, 400, "malformed_request")


@pytest.mark.parametrize("limit", [0, 640, 4300])
def test_the_limit_on_digits_of_the_interpreter_has_no_effect(
    client: FlaskClient, limit: int
) -> None:
    usual = sys.get_int_max_str_digits()
    unchecked = client.application.test_client()
    unchecked.environ_base.update(client.environ_base)
    sys.set_int_max_str_digits(limit)
    try:
        accepted = post_body(unchecked, b'{"name": "a", "x": %d}' % (BEYOND - 1))
        rejected = [
            post_body(unchecked, b'{"name": "b", "x": %s%s}' % (5000 * b"9", end)).status_code
            for end in (b"", b"-", b', "y": "\\u0061"')
        ]
    finally:
        sys.set_int_max_str_digits(usual)
    assert accepted.status_code == 201
    assert str(BEYOND - 1) in accepted.text
    assert rejected == [400, 400, 400]
