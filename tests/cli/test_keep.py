"""--keep: the records of the main world go on in the next run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.program import WITHOUT_FILES, finished, not_started, run
from tests.wire import call

pytestmark = pytest.mark.process

SEED = '{"projects": [{"name": "of the seed"}]}'
FROZEN = ("--ids-seed", "1", "--freeze", "2026-01-05T09:00:00Z")
# Sends itself a signal before the file takes its place.
INTERRUPTED = """
import os, signal, sys
from cli.main import main
from stub import create_stub

def interrupt(event, args):
    if event == "os.rename":
        signal.raise_signal(signal.SIGINT)

sys.addaudithook(interrupt)
sys.exit(main(create_stub, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "desk.json"


def create(url: str, name: str, token: str = "dev-token") -> Any:
    body = json.dumps({"name": name, "extra": [1.50]}).encode()
    return call(url, "/v1/projects", body=body, token=token).json


def read(url: str) -> bytes:
    return call(url, "/v1/projects").data


def test_the_records_of_the_main_world_go_on(tmp_path: Path, file: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(SEED)
    tokens = ("--token", "dev-token", "--token", "team=other")
    options = ("--seed", str(seed), "--keep", str(file), *tokens, *FROZEN)

    def work(url: str) -> bytes:
        create(url, "of the main world")
        create(url, "of a named world", "dev-token.job")
        return read(url)

    done = run(*options, during=work)
    assert "the records are those of" not in done.stderr
    listed = [each["name"] for each in json.loads(done.result)["projects"]]
    assert listed == ["of the seed", "of the main world"]
    assert file.stat().st_mode & 0o777 == 0o600
    kept = file.read_text("utf-8")
    next_day = run(*options, during=read)
    assert f"\nthe records are those of {file}\n" in next_day.stderr
    assert next_day.result == done.result
    assert file.read_text("utf-8") == kept
    assert {*tmp_path.iterdir()} == {seed, file}


def test_a_deployment_goes_on_where_it_was(file: Path) -> None:
    def begin(url: str) -> str:
        created = create(url, "a")
        call(url, "/_stub/clock", body=b'{"advance": 70}')
        return f"/v1/deployments/{created['latest_deployment_id']}"

    path = run("--keep", str(file), "--pace", "60", *FROZEN, during=begin).result

    def status_after(url: str, seconds: int) -> Any:
        call(url, "/_stub/clock", body=b'{"advance": %d}' % seconds)
        return call(url, path).json["status"]

    def go_on(url: str) -> list[Any]:
        return [call(url, path).json["status"], status_after(url, 49), status_after(url, 1)]

    done = run("--keep", str(file), *FROZEN, during=go_on)
    assert done.result == ["building", "building", "succeeded"]


def test_it_is_written_beside_a_command_also_if_that_fails(file: Path) -> None:
    assert run("--empty", "--keep", str(file), "--", "sh", "-c", "exit 3").status == 3
    assert json.loads(file.read_text("utf-8")) == {"projects": [], "deployments": []}


def test_an_invalid_file_stays_as_it_is(file: Path) -> None:
    file.write_text("{")
    assert not_started("--keep", str(file)).startswith(f"error: {file}: ")
    assert file.read_text() == "{"


# What comes while the file is written, the status, and what is said.
BROKEN_OFF = [
    (["-c", INTERRUPTED], 130, ""),
    (["-c", WITHOUT_FILES, "app.py"], 2, "File too large.\n"),
]


@pytest.mark.parametrize(("words", "status", "said"), BROKEN_OFF)
def test_a_signal_or_a_full_disk_leaves_the_earlier_file(
    tmp_path: Path, file: Path, words: list[str], status: int, said: str
) -> None:
    file.write_text(SEED)
    done = finished(*words, "--keep", str(file), "--", "true")
    assert (done.status, said in done.stderr) == (status, True)
    assert [each.read_text() for each in tmp_path.iterdir()] == [SEED]
