"""Secrets are masked in the journal and in the coverage, and nothing else is."""

import json

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import control_client_of
from tests.stub.conftest import entries

TOKEN = "s3cret/t0k~n+="
SPELLED = [
    TOKEN,
    "".join(f"%{ord(char):02X}" for char in TOKEN),
    "".join(f"%25{ord(char):02x}" for char in TOKEN),
    "".join(f"\\u{ord(char):04x}" for char in TOKEN),
    TOKEN.replace("/", "\\/"),
]


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_valid_token_is_masked_in_every_part_and_spelling(spelled: str) -> None:
    client = control_client_of(create_app(tokens=[TOKEN], strict=True), TOKEN)
    padding = 2040 * "p"
    for path in (f"/v1/deployments/{spelled}", f"/v1/{spelled}?{spelled}={spelled}&x"):
        client.get(path, headers={"X-Token": spelled, "Cookie": f"a={spelled}"})
    client.get(f"/v1/{padding}{spelled}?{padding}{spelled}")
    client.post("/v1/projects", data=f'{{"name": "{spelled}", "{spelled}": 1}}')
    body = f'{{"name": "a", "x{spelled}": 1}}'
    client.post("/v1/projects", data=body, content_type="application/json")
    client.post("/v1/projects", data=4090 * "p" + spelled)
    client.open("/v1/projects", method=TOKEN.replace("/", "-").upper())
    shown = client.get("/_stub/requests").text + client.get("/_stub/coverage").text
    for each in (*SPELLED, json.dumps(spelled)[1:-1], "s3cr"):
        assert each not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "headers",
    [
        {"Proxy-Authorization": "Basic tr1ed"},
        {"X-Api-Key": "tr1ed"},
        {"X-Auth-Token": "tr1ed"},
        {"Cookie": "session=tr1ed"},
        {"Bearer": "tr1ed"},
        {"Dev-Token": "x"},
        {"X-Dev-Token-2": "x"},
    ],
)
def test_header_fields_with_a_secrets_name_are_masked(
    stub: FlaskClient, headers: dict[str, str]
) -> None:
    for _ in range(2):
        stub.get("/v1/projects", headers=headers)
        shown = stub.get("/_stub/requests").text
        assert "tr1ed" not in shown
        assert "dev-token" not in shown.lower()
        assert "***" in shown


@pytest.mark.parametrize(
    ("authorization", "shown"),
    [
        ("Bearer tr1ed", "Bearer ***"),
        ("bearer  tr1ed", "Bearer ***"),
        ("Bearer a, Bearer tr1ed", "Bearer ***"),
        ("Bearer\ttr1ed", "***"),
        ("Bearertr1ed", "***"),
        ("Basic tr1ed", "***"),
        ("tr1ed", "***"),
    ],
)
def test_the_credential_of_the_authorization_header_is_masked(
    stub: FlaskClient, authorization: str, shown: str
) -> None:
    stub.get("/v1/projects", environ_overrides={"HTTP_AUTHORIZATION": authorization})
    assert entries(stub)[0]["headers"]["Authorization"] == shown


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("access_token=tr1ed", "access_token=***"),
        ("a=b&access%5Ftoken=tr%31ed&c", "a=b&access%5Ftoken=***&c"),
        ("access_token=a&access_token=b", "access_token=***&access_token=***"),
        ("access_token=", "access_token="),
        ("access_token", "access_token"),
        ("page_token=p&token=t&Access_Token=x", "page_token=p&token=t&Access_Token=x"),
        ("redirect=/?access_token=x", "redirect=/?access_token=x"),
    ],
)
def test_the_value_of_the_parameter_access_token_is_masked(
    stub: FlaskClient, query: str, shown: str
) -> None:
    stub.get(f"/v1/projects?{query}")
    assert entries(stub)[0]["query"] == shown


def test_nothing_else_is_masked(stub: FlaskClient) -> None:
    body = '{"name": "token: website", "api_key": "k", "note": "Bearer of news"}'
    stub.post("/v1/projects/tr1ed", data=body, headers={"Referer": "http://x/?token=tr1ed"})
    wrong = {"HTTP_AUTHORIZATION": "Bearer tr1ed"}
    stub.post("/v1/tr1ed?q=tr1ed", data="tr1ed", environ_overrides=wrong)
    first, second = entries(stub)
    assert (first["path"], first["body"]) == ("/v1/projects/tr1ed", body)
    assert first["headers"]["Referer"] == "http://x/?token=tr1ed"
    assert (second["path"], second["query"], second["body"]) == ("/v1/tr1ed", "q=tr1ed", "tr1ed")


def test_text_that_only_looks_like_a_token_is_kept(stub: FlaskClient) -> None:
    body = '{"access_token": {"a": 1}, "off": "of", "name": "Bearer of news"}'
    stub.post("/v1/projects", data=body)
    assert entries(stub)[0]["body"] == body


def test_a_part_of_a_token_is_kept(stub: FlaskClient) -> None:
    stub.get("/v1/deployments/my-token?sort=token")
    stub.post("/v1/projects", data='{"name": "token projects"}')
    first, second = entries(stub)
    assert first["headers"]["Host"] == "localhost"
    assert (first["path"], first["query"]) == ("/v1/deployments/my-token", "sort=token")
    assert (second["path"], second["body"]) == ("/v1/projects", '{"name": "token projects"}')


