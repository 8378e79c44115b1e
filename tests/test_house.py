"""How the code is laid out: imports run one way, files are short, and importing does nothing."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

BESIDE = {"tests", "docs", "bench", "tools"}  # folders that are no part of the program
PACKAGES = sorted({path.parent.name for path in ROOT.glob("[!.]*/*.py")} - BESIDE)
MODULES = sorted(
    [*ROOT.glob("*.py"), *(path for each in PACKAGES for path in ROOT.glob(f"{each}/**/*.py"))]
)
TESTS = sorted(path for path in ROOT.glob("tests/**/*.py") if "node_modules" not in path.parts)

TEST_FILES = [path for path in TESTS if path.name.startswith("test_")]

# What each module or package may import besides the standard library and itself. The layout in
# docs/development.md describes each; tools/build_pyz.py names the packages.
MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "store": {"records"},
    "web": {"flask", "werkzeug", "records"},
    "auth": {"flask", "web"},
    "server": {"waitress"},
    "redis_store": {"redis", "records", "store"},
    "stub": {"flask", "werkzeug", "records", "store", "web"},
}
MAY_IMPORT["cli"] = {*MAY_IMPORT, "click", "flask"}
MAY_IMPORT["app"] = {"flask", "auth", "records", "store", "web", "stub", "cli"}
# A test file that imports one of these modules, or uses one of these fixtures, is marked `process`.
PROCESSES = {
    "tests.cli.conftest",
    "playwright",
    "pty",
    "socket",
    "subprocess",
    "tests.live",
    "tests.program",
    "tests.redis_server",
    "tests.verify.service",
    "tests.verify.verified",
    "tests.wire",
}
PROCESS_FIXTURES = {"live_url", "redis_stores", "shared_redis"}
SERVER_ORDER = [
    "settings",
    "problems",
    "head",
    "parser",
    "responses",
    "connection",
    "listen",
    "loop",
    "__init__",
]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


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
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
    return found - {*sys.stdlib_module_names, "_typeshed"}


def siblings(path: Path) -> set[str]:
    """The files of its own package that a file imports when it runs."""
    tree = tree_of(path)
    skipped = in_type_checking(tree)
    return {
        str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level and node not in skipped
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    module = path.relative_to(ROOT).with_suffix("").parts[0]
    assert module in MAY_IMPORT, (
        f"{module} is new: add to MAY_IMPORT in tests/test_house.py what it may import, add it to "
        "what its users may import, and describe it in the layout of docs/development.md; if it "
        "is a package, name it in tools/build_pyz.py"
    )
    more = imported(path) - MAY_IMPORT[module]
    assert not more, (
        f"{path.relative_to(ROOT)} imports {', '.join(sorted(more))}: do without, or, if no import "
        "runs the other way, add it to MAY_IMPORT in tests/test_house.py"
    )


@pytest.mark.parametrize("path", sorted(ROOT.glob("server/*.py")), ids=lambda path: path.name)
def test_a_file_of_the_server_imports_only_those_before_it(path: Path) -> None:
    assert path.stem in SERVER_ORDER, (
        f"server/{path.name} is new: add it to SERVER_ORDER in tests/test_house.py after the files "
        "that it imports, and name it in the layout of docs/development.md"
    )
    assert siblings(path) <= {*SERVER_ORDER[: SERVER_ORDER.index(path.stem)]}


@pytest.mark.parametrize(
    ("paths", "lines"),
    [(sorted(ROOT.glob("server/*.py")), 180), (TESTS, 400)],
    ids=["server", "tests"],
)
def test_files_are_short(paths: list[Path], lines: int) -> None:
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in paths}
    assert {name: length for name, length in lengths.items() if length > lines} == {}


def views() -> list[ast.FunctionDef]:
    """The views of /v1."""
    return [
        node
        for node in tree_of(ROOT / "app.py").body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).startswith("v1.") for each in node.decorator_list)
    ]


def test_the_app_is_short_besides_its_views() -> None:
    lines = len((ROOT / "app.py").read_text("utf-8").splitlines())
    with_decorator_and_two_empty_lines = 4
    for view in views():
        assert view.end_lineno
        lines -= view.end_lineno - view.lineno + with_decorator_and_two_empty_lines
    assert lines <= 165


def test_the_first_view_is_among_the_first_80_lines_of_the_app() -> None:
    assert views()[0].lineno <= 80


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_tests_import_what_a_user_can_see(path: Path) -> None:
    public = {
        "app": {"create_app"},
        "server": {
            "ListenError",
            "RejectedRequest",
            "Server",
            "ServerOptions",
            "create_server",
            "serve",
        },
        "server.parser": {"Parser"},
        "server.problems": {"Rejection"},
        "server.settings": {"Settings", "make_settings"},
        "server.connection": {"Connection"},
        "server.listen": {"connection_limit", "raise_file_limit"},
        "stub.worlds": {"WorldStore"},
        "stub": {
            "RejectedRequest",
            "Stub",
            "StubOptions",
        },
        "stub.seed": {"SAMPLE", "Seed", "parse_seed", "read_seed"},
    }
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            names = {name.name for name in node.names}
            package = str(node.module).partition(".")[0]
            assert not {name for name in names if name.startswith("_")}
            if package in ("app", "server", "stub"):
                new = names - public.get(str(node.module), set())
                assert not new, (
                    f"{', '.join(sorted(new))} of {node.module}: use what a user can see, or add "
                    "it to `public` in tests/test_house.py"
                )


def uses(tree: ast.Module, modules: set[str], fixtures: set[str]) -> bool:
    """Whether a file imports one of these modules, or a test of it has one of these fixtures."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name for each in node.names for name in (each.name, top(each.name))}
        elif isinstance(node, ast.ImportFrom):
            package = str(node.module)
            names |= {package, top(package), *(f"{package}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.arg):
            names |= {node.arg} & fixtures
    return bool(names & (modules | fixtures))


def top(name: str) -> str:
    return name.partition(".")[0]


def marks(tree: ast.Module) -> set[str]:
    """The marks of a whole file."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            found = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            return {ast.unparse(each).removeprefix("pytest.mark.") for each in found}
    return set()


def test_a_file_is_marked_if_it_needs_a_process() -> None:
    trees = {str(path.relative_to(ROOT)): tree_of(path) for path in TEST_FILES}
    marked = {name for name, tree in trees.items() if "process" in marks(tree)}
    need_one = {name for name, tree in trees.items() if uses(tree, PROCESSES, PROCESS_FIXTURES)}
    assert need_one - marked == set(), "add pytestmark = pytest.mark.process to these"
    assert marked - need_one == set(), "these need no process: take the mark away"


def test_no_test_sleeps() -> None:
    """What sleeps is the ids of `tests/stores.py`, which widen the window of a race."""
    sleeping = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in TEST_FILES
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep"))
        and ast.unparse(node.args[0]) not in ("0", "0.0001")  # which let other threads run
    }
    assert sleeping == set()
