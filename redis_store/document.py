"""The document of a world: its records and the setting of its clock, as the fields of a hash.

`document` is JSON: a list has the members of a record in their order. `version` is the digest of
it, which tells what has changed, and that this package has written it. `projects` is their number.
`next` names a program whose change another one came before: once, the others give way to it.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from records import Deployment, Project, Stage
from stub.world.clock import Setting
from stub.world.store import Records

MICROSECOND = timedelta(microseconds=1)

time_of: Callable[[str], datetime] = datetime.fromisoformat


class Document(NamedTuple):
    version: bytes | None  # None where Redis has no document
    setting: Setting | None  # None if nobody has changed the clock
    records: Records


def write_fields(setting: Setting | None, records: Records) -> dict[Any, Any]:
    parts = {
        "setting": setting,
        "projects": records.projects,
        "deployments": records.deployments,
    }
    text = json.dumps(parts, default=write_time).encode()
    return {"version": version_of(text), "projects": len(records.projects), "document": text}


def read_document(version: bytes, text: bytes) -> Document:
    """Raises `ValueError` for what this package has not written."""
    if version != version_of(text):
        raise ValueError
    parts = json.loads(text)
    projects = [read_project(*members) for members in parts["projects"]]
    deployments = [read_deployment(*members) for members in parts["deployments"]]
    setting = read_setting(*parts["setting"]) if parts["setting"] else None
    return Document(version, setting, Records(tuple(projects), tuple(deployments)))


def version_of(text: bytes) -> bytes:
    return blake2b(text, digest_size=8).hexdigest().encode()


def write_time(value: datetime | timedelta) -> str | int:
    if isinstance(value, datetime):
        return value.isoformat()
    return value // MICROSECOND  # a float of seconds would be inexact


def read_setting(frozen_at: str | None, ahead: int, *rest: float) -> Setting:
    time = time_of(frozen_at) if frozen_at else None
    return Setting(time, ahead * MICROSECOND, *rest)


def read_project(project_id: str, name: str, created_at: str, *rest: str) -> Project:
    return Project(project_id, name, time_of(created_at), *rest)


def read_deployment(
    deployment_id: str, project_id: str | None, created_at: str, timeline: list[list[Any]]
) -> Deployment:
    stages = [Stage(*stage) for stage in timeline]
    return Deployment(deployment_id, project_id, time_of(created_at), tuple(stages))
