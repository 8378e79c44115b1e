"""Pact's own verifier sets provider states up, and replays a pact against the stub."""

import json
from pathlib import Path
from typing import Any

import pytest
from pact import Verifier

from tests.conftest import TOKEN
from tests.wire import call

pytestmark = pytest.mark.process


def interaction(description: str, states: Any, request: Any, response: Any) -> Any:
    headers = {"Authorization": [f"Bearer {TOKEN}"]}
    request["headers"] = {**headers, **request.get("headers", {})}
    return {
        "type": "Synchronous/HTTP",
        "description": description,
        "providerStates": states,
        "request": request,
        "response": response,
    }


JSON = {"Content-Type": ["application/json"]}


def write_pact(
    tmp_path: Path, *, status: str = "failed", state: str = "a deployment exists"
) -> Path:
    """A pact over all three operations, with provider states and an injected value."""
    interactions = [
        interaction(
            "list",
            [
                {"name": "no projects exist"},
                {"name": "a project exists", "params": {"name": "shop"}},
            ],
            {"method": "GET", "path": "/v1/projects"},
            {
                "status": 200,
                "headers": JSON,
                "body": {
                    "content": {"projects": [{"id": "prj_1", "name": "shop"}]},
                    "contentType": "application/json",
                    "encoded": False,
                },
                "matchingRules": {
                    "body": {"$.projects[0].id": {"matchers": [{"match": "type"}]}}
                },
            },
        ),
        interaction(
            "create",
            [{"name": "no projects exist"}],
            {
                "method": "POST",
                "path": "/v1/projects",
                "headers": JSON,
                "body": {
                    "content": {"name": "new"}, "contentType": "application/json", "encoded": False,
                },
            },
            {"status": 201, "headers": JSON},
        ),
        interaction(
            "status",
            [{"name": state, "params": {"id": "dpl_77", "status": "failed"}}],
            {
                "method": "GET",
                "path": "/v1/deployments/dpl_0",
                "generators": {
                    "path": {
                        "type": "ProviderState",
                        "expression": "/v1/deployments/${deployment_id}",
                        "dataType": "STRING",
                    }
                },
            },
            {
                "status": 200,
                "headers": JSON,
                "body": {
                    "content": {"id": "dpl_77", "status": status},
                    "contentType": "application/json",
                    "encoded": False,
                },
            },
        ),
    ]  # fmt: skip
    document = {
        "consumer": {"name": "client"},
        "provider": {"name": "stub"},
        "interactions": interactions,
        "metadata": {"pactSpecification": {"version": "4.0"}},
    }
    path = tmp_path / "pact.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.mark.parametrize("in_body", [True, False])
@pytest.mark.parametrize(
    ("expected", "state", "passes"),
    [
        ("failed", "a deployment exists", True),
        ("succeeded", "a deployment exists", False),
        ("failed", "an unheard of state", False),
    ],
)
def test_the_verifier_of_pact_passes_and_fails_as_expected(
    tmp_path: Path,
    live_url: str,
    own_token: str,
    expected: str,
    state: str,
    *,
    passes: bool,
    in_body: bool,
) -> None:
    verifier = (
        Verifier("stub", "127.0.0.1")
        .add_transport(url=live_url)
        .add_source(write_pact(tmp_path, status=expected, state=state))
        .state_handler(f"{live_url}/_stub/pact", body=in_body)
        .add_custom_headers({"Authorization": f"Bearer {own_token}"})
    )
    if passes:
        verifier.verify()
    else:
        with pytest.raises(RuntimeError):
            verifier.verify()
    entries = call(live_url, "/_stub/requests", token=own_token).json["requests"]
    sent = {entry["operation"] for entry in entries}
    known = {"getDeployment"} if state == "a deployment exists" else set()
    assert sent == {"createProject", "listProjects"} | known
