"""The commands of docs/contract.md: clients that are generated, Redocly, Prism and Schemathesis."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from profiles.contract import build_contract
from profiles.profile import make_profile
from tests.clients.commands import HERE, VARIABLES, documented, link_node_modules, perform
from tests.conftest import ROOT, TOKEN
from tests.contract import CREATED, V1
from tests.docs.documents import execute, leave_out_the_stub
from tests.program import environment, program
from tests.services import DOCUMENTS, FOLDER
from tests.wire import call, free_port

pytestmark = [pytest.mark.process, pytest.mark.slow]

# The commands that make each client, and the short program that works with it.
CLIENTS = {
    "typescript": (
        ["npx redocly lint", "npx openapi-typescript", "npx tsc"],
        ["node", "session.js"],
    ),
    "go": (
        ["openapi-generator-cli generate -i openapi.json -g go", "go build"],
        ["sh", "-c", './session "$0"'],
    ),
    "python": (["openapi-python-client generate", "mypy --strict"], [sys.executable, "session.py"]),
}
SESSION = "3 projects\nsucceeded\n409 name_taken\n404 deployment_not_found\n"
GREASE = ("--grease", "tier1", "--grease-seed", "1")


@pytest.mark.parametrize(
    ("client", "like"), [("typescript", ""), ("go", ""), ("python", ""), ("python", "mild")]
)
def test_a_client_compiles_and_lists_creates_polls_and_takes_errors(
    client: str, like: str, tmp_path: Path
) -> None:
    shutil.copytree(HERE / client, tmp_path, dirs_exist_ok=True)
    contract = (ROOT / "openapi.json").read_bytes()
    if like:
        contract = build_contract(contract, make_profile(DOCUMENTS[like]))
    (tmp_path / "openapi.json").write_bytes(contract)
    commands, session = CLIENTS[client]
    for command in commands:
        perform(documented(command), tmp_path)
    options = ["--like", str(FOLDER / f"{like}.json")] if like else []
    for grease in ((), GREASE):
        with program("--pace", "0.1", *options, *grease) as (_, url):
            assert perform([*session, url], tmp_path) == SESSION


def test_a_generator_reads_the_contract_from_the_program(tmp_path: Path) -> None:
    link_node_modules(tmp_path)
    _, *words = documented("deployment-stub -- ")
    done = execute([sys.executable, str(ROOT / "app.py"), *words], tmp_path, **VARIABLES)
    assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    assert "createProject" in (tmp_path / "schema.d.ts").read_text("utf-8")


def test_prism_takes_valid_traffic_and_rejects_other(tmp_path: Path) -> None:
    leave_out_the_stub(tmp_path)
    link_node_modules(tmp_path)
    port = str(free_port())
    between = f"http://127.0.0.1:{port}"
    with (
        program() as (_, url),
        subprocess.Popen(
            documented("npx prism proxy", ("4010", port), ("http://127.0.0.1:8080", url)),
            cwd=tmp_path,
            env=environment(VARIABLES),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # npx has a child
        ) as process,
    ):
        assert process.stdout
        try:
            assert any("is listening" in line for line in process.stdout)
            assert call(between, "/v1/projects").status_code == 200
            shop = b'{"name": "shop"}'
            assert call(between, "/v1/projects", body=shop).status_code == CREATED
            # Prism writes the headers of an error anew.
            assert call(between, "/v1/projects", body=shop).json["code"] == "name_taken"
            rejected = call(between, "/v1/projects", body=b'{"name": " "}')
            assert (rejected.status_code, rejected.json["title"]) == (422, "Invalid request")
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_schemathesis_holds_a_service_against_the_contract(tmp_path: Path) -> None:
    leave_out_the_stub(tmp_path)
    with program("--pace", "0") as (_, url):
        values = [("https://service.example", url), ("$TOKEN", TOKEN)]
        command = documented("schemathesis run", *values)
        assert "No issues found" in perform([*command, "--max-examples", "2"], tmp_path)


def test_the_pattern_of_a_name_takes_no_blank_name_in_ecmascript(tmp_path: Path) -> None:
    pattern = V1.components["schemas"]["ProjectInput"]["properties"]["name"]["pattern"]
    names = ["\ufeff", " \ufeff", "\u3000", "a\u0085", "\ufeffa", "\u200b"]
    script = f"console.log({json.dumps(names)}.map((name) => /{pattern}/u.test(name)).join())"
    assert perform(["node", "-e", script], tmp_path) == "false,false,false,false,true,true\n"
