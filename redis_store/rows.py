"""The records as text, as they are in Redis."""

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from records import Deployment, Project, Stage, Timeline


def project_row(project: Project) -> str:
    text = project_text(project.name, project.created_at, project.sent)
    return f"{project.latest_deployment_id}\n{project.id}\n{text}"


def project_text(name: str, created_at: datetime, sent: str) -> str:
    return f"{created_at.isoformat()}\n{name}\n{sent}"  # a name has no control characters


def read_project(text: bytes) -> Project:
    """Raises `ValueError` or `TypeError` for what is no project."""
    latest, project_id, created_at, name, sent = text.decode().split("\n", 4)
    if not isinstance(parse(sent), dict):
        raise ValueError
    return Project(project_id, name, read_time(created_at), latest, sent)


def deployment_row(deployment: Deployment) -> str:
    assert deployment.created_at is not None
    text = deployment_text(deployment.created_at, deployment.timeline)
    return f"{deployment.project_id or ''}\n{deployment.id}\n{text}"


def deployment_text(created_at: datetime, timeline: Timeline) -> str:
    stages = [[stage.status, stage.seconds] for stage in timeline]
    return f"{created_at.isoformat()}\n{json.dumps(stages)}"


def read_deployment(text: bytes) -> Deployment:
    """Raises `ValueError` or `TypeError` for what is no deployment."""
    project_id, deployment_id, created_at, stages = text.decode().split("\n")
    timeline = tuple(Stage(status, seconds) for status, seconds in parse(stages))
    *running, last = timeline
    if last.seconds is not None or not all(each.seconds >= 0 for each in running):  # type: ignore[operator]
        raise ValueError
    if not all(re.fullmatch("[a-z0-9_-]+", each.status) for each in timeline):
        raise ValueError
    return Deployment(deployment_id, project_id or None, read_time(created_at), timeline)


def read_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta():
        raise ValueError
    return moment


def reject_constant(text: str) -> None:
    """NaN and Infinity are no JSON."""
    raise ValueError


parse = json.JSONDecoder(parse_constant=reject_constant).decode


def places(projects: Sequence[Project], start: int) -> dict[Any, Any]:
    """The entries of the index for projects of which the first is at this place."""
    fields: dict[Any, Any] = {}
    for place, each in enumerate(projects, start):
        fields[f"id {each.id}"] = fields[f"name {each.name}"] = place
    return fields
