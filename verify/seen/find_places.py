"""Finds the places of a service: the list, the created project, and a deployment.

A hint tells them: a profile, perhaps with only these places. Without a hint they are found by
value (the name that was sent, the id that a GET finds, the word that changes between reads), and
by the plain names `name`, `id`, `deployment`, `status` and `Location`. A place that is not certain
is not taken: `doubts` have the line of a profile to write.
"""

from . import find_deployment, find_projects, kinds
from .hints import Hints
from .places import Places
from .service_log import Log


def find_places(log: Log, hints: Hints | None = None) -> Places:
    """Find the places of a service by hints and by values."""
    hints = hints or Hints()
    found = kinds.find_kinds(log)
    with_json = [each for each in found if each.is_success and each.has_json]
    lists = [exchange for exchange in with_json if found[exchange] == kinds.LIST]
    reads = [exchange for exchange in with_json if found[exchange] == kinds.DEPLOYMENT]
    creations = [each for each in log.creations if found.get(each) == kinds.CREATE]
    creation = find_projects.choose_creation(creations, reads)
    later = [each for each in creations if creation and each.time > creation.time]
    places = Places(
        lists=tuple(lists), creation=creation, next_creation=later[0] if later else None
    )
    places = find_projects.add_name(places, hints)
    places = find_projects.add_items(places, hints)
    places = find_projects.add_created(places)
    places = find_projects.add_id_place(places, hints)
    places = find_projects.add_created_id(places, hints)
    places = find_deployment.add_deployment(places, reads, hints)
    return find_deployment.add_status(places, hints)
