"""The keys of a world: one namespace, which is in one slot of a cluster."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from records import Stage
from redis_store import connect
from stub.worlds import WorldStore
from tests.redis_server import RedisServer, running_redis
from tests.redis_store.conftest import monitored
from tests.stores import records_of
from tests.wire import free_port

pytestmark = pytest.mark.process


def use_all(store: WorldStore) -> None:
    """Calls each method, the rarer ways included."""
    store.create_project("a", '{"name": "a"}')
    store.add(records_of(1, 2, 3))
    store.add(records_of(1, 4))
    store.put_deployment("d1", (Stage("failed"),), "p2")
    store.put_deployment(None, (Stage("failed"),))
    store.put_deployment("d9", (Stage("failed"),))
    store.put_deployment("d9", (Stage("failed"),), "p1")
    assert len(store.list_projects()) == 5
    assert store.get_deployment("d9") is not None
    assert len(store.records().projects) == 5
    store.remove_projects()
    store.reset(records_of(1))
    store.reset()
    assert store.list_projects() == ()


def test_every_key_is_in_the_namespace_of_its_world(
    shared_redis: RedisServer, redis_stores: Callable[..., WorldStore]
) -> None:
    with monitored(shared_redis) as commands:
        use_all(redis_stores(world="w"))
    keys = re.findall(r'"([^" ]*project-stub:[^" ]*)"', "".join(commands))
    assert len(keys) > 100
    assert {key for key in keys if not key.startswith("{project-stub:w}:")} == set()
    of_scripts = [line for line in commands if " lua] " in line and '"the end"' not in line]
    assert len(of_scripts) > 50
    assert [line for line in of_scripts if "{project-stub:w}:" not in line] == []


@pytest.mark.slow
def test_a_cluster_takes_every_script(tmp_path: Path) -> None:
    """Its nodes reject keys of two slots, and keys that a script did not declare."""
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    with running_redis(tmp_path, *options) as node:
        run: Callable[..., Any] = node.client.execute_command
        run("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while b"cluster_state:ok" not in run("CLUSTER", "INFO"):
            run("WAIT", 1, 50)  # the node itself waits, for no replica
        use_all(connect(node.url, threads=4)(world="w"))
