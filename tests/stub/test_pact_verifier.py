"""Pact's own verifier sets provider states up, and replays a pact against the stub."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pact import Verifier

from tests.conftest import BEARER

pytestmark = pytest.mark.process

HEADERS = {"Content-Type": ["application/json"]} | {name: [each] for name, each in BEARER.items()}
NONE = {"name": "no projects exist"}
SHOP = {"name": "a project exists", "params": {"name": "shop"}}
MADE = {"path": {"type": "ProviderState", "expression": "/v1/deployments/${deployment_id}",
                 "dataType": "STRING"}}  # fmt: skip
ANY_ID = {"body": {"$.projects[0].id": {"matchers": [{"match": "type"}]}}}


def interaction(states: Any, path: str, content: Any, **more: Any) -> Any:
    """A GET and its response; `more` are rules of the response, and generators of the request."""
    body = {"content": content, "contentType": "application/json", "encoded": False}
    rules, generators = more.get("rules", {}), more.get("generators", {})
    return {
        "type": "Synchronous/HTTP",
        "description": path,
        "providerStates": states,
        "request": {"method": "GET", "path": path, "headers": HEADERS, "generators": generators},
        "response": {"status": 200, "body": body, "matchingRules": rules},
    }


def write_pact(path: Path, state: str) -> Path:
    """A pact with provider states and an injected value."""
    failed = {"name": state, "params": {"id": "dpl_77", "status": "failed"}}
    listed = {"projects": [{"id": "prj_1", "name": "shop"}]}
    deployment = {"id": "dpl_77", "status": "failed"}
    interactions = [
        interaction([NONE, SHOP], "/v1/projects", listed, rules=ANY_ID),
        interaction([failed], "/v1/deployments/dpl_0", deployment, generators=MADE),
    ]
    document = {
        "consumer": {"name": "client"},
        "provider": {"name": "stub"},
        "interactions": interactions,
        "metadata": {"pactSpecification": {"version": "4.0"}},
    }
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("a deployment exists", nullcontext()),
        ("an unheard of state", pytest.raises(RuntimeError)),
    ],
)
def test_the_verifier_of_pact_passes_with_a_known_state_alone(
    tmp_path: Path, live_url: str, own_token: str, state: str, expected: Any
) -> None:
    for in_body in (True, False):
        verifier = (
            Verifier("stub", "127.0.0.1")
            .add_transport(url=live_url)
            .add_source(write_pact(tmp_path / "pact.json", state))
            .state_handler(f"{live_url}/_stub/pact", teardown=True, body=in_body)
            .add_custom_headers({"Authorization": f"Bearer {own_token}"})
        )
        with expected:
            verifier.verify()
