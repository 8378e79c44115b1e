"""docs/sqlite_store.py: the service with a store that keeps its records."""

import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT, client_of
from tests.contract import CREATED


def test_a_store_on_sqlite_keeps_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    create_app = runpy.run_path(str(ROOT / "docs" / "sqlite_store.py"))["create_app"]
    client = client_of(create_app())
    created = client.post("/v1/projects", json={"name": "shop"})
    assert created.status_code == CREATED
    taken = client.post("/v1/projects", json={"name": "shop"})
    assert taken.json["code"] == "name_taken"
    again = client_of(create_app())
    assert again.get("/v1/projects").json == {"projects": [created.json]}
    deployment = again.get(f"/v1/deployments/{created.json['latest_deployment_id']}")
    assert deployment.json["status"] == "queued"
