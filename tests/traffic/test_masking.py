"""Tokens are masked, whole or not at all, in any spelling and in linear time."""

import time

from traffic.masking import Redactor, cut_between_words

TOKEN = "s3cret/t0k~n+="
SPELLED = [
    TOKEN,
    TOKEN.upper(),
    "".join(f"%{ord(char):02X}" for char in TOKEN),
    "".join(f"%25{ord(char):02x}" for char in TOKEN),
    "".join(f"%252525{ord(char):02x}" for char in TOKEN),
    "".join(f"\\u{ord(char):04x}" for char in TOKEN),
    "".join(f"\\\\u{ord(char):04X}" for char in TOKEN),  # of JSON in JSON
    "".join(f"%5Cu{ord(char):04x}" for char in TOKEN),  # of JSON in a query
    TOKEN.replace("/", "\\/"),
    TOKEN.replace("/", "%255c/"),
    TOKEN.replace("/", "\\\\/"),
    TOKEN.replace("/", "%2f").replace("s", "%73"),
    TOKEN.replace("~", "~0").replace("/", "~1"),  # in a pointer
    TOKEN.replace("~", "~00").replace("/", "~01"),  # of a name that was in one
    TOKEN.replace("+", " "),  # the value in a decoded query
]


def test_a_token_is_masked_in_any_spelling_and_with_anything_around_it() -> None:
    redactor = Redactor([TOKEN])
    for spelled in SPELLED:
        for around in ("a ", "%41é%", "İ\\x", "\\u0041"):
            shown = redactor.mask(f"{around}{spelled} {spelled}{around}")
            assert shown == f"{around}*** ***{around}"


def test_a_part_of_a_token_is_not_masked() -> None:
    """What is shown tells nobody whether a text is the beginning of a token, or its end."""
    redactor = Redactor([TOKEN])
    for size in range(1, len(TOKEN)):
        for part in (TOKEN[:size], TOKEN[size:]):
            for text in (part, f"http://{part}/", f"http://{part}.example:80/v1", f"{part}xyz"):
                assert redactor.mask_target(text) == text


def test_each_of_many_tokens_is_masked_as_a_whole() -> None:
    numbers = range(100)
    tokens = [f"{start}-{number}" for start in ("tea", "team-a", "teammates") for number in numbers]
    redactor = Redactor(tokens)
    for token in tokens:
        assert redactor.mask(f"({token}) {token.upper()}") == "(***) ***"
    assert redactor.mask("tea-100 team-b-1 teammates-") == "tea-100 team-b-1 teammates-"


def test_only_a_whole_token_is_masked_and_the_longest() -> None:
    redactor = Redactor(["S3cr3t", "s3cr3t-abcdef"])
    assert redactor.mask("S3CR3T") == "***"
    assert redactor.mask("s3cr3t-abcdef s3cr3t s3cr3t-abc") == "*** *** ***-abc"
    assert Redactor(["a", "a-b"]).mask("a-b, a") == "***, ***"
    for text in ("s3cr3", "token: website", "Bearer of news", "100%", "~0"):
        assert redactor.mask(text) == text
        assert Redactor().mask(text) == text


def test_a_short_token_is_masked_only_as_a_whole_word() -> None:
    redactor = Redactor(["test"])
    for text in ("latest_deployment_id", "tests", "test_1", "contest", "%6Catest", "5test"):
        assert redactor.mask(text) == text
    for text, shown in (
        ("test", "***"),
        ("a Test.job, (test)", "a ***.job, (***)"),
        ("x%2Ftest", "x%2F***"),
        ("x%25252ftest", "x%25252f***"),
        ("a\\ntest\\u0022", "a\\n***\\u0022"),
        ("%74est", "***"),
        ("%2574%2565st", "***"),
    ):
        assert redactor.mask(text) == shown, text


def test_header_fields_with_a_secrets_name_are_secret() -> None:
    for name in ("Proxy-Authorization", "X-Api-Key", "X-ApiKey", "X-Auth", "Cookie", "X-Password"):
        assert Redactor.mask_field(name, "tr1ed") == "***", name
    for name in ("Author", "Content-Type", "X-Key", "Host"):
        assert Redactor.mask_field(name, "x") == "x", name


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
        assert Redactor.mask_field("Authorization", authorization) == shown
    for query, shown in QUERIES:
        assert Redactor(["s3cret"]).mask_target(f"/v1?{query}") == f"/v1?{shown}"


def test_a_body_is_cut_where_no_token_can_stand() -> None:
    for spelled in SPELLED:
        body = f'{{"a": "{spelled}", "b": 1}}'
        for encoding in ("utf-8", "utf-16-le"):
            data = body.encode(encoding)
            start = data.index(spelled.encode(encoding))
            end = start + len(spelled.encode(encoding))
            for size in range(start, end):
                assert cut_between_words(data, size)[start:].strip(b"\0") in (
                    b"",
                    spelled.encode(encoding).strip(b"\0"),
                )
    assert cut_between_words(b"short", 100) == b"short"


STRAYS = ['"', "=", "%", "%25", "25", "~", "~0", "/", "\\", "d", "dev-", "%64", "\\u00"]


def test_masking_takes_linear_time() -> None:
    started = time.process_time()
    for token in ("dev-token", "~/+=" * 8 + "a", 16 * "d" + "e"):
        redactor = Redactor([token])
        for stray in STRAYS:
            redactor.mask(f"{50_000 // len(stray) * stray}%")
    assert time.process_time() - started < 3  # what is quadratic takes longer
