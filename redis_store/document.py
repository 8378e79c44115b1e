"""The document of a world: all its records and the setting of its clock, as one text in Redis.

The text is a digest of what follows, the number of the projects, and JSON, with a space between. A
digest tells what has changed, and that this package has written it. A list of JSON has the members
of a record in their order; times are ISO 8601.
"""

import json
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from records import Deployment, Project, Stage
from stub.clock import Setting
from stub.store import Records

DIGEST = 16  # bytes of a text, at its beginning
HEAD = 32  # bytes of a text, which have the digest and the number of projects


class Document(NamedTuple):
    """What is known of a world: the digest of its text, which is empty where there is none."""

    digest: bytes
    setting: Setting | None  # None if nobody has changed the clock
    records: Records


def write_document(setting: Setting | None, records: Records) -> bytes:
    clock = None
    if setting:
        frozen_at, ahead, advanced = setting
        parts = (ahead.days, ahead.seconds, ahead.microseconds)  # a float would be inexact
        clock = (frozen_at, parts, advanced)
    document = {
        "clock": clock,
        "projects": records.projects,
        "deployments": records.deployments,
    }
    text = json.dumps(document, default=datetime.isoformat)
    rest = f"{len(records.projects)} {text}".encode()
    return digest_of(rest) + b" " + rest


def read_document(text: bytes) -> Document:
    """Raises `ValueError` for a text that this package has not written."""
    digest, _, rest = text.partition(b" ")
    if digest != digest_of(rest):
        raise ValueError
    document = json.loads(rest.partition(b" ")[2])
    projects = [read_project(*row) for row in document["projects"]]
    deployments = [read_deployment(*row) for row in document["deployments"]]
    records = Records(tuple(projects), tuple(deployments))
    setting = document["clock"] and read_setting(*document["clock"])
    return Document(digest, setting, records)


def read_count(head: bytes) -> int:
    """The number of projects. Raises `ValueError` for what is no head of a document."""
    _, count, _ = head.split(b" ", 2)
    return int(count)


def digest_of(rest: bytes) -> bytes:
    return blake2b(rest, digest_size=DIGEST // 2).hexdigest().encode()


def read_setting(frozen_at: str | None, ahead: list[int], advanced: float) -> Setting:
    time = None if frozen_at is None else datetime.fromisoformat(frozen_at)
    return Setting(time, timedelta(*ahead), advanced)


def read_project(project_id: str, name: str, created_at: str, latest: str, sent: str) -> Project:
    return Project(project_id, name, datetime.fromisoformat(created_at), latest, sent)


def read_deployment(
    deployment_id: str, project_id: str | None, created_at: str, timeline: list[Any]
) -> Deployment:
    stages = tuple([Stage(*stage) for stage in timeline])
    return Deployment(deployment_id, project_id, datetime.fromisoformat(created_at), stages)
