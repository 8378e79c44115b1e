"""Imports run one way, and importing does nothing."""

import ast
import re
import sys
import tomllib

import pytest

from tests.conftest import ROOT
from tests.program import finished

# What each module or package may import besides the standard library and itself.
MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "store": {"records"},
    "web": {"flask", "werkzeug", "records"},
    "auth": {"flask", "store", "web"},
    "app": {"flask", "auth", "store", "web"},
    "server": {"waitress"},
    "traffic": {"web"},
    "profiles": {"flask", "werkzeug", "records", "store", "traffic", "web"},
    "stub": {"flask", "werkzeug", "app", "auth", "profiles", "records", "store", "traffic", "web"},
    "verify": {"flask", "werkzeug", "auth", "profiles", "records", "traffic", "web"},
    "redis_store": {"redis", "records", "store", "stub"},
}
MAY_IMPORT["cli"] = {*MAY_IMPORT, "click", "flask"}
MAY_IMPORT["deployment_stub"] = {"cli", "stub", "pytest"}
FREE = {"tests", "bench", "stub_fixture"}  # the last as README copies it


def imported(code: str) -> set[str]:
    """The modules that a file imports, but for what runs only if the file is the program."""
    module = ast.parse(code)
    found = set()
    for statement in module.body:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return found - {*sys.stdlib_module_names, "_typeshed"}


def test_imports_run_one_way_and_each_module_at_the_root_has_a_place() -> None:
    paths = [*ROOT.glob("*.py"), *ROOT.glob("*/__init__.py")]
    names = {path.stem if path.parent == ROOT else path.parent.name for path in paths}
    for name in names - FREE:
        assert name in MAY_IMPORT, (
            f"{name} is new: add it to MAY_IMPORT with what it may import, to the packages of "
            "pyproject.toml, and to the layout in docs/development.md"
        )
        for path in [*ROOT.glob(f"{name}.py"), *ROOT.glob(f"{name}/**/*.py")]:
            assert imported(path.read_text("utf-8")) <= {name, *MAY_IMPORT[name]}, path


def test_the_distribution_needs_what_the_requirements_say() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {"": project["dependencies"], "-redis": project["optional-dependencies"]["redis"]}
    for name, wanted in needed.items():
        lines = (ROOT / f"requirements{name}.txt").read_text("utf-8").splitlines()
        assert [each for each in lines if "pytest" not in each] == wanted


def test_the_program_knows_only_the_face_of_the_stub() -> None:
    for path in [*ROOT.glob("cli/*.py"), *ROOT.glob("deployment_stub/*.py")]:
        assert not re.search(r"^\s*(from|import) stub\.", path.read_text("utf-8"), re.M), path


# What each inner room may import of the others in its room; the files beside them import all.
INNER: dict[str, set[str]] = {
    "stub/grease": set(),
    "stub/request": {"grease"},
    "stub/world": {"grease", "request"},
    "stub/control": {"grease", "request", "world"},
    "stub/console": {"grease", "request", "world", "control"},
    "verify/seen": set(),
    "verify/judges": {"options", "seen"},
    "verify/learn": {"seen"},
    "verify/sources": {"seen", "judges"},
}


def test_imports_of_inner_rooms_run_one_way() -> None:
    rooms = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/__init__.py")}
    assert {room for room in rooms if not room.startswith("tests/")} == {*INNER}
    for room, others in INNER.items():
        for path in ROOT.glob(f"{room}/*.py"):
            above = re.findall(r"^from \.\.(\w*)", path.read_text("utf-8"), re.M)
            assert {*above} <= others, path


@pytest.mark.process
def test_importing_does_nothing_and_the_service_needs_nothing_around_it() -> None:
    code = (
        "import threading, logging, signal, sys, app\n"
        "assert threading.active_count() == 1\n"
        "assert not logging.getLogger().handlers\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "assert not [name for name, value in vars(app).items() if isinstance(value, app.Flask)]\n"
        "app.create_app()\n"
        "assert not {'stub', 'cli', 'server', 'redis_store'} & {*sys.modules}\n"
    )
    done = finished("-c", code)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
