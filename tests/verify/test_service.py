"""The service of these tests conforms to openapi.json: what `verify` finds was planted."""

import http.client
import json
from collections.abc import Iterator

import pytest

from tests.contract import assert_in_contract
from tests.verify.service import TOKEN, Service, listening

pytestmark = pytest.mark.process

JSON = "application/json"
REQUESTS = [
    ("GET", "/v1/projects", "", "", 200),
    ("HEAD", "/v1/projects", "", "", 200),
    ("GET", "/v1/deployments/d-1", "", "", 200),
    ("GET", "/v1/deployments/none", "", "", 404),
    ("GET", "/v1/none", "", "", 404),
    ("OPTIONS", "/v1/projects", "", "", 405),
    ("OPTIONS", "/v1/deployments/d-1", "", "", 405),
    ("POST", "/v1/projects", JSON, '{"name": "a", "own": [1]}', 201),
    ("POST", "/v1/projects", JSON, '{"name": "sample-0"}', 409),
    ("POST", "/v1/projects", JSON, '{"name": ', 400),
    ("POST", "/v1/projects", JSON, '{"id": "a"}', 422),
    ("POST", "/v1/projects", JSON, "[]", 422),
    ("POST", "/v1/projects", "text/plain", "{}", 415),
    ("POST", "/v1/projects", JSON, '{"name": "%s"}' % ("x" * 70_000), 413),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with listening(Service()) as url:
        yield url


@pytest.mark.parametrize(("method", "target", "kind", "body", "status"), REQUESTS)
@pytest.mark.parametrize("token", [f"Bearer {TOKEN}", "Basic eDp5", None])
def test_the_service_conforms(
    url: str, method: str, target: str, kind: str, body: str, status: int, token: str | None
) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    headers = {"Content-Type": kind} if kind else {}
    headers |= {"Authorization": token} if token else {}
    connection.request(method, target, body or None, headers)
    response = connection.getresponse()
    data = response.read()
    connection.close()
    assert response.status == (status if token and token.startswith("Bearer") else 401)
    assert method == "HEAD" or json.loads(data)
    headers = dict(response.getheaders())
    assert_in_contract(method, target, response.status, headers, data)
