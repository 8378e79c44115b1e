"""Finds its way in the bodies of a service: where the list, a record and the status are."""

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from profiles.markers import (
    NAME,
    Path,
    places_of_name,
    places_of_projects,
    values_below,
)

from .candidates import Candidate as Candidate
from .candidates import candidates_in, names_deployment
from .exchange import NOTHING, Exchange, Log
from .guesses import (
    MAX_CREATIONS,
    MAX_ID,
    MAX_OTHERS,
    MINUTE,
)
from .hints import Hints as Hints
from .hints import known_path
from .kinds import CREATE, DEPLOYMENT, LIST, is_own_member, kinds_of
from .limits import Limited
from .status import find_status, word_of, words_at
from .values import (
    arrays_in,
    at,
    first_of,
    is_called_id,
    is_id,
    is_of_deployment,
    is_through_objects,
    last_name,
    last_word,
    preferred,
    says_deployment,
    scalars,
    seconds_of,
    with_value,
    words_of,
)


@dataclass(frozen=True)
class Way:
    """Where a service has what; None, "" and () are not found.

    `creation` is that of the project that is followed, `followed` are the successful reads of its
    deployment, or of the one that a person has named: `owner_id` and `owner_name` are of the
    project of that one. An id is of the type that it has in its body.
    """

    creation: Exchange | None = None
    created: Any = NOTHING  # what its response shows of the created project alone
    created_path: Path | None = None  # there, of a list that had other projects, too
    request: Any = None  # the body of the creation, with the marker {project.name}
    created_id: Any = None
    created_name: str = ""
    lists: tuple[Exchange, ...] = ()  # the successful ones that are JSON
    items_path: Path | None = None  # of the array of the projects, in a list
    id_path: Path | None = None  # in an item
    followed: tuple[Exchange, ...] = ()
    is_own: bool = True  # whether the followed deployment is the created one, or was named
    deployment_id: Any = None
    owner_id: Any = None
    owner_name: str = ""
    status_path: Path | None = None  # in a deployment
    is_sure: bool = False  # whether no other place of a deployment may be that of its status

    def items_of(self, exchange: Exchange) -> list[Any]:
        """The projects in a list, none if it has no array of them."""
        found = at(exchange.seen, self.items_path)
        return found if isinstance(found, list) else []

    def size_of(self, exchange: Exchange) -> int:
        """How many projects a list has, also if not all of them are looked at."""
        found = at(exchange.json, self.items_path)
        return len(found) if isinstance(found, list) else 0

    @property
    def created_record(self) -> Any:
        """The created project in the response to its creation."""
        path = () if self.created_path is None else (*self.created_path, 0)
        return at(self.created, path)

    @cached_property
    def created_items(self) -> dict[Exchange, Any]:
        """The created project in each of the lists, None if it is not there."""
        return {each: find_created_item(self, each, self.items_path) for each in self.lists}

    def created_item(self, exchange: Exchange) -> Any:
        return self.created_items.get(exchange)

    def id_of(self, item: Any) -> Any:
        """The id of a listed project, None if it has none."""
        found = at(item, self.id_path)
        return found if is_id(found) else None

    def name_of(self, item: Any) -> str:
        """The name of a listed project, "" if it has none."""
        texts = {path: each for path, each in scalars(item) if isinstance(each, str)}
        for path, text in texts.items():
            if last_name(path) in self.members_of_name:
                return text
        return texts.get(called_name(texts) or ("",), "")

    @cached_property
    def members_of_name(self) -> set[str]:
        """The names of the members in which the response to the creation has the new name."""
        return self._members_of(self.created_name)

    @cached_property
    def members_of_id(self) -> set[str]:
        return self._members_of(self.created_id)

    def _members_of(self, value: Any) -> set[str]:
        body = self.creation.seen if self.creation and is_id(value) else None
        return {last_name(path) for path, each in scalars(body) if str(each) == str(value)}

    def status_of(self, exchange: Exchange) -> str:
        """The status of a deployment as a word, "" if it has none."""
        if self.status_path is None:
            return ""
        bodies = [each.seen for each in self.followed]
        return words_at(self.status_path, [exchange.seen, *bodies[-1:]])[0]


