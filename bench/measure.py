"""Starts a candidate, loads it, and weighs it. A wrong answer anywhere ends the whole run."""

import itertools
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.request import Request, urlopen

import click

BENCH = Path(__file__).parent
CORES = sorted(os.sched_getaffinity(0))  # the server has the first, the load the last
PATIENCE = 30.0  # seconds in which a candidate has to start
ATTEMPTS = 3
HEADERS = {"Authorization": "Bearer dev-token", "Content-Type": "application/json"}
PATHS = {
    "deployment": "/v1/deployments/dpl_succeeded",
    "list": "/v1/projects",
    "create": "/v1/projects",
    "turn": "/v1/projects",  # a create and a list in turn
}
STEPS = {"create": 1, "turn": 2}  # every how many requests of the load one is a create

salts = (f"{os.getpid()}-{number}" for number in itertools.count())


class Wrong(click.ClickException):
    """Something was not answered as it should be: there is no result."""


def nothing(url: str) -> None:
    """What is done where there is nothing to do."""


@dataclass(frozen=True)
class Candidate:
    """A server to measure.

    `start` puts its files into an empty folder and gives the command that listens on a port.
    `right` tells whether a body answers an operation. `prepare` is called with the URL before the
    first one, `renew` before each load that creates. `keeps` says that what is created is listed
    afterwards, and can be counted.
    """

    name: str
    start: Callable[[int, Path], Sequence[str | Path]]
    right: Callable[[str, bytes], bool]
    operations: tuple[str, ...] = ("deployment", "list", "create")
    base: str = ""
    prepare: Callable[[str], None] = nothing
    renew: Callable[[str], None] = nothing
    keeps: bool = False
    warm_up: int = 1  # loads before the first that counts


class Timing(NamedTuple):
    """How a load is measured: `rounds` count, each of so many `seconds`."""

    rounds: int
    seconds: int
    connections: int = 8

    def alone(self) -> "Timing":
        return self._replace(connections=1)


class Server(NamedTuple):
    """A candidate that runs; `seconds` is from exec to the first right answer."""

    candidate: Candidate
    url: str
    process: subprocess.Popen[bytes]
    seconds: float

    def ask(self, operation: str) -> bytes:
        """The answer to one request, which must be right."""
        sent = json.dumps({"name": next(salts)}).encode() if operation == "create" else None
        body = fetch(self.url + PATHS[operation], sent)
        if not self.candidate.right(operation, body):
            raise Wrong(f"{self.candidate.name}: a wrong answer to {operation}: {body[:500]!r}")
        return body

    def listed(self) -> int:
        """How many projects it lists."""
        return len(projects(self.ask("list")))

    def pss(self) -> int:
        """KiB of memory that its processes have to themselves, and their share of the rest."""
        total = 0
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended meanwhile
                session = status.read_text("utf-8", "replace").rpartition(")")[2].split()[3]
                if int(session) == self.process.pid:
                    rollup = status.with_name("smaps_rollup").read_text("ascii")
                    total += int(re.findall(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[0])
        return total


def projects(body: bytes) -> list[Any]:
    """The projects of a list: an object's member, or the bare array of json-server."""
    document = json.loads(body)
    found: list[Any] = document["projects"] if isinstance(document, dict) else document
    return found


def fetch(url: str, body: bytes | None = None, method: str | None = None) -> bytes:
    with urlopen(Request(url, body, HEADERS, method=method), timeout=PATIENCE) as response:
        answer: bytes = response.read()
        return answer


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def to_server_core() -> None:
    os.sched_setaffinity(0, {CORES[0]})


def begin() -> None:
    """Put this process, and the wrk that it will start, apart from the server.

    Being told to end is an exception, so that no server outlives it.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not shutil.which("wrk"):
        raise Wrong("wrk is needed: apt-get install wrk")
    os.sched_setaffinity(0, {CORES[-1]})


@contextmanager
def running(candidate: Candidate) -> Iterator[Server]:
    """The candidate on a free port and on the first core, from its first right answer on."""
    with tempfile.TemporaryDirectory() as name, Path(name, "log").open("w+b") as log:
        for _ in range(ATTEMPTS):
            server = start(candidate, Path(name), log)
            if server is not None:
                break
        else:
            log.seek(0)
            said = log.read().decode(errors="replace")[-2000:]
            raise Wrong(f"{candidate.name} gave no right answer: {said}")
        try:
            yield server
        finally:
            end(server.process)


def start(candidate: Candidate, folder: Path, log: BinaryIO) -> Server | None:
    """The candidate at its first right answer; None if it ends or hangs before that."""
    port = free_port()
    url = f"http://127.0.0.1:{port}{candidate.base}"
    command = candidate.start(port, folder)
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,  # so that it is ended with all the processes it started
        preexec_fn=to_server_core,
    )
    try:
        while process.poll() is None and time.perf_counter() - began < PATIENCE:
            if answers(candidate, url):
                return Server(candidate, url, process, time.perf_counter() - began)
            time.sleep(0.001)
    except BaseException:
        end(process)
        raise
    end(process)
    return None


def answers(candidate: Candidate, url: str) -> bool:
    """Whether it listens by now, and answers right."""
    try:
        candidate.prepare(url)
        return candidate.right("deployment", fetch(url + PATHS["deployment"]))
    except (OSError, HTTPException):
        return False


def end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)


def rate(server: Server, operation: str, timing: Timing) -> float:
    """Requests per second; none may fail, and what was created must be there afterwards."""
    name = server.candidate.name
    step = STEPS.get(operation)
    asked = "list" if operation == "turn" else operation
    if step:
        server.candidate.renew(server.url)
    before = server.ask(asked)
    stored = server.listed() if step and server.candidate.keeps else None
    command = ["wrk", "-t1", f"-c{timing.connections}", f"-d{timing.seconds}", "--timeout", "30"]
    command += ["-H", f"Authorization: {HEADERS['Authorization']}", server.url + PATHS[operation]]
    if step:
        command += ["-s", str(BENCH / "create.lua"), "--", next(salts), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    made = re.search(r"(\d+) requests in", done.stdout)
    speed = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    bad = "Non-2xx" in done.stdout or "Socket errors" in done.stdout
    if done.returncode or bad or not made or not speed or not int(made[1]):
        raise Wrong(f"{name}: requests failed: {done.stdout}{done.stderr}")
    if step and stored is not None:
        # When wrk stops, each connection may have one request under way that it does not count.
        added, counted = server.listed() - stored, int(made[1]) // step
        if abs(added - counted) > timing.connections:
            raise Wrong(f"{name}: {added} projects more after {counted} creates")
    if server.ask(asked) != before and not step:
        raise Wrong(f"{name}: another answer to {operation} after the load")
    return float(speed[1])


def rates(loads: Sequence[tuple[Server, str]], timing: Timing) -> list[list[float]]:
    """The rates of each server under its operation, in interleaved rounds, once all are warm."""
    for server, operation in loads:
        for _ in range(server.candidate.warm_up):
            rate(server, operation, timing)
    rounds = [[rate(*load, timing) for load in loads] for _ in range(timing.rounds)]
    return [list(column) for column in zip(*rounds, strict=True)]


def ratio(ones: Sequence[float], others: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(one / other for one, other in zip(ones, others, strict=True))
