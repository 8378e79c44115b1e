"""Starts a candidate and measures what its requests, or its start, cost."""

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
from typing import NamedTuple
from urllib.request import Request, urlopen

import click

BENCH = Path(__file__).parent
CORES = sorted(os.sched_getaffinity(0))  # the server gets the first, the client the last
HEADERS = {"Authorization": "Bearer dev-token", "Content-Type": "application/json"}
PATIENCE = 30.0  # seconds in which a candidate must start, and respond
STARTS = 3  # in one round: their median leaves out one with a cold disk cache
TICKS = os.sysconf("SC_CLK_TCK")  # per second, in /proc/PID/stat
WARM_UP = 1  # seconds of load before the measured ones

numbers = itertools.count()


class Failed(click.ClickException):
    """A candidate did not start, or sent a wrong response: the run ends without results."""


@dataclass(frozen=True)
class Load:
    """Requests of one kind.

    `is_right` checks the body of a response. `script` is the part of load.lua that makes the
    requests; without one they are plain GETs. `warm_up` is another load to warm up with.
    """

    path: str
    is_right: Callable[[bytes], bool]
    script: str = ""
    connections: int = 8
    warm_up: "Load | None" = None


Command = Sequence[str | Path]


@dataclass(frozen=True)
class Candidate:
    """A server and its load: a row of a table.

    `command` puts files into an empty folder and returns the command that listens on a port.
    `at_least` and `at_most` are the goals for the ratio.
    """

    name: str
    command: Callable[[int, Path], Command]
    load: Load
    at_least: float | None = None
    at_most: float | None = None
    is_installed: bool = True


class Sample(NamedTuple):
    """One round of a candidate: the seconds of a request or a start, and requests per second."""

    cost: float
    rate: float | None = None


@dataclass(frozen=True)
class Server:
    """A process that has sent its first right response, `seconds` after it was started."""

    candidate: Candidate
    process: subprocess.Popen[bytes]
    url: str
    seconds: float

    def processor_seconds(self) -> float:
        return processor_seconds(self.process.pid)


def processor_seconds(process: int) -> float:
    """User and system time of a process and of its ended children (proc(5))."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS


def request_cost(candidate: Candidate, seconds: int) -> Sample:
    """The processor time of one request, in a fresh process."""
    with started(candidate) as server:
        drive(server, candidate.load.warm_up or candidate.load, WARM_UP)
        before = server.processor_seconds()
        count, rate = drive(server, candidate.load, seconds)
        used = server.processor_seconds() - before
        if not responds(candidate, server.url):
            raise Failed(f"{candidate.name}: a wrong response after the load")
    is_steady = candidate.load.script != "world"  # wrk stops early, and counts the rest as time
    return Sample(used / count, rate if is_steady else None)


def start_cost(candidate: Candidate, _: int) -> Sample:
    """The time from a start to the first right response."""
    times = []
    for _ in range(STARTS):
        with started(candidate) as server:
            times.append(server.seconds)
    return Sample(statistics.median(times))


def drive(server: Server, load: Load, seconds: int) -> tuple[int, float]:
    """Let wrk send requests; returns how many got a response, and how many per second."""
    command = ["wrk", "-t1", f"-c{load.connections}", f"-d{seconds}", "--timeout", "30"]
    command += ["-H", f"Authorization: {HEADERS['Authorization']}", server.url + load.path]
    if load.script:
        command += ["-s", str(BENCH / "load.lua"), "--", load.script, str(next(numbers))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    count = re.search(r"(\d+) requests in", done.stdout)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    failed = "Non-2xx" in done.stdout or "Socket errors" in done.stdout
    if done.returncode or failed or not count or not rate or not int(count[1]):
        raise Failed(f"{server.candidate.name}: {done.stdout}{done.stderr}")
    return int(count[1]), float(rate[1])


@contextmanager
def started(candidate: Candidate) -> Iterator[Server]:
    """The candidate in a process of its own, which ends with the context."""
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("wb") as log:
        port = free_port()
        command = candidate.command(port, Path(folder))
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            # The next start finds the modules compiled.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=to_server_core,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            while not responds(candidate, url):
                if process.poll() is not None or time.perf_counter() - began > PATIENCE:
                    said = Path(folder, "log").read_text("utf-8", "replace")[-2000:]
                    raise Failed(f"{candidate.name} sent no right response: {said}")
                time.sleep(0.001)
            yield Server(candidate, process, url, time.perf_counter() - began)
        finally:
            end(process)


def responds(candidate: Candidate, url: str) -> bool:
    try:
        return candidate.load.is_right(response_of(candidate, url))
    # An error status is an OSError here, and a document of another shape one of the last three.
    except (HTTPException, OSError, LookupError, TypeError, ValueError):
        return False


def response_of(candidate: Candidate, url: str) -> bytes:
    load, body = candidate.load, None
    if load.script == "create":
        body = json.dumps({"name": f"single {next(numbers)}"}).encode()
    method = "POST" if load.script in {"create", "reset"} else "GET"
    request = Request(url + load.path, body, HEADERS, method=method)
    with urlopen(request, timeout=PATIENCE) as response:
        content: bytes = response.read()
        return content


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(15)
    process.kill()
    process.wait()


def to_server_core() -> None:
    os.sched_setaffinity(0, {CORES[0]})


def prepare() -> None:
    """Move this process and its wrk to the client's core; end the servers on SIGTERM, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not shutil.which("wrk"):
        raise Failed("wrk is needed: apt-get install wrk")
    os.sched_setaffinity(0, {CORES[-1]})
