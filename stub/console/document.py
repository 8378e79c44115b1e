"""Describes a world for the console."""

from datetime import datetime
from typing import Any

import records
from profiles.markers import DEFAULT_REQUEST
from profiles.profile import Profile
from web.strict_json import MEDIA_TYPE

from ..grease import axes
from ..world.world import Shared, World


def describe_world(
    world: World,
    shared: Shared,
    max_projects: int = 50,
    max_faults: int = 20,
    max_findings: int = 10,
) -> dict[str, Any]:
    """Describe a world for the page. The page reads the journal by itself.

    All statuses are those at the time of the clock. There are at most `max_findings` of a kind.
    """
    first, last, coverage = world.read_requests()
    projects = world.store.list_projects()
    newest = []
    for project in reversed(projects[-max_projects:]):
        deployment = world.store.get_deployment(project.latest_deployment_id)
        if deployment:
            newest.append((project, deployment))
    now, is_frozen = world.clock.read()
    like = shared.options.like
    statuses = dict.fromkeys(shared.options.statuses or coverage["deployment_statuses"])
    outcomes = shared.options.outcomes
    statuses.update(dict.fromkeys(status for _, status in outcomes))
    faults = [shorten_body(fault) for fault in world.faults.documents()]
    grease = world.grease.initial
    if not grease.parts:
        grease = axes.Grease(dict.fromkeys(axes.TIER_1, ()), grease.seed)
    return {
        "world": world.name,
        "instance": world.instance,
        "clock": {
            "now": records.timestamp(now),
            "ahead": world.clock.setting.advanced,
            "frozen": is_frozen,
            "tick": world.clock.setting.tick,
        },
        "projects": {
            "count": len(projects),
            "newest": [describe_project(project, latest, now) for project, latest in newest],
        },
        "statuses": list(statuses),
        "outcomes": [{"names": names, "status": status} for names, status in outcomes],
        "request": like.request.value if like else DEFAULT_REQUEST,
        "request_type": like.request_type if like else MEDIA_TYPE,
        "like": describe_profile(like) if like else None,
        "requests": {"first": first, "last": last},
        "faults": limit(faults, max_faults),
        "grease": {**world.grease.current.document(), "default": grease.document()},
        "coverage": {
            "operations": coverage["operations"],
            "met": coverage["met"],
            "of": coverage["of"],
            "unpromised": limit(coverage["unpromised"], max_findings),
            "violations": limit(coverage["violations"], max_findings),
        },
    }


def describe_profile(like: Profile) -> dict[str, Any]:
    """Describe a profile: its file, its date, and the statuses of a run."""
    ended = like.run[-1] if like.run else None
    return {
        "file": like.file,
        "observed_at": like.observed_at,
        "running": like.running,
        "ended": ended,
    }


def describe_project(
    project: records.Project, deployment: records.Deployment, now: datetime
) -> dict[str, Any]:
    """Describe a project and the status of its latest deployment."""
    assert deployment.created_at  # A store gives every deployment a time.
    return {
        "id": project.id,
        "name": project.name,
        "created_at": records.timestamp(project.created_at),
        "deployment": deployment.id,
        "status": deployment.status(now),
        "since": records.timestamp(deployment.created_at),
        "timeline": [stage._asdict() for stage in deployment.timeline],
    }


def limit(rows: list[Any], most: int) -> dict[str, Any]:
    """Return the number of rows, and the first of them: `{"count": 30, "first": […]}`."""
    return {"count": len(rows), "first": rows[:most]}


def shorten_body(fault: dict[str, Any], most: int = 120) -> dict[str, Any]:
    """Shorten the body in the JSON of a fault to `most` characters."""
    body = fault.get("body", "")
    if len(body) <= most:
        return fault
    return {**fault, "body": f"{body[:most]}…"}
