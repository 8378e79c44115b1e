"""The bearer check (interface §5, RFC 6750); tests/replayed/tokens.jsonl has each wrong form."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import BEARER, client_of, make_stub
from tests.contract import assert_problem

CLOSED = (
    "/v1 /v1/projects /v1/deployments/x /v1/nowhere //v1/projects //openapi.json /openapi.json/ "
    "/v1%2Fprojects /_stub/nowhere /_stub/health/ /_stub%2Fhealth /%2Fopenapi.json /favicon.ico"
)


def test_without_a_token_every_path_and_method_is_401(anonymous: FlaskClient) -> None:
    for path in CLOSED.split():
        for method in ("GET", "HEAD", "POST", "OPTIONS", "BREW"):
            response = anonymous.open(path, method=method)
            assert_problem(response, 401, "token_missing", head=method == "HEAD")


def test_open_paths_ignore_the_token_for_get_and_head_alone(anonymous: FlaskClient) -> None:
    for path in ("/openapi.json", "/llms.txt", "/_stub/health", "/_stub/ready"):
        for headers in ({}, {"Authorization": "Bearer wrong"}, BEARER):
            assert anonymous.get(path, headers=headers).status_code == 200
            assert anonymous.head(path, headers=headers).status_code == 200
        assert_problem(anonymous.post(path), 401, "token_missing")
        assert_problem(anonymous.post(path, headers=BEARER), 405, "method_not_allowed")


INVALID_TOKENS = [
    ([], "token"),
    ([""], "a token is made of"),
    (["a", "ä"], "a token is made of"),
    (["a\n"], "a token is made of"),
    (["=a"], "in front of it"),
    (["a.b=secret"], "in front of it"),
    ([f"{65 * 'a'}=secret"], "in front of it"),
    (["a=secret", "b="], "no token behind"),
    (["a=secret", "b=secret"], "the same token: a and b"),
    (["a=secret", "secret"], "the same token: a and one without a name"),
    (["secret=other", "secret"], "a name is a token"),
    (["a=secret", "b=secret.job"], "a world of another"),
    (["secret.b-1", "x", "secret"], "a world of another"),
]


def test_tokens_that_are_invalid_or_contradict_each_other_make_no_app() -> None:
    for tokens, reason in INVALID_TOKENS:
        with pytest.raises(ValueError, match=reason) as raised:
            make_stub(tokens=tokens)
        assert "secret" not in str(raised.value)


VALID_TOKENS = [
    ["dG9rZW4=", "c2VjcmV0cw=="],  # their own `=`
    ["a=secret", "a=secret", f"{64 * 'a'}=other"],
    ["a", "a.b/c", "a.", "ab"],
    ["two.with-a_dot~+/=="],
]


def test_tokens_that_only_look_alike_open_the_service() -> None:
    for tokens in VALID_TOKENS:
        app = make_stub(tokens=tokens)
        for token in tokens:
            value = token.removeprefix("a=").removeprefix(f"{64 * 'a'}=")
            assert client_of(app, f"Bearer {value}").get("/v1/projects").status_code == 200, token
        assert_problem(client_of(app).get("/v1/projects"), 401, "token_invalid")


def test_the_response_does_not_say_whether_a_token_exists(app: Flask) -> None:
    for form in ("bearer {}", "Bearer  {}", "Bearer {}.a b", "Bearer {}.a/b"):
        one, other = (
            client_of(app, form.format(token)).get("/v1/projects").data
            for token in ("dev-token", "dev-taken")
        )
        assert one == other
