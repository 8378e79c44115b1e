"""Measures the processor time of requests and of a start: see bench/README.md."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).resolve().parent.parent
FLOOR = "empty view"
STUB = "stub"
CREATE = ("POST", "/v1/projects")
LIST = ("GET", "/v1/projects")
LOADS = {
    "get": ("GET", "/v1/deployments/dpl_succeeded"),
    "post": CREATE,
    "list": LIST,  # of 1,000 projects
    "start": LIST,
}
CONNECTIONS = 10
REPEATED = 10  # times, over each connection, in a round
HEADERS = {"Authorization": "Bearer dev-token", "Content-Type": "application/json"}

Command = Sequence[str]
numbers = count(1)


@contextmanager
def running(command: Command) -> Iterator[tuple[int, list[HTTPConnection]]]:
    """The id of the process of a server, which prints its URL, and connections to it."""
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # another checkout has no bytecode yet
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdout=pipe, stderr=null, text=True, env=environ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise click.ClickException(f"this ended: {command}")
            port = int(line.rpartition(":")[2])
            yield process.pid, [HTTPConnection("127.0.0.1", port) for _ in range(CONNECTIONS)]
        finally:
            process.terminate()


def send(connections: Sequence[HTTPConnection], method: str, path: str) -> None:
    """Send a request over each connection, and then read the responses."""
    for connection in connections:
        body = json.dumps({"name": f"project {next(numbers)}"}) if method == "POST" else None
        connection.request(method, path, body, HEADERS)
    for connection in connections:
        response = connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise click.ClickException(f"{method} {path}: {content!r}")


def processor_seconds(pid: int) -> float:
    """User and system time of all its threads: the clock of clock_getcpuclockid(3), on Linux."""
    return time.clock_gettime(~pid << 3 | 2)


def rounds_of(load: str, command: Command) -> Generator[float]:
    """The processor seconds of each round, for one request: all in one process but for a start."""
    while load == "start":
        with running(command) as (pid, connections):
            send(connections[:1], *LOADS[load])
            seconds = processor_seconds(pid)
        yield seconds
    with running(command) as (pid, connections):
        if load == "list":
            for _ in range(1000 // CONNECTIONS):
                send(connections, *CREATE)
        while True:
            before = processor_seconds(pid)
            for _ in range(REPEATED):
                send(connections, *LOADS[load])
            yield (processor_seconds(pid) - before) / (REPEATED * CONNECTIONS)


def measure(load: str, rows: dict[str, Command], rounds: int) -> dict[str, list[float]]:
    """The rounds of each row. A round is short and has each row once: noise hits all of them."""
    found: dict[str, list[float]] = {row: [] for row in rows}
    order = [*rows]
    with ExitStack() as stack:
        sources = {}
        for row, command in rows.items():
            sources[row] = stack.enter_context(closing(rounds_of(load, command)))
            next(sources[row])  # to warm it up
        for _ in range(rounds):
            for row in order:
                found[row].append(next(sources[row]))
            order.reverse()
    return found


def table(load: str, found: dict[str, list[float]]) -> Iterator[str]:
    """In Markdown: the costs of each row, and the ratios to those of the rows but `STUB`."""
    others = [row for row in found if row != STUB]
    heads = [load, "µs", *(f"times the {row}" for row in others)]
    yield f"| {' | '.join(heads)} |"
    yield "|" + len(heads) * "---|"
    for row, costs in found.items():
        ratios = ["" if other == row else ratio(costs, found[other]) for other in others]
        yield f"| {row} | {median(costs) * 1e6:,.0f} | {' | '.join(ratios)} |"


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
@click.argument("loads", nargs=-1, type=click.Choice([*LOADS]), metavar="[LOAD]...")
def main(rounds: int, against: str | None, loads: Sequence[str]) -> None:
    with ExitStack() as stack:
        checkouts = {STUB: ROOT}
        if against:
            checkouts[f"{STUB} of {against}"] = stack.enter_context(worktree(against))
        rows: dict[str, Command] = {FLOOR: [sys.executable, f"{ROOT}/bench/floor.py"]}
        for row, checkout in checkouts.items():
            rows[row] = [sys.executable, f"{checkout}/app.py", "--quiet", "--port", "0"]
        for load in loads or LOADS:
            found = measure(load, rows, rounds // 8 if load == "start" else rounds)
            click.echo("\n".join(table(load, found)) + "\n")


if __name__ == "__main__":
    main()
