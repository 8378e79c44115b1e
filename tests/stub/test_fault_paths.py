"""The path of a fault, which may be spelt as it is sent, or as the journal shows it."""

import pytest
from flask.testing import FlaskClient

from tests.stub.conftest import entries

BASE = "/v1/deployments/"
# As it may be sent, and as the journal shows it.
SENT = [
    ("100%25", "100%25"),
    ("100%", "100%25"),
    ("50%zz", "50%25zz"),
    ("a%20b", "a b"),
    ("a%20b%25", "a b%25"),
    ("%61%62", "ab"),
    ("a%2Fb", "a%2Fb"),
    ("a%2fb%20c", "a%2Fb c"),
    ("%252F", "%252F"),
    ("%2525", "%2525"),
    ("%C3%BC", "ü"),
    ("%ff", "\ufffd"),
    ("%F0%9F%9A%80%2F", "🚀%2F"),
    ("a%2Ab", "a*b"),
    ("%5Bab%5D", "[ab]"),
    ("a%5B%21b%5D%3F", "a[!b]?"),
    ("a+b", "a+b"),
]


def is_met(client: FlaskClient, path: str, target: str) -> bool:
    """Whether a fault with this path is for a request to this target, as it is sent."""
    fault = {"status": 503, "path": path}
    assert client.post("/_stub/faults", json=fault).status_code == 201
    raw = {"REQUEST_URI": target}
    try:
        return client.get(target, environ_overrides=raw).status_code == 503
    finally:
        client.delete("/_stub/faults")


@pytest.mark.parametrize(("sent", "shown"), SENT)
def test_a_path_matches_as_it_is_sent_and_as_the_journal_shows_it(
    stub: FlaskClient, sent: str, shown: str
) -> None:
    target = BASE + sent
    assert is_met(stub, target, target)
    (entry,) = entries(stub)
    assert entry["path"] == BASE + shown
    assert is_met(stub, entry["path"], target)
    assert is_met(stub, f"/*/{sent}", target)


@pytest.mark.parametrize(
    ("path", "sent", "expected"),
    [
        ("a/b", "a%2Fb", False),
        ("a%2Fb", "a/b", False),
        ("a%252Fb", "a%2Fb", False),
        ("a*b", "a%2Fb", True),
        ("a*b", "a/b", True),
        ("100*", "100%25", True),
        ("a?b", "a%20b", True),
        ("[a-c]", "%62", True),
        ("%61*", "abc", True),
        ("a%2Ab", "axb", False),
        ("a%3Fb", "axb", False),
        ("%5Bab%5D", "a", False),
        ("[ab]", "a", True),
        ("[ab]", "%5Bab%5D", True),
        ("100%", "100%25", True),
        ("100", "100%25", False),
        ("A", "a", False),
    ],
)
def test_what_is_encoded_is_no_wildcard_and_separates_nothing(
    stub: FlaskClient, path: str, sent: str, expected: bool
) -> None:
    assert is_met(stub, BASE + path, BASE + sent) is expected
