"""The failures of --probe: what a client did after one.

The recorded table shows which request meets a failure, and its response.
"""

import pytest

from cli.probe_report import table
from stub.failures import STALLED, Attempt, Failures
from tests.conftest import SAMPLE_SEED, TOKEN, client_of, make_stub

OPERATIONS = {"l": "listProjects", "c": "createProject", "g": "getDeployment"}


def sent(words: str, gap: float) -> list[Attempt]:
    """The attempts for words such as `l c:key`: the same word is the same request, but for its key.

    Each takes half a second, and comes so many seconds after the one before.
    """
    attempts = []
    now = 100.0
    for word in words.split():
        request, _, key = word.partition(":")
        method = "POST" if request == "c" else "GET"
        now += gap
        attempt = Attempt(OPERATIONS[request[0]], method, hash(request), key or None, arrived=now)
        now += 0.5
        attempt.ended = now
        attempt.is_success = True
        attempts.append(attempt)
    return attempts


def told_of(failures: Failures) -> dict[str, str]:
    """What the table has of each operation."""
    rows = table([failures]).splitlines()
    return dict(row.split(maxsplit=1) for row in rows[1:])


# The failure, what the plain run sent and what the run did, the seconds between two requests,
# whether the run was broken, what the client is told to have done, and the kind of the finding.
RUNS = [
    ("unavailable", "l", "g", 0.5, False, "not met", ""),
    # A repetition is a later request beyond those of the plain run.
    ("unavailable", "l", "l", 0.5, False, "gave up", ""),
    ("unavailable", "l", "l l l", 0.5, False, "again after 0.50 s (2 times)", "hurries"),
    ("unavailable", "l l", "l l", 0.5, False, "gave up", ""),
    ("unavailable", "l l l", "l l", 0.5, False, "gave up", ""),
    ("unavailable", "l", "l l2", 0.5, False, "gave up", ""),
    ("unavailable", "l2", "l l", 0.5, False, "again after 0.50 s", "hurries"),
    # In a run that is broken, requests in a row are repetitions, too.
    ("unavailable", "l g l", "l l g", 0.5, False, "gave up", ""),
    ("unavailable", "l g l", "l l g", 0.5, True, "again after 0.50 s", "hurries"),
    ("unavailable", "l", "l g l", 0.5, True, "again after 1.50 s", ""),
    ("unavailable", "l l g l", "l l g", 0.5, True, "gave up", ""),
    ("unavailable", "l g l", "l g l", 0.5, True, "gave up", ""),
    # Retry-After was one second.
    ("unavailable", "l", "l l", 0.99, False, "again after 0.99 s", "hurries"),
    ("unavailable", "l", "l l", 1.0, False, "again after 1.00 s", ""),
    # Only a POST that was performed, and is sent again without the same key, is a duplicate.
    ("unavailable", "c", "c c", 2.0, False, "again after 2.00 s", ""),
    ("wrong-body", "c", "c c", 2.0, False, "again after 2.00 s", ""),
    ("lost-response", "l", "l l", 2.0, False, "again after 2.00 s", ""),
    ("lost-response", "c", "c c", 2.0, False, "again after 2.00 s", "repeats"),
    ("cut-body", "c", "c c", 2.0, False, "again after 2.00 s", "repeats"),
    ("stalled", "c", "c c", 2.0, False, "again after 2.00 s", "repeats"),
    ("lost-response", "c:a", "c:a c:a", 2.0, False, "again, same key, after 2.00 s", ""),
    ("lost-response", "c:a", "c:a c:b", 2.0, False, "again after 2.00 s", "repeats"),
    ("lost-response", "c", "c:a c:a c:b", 2.0, False, "again after 2.00 s (2 times)", "repeats"),
    # A wrong body is accepted if the run passes and does not send the same next.
    ("wrong-body", "l", "l", 2.0, False, "accepted", "accepts"),
    ("wrong-body", "l g l", "l g l", 2.0, False, "accepted", "accepts"),
    ("wrong-body", "l", "l", 2.0, True, "gave up", ""),
    ("wrong-body", "l", "l l", 2.0, False, "again after 2.00 s", ""),
    ("wrong-body", "l l", "l l", 2.0, False, "gave up", ""),  # it polls
]


@pytest.mark.parametrize(("name", "plain", "run", "gap", "is_broken", "told", "kind"), RUNS)
def test_what_a_client_did_is_told_and_found(
    name: str, plain: str, run: str, gap: float, is_broken: bool, told: str, kind: str
) -> None:
    failures = Failures(name, Failures(attempts=sent(plain, gap)), attempts=sent(run, gap))
    for attempt in failures.attempts:
        failures.take(attempt)
    failures.settle(OPERATIONS.values(), is_broken=is_broken)
    operation = OPERATIONS[plain[0]]
    assert told_of(failures)[operation] == told
    found = [each.text for each in failures.findings() if operation in each.text]
    assert found == ([f"{kind}: {operation} after {name}"] if kind else [])


def test_a_stalled_response_comes_late_and_what_the_client_does_is_seen() -> None:
    slept: list[float] = []
    failures = Failures(STALLED, Failures(attempts=sent("l c g", 1)), stall=20)
    client = client_of(make_stub(seed=SAMPLE_SEED, failures=failures, sleep=slept.append))
    assert client.get("/v1/projects").status_code == 200
    assert slept == [20]
    is_open = {"server.is_open": lambda: len(slept) < 4}
    client.get("/v1/deployments/dpl_failed", environ_overrides=is_open)
    failures.settle(OPERATIONS.values())
    assert told_of(failures) == {
        "listProjects": "waited 20 s",
        "createProject": "not met",
        "getDeployment": "closed after 0.1 s",
    }
    (finding,) = failures.findings()
    assert (finding.text, finding.first_name) == ("waits: listProjects after stalled", "#1")


def test_a_request_repeats_another_with_the_same_target_body_and_world() -> None:
    failures = Failures()
    app = make_stub(failures=failures)
    client, other = client_of(app), client_of(app, f"Bearer {TOKEN}.world")
    for _ in range(2):
        client.get("/v1/projects", headers={"Idempotency-Key": ""})
        client.get("/v1/projects?page=2")
        client.get("/v1/projects", data="a body")
        other.get("/v1/projects")
    first, second = failures.attempts[:4], failures.attempts[4:]
    assert [each.sent for each in first] == [each.sent for each in second]
    assert len({each.sent for each in first}) == 4
    assert {each.key for each in failures.attempts} == {None}
