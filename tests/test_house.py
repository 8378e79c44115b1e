"""How the code is laid out: imports run one way, files are short, and importing does nothing."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MODULES = sorted([*ROOT.glob("*.py"), *ROOT.glob("stub/*.py"), *ROOT.glob("server/*.py")])
TESTS = sorted(path for path in ROOT.glob("tests/**/*.py") if "node_modules" not in path.parts)

# What each module or package may import besides the standard library and itself.
MAY_IMPORT: dict[str, set[str]] = {
    "store": set(),
    "redis_scripts": set(),
    "redis_store": {"redis", "problems", "redis_scripts", "store"},
    "redaction": set(),
    "terminal": set(),
    "command": set(),
    "options": {"click", "auth", "server", "store", "stub"},
    "startup": set(),
    "routing": {"flask", "werkzeug"},
    "problems": {"flask", "werkzeug"},
    "speedups": {"flask", "werkzeug"},
    "strict_json": {"flask", "problems"},
    "validation": {"problems"},
    "auth": {"flask", "problems"},
    "server": {"waitress"},
    "stub": {"flask", "werkzeug", "problems", "redaction", "store", "strict_json", "validation"},
    "cli": {
        "click",
        "flask",
        "auth",
        "command",
        "options",
        "redaction",
        "redis_store",
        "server",
        "store",
        "stub",
        "terminal",
    },
}
MAY_IMPORT["app"] = {*MAY_IMPORT, "flask", "werkzeug"} - {"server", "redis_store"}
SERVER_ORDER = [
    "settings",
    "problems",
    "head",
    "parser",
    "responses",
    "connection",
    "dispatcher",
    "listen",
    "loop",
    "__init__",
]


def in_type_checking(tree: ast.Module) -> set[ast.AST]:
    """The nodes under `if TYPE_CHECKING:`, which do not run."""
    return {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports, but for the standard library."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
    return found - {*sys.stdlib_module_names, "_typeshed"}


def siblings(path: Path) -> set[str]:
    """The files of its own package that a file imports when it runs."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = in_type_checking(tree)
    return {
        str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level and node not in skipped
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    module = path.stem if path.parent == ROOT else path.parent.name
    assert imported(path) <= MAY_IMPORT[module]


@pytest.mark.parametrize("path", sorted(ROOT.glob("server/*.py")), ids=lambda path: path.name)
def test_a_file_of_the_server_imports_only_those_before_it(path: Path) -> None:
    assert siblings(path) <= {*SERVER_ORDER[: SERVER_ORDER.index(path.stem)]}


@pytest.mark.parametrize(
    ("paths", "lines"),
    [([ROOT / "app.py"], 150), (sorted(ROOT.glob("server/*.py")), 180), (TESTS, 400)],
    ids=["app.py", "server", "tests"],
)
def test_files_are_short(paths: list[Path], lines: int) -> None:
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in paths}
    assert {name: length for name, length in lengths.items() if length > lines} == {}


def test_the_first_view_is_among_the_first_80_lines_of_the_app() -> None:
    tree = ast.parse((ROOT / "app.py").read_text("utf-8"))
    views = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).startswith("v1.get(") for each in node.decorator_list)
    ]
    assert views[0].lineno <= 80


@pytest.mark.parametrize(
    "path", [path for path in TESTS if path.name != "test_docs.py"], ids=lambda path: path.stem
)
def test_tests_import_what_a_user_can_see(path: Path) -> None:
    public = {
        "app": {"create_app"},
        "server": {"ListenError", "Options", "Server", "create_server", "serve"},
        "stub": {"Options", "count_rejection", "judge"},
        "stub.seed": {"SAMPLE", "Seed", "parse_seed", "read_seed"},
    }
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = {name.name for name in node.names}
            package = str(node.module).partition(".")[0]
            assert not {name for name in names if name.startswith("_")}
            if package in ("app", "server", "stub"):
                assert names <= public[str(node.module)]


def test_importing_does_nothing() -> None:
    code = (
        "import threading, logging, signal, app\n"
        "assert threading.active_count() == 1\n"
        "assert not logging.getLogger().handlers\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "assert not [name for name, value in vars(app).items() if isinstance(value, app.Flask)]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    blocks = re.findall(r"```sh\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (command,) = [block for block in blocks if "-m pytest" in block]
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text("utf-8")
