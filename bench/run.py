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
    "list": LIST,
    "start": LIST,
}
CONNECTIONS = 10
REPEATED = 10  # requests of a round over each connection
HEADERS = {"Authorization": "Bearer dev-token", "Content-Type": "application/json"}

Command = Sequence[str]
numbers = count(1)


@contextmanager
def running(command: Command) -> Iterator[tuple[int, list[HTTPConnection]]]:
    """Start a server; return the id of its process, and connections to it.

    The server prints its URL: `listening on http://127.0.0.1:8080`.
    """
    # A new checkout needs its bytecode, or every start would compile it.
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
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
    """Send a request over every connection, then read the responses."""
    for connection in connections:
        body = json.dumps({"name": f"project {next(numbers)}"}) if method == "POST" else None
        connection.request(method, path, body, HEADERS)
    for connection in connections:
        response = connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise click.ClickException(f"{method} {path}: {content!r}")


def read_processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process, as clock_getcpuclockid(3) on Linux."""
    return time.clock_gettime(~pid << 3 | 2)


def run_rounds(load: str, command: Command) -> Generator[float]:
    """Yield the processor seconds of a request, for every round: `0.0012`.

    All rounds use the same process, except for the load `start`.
    """
    while load == "start":
        with running(command) as (pid, connections):
            send(connections[:1], *LOADS[load])
            seconds = read_processor_seconds(pid)
        yield seconds
    with running(command) as (pid, connections):
        if load == "list":
            for _ in range(1000 // CONNECTIONS):
                send(connections, *CREATE)
        while True:
            before = read_processor_seconds(pid)
            for _ in range(REPEATED):
                send(connections, *LOADS[load])
            yield (read_processor_seconds(pid) - before) / (REPEATED * CONNECTIONS)


def measure(load: str, rows: dict[str, Command], rounds: int) -> dict[str, list[float]]:
    """Measure the rows in short rounds. So the noise of the machine affects all rows."""
    found: dict[str, list[float]] = {row: [] for row in rows}
    order = [*rows]
    with ExitStack() as stack:
        sources = {}
        for row, command in rows.items():
            sources[row] = stack.enter_context(closing(run_rounds(load, command)))
            next(sources[row])  # The first round is slower.
        for _ in range(rounds):
            for row in order:
                found[row].append(next(sources[row]))
            order.reverse()
    return found


def format_table(load: str, found: dict[str, list[float]]) -> Iterator[str]:
    """Format a table in Markdown: the costs of a row, and its ratios to the rows without `STUB`."""
    others = [row for row in found if row != STUB]
    heads = [load, "µs", *(f"times the {row}" for row in others)]
    yield f"| {' | '.join(heads)} |"
    yield "|" + len(heads) * "---|"
    for row, costs in found.items():
        ratios = ["" if other == row else format_ratio(costs, found[other]) for other in others]
        yield f"| {row} | {median(costs) * 1e6:,.0f} | {' | '.join(ratios)} |"


def format_ratio(ours: Sequence[float], others: Sequence[float]) -> str:
    """Format the median of the ratios, and the quartiles: `1.25 (1.20 to 1.31)`."""
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
            click.echo("\n".join(format_table(load, found)) + "\n")


if __name__ == "__main__":
    main()
