"""One list of spellings of a secret, for leaks, outputs and profiles."""

import base64
import html
import time
from urllib.parse import quote

import pytest

from tests.verify.conftest import TOKEN
from verify.exchange import Exchange, message_of
from verify.spellings import Secrets, is_secret_name

SECRETS = Secrets([TOKEN], ["cookie-7f3a9"])
DATA = TOKEN.encode()
JWE = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..48V1_ALb6US04U3b.5eym8TW_c8SuK0.XFBoMYUZodet"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


SPELLINGS = {
    "as it is": TOKEN,
    "in capitals, as of a host": TOKEN.upper(),
    "without its =": TOKEN.rstrip("="),
    "percent-encoded": quote(TOKEN, safe=""),
    "twice": quote(quote(TOKEN, safe=""), safe=""),
    "each byte": "".join(f"%{byte:02x}" for byte in DATA),
    "JSON": TOKEN.replace("/", "\\/"),
    "JSON, each character": "".join(f"\\u{byte:04x}" for byte in DATA),
    "a JSON pointer": TOKEN.replace("~", "~0").replace("/", "~1"),
    "HTML": html.escape(TOKEN).replace("/", "&#x2F;").replace("=", "&#61;").replace("+", "&plus;"),
    "HTML without the end": TOKEN.replace("/", "&#47"),
    "HTML, each character": "".join(f"&#{byte};" for byte in DATA),
    "base64": base64_of(DATA),
    "base64url": base64.urlsafe_b64encode(DATA).decode(),
    "of Bearer TOKEN": base64_of(b"Bearer " + DATA),
    "of x:TOKEN": base64_of(b"x:" + DATA),
    "of user:TOKEN, base64url": base64.urlsafe_b64encode(b"user:" + DATA).decode().rstrip("="),
    "of TOKEN:": base64_of(DATA + b":"),
    "of Bearer TOKEN and a line end": base64_of(b"Bearer " + DATA + b"\n"),
    "of x:TOKEN:y": base64_of(b"x:" + DATA + b":y"),
    "hex": DATA.hex(),
    "hex in capitals": (b"Bearer " + DATA).hex().upper(),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_a_token_is_found_and_masked_in_any_spelling(spelled: str) -> None:
    headers = message_of([("X-Echo", spelled)])
    for exchange in (
        Exchange("GET", "/v1/projects", content=f'{{"a": "{spelled}"}}'.encode()),
        Exchange("GET", "/v1/projects", headers=headers),
    ):
        assert SECRETS.leak_in(exchange)
    masked = SECRETS.mask(f"see {spelled} there")
    assert "***" in masked
    assert spelled not in masked
    assert masked.startswith("see ")
    assert SECRETS.are_in(spelled)


def test_a_cookie_is_masked_and_no_leak() -> None:
    assert SECRETS.mask("a cookie-7f3a9 b") == "a *** b"
    assert SECRETS.are_in("cookie-7f3a9")
    assert not SECRETS.leak_in(Exchange("GET", "/", content=b"cookie-7f3a9"))


MASKED = {
    f'{{"note": "{JWT}"}}': '{"note": "***"}',
    f"see {JWE} there": "see *** there",
    "whsec_CxZcE2pTzGQcQ5grVTbM": "***",
    "curl -H 'Authorization: Bearer cchx8bd0q7zzm4k1x'": "curl -H 'Authorization: Bearer ***'",
    "a ghp_16C7e42F292c6912E7710c838347Ae17 b": "a *** b",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----": "***-----END PRIVATE KEY-----",
    "https://user:pw@host/path": "https://***@host/path",
    "https://host/p?X-Amz-Signature=ab12&x=1": "https://host/p?X-Amz-Signature=***&x=1",
    "https://host/p?sig=ab%2F12&se=2026": "https://host/p?sig=***&se=2026",
    "Server=host;Uid=sa;Pwd=hunter2;": "Server=host;Uid=sa;Pwd=***;",
}


MEMBERS = {
    '{"password": "correct \\"horse", "note": "x"}': '{"password": "***", "note": "x"}',
    '{"apiKey":"ab': '{"apiKey":"***',
    '{"key": "a", "next_token": "b"}': '{"key": "***", "next_token": "b"}',
}


def test_a_member_is_masked_by_its_name() -> None:
    for text, masked in MEMBERS.items():
        assert Secrets().mask(text) == masked


@pytest.mark.parametrize("text", MASKED)
def test_what_looks_like_a_secret_is_masked_and_in_no_profile(text: str) -> None:
    secrets = Secrets()
    assert secrets.mask(text) == MASKED[text]
    assert secrets.are_in(text)


PLAIN = [
    "charset=utf-8", "?page_token=2&next=3", "eyJ is how it begins", "a.b.c", "max-age=5",
    "https://host/@user", "tok", "bearer realm=projects",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert SECRETS.mask(text) == text
    assert not SECRETS.are_in(text)


def test_names_of_secrets() -> None:
    for name in (
        "password", "apiKey", "key", "private_key", "connectionString", "DSN", "sig", "accessToken",
        "keyData", "client-key-data", "privateKeyPem", "connection string", "X-Amz-Credential",
        "clientSecret", "ssh_private", "pin", "mnemonic",
    ):  # fmt: skip
        assert is_secret_name(name), name
    for name in (
        "monkey", "keyboard", "key_id", "nextToken", "author", "design", "tokens_count",
        "secretName", "passport", "resource", "primaryKey", "publicKey",
    ):  # fmt: skip
        assert not is_secret_name(name), name


def test_a_long_text_takes_no_long_time() -> None:
    for piece in ("x", "%41", "tok-9f2", "&#43;", "eyJ", "eyJaaaa.a", "a=b&", "://a", "a."):
        text = piece * (300_000 // len(piece))
        started = time.process_time()
        SECRETS.leak_in(Exchange("GET", "/", content=text.encode()))
        SECRETS.mask(text[:100_000])
        assert time.process_time() - started < 2, piece  # a quadratic one takes minutes