def find_way(log: Log, hints: Hints | None = None) -> Way:
    """Find where the service has what, by a known profile, or by what its values do."""
    hints = hints or Hints()
    kinds = kinds_of(log)
    lists = [each for each, kind in kinds.items() if kind == LIST and is_json(each)]
    creations = [each for each in log.creations if kinds.get(each) == CREATE]
    reads = [each for each, kind in kinds.items() if kind == DEPLOYMENT and is_json(each)]
    way = Way(lists=tuple(lists), creation=choose_creation(creations, reads))
    way = with_name(way, hints)
    way = replace(way, items_path=find_items_path(way, hints))
    way = with_id_path(way, hints)
    way = with_created(way)
    way = with_id(way, hints)
    way = with_deployment(way, reads, hints)
    return with_status(way, hints)


def is_json(exchange: Exchange) -> bool:
    return exchange.is_success and exchange.has_json


# The list


def find_items_path(way: Way, hints: Hints) -> Path | None:
    """The path of the array of the projects in the lists."""
    if not way.lists:
        return None
    known = hints.profile.form("list") if hints.profile else None
    if known:
        path = first_of(places_of_projects(known.body))
        if path is not None and isinstance(at(way.lists[-1].seen, path), list):
            return path
    created = way.creation.seen if way.creation else NOTHING
    return find_items(way.lists[-1].seen, way.lists[0].seen, way.created_name, created)


def find_items(body: Any, earlier: Any, name: str, created: Any) -> Path | None:
    """The path of the array of the projects in the body of a list, None if there is no array.

    It is the one with an item that has the new name, and of several the one whose item is most like
    the response to the creation; else the one that has grown since an earlier list; else the
    outermost array of objects, first of those with ids, then of those with the contract's name.
    """
    paths = arrays_in(body)
    known = {str(value) for _, value in scalars(created)}
    likeness = [likeness_of(at(body, path), name, known) for path in paths]
    if any(likeness):
        return paths[likeness.index(max(likeness))]

    def has_records(path: Path) -> bool:
        return any(isinstance(each, dict) for each in at(body, path))

    def has_grown(path: Path) -> bool:
        before = at(earlier, path)
        return isinstance(before, list) and len(at(body, path)) > len(before)

    def has_ids(path: Path) -> bool:
        inner = scalars(at(body, (*path, 0)))
        return any(is_called_id(each) for each, _ in inner)

    paths = [path for path in paths if is_through_objects(path)]
    paths = preferred(paths, has_records)
    paths = preferred(paths, has_grown)
    paths = preferred(paths, has_ids)
    paths = [path for path in paths if len(path) == len(paths[0])]
    return first_of(preferred(paths, lambda path: last_name(path) == "projects"))


def likeness_of(items: list[Any], name: str, known: set[str]) -> int:
    """How many values an item with the new name has that the creation has; 0 without such one."""
    if not name:
        return 0
    for item in items:
        if not isinstance(item, dict):
            continue
        found = scalars(item)
        own = [value for path, value in found if is_through_objects(path)]
        if name in own:
            return 1 + len([value for _, value in found if str(value) in known])
    return 0


def find_created_item(way: Way, exchange: Exchange, path: Path | None) -> Any:
    """The created project in an array of a response, None if it is not there."""
    seen = at(exchange.seen, path)
    if way.creation is None or not isinstance(seen, list):
        return None
    found = find_created(seen, way)
    items = at(exchange.json, path)
    has_records = any(isinstance(each, dict) for each in seen)
    if found is None and has_records and len(seen) < len(items):
        # Of a long list not all is looked at: there an item has the name itself.
        named = [
            each for each in items if isinstance(each, dict) and way.created_name in each.values()
        ]
        found = find_created([Limited(each).value for each in named[:1]], way)
    return found


def find_created(items: list[Any], way: Way) -> Any:
    """The first item with the name of the created project, or else with its id; None without it.

    Name and id count in members of the names that they have in the response to the creation, as
    such a text may stand elsewhere by chance; if they stand nowhere in it, anywhere.
    """
    known = ((way.created_name, way.members_of_name), (way.created_id, way.members_of_id))
    for value, members in known:
        if is_id(value):
            for item in items:
                if has_value(item, str(value), members):
                    return item
    return None


