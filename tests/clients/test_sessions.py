"""Generators make clients of openapi.json that compile, and that a short program works with.

The commands are those of docs/contract.md.
"""

import shutil
import sys
from pathlib import Path

import pytest

from tests.clients.commands import HERE, documented, perform
from tests.conftest import ROOT
from tests.program import program

pytestmark = [pytest.mark.process, pytest.mark.slow]

SESSION = "3 projects\nsucceeded\n409 name_taken\n404 deployment_not_found\n"


# The commands that make each client, and the program that works with it.
CLIENTS = {
    "typescript": (["npx openapi-typescript", "npx tsc"], ["node", "session.js"]),
    "go": (["openapi-generator-cli generate -i openapi.json -g go", "go build"], ["session"]),
}
if sys.version_info >= (3, 11):  # which its generator needs
    commands = ["openapi-python-client generate", "mypy --strict"]
    CLIENTS["python"] = (commands, [sys.executable, "session.py"])


@pytest.fixture(scope="module", params=CLIENTS)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the program with a generated client, which was compiled."""
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(HERE / request.param, folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "openapi.json", folder)
    commands, words = CLIENTS[request.param]
    for command in commands:
        perform(documented(command), folder)
    return [str(folder / word) if word.startswith("session") else word for word in words]


@pytest.mark.parametrize("grease", [(), *(("--grease-seed", str(seed)) for seed in range(4))])
def test_a_program_lists_creates_polls_and_takes_errors(
    session: list[str], grease: tuple[str, ...], tmp_path: Path
) -> None:
    options = ["--grease", "tier1", *grease] if grease else []
    with program("--pace", "0.1", *options) as (_, url):
        assert perform([*session, url], tmp_path) == SESSION
