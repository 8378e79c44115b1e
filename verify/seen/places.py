"""Finds the places of a service: the list, the name and the ids, a deployment and its status.

A hint tells them: a profile, perhaps with only these places. Without a hint they are found by
value (the name that was sent, the id that a GET finds, the word that changes between reads), and
by the plain names `name`, `id`, `deployment`, `status` and `Location`. A place that is not certain
is not taken: `doubts` have the line of a profile to write.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from profiles import markers
from profiles.markers import is_through_objects
from profiles.profile import Profile
from traffic import json_values
from web.validation import format_pointer

from . import candidates, inspection, kinds, status
from .service_log import NOTHING, Log, ServiceExchange


@dataclass(frozen=True)
class Hints:
    """The hints of a person: the id of a deployment, the body of a creation, and a profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None


class Doubt(NamedTuple):
    """A place that is not certain: the kind of the response, and a sentence with advice.

    `possible` are the paths that it may have: `/data (array), /items (array)`.
    """

    kind: str
    advice: str
    possible: str = ""


@dataclass(frozen=True)
class Places:
    """The places of a service. A place that was not found is None, "" or ().

    `creation` created the project that is followed. `followed` are the successful reads of its
    deployment, or of the deployment that a person named; `owner_id` and `owner_name` are those of
    its project. Paths are like `("data", "items")`. An id has the type that bodies have.
    """

    creation: ServiceExchange | None = None
    created: Any = NOTHING  # the body of its response, unless it has other projects, too
    request: Any = None  # the body of the creation, with the marker {project.name}
    created_id: Any = None
    created_name: str = ""
    lists: tuple[ServiceExchange, ...] = ()  # successful, with JSON
    items_path: json_values.Path | None = None  # the array of the projects in a list
    id_path: json_values.Path | None = None  # the id in an item
    followed: tuple[ServiceExchange, ...] = ()
    is_own: bool = True  # whether the followed deployment is the created one, or was named
    deployment_id: Any = None
    owner_id: Any = None
    owner_name: str = ""
    status_path: json_values.Path | None = None  # the status in a deployment
    is_sure: bool = False  # whether no other member may be the status
    doubts: tuple[Doubt, ...] = ()

    # The list

    def list_items(self, exchange: ServiceExchange) -> list[Any]:
        """Return the projects in a list, or `[]` without an array of projects."""
        found = inspection.find_value(exchange.body, self.items_path)
        return found if isinstance(found, list) else []

    @property
    def last_items(self) -> list[Any]:
        return self.list_items(self.lists[-1]) if self.lists else []

    @property
    def other_items(self) -> list[Any]:
        """The projects in the last list that are not the created project."""
        return self.list_others(self.lists[-1]) if self.lists else []

    def list_others(self, exchange: ServiceExchange) -> list[Any]:
        created = self.get_created_item(exchange)
        return [item for item in self.list_items(exchange) if item != created]

    def find_id(self, item: Any) -> Any:
        """Find the id of a listed project, or None."""
        found = inspection.find_value(item, self.id_path)
        return found if inspection.is_id(found) else None

    def find_name(self, item: Any) -> str:
        """Find the name of a listed project, or ""."""
        texts = inspection.find_texts(item)
        for path, text in inspection.find_texts(self.latest_item).items():
            if text == self.created_name and path in texts:
                return texts[path]
        return get_called(texts, "name")

    # The created project

    @cached_property
    def created_items(self) -> dict[ServiceExchange, Any]:
        """The created project in all lists, or None where it is missing."""
        return {each: find_created_item(self, self.list_items(each)) for each in self.lists}

    def get_created_item(self, exchange: ServiceExchange) -> Any:
        return self.created_items.get(exchange)

    @cached_property
    def latest_item(self) -> Any:
        """The created project in the last list that has it, or None."""
        found = [item for item in self.created_items.values() if item is not None]
        return found[-1] if found else None

    def split_body(self, exchange: ServiceExchange) -> list[Any]:
        """Return the body. A list becomes bodies of a single item: the created project, or all."""
        items = self.list_items(exchange) if exchange in self.created_items else []
        if not items or self.items_path is None:
            return [exchange.body]
        created = self.get_created_item(exchange)
        chosen = items if created is None else [created]
        return [
            json_values.replace_value(exchange.body, self.items_path, [item]) for item in chosen
        ]

    # The deployment

    def read_status(self, exchange: ServiceExchange) -> str:
        """Return the status of a deployment as a word: `queued`, or ""."""
        if self.status_path is None:
            return ""
        return status.read_words(self.status_path, [exchange.body, self.followed[-1].body])[0]

    @cached_property
    def words(self) -> list[str]:
        """The statuses of the created, or named, deployment in all reads."""
        return [self.read_status(each) for each in self.followed] if self.is_own else []


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
    places = add_ids(places, hints)
    places = add_deployment(places, reads, hints)
    return add_status(places, hints)


