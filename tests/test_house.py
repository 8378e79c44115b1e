"""Imports run one way, and importing does nothing."""

import ast
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.program import finished

pytestmark = pytest.mark.process

# What each module or package may import besides the standard library and itself.
MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "store": {"records"},
    "web": {"flask", "werkzeug", "records"},
    "auth": {"flask", "store", "web"},
    "app": {"flask", "auth", "store", "web"},
    "server": {"waitress"},
    "profiles": {"flask", "werkzeug", "records", "store", "web"},
    "stub": {"flask", "werkzeug", "app", "auth", "profiles", "records", "store", "web"},
    "verify": {"flask", "werkzeug", "app", "profiles", "records", "store", "stub", "web"},
    "redis_store": {"redis", "records", "store", "stub"},
}
MAY_IMPORT["cli"] = {*MAY_IMPORT, "click", "flask"}
MAY_IMPORT["deployment_stub"] = {"cli", "stub", "pytest"}
# In server/ each file may import those before it.
SERVER = ["options", "addresses", "protocol", "loop"]


def is_program(node: ast.AST) -> bool:
    """Whether a statement is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def imported(path: Path, *, relative: bool) -> set[str]:
    """The modules that a file imports, of its package, or of others: at any place in it but in what
    runs only if the file is the program.
    """
    found = set()
    module = ast.parse(path.read_text("utf-8"))
    module.body = [each for each in module.body if not is_program(each)]
    for node in ast.walk(module):
        if isinstance(node, ast.Import) and not relative:
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and bool(node.level) == relative:
            found.add(str(node.module).partition(".")[0])
    return found - {*sys.stdlib_module_names, "_typeshed"}


def test_each_module_at_the_root_has_a_place() -> None:
    found = {path.stem for path in ROOT.glob("*.py")}
    found |= {path.parent.name for path in ROOT.glob("*/__init__.py")}
    others = {"tests", "tools", "bench", "stub_fixture"}  # the last as README copies it
    for name in found - others - {*MAY_IMPORT}:
        pytest.fail(
            f"{name} is new: add it to MAY_IMPORT with what it may import, to the packages of "
            "pyproject.toml, and to the layout in docs/development.md"
        )


def test_imports_run_one_way() -> None:
    for name, others in MAY_IMPORT.items():
        paths = [*ROOT.glob(f"{name}.py"), *ROOT.glob(f"{name}/**/*.py")]
        assert paths
        for path in paths:
            assert imported(path, relative=False) <= {name, *others}, path
    for path in ROOT.glob("server/[!_]*.py"):
        assert imported(path, relative=True) <= {*SERVER[: SERVER.index(path.stem)]}, path


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
