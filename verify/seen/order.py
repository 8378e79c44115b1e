"""Finds the order of a list."""

from . import inspection
from .guesses import has_word
from .places import Places


def find_order(places: Places) -> str:
    """Find the order of the list: `oldest first`, `newest first`, `another order`, or "".

    The times of the creations tell it, or else the position of the created project.
    """
    order = find_order_of_times(places)
    if order:
        return order
    for exchange in reversed(places.lists):
        items = places.list_items(exchange)
        created = places.get_created_item(exchange)
        if created is None or len(items) < 2:
            continue
        if created == items[0]:
            return "newest first"
        if created == items[-1]:
            return "oldest first"
    return ""


def find_order_of_times(places: Places) -> str:
    """Find the order by the first member with the time of a creation, such as `createdAt`."""
    items = places.last_items
    for path, value in inspection.list_leaves(inspection.get_first(items)):
        is_time = inspection.parse_seconds(value) is not None or inspection.is_number(value)
        if not is_time or not has_word(inspection.get_key(path), "created"):
            continue
        found = [inspection.find_value(item, path) for item in items]
        times = [inspection.parse_seconds(each) or each for each in found]
        if not all(map(inspection.is_number, times)) or len(set(times)) < 2:
            continue
        if times == sorted(times):
            return "oldest first"
        return "newest first" if times == sorted(times, reverse=True) else "another order"
    return ""
