"""Bodies that Hypothesis makes up."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from app import create_app
from tests import generated  # noqa: F401  sets Hypothesis up
from tests.conftest import client_of

pytestmark = pytest.mark.generated

PATH = "/v1/projects"


def post_body(client: FlaskClient, body: bytes) -> TestResponse:
    return client.post(PATH, data=body, content_type="application/json")


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


@given(st.binary(max_size=200) | st.text().map(str.encode) | json_values.map(
    lambda value: json.dumps(value).encode()
))  # fmt: skip
def test_no_body_makes_the_service_fail(body: bytes) -> None:
    client = client_of(create_app())
    response = post_body(client, body)
    assert response.status_code in (201, 400, 422)
    if response.status_code != 201:
        assert client.get(PATH).json == {"projects": []}