def add_doubt(
    places: Places,
    kind: str,
    line: str,
    paths: Iterable[json_values.Path],
    body: Any,
    max_paths: int = 5,
) -> Places:
    """Add a line to write in a profile, and the paths that may be the place."""
    shown = [
        f"{format_pointer(*path)} ({inspection.find_type(inspection.find_value(body, path))})"
        for path in paths
    ]
    possible = ", ".join(shown[:max_paths]) or "nothing like it"
    doubt = Doubt(kind, f"give --like FILE with {line}", possible)
    return replace(places, doubts=(*places.doubts, doubt))


# Hints


def find_hinted(hints: Hints, part: str, marker: str) -> json_values.Path | None:
    """Find the path of a marker in a part of the hinted profile: `("data", "id")`."""
    form = hints.profile.form(part) if hints.profile else None
    for path, value in json_values.walk(form.body) if form else ():
        found = markers.parse_whole_marker(value)
        is_plain = found and found.form in ("", "text") and markers.CHOICE not in path
        if found and found.name == marker and is_plain:
            return path
    return None


def find_hinted_in_items(places: Places, hints: Hints, marker: str) -> json_values.Path | None:
    path = find_hinted(hints, "list", marker)
    return path if path is None else path[len(places.items_path or ()) + 1 :]


def find_hinted_status(hints: Hints) -> json_values.Path | None:
    """Find the path of the status in the hinted profile: of its marker, or of a choice.

    The choice has the statuses as numbers or booleans: `{"true": true, "false": false}`.
    """
    path = find_hinted(hints, "deployment", "deployment.status")
    form = hints.profile.form("deployment") if hints.profile else None
    if path is not None or form is None:
        return path
    for path, value in json_values.walk(form.body):
        if markers.is_choice(value) and markers.CHOICE not in path:
            words = [item for item in value[markers.CHOICE].items() if item[0]]
            if words and all(status.format_word(own) == word for word, own in words):
                return path
    return None


# The creation and its name


def choose_creation(
    creations: list[ServiceExchange], reads: list[ServiceExchange]
) -> ServiceExchange | None:
    """Choose the creation with the most states of its deployment, of equals the last."""
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
    texts = {path: text for path, text in sent_texts.items() if is_through_objects(path)}
    later = [each for each in places.lists if each.sent_at >= creation.sent_at]
    path = find_sent_name(texts, hints, [each.body for each in (creation, *later[-1:])])
    if path is not None:
        request = json_values.replace_value(sent, path, markers.NAME)
        return replace(places, created_name=texts[path], request=request)
    if texts:
        line = f'"create": {{"request": {{"MEMBER": "{markers.NAME}"}}, "body": {{}}}}'
        places = add_doubt(places, kinds.CREATE, line, texts, sent)
    returned = inspection.find_texts(creation.body)
    return replace(places, created_name=get_called(returned, "name"))


