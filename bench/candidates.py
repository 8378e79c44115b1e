"""The tables: which candidates are compared, under which load."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from measure import (
    BENCH,
    Candidate,
    Command,
    Load,
    Sample,
    request_cost,
    response_of,
    start_cost,
    started,
)

ROOT = BENCH.parent
EXPRESS = BENCH / ".peers" / "node_modules" / "express"
AGAIN = "the same again (A/A)"


@dataclass(frozen=True)
class Table:
    """`candidates` are made when the table is measured; the others are compared with the first."""

    title: str
    candidates: Callable[[], list[Candidate]]
    measure: Callable[[Candidate, int], Sample] = request_cost

    def with_pair(self) -> list[Candidate]:
        """The candidates, the first of them twice: the A/A pair."""
        first, *others = self.candidates()
        return [first, replace(first, name=AGAIN), *others]


# Loads


def is_deployment(body: bytes) -> bool:
    document = json.loads(body)
    return (document["id"], document["status"]) == ("dpl_succeeded", "succeeded")


def is_project(body: bytes) -> bool:
    return set(json.loads(body)) >= {"id", "name"}


def is_list(count: int, body: bytes) -> bool:
    projects = json.loads(body)["projects"]
    return len(projects) == count and all(set(each) >= {"id", "name"} for each in projects)


GET = Load("/v1/deployments/dpl_succeeded", is_deployment)
CREATE = Load("/v1/projects", is_project, "create")
RESET = Load("/_stub/reset", lambda body: body == b"", "reset")
WORLD = replace(GET, script="world", warm_up=GET)


# Servers


def stub(
    name: str,
    load: Load,
    *options: str,
    stored: int | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Candidate:
    """The program, with its sample, or with a seed of `stored` projects and one deployment."""

    def command(port: int, folder: Path) -> Command:
        seed: Command = ()
        if stored is not None:
            seed = ("--seed", folder / "seed.json")
            deployment = {"id": "dpl_succeeded", "status": "succeeded"}
            projects = [{"name": f"project {number}"} for number in range(stored)]
            document = {"projects": projects, "deployments": [deployment]}
            (folder / "seed.json").write_text(json.dumps(document), "utf-8")
        return [sys.executable, ROOT / "app.py", "--quiet", "--port", str(port), *options, *seed]

    return Candidate(name, command, load, at_least, at_most)


def floor(
    kind: str, server: str, body: bytes, load: Load, at_least: float | None = None
) -> Candidate:
    """A view of floors.py that responds with `body`."""

    def command(port: int, folder: Path) -> Command:
        (folder / "body").write_bytes(body)
        return [sys.executable, BENCH / "floors.py", kind, server, str(port), "body"]

    where = {"ours": "our server", "stock": "stock waitress"}[server]
    return Candidate(f"{kind} Flask view, {where}", command, load, at_least)


def express(load: Load, body: bytes, at_least: float | None = None) -> Candidate:
    def command(port: int, folder: Path) -> Command:
        (folder / "body").write_bytes(body)
        return ["node", BENCH / "express.js", str(port), "body"]

    is_installed = shutil.which("node") is not None and EXPRESS.exists()
    return Candidate("Express", command, load, at_least, is_installed=is_installed)


def body_of(candidate: Candidate) -> bytes:
    """The body of the candidate's response, for the floors to send."""
    with started(candidate) as server:
        return response_of(candidate, server.url)


# Tables


def gets() -> list[Candidate]:
    ours = stub("stub", GET)
    body = body_of(ours)
    return [
        ours,
        stub("stub with `--no-stub`", GET, "--no-stub", at_least=1 / 1.10),
        floor("empty", "ours", body, GET, 1.2),
        floor("empty", "stock", body, GET, 1.3),
        express(GET, body, 1.0),
    ]


def single_gets() -> list[Candidate]:
    load = replace(GET, connections=1)
    ours = stub("stub", load)
    body = body_of(ours)
    return [
        ours,
        floor("empty", "ours", body, load, 1.05),
        floor("empty", "stock", body, load, 1.1),
        express(load, body, 0.9),
    ]


def creates() -> list[Candidate]:
    room = ("--empty", "--max-projects", "10000000")
    ours = stub("stub", CREATE, *room)
    body = body_of(ours)
    return [
        ours,
        stub("stub with `--no-stub`", CREATE, "--no-stub", *room),
        floor("parsing", "ours", body, CREATE, 1.0),
        floor("parsing", "stock", body, CREATE),
        express(CREATE, body, 1.0),
    ]


def lists(count: int) -> list[Candidate]:
    load = Load("/v1/projects", partial(is_list, count))
    ours = stub("stub", load, stored=count)
    body = body_of(ours)
    return [
        ours,
        floor("empty", "ours", body, load, 1.0),
        floor("empty", "stock", body, load),
        express(load, body),
    ]


def starts(name: str, stored: int | None, most: float) -> list[Candidate]:
    """`most` is the goal for the first one's time, divided by that of the floor."""
    ours = stub(name, GET, stored=stored)
    return [ours, floor("empty", "stock", body_of(ours), GET, 1 / most)]


def extras() -> list[Candidate]:
    return [
        stub("GET of a deployment", GET),
        stub("GET with 100,000 stored projects", GET, stored=100_000),
        stub("GET with 256 connections", replace(GET, connections=256)),
        stub("`POST /_stub/reset`", RESET, at_most=3),
        stub("first GET of a new world", WORLD, at_most=3),
    ]


TABLES = {
    "get": Table("GET of a deployment, 8 connections", gets),
    "get1": Table("GET of a deployment, 1 connection", single_gets),
    "post": Table("POST of projects with distinct names, 8 connections", creates),
    "list10": Table("List of 10 projects, 8 connections", partial(lists, 10)),
    "list1000": Table("List of 1,000 projects, 8 connections", partial(lists, 1_000)),
    "list10000": Table("List of 10,000 projects, 8 connections", partial(lists, 10_000)),
    "start": Table(
        "Start to the first right response", partial(starts, "stub", None, 1.15), start_cost
    ),
    "seed": Table(
        "Start with a seed, to the first right response",
        partial(starts, "stub with a seed of 100,000", 100_000, 8),
        start_cost,
    ),
    "extras": Table("What else costs, compared with a GET of the stub", extras),
}
