"""The order of a list."""

from .places import Places
from .values import at, first_of, is_number, last_name, scalars, seconds_of, words_of

OLDEST, NEWEST, ANOTHER = ("oldest first", "newest first", "another order")


def find_order(places: Places) -> str:
    """Find the order of the list by times, or else by the created project in it; "" if unknown."""
    order = find_order_of_times(places)
    if order:
        return order
    for exchange in reversed(places.lists):
        items = places.items_of(exchange)
        mine = places.created_item(exchange)
        if mine is None or len(items) < 2:
            continue
        if mine == items[0]:
            return NEWEST
        if mine == items[-1]:
            return OLDEST
    return ""


def find_order_of_times(places: Places) -> str:
    """Find the order of the list by the first member that is the time of a creation."""
    items = places.items_of(places.lists[-1]) if places.lists else []
    for path, value in scalars(first_of(items)):
        is_created = "created" in words_of(last_name(path))
        if not is_created or (seconds_of(value) is None and not is_number(value)):
            continue
        times = [seconds_of(at(item, path)) or at(item, path) for item in items]
        if not all(is_number(time) for time in times) or len(set(times)) < 2:
            continue
        if times == sorted(times):
            return OLDEST
        return NEWEST if times == sorted(times, reverse=True) else ANOTHER
    return ""
