"""The records as text, as they are in Redis. A text that is no record raises `ValueError` or
`TypeError`.
"""

import json
import re
from datetime import datetime, timezone

from records import Deployment, Project, Stage

# As `json.dumps` writes it: the stages, of which the last one alone has no end.
TIMELINE = re.compile(r'\[(\["[\w-]+", \d[\d.e+-]*\], )*\["[\w-]+", null\]\]', re.ASCII)


def write_project(project: Project) -> str:
    created_at = write_time(project.created_at)  # a name has no control characters
    return "\n".join(
        (project.latest_deployment_id, project.id, created_at, project.name, project.sent)
    )


def read_project(text: bytes) -> Project:
    latest, project_id, created_at, name, sent = text.decode().split("\n", 4)
    if not isinstance(json.loads(sent), dict):
        raise ValueError
    return Project(project_id, name, read_time(created_at), latest, sent)


def write_deployment(deployment: Deployment) -> str:
    assert deployment.created_at is not None
    created_at, timeline = write_time(deployment.created_at), json.dumps(deployment.timeline)
    return "\n".join((deployment.project_id or "", deployment.id, created_at, timeline))


def read_deployment(text: bytes) -> Deployment:
    project_id, deployment_id, created_at, timeline = text.decode().split("\n")
    if not TIMELINE.fullmatch(timeline):
        raise ValueError
    stages = tuple(Stage(*each) for each in json.loads(timeline))
    return Deployment(deployment_id, project_id or None, read_time(created_at), stages)


def write_time(moment: datetime) -> str:
    """In whole milliseconds; of one length for all times, whose order is that of the texts."""
    return moment.isoformat(timespec="milliseconds")


def read_time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(timezone.utc)
