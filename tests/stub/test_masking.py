"""Secrets are masked in the journal and in the coverage, and nothing else is."""

import json
import re

import pytest

from stub import CHOICES
from tests.conftest import SAMPLE_SEED, START, control_client_of, make_stub
from tests.replayed import read, response_to
from tests.stores import ids_counted_by_prefix
from tests.stub.conftest import entries, logged_stub, verdict_of
from tests.traffic.test_masking import SPELLED

# Of a scenario, what may be seen nowhere: the parts of its token, and other secrets.
HIDDEN = {
    "masked": [*SPELLED, json.dumps(SPELLED[0])[1:-1], "s3cr", "tr1ed"],
    "masked-names": ["My.Own", "Secret_2", "x+y", "x y"],
    "masked-names-strict": ["My.Own", "Secret_2", "x+y", "x y"],
    "masked-status": ["secret"],
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_part_of_a_token_is_seen_where_requests_are_shown(name: str) -> None:
    """In the recorded responses, the access log, and the verdict of the run."""
    scenario = read(name)
    token = scenario.options["tokens"][0]
    app, shown = logged_stub(seed=SAMPLE_SEED, **scenario.options)
    for step in scenario.steps:
        response = response_to(app, step["send"])
        if step["send"][:1] == ["GET"] and step["send"][1].startswith("/_stub/"):
            shown.append(response.body.decode("latin-1"))
    verdict = verdict_of(app, CHOICES, [token])
    shown += [verdict.format_table(), json.dumps(verdict.document(0))]
    for each in shown:
        assert not [part for part in HIDDEN[name] if part in each], each
    assert "***" in "".join(shown)


def shown_of(text: str, token: str) -> str:
    """Return all that a stub with this token shows of requests that have a text in many places."""
    app, shown = logged_stub(tokens=[token], freeze=START, new_id=ids_counted_by_prefix())
    stub = control_client_of(app, token)
    stub.get("/v1/projects", headers={"Authorization": f"Bearer {text}", "Host": text})
    stub.get(f"/v1/http://{text}/{text}?{text}={text}", headers={"Origin": f"http://{text}"})
    stub.get(f"/v1/projects?{text}=1", headers={"Referer": f"https://{text}:80/", text: "a"})
    stub.post("/v1/projects", json={"name": text})
    stub.post("/v1/projects", json={text: {text: 1}})
    stub.put(f"/_stub/deployments/{text}", json={text: 1})
    for size in (4090, 4095):  # of which the end is cut
        stub.post("/v1/projects", data=size * " " + text)
        stub.post("/v1/projects", data=size * "a" + text)
    for path in ("requests", "coverage", "worlds"):
        shown.append(stub.get(f"/_stub/{path}").text)
    shown.append(json.dumps(verdict_of(app, CHOICES, [text]).document(0)))
    return "\n".join(shown)


def test_nothing_that_is_shown_depends_on_the_beginning_of_a_token() -> None:
    token = "qjzv-0k3n-of-somebody-else"
    for part in (token[:1], token[:7], token[:-1], token[1:]):
        of_part = shown_of(part, token)
        of_other = shown_of(part[::-1], token)
        assert re.sub("[A-Za-z0-9-]", "x", of_part) == re.sub("[A-Za-z0-9-]", "x", of_other)


def test_a_token_is_masked_where_its_name_in_a_query_loses_the_end() -> None:
    token = "s3cret+t0ken=="
    stub = control_client_of(make_stub(tokens=[token]), token)
    stub.get(f"/v1/projects?{token}")
    stub.get(f"/_stub/verdict?fail_on={token}")
    assert entries(stub)[0]["unpromised"] == ["listProjects: query parameter ***"]
    assert "s3cret" not in stub.get("/_stub/requests").text


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