def find_sent_name(
    texts: dict[json_values.Path, str], hints: Hints, bodies: Sequence[Any]
) -> json_values.Path | None:
    """Find the name in the texts of a request: `("name",)`.

    A hint tells it, the prefix of the script, the name `name`, or the response or a later list
    (`bodies`) if it repeats only this text, or this one as a `name`.
    """
    hinted = markers.find_name_paths(hints.request) if hints.request is not None else []
    own = [path for path, text in texts.items() if text.startswith(kinds.NAME_PREFIX)]
    called = find_called(texts, "name")
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


def find_called(paths: Iterable[json_values.Path], name: str) -> json_values.Path | None:
    """Find the outermost member of a plain name, through objects."""
    return inspection.get_first(
        path for path in paths if inspection.get_key(path) == name and is_through_objects(path)
    )


def get_called(texts: Mapping[json_values.Path, str], name: str) -> str:
    """Return the text of the outermost member of a plain name, or ""."""
    path = find_called(texts, name)
    return "" if path is None else texts[path]


# The list


def add_items(places: Places, hints: Hints) -> Places:
    """Add the path of the array of the projects in the lists."""
    if not places.lists:
        return places
    body = places.lists[-1].body
    form = hints.profile.form("list") if hints.profile else None
    hinted = inspection.get_first(markers.find_project_arrays(form.body)) if form else None
    if hinted is not None:
        if isinstance(inspection.find_value(body, hinted), list):
            return replace(places, items_path=hinted)
        place = format_pointer(*hinted) or "the top"
        doubt = Doubt(kinds.LIST, f"no array is at {place}, where --like has the projects")
        return replace(places, doubts=(*places.doubts, doubt))
    found: list[json_values.Path] = []
    for exchange in (places.lists[-1], *places.lists[:-1]):
        found = found or find_arrays(exchange.body, places.created_name)
    if len(found) == 1:
        return replace(places, items_path=found[0])
    line = '"list": {"body": {"MEMBER": [{"name": "{project.name}"}]}}'
    return add_doubt(places, kinds.LIST, line, found, body) if found else places


def find_arrays(body: Any, name: str) -> list[json_values.Path]:
    """Find the arrays that may have the projects: `[("projects",)]`.

    It is the outermost array with the created name. Without it, the candidates are the outermost
    arrays that have items with a plain name, or else the empty arrays.
    """
    paths = [path for path, value in json_values.walk(body) if isinstance(value, list)]
    paths = [path for path in sorted(paths, key=len) if is_through_objects(path)]
    arrays = {path: inspection.find_value(body, path) for path in paths}
    named = [path for path in paths if any(has_value(item, name) for item in arrays[path])]
    if named and name:
        return named[:1]
    plain = [path for path in paths if any(map(has_plain_name, arrays[path]))]
    found = plain or [path for path in paths if not arrays[path]]
    return [path for path in found if len(path) == len(found[0])]


def has_plain_name(item: Any) -> bool:
    return isinstance(item, dict) and not item.keys().isdisjoint(("id", "name"))


def find_created_item(places: Places, items: list[Any]) -> Any:
    """Find the created project in an array, by its name or else by its id."""
    if places.creation is None:
        return None
    name = places.created_name
    for value, key in ((name, "name"), (name, ""), (places.created_id, "")):
        for item in items:
            if has_value(item, value, key):
                return item
    return None


def has_value(item: Any, value: Any, key: str = "") -> bool:
    """Return whether an object has a text, or an integer that is written so.

    With a key only members of this name are looked at.
    """
    if not inspection.is_id(value):
        return False
    for path, leaf in inspection.list_leaves(item):
        is_member = path and is_through_objects(path) and key in ("", inspection.get_key(path))
        if is_member and inspection.is_id(leaf) and str(leaf) == str(value):
            return True
    return False


# The created project


