"""docs/development.md is true: its servers serve the service alone, and its store keeps records."""

import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT, eventually
from tests.contract import CREATED
from tests.docs.documents import blocks_of
from tests.program import process
from tests.wire import call, free_port

pytestmark = pytest.mark.process

PORT = "8080"
COMMANDS = [text for kind, text in blocks_of("docs/development.md") if kind == "sh"]
SERVERS = [text for text in COMMANDS if PORT in text and " -- " not in text]


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def serving(command: str, folder: Path) -> Iterator[str]:
    """The URL of the server that a command of the document starts in a folder."""
    port = free_port()
    text = command.removeprefix("PYTHONPATH=. ").removeprefix(".venv/bin/")
    text = text.replace(PORT, str(port)).replace("docs/", f"{ROOT}/docs/")
    name, *args = shlex.split(text)
    script = Path(sys.executable).with_name(name)  # where pip has put it
    with process(str(script), *args, cwd=folder, env={"PYTHONPATH": str(ROOT)}):
        eventually(lambda: is_listening(port))
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("command", SERVERS)
def test_a_server_serves_the_service_alone(command: str, tmp_path: Path) -> None:
    with serving(command, tmp_path) as url:
        assert call(url, "/v1/projects").json == {"projects": []}
        created = call(url, "/v1/projects", body=b'{"name": "shop"}')
        assert created.status_code == CREATED
        assert call(url, "/v1/projects").json == {"projects": [created.json]}
        assert call(url, "/v1/projects", body=b'{"name": "shop"}').json["code"] == "name_taken"
        deployment = call(url, f"/v1/deployments/{created.json['latest_deployment_id']}")
        assert deployment.json["status"] == "queued"
        assert call(url, "/openapi.json").status_code == 200
        for path in ("/_stub/health", "/v1//projects", "/"):
            assert call(url, path).json["code"] == "not_found"
            assert call(url, path, token="wrong").json["code"] == "token_invalid"


def test_a_store_on_sqlite_keeps_its_records(tmp_path: Path) -> None:
    (command,) = [each for each in SERVERS if "sqlite" in each]
    with serving(command, tmp_path) as url:
        created = call(url, "/v1/projects", body=b'{"name": "shop"}').json
    with serving(command, tmp_path) as url:
        assert call(url, "/v1/projects").json == {"projects": [created]}
