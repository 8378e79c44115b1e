"""Pact's own verifier sets provider states up, and replays a pact against the stub."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pact import Verifier

from tests.conftest import BEARER

pytestmark = pytest.mark.process

JSON = {"Content-Type": ["application/json"]}
TOKEN = {name: [value] for name, value in BEARER.items()}
NONE = {"name": "no projects exist"}
SHOP = {"name": "a project exists", "params": {"name": "shop"}}
MADE = {"path": {"type": "ProviderState", "expression": "/v1/deployments/${deployment_id}",
                 "dataType": "STRING"}}  # fmt: skip
ANY_ID = {"body": {"$.projects[0].id": {"matchers": [{"match": "type"}]}}}


def body(content: Any) -> Any:
    return {"content": content, "contentType": "application/json", "encoded": False}


def interaction(states: Any, request: Any, response: Any) -> Any:
    return {
        "type": "Synchronous/HTTP",
        "description": request["method"] + request["path"],
        "providerStates": states,
        "request": {"headers": JSON | TOKEN, **request},
        "response": {"headers": JSON, **response},
    }


def write_pact(path: Path, status: str, state: str) -> Path:
    """A pact over all three operations, with provider states and an injected value."""
    failed = {"name": state, "params": {"id": "dpl_77", "status": "failed"}}
    listed, deployment = {"projects": [{"id": "prj_1", "name": "shop"}]}, {"id": "dpl_77"}
    interactions = [
        interaction(
            [NONE, SHOP],
            {"method": "GET", "path": "/v1/projects"},
            {"status": 200, "body": body(listed), "matchingRules": ANY_ID},
        ),
        interaction(
            [NONE],
            {"method": "POST", "path": "/v1/projects", "body": body({"name": "new"})},
            {"status": 201},
        ),
        interaction(
            [failed],
            {"method": "GET", "path": "/v1/deployments/dpl_0", "generators": MADE},
            {"status": 200, "body": body({**deployment, "status": status})},
        ),
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
    ("status", "state", "expected"),
    [
        ("failed", "a deployment exists", nullcontext()),
        ("succeeded", "a deployment exists", pytest.raises(RuntimeError)),
        ("failed", "an unheard of state", pytest.raises(RuntimeError)),
    ],
)
def test_the_verifier_of_pact_passes_and_fails_as_expected(
    tmp_path: Path, live_url: str, own_token: str, status: str, state: str, expected: Any
) -> None:
    for in_body in (True, False):
        verifier = (
            Verifier("stub", "127.0.0.1")
            .add_transport(url=live_url)
            .add_source(write_pact(tmp_path / "pact.json", status, state))
            .state_handler(f"{live_url}/_stub/pact", body=in_body)
            .add_custom_headers({"Authorization": f"Bearer {own_token}"})
        )
        with expected:
            verifier.verify()
