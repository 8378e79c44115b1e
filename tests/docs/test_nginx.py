"""The load balancer of docs/scale.md, which spreads worlds over processes."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from app import create_app
from server import Server
from tests.conftest import ROOT, SAMPLE_NAMES, SAMPLE_SEED, needs
from tests.live import running
from tests.wire import call

WORLDS = [f"w{number}" for number in range(100)]

pytestmark = pytest.mark.process


@dataclass
class Cluster:
    url: str  # of the load balancer
    urls: list[str]  # of the servers
    servers: list[Server]


def configuration(folder: Path, port: int, urls: list[str]) -> str:
    """That of the documentation, with free ports, and with temporary files in the folder."""
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    (block,) = re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)
    for number, url in enumerate(urls, 8081):
        block = block.replace(f"127.0.0.1:{number}", url.removeprefix("http://"))
    block = block.replace("listen 127.0.0.1:8080", f"listen 127.0.0.1:{port}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f'{kind}_temp_path "{folder}/{kind}";\n' for kind in kinds)
    return str(block.replace("http {", f"http {{\naccess_log off;\n{paths}", 1))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    needs("nginx")
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    with ExitStack() as stack:
        apps = [create_app(seed=SAMPLE_SEED) for _ in range(4)]
        servers = [stack.enter_context(running(app)) for app in apps]
        urls = [f"http://127.0.0.1:{server.effective_port}" for server in servers]
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
        port, descriptor = listener.getsockname()[1], listener.fileno()
        file = tmp_path / "nginx.conf"
        file.write_text(configuration(tmp_path, port, urls), "utf-8")
        own = f'daemon off; pid "{tmp_path}/pid"; error_log "{tmp_path}/log";'
        command = [str(nginx), "-p", str(tmp_path), "-e", f"{tmp_path}/log", "-c", str(file)]
        process = stack.enter_context(
            subprocess.Popen(
                [*command, "-g", own],
                env={"NGINX": f"{descriptor};"},  # takes over a socket that listens
                pass_fds=[descriptor],
                stderr=subprocess.DEVNULL,  # it says so
            )
        )
        stack.callback(process.terminate)
        yield Cluster(f"http://127.0.0.1:{port}", urls, servers)


def names_in(url: str, world: str) -> list[str]:
    response = call(url, "/v1/projects", token=f"dev-token.{world}")
    assert response.status_code == 200
    return [project["name"] for project in response.json["projects"]]


def test_each_world_has_one_process_and_loses_its_records_with_it_alone(cluster: Cluster) -> None:
    for world in WORLDS:
        body = json.dumps({"name": world}).encode()
        made = call(cluster.url, "/v1/projects", body=body, token=f"dev-token.{world}")
        assert made.status_code == 201

    homes = {
        world: [at for at, url in enumerate(cluster.urls) if world in names_in(url, world)]
        for world in WORLDS
    }
    assert {len(found) for found in homes.values()} == {1}
    shares = [sum(found == [at] for found in homes.values()) for at in range(4)]
    assert max(shares) <= 2 * len(WORLDS) / 4
    for world in WORLDS:
        assert names_in(cluster.url, world) == [*SAMPLE_NAMES, world]

    cluster.servers[0].close()
    for world in WORLDS:
        expected = SAMPLE_NAMES if homes[world] == [0] else [*SAMPLE_NAMES, world]
        assert names_in(cluster.url, world) == expected
