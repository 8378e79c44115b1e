"""Finds where a service has what: the list, the name and the ids, a deployment and its status.

A hint says it: a profile, also one with these places alone. Else it is found by value (the name
that was sent, the id whose GET works, the word that changes between reads) and by the plain names
`name`, `id`, `deployment`, `status` and `Location`. What is not certain is not taken: `doubts`
have the line of a profile to write.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from profiles.markers import (
    CHOICE,
    NAME,
    find_name_paths,
    find_project_arrays,
    is_choice,
    is_through_objects,
    parse_whole_marker,
)
from profiles.profile import Profile
from traffic.json_values import Path, replace_value, walk
from web.validation import format_pointer

from .candidates import Candidate as Candidate
from .candidates import find_in_bodies, names_deployment
from .exchange import NOTHING, Log, ServiceExchange
from .kinds import CREATE, DEPLOYMENT, LIST, NAME_PREFIX, find_kinds
from .status import find_status, word_of, words_at
from .values import (
    find_texts,
    find_type,
    find_value,
    get_first,
    get_key,
    is_id,
    list_leaves,
    mentions_deployment,
    parse_seconds,
    prefer,
)

MAX_SHOWN = 5  # candidates in a doubt


@dataclass(frozen=True)
class Hints:
    """What a person has said: a deployment, the body of a creation, and a profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None


@dataclass(frozen=True)
class Places:
    """Where a service has what; None, "" and () are not found.

    `creation` is that of the project that is followed, `followed` are the successful reads of its
    deployment, or of the one that a person has named: `owner_id` and `owner_name` are of the
    project of that one. An id is of the type that it has in its body.
    """

    creation: ServiceExchange | None = None
    created: Any = NOTHING  # what its response shows, unless that has other projects, too
    request: Any = None  # the body of the creation, with the marker {project.name}
    created_id: Any = None
    created_name: str = ""
    lists: tuple[ServiceExchange, ...] = ()  # the successful ones that are JSON
    items_path: Path | None = None  # of the array of the projects, in a list
    id_path: Path | None = None  # in an item
    followed: tuple[ServiceExchange, ...] = ()
    is_own: bool = True  # whether the followed deployment is the created one, or was named
    deployment_id: Any = None
    owner_id: Any = None
    owner_name: str = ""
    status_path: Path | None = None  # in a deployment
    is_sure: bool = False  # whether no other place of a deployment may be that of its status
    doubts: tuple[tuple[str, str], ...] = ()  # a kind of response, and what to write for it

    # The list

    def list_items(self, exchange: ServiceExchange) -> list[Any]:
        """Return the projects in a list, none if it has no array of them."""
        found = find_value(exchange.seen, self.items_path)
        return found if isinstance(found, list) else []

    def count_items(self, exchange: ServiceExchange) -> int:
        """Return how many projects a list has, also if not all of them are read."""
        found = find_value(exchange.response_json, self.items_path)
        return len(found) if isinstance(found, list) else 0

    def find_id(self, item: Any) -> Any:
        """Return the id of a listed project, None if it has none."""
        found = find_value(item, self.id_path)
        return found if is_id(found) else None

    def find_name(self, item: Any) -> str:
        """Return the name of a listed project, "" if it has none."""
        texts = find_texts(item)
        mine = [path for path, text in find_texts(self.latest_item).items() if self.is_name(text)]
        path = get_first([path for path in mine if path in texts]) or find_called(texts, "name")
        return texts.get(path or ("",), "")

    def is_name(self, text: str) -> bool:
        return text == self.created_name != ""

    # The created project

    @cached_property
    def created_items(self) -> dict[ServiceExchange, Any]:
        """The created project in each of the lists, None if it is not there."""
        return {each: find_created_item(self, self.list_items(each)) for each in self.lists}

    def get_created_item(self, exchange: ServiceExchange) -> Any:
        return self.created_items.get(exchange)

    @cached_property
    def latest_item(self) -> Any:
        """The created project as it was listed last, None if it was not."""
        found = [item for item in self.created_items.values() if item is not None]
        return found[-1] if found else None

    @property
    def other_items(self) -> list[Any]:
        """The projects in the last list that are not the created project."""
        return self.list_others(self.lists[-1]) if self.lists else []

    def list_others(self, exchange: ServiceExchange) -> list[Any]:
        """Return the listed projects that are not the created one."""
        mine = self.get_created_item(exchange)
        return [item for item in self.list_items(exchange) if item != mine]

    def split_body(self, is_list: bool, exchange: ServiceExchange) -> list[Any]:
        """Return the body; that of a list with the created project alone, or each other one."""
        items = self.list_items(exchange) if is_list else []
        if not items or self.items_path is None:
            return [exchange.seen]
        mine = self.get_created_item(exchange)
        chosen = items if mine is None else [mine]
        return [replace_value(exchange.seen, self.items_path, [each]) for each in chosen]

    # The deployment

    def read_status(self, exchange: ServiceExchange) -> str:
        """Return the status of a deployment as a word, "" if it has none."""
        if self.status_path is None:
            return ""
        return words_at(self.status_path, [exchange.seen, self.followed[-1].seen])[0]

    @cached_property
    def words(self) -> list[str]:
        """The statuses of the created deployment, or the named one, each time that it was read."""
        return [self.read_status(each) for each in self.followed] if self.is_own else []


