"""How the code is laid out: imports run one way, and importing a module does nothing."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted([*ROOT.glob("*.py"), *ROOT.glob("stub/*.py"), *ROOT.glob("server/*.py")])
MAY_IMPORT: dict[str, set[str]] = {
    "store": set(),
    "redaction": set(),
    "problems": {"flask", "werkzeug"},
    "speedups": {"flask", "werkzeug"},
    "strict_json": {"flask", "problems"},
    "validation": {"problems"},
    "auth": {"flask", "problems"},
    "server": {"waitress"},
    "stub": {"flask", "werkzeug", "problems", "redaction", "store", "strict_json", "validation"},
    "cli": {"click", "flask", "auth", "redaction", "server", "store", "stub"},
}
MAY_IMPORT["app"] = {"flask", "werkzeug", "cli", *MAY_IMPORT} - {"server"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("" if node.level else str(node.module).split(".")[0])
    return found - {"", *sys.stdlib_module_names, "_typeshed"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports_run_one_way(path: Path) -> None:
    module = path.stem if path.parent == ROOT else path.parent.name
    assert imported(path) <= MAY_IMPORT[module]


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


def test_ci_calls_the_very_test_command_of_the_readme() -> None:
    blocks = re.findall(r"```sh\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (command,) = [block for block in blocks if "-m pytest" in block]
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text("utf-8")
