"""Generators make clients of openapi.json that compile, and that a short program works with.

The commands are those of docs/contract.md.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.clients.commands import HERE, documented, perform
from tests.conftest import ROOT
from tests.program import program
from tests.stub.like import LIKE
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.slow]

SESSION = "3 projects\nsucceeded\n409 name_taken\n404 deployment_not_found\n"

# A profile whose deployments the programs understand. A generator takes text/json as a text.
MILD = {name: form for name, form in LIKE.items() if name != "statuses"} | {
    "members": {**LIKE["members"], "deployment": {"added": {"url": "null"}, "absent": []}},
    "media_types": {**LIKE["media_types"], "problem": "application/json"},
}
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
    contract = (ROOT / "openapi.json").read_bytes()
    return make(request.param, contract, tmp_path_factory.mktemp(request.param))


def make(client: str, contract: bytes, folder: Path) -> list[str]:
    shutil.copytree(HERE / client, folder, dirs_exist_ok=True)
    (folder / "openapi.json").write_bytes(contract)
    commands, words = CLIENTS[client]
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


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_the_contract_that_a_profile_changes_works(client: str, tmp_path: Path) -> None:
    (tmp_path / "like.json").write_text(json.dumps(MILD), "utf-8")
    with program("--pace", "0.1", "--like", str(tmp_path / "like.json")) as (_, url):
        session = make(client, call(url, "/openapi.json").data, tmp_path / client)
        perform(documented("npx redocly lint"), tmp_path / client)
        assert perform([*session, url], tmp_path) == SESSION