def find_places(log: Log, hints: Hints | None = None) -> Places:
    """Find where the service has what, by a hint, or by what its values do."""
    hints = hints or Hints()
    kinds = find_kinds(log)
    lists = [each for each, kind in kinds.items() if kind == LIST and is_json(each)]
    creations = [each for each in log.creations if kinds.get(each) == CREATE]
    reads = [each for each, kind in kinds.items() if kind == DEPLOYMENT and is_json(each)]
    places = Places(lists=tuple(lists), creation=choose_creation(creations, reads))
    for add in (add_name, add_items, add_created, add_ids):
        places = add(places, hints)
    places = add_deployment(places, reads, hints)
    return add_status(places, hints)


def is_json(exchange: ServiceExchange) -> bool:
    return exchange.is_success and exchange.has_json


def add_doubt(places: Places, kind: str, line: str, paths: Iterable[Path], body: Any) -> Places:
    """Add what a person has to write, since several places may be the one that is needed."""
    shown = [f"{format_pointer(*path)} ({find_type(find_value(body, path))})" for path in paths]
    seen = ", ".join(shown[:MAX_SHOWN]) or "nothing like it"
    doubt = f"give --like FILE with {line}; seen: {seen}"
    return replace(places, doubts=(*places.doubts, (kind, doubt)))


# What a hint says


def find_hinted(hints: Hints, part: str, marker: str) -> Path | None:
    """Find a marker in the body of a part of the hinted profile; for the status also a choice."""
    form = hints.profile.form(part) if hints.profile else None
    if form is None:
        return None
    for path, value in walk(form.body):
        found = parse_whole_marker(value)
        if found and found.name == marker and found.form in ("", "text") and CHOICE not in path:
            return path
    if marker != "deployment.status":
        return None
    for path, value in walk(form.body):
        if is_choice(value) and CHOICE not in path and is_status_choice(value[CHOICE]):
            return path
    return None


def is_status_choice(words: dict[str, Any]) -> bool:
    """Whether a choice has each status itself, as a number or a boolean."""
    own = {word: value for word, value in words.items() if word}
    return bool(own) and all(word_of(value) == word for word, value in own.items())


def find_hinted_in_items(places: Places, hints: Hints, marker: str) -> Path | None:
    path = find_hinted(hints, "list", marker)
    return path if path is None else path[len(places.items_path or ()) + 1 :]


# The name, and the list


def choose_creation(
    creations: list[ServiceExchange], reads: list[ServiceExchange]
) -> ServiceExchange | None:
    """Choose the creation of whose deployment the most was read, of equal ones the last one."""
    contents = defaultdict(set)
    for each in reads:
        contents[each.deployment_id].add(each.response_body)

    def count(creation: ServiceExchange) -> int:
        found = find_in_bodies([creation.seen], [creation], None)
        return max((len(contents[each.id]) for each in found if each.id in contents), default=0)

    return max(reversed(creations), key=count, default=None)


