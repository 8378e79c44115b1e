"""The records as they are in Redis: a JSON array of the members, in which a time is ISO 8601.

A text that is no record raises `ValueError` or `TypeError`.
"""

import json
from datetime import datetime

from records import Deployment, Project, Stage


def write(record: Project | Deployment) -> str:
    return json.dumps(record, default=write_time)


def write_time(moment: datetime) -> str:
    """In whole milliseconds."""
    return moment.isoformat(timespec="milliseconds")


def read_project(row: bytes) -> Project:
    project_id, name, created_at, latest, sent = json.loads(row)
    return Project(project_id, name, datetime.fromisoformat(created_at), latest, sent)


def read_deployment(row: bytes) -> Deployment:
    deployment_id, project_id, created_at, timeline = json.loads(row)
    stages = tuple(Stage(*each) for each in timeline)
    return Deployment(deployment_id, project_id, datetime.fromisoformat(created_at), stages)