def has_value(item: Any, text: str, members: Container[str] = ()) -> bool:
    for path, value in values_below(item):
        is_equal = value == text or (type(value) is int and str(value) == text)
        if is_equal and is_through_objects(path) and (not members or last_name(path) in members):
            return True
    return False


# The created project


def choose_creation(creations: list[Exchange], reads: list[Exchange]) -> Exchange | None:
    """The creation of whose deployment the most was read, of equal ones the last one."""
    contents = defaultdict(set)
    for each in reads:
        contents[each.deployment_id].add(each.content)

    def count(creation: Exchange) -> int:
        found = candidates_in([creation.seen], [creation], None, among=contents)
        return max((len(contents[each.id]) for each in found if each.id in contents), default=0)

    latest_first = creations[::-1][:MAX_CREATIONS]
    if len(latest_first) < 2:
        return first_of(latest_first)
    return max(latest_first, key=count)


def with_name(way: Way, hints: Hints) -> Way:
    """The way with the name that was sent, or else that of the response, and with the request."""
    creation = way.creation
    if creation is None:
        return way
    sent = creation.sent_json
    path = None
    if isinstance(sent, dict):
        if hints.request is not None:
            path = first_of(places_of_name(hints.request))
        if not isinstance(at(sent, path), str):
            before = [each for each in way.lists if each.sent_at <= creation.sent_at]
            listed = [value for each in (*before[-1:], *way.lists[-1:]) for value in texts_in(each)]
            path = find_sent_name(sent, creation.seen, Counter(listed))
    if path is None:
        texts = {path: each for path, each in scalars(creation.seen) if isinstance(each, str)}
        texts = {path: each for path, each in texts.items() if is_through_objects(path)}
        return replace(way, created_name=texts.get(called_name(texts) or ("",), ""))
    return replace(way, created_name=at(sent, path), request=with_value(sent, path, NAME))


def texts_in(exchange: Exchange) -> list[str]:
    return [value for _, value in scalars(exchange.seen) if isinstance(value, str)]


def find_sent_name(sent: Any, response: Any, listed: Counter[str]) -> Path | None:
    """The path of the name in a request: of a text whose member is called so.

    Without one it is a text that the response has, and of several the one that the lists have least
    often: the others may be words of the service.
    """
    texts = {path: each for path, each in scalars(sent) if isinstance(each, str) and each}
    texts = {path: each for path, each in texts.items() if is_through_objects(path)}
    named = called_name(texts)
    if named is not None:
        return named
    returned = {value for _, value in scalars(response) if isinstance(value, str)}
    shared = [path for path, text in texts.items() if text in returned or listed[text]]
    return min(shared, key=lambda path: listed[texts[path]], default=None)


def called_name(texts: dict[Path, str]) -> Path | None:
    """The first path of a member that is called `name`, or else one that ends with that word."""
    alike = [path for path in texts if last_word(last_name(path)) == "name"]
    return first_of(preferred(alike, lambda path: last_name(path) == "name"))


def with_id_path(way: Way, hints: Hints) -> Way:
    """The way with the place where a listed project has its id."""
    mine = latest_item(way)
    others = [each for each in last_items(way) if each is not mine][:MAX_OTHERS]
    known = known_path(hints, "list", "project.id")
    id_path = None
    if known is not None and way.items_path is not None:
        id_path = known[len(way.items_path) + 1 :]
    sample = mine if mine is not None else first_of(others)
    if not is_id(at(sample, id_path)):
        body = way.creation.seen if way.creation else NOTHING
        id_path = find_id_of_items(mine, others, body, way.created_name)
    return replace(way, id_path=id_path)


def with_created(way: Way) -> Way:
    """The way with what the response to the creation shows of the created project alone.

    A service may respond with its whole list: of it the created project stays. If it is not there,
    or another listed project stands elsewhere, the response shows nothing.
    """
    if way.creation is None:
        return way
    body = way.creation.seen
    others = others_listed(way)
    path = find_list(way, way.creation, others)
    if path is not None:
        mine = find_created_item(way, way.creation, path)
        body = NOTHING if mine is None else with_value(body, path, [mine])
    if has_one_of(body, others, way):
        body = NOTHING
    return replace(way, created=body, created_path=path)