def add_name(places: Places, hints: Hints) -> Places:
    """Add the name that was sent, or else that of the response, and the request."""
    creation = places.creation
    if creation is None:
        return places
    sent = creation.request_json
    texts = find_texts(sent) if isinstance(sent, dict) else {}
    known = get_first(find_name_paths(hints.request)) if hints.request is not None else None
    own = get_first(path for path, text in texts.items() if text.startswith(NAME_PREFIX))
    path = known if known in texts else own or find_called(texts, "name")
    if path is None:
        returned = set(find_texts(creation.seen).values())
        shared = [each for each, text in texts.items() if text in returned]
        path = shared[0] if len(shared) == 1 else None
    if path is not None and is_through_objects(path):
        return replace(places, created_name=texts[path], request=replace_value(sent, path, NAME))
    body = creation.seen
    if texts:
        line = f'"create": {{"request": {{"MEMBER": "{NAME}"}}, "body": {{}}}}'
        places = add_doubt(places, CREATE, line, texts, sent)
    texts = find_texts(body)
    return replace(places, created_name=texts.get(find_called(texts, "name") or ("",), ""))


def find_called(texts: Iterable[Path], name: str) -> Path | None:
    """Find the outermost member of a plain name, through objects."""
    return get_first(each for each in texts if get_key(each) == name and is_through_objects(each))


def add_items(places: Places, hints: Hints) -> Places:
    """Add the path of the array of the projects in the lists."""
    if not places.lists:
        return places
    body = places.lists[-1].seen
    form = hints.profile.form("list") if hints.profile else None
    hinted = get_first(find_project_arrays(form.body)) if form else None
    if hinted is not None:
        if isinstance(find_value(body, hinted), list):
            return replace(places, items_path=hinted)
        doubt = (
            f"no array is at {format_pointer(*hinted) or 'the top'}, where --like has the projects"
        )
        return replace(places, doubts=(*places.doubts, (LIST, doubt)))
    found = find_arrays(body, places.created_name)
    for earlier in places.lists[:-1]:  # a list that has become something else is not seen
        found = found or find_arrays(earlier.seen, places.created_name)
    if len(found) == 1:
        return replace(places, items_path=found[0])
    line = '"list": {"body": {"MEMBER": [{"name": "{project.name}"}]}}'
    return add_doubt(places, LIST, line, found, body) if found else places


def find_arrays(body: Any, name: str) -> list[Path]:
    """Find what may be the array of the projects: the outermost with the created name.

    Else it is one whose items have a plain name, or an empty one.
    """
    found_arrays = [path for path, value in walk(body) if isinstance(value, list)]
    arrays = [path for path in sorted(found_arrays, key=len) if is_through_objects(path)]
    with_name = [
        path for path in arrays if any(has_value(each, name) for each in find_value(body, path))
    ]
    if with_name and name:
        return with_name[:1]
    plain = [path for path in arrays if has_plain_items(find_value(body, path))]
    found = plain or [path for path in arrays if not find_value(body, path)]
    return [path for path in found if len(path) == len(found[0])]


def has_plain_items(items: list[Any]) -> bool:
    return any(isinstance(each, dict) and {"id", "name"} & each.keys() for each in items)


def find_created_item(places: Places, items: list[Any]) -> Any:
    """Find the created project in an array, by its name or else by its id, None without it."""
    if places.creation is None:
        return None
    for item in items:
        if has_value(item, places.created_name, "name"):
            return item
    for value in (places.created_name, places.created_id):
        for item in items:
            if has_value(item, value):
                return item
    return None


def has_value(item: Any, value: Any, name: str = "") -> bool:
    """Whether an object has a text, or an integer that is written so; in a member of a name."""
    if not is_id(value):
        return False
    for path, each in list_leaves(item):
        is_there = is_through_objects(path) and path and (not name or get_key(path) == name)
        if is_there and is_id(each) and str(each) == str(value):
            return True
    return False


