"""Generators make clients of openapi.json that compile, and that a short program works with.

The commands are those of docs/contract.md.
"""

import shutil
import sys
from pathlib import Path

import pytest

from tests.clients.commands import HERE, documented, link_node_modules, perform
from tests.conftest import ROOT, needs
from tests.program import program

pytestmark = [pytest.mark.process, pytest.mark.slow]

SESSION = "3 projects\nsucceeded\n409 name_taken\n404 deployment_not_found\n"


def python_client(folder: Path) -> list[str]:
    perform(documented("openapi-python-client generate"), folder)
    perform(documented("mypy --strict"), folder)
    return [sys.executable, "session.py"]


def typescript_client(folder: Path) -> list[str]:
    link_node_modules(folder)
    perform(documented("npx openapi-typescript"), folder)
    perform(documented("npx tsc"), folder)
    return ["node", "session.js"]


def go_client(folder: Path) -> list[str]:
    needs("java", "go")  # openapi-generator-cli runs on the first
    perform(documented("openapi-generator-cli generate -i openapi.json -g go"), folder)
    perform(documented("go build"), folder)
    return [str(folder / "session")]


CLIENTS = {"typescript": typescript_client, "go": go_client}
if sys.version_info >= (3, 11):  # which its generator needs
    CLIENTS["python"] = python_client


@pytest.fixture(scope="module", params=CLIENTS)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the program with a generated client, which was compiled."""
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(HERE / request.param, folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "openapi.json", folder)
    command = CLIENTS[request.param](folder)
    return [str(folder / part) if part.startswith("session.") else part for part in command]


@pytest.mark.parametrize("grease", [(), *(("--grease-seed", str(seed)) for seed in range(4))])
def test_a_program_lists_creates_polls_and_takes_errors(
    session: list[str], grease: tuple[str, ...], tmp_path: Path
) -> None:
    options = ["--grease", "tier1", *grease] if grease else []
    with program("--pace", "0.1", *options) as (_, url):
        assert perform([*session, url], tmp_path) == SESSION
