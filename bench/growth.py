"""Draws what grows with the stored projects and with the connections. See bench/README.md.

Nothing may fail or be refused on the way: that ends the run.
"""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from urllib.parse import urlsplit

import click
from candidates import service
from measure import BENCH, HEADERS, PATHS, Server, Timing, Wrong, begin, rates, running
from picture import Panel, panels

STORED = (1, 10, 100, 1_000, 10_000, 100_000)
CONNECTIONS = (1, 4, 16, 64, 256)
LISTED = 1_000  # projects stored where the connections vary
ROOM = ("--max-projects", "1000000")  # for what the load creates beside the 100,000


def microseconds(server: Server, operation: str, timing: Timing) -> float:
    """Of the server's time that each request takes: one second by the requests of a second."""
    (measured,) = rates([(server, operation)], timing)
    return 1e6 / statistics.median(measured)


def mebibytes(server: Server, connections: int) -> float:
    """Its memory while so many connections are open, each of which was answered once."""
    with ExitStack() as stack:
        for _ in range(connections):
            connection = HTTPConnection(urlsplit(server.url).netloc)
            stack.callback(connection.close)
            connection.request("GET", PATHS["deployment"], headers=HEADERS)
            response = connection.getresponse()
            if not server.candidate.right("deployment", response.read()):
                raise Wrong(f"a wrong answer with {connections} connections open")
        return server.pss() / 1024


def measure(stored: int, timing: Timing) -> list[float]:
    """What the panels of one axis show, for one number of projects and of connections."""
    with running(service(*ROOM, stored=stored)) as server:
        memory = mebibytes(server, timing.connections)
        get = microseconds(server, "deployment", timing)
        listing = microseconds(server, "list", timing)
        create = microseconds(server, "create", timing)  # last, as it adds projects
    click.echo(f"{stored:,} stored, {timing.connections} connections: nothing failed", err=True)
    return [get, create, listing, memory]


def drawn(axis: str, at: Sequence[int], measured: list[list[float]]) -> list[Panel]:
    get, create, listing, memory = (
        list(zip(at, column, strict=True)) for column in zip(*measured, strict=True)
    )
    small = {"GET of a deployment": get, "create": create}
    lists = {"": [(x, y / 1000) for x, y in listing]}
    return [
        Panel("time per request, µs", axis, small),
        Panel("time per list, ms", axis, lists),
        Panel("memory (PSS), MiB", axis, {"": memory}),
    ]


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=2, show_default=True)
def main(rounds: int, seconds: int) -> None:
    """Measure the service over its size and over its connections, and write growth.svg."""
    begin()
    timing = Timing(rounds, seconds)
    sizes = [measure(stored, timing) for stored in STORED]
    crowds = [measure(LISTED, timing._replace(connections=number)) for number in CONNECTIONS]
    pairs = zip(
        drawn("stored projects, 8 connections", STORED, sizes),
        drawn(f"connections, {LISTED:,} stored projects", CONNECTIONS, crowds),
        strict=True,
    )
    (BENCH / "growth.svg").write_text(panels([panel for pair in pairs for panel in pair]), "utf-8")


if __name__ == "__main__":
    main()
