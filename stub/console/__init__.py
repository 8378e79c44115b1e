"""The console: a page at `/` that shows one world, and the view of the world that it polls."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from records import Deployment, Project, timestamp
from web.strict_json import JSON, MEDIA_TYPE

from ..control.routes import common, open_world
from ..grease.axes import TIER_1, Grease
from ..world.rules import View
from ..world.world import Common, WorldState

if TYPE_CHECKING:
    from profiles.profile import Profile

POLL_PATH = "/_stub/console"
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
FILES = {each.name: each for each in Path(__file__).parent.iterdir() if each.suffix in MEDIA_TYPES}
CONSOLE_PATHS = ("/", *[f"{POLL_PATH}/{name}" for name in FILES])

# The limits of a view.
SHOWN_PROJECTS = 50
SHOWN_FAULTS = 20
SHOWN_FINDINGS = 10  # of a kind
MAX_TEXT = 120  # characters of the body of a fault

SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def static_file(file: str = "index.html") -> ResponseReturnValue:
    """A file of the page. It has no data; the page asks for these with the token."""
    if file not in FILES:
        raise NotFound
    suffix = Path(file).suffix
    content_type = f"{MEDIA_TYPES[suffix]}; charset=utf-8"
    return FILES[file].read_bytes(), 200, {**SAFE, "Content-Type": content_type}


def show_world() -> ResponseReturnValue:
    document = view(open_world(), common())
    return f"{json.dumps(document, ensure_ascii=False)}\n".encode(errors="replace"), 200, JSON


VIEWS: dict[str, View] = {
    "getPage": static_file,
    "getConsole": show_world,
    "getConsoleFile": static_file,
}


def view(world: WorldState, common: Common) -> dict[str, Any]:
    """What the page shows of a world, it reads the journal elsewhere.

    All statuses are those of one time, which is the time of the clock.
    """
    first, last, coverage = world.recorded()
    projects = world.store.list_projects()
    newest = []
    for project in reversed(projects[-SHOWN_PROJECTS:]):
        deployment = world.store.get_deployment(project.latest_deployment_id)
        if deployment:
            newest.append((project, deployment))
    now, is_frozen = world.clock.reading()
    from profiles.markers import DEFAULT_REQUEST

    like = common.options.like
    statuses = dict.fromkeys(common.options.words or coverage["deployment_statuses"])
    outcomes = common.options.outcomes
    statuses.update(dict.fromkeys(status for _, status in outcomes))
    faults = beginning(world.faults.documents(), SHOWN_FAULTS)
    grease = world.grease.initial
    if not grease.parts:
        grease = Grease(dict.fromkeys(TIER_1, ()), grease.seed)
    return {
        "world": world.name,
        "instance": world.instance,
        "clock": {
            "now": timestamp(now),
            "ahead": world.clock.setting.advanced,
            "frozen": is_frozen,
            "tick": world.clock.setting.tick,
        },
        "projects": {
            "count": len(projects),
            "newest": [status_of(project, deployment, now) for project, deployment in newest],
        },
        "statuses": list(statuses),
        "outcomes": [{"names": names, "status": status} for names, status in outcomes],
        "request": like.request if like else DEFAULT_REQUEST,
        "request_type": like.request_type if like else MEDIA_TYPE,
        "like": describe_profile(like) if like else None,
        "requests": {"first": first, "last": last},
        "faults": {**faults, "first": [short_fault(each) for each in faults["first"]]},
        "grease": {**world.grease.current.document(), "default": grease.document()},
        "coverage": {
            "operations": coverage["operations"],
            "met": coverage["met"],
            "of": coverage["of"],
            "unpromised": beginning(coverage["unpromised"], SHOWN_FINDINGS),
            "violations": beginning(coverage["violations"], SHOWN_FINDINGS),
        },
    }


def describe_profile(like: "Profile") -> dict[str, Any]:
    """The file of a profile, its day, and which statuses go on and which one has ended."""
    ended = like.run[-1] if like.run else None
    return {
        "file": like.file,
        "observed_at": like.observed_at,
        "running": like.running,
        "ended": ended,
    }


def beginning(rows: list[Any], most: int) -> dict[str, Any]:
    return {"count": len(rows), "first": rows[:most]}


def status_of(project: Project, deployment: Deployment, now: datetime) -> dict[str, Any]:
    """A project, with its latest deployment: its status, its stages, and since when they run."""
    assert deployment.created_at  # a store gives each deployment a time
    return {
        "id": project.id,
        "name": project.name,
        "created_at": timestamp(project.created_at),
        "deployment": deployment.id,
        "status": deployment.status(now),
        "since": timestamp(deployment.created_at),
        "timeline": [stage._asdict() for stage in deployment.timeline],
    }


def short_fault(fault: dict[str, Any]) -> dict[str, Any]:
    body = fault.get("body", "")
    if len(body) <= MAX_TEXT:
        return fault
    return {**fault, "body": f"{body[:MAX_TEXT]}…"}
