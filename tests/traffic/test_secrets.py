"""One list of spellings of a secret, for leaks, outputs and profiles."""

import base64
import html
import time

from tests.verify.conftest import TOKEN
from traffic.secrets import Secrets, is_placeholder, is_secret_name

SECRETS = Secrets([TOKEN], ["cookie-7f3a9"])
DATA = TOKEN.encode()
JWE = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..48V1_ALb6US04U3b.5eym8TW_c8SuK0.XFBoMYUZodet"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


SPELLINGS = {
    "in capitals, as of a host": TOKEN.upper(),
    "without its =": TOKEN.rstrip("="),
    "HTML": html.escape(TOKEN).replace("/", "&#x2F;").replace("=", "&#61;").replace("+", "&plus;"),
    "HTML without the end": TOKEN.replace("/", "&#47"),
    "base64": base64_of(DATA),
    "base64url": base64.urlsafe_b64encode(DATA).decode(),
    "of Bearer TOKEN and a line end": base64_of(b"Bearer " + DATA + b"\n"),
    "of key:TOKEN": base64_of(b"key:" + DATA),
    "of x:TOKEN:y": base64_of(b"x:" + DATA + b":y"),
    "of user:TOKEN, base64url": base64.urlsafe_b64encode(b"user:" + DATA).decode().rstrip("="),
    "hex": DATA.hex(),
    "hex in capitals": (b"Bearer " + DATA).hex().upper(),
}


def test_a_token_is_found_and_masked_in_any_spelling() -> None:
    for spelled in SPELLINGS.values():
        assert SECRETS.has_token(f'{{"a": "{spelled}"}}')
        masked = SECRETS.mask(f"see {spelled} there")
        assert "***" in masked
        assert spelled not in masked
        assert SECRETS.has_secret(spelled)


def test_a_cookie_is_masked_and_no_leak() -> None:
    assert SECRETS.mask("a cookie-7f3a9 b") == "a *** b"
    assert SECRETS.has_secret("cookie-7f3a9")
    assert not SECRETS.has_token("cookie-7f3a9")


MASKED = {
    f'{{"note": "{JWT}"}}': '{"note": "***"}',
    f"see {JWE} there": "see *** there",
    "whsec_CxZcE2pTzGQcQ5grVTbM": "***",
    "a ghp_16C7e42F292c6912E7710c838347Ae17 b": "a *** b",
    "curl -H 'Authorization: Bearer cchx8bd0q7zzm4k1x'": "curl -H 'Authorization: Bearer ***'",
    "a sk-proj-bxa3wx8es7rbxa3wx8es7r b": "a *** b",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END": "***-----END",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----": "***-----END PRIVATE KEY-----",
    "https://user:pw@host/path": "https://***@host/path",
    "https://host/p?sig=ab%2F12&se=2026": "https://host/p?sig=***&se=2026",
    "Server=host;Uid=sa;Pwd=hunter2;": "Server=host;Uid=sa;Pwd=***;",
    "run --password x7k2q9 --region eu1": "run --password *** --region eu1",
    "user: u\npassword: x7k2q9\n": "user: u\npassword: ***\n",
    'export API_KEY="x7k2q9"': 'export API_KEY="***"',
    '{\\"db_password\\": \\"x7k2q9\\"}': '{\\"db_password\\": \\"***\\"}',
}
# Members are masked by their names; whether a profile has them is not asked of the text.
MEMBERS = {
    '{"password": "correct \\"horse", "note": "x"}': '{"password": "***", "note": "x"}',
    '{"apiKey":"ab': '{"apiKey":"***',
    '{"wifiPsk": "a", "pat": "b", "path": "/c"}': '{"wifiPsk": "***", "pat": "***", "path": "/c"}',
    '{"key": "a", "next_token": "b"}': '{"key": "***", "next_token": "b"}',
}


def test_a_sentence_about_a_secret_has_none() -> None:
    for text in ("The password is too short.", "No token: send 401 or 403.", "page_token: x7k2q9"):
        assert Secrets().mask(text) == text
        assert not Secrets().has_secret(text)


def test_what_looks_like_a_secret_is_masked_and_in_no_profile() -> None:
    secrets = Secrets()
    for text, masked in {**MASKED, **MEMBERS}.items():
        assert secrets.mask(text) == masked
        assert secrets.has_secret(text) == (text in MASKED)


PLAIN = [
    "charset=utf-8", "?page_token=2&next=3", "eyJ is how it begins", "max-age=5",
    "https://host/@user", "tok", "bearer realm=projects",
]  # fmt: skip


def test_what_is_no_secret_stays() -> None:
    for text in PLAIN:
        assert SECRETS.mask(text) == text
        assert not SECRETS.has_secret(text)


def test_names_of_secrets() -> None:
    for name in (
        "password", "apiKey", "key", "connectionString", "DSN", "sig", "accessToken", "keyData",
        "client-key-data", "privateKeyPem", "X-Amz-Credential", "ssh_private", "pin", "mnemonic",
    ):  # fmt: skip
        assert is_secret_name(name), name
    for name in (
        "monkey", "keyboard", "key_id", "nextToken", "author", "design", "tokens_count",
        "passport", "primaryKey", "publicKey",
    ):  # fmt: skip
        assert not is_secret_name(name), name


def test_a_long_text_takes_no_long_time() -> None:
    for piece in ("%41", "tok-9f2", "&#43;", "eyJaaaa.a", "a=b&", "://a", "a."):
        text = piece * (100_000 // len(piece))
        started = time.process_time()
        SECRETS.has_token(text)
        SECRETS.mask(text)
        assert time.process_time() - started < 2, piece  # a quadratic one takes minutes


def test_a_placeholder_is_a_word_or_says_that_something_is_gone() -> None:
    for text in ("***", "xxxx-xxxx", "[Filtered]", "REDACTED_4711", "token", "abcdefgh_ijklmn"):
        assert is_placeholder(text), text
    for text in ("t0ken", "abcdefgh_ijklmno"):
        assert not is_placeholder(text), text
