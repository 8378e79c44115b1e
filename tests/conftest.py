"""The fixtures and helpers that tests of every folder share."""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import Phase
from werkzeug.test import TestResponse

from app import create_app
from redis_store import connect
from store import Store
from stub.seed import SAMPLE, Seed, parse_seed, read_seed
from tests.contract import assert_in_contract
from tests.redis_server import PROGRAM, RedisServer

# .ci/run takes the same examples each time, other runs new ones. A busy machine is no failure. To
# explain a failure, Hypothesis would trace each line.
hypothesis.settings.register_profile(
    "suite",
    derandomize="NO_SKIP" in os.environ,
    deadline=None,
    phases=set(Phase) - {Phase.explain},
)
hypothesis.settings.load_profile("suite")

ROOT = Path(__file__).parent.parent
TOKEN = "dev-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
START = datetime(2026, 11, 21, 10, 0, 0, tzinfo=timezone.utc)
SAMPLE_SEED = read_seed(SAMPLE)
SAMPLE_NAMES = ["website", "billing", "search"]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With NO_SKIP, which .ci/run sets, a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and os.environ.get("NO_SKIP"):
        for report in reporter.stats.get("skipped", []):
            reporter.write_line(f"\nNO_SKIP is set: {report.longrepr[-1]}")
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def seed_of(document: Any) -> Seed:
    return parse_seed(json.dumps(document))


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class ControlClient(FlaskClient):
    """Checks responses of the control routes against their contract; may force outcomes of /v1."""

    checked = "/_stub/"

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        path = response.request.environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
        target = response.request.environ["REQUEST_URI"].partition("?")[0]
        path = target if "%2f" in target.lower() else path
        if path.startswith(self.checked):
            assert_in_contract(
                response.request.method,
                path,
                response.status_code,
                dict(response.headers),
                response.data,
            )
        return response


class CheckedClient(ControlClient):
    """Checks every response against its contract."""

    checked = ""


def control_client_of(app: Flask, token: str = TOKEN) -> FlaskClient:
    client = ControlClient(app, app.response_class)
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


def client_of(app: Flask, authorization: str | None = BEARER["Authorization"]) -> FlaskClient:
    client = CheckedClient(app, app.response_class)
    if authorization is not None:
        client.environ_base["HTTP_AUTHORIZATION"] = authorization
    return client


def counting_ids() -> Callable[[str], str]:
    counter = itertools.count(1)
    return lambda prefix: f"{prefix}_{next(counter)}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module", params=["with speedups", "without speedups"])
def both_speeds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs a module's tests twice: `speedups` changes nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without speedups":
            patch.setattr("speedups.install", lambda app: None)
        yield


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if PROGRAM is None:
        pytest.skip("redis-server is not installed")
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.close()


@pytest.fixture
def redis_stores(shared_redis: RedisServer) -> Callable[..., Store]:
    """Makes stores on an empty Redis server."""
    shared_redis.client.flushall()
    return connect(shared_redis.url, threads=16)


@pytest.fixture(params=["in memory", "on Redis"])
def both_stores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test twice: the service behaves the same with any store."""
    if request.param == "on Redis":
        new_store = request.getfixturevalue("redis_stores")
        defaults = create_app.__kwdefaults__
        assert defaults
        monkeypatch.setitem(defaults, "new_store", new_store)


@pytest.fixture
def app(clock: Clock) -> Flask:
    """The service with the sample, a clock that stands still, and ids that count."""
    return create_app(clock=clock, new_id=counting_ids(), seed=SAMPLE_SEED)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return client_of(app)


@pytest.fixture
def anonymous(app: Flask) -> FlaskClient:
    return client_of(app, None)


@pytest.fixture
def stub(app: Flask) -> FlaskClient:
    """A client that may force outcomes."""
    return control_client_of(app)


def names(client: FlaskClient) -> list[str]:
    """The names of the projects, as listed."""
    return [project["name"] for project in client.get("/v1/projects").json["projects"]]


@contextmanager
def unchanged(client: FlaskClient) -> Iterator[None]:
    """What happens inside leaves the list as it was, byte for byte."""
    before = client.get("/v1/projects").data
    yield
    assert client.get("/v1/projects").data == before


def in_parallel(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all at once, each in a thread of its own; return what they return or raise."""
    barrier = threading.Barrier(len(jobs))
    results: list[Any] = [None] * len(jobs)

    def work(index: int) -> None:
        barrier.wait()
        try:
            results[index] = jobs[index]()
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """This process' environment without what would change the program."""
    changing = ("STUB_", "PYTHON", "FLASK_")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    return {**mine, "PYTHONWARNINGS": "error", **(more or {})}


@contextmanager
def program(
    *args: str, env: dict[str, str] | None = None, quiet: bool = True
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The running program on a free port, and its URL."""
    command = [sys.executable, "app.py", "--port", "0", *(["--quiet"] if quiet else []), *args]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process, ready_url(process)
        finally:
            process.kill()


def ready_url(process: "subprocess.Popen[str]") -> str:
    """The URL of a program that has just started: it prints one line when it is ready."""
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith("listening on "), process.communicate()[1]
    return line.split()[-1]


def not_started(*args: str, env: dict[str, str] | None = None) -> str:
    """What a program that does not start writes to stderr."""
    done = subprocess.run(
        [sys.executable, "app.py", *args],
        cwd=ROOT,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    return done.stderr


def build_pyz(target: Path) -> Path:
    """Build the program as one file there."""
    tool = [sys.executable, str(ROOT / "tools" / "build_pyz.py"), str(target)]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")
    return target


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as one file."""
    return build_pyz(tmp_path_factory.mktemp("build") / "stub.pyz")
