"""The load balancer of docs/scale.md, which spreads worlds over processes."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from app import create_app
from server import Server
from tests.conftest import SAMPLE_NAMES, SAMPLE_SEED
from tests.docs.conftest import StartNginx
from tests.docs.documents import blocks_of
from tests.live import running
from tests.wire import call

WORLDS = [f"w{number}" for number in range(100)]

pytestmark = pytest.mark.process


class Cluster(NamedTuple):
    url: str  # of the load balancer
    urls: list[str]  # of the servers
    servers: list[Server]


@pytest.fixture
def cluster(tmp_path: Path, start_nginx: StartNginx) -> Iterator[Cluster]:
    with ExitStack() as stack:
        apps = [create_app(seed=SAMPLE_SEED) for _ in range(4)]
        servers = [stack.enter_context(running(app)) for app in apps]
        (block,) = (text for kind, text in blocks_of("docs/scale.md") if kind == "nginx")
        for number, server in enumerate(servers, 8081):
            block = block.replace(f"127.0.0.1:{number}", f"127.0.0.1:{server.effective_port}")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {kind};\n" for kind in kinds)
        block = block.replace("http {", f"http {{\naccess_log off;\n{paths}", 1)

        def configuration(port: int) -> str:
            return "pid pid;\n" + block.replace("listen 127.0.0.1:8080", f"listen 127.0.0.1:{port}")

        url = f"http://127.0.0.1:{start_nginx(tmp_path, configuration)}"
        yield Cluster(url, [f"http://127.0.0.1:{each.effective_port}" for each in servers], servers)


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

    cluster.servers[0].close()
    for world in WORLDS:
        expected = SAMPLE_NAMES if homes[world] == [0] else [*SAMPLE_NAMES, world]
        assert names_in(cluster.url, world) == expected
