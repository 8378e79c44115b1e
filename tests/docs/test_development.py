"""docs/development.md is true: its changes apply and pass, and its store on SQLite serves /v1."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, needs
from tests.docs.documents import blocks_of, execute, files_of
from tests.program import process, ready_url
from tests.wire import call

pytestmark = pytest.mark.process

DIFFS = [text for kind, text in blocks_of("docs/development.md") if kind == "diff"]
NOT_COPIED = (".git", ".venv", "*_cache*", "__pycache__", "node_modules", "dist")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project, to change."""
    ignore = shutil.ignore_patterns(*NOT_COPIED)
    return Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=ignore))


def apply(diff: str, copy: Path) -> None:
    needs("git")
    (copy / "change.diff").write_text(f"{diff}\n", "utf-8")
    done = execute(["git", "apply", "change.diff"], copy)
    assert done.returncode == 0, done.stderr


def test_the_operation_applies_and_its_test_passes(copy: Path) -> None:
    apply(DIFFS[0], copy)
    words = ["pytest", "-n", "0", "-p", "no:cacheprovider", "-k", "one_project_is_returned"]
    done = execute([sys.executable, "-m", *words, "tests/test_app.py"], copy)
    assert done.returncode == 0, done.stdout


def test_the_status_applies_and_the_documents_stay_valid(copy: Path) -> None:
    apply(DIFFS[1], copy)
    for name in ("openapi.json", "stub/sample.json"):
        assert "expired" in json.dumps(json.loads((copy / name).read_text("utf-8")))


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
