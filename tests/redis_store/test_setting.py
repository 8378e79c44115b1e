"""What keeps the setting of a clock, in memory and on Redis."""

import pytest

from redis_store import connect
from store import StoreUnavailable
from stub.clock import MemorySetting, SettingStore
from tests.redis_server import RedisServer

pytestmark = pytest.mark.process


@pytest.fixture(params=["in memory", "on Redis"])
def setting(request: pytest.FixtureRequest) -> SettingStore:
    if request.param == "in memory":
        return MemorySetting()
    server: RedisServer = request.getfixturevalue("shared_redis")
    server.client.flushall()
    return connect(server.url, threads=4).setting("w")


def test_a_setting_is_replaced_by_who_knows_it(setting: SettingStore) -> None:
    assert setting.read() == ""
    assert setting.swap("", "a")
    assert not setting.swap("", "b")
    assert setting.read() == "a"
    assert setting.swap("a", "a")
    assert setting.swap("a", "b")
    setting.ping()
    assert setting.read() == "b"


def test_a_setting_of_a_world_is_not_that_of_another(shared_redis: RedisServer) -> None:
    shared_redis.client.flushall()
    stores = connect(shared_redis.url, threads=4)
    assert stores.setting("w").swap("", "a")
    assert stores.setting("v").read() == ""
    assert stores.setting("w").read() == "a"


def test_a_world_whose_clock_was_set_first_begins_with_its_records(
    shared_redis: RedisServer,
) -> None:
    shared_redis.client.flushall()
    stores = connect(shared_redis.url, threads=4)
    assert stores.setting("w").swap("", "a")
    store = stores(world="w")
    assert store.create_project("x", '{"name": "x"}').name == "x"
    assert stores.setting("w").read() == "a"
    store.reset()
    assert stores.setting("w").read() == ""


def test_a_setting_on_a_full_server_is_not_ready(shared_redis: RedisServer) -> None:
    setting = connect(shared_redis.url, threads=4).setting("w")
    shared_redis.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailable):
            setting.ping()
    finally:
        shared_redis.client.config_set("maxmemory", 0)
