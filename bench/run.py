"""How fast the service is, as ratios to floors and to its peers. See bench/README.md."""

import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from http.client import HTTPConnection
from importlib.metadata import version
from typing import NamedTuple
from urllib.parse import urlsplit

import click
import picture
from candidates import ALL_PEERS, FLOORS, OURS, Answers, Peer, floor, floors, service
from measure import (
    BENCH,
    HEADERS,
    PATHS,
    Candidate,
    Server,
    Timing,
    Wrong,
    begin,
    rates,
    ratio,
    running,
    to_server_core,
)

CREATES = 10_000
NONE = "\N{EN DASH}"
OPERATIONS = {"deployment": "GET of a deployment", "list": "list of 1,000", "create": "create"}
STORED = {"deployment": None, "list": 1_000, "create": 0}  # by the service, None: the sample


class Claim(NamedTuple):
    """A row of the first table: what was measured, what it should be, and what came out."""

    what: str
    limit: float
    measured: float
    at_most: bool = False
    unit: str = ""

    def __str__(self) -> str:
        kept = self.measured <= self.limit if self.at_most else self.measured >= self.limit
        wanted = f"{self.limit:g}{self.unit}{' at most' if self.at_most else ''}"
        measured = f"{self.measured:.2f}{self.unit}{'' if kept else ', missed'}"
        return f"| {self.what} | {wanted} | {measured} |"


@dataclass
class Weight:
    """What a candidate costs, start by start: seconds and KiB up to its first right answer."""

    seconds: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    filled: float | None = None  # KiB after the creates, in the last start


def say(text: str) -> None:
    click.echo(text, err=True)


def answers_of(candidate: Candidate) -> Answers:
    with running(candidate) as server:
        return {operation: server.ask(operation) for operation in OPERATIONS}


def import_seconds() -> float:
    """From exec to exit, which is the floor of what a start-up can take."""
    began = time.perf_counter()
    command = [sys.executable, "-c", "import flask, waitress"]
    subprocess.run(command, check=True, preexec_fn=to_server_core)
    return time.perf_counter() - began


def create_many(server: Server) -> float:
    """Create exactly so many on one connection; gives the KiB of memory once all is at rest."""
    url = urlsplit(server.url)
    stored = server.listed() if server.candidate.keeps else None
    connection = HTTPConnection(f"{url.hostname}:{url.port}")
    for number in range(CREATES):
        body = json.dumps({"name": f"project {number}"})
        connection.request("POST", url.path + PATHS["create"], body, HEADERS)
        with connection.getresponse() as response:
            if not server.candidate.right("create", response.read()):
                raise Wrong(f"{server.candidate.name}: a wrong answer to a create")
    connection.close()
    server.ask("deployment")
    memory = server.pss()  # before the list, which may be kept
    if stored is not None and server.listed() != stored + CREATES:
        raise Wrong(f"{server.candidate.name}: not all that was created is listed")
    return memory


def weigh(candidates: list[Candidate], starts: int) -> tuple[list[float], dict[str, Weight]]:
    """The seconds of the bare import, and the weight of each; one start warms the disk cache."""
    imports = []
    weights = {candidate.name: Weight() for candidate in candidates}
    for number in range(starts + 1):
        took = import_seconds()
        if number:
            imports.append(took)
        for candidate in candidates:
            weight = weights[candidate.name]
            with running(candidate) as server:
                if number:
                    weight.seconds.append(server.seconds)
                    weight.started.append(server.pss())
                if number == starts and "create" in candidate.operations:
                    weight.filled = create_many(server)
    return imports, weights


def loads(servers: list[Server], operation: str = "deployment") -> list[tuple[Server, str]]:
    return [(server, operation) for server in servers]


def claims(timing: Timing) -> Iterator[Claim]:
    """The rows of the first table that need a load."""

    def against_view(server: Server, operation: str, body: bytes) -> float:
        with running(floor("flask", "ours", body)) as view:
            return ratio(*rates(loads([server, view], operation), timing))

    answers = answers_of(service())
    view = "an empty Flask view"
    with ExitStack() as stack:
        every = [
            service(quiet=False),
            service("--no-stub"),
            service(),
            *(floor(*each, answers["deployment"]) for each in FLOORS[::-1]),
        ]
        servers = [stack.enter_context(running(candidate)) for candidate in every]
        logged, bare, ours, flask_ours, flask, _, wsgi = rates(loads(servers), timing)
        what = "GET of a deployment, to"
        yield Claim(
            f"{what} {view} with the same bytes on our set-up", 0.95, ratio(ours, flask_ours)
        )
        yield Claim(f"{what} that view on stock waitress", 1.25, ratio(ours, flask))
        one = loads([servers[2], servers[4]])
        yield Claim("the same with one connection", 0.95, ratio(*rates(one, timing.alone())))
        yield Claim(f"{what} an empty WSGI callable on stock waitress", 0.63, ratio(ours, wsgi))
        yield Claim(f"{what} the service with `--no-stub`", 0.87, ratio(ours, bare))
        yield Claim("the default request log, on to off", 0.85, ratio(logged, ours))
    with running(service(stored=0)) as server:
        found = against_view(server, "create", answers["create"])
        yield Claim(f"POST of distinct names, to {view} that is sent the same", 0.85, found)
    for count in (10, 1_000, 10_000):
        with running(service(stored=count)) as server:
            found = against_view(server, "list", server.ask("list"))
            yield Claim(f"list of {count:,}, to {view} with the same bytes", 0.95, found)
    many = service(stored=10_000)
    with running(many) as server, running(many) as other:
        found = ratio(*rates([(server, "turn"), (other, "list")], timing))
        yield Claim("create and list in turn, 10,000 stored, to the list alone", 0.5, found)
    with ExitStack() as stack:
        sizes = [service(stored=count) for count in (1, 1_000, 100_000)]
        servers = [stack.enter_context(running(candidate)) for candidate in sizes]
        least, *more = rates(loads(servers), timing)
        ratios = [1.0, *(ratio(each, least) for each in more)]
        found = min(ratios) / max(ratios)
        yield Claim("GET with 1, 1,000 and 100,000 stored, slowest to fastest", 0.95, found)