def test_a_token_is_masked_whole_whatever_else_was_sent() -> None:
    app = create_app(tokens=["s3cr3t-abcdef"])
    for query, token in (("token=s3c", "s3cr3t-abcdef"), ("", "s3cr3t")):
        client = control_client_of(app, token)
        client.get(f"/v1/s3cr3t-abcdef?{query}", headers={"X-Note": "s3cr3t-abcdef"})
    shown = control_client_of(app, "s3cr3t-abcdef").get("/_stub/requests").text
    assert "abcdef" not in shown
    assert shown.count('"/v1/***"') == 2


def test_a_token_is_masked_in_a_request_like_the_previous_one() -> None:
    stub = control_client_of(create_app(tokens=["S3CR-3T"]), "S3CR-3T")
    for method, path in (("GET", ""), ("GET", "?S3CR-3T"), ("S3CR-3T", ""), ("GET", "/S3CR-3T")):
        stub.open(f"/v1/projects{path}", method=method)
    assert "S3CR-3T" not in stub.get("/_stub/requests").text
    assert [entry["method"] for entry in entries(stub)] == ["GET", "GET", "***", "GET"]


@pytest.mark.parametrize("size", [401, 2500])
def test_a_long_token_is_masked_before_a_part_is_cut(size: int) -> None:
    token = size * "k"
    stub = control_client_of(create_app(tokens=[token]), token)
    spelled = "".join(f"\\u{ord(char):04x}" for char in token)
    for sent in (token, spelled):
        stub.post("/v1/projects", data=4000 * " " + sent)
    assert {entry["body"].strip() for entry in entries(stub)} == {"***"}


@pytest.mark.parametrize("start", ["", "é", "éé", "\0"])
def test_a_token_that_the_end_of_a_long_body_cuts_is_masked(start: str) -> None:
    token = 101 * "k"
    stub = control_client_of(create_app(tokens=[token]), token)
    stub.post("/v1/projects", data=f"{start}{400 * token}")
    text = json.dumps({"name": "a", "x": f"{start}{400 * token}"}, ensure_ascii=False)
    stub.post("/v1/projects", data=text, content_type="application/json")
    assert "kk" not in stub.get("/_stub/requests").text


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_token_is_masked_in_each_part_of_a_response(spelled: str) -> None:
    stub = control_client_of(create_app(tokens=[TOKEN]), TOKEN)
    stub.put("/_stub/grease", json={"axes": ["json-text"], "seed": 1})
    text = f'{{"name": "{spelled}", "a": "{4000 * "p"}{spelled}"}}'
    stub.post("/v1/projects", data=text, content_type="application/json")
    stub.get("/v1/projects")
    stub.post("/_stub/faults", json={
        "status": 500, "body": "\0".join(TOKEN), "content_type": f'text/a; b="{TOKEN}"'
    })  # fmt: skip
    stub.get("/v1/projects")
    shown = stub.get("/_stub/requests").text
    for each in (*SPELLED, json.dumps(spelled)[1:-1], "s3cr"):
        assert each not in shown
    last = entries(stub)[-1]["response"]
    assert (last["body"], last["headers"]["Content-Type"]) == ("***", 'text/a; b="***"')


def test_a_part_with_a_token_encoded_several_times_is_masked_whole(stub: FlaskClient) -> None:
    once = "".join(f"%{ord(char):02x}" for char in "dev-token")
    twice = "".join(f"%{ord(char):02x}" for char in once)
    for sent in (twice, "%%36%34ev-token"):
        stub.get(f"/v1/projects?a={sent}")
    assert all("%" not in entry["query"] for entry in entries(stub))


def test_a_token_in_another_encoding_is_masked(stub: FlaskClient) -> None:
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        stub.post("/v1/projects", data="name=dev-token".encode(encoding))
    assert [entry["body"] for entry in entries(stub)] == 3 * ["name=***"]


@pytest.mark.parametrize(
    "stray",
    [40_000 * '"', 40_000 * "=", 8000 * "bearer ", 40_000 * "%"],
    ids=lambda stray: stray[:7],
)
def test_masking_takes_linear_time(stub: FlaskClient, stray: str) -> None:
    # Quadratic in the length it would run into the time limit of a test.
    words = " ".join(60 * "x" + str(number) for number in range(8))
    stub.post("/v1/projects", data="bearer" + stray, headers={"Authorization": f"Bearer {words}"})
    stub.post("/v1/projects", data=10 * ("bearer" + stray))
    assert len(entries(stub)) == 2


def test_pointers_and_the_words_of_the_service_are_not_masked() -> None:
    for token in ("test", "token", "name", "Bearer"):
        client = create_app(tokens=[token], strict=True).test_client()
        header = {"Authorization": f"Bearer {token}"}
        response = client.post("/v1/projects", json={"name": "a", "contest": 1}, headers=header)
        assert response.json["errors"][0]["pointer"] == "/contest"
        response = client.get("/v1/projects", headers={"Authorization": "Bearer x"})
        assert "`Authorization: Bearer <ACCESS_TOKEN>`: the word Bearer" in response.json["detail"]
        assert "***" not in response.text


def test_a_token_that_contains_another_is_masked_as_a_whole() -> None:
    stub = control_client_of(create_app(tokens=["abc", "abcdef"]), "abc")
    stub.get("/v1/projects?x=abcdef&y=abc")
    assert entries(stub)[0]["query"] == "x=***&y=***"


def test_the_name_of_a_secret_needs_no_dash(stub: FlaskClient) -> None:
    stub.get("/v1/projects", headers={"X-ApiKey": "tr1ed", "X-Password": "tr1ed"})
    assert "tr1ed" not in stub.get("/_stub/requests").text
