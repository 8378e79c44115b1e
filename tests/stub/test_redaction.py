"""Secrets are masked in the journal and in the coverage, and nothing else is."""

import json
import re
import time

import pytest
from flask.testing import FlaskClient

from stub import CHOICES
from stub.redaction import Redactor
from tests.conftest import SAMPLE_SEED, control_client_of, make_stub
from tests.replayed import read, response_to
from tests.stub.conftest import entries, logged_stub, verdict_of

TOKEN = "s3cret/t0k~n+="
OWN = "My.Own~Secret_2/x+y"
SPELLED = [
    TOKEN,
    "".join(f"%{ord(char):02X}" for char in TOKEN),
    "".join(f"%25{ord(char):02x}" for char in TOKEN),
    "".join(f"\\u{ord(char):04x}" for char in TOKEN),
    TOKEN.replace("/", "\\/"),
    TOKEN.replace("/", "%2f").replace("s", "%73"),
    TOKEN.replace("~", "~0").replace("/", "~1"),  # in a pointer
    "s3cret/t0k~n ",  # the name of a decoded query
]


def test_a_valid_token_is_masked_in_any_spelling_and_with_anything_around_it() -> None:
    redactor = Redactor([TOKEN])
    for spelled in (*SPELLED, TOKEN.upper()):
        for around in ("a ", "%41é%", "İ\\", "\\u0041"):
            shown = redactor.text(f"{around}{spelled} {spelled}{around}")
            assert shown == f"{around}*** ***{around}"


def test_each_of_many_tokens_is_masked_as_a_whole() -> None:
    numbers = range(100)
    tokens = [f"{start}-{number}" for start in ("tea", "team-a", "teammates") for number in numbers]
    redactor = Redactor(tokens)
    for token in tokens:
        assert redactor.text(f"({token}) {token.upper()}") == "(***) ***"
    assert redactor.text("tea-100 team-b-1 teammates-") == "tea-100 team-b-1 teammates-"


def test_only_a_whole_token_is_masked_and_the_longest() -> None:
    redactor = Redactor(["S3cr3t", "s3cr3t-abcdef"])
    assert redactor.text("S3CR3T") == "***"
    assert redactor.text("s3cr3t-abcdef s3cr3t s3cr3t-abc") == "*** *** ***-abc"
    assert Redactor(["a", "a-b"]).text("a-b, a") == "***, ***"
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
    ):
        assert redactor.text(text) == shown, text


def test_a_host_that_begins_a_token_is_masked() -> None:
    redactor = Redactor([OWN, "a/bcdefghij", "short"])
    for host in (
        "my.own~secret_2",
        "My.Own~Secret_2:80",
        "My.Own",
        "My.Own~Secret_2/x+y",
        "My.Own~Secret_2xy",  # without what a host cannot have
        "My.Own~Secret_2.example",
        "My%2EOwn%7esecret_2",
        "abcd",
        "abcdefghi",
        "My.Own:x@localhost",
        "x:My.Own~Secret_2@localhost:80",
        "my.own.",
        ".my.own",
        "[my.own].",
        "a@my.own:1",
    ):
        assert redactor.host(host) == "***", host
    for host in (
        "",
        "own~secret_2",
        "my.own.example",
        "my.own~sample",
        "localhost:8080",
        "a.example",
        "abcdef.example",
        "shorter.example",
        "me:you@[2001:db8::1]:80",
    ):
        assert redactor.host(host) == host


def test_the_host_of_a_url_that_begins_a_token_is_masked() -> None:
    redactor = Redactor([OWN])
    for target, shown in (
        ("http://My.Own~Secret_2/v1/projects", "http://***/v1/projects"),
        ("HTTPS://My.Own~Secret_2xy:80?a=b", "HTTPS://***?a=b"),
        (f"http://{OWN}/v1?{OWN}", "http://***/v1?***"),
        ("http://localhost/v1", "http://localhost/v1"),
    ):
        assert redactor.target(target) == shown


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


# Of a scenario, what may be seen nowhere: the parts of its token, and other secrets.
HIDDEN = {
    "masked": [*SPELLED, json.dumps(SPELLED[0])[1:-1], "s3cr", "tr1ed"],
    "masked-names": ["My.Own", "Secret_2", "x+y", "x y"],
    "masked-names-strict": ["My.Own", "Secret_2", "x+y", "x y"],
    "masked-hosts": ["My.Own", "my.own"],
    "masked-status": ["secret"],
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_part_of_a_token_is_seen_where_requests_are_shown(name: str) -> None:
    """In the recorded responses, the access log, and the verdict of the run."""
    given, *steps = read(name)
    token = given["tokens"][0]
    app, shown = logged_stub(seed=SAMPLE_SEED, **given)
    for step in steps:
        _, _, body, *_ = response_to(app, step["send"])
        if step["send"][:1] == ["GET"] and step["send"][1].startswith("/_stub/"):
            shown.append(body)
    verdict = verdict_of(app, CHOICES, [token])
    shown += [verdict.table(), json.dumps(verdict.document(0))]
    for each in shown:
        assert not [part for part in HIDDEN[name] if part in each], each
    assert "***" in "".join(shown)


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
    started = time.process_time()
    for stray in ('"', "=", "bearer ", "%", "~", "d", "dev-"):
        Redactor(["dev-token"]).text(f"{200_000 // len(stray) * stray}%")
    assert time.process_time() - started < 2  # what is quadratic takes a minute
