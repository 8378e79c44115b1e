"""The other commands of docs/contract.md: two generators, a proxy, and Schemathesis."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.commands import ENVIRONMENT, documented, link_node_modules, perform
from tests.conftest import TOKEN, needs
from tests.contract import CREATED, V1
from tests.docs.documents import leave_out_the_stub
from tests.program import program
from tests.wire import call, free_port

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the contract, and with the one of a service that is no stub."""
    leave_out_the_stub(tmp_path)
    return tmp_path


def replaced(command: list[str], values: dict[str, str]) -> list[str]:
    """The command with other values, each of which it must have."""
    for old, new in values.items():
        assert any(old in part for part in command)
        command = [part.replace(old, new) for part in command]
    return command


@pytest.mark.parametrize(
    ("generator", "ending", "shown"),
    [
        ("kotlin", "kt", ["val status: kotlin.String,", "val projectId: kotlin.String?,",
                          "val createdAt: java.time.OffsetDateTime", "HashMap<"]),
        ("swift6", "swift", ["var status: String\n", "var projectId: String?\n",
                             "var createdAt: Date\n", "var additionalProperties: ["]),
    ],
)  # fmt: skip
def test_a_client_is_generated_with_the_types_that_the_page_names(
    generator: str, ending: str, shown: list[str], folder: Path
) -> None:
    perform(documented(f"openapi-generator-cli generate -i openapi.json -g {generator}"), folder)
    (model,) = folder.rglob(f"Deployment.{ending}")
    text = model.read_text("utf-8")
    assert [each for each in shown if each not in text] == []


def test_the_pattern_of_a_name_takes_no_blank_name_in_ecmascript(tmp_path: Path) -> None:
    pattern = V1.components["schemas"]["ProjectInput"]["properties"]["name"]["pattern"]
    names = ["\ufeff", " \ufeff", "\u3000", "a\u0085", "\ufeffa", "\u200b"]
    script = f"console.log({json.dumps(names)}.map((name) => /{pattern}/u.test(name)).join())"
    assert perform(["node", "-e", script], tmp_path) == "false,false,false,false,true,true\n"


@contextmanager
def proxy(url: str, folder: Path) -> Iterator[str]:
    """Prism between a client and the program, and its URL."""
    link_node_modules(folder)
    port = str(free_port())
    command = replaced(documented("npx prism proxy"), {"http://127.0.0.1:8080": url, "4010": port})
    needs(command[0])
    with subprocess.Popen(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # npx has a child
    ) as process:
        assert process.stdout
        try:
            assert any("is listening" in line for line in process.stdout)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_prism_takes_valid_traffic_and_rejects_other(folder: Path) -> None:
    shop = b'{"name": "shop"}'
    with program() as (_, url), proxy(url, folder) as between:
        assert call(between, "/v1/projects").status_code == 200
        assert call(between, "/v1/projects", body=shop).status_code == CREATED
        # Prism writes the headers of an error anew.
        assert call(between, "/v1/projects", body=shop).json["code"] == "name_taken"
        unknown = call(between, "/v1/deployments/a%2Fb")
        assert unknown.json["code"] == "deployment_not_found"
        rejected = call(between, "/v1/projects", body=b'{"name": " "}')
        assert (rejected.status_code, rejected.json["title"]) == (422, "Invalid request")


def test_schemathesis_holds_a_service_against_the_contract(folder: Path) -> None:
    with program("--pace", "0") as (_, url):
        values = {"https://service.example": url, "$TOKEN": TOKEN}
        command = replaced(documented("schemathesis run"), values)
        assert "No issues found" in perform([*command, "--max-examples", "10"], folder)
