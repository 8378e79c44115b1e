"""The store on SQLite that docs/development.md shows serves /v1."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.documents import files_of
from tests.program import process, ready_url
from tests.wire import call

pytestmark = pytest.mark.process


def test_a_store_on_sqlite_serves_v1_and_keeps_its_records(tmp_path: Path) -> None:
    file = tmp_path / "sqlite_store.py"
    file.write_text(files_of("docs/development.md")[file.name], "utf-8")
    words = (str(file), "--no-stub", "--port", "0", "--pace", "0")
    path = {"PYTHONPATH": str(ROOT)}
    with process(*words, cwd=tmp_path, env=path) as started:
        url = ready_url(started)
        created = json.loads(call(url, "/v1/projects", body=b'{"name": "shop"}').data)
        assert call(url, "/v1/projects", body=b'{"name": "shop"}').status_code == 409
    with process(*words, cwd=tmp_path, env=path) as started:
        url = ready_url(started)
        assert json.loads(call(url, "/v1/projects").data)["projects"][-1] == created
        deployment = f"/v1/deployments/{created['latest_deployment_id']}"
        assert json.loads(call(url, deployment).data)["status"] == "succeeded"
        assert call(url, "/_stub/state").status_code == 404
    assert (tmp_path / "projects.db").exists()


def test_the_store_on_sqlite_is_short() -> None:
    assert len(files_of("docs/development.md")["sqlite_store.py"].splitlines()) < 80
