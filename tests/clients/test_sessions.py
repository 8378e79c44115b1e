"""Generators make clients of openapi.json that compile, and that a short program works with.

So they do of the contract that a profile changes. The commands are those of docs/contract.md.
"""

import shutil
import sys
from pathlib import Path

import pytest

from profiles.contract import observed
from profiles.profile import make_profile
from tests.clients.commands import HERE, documented, perform
from tests.conftest import ROOT
from tests.program import program
from tests.services import DOCUMENTS, FOLDER

pytestmark = [pytest.mark.process, pytest.mark.slow]

SESSION = "3 projects\nsucceeded\n409 name_taken\n404 deployment_not_found\n"


# The commands that make each client, and the program that works with it.
CLIENTS = {
    "typescript": (
        ["npx redocly lint", "npx openapi-typescript", "npx tsc"],
        ["node", "session.js"],
    ),
    "go": (["openapi-generator-cli generate -i openapi.json -g go", "go build"], ["session"]),
    "python": (
        ["openapi-python-client generate", "mypy --strict"],
        [sys.executable, "session.py"],
    ),
}


@pytest.fixture(scope="module", params=[(each, like) for each in CLIENTS for like in ("", "mild")])
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], list[str]]:
    """The command that runs the program with a generated client, and the options of the stub."""
    client, like = request.param
    folder = tmp_path_factory.mktemp(client)
    shutil.copytree(HERE / client, folder, dirs_exist_ok=True)
    profile = make_profile(DOCUMENTS[like]) if like else None
    contract = observed((ROOT / "openapi.json").read_bytes(), profile)
    (folder / "openapi.json").write_bytes(contract)
    commands, words = CLIENTS[client]
    for command in commands:
        perform(documented(command), folder)
    words = [str(folder / word) if word.startswith("session") else word for word in words]
    return words, ["--like", str(FOLDER / f"{like}.json")] if like else []


@pytest.mark.parametrize("grease", [(), ("--grease-seed", "1")])
def test_a_program_lists_creates_polls_and_takes_errors(
    session: tuple[list[str], list[str]], grease: tuple[str, ...], tmp_path: Path
) -> None:
    words, options = session
    options = [*options, "--grease", "tier1", *grease] if grease else options
    with program("--pace", "0.1", *options) as (_, url):
        assert perform([*words, url], tmp_path) == SESSION
