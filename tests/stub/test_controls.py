"""The bodies of the controls are bound; the recorded table has the other statuses of each."""

from flask.testing import FlaskClient

from tests.contract import STUB, assert_problem


def test_a_body_of_more_than_64_kib_is_rejected_by_each_control(stub: FlaskClient) -> None:
    large = 65_537 * b" "
    for method, path, operation in STUB.operations():
        if "requestBody" in operation and path != "/_stub/reset":
            response = stub.open(path, method=method, data=large, content_type="application/json")
            assert_problem(response, 413, "body_too_large")
