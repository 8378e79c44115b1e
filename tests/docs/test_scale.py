"""docs/scale.md is true: one stub for many teams, from the first command to the upgrade."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT, needs
from tests.docs.documents import blocks_of, execute
from tests.program import Process, process, ready_url
from tests.redis_server import RedisServer
from tests.wire import call

pytestmark = pytest.mark.process

NAME = "docs/scale.md"
COMMANDS = [
    line[2:]
    for kind, text in blocks_of(NAME)
    if kind == "console"
    for line in text.splitlines()
    if line.startswith("$ ")
]
PROGRAM = ".venv/bin/python app.py "


class Site(NamedTuple):
    """The program of the page, as it runs in a folder."""

    folder: Path
    program: Process
    url: str

    def shell(self, *commands: str, **variables: str) -> str:
        """What commands of the page print."""
        script = "\n".join(["set -e", *commands]).replace("http://127.0.0.1:8080", self.url)
        done = execute(["sh", "-c", script], self.folder, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def token(self, team: str) -> str:
        text = (self.folder / "tokens").read_text("utf-8")
        tokens: dict[str, str] = dict(re.findall("^(.+)=(.+)$", text, re.MULTILINE))
        return tokens[team]


def command_with(text: str, number: int = 0) -> str:
    return [each for each in COMMANDS if text in each][number]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    needs("curl", "openssl")
    assert execute(["sh", "-c", command_with("openssl")], tmp_path).returncode == 0
    options = command_with(PROGRAM).removeprefix(PROGRAM).split()
    words = [str(ROOT / "app.py"), "--port", "0", *options]
    with process(*words, cwd=tmp_path) as program:
        yield Site(tmp_path, program, ready_url(program))


def test_two_teams_share_a_program_and_nothing_but_what_they_move(site: Site) -> None:
    assert (site.folder / "tokens").stat().st_mode & 0o077 == 0
    listed = site.shell(command_with("TOKEN=$(sed"), command_with("/v1/projects"))
    assert len(json.loads(listed)["projects"]) == 3
    call(site.url, "/v1/projects", token=f"{site.token('checkout')}.job-1", body=b'{"name": "a"}')
    other = call(site.url, "/v1/projects", token=f"{site.token('search')}.job-1")
    assert len(other.json["projects"]) == 3
    moving = [command_with("state.json", number) for number in range(2)]
    site.shell(*moving, TOKEN=site.token("search"), OLD_TOKEN=site.token("checkout"))
    moved = call(site.url, "/v1/projects", token=f"{site.token('search')}.job-1")
    assert len(moved.json["projects"]) == 4
    free = command_with("idle=600").replace("idle=600", "idle=0")
    site.shell(command_with("TOKEN=$(sed"), free)
    worlds = call(site.url, "/_stub/worlds", token=site.token("checkout")).json["worlds"]
    assert [each["name"] for each in worlds] == [""]
    lines = (site.folder / "requests.jsonl").read_text("utf-8").splitlines()
    shown = [(each["tenant"], each["world"]) for each in map(json.loads, lines[:3])]
    assert shown == [("checkout", "job-1"), ("checkout", "job-1"), ("search", "job-1")]


def test_the_keys_of_an_earlier_version_are_deleted(
    shared_redis: RedisServer, tmp_path: Path
) -> None:
    needs("redis-cli")
    shared_redis.clear()
    for key in ("{project-stub:}:state", "{project-stub:team-a/job 1}:index", "project-stub:new"):
        shared_redis.client.set(key, "")
    command = command_with("UNLINK").replace("HOST", "127.0.0.1")
    command = command.replace("PORT", str(shared_redis.port))
    assert execute(["sh", "-c", command], tmp_path).returncode == 0
    assert shared_redis.client.keys() == [b"project-stub:new"]
