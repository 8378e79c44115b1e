"""The sample with the ids and the statuses of a profile."""

from collections.abc import Container
from itertools import cycle
from random import Random

import records
from profiles.ids import choose_base
from profiles.profile import Profile

from .world import seed
from .world.ids import make_unused_id
from .world.store import AT_START


def make_sample(profile: Profile | None) -> seed.Seed:
    """Make the sample. With a profile it has ids and statuses of the service.

    They are the same in every run, and there is a deployment in every status.
    """
    sample = seed.read_sample()
    if profile is None:
        return sample
    source = Random(0)
    ids: dict[str | None, str] = {}  # key: id in the plain sample
    projects = []
    for project in sample.projects:
        own = str(project.id)
        ids[own] = make_sample_id(profile, source, "projects", own, project.name, "", ids.values())
        projects.append(project._replace(id=ids[own]))
    names = {str(project.id): project.name for project in projects}
    deployments: dict[str, records.Deployment] = {}
    for each in pin_deployments(profile, sample):
        owner = ids[each.project_id]
        name = names[owner]
        made = make_sample_id(profile, source, "deployments", each.id, name, owner, deployments)
        deployments[made] = each._replace(id=made, project_id=owner)
    return seed.Seed(tuple(projects), tuple(deployments.values()))


def pin_deployments(profile: Profile, sample: seed.Seed) -> list[records.Deployment]:
    """Make a deployment in every status of a profile, and at least a deployment for every project.

    If the profile has no statuses, these are the deployments of the plain sample.
    """
    if not profile.run:
        return list(sample.deployments)
    owners = [project.id for project in sample.projects]
    # The first project gets the last status, since its latest deployment comes last.
    statuses = list(reversed(profile.run))
    while len(statuses) < len(owners):
        statuses.append(statuses[0])
    pinned: list[records.Deployment] = []
    for status, owner in zip(statuses, cycle(owners), strict=False):
        pinned.insert(0, records.Deployment("", owner, AT_START, (records.Stage(status),)))
    return pinned


def make_sample_id(
    profile: Profile,
    source: Random,
    kind: str,
    own: str,
    name: str,
    owner: str,
    taken: Container[str],
) -> str:
    """Make an unused id in the form of a profile. Without a form, it is `own` or a random id.

    `name` is the name of the project. `owner` is the id of the project of a deployment.
    """
    form = profile.ids.get(kind)
    if form is None:
        return own or f"dpl_{source.getrandbits(64):016x}"

    def make_id(prefix: str, name: str, project_id: str, attempt: int) -> str:
        return form.make(source, choose_base(form, name, project_id), attempt)

    return make_unused_id(make_id, taken, kind, name, owner)
