"""The records as text, as they are in Redis."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from records import Deployment, Project, Stage, Timeline


def write_project(project: Project) -> str:
    text = project_text(project.name, project.created_at, project.sent)
    return f"{project.latest_deployment_id}\n{project.id}\n{text}"


def project_text(name: str, created_at: datetime, sent: str) -> str:
    return f"{created_at.isoformat()}\n{name}\n{sent}"  # a name has no control characters


def read_project(text: bytes) -> Project:
    latest, project_id, created_at, name, sent = text.decode().split("\n", 4)
    return Project(project_id, name, datetime.fromisoformat(created_at), latest, sent)


def write_deployment(deployment: Deployment) -> str:
    assert deployment.created_at is not None
    text = deployment_text(deployment.created_at, deployment.timeline)
    return f"{deployment.project_id or ''}\n{deployment.id}\n{text}"


def deployment_text(created_at: datetime, timeline: Timeline) -> str:
    stages = [[stage.status, stage.seconds] for stage in timeline]
    return f"{created_at.isoformat()}\n{json.dumps(stages)}"


def read_deployment(text: bytes) -> Deployment:
    project_id, deployment_id, created_at, stages = text.decode().split("\n")
    timeline = tuple(Stage(status, seconds) for status, seconds in json.loads(stages))
    moment = datetime.fromisoformat(created_at)
    return Deployment(deployment_id, project_id or None, moment, timeline)


def places(projects: Sequence[Project], start: int) -> dict[Any, Any]:
    """The entries of the index for projects of which the first is at this place."""
    fields: dict[Any, Any] = {}
    for place, each in enumerate(projects, start):
        fields[f"id {each.id}"] = fields[f"name {each.name}"] = place
    return fields
