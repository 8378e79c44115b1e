"""The fixtures and helpers that tests of every folder share."""

import gc
import itertools
import os
import resource
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from stub import Options, create_stub
from stub.world.ids import MakeId
from stub.world.seed import Seed, make_seed, read_sample
from tests.contract import assert_in_contract
from tests.live import serving

if TYPE_CHECKING:
    from redis_store import RedisStores
    from tests.redis_server import RedisServer

pytest_plugins = ["pytester", "tests.stores"]  # which has fixtures, and imports this file
ROOT = Path(__file__).parent.parent
NODE_MODULES = ROOT / "tests" / "clients" / "node_modules"  # that `npm ci` has made there
JARS = Path("/usr/share/java")  # where Debian has JUnit
# What a test may need beside a tool on PATH.
OTHER_NEEDS: dict[str, Callable[[], bool]] = {
    "node_modules": NODE_MODULES.exists,
    "junit5": (JARS / "junit-jupiter-api.jar").exists,
    "IPv6": socket.has_dualstack_ipv6,
    "root": lambda: os.geteuid() == 0,
}
IN_CI = bool(os.environ.get("CI"))
TOKEN = "dev-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
START = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
SAMPLE_SEED = read_sample()
SAMPLE_NAMES = ["website", "billing", "search"]


def pytest_configure(config: pytest.Config) -> None:
    """Give the programs that tests start the default signals.

    Under nohup, or in the background of a shell, signals are ignored, which a child inherits. A
    handler it does not inherit.
    """
    for each in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(each) is signal.SIG_IGN:
            signal.signal(each, lambda number, frame: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the slow tests begin first, so that no worker ends long before the other."""
    items.sort(key=lambda item: "slow" not in item.keywords)


def pytest_collection_finish() -> None:
    """Look for garbage less often: with all tests in memory the search takes a sixth of a run."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test that is skipped fail where CI is set: there is all that it needs."""
    report = yield
    if report.skipped and IN_CI:
        report.outcome = "failed"
    return report


def needs(*names: str) -> None:
    """Skip a test if this machine lacks a tool, or what else it needs."""
    own = Path(sys.executable).parent  # where pip has put tools
    path = f"{own}:{os.environ['PATH']}:/usr/sbin"  # where Debian has nginx
    for name in names:
        is_there = OTHER_NEEDS[name]() if name in OTHER_NEEDS else shutil.which(name, path=path)
        if not is_there:
            pytest.skip(f"there is no {name} here: .ci/run installs all that the tests need")


def seed_of(document: Any) -> Seed:
    return make_seed(document)


def make_stub(**options: Any) -> Flask:
    """A stub with these options, among which are the collaborators of `create_stub`."""
    names = [name for name in ("clock", "new_id", "sleep") if name in options]
    collaborators = {name: options.pop(name) for name in names}
    return create_stub(Options(**options), **collaborators)


class Clock:
    """A clock that stands still until it is advanced; each look at it may be a step later."""

    def __init__(self, step: float = 0) -> None:
        self.now = START
        self.step = step  # seconds

    def __call__(self) -> datetime:
        self.advance(self.step)
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class CheckedClient(FlaskClient):
    """Checks the responses at paths that begin with `checked` against their contract."""

    checked = ""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        request = response.request
        path = request.environ["REQUEST_URI"].partition("?")[0]
        if path.startswith(self.checked):
            headers = dict(response.headers)
            assert_in_contract(request.method, path, response.status_code, headers, response.data)
        return response


def client_of(app: Flask, authorization: str | None = f"Bearer {TOKEN}") -> CheckedClient:
    client = CheckedClient(app, app.response_class)
    if authorization is not None:
        client.environ_base["HTTP_AUTHORIZATION"] = authorization
    return client


def control_client_of(app: Flask, token: str = TOKEN) -> FlaskClient:
    """A client that may force outcomes of /v1 that the contract lacks."""
    client = client_of(app, f"Bearer {token}")
    client.checked = "/_stub/"
    return client


def counting_ids() -> MakeId:
    counter = itertools.count(1)
    return lambda prefix, *_: f"{prefix}_{next(counter)}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def shared_redis() -> Iterator["RedisServer"]:
    needs("redis-server")
    from tests.redis_server import RedisServer

    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def redis_stores(shared_redis: "RedisServer") -> "RedisStores":
    """The stores on an empty Redis server."""
    from redis_store import RedisStores

    shared_redis.client.flushall()
    return RedisStores(shared_redis.url)


@pytest.fixture(scope="session")
def live_url() -> Iterator[str]:
    """The URL of a server in this process, with the sample; a test uses a world of its own."""
    app = make_stub(seed=SAMPLE_SEED, pace=300)
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def own_token() -> str:
    """A token with a world that no other test uses."""
    return f"{TOKEN}.test-{uuid4()}"


@pytest.fixture
def app(clock: Clock) -> Flask:
    """The service with the sample, a clock that stands still, and ids that count."""
    return make_stub(clock=clock, new_id=counting_ids(), seed=SAMPLE_SEED)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return client_of(app)


@pytest.fixture
def anonymous(app: Flask) -> FlaskClient:
    return client_of(app, None)


@pytest.fixture
def stub(app: Flask) -> FlaskClient:
    return control_client_of(app)


def names(client: FlaskClient) -> list[str]:
    """The names of the projects, as listed."""
    return [project["name"] for project in client.get("/v1/projects").json["projects"]]


def in_parallel(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all at once, each in a thread of its own; return what they return or raise."""
    barrier = threading.Barrier(len(jobs))

    def work(job: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return job()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [*pool.map(work, jobs)]


def pause() -> None:
    """Let other threads go on: the window between two steps is wide."""
    time.sleep(0.001)


class SlowText(str):
    """A text whose look-up takes a while."""

    def __hash__(self) -> int:
        pause()
        return super().__hash__()


def eventually(check: Callable[[], bool]) -> None:
    """Check repeatedly until it is so."""
    deadline = time.monotonic() + 10
    while not check():
        assert time.monotonic() < deadline
        pause()


@contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    """Give this process a limit of its own, as `resource.RLIMIT_FSIZE`."""
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))
