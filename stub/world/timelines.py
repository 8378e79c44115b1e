"""The timelines of deployments: by the name of their project, and what is left of one."""

from collections.abc import Callable, Sequence
from datetime import datetime

from records import STATUSES, Deployment, Stage, Timeline, make_timeline
from web.patterns import matches

TimelineFor = Callable[[str], Timeline]
"""Returns the timeline of a deployment that POST queues, for the name of its project."""


def timelines_of(
    pace: float,
    statuses: Sequence[str] = STATUSES,
    outcomes: Sequence[tuple[str, str]] = (),
) -> TimelineFor:
    """The timelines of deployments, each with the outcome of the first pattern that the name of the
    project matches: a shell pattern and a last status. Without one they end as the statuses do.
    """
    usual = make_timeline(pace, statuses)
    chosen = [(pattern, (*usual[:-1], Stage(word))) for pattern, word in outcomes]

    def timeline_for(name: str) -> Timeline:
        for pattern, timeline in chosen:
            if matches(pattern, name):
                return timeline
        return usual

    return timeline_for


def rest_of_timeline(deployment: Deployment, now: datetime) -> Timeline:
    """The current stage, shortened by its age, and the later ones."""
    index, age = deployment.stage(now)
    stage, *later = deployment.timeline[index:]
    if stage.seconds is None:
        return (stage,)
    return Stage(stage.status, round(stage.seconds - age, 6)), *later