def others_listed(way: Way) -> set[tuple[str, str]]:
    """The ids and the names of the listed projects, but for the created one."""
    found = set()
    for exchange in way.lists:
        mine = way.created_item(exchange)
        is_before = way.creation is not None and exchange.sent_at <= way.creation.sent_at
        if mine is None and not is_before:
            continue  # it may be one of them
        for item in way.items_of(exchange):
            if item is not mine and way.id_of(item) is not None:
                found.add((str(way.id_of(item)), way.name_of(item)))
    return found


def has_one_of(body: Any, others: set[tuple[str, str]], way: Way) -> bool:
    """Whether an object in a body is one of these projects."""
    ids = {own_id for own_id, _ in others}
    for _, value in values_below(body):
        own_id = str(way.id_of(value))
        if own_id in ids and (own_id, way.name_of(value)) in others:
            return True
    return False


def find_list(way: Way, creation: Exchange, others: set[tuple[str, str]]) -> Path | None:
    """The path of an array with projects of others in the response to the creation.

    It has one that is listed, or beside the created one another object, with no name outside.
    """
    body = creation.seen
    for path in arrays_in(body):
        items = at(body, path)
        if has_one_of(items, others, way):
            return path
        objects = [each for each in items if isinstance(each, dict)]
        if len(objects) < 2 or find_created_item(way, creation, path) is None:
            continue
        if not has_value(with_value(body, path, []), way.created_name):
            return path
    return None


def with_id(way: Way, hints: Hints) -> Way:
    """The way with the id of the created project."""
    created_id = way.id_of(latest_item(way))
    if created_id is None:
        created_id = at(way.created, known_path(hints, "create", "project.id"))
        own_path = find_id(way.created_record, [], name=way.created_name)
        if not is_id(created_id) and own_path and is_called_id(own_path):
            created_id = at(way.created_record, own_path)
    return replace(way, created_id=created_id if is_id(created_id) else None)


def latest_item(way: Way) -> Any:
    """The created project as it was listed last, None if it was not."""
    for exchange in reversed(way.lists):
        item = way.created_item(exchange)
        if item is not None:
            return item
    return None


def last_items(way: Way) -> list[Any]:
    return way.items_of(way.lists[-1]) if way.lists else []


def find_id_of_items(mine: Any, others: list[Any], created: Any, name: str) -> Path | None:
    if mine is not None:
        found = find_id(mine, others, created, name)
        return found or find_id(mine, others, name=name)
    return find_id(others[0], others[1:]) if others else None


def find_id(item: Any, others: Sequence[Any], shared: Any = NOTHING, name: str = "") -> Path | None:
    """The path of a record's id: of a text or an integer that no other record has there.

    With `shared`, which is another form of the record, the id stands there, too. `name` is the name
    of the record, "" if it is not known.
    """
    known = {str(value) for _, value in scalars(shared)}
    found = []
    for path, value in scalars(item):
        is_other = any(at(other, path) == value for other in others)
        is_shared = shared is NOTHING or str(value) in known
        if may_be_own_id(path, value, name) and is_shared and not is_other:
            found.append(path)
    found = preferred(found, lambda path: not is_of_deployment(path))
    found = preferred(found, lambda path: last_name(path) == "id")
    found = preferred(found, lambda path: at(item, path) != name)
    found = [path for path in found if len(path) == len(found[0])]
    return first_of(preferred(found, is_called_id))


def may_be_own_id(path: Path, value: Any, name: str) -> bool:
    """Whether it may be the id of a record: no time, no name, and no id of its deployment."""
    last = last_name(path)
    if says_deployment(last) or is_own_member(last) or not is_through_objects(path):
        return False
    if last_word(last) == "name" and (not name or value == name):
        return False
    text = str(value)
    is_plain = len(text) <= MAX_ID and "://" not in text and (" " not in text or last == "id")
    return is_id(value) and is_plain and seconds_of(value) is None


# Deployments


def find_candidates(
    way: Way, hints: Hints | None = None, among: Container[str] | None = None
) -> list[Candidate]:
    """What may be the id of the created deployment, the likeliest first, each once.

    Without a created project, it is that of a deployment of the listed ones. The id of the project
    comes last, which some services have for its deployment. `among` are the only ids that count.
    """
    hints = hints or Hints()
    if way.creation is None:
        items = last_items(way)
        own_id = way.id_of(first_of(items))
        return candidates_in(items, [], own_id, *known_places(hints, "list", way), among=among)
    mine = latest_item(way)
    bodies = [way.created] if mine is None else [way.created, mine]
    places = [*known_places(hints, "create", way), *known_places(hints, "list", way)]
    return candidates_in(bodies, [way.creation], way.created_id, *places, among=among)


