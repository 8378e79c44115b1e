"""The fixtures for Node, Vitest, Go and JUnit 5, with the tests of a team in teams/."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.commands import link_node_modules
from tests.conftest import ROOT, needs
from tests.docs.documents import execute, files_of, freed_worlds
from tests.program import program

pytestmark = [pytest.mark.process, pytest.mark.slow]

FIXTURES = ROOT / "docs" / "fixtures"
TEAMS = Path(__file__).parent / "teams"
JARS = Path("/usr/share/java")  # of Debian's package junit5


class Team(NamedTuple):
    """How a team runs its tests, and what a test that fails shows of its requests."""

    command: list[str]
    shown: str
    worlds: int


def node(folder: Path) -> Team:
    needs("node")
    shutil.copy(FIXTURES / "stub_fixture.mjs", folder)
    shutil.copy(TEAMS / "shop.test.mjs", folder)
    shown = '#1 POST /v1/projects?page=1 422 invalid_body (/name must not be blank) > {"name": ""}'
    shown += ' < {"type": "about:blank"'
    return Team(["node", "--test", "--test-reporter=spec"], shown, 6)


def vitest(folder: Path) -> Team:
    team = node(folder)
    link_node_modules(folder)
    test = folder / "shop.test.mjs"
    text = test.read_text("utf-8").replace('test from "node:test"', '{ test } from "vitest"')
    test.write_text(text, "utf-8")
    return Team(["node", "node_modules/vitest/vitest.mjs", "run"], team.shown, 6)


def go(folder: Path) -> Team:
    needs("go")
    (folder / "stub").mkdir()
    shutil.copy(FIXTURES / "stub.go", folder / "stub")
    (folder / "go.mod").write_text(files_of("docs/ci.md")["go.mod"], "utf-8")
    shutil.copy(TEAMS / "shop_test.go", folder)
    shown = "#1 POST /v1/projects page=1 422 invalid_body /name must not be blank\n"
    shown += '        > {"name": ""}\n        < {"type": "about:blank"'
    return Team(["go", "test", "-count=1", "./..."], shown, 6)


def junit(folder: Path) -> Team:
    needs("javac", "java")
    if not (JARS / "junit-jupiter-api.jar").exists():
        pytest.skip("junit5 is not installed: `.ci/run --tools` installs it")
    shutil.copy(FIXTURES / "Stub.java", folder)
    shutil.copy(TEAMS / "TeamTest.java", folder)
    (folder / "ShopTest.java").write_text(files_of("docs/ci.md")["ShopTest.java"], "utf-8")
    words = ["javac", "-cp", f"{JARS}/*", "Stub.java", "ShopTest.java", "TeamTest.java"]
    assert execute(words, folder).returncode == 0
    launcher = "org.junit.platform.console.ConsoleLauncher"
    words = ["java", "-cp", f".:{JARS}/*", launcher, "-c", "ShopTest", "-c", "TeamTest"]
    shown = '"status": 422, "code": "invalid_body", "reason": "/name must not be blank"'
    return Team(words, shown, 4)


@pytest.mark.parametrize("make", [node, vitest, go, junit])
def test_a_fixture_gives_each_test_a_world_and_shows_the_requests_of_one_that_fails(
    make: Callable[[Path], Team], tmp_path: Path
) -> None:
    team = make(tmp_path)

    def run(**variables: str) -> tuple[int, str]:
        done = execute(team.command, tmp_path, **variables)
        return done.returncode, done.stdout + done.stderr

    with program("--token", "s3cret") as (started, url):
        named = {"STUB_URL": url, "STUB_TOKEN": "s3cret"}
        status, output = run(**named)
        assert status == 0, output
        status, output = run(**named, FAILING="1")
        assert freed_worlds(started) == team.worlds
    assert status != 0
    assert team.shown in output, output
    assert "must be an integer from 400 to 599" in output
    assert "s3cret" not in output
    # A test without a request may have sent another token.
    assert re.search(r"(none|no request) had the token of |of this test: 0\n", output)
    away = "http://127.0.0.1:1"
    assert away in run(STUB_URL=away, STUB_TOKEN="s3cret")[1]
    # Without a stub the reason is the first that one reads.
    assert "`deployment-stub --" in run()[1]
