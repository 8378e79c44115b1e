"""The state of a world as a seed document."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from records import Deployment, Project, Records, quoted, timestamp


def write_seed(records: Records, now: datetime) -> Iterator[bytes]:
    """The seed document of a state, in pieces.

    A deployment that is still to change has what is left of its timeline, so that a world which
    starts with the document continues it. The latest deployment of each project comes last.
    """
    latest = {project.latest_deployment_id for project in records.projects}
    deployments = sorted(records.deployments, key=lambda each: each.id in latest)
    yield b'{"projects": ['
    yield from in_pieces(map(write_project, records.projects))
    yield b'],\n"deployments": ['
    yield from in_pieces(write_deployment(each, now) for each in deployments)
    yield b"]}\n"


def write_project(project: Project) -> bytes:
    member = f'"latest_deployment_id": {quoted(project.latest_deployment_id)}, '.encode()
    return project.representation[:-1].replace(member, b"", 1)


def write_deployment(deployment: Deployment, now: datetime) -> bytes:
    stages = deployment.rest_of_timeline(now)
    document: dict[str, Any] = {"id": deployment.id, "project_id": deployment.project_id}
    if len(stages) == 1:
        document["created_at"] = timestamp(deployment.created_at)
        document["status"] = stages[0].status
    else:
        document["timeline"] = [
            {"status": stage.status} | ({} if stage.seconds is None else {"seconds": stage.seconds})
            for stage in stages
        ]
    return quoted(document).encode()


def in_pieces(items: Iterator[bytes], size: int = 500) -> Iterator[bytes]:
    """The items with commas between them, `size` of them in a piece."""
    separator = b"\n"
    while piece := list(islice(items, size)):
        yield separator + b",\n".join(piece)
        separator = b",\n"
