"""Secrets are masked in the journal and in the coverage, and nothing else is."""

import json
import re

import pytest
from flask.testing import FlaskClient

from stub.redaction import Redactor
from tests.conftest import control_client_of, make_stub
from tests.stub.conftest import entries

TOKEN = "s3cret/t0k~n+="
SPELLED = [
    TOKEN,
    "".join(f"%{ord(char):02X}" for char in TOKEN),
    "".join(f"%25{ord(char):02x}" for char in TOKEN),
    "".join(f"\\u{ord(char):04x}" for char in TOKEN),
    TOKEN.replace("/", "\\/"),
    TOKEN.replace("~", "~0").replace("/", "~1"),
]


def test_a_valid_token_is_masked_in_any_spelling_and_with_anything_around_it() -> None:
    redactor = Redactor([TOKEN])
    for spelled in (*SPELLED, TOKEN.upper()):
        assert redactor.text(f"a {spelled}b") == "a ***b"
    twice = "".join(f"%{ord(char):02x}" for char in SPELLED[1])
    for spelled in (twice, f"%%37%33{TOKEN[1:]}"):
        assert redactor.text(f"a {spelled}b") == "***"


def test_only_a_whole_token_is_masked_and_the_longest() -> None:
    redactor = Redactor(["S3cr3t", "s3cr3t-abcdef"])
    assert redactor.text("S3CR3T") == "***"
    assert redactor.text("s3cr3t-abcdef s3cr3t s3cr3t-abc") == "*** *** ***-abc"
    for text in ("s3cr3", "token: website", "Bearer of news", "100%", "~0"):
        assert redactor.text(text) == text


def test_a_short_token_is_masked_only_as_a_whole_word() -> None:
    redactor = Redactor(["test"])
    for text in ("latest_deployment_id", "tests", "test_1", "contest", "%6Catest", "5test"):
        assert redactor.text(text) == text
    for text, shown in (
        ("test", "***"),
        ("a Test.job, (test)", "a ***.job, (***)"),
        ("x%2Ftest", "x%2F***"),
        ("%74est", "***"),
        ("%2574%2565st", "***"),
        ("%25%37%34est", "***"),
    ):
        assert redactor.text(text) == shown, text


def test_a_host_that_begins_a_token_is_masked() -> None:
    redactor = Redactor(["My.Own~Secret_2/x+y"])
    for host in (
        "my.own~secret_2",
        "My.Own~Secret_2:80",
        "My.Own",
        "My.Own~Secret_2/x+y",
        "my.own.",
        ".my.own",
        "[my.own].",
        "a@my.own:1",
    ):
        assert redactor.host(host) == "***", host
    for host in ("", "own~secret_2", "my.own.example", "localhost:8080"):
        assert redactor.host(host) == host


def test_header_fields_with_a_secrets_name_are_secret() -> None:
    for name in ("Proxy-Authorization", "X-Api-Key", "X-ApiKey", "X-Auth", "Cookie", "X-Password"):
        assert Redactor.secret(name, "tr1ed") == "***", name
    for name in ("Author", "Content-Type", "X-Key", "Host"):
        assert Redactor.secret(name, "x") == "x", name


AUTHORIZATIONS = [
    ("Bearer tr1ed", "Bearer ***"),
    ("bearer  tr1ed", "Bearer ***"),
    ("Bearertr1ed", "***"),
    ("Basic tr1ed", "***"),
]
QUERIES = [
    ("a=b&access%5Ftoken=tr%31ed&c", "a=b&access%5Ftoken=***&c"),
    ("access_token=a&access_token=b", "access_token=***&access_token=***"),
    ("access_token=", "access_token="),
    ("page_token=p&token=t&Access_Token=x", "page_token=p&token=t&Access_Token=x"),
]


def test_the_credential_and_the_parameter_access_token_are_masked() -> None:
    for authorization, shown in AUTHORIZATIONS:
        assert Redactor.secret("Authorization", authorization) == shown
    for query, shown in QUERIES:
        assert Redactor(["s3cret"]).query(query) == shown


@pytest.mark.parametrize("spelled", SPELLED[:-1])
def test_a_valid_token_is_masked_in_every_part_of_an_entry(spelled: str) -> None:
    stub = control_client_of(make_stub(tokens=[TOKEN], strict=True), TOKEN)
    stub.put("/_stub/grease", json={"axes": ["json-text"], "seed": 1})
    padding = 2040 * "p"
    stub.get(f"/v1/{spelled}?{spelled}={spelled}&x", headers={"X-Token": "tr1ed", "X": spelled})
    stub.get(f"/v1/{padding}{spelled}?{padding}{spelled}&access_token=tr1ed")
    body = f'{{"name": "{spelled}", "x{spelled}": "{4060 * "p"}{spelled}"}}'
    stub.post("/v1/projects", data=body, content_type="application/json")
    stub.post("/v1/projects", data=4090 * "p" + spelled)
    stub.open("/v1/projects", method=TOKEN.replace("/", "-").upper())
    stub.post("/_stub/faults", json={
        "status": 500, "body": "\0".join(TOKEN), "content_type": f'text/a; b="{TOKEN}"'
    })  # fmt: skip
    stub.get("/v1/projects", headers={f"X-{TOKEN}-Auth": "tr1ed"})
    shown = stub.get("/_stub/requests").text + stub.get("/_stub/coverage").text
    for each in (*SPELLED, json.dumps(spelled)[1:-1], "s3cr", "tr1ed"):
        assert each not in shown
    last = entries(stub)[-1]["response"]
    assert (last["body"], last["headers"]["Content-Type"]) == ("***", 'text/a; b="***"')


def test_a_long_token_is_masked_before_the_end_of_a_body_cuts_it() -> None:
    for size in (101, 2500):
        token = size * "k"
        stub = control_client_of(make_stub(tokens=[token]), token)
        escaped = "".join(f"\\u{ord(char):04x}" for char in token)
        for sent in (f"{4000 * ' '}{token}", f"{4000 * ' '}{escaped}", 400 * token):
            for start in ("", "é", "\0"):
                stub.post("/v1/projects", data=start + sent)
        assert len(entries(stub)) == 9
        assert not re.search(r"kk|u006b", stub.get("/_stub/requests").text)


def test_a_token_in_another_encoding_is_masked(stub: FlaskClient) -> None:
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        stub.post("/v1/projects", data="name=dev-token".encode(encoding))
    assert [entry["body"] for entry in entries(stub)] == 3 * ["name=***"]


def test_masking_takes_linear_time() -> None:
    # Quadratic in the length it would run into the time limit of a test.
    for stray in ('"', "=", "bearer ", "%", "~", "d", "dev-"):
        Redactor(["dev-token"]).text(f"{200_000 // len(stray) * stray}%")
