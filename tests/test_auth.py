"""The bearer check (interface §5, RFC 6750); tests/replayed/tokens.jsonl has each wrong form."""

import pytest
from flask.testing import FlaskClient

from tests.conftest import BEARER, client_of, make_stub
from tests.contract import assert_problem

CLOSED = (
    "/v1 /v1/projects /v1/nowhere //v1/projects //openapi.json /openapi.json/ /v1%2Fprojects "
    "/_stub/nowhere /_stub/health/ /_stub%2Fhealth /favicon.ico"
)
OPEN = "/openapi.json /llms.txt /_stub/health /_stub/ready"


def test_without_a_token_every_path_is_401_and_few_are_open_to_reading(
    anonymous: FlaskClient,
) -> None:
    for path in CLOSED.split():
        for method in ("GET", "HEAD", "POST", "OPTIONS", "BREW"):
            response = anonymous.open(f"http://localhost{path}", method=method)
            assert_problem(response, 401, "token_missing", head=method == "HEAD")
    for path in OPEN.split():
        for headers in ({}, {"Authorization": "Bearer wrong"}, BEARER):
            assert anonymous.get(path, headers=headers).status_code == 200
            assert anonymous.head(path, headers=headers).status_code == 200
        assert_problem(anonymous.post(path), 401, "token_missing")
        assert_problem(anonymous.post(path, headers=BEARER), 405, "method_not_allowed")


# Tokens that are invalid or contradict each other, and the reason.
INVALID = [
    (["a", "ä"], "a token is made of"),
    (["a\n"], "a token is made of"),
    (["team=secret"], "a token is made of"),
    (["secret.b-1", "x", "secret"], "are ambiguous"),
]
VALID = [["dG9rZW4=", "c2VjcmV0cw=="], ["a", "a.b/c", "a.", "ab"]]


def test_tokens_that_are_invalid_or_contradict_each_other_make_no_app() -> None:
    for tokens, reason in INVALID:
        with pytest.raises(ValueError, match=reason) as raised:
            make_stub(tokens=tokens)
        assert "secret" not in str(raised.value)
    for tokens in VALID:
        app = make_stub(tokens=[*tokens, *tokens])
        for token in tokens:
            assert client_of(app, f"Bearer {token}").get("/v1/projects").status_code == 200
        assert_problem(client_of(app).get("/v1/projects"), 401, "token_invalid")
