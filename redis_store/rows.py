"""The records as text, as they are in Redis."""

import json
import re
from datetime import datetime, timedelta

from records import Deployment, Project, Stage, Timeline


def project_row(project: Project) -> str:
    created_at = time_text(project.created_at)  # a name has no control characters
    return "\n".join(
        (project.latest_deployment_id, project.id, created_at, project.name, project.sent)
    )


def read_project(text: bytes) -> Project:
    """Raises `ValueError` or `TypeError` for what is no project."""
    latest, project_id, created_at, name, sent = text.decode().split("\n", 4)
    if not isinstance(parse(sent), dict):
        raise ValueError
    return Project(project_id, name, read_time(created_at), latest, sent)


def deployment_row(deployment: Deployment) -> str:
    assert deployment.created_at is not None
    created_at, stages = time_text(deployment.created_at), timeline_text(deployment.timeline)
    return "\n".join((deployment.project_id or "", deployment.id, created_at, stages))


def timeline_text(timeline: Timeline) -> str:
    return json.dumps(timeline)


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


def time_text(moment: datetime) -> str:
    """Of one length for all times, whose order is that of the texts."""
    return moment.isoformat(timespec="microseconds")


def read_time(text: str | bytes) -> datetime:
    """Raises `ValueError` or `TypeError` for what is no time in UTC."""
    moment = datetime.fromisoformat(text if isinstance(text, str) else text.decode())
    if moment.utcoffset() != timedelta():
        raise ValueError
    return moment


def reject_constant(text: str) -> None:
    """NaN and Infinity are no JSON."""
    raise ValueError


parse = json.JSONDecoder(parse_constant=reject_constant).decode
