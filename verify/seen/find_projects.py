"""Finds the list and its order, and the created project: its creation, name, record and id."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from profiles import markers
from traffic import json_values
from web.validation import format_pointer

from . import candidates, guesses, inspection, kinds
from .hints import Hints
from .places import Place, Places
from .service_log import ServiceExchange

# The creation and its name


def choose_creation(
    creations: list[ServiceExchange], reads: list[ServiceExchange]
) -> ServiceExchange | None:
    """Choose the creation with the most states of its deployment, among equals the last."""
    bodies = defaultdict(set)
    for read in reads:
        bodies[read.deployment_id].add(read.response_body)

    def count_states(creation: ServiceExchange) -> int:
        location = creation.find_response_field("Location") or ""
        found = candidates.find_in_bodies([creation.body], location, None)
        return max((len(bodies[each.id]) for each in found if each.id in bodies), default=0)

    return max(reversed(creations), key=count_states, default=None)


def add_name(places: Places, hints: Hints) -> Places:
    """Add the name that was sent, and the request with a marker for it.

    Without a certain name in the request, the name is that of the response.
    """
    creation = places.creation
    if creation is None:
        return places
    sent = creation.request_json
    sent_texts = inspection.find_texts(sent) if isinstance(sent, dict) else {}
    texts = {path: text for path, text in sent_texts.items() if markers.is_through_objects(path)}
    later = [each for each in places.lists if each.sent_at >= creation.sent_at]
    path = find_sent_name(texts, hints, [each.body for each in (creation, *later[-1:])])
    if path is not None:
        request = json_values.replace_value(sent, path, markers.NAME)
        return replace(places, created_name=texts[path], request=request)
    if texts:
        line = f'"create": {{"request": {{"MEMBER": "{markers.NAME}"}}, "body": {{}}}}'
        places = places.add_doubt(kinds.CREATE, line, texts, sent)
    returned = inspection.find_texts(creation.body)
    return replace(places, created_name=inspection.get_called(returned, "name"))


def find_sent_name(
    texts: dict[json_values.Path, str], hints: Hints, bodies: Sequence[Any]
) -> json_values.Path | None:
    """Find the name in the texts of a request: `("name",)`.

    In this order it is the text at the hinted path, a text with the prefix of the script, the
    member `name`, the only text that the `bodies` have as a `name`, or the only one that they have.
    """
    hinted = markers.find_name_paths(hints.request) if hints.request is not None else []
    own = [path for path, text in texts.items() if text.startswith(kinds.NAME_PREFIX)]
    called = inspection.find_called(texts, "name")
    for path in (*hinted[:1], *own, called):
        if path in texts:
            return path
    returned = [item for body in bodies for item in inspection.find_texts(body).items()]
    names = {text for path, text in returned if inspection.get_key(path) == "name"}
    everything = {text for _, text in returned}
    for possible in (names, everything):
        shared = [path for path, text in texts.items() if text in possible]
        if len(shared) == 1:
            return shared[0]
    return None


# The list


def add_items(places: Places, hints: Hints) -> Places:
    """Add the path of the array of the projects in the lists."""
    if not places.lists:
        return places
    body = places.lists[-1].body
    hinted = hints.find_items()
    if hinted is not None:
        if isinstance(inspection.find_value(body, hinted), list):
            return replace(places, items_path=hinted)
        place = format_pointer(*hinted) or "the top"
        advice = f"no array is at {place}, where --like has the projects"
        return places.add_advice(kinds.LIST, advice)
    for exchange in reversed(places.lists):
        found = find_arrays(exchange.body, places.created_name)
        if len(found) == 1:
            return replace(places, items_path=found[0])
        if found:
            line = '"list": {"body": {"MEMBER": [{"name": "{project.name}"}]}}'
            return places.add_doubt(kinds.LIST, line, found, body)
    return places


def find_arrays(body: Any, name: str) -> list[json_values.Path]:
    """Find the arrays that may have the projects: `[("projects",)]`.

    It is the outermost array with the created name, in an object or else as an item. Without it,
    the candidates are the outermost arrays that have items with a plain name, or else objects, or
    else the empty arrays.
    """
    arrays = {
        path: value
        for path, value in json_values.walk(body)
        if isinstance(value, list) and markers.is_through_objects(path)
    }
    paths = sorted(arrays, key=len)
    for are_objects in (True, False):  # A list of names has no objects.
        for path in paths:
            items = [item for item in arrays[path] if isinstance(item, dict) == are_objects]
            if any(inspection.has_value(item, name) for item in items):
                return [path]
    plain = [path for path in paths if any(map(has_plain_name, arrays[path]))]
    of_objects = [path for path in paths if any(isinstance(each, dict) for each in arrays[path])]
    found = plain or of_objects or [path for path in paths if not arrays[path]]
    return [path for path in found if len(path) == len(found[0])]


def has_plain_name(item: Any) -> bool:
    """Return whether an item has a member `id` or `name`."""
    return isinstance(item, dict) and ("id" in item or "name" in item)


# The record and its id


def add_created(places: Places) -> Places:
    """Add the body of the response to the creation, unless it has other projects, too."""
    creation = places.creation
    if creation is None or not creation.has_json:
        return places
    others = []
    for exchange in places.lists:
        # In a later list without the created name, any item may be the created project.
        is_earlier = exchange.sent_at < creation.sent_at
        if is_earlier or places.get_created_item(exchange) is not None:
            others += places.list_others(exchange)
    records = [item for item in others if isinstance(item, dict)]
    for _, value in json_values.walk(creation.response_json):
        is_other = value in records or any(is_same_record(value, each) for each in records)
        if is_other or has_siblings(value, places.created_name):
            return places
    return replace(places, created=creation.body)


def is_same_record(value: Any, record: dict[str, Any]) -> bool:
    """Return whether an object is a record, by its id.

    An object with half of the members, or fewer, is a mention: `{"id": "prj_7", "name": "shop"}`.
    """
    if not isinstance(value, dict) or "id" not in value or value["id"] != record.get("id"):
        return False
    return 2 * len(record.keys() & value.keys()) > len(record)


def has_siblings(value: Any, name: str) -> bool:
    """Return whether an array, or a map, has projects of several names with the same members."""
    items = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(items, list):
        return False
    objects = [item for item in items if isinstance(item, dict)]
    named = [item for item in objects if name in item.values()]
    if len(named) != 1:
        return False
    alike = [item for item in objects if item.keys() == named[0].keys()]
    return len(alike) > 1


def add_id_place(places: Places, hints: Hints) -> Places:
    """Add the place of the id in a listed project."""
    hinted = hints.find_place_in_item(places.items_path, "project.id")
    if hinted is None and hints.has_name_as_id:
        hinted = hints.find_place_in_item(places.items_path, "project.name")
    if hinted is not None:
        return replace(places, id_place=hinted)
    created = places.latest_item
    if created is None:
        plain = find_record_id(inspection.get_first(places.other_items), "")
        return places if plain is None else replace(places, id_place=Place(plain))
    if inspection.is_id(created):  # In a list of names, there is no other value.
        return places
    found = find_ids(created, places.other_items, places.created, places.created_name)
    if len(found) == 1:
        return replace(places, id_place=Place(found[0]))
    body: Any = [{"MEMBER": "{project.id}"}]
    for name in reversed(places.items_path or ()):
        body = {name: body}
    line = f'"list": {json.dumps({"body": body})}'
    return places.add_doubt(kinds.LIST, line, found or list_ids(created), created)


def add_created_id(places: Places, hints: Hints) -> Places:
    """Add the id of the created project, from the list or from the response to the creation.

    Without a list and a member `id`, it is the only new value beside the name.
    """
    body = places.created
    hinted = hints.find_place("create", "project.id")
    possible = [
        places.find_id(places.latest_item),
        hinted.read(body) if hinted else None,
        inspection.find_value(body, find_record_id(body, places.created_name)),
    ]
    created_id = inspection.get_first(filter(inspection.is_id, possible))
    found = [] if created_id is not None or places.lists else find_new_ids(places)
    if len(found) == 1:
        created_id = inspection.find_value(body, found[0])
    elif found:
        line = '"create": {"body": {"MEMBER": "{project.id}"}}'
        places = places.add_doubt(kinds.CREATE, line, found, body)
    return replace(places, created_id=created_id)


def find_new_ids(places: Places) -> list[json_values.Path]:
    """Find the members beside the name in a creation that may be its id: `[("uid",)]`.

    The client did not send their values, and they are no constants of the service.
    """
    body, name = places.created, places.created_name
    sent = {str(value) for _, value in inspection.list_leaves(places.request)}
    named = [path for path, text in inspection.find_texts(body).items() if text == name]
    found = []
    for path in list_ids(body) if named else ():
        value = str(inspection.find_value(body, path))
        is_constant = guesses.is_constant(inspection.get_key(path), value)
        if path[:-1] == named[0][:-1] and value not in (name, *sent) and not is_constant:
            found.append(path)
    return found


def find_ids(item: Any, others: Sequence[Any], created: Any, name: str) -> list[json_values.Path]:
    """Find the members that may be the id of a listed project: `[("id",)]`.

    It is called `id`, or the response to the creation has it, too, and no other project does.
    """
    possible = list_ids(item)
    plain = find_record_id(item, name)
    if plain is not None:
        return [plain]
    returned = {
        str(value)
        for path, value in inspection.list_leaves(created)
        if markers.is_through_objects(path)
    }
    found = []
    for path in possible:
        value = inspection.find_value(item, path)
        is_called_name = inspection.get_key(path) == "name" and value == name
        is_returned = created is None or str(value) in returned
        is_repeated = any(inspection.find_value(other, path) == value for other in others)
        if is_returned and not is_called_name and not is_repeated:
            found.append(path)
    others = [path for path in found if inspection.find_value(item, path) != name]
    return others or found


def find_record_id(record: Any, name: str) -> json_values.Path | None:
    """Find the member `id` of the object that has the name, or of an object around it.

    `{"uid": "p-1", "name": "shop", "owner": {"id": 7}}` has none. Without the name it is the
    outermost `id`.
    """
    named = [path for path, text in inspection.find_texts(record).items() if text == name]
    ids = [path for path in list_ids(record) if inspection.get_key(path) == "id"]
    if not named:
        return inspection.get_first(ids)
    around = named[0][:-1]
    return max(
        (path for path in ids if around[: len(path) - 1] == path[:-1]), key=len, default=None
    )


def list_ids(item: Any) -> list[json_values.Path]:
    """List the members of a project that may be its id: `[("id",), ("slug",)]`."""
    leaves = inspection.list_leaves(item)
    paths = [path for path, value in leaves if candidates.is_plain_id(value)]
    return [
        path
        for path in paths
        if markers.is_through_objects(path) and not inspection.mentions_deployment(path)
    ]


# The order of the list


def find_order(places: Places) -> str:
    """Find the order of the list: `oldest first`, `newest first`, `another order`, or "".

    The times of the creations tell it, or else the position of the created project while it is the
    newest.
    """
    order = find_order_of_times(places)
    if order:
        return order
    later = places.next_creation
    for exchange in reversed(places.lists):
        items = places.list_items(exchange)
        created = places.get_created_item(exchange)
        is_newest = later is None or exchange.time < later.time
        if created is None or len(items) < 2 or not is_newest:
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
        if not is_time or not guesses.has_word(inspection.get_key(path), "created"):
            continue
        found = [inspection.find_value(item, path) for item in items]
        times = [inspection.parse_seconds(each) or each for each in found]
        has_one_form = all(map(inspection.is_number, times)) and len(set(map(type, found))) == 1
        if not has_one_form or len(set(times)) < 2:
            continue
        if times == sorted(times):
            return "oldest first"
        return "newest first" if times == sorted(times, reverse=True) else "another order"
    return ""
