"""docs/development.md is true: its changes apply and pass, and its store on SQLite serves /v1."""

import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import create_app
from redis_store import RedisStores, connect
from store import MemoryStore
from tests.conftest import ROOT
from tests.docs.documents import TEXTS, blocks_of, files_of, texts_in
from tests.program import environment, process, ready_url
from tests.wire import call

pytestmark = pytest.mark.process

BLOCKS = blocks_of("docs/development.md")
DIFFS = [index for index, (kind, _) in enumerate(BLOCKS) if kind == "diff"]
NOT_COPIED = (".git", ".venv", "*_cache*", "__pycache__", "node_modules", "dist")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project, to change."""
    ignore = shutil.ignore_patterns(*NOT_COPIED)
    return Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=ignore))


def apply(diff: str, copy: Path) -> None:
    """Apply a unified diff. The lines that it expects are in their file once, at any number."""
    for part in diff.split("--- a/")[1:]:
        name, _, hunks = part.partition("\n")
        assert hunks.startswith(f"+++ b/{name}\n@@ ")
        text = (copy / name).read_text("utf-8")
        for header, hunk in re.findall(r"^@@ (.*) @@\n((?:[ +-].*(?:\n|$))+)", hunks, re.MULTILINE):
            lines = hunk.splitlines()
            old, new = ([each[1:] for each in lines if each[0] in signs] for signs in (" -", " +"))
            assert re.fullmatch(rf"-\d+,{len(old)} \+\d+,{len(new)}", header), f"{name}: {header}"
            before = "\n".join(["", *old, ""])
            assert text.count(before) == 1, f"{name} does not have once:{before}"
            text = text.replace(before, "\n".join(["", *new, ""]))
        (copy / name).write_text(text, "utf-8")


def pytest_of(copy: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", *arguments],
        cwd=copy,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(DIFFS[0], id="operation"),
        pytest.param(DIFFS[1], id="status", marks=pytest.mark.slow),
    ],
)
def test_each_change_applies_and_passes_the_tests_that_are_named(index: int, copy: Path) -> None:
    apply(BLOCKS[index][1], copy)
    kind, command = BLOCKS[index + 1]
    start = ".venv/bin/python -m pytest "
    assert (kind, command[: len(start)]) == ("sh", start)
    done = pytest_of(copy, *command.removeprefix(start).split())
    assert done.returncode == 0, done.stdout
    style = [sys.executable, "-m", "ruff", "check", "--no-cache", "-q", "."]
    assert subprocess.run(style, cwd=copy, check=False).returncode == 0


@pytest.mark.slow
def test_an_operation_may_have_another_method_any_body_and_no_response_body(copy: Path) -> None:
    apply(BLOCKS[DIFFS[0]][1], copy)
    for name, old, new in [
        ("app.py", '@v1.get("/projects/<', '@v1.patch("/projects/<'),
        (
            "app.py",
            "return project.representation, 200, JSON\n    raise",
            'return "", 204, JSON\n    raise',
        ),
        (
            "README.md",
            "`GET /v1/projects/{id}` | returns one project | 200,",
            "`PATCH /v1/projects/{id}` | | 204,",
        ),
    ]:
        text = (copy / name).read_text("utf-8")
        assert text.count(old) == 1
        (copy / name).write_text(text.replace(old, new), "utf-8")
    contract = json.loads((copy / "openapi.json").read_text("utf-8"))
    path = contract["paths"]["/v1/projects/{id}"]
    path["patch"] = operation = path.pop("get")
    operation["responses"]["204"] = operation["responses"].pop("200")
    del operation["responses"]["204"]["content"]
    origin = {"x-origin": {"chosen": "members of any name"}}
    schema = {"type": "object", "additionalProperties": True, **origin}
    operation["requestBody"] = {"content": {"application/json": {"schema": schema}}, **origin}
    (copy / "openapi.json").write_text(json.dumps(contract), "utf-8")
    (copy / "tests" / "test_patch.py").write_text(
        "def test_patch(client, stub):\n"
        "    response = client.patch('/v1/projects/prj_website', json={'team': 'a'})\n"
        "    assert response.data == b''\n"
        "    coverage = stub.get('/_stub/coverage').json\n"
        "    assert coverage['operations']['getProject']['204'] == 1\n"
        "    assert coverage['unpromised'] == []\n"
    )
    tests = ("tests/test_patch.py", "tests/test_contract.py", "tests/stub/test_coverage.py")
    done = pytest_of(copy, *tests, "tests/docs/test_text.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_what_is_new_fails_with_a_sentence_that_says_what_to_do(copy: Path) -> None:
    for name in ("metrics.py", "extras/__init__.py", "extras/part.py", "server/extra.py"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text("import json\n", "utf-8")
    with (copy / "tests" / "test_records.py").open("a", encoding="utf-8") as file:
        file.write("from stub.coverage import Tally\n")
    done = pytest_of(copy, "tests/test_house.py", "--tb=line", "-rN")
    for sentence in (
        "metrics is new: add to MAY_IMPORT in tests/test_house.py what it may import",
        "extras is new: add to MAY_IMPORT in tests/test_house.py what it may import",
        "server/extra.py is new: add it to SERVER_ORDER in tests/test_house.py",
        "Tally of stub.coverage: use what a user can see, or add it to `public`",
    ):
        assert sentence in done.stdout, done.stdout
    assert "KeyError" not in done.stdout
    assert "ValueError" not in done.stdout


@pytest.mark.slow
def test_more_views_are_no_failure_of_the_house(copy: Path) -> None:
    app = (copy / "app.py").read_text("utf-8")
    (first,) = re.findall(r'@v1\.get\("/projects"\)\n(?:.+\n)+\n\n', app)
    more = "".join(first.replace("projects", f"projects{number}") for number in range(20))
    (copy / "app.py").write_text(app.replace(first, first + more), "utf-8")
    done = pytest_of(copy, "tests/test_house.py")
    assert done.returncode == 0, done.stdout


def test_stores_are_made_as_the_page_says() -> None:
    (code,) = (text for text in texts_in("python") if "class Stores" in text)
    shown: dict[str, Any] = {}
    exec(compile(code, "the documentation", "exec"), shown)
    declared = inspect.signature(shown["Stores"].__call__)
    calls = []

    def new_store(*collaborators: Any, **options: Any) -> MemoryStore:
        calls.append(declared.bind(None, *collaborators, **options).arguments)
        return MemoryStore(*collaborators, **options)

    create_app(new_store=new_store, stub_options=None)
    assert [[*each] for each in calls] == [[*declared.parameters]]
    assert [*inspect.signature(connect).parameters] == [
        *inspect.signature(shown["connect"]).parameters
    ]
    assert {*inspect.signature(shown["Stores"].share_clock).parameters} == {
        *inspect.signature(RedisStores.share_clock).parameters
    }
    assert "connect_store" in (ROOT / "cli" / "serving.py").read_text("utf-8")
    assert "`connect_store`" in TEXTS["docs/development.md"]


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
