"""The rules of a project."""

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import client_of, unchanged
from tests.contract import assert_invalid

pytestmark = pytest.mark.usefixtures("both_speeds")

PATH = "/v1/projects"


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (b"null", [""]),
        (b"[]", [""]),
        (b"1", [""]),
        (b'"a"', [""]),
        (b"true", [""]),
        (b"{}", ["/name"]),
        (b'{"Name": "a"}', ["/name"]),
        (b'{"name": null}', ["/name"]),
        (b'{"name": 1}', ["/name"]),
        (b'{"name": ["a"]}', ["/name"]),
        (b'{"name": ""}', ["/name"]),
        (b'{"name": " \\t\\u2003"}', ["/name", "/name"]),
        (b'{"name": "\xe3\x80\x80"}', ["/name"]),
        (b'{"name": "%s"}' % (101 * b"a"), ["/name"]),
        (b'{"name": "a\\u0000"}', ["/name"]),
        (b'{"name": "a\\n"}', ["/name"]),
        (b'{"name": "a\\u007f"}', ["/name"]),
        (b'{"name": "a\xc2\x85b"}', ["/name"]),
        (b'{"name": "a", "id": null}', ["/id"]),
        (b'{"id": 1, "created_at": 2, "latest_deployment_id": 3}',
         ["/id", "/created_at", "/latest_deployment_id", "/name"]),
    ],
)  # fmt: skip
def test_invalid_content_is_422_with_every_error(
    client: FlaskClient, body: bytes, pointers: list[str]
) -> None:
    with unchanged(client):
        response = client.post(PATH, data=body, content_type="application/json")
        assert_invalid(response, *pointers)


@pytest.mark.parametrize(
    "name", ["a", 100 * "a", 100 * "🚀", "\u200b", " a ", "'\";--", "<b>", "\ufeff", "a\u2028b"]
)
def test_a_name_of_1_to_100_code_points_is_kept_unchanged(client: FlaskClient, name: str) -> None:
    assert client.post(PATH, json={"name": name}).json["name"] == name


def test_strict_rejects_unknown_members() -> None:
    client = client_of(create_app(strict=True))
    document = {"name": "", "a/b": 1, "c~d": 2, "id": 3}
    with unchanged(client):
        response = client.post(PATH, json=document)
        assert_invalid(response, "/id", "/name", "/a~1b", "/c~0d")
