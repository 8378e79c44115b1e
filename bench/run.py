"""Measures what the requests and the start of the stub cost: see bench/README.md."""

import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import click

ROOT = Path(__file__).resolve().parent.parent
CORES = sorted(os.sched_getaffinity(0))  # the server gets the first, the client the last
HEADERS = {"Authorization": "Bearer dev-token", "Content-Type": "application/json"}
PATIENCE = 30.0  # seconds in which a server must start, and respond
WARM_UP = 1  # seconds of load before the measured ones
SECONDS = 2  # of load that are measured
CONNECTIONS = 8
CREATE = """
local count = 0
function request()
  count = count + 1
  return wrk.format("POST", nil, nil, string.format('{"name": "%s-%%d"}', count))
end
"""
AGAIN = "the same again (A/A)"
numbers = count(1)
Command = Callable[[int], Sequence[str | Path]]  # what listens on a port


class Load(NamedTuple):
    """`options` are those of the stub; a right response has `sign` in its body."""

    title: str
    path: str
    sign: bytes
    options: tuple[str, ...] = ()
    stored: int = 0  # projects of the seed
    method: str = "GET"
    is_start: bool = False


DEPLOYMENT = "/v1/deployments/dpl_succeeded"
PROJECTS = "/v1/projects"
NO_LIMIT = ("--empty", "--max-projects", "10000000")
LOADS = {
    "get": Load("GET of a deployment", DEPLOYMENT, b'"succeeded"'),
    "post": Load("POST of projects with distinct names", PROJECTS, b'"name"', NO_LIMIT, 0, "POST"),
    "list": Load("List of 1,000 projects", PROJECTS, b'"project 999"', stored=1000),
    "start": Load("Start to the first right response", DEPLOYMENT, b'"succeeded"', is_start=True),
}


class Sample(NamedTuple):
    """One round of a row: processor seconds of a request or a start, and how many in a second."""

    cost: float
    rate: float


def stub(root: Path, load: Load, folder: Path) -> Command:
    options = load.options
    if load.stored:
        seed = folder / "seed.json"
        projects = [{"name": f"project {number}"} for number in range(load.stored)]
        seed.write_text(json.dumps({"projects": projects}), "utf-8")
        options += ("--seed", str(seed))
    return lambda port: [sys.executable, root / "app.py", "--quiet", "--port", str(port), *options]


def rows_of(load: Load, others: Sequence[Path], folder: Path) -> dict[str, Command]:
    """The stub, the same again, the stubs of other checkouts, and the empty Flask view."""
    ours = stub(ROOT, load, folder)
    rows = {"stub": ours, AGAIN: ours}
    for other in others:
        rows[f"stub of {commit_of(other)}"] = stub(other, load, folder)
    with started(ours, load) as server:
        (folder / "body").write_bytes(server.respond())
    floor = ROOT / "bench" / "floors.py"
    rows["empty Flask view"] = lambda port: [sys.executable, floor, str(port), folder / "body"]
    return rows


def commit_of(checkout: Path) -> str:
    words = ["git", "rev-parse", "--short", "HEAD"]
    return str(subprocess.check_output(words, cwd=checkout, text=True)).strip()


