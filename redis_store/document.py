"""The document of a world: its records and the setting of its clock, in a hash of Redis.

The hash has these fields:

- `document`: JSON. A record is a list of its members: `["prj_1", "shop", "2026-01-05T09:…", …]`.
- `version`: the digest of the document. It shows changes, and that this package wrote the document.
- `projects`: the number of projects.
- `next`: the name of a program whose change failed, because another program wrote first. All
  programs give way to it once.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from records import Deployment, Project, Stage
from stub.world.clock import Setting
from stub.world.store import Records

parse_time: Callable[[str], datetime] = datetime.fromisoformat


class WorldDocument(NamedTuple):
    """The content of the hash.

    `version` is None if Redis has no document; `setting` is None if nobody has changed the clock.
    """

    version: bytes | None
    setting: Setting | None
    records: Records


def format_fields(setting: Setting | None, records: Records) -> dict[Any, Any]:
    """Return the fields `version`, `projects` and `document`."""
    parts = {
        "setting": setting,
        "projects": records.projects,
        "deployments": records.deployments,
    }
    text = json.dumps(parts, default=format_time).encode()
    return {"version": digest_text(text), "projects": len(records.projects), "document": text}


def parse_document(version: bytes, text: bytes) -> WorldDocument:
    """Parse a document. Raises `ValueError` if this package has not written it."""
    if version != digest_text(text):
        raise ValueError
    parts = json.loads(text)
    projects = [parse_project(*members) for members in parts["projects"]]
    deployments = [parse_deployment(*members) for members in parts["deployments"]]
    setting = parse_setting(*parts["setting"]) if parts["setting"] else None
    return WorldDocument(version, setting, Records(tuple(projects), tuple(deployments)))


def digest_text(text: bytes) -> bytes:
    return blake2b(text, digest_size=8).hexdigest().encode()


def format_time(value: datetime | timedelta) -> str | int:
    """Format a time as `2026-01-05T09:00:00+00:00`, and a duration in whole microseconds."""
    if isinstance(value, datetime):
        return value.isoformat()
    return value // timedelta(microseconds=1)


def parse_setting(frozen_at: str | None, ahead: int, *rest: float) -> Setting:
    time = parse_time(frozen_at) if frozen_at else None
    return Setting(time, timedelta(microseconds=ahead), *rest)


def parse_project(project_id: str, name: str, created_at: str, *rest: str) -> Project:
    return Project(project_id, name, parse_time(created_at), *rest)


def parse_deployment(
    deployment_id: str, project_id: str | None, created_at: str, timeline: list[list[Any]]
) -> Deployment:
    stages = [Stage(*stage) for stage in timeline]
    return Deployment(deployment_id, project_id, parse_time(created_at), tuple(stages))