def weight_claims(ours: Weight, flask: Weight, imports: list[float]) -> Iterator[Claim]:
    """The rows of the first table that need none."""
    start = ratio(ours.seconds, imports)
    yield Claim('start-up, to `python -c "import flask, waitress"`', 1.25, start, at_most=True)
    memory = ratio(ours.started, flask.started)
    what = "memory after start, to an empty Flask app's on stock waitress"
    yield Claim(what, 1.25, memory, at_most=True)
    each = ((ours.filled or 0) - ours.started[-1]) / CREATES
    what = "memory of a created project with its deployment"
    yield Claim(what, 1.5, each, at_most=True, unit=" KiB")


def speeds(peers: list[Peer], timing: Timing) -> dict[str, dict[str, float]]:
    """By name and operation, the ratio to the empty WSGI callable on stock waitress."""
    found: dict[str, dict[str, float]] = {}
    for operation, stored in STORED.items():
        ours = service(stored=stored)
        answers = answers_of(ours)
        every = [*floors(answers[operation]), ours, *(peer.candidate(answers) for peer in peers)]
        with ExitStack() as stack:
            able = [candidate for candidate in every if operation in candidate.operations]
            servers = [stack.enter_context(running(candidate)) for candidate in able]
            first, *others = rates(loads(servers, operation), timing)
            for candidate, measured in zip(able, [first, *others], strict=True):
                found.setdefault(candidate.name, {})[operation] = ratio(measured, first)
    return found


def table(speed: dict[str, dict[str, float]], weights: dict[str, Weight]) -> Iterator[str]:
    """The second table in Markdown, the fastest first."""
    ours = weights[OURS]
    yield f"| | {' | '.join(OPERATIONS.values())} | start-up | memory | after 10,000 creates |"
    yield "|---|---|---|---|---|---|---|"
    for name in sorted(speed, key=lambda name: -speed[name]["deployment"]):
        weight = weights[name]
        cells = [speed[name].get(operation) for operation in OPERATIONS]
        cells += [ratio(weight.seconds, ours.seconds), ratio(weight.started, ours.started)]
        cells += [weight.filled and ours.filled and weight.filled / ours.filled]
        shown = [NONE if cell is None else f"{cell:.2f}" for cell in cells]
        yield f"| {f'**{name}**' if name == OURS else name} | {' | '.join(shown)} |"


def first_line(*command: str) -> str:
    """Of what a program says of its version, on stdout or on stderr."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).split("\n")[0]


def used(peers: list[Peer]) -> str:
    """What was measured with, since another version has other ratios."""
    tools = [f"Python {platform.python_version()}"]
    tools += [f"{name} {version(name)}" for name in ("flask", "waitress")]
    tools.append(" ".join(first_line("wrk", "-v").split()[:2]))
    if peers:
        tools += [f"node {first_line('node', '--version')}", first_line("java", "-version")]
    return ", ".join(tools)


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=2, show_default=True)
@click.option("--peers/--no-peers", "with_peers", default=True, help="Those that are installed.")
def main(rounds: int, seconds: int, with_peers: bool) -> None:
    """Measure the service, the floors and the peers, and write results.md and results.svg."""
    begin()
    timing = Timing(rounds, seconds)
    peers = [peer for peer in ALL_PEERS if with_peers and peer.version]
    left_out = [peer.name for peer in ALL_PEERS if peer not in peers]
    lines = [f"Measured on {date.today()} by `bench/run.py --rounds {rounds} --seconds {seconds}`"]
    lines += [f"with {used(peers)}. Every figure is a ratio but where it has a unit.", ""]
    lines += ["| what | at least | measured |", "|---|---|---|"]
    for claim in claims(timing):
        lines.append(str(claim))
        say(lines[-1])
    answers = answers_of(service())
    every = [service(), *floors(answers["deployment"])]
    every += [peer.candidate(answers) for peer in peers]
    imports, weights = weigh(every, starts=2 * rounds - 1)
    flask = weights[floor("flask", "stock", b"").name]
    lines += [str(claim) for claim in weight_claims(weights[OURS], flask, imports)]
    speed = speeds(peers, timing)
    what = "GET of a deployment, to an empty WSGI callable on stock waitress"
    lines += ["", *table(speed, weights)]
    if left_out:
        lines += ["", f"Left out, as not installed or not asked for: {', '.join(left_out)}."]
    text = "\n".join(lines)
    click.echo(text)
    (BENCH / "results.md").write_text(f"{text}\n", "utf-8")
    bars = {name: ratios["deployment"] for name, ratios in speed.items()}
    (BENCH / "results.svg").write_text(picture.bars(what, bars, OURS), "utf-8")


if __name__ == "__main__":
    main()