# The created project, and ids


def add_created(places: Places, hints: Hints) -> Places:
    """Add what the response to the creation shows, unless it has other projects, too."""
    creation = places.creation
    if creation is None:
        return places
    places = replace(places, id_path=find_hinted_in_items(places, hints, "project.id"))
    body = creation.seen
    objects = [value for _, value in walk(body) if isinstance(value, dict)]
    others = []
    for each in places.lists:
        # One that was read later, and has not the created project by name, may have it.
        if each.sent_at < creation.sent_at or places.get_created_item(each) is not None:
            others += places.list_others(each)
    ids = {str(item["id"]) for item in others if isinstance(item, dict) and is_id(item.get("id"))}
    has_other = any(each in others or str(each.get("id")) in ids for each in objects)
    has_list = any(has_siblings(value, places) for _, value in walk(creation.response_json))
    return replace(places, created=NOTHING if has_other or has_list else body)


def has_siblings(value: Any, places: Places) -> bool:
    """Whether an array, or a map, has the created project beside another one with its members."""
    inner = [*value.values()] if isinstance(value, dict) else value
    objects = [each for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
    if len(objects) < 2:
        return False
    named = [each for each in objects if places.created_name in each.values()]
    return len(named) == 1 and len([each for each in objects if each.keys() == named[0].keys()]) > 1


def add_ids(places: Places, hints: Hints) -> Places:
    """Add the path of the id in a listed project, and the id of the created one."""
    mine = places.latest_item
    items = last_items(places)
    others = [each for each in items if each != mine]
    if places.id_path is None:
        places = replace(places, id_path=find_hinted_in_items(places, hints, "project.id"))
    record = mine if mine is not None else get_first(others)
    if places.id_path is None and record is not None:
        found = find_ids(record, others, places.created, places.created_name)
        if len(found) == 1:
            places = replace(places, id_path=found[0])
        elif mine is not None:
            line = '"list": {"body": … [{"MEMBER": "{project.id}"}]}'
            seen = found or [path for path, value in list_leaves(mine) if may_be_id(path, value)]
            places = add_doubt(places, LIST, line, seen, mine)
    own_id = places.find_id(mine)
    if own_id is None:
        own_id = find_value(places.created, find_hinted(hints, "create", "project.id"))
    if not is_id(own_id):
        paths = [path for path, value in list_leaves(places.created) if is_id(value)]
        own_id = find_value(places.created, find_called(paths, "id"))
    return replace(places, created_id=own_id if is_id(own_id) else None)


def last_items(places: Places) -> list[Any]:
    return places.list_items(places.lists[-1]) if places.lists else []


def find_ids(item: Any, others: Sequence[Any], created: Any, name: str) -> list[Path]:
    """Find what may be the id of a record: `id`, or what its creation has, too, and no other."""
    possible = [path for path, value in list_leaves(item) if may_be_id(path, value)]
    plain = find_called(possible, "id")
    if plain is not None:
        return [plain]
    shared = {str(value) for path, value in list_leaves(created) if is_through_objects(path)}
    found = []
    for path in possible:
        value = find_value(item, path)
        is_name = get_key(path) == "name" and value == name
        is_other = is_name or any(find_value(other, path) == value for other in others)
        if not is_other and (created is NOTHING or str(value) in shared):
            found.append(path)
    return prefer(found, lambda path: find_value(item, path) != name)


def may_be_id(path: Path, value: Any) -> bool:
    """Whether it may be the id of a record: no time, no sentence, and no id of its deployment."""
    if not is_id(value) or not is_through_objects(path):
        return False
    text = str(value)
    is_called_id = get_key(path) == "id"
    is_plain = len(text) <= 1000 and "://" not in text and (" " not in text or is_called_id)
    return is_plain and not mentions_deployment(path) and parse_seconds(value) is None


# Deployments


def find_candidates(places: Places, hints: Hints | None = None) -> list[Candidate]:
    """Find what may be the id of the created deployment, the likeliest first, each once.

    Without a created project, it is that of a deployment of the listed ones.
    """
    hints = hints or Hints()
    in_items = find_hinted_in_items(places, hints, "deployment.id")
    if places.creation is None:
        items = last_items(places)
        return find_in_bodies(items, [], places.find_id(get_first(items)), in_items)
    known = [find_hinted(hints, "create", "deployment.id"), in_items]
    bodies = [places.created, places.latest_item]
    return find_in_bodies(bodies, [places.creation], places.created_id, *known)


def add_deployment(places: Places, reads: list[ServiceExchange], hints: Hints) -> Places:
    """Add the reads of one deployment: the named one, or the created one, or any."""
    by_id: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange in reads:
        by_id[exchange.deployment_id].append(exchange)
    created = find_created_deployment(places, by_id, hints) if places.creation else ""
    given = hints.deployment if hints.deployment in by_id else ""
    chosen = given or created or get_first(by_id)
    if chosen is None:
        return places
    followed = by_id[chosen]
    body = followed[-1].seen
    owner_id, owner_name = find_owner(places, chosen, body)
    bodies = [body]
    if chosen == created:
        owner_id, owner_name = places.created_id, places.created_name
        bodies = [body, places.latest_item, places.created]
    return replace(
        places,
        followed=tuple(followed),
        is_own=chosen in (given, created),
        deployment_id=find_typed_id(chosen, bodies),
        owner_id=owner_id,
        owner_name=owner_name,
    )


def find_typed_id(text: str, bodies: list[Any]) -> Any:
    """Return the id of a deployment as bodies have it: a number if one has it so, or a text."""
    values = [value for body in bodies for _, value in list_leaves(body)]
    is_integer = any(type(value) is int and str(value) == text for value in values)
    return int(text) if is_integer else text


def find_created_deployment(
    places: Places, by_id: dict[str, list[ServiceExchange]], hints: Hints
) -> str:
    """Find the id of the created deployment among those that were read; "" if none of them is it.

    Without a candidate it is one that tells of the created project.
    """
    for candidate in find_candidates(places, hints):
        if candidate.id in by_id:
            return candidate.id
    own = {str(each) for each in (places.created_id, places.created_name) if is_id(each)}
    for deployment_id, exchanges in by_id.items():
        values = {str(value) for _, value in list_leaves(exchanges[-1].seen)}
        if own & values:
            return deployment_id
    return ""


def find_owner(places: Places, deployment_id: str, body: Any) -> tuple[Any, str]:
    """Find the id and the name of the listed project of a deployment; None and "" if unknown."""
    values = {str(value) for _, value in list_leaves(body) if is_id(value)}
    for item in last_items(places):
        own = {str(places.find_id(item)), places.find_name(item)} - {"None", ""}
        if own & values or names_deployment(item, deployment_id):
            return places.find_id(item), places.find_name(item)
    return None, ""


def add_status(places: Places, hints: Hints) -> Places:
    """Add the place of the status in the deployment."""
    bodies = [each.seen for each in places.followed]
    if not bodies:
        return places
    hinted = find_hinted(hints, "deployment", "deployment.status")
    if hinted is not None:
        return replace(places, status_path=hinted, is_sure=True)
    found, is_sure = find_status(bodies)
    if len(found) == 1:
        return replace(places, status_path=found[0], is_sure=is_sure)
    line = '"deployment": {"body": {"MEMBER": "{deployment.status}"}}'
    seen = found or [path for path, _ in list_leaves(bodies[-1])]
    return add_doubt(places, DEPLOYMENT, line, seen, bodies[-1])


def list_places(places: Places) -> Iterator[str]:
    """List what was found, for a reader of the output."""
    found = {
        "the list": places.items_path,
        "the id in it": places.id_path,
        "the status": places.status_path,
    }
    for what, path in found.items():
        if path is not None:
            yield f"{what} at {format_pointer(*path) or 'the whole body'}"
