"""docs/development.md is true: its changes apply and pass, and its store on SQLite serves /v1."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, needs
from tests.docs.documents import blocks_of, execute
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


# The diffs that apply together, with the test that each of them adds.
TESTS = {
    0: "tests/test_app.py::test_one_project_is_returned_as_it_is_listed",
    2: "tests/test_app.py::test_a_deployment_has_a_url",
    4: "tests/stub/test_faults.py::test_a_connection_closes_after_the_response",
}


def test_the_changes_apply_and_their_tests_pass(copy: Path) -> None:
    for number in TESTS:
        apply(DIFFS[number], copy)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *TESTS.values()]
    done = execute(words, copy, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 0, done.stdout


def test_other_statuses_are_those_of_the_contract_and_of_profiles(copy: Path) -> None:
    for number in (1, 3):
        apply(DIFFS[number], copy)
    profile = json.loads((copy / "tests" / "services" / "kernel.json").read_text("utf-8"))
    profile["create"].pop("status", None)
    (copy / "like.json").write_text(json.dumps(profile), "utf-8")
    sent = json.dumps(profile["create"]["request"]).replace("{project.name}", "shop").encode()
    for options, body in (((), b'{"name": "shop"}'), (("--like", "like.json"), sent)):
        with process("app.py", "--port", "0", *options, cwd=copy) as started:
            url = ready_url(started)
            assert call(url, "/v1/projects", body=body).status_code == 202
            contract = call(url, "/openapi.json").json
            assert "202" in contract["paths"]["/v1/projects"]["post"]["responses"]
            found = call(url, "/v1/deployments/dpl_expired")
            assert options or found.json["status"] == "expired"


def test_a_store_on_sqlite_serves_v1_and_keeps_its_records(tmp_path: Path) -> None:
    words = (str(ROOT / "docs" / "sqlite_store.py"), "--no-stub", "--port", "0", "--pace", "0")
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
