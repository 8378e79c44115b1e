"""The order of a list."""

from .guesses import has_word
from .places import Places
from .values import (
    find_value,
    get_first,
    get_key,
    is_number,
    list_leaves,
    parse_seconds,
)

OLDEST, NEWEST, ANOTHER = ("oldest first", "newest first", "another order")


def find_order(places: Places) -> str:
    """Find the order of the list by times, or else by the created project in it; "" if unknown."""
    order = find_order_of_times(places)
    if order:
        return order
    for exchange in reversed(places.lists):
        items = places.list_items(exchange)
        mine = places.get_created_item(exchange)
        if mine is None or len(items) < 2:
            continue
        if mine == items[0]:
            return NEWEST
        if mine == items[-1]:
            return OLDEST
    return ""


def find_order_of_times(places: Places) -> str:
    """Find the order of the list by the first member that is the time of a creation."""
    items = places.list_items(places.lists[-1]) if places.lists else []
    for path, value in list_leaves(get_first(items)):
        is_created = has_word(get_key(path), "created")
        if not is_created or (parse_seconds(value) is None and not is_number(value)):
            continue
        times = [parse_seconds(find_value(item, path)) or find_value(item, path) for item in items]
        if not all(is_number(time) for time in times) or len(set(times)) < 2:
            continue
        if times == sorted(times):
            return OLDEST
        return NEWEST if times == sorted(times, reverse=True) else ANOTHER
    return ""
