"""The bearer check (interface §5, RFC 6750)."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import BEARER, TOKEN, client_of, make_stub, names
from tests.contract import assert_problem

MISSING = "token_missing"
INVALID = "token_invalid"


FORMS = [
    (None, MISSING, "has no bearer token"),
    (" ", MISSING, "has no bearer token"),
    (TOKEN, MISSING, "another scheme"),
    (f"Bearer,{TOKEN}", MISSING, "another scheme"),
    (f"Basic x, Bearer {TOKEN}", MISSING, "another scheme"),
    ("Bearer", INVALID, "no token after the word"),
    ("Bearer ", INVALID, "no token after the word"),
    (f"BEARER {TOKEN}.job", INVALID, "in another case"),
    (f" Bearer {TOKEN}", INVALID, "in another case"),
    (f"Bearer  {TOKEN}", INVALID, "other than one space"),
    (f"Bearer\xa0{TOKEN}", INVALID, "other than one space"),
    (f"Bearer {TOKEN} ", INVALID, "something after the token"),
    (f"Bearer {TOKEN}, Bearer {TOKEN}", INVALID, "something after the token"),
    (f"Bearer {TOKEN},", INVALID, "another character: a token is made of one"),
    (f"Bearer {TOKEN}\xe9", INVALID, "another character: a token is made of one"),
    (f"Bearer {TOKEN.upper()}", INVALID, "has an unknown token."),
    (f"Bearer {TOKEN[:-1]}", INVALID, "has an unknown token."),
    (f"Bearer {TOKEN}.a.b", INVALID, "has an unknown token."),
    (f"Bearer {TOKEN}.", INVALID, "1 to 64 of A-Z a-z 0-9 _ -"),
    (f"Bearer {TOKEN}.a\n", INVALID, "after the token"),
    (f"Bearer team={TOKEN}", INVALID, "an unknown token. If it has a name, as in NAME=TOKEN: send"),
    (f"Bearer {TOKEN}.build:12", INVALID, "1 to 64 of A-Z a-z 0-9 _ -"),
    (f"Bearer {TOKEN}.{65 * 'w'}", INVALID, "1 to 64 of A-Z a-z 0-9 _ -"),
    ("Bearer unknown.feature/foo", INVALID, "1 to 64 of A-Z a-z 0-9 _ -"),
]


def test_only_the_exact_form_is_accepted(anonymous: FlaskClient) -> None:
    for authorization, code, mistake in FORMS:
        environ = {} if authorization is None else {"HTTP_AUTHORIZATION": authorization}
        response = anonymous.get("/v1/projects", environ_overrides=environ)
        problem = assert_problem(response, 401, code)
        error = ', error="invalid_token"' if code == INVALID else ""
        challenge = f'Bearer realm="project-and-deployment-service"{error}'
        assert response.headers["WWW-Authenticate"] == challenge, authorization
        assert "`Authorization: Bearer <ACCESS_TOKEN>`" in problem["detail"], authorization
        assert mistake in problem["detail"], authorization


CLOSED = (
    "/v1 /v1/projects /v1/deployments/x /v1/nowhere //v1/projects //openapi.json /openapi.json/ "
    "/v1%2Fprojects /_stub/nowhere /_stub/health/ /_stub%2Fhealth /%2Fopenapi.json /favicon.ico"
)


def test_without_a_token_every_path_and_method_is_401(anonymous: FlaskClient) -> None:
    for path in CLOSED.split():
        for method in ("GET", "HEAD", "POST", "OPTIONS", "BREW"):
            response = anonymous.open(path, method=method)
            assert_problem(response, 401, MISSING, head=method == "HEAD")


def test_open_paths_ignore_the_token_for_get_and_head_alone(anonymous: FlaskClient) -> None:
    for path in ("/openapi.json", "/llms.txt", "/_stub/health", "/_stub/ready"):
        for headers in ({}, {"Authorization": "Bearer wrong"}, BEARER):
            assert anonymous.get(path, headers=headers).status_code == 200
            assert anonymous.head(path, headers=headers).status_code == 200
        assert_problem(anonymous.post(path), 401, MISSING)
        assert_problem(anonymous.post(path, headers=BEARER), 405, "method_not_allowed")


def test_given_tokens_and_their_worlds_replace_the_published_one() -> None:
    tokens = ["one", "two.with-a_dot~+/=="]
    app = make_stub(tokens=tokens)
    for token in (*tokens, f"one.{64 * 'w'}"):
        assert client_of(app, f"Bearer {token}").get("/v1/projects").status_code == 200
    assert_problem(client_of(app).get("/v1/projects"), 401, INVALID)


INVALID_TOKENS = [
    ([], "token"),
    ([""], "a token is made of"),
    (["a b"], "a token is made of"),
    (["a", "ä"], "a token is made of"),
    (["a\n"], "a token is made of"),
    (["=a"], "in front of it"),
    (["a.b=secret"], "in front of it"),
    ([f"{65 * 'a'}=secret"], "in front of it"),
    (["a=b=c"], "in front of it"),
    (["a=secret", "b="], "no token behind"),
    (["a=secret", "b=secret"], "the same token: a and b"),
    (["a=secret", "secret"], "the same token: a and one without a name"),
    (["secret=other", "secret"], "a name is a token"),
    (["a=secret", "b=secret.job"], "a world of another"),
    (["secret", "secret.b"], "a world of another"),
    (["secret.b-1", "x", "secret"], "a world of another"),
    (["secret.b", "secret.b.c"], "a world of another"),
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
]


def test_tokens_that_only_look_alike_make_an_app() -> None:
    for tokens in VALID_TOKENS:
        assert make_stub(tokens=tokens)


# A token, and the projects that are in its world.
LISTED = [
    ("first==", ["of team-a"]),
    ("second", ["of team-a"]),
    ("third", []),
    ("plain==", []),
    ("first==.job", ["of team-a, in job"]),
    ("second.job", ["of team-a, in job"]),
    ("third.job", []),
    ("plain==.job", []),
]


def test_the_tokens_of_a_name_share_its_worlds_and_no_other_has_them() -> None:
    app = make_stub(tokens=["team-a=first==", "team-a=second", "team_b=third", "plain=="])
    for token, name in (("first==", "of team-a"), ("first==.job", "of team-a, in job")):
        client_of(app, f"Bearer {token}").post("/v1/projects", json={"name": name})
    for token, expected in LISTED:
        assert names(client_of(app, f"Bearer {token}")) == expected, token
    for token in ("team-a=first==", "first", "plain", "team-a"):
        assert_problem(client_of(app, f"Bearer {token}").get("/v1/projects"), 401, INVALID)


def test_the_response_does_not_say_whether_a_token_exists(app: Flask) -> None:
    for form in ("bearer {}", "Bearer  {}", "Bearer {}.a b", "Bearer {}.a/b"):
        one, other = (
            client_of(app, form.format(token)).get("/v1/projects").data
            for token in ("dev-token", "dev-taken")
        )
        assert one == other