def known_places(hints: Hints, part: str, way: Way) -> list[Path]:
    """Where a known profile has the id of the deployment, in a body or in an item of the list."""
    path = known_path(hints, part, "deployment.id")
    if path is None:
        return []
    if part == "list":
        path = path[len(way.items_path or ()) + 1 :]
    return [path]


def with_deployment(way: Way, reads: list[Exchange], hints: Hints) -> Way:
    """The way with the reads of one deployment: the named one, or the created one, or any."""
    by_id: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in reads:
        by_id[exchange.deployment_id].append(exchange)
    created = find_created_deployment(way, by_id, hints) if way.creation else ""
    given = hints.deployment if hints.deployment in by_id else ""
    chosen = given or created or first_of(by_id)
    if chosen is None:
        return way
    followed = by_id[chosen]
    body = followed[-1].seen
    owner_id, owner_name = owner_of(way, chosen, body)
    if chosen == created:
        owner_id, owner_name = way.created_id, way.created_name
    return replace(
        way,
        followed=tuple(followed),
        is_own=chosen in (given, created),
        deployment_id=id_in_bodies(chosen, [body, *bodies_of_created(way, chosen == created)]),
        owner_id=owner_id,
        owner_name=owner_name,
    )


def bodies_of_created(way: Way, is_created: bool) -> list[Any]:
    """What shows the created project: its listed form, and the response to its creation."""
    return [latest_item(way), way.created] if is_created else []


def id_in_bodies(text: str, bodies: list[Any]) -> Any:
    """An id as bodies have it: a number if one has it so, as another may have its text."""
    found = [
        value
        for body in bodies
        for path, value in scalars(body)
        if is_id(value) and str(value) == text and (body is bodies[0] or is_called_id(path))
    ]
    return first_of(preferred(found, lambda value: isinstance(value, int))) or text


def find_created_deployment(way: Way, by_id: dict[str, list[Exchange]], hints: Hints) -> str:
    """The id of the created deployment, of those that were read; "" if none of them is it.

    Without a candidate it is one that tells of the created project, or was created after it.
    """
    for candidate in find_candidates(way, hints, by_id):
        if candidate.id in by_id:
            return candidate.id
    own = {str(each) for each in (way.created_id, way.created_name) if is_id(each)}
    for deployment_id, exchanges in by_id.items():
        values = {str(value) for _, value in scalars(exchanges[-1].seen)}
        if own & values:
            return deployment_id
    new = [name for name, exchanges in by_id.items() if is_new(exchanges[-1].seen, way)]
    return new[0] if len(new) == 1 else ""


def is_new(body: Any, way: Way) -> bool:
    """Whether a record says that it was created with the project, or later."""
    since = way.creation.sent_at - MINUTE if way.creation else 0.0
    times = {path: seconds_of(value) for path, value in scalars(body)}
    return any(
        "created" in words_of(last_name(path)) and time and time >= since
        for path, time in times.items()
    )


def owner_of(way: Way, deployment_id: str, body: Any) -> tuple[Any, str]:
    """The id and the name of the listed project that a deployment is of; None and "" if unknown."""
    values = {str(value) for _, value in scalars(body) if is_id(value)}
    for item in last_items(way):
        own = {str(way.id_of(item)), way.name_of(item)} - {"None", ""}
        if own & values or names_deployment(item, deployment_id):
            return way.id_of(item), way.name_of(item)
    return None, ""


# Its status


def with_status(way: Way, hints: Hints) -> Way:
    """The way with the place of the status in the deployment."""
    bodies = [each.seen for each in way.followed]
    if not bodies:
        return way
    known = known_path(hints, "deployment", "deployment.status")
    if known is not None and word_of(at(bodies[-1], known)):
        return replace(way, status_path=known, is_sure=True)
    path, is_sure = find_status(bodies, str(way.deployment_id))
    return replace(way, status_path=path, is_sure=is_sure)