def add_created(places: Places) -> Places:
    """Add the body of the response to the creation, unless it has other projects, too."""
    creation = places.creation
    if creation is None:
        return places
    others = []
    for exchange in places.lists:
        # In a later list without the created name, any item may be the created project.
        is_earlier = exchange.sent_at < creation.sent_at
        if is_earlier or places.get_created_item(exchange) is not None:
            others += places.list_others(exchange)
    records = {str(item["id"]): item for item in others if isinstance(item, dict) and "id" in item}
    for _, value in json_values.walk(creation.response_json):
        is_other = isinstance(value, dict) and (value in others or is_record_in(value, records))
        if is_other or has_siblings(value, places.created_name):
            return places
    return replace(places, created=creation.body)


def is_record_in(value: dict[str, Any], records: dict[str, dict[str, Any]]) -> bool:
    """Return whether an object is one of the records by their ids. One with half of the
    members, or fewer, is a mention: `{"id": "prj_7", "name": "shop"}`.
    """
    record = records.get(str(value.get("id")))
    return record is not None and 2 * len(record.keys() & value.keys()) > len(record)


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


def add_ids(places: Places, hints: Hints) -> Places:
    """Add the path of the id in a listed project, and the id of the created project."""
    hinted = find_hinted_in_items(places, hints, "project.id")
    created = places.latest_item
    if hinted is not None:
        places = replace(places, id_path=hinted)
    elif created is not None:
        found = find_ids(created, places.other_items, places.created, places.created_name)
        if len(found) == 1:
            places = replace(places, id_path=found[0])
        else:
            line = '"list": {"body": … [{"MEMBER": "{project.id}"}]}'
            places = add_doubt(places, kinds.LIST, line, found or list_ids(created), created)
    else:
        called = find_called(list_ids(inspection.get_first(places.other_items)), "id")
        places = replace(places, id_path=called)
    body = places.created
    called = find_called(
        (path for path, value in inspection.list_leaves(body) if inspection.is_id(value)), "id"
    )
    ids = [places.find_id(created)]
    ids += [
        inspection.find_value(body, path)
        for path in (find_hinted(hints, "create", "project.id"), called)
    ]
    return replace(places, created_id=inspection.get_first(filter(inspection.is_id, ids)))


def find_ids(item: Any, others: Sequence[Any], created: Any, name: str) -> list[json_values.Path]:
    """Find the members that may be the id of a listed project: `[("id",)]`.

    It is called `id`, or the response to the creation has it, too, and no other project does.
    """
    possible = list_ids(item)
    plain = find_called(possible, "id")
    if plain is not None:
        return [plain]
    shared = {
        str(value) for path, value in inspection.list_leaves(created) if is_through_objects(path)
    }
    found = []
    for path in possible:
        value = inspection.find_value(item, path)
        is_name = inspection.get_key(path) == "name" and value == name
        is_shared = created is NOTHING or str(value) in shared
        is_repeated = any(inspection.find_value(other, path) == value for other in others)
        if is_shared and not is_name and not is_repeated:
            found.append(path)
    return inspection.prefer(found, lambda path: inspection.find_value(item, path) != name)


def list_ids(item: Any) -> list[json_values.Path]:
    """List the members of a project that may be its id: `[("id",), ("slug",)]`."""
    leaves = inspection.list_leaves(item)
    paths = [path for path, value in leaves if candidates.is_plain_id(value)]
    return [
        path
        for path in paths
        if is_through_objects(path) and not inspection.mentions_deployment(path)
    ]


# Deployments


def find_candidates(places: Places, hints: Hints | None = None) -> list[candidates.Candidate]:
    """Find the values that may be the id of the created deployment, the likeliest first.

    Without a created project, they are those of listed projects.
    """
    hints = hints or Hints()
    in_items = find_hinted_in_items(places, hints, "deployment.id")
    if places.creation is None:
        items = places.last_items
        return candidates.find_in_bodies(
            items, "", places.find_id(inspection.get_first(items)), [in_items]
        )
    bodies = [places.created, places.latest_item]
    location = places.creation.find_response_field("Location") or ""
    paths = [find_hinted(hints, "create", "deployment.id"), in_items]
    found = candidates.find_in_bodies(bodies, location, places.created_id, paths)
    earlier = [each for each in places.lists if each.sent_at < places.creation.sent_at]
    items = [item for exchange in earlier for item in places.list_items(exchange)]
    known = {str(leaf) for _, leaf in inspection.list_leaves(items)}
    return [each for each in found if each.id not in known]


