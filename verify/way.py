"""Finds its way in the bodies of a service: where the list, a record and the status are."""

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from profiles.markers import (
    CHOICE,
    NAME,
    Path,
    is_choice,
    places_of_name,
    places_of_projects,
    values_below,
    whole_marker,
)
from profiles.profile import Profile

from .candidates import Candidate as Candidate
from .candidates import candidates_in, names_deployment
from .exchange import NOTHING, Exchange, Log
from .guesses import MAX_ID, MINUTE
from .kinds import CREATE, DEPLOYMENT, LIST, is_own_member, kinds_of
from .limits import Limited, whole_index
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
    texts_in,
    with_value,
    words_of,
)


@dataclass(frozen=True)
class Hints:
    """What a person has said: a deployment, the body of a creation, and a known profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None


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
    is_map: bool = False  # whether that response is a map of projects, which no profile can have
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

    # The list

    def items_of(self, exchange: Exchange) -> list[Any]:
        """The projects in a list, none if it has no array of them."""
        found = at(exchange.seen, self.items_path)
        return found if isinstance(found, list) else []

    def size_of(self, exchange: Exchange) -> int:
        """How many projects a list has, also if not all of them are looked at."""
        found = at(exchange.json, self.items_path)
        return len(found) if isinstance(found, list) else 0

    def id_of(self, item: Any) -> Any:
        """The id of a listed project, None if it has none."""
        found = at(item, self.id_path)
        return found if is_id(found) else None

    def name_of(self, item: Any) -> str:
        """The name of a listed project, "" if it has none."""
        texts = texts_in(item)
        for path, text in texts.items():
            if last_name(path) in self.members_of_name:
                return text
        return texts.get(called_name(texts) or ("",), "")

    # The created project

    @property
    def created_record(self) -> Any:
        """The created project in the response to its creation."""
        path = () if self.created_path is None else (*self.created_path, 0)
        return at(self.created, path)

    @cached_property
    def created_items(self) -> dict[Exchange, Any]:
        """The created project in each of the lists, None if it is not there."""
        return {each: find_created_item(self, each, self.items_path).value for each in self.lists}

    def created_item(self, exchange: Exchange) -> Any:
        return self.created_items.get(exchange)

    @property
    def latest_item(self) -> Any:
        """The created project as it was listed last, None if it was not."""
        found = [item for item in self.created_items.values() if item is not None]
        return found[-1] if found else None

    @cached_property
    def members_of_name(self) -> set[str]:
        """The names of the members in which the creation, or its response, has the new name."""
        sent = {last_name(path) for path, text in texts_in(self.request).items() if text == NAME}
        found = self._members_of(self.created_name)
        return found | sent if found else found

    @cached_property
    def members_of_id(self) -> set[str]:
        return self._members_of(self.created_id)

    def _members_of(self, value: Any) -> set[str]:
        body = self.creation.seen if self.creation and is_id(value) else None
        return {last_name(path) for path, each in scalars(body) if str(each) == str(value)}

    def is_cut(self, exchange: Exchange, path: Path | None) -> bool:
        """Whether more was not looked at than other projects in the array at a path."""
        if not isinstance(at(exchange.json, path), list):
            return exchange.limited.is_cut
        around = Limited(with_value(exchange.json, path or (), []))
        return around.is_cut or find_created_item(self, exchange, path).is_cut

    def others_in(self, exchange: Exchange) -> list[Any]:
        """The listed projects that are not the created one."""
        mine = self.created_item(exchange)
        return [item for item in self.items_of(exchange) if item != mine]

    # The deployment

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
    way = replace(way, id_path=find_id_path(way, hints))
    way = with_created(way)
    way = replace(way, created_id=find_created_id(way, hints))
    way = with_deployment(way, reads, hints)
    return with_status(way, hints)


def is_json(exchange: Exchange) -> bool:
    return exchange.is_success and exchange.has_json


# What a known profile says


def known_path(hints: Hints, part: str, marker: str) -> Path | None:
    """Where a known profile has a marker in the body of a part; for the status also a choice."""
    form = hints.profile.form(part) if hints.profile else None
    if form is None:
        return None
    for path, value in values_below(form.body):
        found = whole_marker(value)
        if found and found.name == marker and found.form in ("", "text") and CHOICE not in path:
            return path
    if marker != "deployment.status":
        return None
    for path, value in values_below(form.body):
        if is_choice(value) and CHOICE not in path and is_status_choice(value[CHOICE]):
            return path
    return None


def is_status_choice(words: dict[str, Any]) -> bool:
    """Whether a choice has each status itself, as a number or a boolean."""
    own = {word: value for word, value in words.items() if word}
    return bool(own) and all(word_of(value) == word for word, value in own.items())


# The list


def find_items_path(way: Way, hints: Hints) -> Path | None:
    """The path of the array of the projects in the lists."""
    if not way.lists:
        return None
    body = way.lists[-1].seen
    known = hints.profile.form("list") if hints.profile else None
    path = first_of(places_of_projects(known.body)) if known else None
    if isinstance(at(body, path), list):
        return path
    path = find_items(body, way.created_name)
    if known and at(body, path) == []:
        return None  # where a profile has it elsewhere, an empty array says nothing
    return path


def find_items(body: Any, name: str) -> Path | None:
    """The path of the array of the projects in the body of a list, None if there is no array.

    It is one with an item that has the new name, or else one of objects. Of several it is one whose
    items have ids, and of these the outermost.
    """

    def has_name(path: Path) -> bool:
        objects = [each for each in at(body, path) if isinstance(each, dict)]
        return name != "" and any(has_value(each, name) for each in objects)

    def has_records(path: Path) -> bool:
        return any(isinstance(each, dict) for each in at(body, path))

    def has_ids(path: Path) -> bool:
        return any(is_called_id(each) for each, _ in scalars(at(body, (*path, 0))))

    paths = arrays_in(body)
    plain = [path for path in paths if is_through_objects(path)]
    likely = [path for path in paths if has_name(path)] or preferred(plain, has_records)
    return first_of(preferred(likely, has_ids))


def find_created_item(way: Way, exchange: Exchange, path: Path | None) -> Limited:
    """The created project in an array of a response, as much of it as is looked at, or None."""
    seen = at(exchange.seen, path)
    items = at(exchange.json, path)
    if way.creation is None or not isinstance(seen, list) or not isinstance(items, list):
        return Limited(None)
    index = index_of_created(seen, way)
    if index is not None:
        return Limited(items[whole_index(index, len(items))])
    # Of a long list not all is looked at: there an item has the name itself.
    is_long = len(seen) < len(items)
    for item in items:
        if is_long and isinstance(item, dict) and way.created_name in item.values():
            found = Limited(item)
            return found if index_of_created([found.value], way) == 0 else Limited(None)
    return Limited(None)


def index_of_created(items: list[Any], way: Way) -> int | None:
    """The first item with the name of the created project, or else with its id; None without it.

    Name and id count in members of the names that they have in the response to the creation, as
    such a text may stand elsewhere by chance; if they stand nowhere in it, anywhere.
    """
    known = ((way.created_name, way.members_of_name), (way.created_id, way.members_of_id))
    for value, members in known:
        for index, item in enumerate(items):
            if is_id(value) and has_value(item, str(value), members):
                return index
    return None


def has_value(item: Any, text: str, members: Container[str] = ()) -> bool:
    """Whether a value has a text, or an integer that is written so, in one of these members."""
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
        found = candidates_in([creation.seen], [creation], None)
        return max((len(contents[each.id]) for each in found if each.id in contents), default=0)

    return max(reversed(creations), key=count, default=None)


def with_name(way: Way, hints: Hints) -> Way:
    """The way with the name that was sent, or else that of the response, and with the request."""
    creation = way.creation
    if creation is None:
        return way
    sent = creation.sent_json
    path = None
    if isinstance(sent, dict):
        known = first_of(places_of_name(hints.request)) if hints.request is not None else None
        is_known = isinstance(at(sent, known), str)
        path = known if is_known else find_sent_name(sent, creation.seen, way.lists)
    if path is None:
        texts = through_objects(texts_in(creation.seen))
        return replace(way, created_name=texts.get(called_name(texts) or ("",), ""))
    return replace(way, created_name=at(sent, path), request=with_value(sent, path, NAME))


def find_sent_name(sent: Any, response: Any, lists: Sequence[Exchange]) -> Path | None:
    """The path of the name in a request: of a text whose member is called so.

    Without one it is a text that the response or a list has, and of several the one that the first
    and the last list have least often: the others may be words of the service.
    """
    texts = through_objects(texts_in(sent))
    named = called_name(texts)
    if named is not None:
        return named
    listed = Counter[str]()
    for exchange in {*lists[:1], *lists[-1:]}:
        listed.update(texts_in(exchange.seen).values())
    returned = set(texts_in(response).values())
    shared = [path for path, text in texts.items() if text in returned or listed[text]]
    return min(shared, key=lambda path: listed[texts[path]], default=None)


def through_objects(texts: dict[Path, str]) -> dict[Path, str]:
    return {path: text for path, text in texts.items() if is_through_objects(path)}


def called_name(texts: dict[Path, str]) -> Path | None:
    """The first path of a member that is called `name`, or else one that ends with that word."""
    alike = [path for path in texts if last_word(last_name(path)) == "name"]
    return first_of(preferred(alike, lambda path: last_name(path) == "name"))


def with_created(way: Way) -> Way:
    """The way with what the response to the creation shows of the created project alone.

    A service may respond with its whole list: of it the created project stays. If it is not there,
    or another listed project stands elsewhere, the response shows nothing.
    """
    if way.creation is None:
        return way
    if has_map(way, way.creation):
        for key, value in objects_of_maps(way.creation.seen).items():
            if way.created_name in value.values():
                return replace(way, created=value, created_id=key, is_map=True)
        return replace(way, is_map=True)
    body = way.creation.seen
    others = others_listed(way, way.creation)
    path = find_list(way, way.creation, others)
    if path is not None:
        mine = find_created_item(way, way.creation, path).value
        body = NOTHING if mine is None else with_value(body, path, [mine])
    if has_one_of(body, others, way):
        body = NOTHING
    return replace(way, created=body, created_path=path)


def others_listed(way: Way, creation: Exchange) -> set[tuple[str, str]]:
    """The ids and the names of the listed projects, but for the created one."""
    found = set()
    for exchange in way.lists:
        if way.created_item(exchange) is None and exchange.sent_at > creation.sent_at:
            continue  # it may be one of them
        for item in way.others_in(exchange):
            if way.id_of(item) is not None:
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


def has_map(way: Way, creation: Exchange) -> bool:
    """Whether the response to the creation is a map of projects, as lists without an array are."""
    if way.items_path is not None:
        return False
    created = objects_of_maps(creation.seen)
    listed = [item for each in way.lists for item in objects_of_maps(each.seen).items()]
    for key, value in listed:
        own = created.get(key, {})
        has_name = way.created_name in own.values() and way.created_name in value.values()
        if has_name or (own and own == value):
            return True
    return False


def objects_of_maps(body: Any) -> dict[str, dict[str, Any]]:
    """The members of each object that has objects alone."""
    found = {}
    for _, value in values_below(body):
        if isinstance(value, dict) and all(isinstance(each, dict) for each in value.values()):
            found.update(value)
    return found


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
        if len(objects) < 2 or find_created_item(way, creation, path).value is None:
            continue
        if not has_value(with_value(body, path, []), way.created_name):
            return path
    return None


# Ids of projects


def find_id_path(way: Way, hints: Hints) -> Path | None:
    """The path of the id in a listed project: in the created one, or else in any."""
    mine = way.latest_item
    others = [each for each in last_items(way) if each != mine]
    known = known_in_items(way, hints, "project.id")
    if known is not None:
        return known
    if mine is None:
        return find_id(others[0], others[1:]) if others else None
    body = way.creation.seen if way.creation else NOTHING
    return find_id(mine, others, body, way.created_name)


def known_in_items(way: Way, hints: Hints, marker: str) -> Path | None:
    """Where a known profile has a marker in a listed project."""
    path = known_path(hints, "list", marker)
    return path if path is None else path[len(way.items_path or ()) + 1 :]


def find_created_id(way: Way, hints: Hints) -> Any:
    """The id of the created project, None if it is not found."""
    found = way.created_id or way.id_of(way.latest_item)
    if found is not None:
        return found
    found = at(way.created, known_path(hints, "create", "project.id"))
    path = find_id(way.created_record, [], name=way.created_name)
    if not is_id(found) and path is not None and is_called_id(path):
        found = at(way.created_record, path)
    return found if is_id(found) else None


def last_items(way: Way) -> list[Any]:
    return way.items_of(way.lists[-1]) if way.lists else []


def find_id(item: Any, others: Sequence[Any], shared: Any = NOTHING, name: str = "") -> Path | None:
    """The path of a record's id: of a text or an integer that no other record has there.

    It is rather one that `shared`, which is another form of the record, has too. `name` is the name
    of the record, "" if it is not known.
    """
    known = {name, *(str(value) for _, value in scalars(shared))}
    found = []
    for path, value in scalars(item):
        is_other = any(at(other, path) == value for other in others)
        if may_be_own_id(path, value, name) and not is_other:
            found.append(path)
    if shared is not NOTHING:
        found = preferred(found, lambda path: str(at(item, path)) in known)
    found = preferred(found, lambda path: not is_of_deployment(path))
    found = preferred(found, is_called_id)
    found = preferred(found, lambda path: last_name(path).lower() == "id")
    found = preferred(found, lambda path: at(item, path) != name)
    return first_of(found)


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


def find_candidates(way: Way, hints: Hints | None = None) -> list[Candidate]:
    """What may be the id of the created deployment, the likeliest first, each once.

    Without a created project, it is that of a deployment of the listed ones.
    """
    hints = hints or Hints()
    in_items = known_in_items(way, hints, "deployment.id")
    if way.creation is None:
        items = last_items(way)
        return candidates_in(items, [], way.id_of(first_of(items)), in_items)
    known = [known_path(hints, "create", "deployment.id"), in_items]
    bodies = [way.created, way.latest_item]
    return candidates_in(bodies, [way.creation], way.created_id, *known)


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
    bodies = []
    if chosen == created:
        owner_id, owner_name = way.created_id, way.created_name
        bodies = [way.latest_item, way.created]
    return replace(
        way,
        followed=tuple(followed),
        is_own=chosen in (given, created),
        deployment_id=typed_id(chosen, body, bodies),
        owner_id=owner_id,
        owner_name=owner_name,
    )


def typed_id(text: str, body: Any, others: list[Any]) -> Any:
    """The id of a deployment as bodies have it: a number if one has it so, or else a text."""
    values = [value for _, value in scalars(body)]
    for other in others:
        values += [value for path, value in scalars(other) if is_called_id(path)]
    is_integer = any(type(value) is int and str(value) == text for value in values)
    return int(text) if is_integer else text


def find_created_deployment(way: Way, by_id: dict[str, list[Exchange]], hints: Hints) -> str:
    """The id of the created deployment, of those that were read; "" if none of them is it.

    Without a candidate it is one that tells of the created project, or was created after it.
    """
    for candidate in find_candidates(way, hints):
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
    for path, value in scalars(body):
        seconds = seconds_of(value)
        if seconds and seconds >= since and "created" in words_of(last_name(path)):
            return True
    return False


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
    if known is not None:
        return replace(way, status_path=known, is_sure=True)
    path, is_sure = find_status(bodies, str(way.deployment_id))
    return replace(way, status_path=path, is_sure=is_sure)
