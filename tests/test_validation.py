"""The rules of a project; tests/replayed/bodies.jsonl has what is invalid."""

import re

from flask.testing import FlaskClient

from tests.conftest import client_of, make_stub
from tests.contract import CREATED, V1, assert_invalid

PATH = "/v1/projects"


def test_the_first_thousand_errors_are_reported() -> None:
    client = client_of(make_stub(strict=True))
    names = [f"m{number:04}" for number in range(2000)]
    response = client.post(PATH, json={"name": "n", **dict.fromkeys(names)})
    assert_invalid(response, *(f"/{name}" for name in names[:1000]))


def test_the_schema_of_the_contract_is_the_rule(client: FlaskClient) -> None:
    def accepts(name: str) -> bool:
        return client.post(PATH, json={"name": name}).status_code == CREATED

    schema = V1.components["schemas"]["ProjectInput"]["properties"]["name"]
    for length in (0, 1, 100, 101):
        is_allowed = schema["minLength"] <= length <= schema["maxLength"]
        assert accepts(length * "é") == is_allowed
    pattern = schema["pattern"]
    blanks = [chr(code) for code in range(0x11000) if chr(code).isspace()]
    for character in [*blanks, *"\0\x1b!~\x7f\x80\x9f\xa1\u180e\u200b", "\ufeffa", "\U0001f680"]:
        for name in (character, character + " ", f"x{character}y"):
            assert accepts(name) == bool(re.search(pattern, name)), repr(name)
    assert re.search(pattern, "\ufeff")  # ECMA-262, the dialect of the pattern, has no match
    assert not accepts("\ufeff")
