"""Measures the processor time of requests and of a start: see bench/README.md."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import click
from apps import ALONE, CALLS, FLOOR, HEADERS, STUB

ROOT = Path(__file__).resolve().parent.parent
CONNECTIONS = 10
CREATE = ("POST", "/v1/projects")
LIST = ("GET", "/v1/projects")
REQUESTS = {"get": ("GET", "/v1/deployments/dpl_succeeded"), "post": CREATE, "list": LIST}
LOADS = [*REQUESTS, "start", "called-get", "called-post"]
Command = list[str]
Process = subprocess.Popen[str]
numbers = count(1)


def commands(load: str, checkouts: dict[str, Path]) -> dict[str, Command]:
    """The command of each row of a table."""
    apps = [sys.executable, f"{ROOT}/bench/apps.py"]
    rows = {FLOOR: [*apps, str(ROOT), FLOOR, load]}
    for suffix, checkout in checkouts.items():
        stub = [sys.executable, f"{checkout}/app.py", "--quiet", "--port", "0"]
        if load.startswith("called"):
            rows[ALONE + suffix] = [*apps, str(checkout), ALONE, load]
            stub = [*apps, str(checkout), STUB, load]
        rows[STUB + suffix] = stub
    return rows


@contextmanager
def running(command: Command) -> Iterator[Process]:
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def read_line(process: Process) -> str:
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise click.ClickException(f"this ended: {process.args!r}")
    return line


def connect(process: Process) -> list[HTTPConnection]:
    """Connections to the server of a process, which prints its URL."""
    port = int(read_line(process).rpartition(":")[2])
    return [HTTPConnection("127.0.0.1", port) for _ in range(CONNECTIONS)]


def send(connections: Sequence[HTTPConnection], method: str, path: str) -> None:
    """Send a request over each connection, and then read the responses."""
    headers = {**HEADERS, "Content-Type": "application/json"}
    for connection in connections:
        body = json.dumps({"name": f"project {next(numbers)}"}) if method == "POST" else None
        connection.request(method, path, body, headers)
    for connection in connections:
        response = connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise click.ClickException(f"{method} {path}: {content!r}")


def processor_seconds(process: Process) -> float:
    """User and system time of all its threads: the clock of clock_getcpuclockid(3), on Linux."""
    return time.clock_gettime(~process.pid << 3 | 2)


def measure_start(command: Command) -> float:
    with running(command) as process:
        send(connect(process)[:1], *LIST)
        return processor_seconds(process)


def measure_calls(process: Process) -> float:
    print("go", file=process.stdin, flush=True)
    return float(read_line(process))


def measure_requests(process: Process, connections: list[HTTPConnection], load: str) -> float:
    before = processor_seconds(process)
    for _ in range(CALLS // CONNECTIONS):
        send(connections, *REQUESTS[load])
    return (processor_seconds(process) - before) / CALLS


def prepare(load: str, command: Command, stack: ExitStack) -> Callable[[], float]:
    """What measures a round of a row: in the same process each time, but for a start."""
    if load == "start":
        return partial(measure_start, command)
    process = stack.enter_context(running(command))
    if load.startswith("called"):
        return partial(measure_calls, process)
    connections = connect(process)
    if load == "list":
        for _ in range(1000 // CONNECTIONS):
            send(connections, *CREATE)
    return partial(measure_requests, process, connections, load)


def measure(load: str, rows: dict[str, Command], rounds: int) -> dict[str, list[float]]:
    """The rounds of each row. A round is short and has each row once: noise hits all of them."""
    found: dict[str, list[float]] = {row: [] for row in rows}
    order = [*rows]
    with ExitStack() as stack:
        measures = {row: prepare(load, command, stack) for row, command in rows.items()}
        for warm_up in measures.values():
            warm_up()
        for _ in range(rounds):
            for row in order:
                found[row].append(measures[row]())
            order.reverse()
    return found


def table(load: str, found: dict[str, list[float]], suffix: str) -> Iterator[str]:
    """In Markdown. `suffix` is that of the rows of the other commit."""
    yield f"| {load} | µs | times the {FLOOR} | times that{suffix or ' of another commit'} |"
    yield "|---|---|---|---|"
    for row, costs in found.items():
        floor = "" if row == FLOOR else ratio(costs, found[FLOOR])
        others = found.get(row + suffix) if suffix else None
        other = ratio(costs, others) if others else ""
        yield f"| {row} | {median(costs) * 1e6:,.0f} | {floor} | {other} |"


def ratio(ours: Sequence[float], others: Sequence[float]) -> str:
    """The median of the ratios of the rounds, and the quartiles."""
    low, middle, high = quantiles(one / other for one, other in zip(ours, others, strict=True))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    git = ["git", "-C", str(ROOT), "worktree"]
    with TemporaryDirectory() as folder:
        subprocess.run([*git, "add", "--quiet", "--detach", folder, commit], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


@click.command(help=__doc__)
@click.option("--rounds", type=click.IntRange(16, 800), default=80, show_default=True)
@click.option("--against", metavar="COMMIT", help="Measured beside this checkout.")
@click.argument("loads", nargs=-1, type=click.Choice(LOADS), metavar="[LOAD]...")
def main(rounds: int, against: str | None, loads: Sequence[str]) -> None:
    checkouts = {"": ROOT}
    suffix = f" of {against}" if against else ""
    with ExitStack() as stack:
        if against:
            checkouts[suffix] = stack.enter_context(worktree(against))
        for load in loads or LOADS:
            rows = commands(load, checkouts)
            found = measure(load, rows, rounds // 8 if load == "start" else rounds)
            click.echo("\n".join(table(load, found, suffix)) + "\n")


if __name__ == "__main__":
    main()
