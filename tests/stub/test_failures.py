"""The failures of --probe: what a client did after one, read from the requests of a run.

The recorded table shows which request meets a failure, and its response.
"""

import pytest

from cli.probe_report import describe_reaction
from stub.failures import (
    Attempt,
    Failures,
    Reaction,
    RunJournal,
    find_wrong_reactions,
    read_reactions,
)
from tests.conftest import TOKEN, client_of, make_stub

OPERATIONS = {"l": "listProjects", "c": "createProject", "g": "getDeployment"}


def sent(words: str, gap: float, failures: Failures | None = None) -> list[Attempt]:
    """The attempts for words such as `l c:key`: the same word is the same request, but for its key.

    Each takes half a second, and comes so many seconds after the one before.
    """
    attempts = []
    now = 100.0
    for word in words.split():
        request, _, key = word.partition(":")
        operation = OPERATIONS[request[0]]
        method = "POST" if request == "c" else "GET"
        now += gap
        attempt = Attempt(operation, method, hash(request), key or None, now, now + 0.5, True)
        now = attempt.ended
        if failures:
            fault = failures.replace(operation, attempt.sent) or failures.spoil(operation)
            attempt = attempt._replace(fault=fault.id if fault else None)
        attempts.append(attempt)
    return attempts


# The failure, what the plain run sent and what the run did, the seconds between two requests,
# whether the run was broken, what the client is said to have done, and the kind of the finding.
RUNS = [
    ("unavailable", "l", "g", 0.5, False, "not met", ""),
    # A repetition is a later request beyond those of the plain run.
    ("unavailable", "l", "l", 0.5, False, "gave up", ""),
    ("unavailable", "l", "l l l", 0.5, False, "again after 0.50 s (2 times)", ""),
    ("unavailable", "l l", "l l", 0.5, False, "gave up", ""),
    ("unavailable", "l l l", "l l", 0.5, False, "gave up", ""),
    ("unavailable", "l", "l l2", 0.5, False, "gave up", ""),
    ("unavailable", "l2", "l l", 0.0, False, "again after 0.00 s", ""),
    # In a run that is broken, requests in a row are repetitions, too.
    ("unavailable", "l g l", "l l g", 0.5, False, "gave up", ""),
    ("unavailable", "l g l", "l l g", 0.5, True, "again after 0.50 s", ""),
    ("unavailable", "l", "l g l", 0.5, True, "again after 1.50 s", ""),
    ("unavailable", "l l g l", "l l g", 0.5, True, "gave up", ""),
    ("unavailable", "l g l", "l g l", 0.5, True, "gave up", ""),
    # Only a POST that was performed, and is sent again without the same key, is a duplicate.
    ("unavailable", "c", "c c", 2.0, False, "again after 2.00 s", ""),
    ("wrong-body", "c", "c c", 2.0, False, "again after 2.00 s", ""),
    ("lost-response", "l", "l l", 2.0, False, "again after 2.00 s", ""),
    ("lost-response", "c", "c c", 2.0, False, "again after 2.00 s", "repeats"),
    ("cut-body", "c", "c c", 2.0, False, "again after 2.00 s", "repeats"),
    ("stalled", "c", "c c", 2.0, False, "closed after 0.5 s, again after 2.00 s", "repeats"),
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


@pytest.mark.parametrize(("name", "plain", "run", "gap", "is_broken", "said", "kind"), RUNS)
def test_what_a_client_did_is_read_and_found(
    name: str, plain: str, run: str, gap: float, is_broken: bool, said: str, kind: str
) -> None:
    before = sent(plain, gap)
    attempts = sent(run, gap, Failures(name, before))
    # A request that ends late stands behind others.
    reactions = read_reactions(name, before, attempts[::-1], is_broken=is_broken)
    operation = OPERATIONS[plain[0]]
    assert describe_reaction(reactions.get(operation, Reaction())) == said
    found = [each.text for each in find_wrong_reactions(name, reactions)]
    of_operation = [text for text in found if operation in text]
    assert of_operation == ([f"{kind}: {operation} after {name}"] if kind else [])


def test_a_client_that_waits_to_the_end_of_a_stall_is_said_to() -> None:
    (attempt,) = sent("c", 1)
    for seconds, said in ((20.0, "waited 20 s"), (19.9, "closed after 19.9 s")):
        stalled = attempt._replace(fault="stalled", ended=attempt.arrived + seconds)
        reactions = read_reactions("stalled", [attempt], [stalled], is_broken=False)
        assert describe_reaction(reactions["createProject"]) == said
        assert list(find_wrong_reactions("stalled", reactions)) == []


def test_a_request_repeats_another_with_the_same_target_body_and_world() -> None:
    journal = RunJournal(lambda response: response)
    app = make_stub(log=journal.add)
    client, other = client_of(app), client_of(app, f"Bearer {TOKEN}.world")
    for _ in range(2):
        client.get("/v1/projects", headers={"Idempotency-Key": ""})
        client.get("/v1/projects?page=2")
        client.get("/v1/projects", data="a body")
        other.get("/v1/projects")
        client.get("/v1/nothing")  # no operation
        client.post("/_stub/reset")
    first, second = journal.attempts[:4], journal.attempts[4:]
    assert [each.sent for each in first] == [each.sent for each in second]
    assert len({each.sent for each in first}) == 4
    assert {each.key for each in journal.attempts} == {None}