def add_deployment(places: Places, reads: list[ServiceExchange], hints: Hints) -> Places:
    """Add the reads of a deployment: the named, the created, or the first that was read.

    Its id is a number if a body has it as a number.
    """
    by_id: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange in reads:
        by_id[exchange.deployment_id].append(exchange)
    created = find_created_deployment(places, by_id, hints) if places.creation else ""
    named = hints.deployment if hints.deployment in by_id else ""
    chosen = named or created or inspection.get_first(by_id)
    if chosen is None:
        return places
    body = by_id[chosen][-1].body
    owner_id, owner_name = find_owner(places, chosen, body)
    bodies = [body]
    if chosen == created:
        owner_id, owner_name = places.created_id, places.created_name
        bodies = [body, places.latest_item, places.created]
    values = [value for each in bodies for _, value in inspection.list_leaves(each)]
    is_integer = any(type(value) is int and str(value) == chosen for value in values)
    return replace(
        places,
        followed=tuple(by_id[chosen]),
        is_own=chosen in (named, created),
        deployment_id=int(chosen) if is_integer else chosen,
        owner_id=owner_id,
        owner_name=owner_name,
    )


def find_created_deployment(
    places: Places, by_id: dict[str, list[ServiceExchange]], hints: Hints
) -> str:
    """Find the id of the created deployment among those that were read, or "".

    It is a candidate, or its body has the id or the name of the created project.
    """
    for candidate in find_candidates(places, hints):
        if candidate.id in by_id:
            return candidate.id
    own = {
        str(value) for value in (places.created_id, places.created_name) if inspection.is_id(value)
    }
    for deployment_id, exchanges in by_id.items():
        values = {str(value) for _, value in inspection.list_leaves(exchanges[-1].body)}
        if own & values:
            return deployment_id
    return ""


def find_owner(places: Places, deployment_id: str, body: Any) -> tuple[Any, str]:
    """Find the id and the name of the listed project of a deployment: `("prj_1", "shop")`.

    The body has them, or the project has the id of the deployment. Else they are None and "".
    """
    values = {str(value) for _, value in inspection.list_leaves(body) if inspection.is_id(value)}
    for item in places.last_items:
        item_id, name = places.find_id(item), places.find_name(item)
        own = {str(item_id), name} - {"None", ""}
        if own & values or candidates.has_deployment(item, deployment_id):
            return item_id, name
    return None, ""


def add_status(places: Places, hints: Hints) -> Places:
    """Add the path of the status in the deployment."""
    bodies = [exchange.body for exchange in places.followed]
    if not bodies:
        return places
    hinted = find_hinted_status(hints)
    if hinted is not None:
        return replace(places, status_path=hinted, is_sure=True)
    found, is_sure = status.find_status(bodies)
    if len(found) == 1:
        return replace(places, status_path=found[0], is_sure=is_sure)
    line = '"deployment": {"body": {"MEMBER": "{deployment.status}"}}'
    seen = found or [path for path, _ in inspection.list_leaves(bodies[-1])]
    return add_doubt(places, kinds.DEPLOYMENT, line, seen, bodies[-1])


def list_places(places: Places) -> Iterator[str]:
    """List the places that were found: `the status at /status`."""
    found = {
        "the list": places.items_path,
        "the id in it": places.id_path,
        "the status": places.status_path,
    }
    for name, path in found.items():
        if path is not None:
            yield f"{name} at {format_pointer(*path) or 'the whole body'}"
