"""The timelines of the deployments that a world queues."""

from collections.abc import Callable, Sequence

import records
from web.patterns import matches

TimelineFor = Callable[[str], records.Timeline]
"""Returns the timeline of a queued deployment for the name of its project: `"demo-1"`."""


def plan_timelines(
    pace: float,
    statuses: Sequence[str] = records.STATUSES,
    outcomes: Sequence[tuple[str, str]] = (),
) -> TimelineFor:
    """Return the function that chooses a timeline.

    An outcome is a shell pattern of names, and a last status: `("fail-*", "failed")`. The first
    matching pattern decides. By default a deployment ends in the last of the statuses.
    """
    usual = records.make_timeline(pace, statuses)
    chosen = [(pattern, (*usual[:-1], records.Stage(status))) for pattern, status in outcomes]

    def timeline_for(name: str) -> records.Timeline:
        for pattern, timeline in chosen:
            if matches(pattern, name):
                return timeline
        return usual

    return timeline_for
