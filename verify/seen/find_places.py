"""Finds the places of a service: the list, the created project, and a deployment.

A hint tells them: a profile, perhaps with only these places. Without a hint they are found by
value (the name that was sent, the id that a GET finds, the word that changes between reads), and
by the plain names `name`, `id`, `deployment`, `status` and `Location`. A place that is not certain
is not taken: `doubts` have the line of a profile to write.
"""

from . import kinds
from .find_creation import add_created, add_created_id, add_id_path, add_name, choose_creation
from .find_deployment import add_deployment, add_status
from .find_list import add_items
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
    places = Places(lists=tuple(lists), creation=choose_creation(creations, reads))
    places = add_name(places, hints)
    places = add_items(places, hints)
    places = add_created(places)
    places = add_id_path(places, hints)
    places = add_created_id(places, hints)
    places = add_deployment(places, reads, hints)
    return add_status(places, hints)