class Server(NamedTuple):
    process: "subprocess.Popen[bytes]"
    url: str
    load: Load

    def processor_seconds(self) -> float:
        """User and system time of the process and of its ended children (proc(5))."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8")
        ticks = map(int, stat.rpartition(")")[2].split()[11:15])
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    def respond(self) -> bytes:
        """The response to one request. Raises OSError or ValueError for a wrong one."""
        body = None
        if self.load.method == "POST":
            body = b'{"name": "single %d"}' % next(numbers)
        request = Request(self.url + self.load.path, body, HEADERS, method=self.load.method)
        with urlopen(request, timeout=PATIENCE) as response:
            content: bytes = response.read()
        if self.load.sign not in content:
            raise ValueError(content[:200])
        return content

    def drive(self, seconds: int) -> tuple[int, float]:
        """Let wrk send requests; returns how many got a response, and how many in a second."""
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}", self.url + self.load.path]
        for name, value in HEADERS.items():
            command += ["-H", f"{name}: {value}"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            if self.load.method == "POST":
                script.write(CREATE % next(numbers))
                script.flush()
                command += ["-s", script.name]
            output = subprocess.check_output(command, text=True)
        found = re.search(r"(\d+) requests in.*Requests/sec:\s+([\d.]+)", output, re.DOTALL)
        if "Non-2xx" in output or "Socket errors" in output or not found:
            raise click.ClickException(output)
        return int(found[1]), float(found[2])


@contextmanager
def started(command: Command, load: Load) -> Iterator[Server]:
    """A server in a process of its own, which sends a right response first and last."""
    port = 20_000 + next(numbers) % 10_000
    process = subprocess.Popen(
        command(port),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # the next start finds bytecode
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, CORES[:1]),
    )
    server = Server(process, f"http://127.0.0.1:{port}", load)
    began = time.monotonic()
    try:
        while True:
            try:
                server.respond()
                break
            except (OSError, ValueError) as error:
                if process.poll() is not None or time.monotonic() - began > PATIENCE:
                    raise click.ClickException(f"{error} from {command(port)}") from None
            time.sleep(0.001)
        yield server
        server.respond()
    finally:
        process.terminate()
        process.wait(15)


def measure(command: Command, load: Load) -> Sample:
    if load.is_start:
        began = time.perf_counter()
        with started(command, load) as server:
            return Sample(server.processor_seconds(), 1 / (time.perf_counter() - began))
    with started(command, load) as server:
        server.drive(WARM_UP)
        before = server.processor_seconds()
        count, rate = server.drive(SECONDS)
        return Sample((server.processor_seconds() - before) / count, rate)


def table(load: Load, samples: dict[str, list[Sample]]) -> Iterator[str]:
    """In Markdown. A ratio is the speed of the first row divided by that of another."""
    unit, factor = ("processor time, ms", 1e3) if load.is_start else ("processor time, µs", 1e6)
    yield f"| {load.title} | {unit} | ratio | per second |"
    yield "|---|---|---|---|"
    ours = samples["stub"]
    for row, found in samples.items():
        cost = statistics.median(each.cost for each in found) * factor
        rate = statistics.median(each.rate for each in found)
        ratios = [other.cost / first.cost for first, other in zip(ours, found, strict=True)]
        ratio = f"{statistics.median(ratios):.2f}"
        if row == AGAIN:
            widest = max(*ratios, *(1 / each for each in ratios))
            ratio = f"A/A {1 / widest:.2f} to {widest:.2f}"
        yield f"| {row} | {cost:,.0f} | {ratio} | {rate:,.1f} |"


@click.command(help=__doc__)
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True)
@click.option("--against", "others", type=Path, multiple=True, metavar="CHECKOUT")
@click.argument("names", nargs=-1, type=click.Choice(list(LOADS)), metavar="[LOAD]...")
def main(rounds: int, others: tuple[Path, ...], names: tuple[str, ...]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the server, too
    os.sched_setaffinity(0, CORES[-1:])
    python = f"Python {sys.version.split()[0]}; {rounds} rounds, {CONNECTIONS} connections"
    click.echo(f"Commit {commit_of(ROOT)}, {date.today()}, {python}.")
    for name in names or LOADS:
        load = LOADS[name]
        with tempfile.TemporaryDirectory() as folder:
            rows = rows_of(load, others, Path(folder))
            samples: dict[str, list[Sample]] = {row: [] for row in rows}
            for _ in range(rounds):
                for row in random.sample([*rows], len(rows)):
                    samples[row].append(measure(rows[row], load))
        click.echo("\n" + "\n".join(table(load, samples)))


if __name__ == "__main__":
    main()
