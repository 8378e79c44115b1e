"""Observes a service: makes a template of each kind of response in a log."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from math import inf
from random import Random
from typing import Any

from profiles.check import schemas
from profiles.ids import id_form, opaque_form, slug_of
from profiles.markers import CHOICE, Path, resolve
from web.schemas import TYPES, is_valid

from .errors import DETAIL, error_text
from .exchange import NOTHING, Exchange, Log
from .guesses import COUNT_WORDS, LEAST_NAME, MAX_OTHERS, MAX_READINGS, MINUTE
from .kinds import CREATE, DEPLOYMENT, LIST, NAME_PREFIX, is_own_member, kinds_of
from .limits import SENTENCE, Limited
from .observation import ANOTHER, NEWEST, OLDEST, Observation, Template
from .status import has_status_name, word_of
from .template import Reading, Unified, has_markers, unify
from .values import (
    Known,
    at,
    first_of,
    is_id,
    is_number,
    last_name,
    pattern_of_base,
    preferred,
    scalars,
    seconds_of,
    type_of,
    with_scalars,
    with_value,
    without_markers,
    words_of,
)
from .way import Way

Timed = tuple[Any, str, str]
"""A body, and the statuses of its deployment that were read before and after it."""


def observe(log: Log, way: Way) -> Observation:
    """Observe a service in a log."""
    observer = Observer(log, way)
    by_kind: dict[str, list[Exchange]] = defaultdict(list)
    for exchange, kind in kinds_of(log).items():
        by_kind[kind].append(exchange)
    templates = {kind: observer.template(kind, found) for kind, found in by_kind.items()}
    looked_at = [each for template in templates.values() for each in template.exchanges]
    is_cut = any(each.limited.is_cut for each in looked_at)
    return Observation(
        way=way,
        templates=templates,
        run=observer.run,
        order=order_of(way),
        ids=ids_of(way),
        remarks=(SENTENCE,) if is_cut else (),
    )


class Observer:
    """Makes the readings of each kind, each with the values that were known then."""

    def __init__(self, log: Log, way: Way) -> None:
        self._log = log
        self._way = way
        self._base = pattern_of_base(log.base)

    def template(self, kind: str, exchanges: list[Exchange]) -> Template:
        """The template of the responses of a kind, or of the last one if all of them failed."""
        if kind == LIST:
            return self._list(exchanges)
        if kind == CREATE:
            return self._create(exchanges)
        if kind == DEPLOYMENT:
            return self._deployment(exchanges)
        return self._error(kind, exchanges)

    # The list

    def _list(self, exchanges: list[Exchange]) -> Template:
        way = self._way
        path = way.items_path
        lists = [each for each in way.lists if isinstance(at(each.json, path), list)]
        lists = preferred(lists, lambda each: bool(way.items_of(each)))
        if path is None or not lists:
            return replace(self._plain(LIST, exchanges), is_own=False)
        lists = first_and_last(lists)
        around = unify([self._around(each, path) for each in lists])
        own = self._readings_of_items()
        if own:
            item = unify(own)
        else:
            others = [item for each in lists for item in way.items_of(each)]
            readings = [self._other(each) for each in first_and_last(others)]
            item = hidden(unify(readings)) if readings else Unified(NOTHING, frozenset())
        items = [] if item.body is NOTHING else [item.body]
        body = with_value(around.body, path, items)
        varying = around.varying | {(*path, 0, *inner) for inner in item.varying}
        headers = common_headers(lists, [self._known_of_list(each) for each in lists])
        return Template(LIST, tuple(lists), body, varying, headers, is_own=bool(own))

    def _around(self, exchange: Exchange, path: Path) -> Reading:
        """A list without its projects."""
        around = Limited(with_value(exchange.json, path, []))
        return Reading(around.value, self._known_of_list(exchange))

    def _known_of_list(self, exchange: Exchange) -> Known:
        way = self._way
        items = way.items_of(exchange)
        named: list[tuple[str, Any]] = [("count", way.size_of(exchange))]
        if items:
            named += [("first.id", way.id_of(items[0])), ("last.id", way.id_of(items[-1]))]
        return Known(tuple(each for each in named if is_id(each[1])), self._base)

    def _other(self, item: Any) -> Reading:
        """A project of others, as it is listed."""
        way = self._way
        ids = (way.id_of(item), way.name_of(item))
        return self._reading(item, self._known("project", *ids, None, is_new=False))

    # The created project

    def _create(self, exchanges: list[Exchange]) -> Template:
        creation = self._way.creation
        if creation is None:
            return self._plain(CREATE, exchanges[-1:])
        known = self._known_of_own("project")
        headers = common_headers([creation], [known])
        if not creation.has_json:
            return Template(CREATE, (creation,), headers=headers)
        if self._way.created is NOTHING:
            return replace(self._plain(CREATE, [creation]), is_own=False)
        unified = unify([self._reading(self._way.created, known, self._word_of_creation)])
        return Template(CREATE, (creation,), unified.body, unified.varying, headers)

    @cached_property
    def _word_of_creation(self) -> str:
        """The status that the response to the creation shows, else the first one that was read."""
        shown = word_of(at(self._way.created_record, self._status_path))
        return shown or first_of(self.words) or ""

    def _readings_of_items(self) -> list[Reading]:
        """The created project as it was listed, each time with the status of its deployment."""
        known = self._known_of_own("project")
        bodies = [self._reading(body, known) for body, _, _ in self._timed]
        sure: dict[str, list[Any]] = defaultdict(list)
        for reading, (_, before, after) in zip(bodies, self._timed, strict=True):
            if before == after:
                sure[before].append(reading.body)
        found = []
        for reading, timed in zip(bodies, self._timed, strict=True):
            word = self._word_of_item(reading.body, timed, sure)
            found.append(replace(reading, word=word))
        return found

    def _word_of_item(self, body: Any, timed: Timed, sure: dict[str, list[Any]]) -> str:
        """The status of a listed project: the one that it shows, else the one that was read before.

        It is the one that was read after it, if only bodies that surely have this one are like it.
        """
        _, before, after = timed
        shown = word_of(at(body, self._status_path))
        if shown:
            return shown
        is_like_before = body in sure[before]
        is_like_after = body in sure[after]
        is_contradicted = not is_like_before and (bool(sure[before]) or is_like_after)
        return after if is_contradicted or not before else before

    @cached_property
    def _status_path(self) -> Path | None:
        """Where a listed project has the status of its deployment."""
        last = self._timed[-1][0] if self._timed else None
        places = [path for path, _ in scalars(last) if self._is_status_place(path)]
        return first_of(places)

    def _is_status_place(self, path: Path) -> bool:
        """Whether a listed project has there, each time, a status that was read before or after it.

        In a member that is called so it may be one that was never read.
        """
        words = [word_of(at(body, path)) for body, _, _ in self._timed]
        pairs = list(zip(words, self._timed, strict=True))
        others = {word for word, (_, before, after) in pairs if word not in (before, after)}
        if not all(words) or len(others) == len(set(words)):
            return False
        if not has_status_name(path):
            return not others and len(set(words)) > 1
        return others.isdisjoint(self.words)

    @cached_property
    def _timed(self) -> list[Timed]:
        """The created project as it was listed, of equal bodies in a row the first and the last."""
        way = self._way
        words = [*self.words]
        word = ""
        found: list[Timed] = []
        for exchange in self._log.exchanges:
            if words and exchange in way.followed:
                word = words.pop(0)
            item = way.created_item(exchange) if exchange in way.lists else None
            if item is not None:
                found.append((item, word, words[0] if words else word))
        return first_and_last_of_each(found)

    @property
    def run(self) -> tuple[str, ...]:
        """The statuses of the followed deployment in their order, with those of the creation."""
        words = dict.fromkeys(filter(None, self.words))
        if not words:
            return ()
        first = self._word_of_creation
        return tuple(dict.fromkeys([*filter(None, [first]), *words]))

    # Deployments

    @cached_property
    def words(self) -> list[str]:
        """The statuses of the created deployment, or the named one, each time that it was read."""
        way = self._way
        return [way.status_of(each) for each in way.followed if way.is_own]

    def _deployment(self, exchanges: list[Exchange]) -> Template:
        way = self._way
        followed = way.followed
        pairs = [(each, way.status_of(each)) for each in followed]
        with_words = [pair for pair in pairs if pair[1]] or pairs
        if not with_words:
            return self._plain(DEPLOYMENT, exchanges)
        known = self._known_of_deployment()
        readings = [self._reading(each.seen, known, word) for each, word in with_words]
        unified = unify(readings)
        if not way.is_own:
            unified = hidden(unified)
        headers = common_headers(followed, [known] * len(followed))
        return Template(
            DEPLOYMENT, followed, unified.body, unified.varying, headers, is_own=way.is_own
        )

    def _known_of_deployment(self) -> Known:
        way = self._way
        is_new = way.creation is not None and way.owner_id == way.created_id
        ids = (way.owner_id, way.owner_name, way.deployment_id)
        return self._known("deployment", *ids, is_new=is_new)

    def _known_of_own(self, kind: str) -> Known:
        way = self._way
        is_named = way.owner_id == way.created_id and way.is_own
        deployment_id = way.deployment_id if is_named else None
        return self._known(kind, way.created_id, way.created_name, deployment_id, is_new=True)

    def _known(
        self, kind: str, project_id: Any, name: str, deployment_id: Any, *, is_new: bool
    ) -> Known:
        """What is known of a project and its deployment, the ids of this kind first."""
        ids = [("project.id", project_id), ("deployment.id", deployment_id)]
        ids.sort(key=lambda each: not each[0].startswith(kind))
        named = [*ids, ("project.name", name)]
        window = self._window if is_new else (0.0, self._window[1])
        known = tuple(each for each in named if is_id(each[1]))
        return Known(known, self._base, window, f"{kind}.created_at")

    @cached_property
    def _window(self) -> tuple[float, float]:
        """Between which times, by the service's clock, the created project has changed."""
        until = self._log.exchanges[-1].sent_at + MINUTE
        creation = self._way.creation
        if creation is None:
            return 0.0, until
        created_at = clock_of(creation)
        if not created_at:
            return 0.0, inf  # a recording without times
        return created_at - MINUTE, until + created_at - creation.sent_at

    # Errors, and what is no JSON

    def _error(self, kind: str, exchanges: list[Exchange]) -> Template:
        """The template of an error: of the responses with the status of the first rejection."""
        rejected = [each for each in exchanges if 400 <= each.status < 500] or exchanges
        same = [each for each in rejected if each.status == rejected[0].status]
        return self._plain(kind, first_and_last(same))

    def _plain(self, kind: str, exchanges: list[Exchange]) -> Template:
        """The template of responses without a record: of an error, or of what is no JSON."""
        chosen = exchanges
        if not kind.startswith("errors/"):
            chosen = [each for each in exchanges if each.is_success] or exchanges[-1:]
        same = [each for each in chosen if each.status == chosen[0].status]
        known = Known((), self._base)
        headers = common_headers(same, [known] * len(same))
        if not all(each.has_json for each in same):
            return Template(kind, tuple(same), NOTHING, frozenset(), headers)
        unified = unify([Reading(each.seen, known) for each in same])
        status = same[0].status
        sent = {text for each in same for text in sent_texts(each)}
        body = unified.body
        if status >= 400:
            body = with_scalars(body, lambda path, each: error_text(path, each, status, sent))
        varying = frozenset(path for path in unified.varying if at(body, path) != DETAIL)
        return Template(kind, tuple(same), body, varying, headers)

    def _reading(self, body: Any, known: Known, word: str = "") -> Reading:
        values = {str(value) for _, value in known.named if len(str(value)) >= LEAST_NAME}
        return Reading(without_data(body, values), known, word)


def first_and_last_of_each(found: list[Timed]) -> list[Timed]:
    """As many bodies as are looked at between each two statuses, in their order."""
    by_words: dict[tuple[str, str], list[Timed]] = defaultdict(list)
    for each in found:
        by_words[each[1:]].append(each)
    chosen = [id(each) for group in by_words.values() for each in first_and_last(group)]
    return [each for each in found if id(each) in chosen]


def first_and_last(found: Sequence[Any]) -> list[Any]:
    """As many as are looked at: of more, the first half of them, and the last."""
    half = MAX_READINGS // 2
    if len(found) <= MAX_READINGS:
        return list(found)
    return [*found[:half], *found[-half:]]


def sent_texts(exchange: Exchange) -> Iterator[str]:
    """What a request has that its response may repeat."""
    yield NAME_PREFIX
    if exchange.deployment_id:
        yield exchange.deployment_id
    elif not exchange.is_list and not exchange.is_creation:
        yield exchange.path
        yield exchange.path.rpartition("/")[2]


def without_data(value: Any, values: set[str]) -> Any:
    """A body without the members whose names are data: ids, times, and what verify has sent."""
    if isinstance(value, list):
        return [without_data(each, values) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, each in value.items():
        is_data = is_own_member(name) or seconds_of(name) is not None
        if not is_data and not any(known in name for known in values):
            found[name] = without_data(each, values)
    return found


def hidden(unified: Unified) -> Unified:
    """A body of records of others: with markers, and plain values in place of all others."""

    def hide(path: Path, value: Any) -> Any:
        if has_status_name(path) and isinstance(value, str) and value:
            return CHOICE
        if has_markers(value) or value is None or value == "":
            return value
        return TYPES[type_of(value)][0]

    return Unified(with_scalars(resolve(unified.body, ""), hide), unified.varying)


def common_headers(exchanges: Sequence[Exchange], known: Sequence[Known]) -> dict[str, str | None]:
    """The header fields of all responses but that of the media type; None is one that varies."""
    found: dict[str, str | None] = {}
    for name in {name.lower(): name for name in exchanges[0].headers}.values():
        values = [each.header(name) for each in exchanges]
        if name.lower() == "content-type" or None in values:
            continue
        pairs = zip(values, known, strict=True)
        marked = {marked_field(name, value or "", each) for value, each in pairs}
        found[name] = marked.pop() if len(marked) == 1 else None
    return found


def marked_field(name: str, value: str, known: Known) -> str:
    counts = [str(each) for marker, each in known.named if marker == "count"]
    if value in counts and COUNT_WORDS.intersection(words_of(name)):
        return "{count}"
    return known.mark(value)


def clock_of(exchange: Exchange) -> float:
    """The time of a response by the clock of the service, if it says so; 0 if it is not known."""
    try:
        return parsedate_to_datetime(exchange.header("Date") or "").timestamp()
    except ValueError:
        return exchange.sent_at


# Order and ids


def order_of(way: Way) -> str:
    """The order of the list, by times, or else by the created project in it; "" if unknown."""
    order = order_of_times(way)
    for exchange in reversed(way.lists):
        items = way.items_of(exchange)
        mine = way.created_item(exchange)
        if order or mine is None or len(items) < 2:
            continue
        if mine == items[0]:
            order = NEWEST
        elif mine == items[-1]:
            order = OLDEST
    return order


def order_of_times(way: Way) -> str:
    """The order of the list by the first member that is the time of a creation."""
    items = way.items_of(way.lists[-1])[:MAX_OTHERS] if way.lists else []
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


def ids_of(way: Way) -> dict[str, str | int]:
    """An example of the ids of each kind of record, or the marker from which they are made.

    An id that a profile cannot have gives none.
    """
    examples = {}
    if way.creation and way.created_id is not None:
        bases = [("project.name", slug_of(way.created_name))]
        examples["projects"] = example_of(way.created_id, bases)
    if way.creation and way.followed and way.is_own:
        bases = [("project.id", way.owner_id), ("project.name", slug_of(way.owner_name))]
        examples["deployments"] = example_of(way.deployment_id, bases)
    return {kind: each for kind, each in examples.items() if is_example(each, kind)}


def example_of(own_id: Any, bases: list[tuple[str, Any]]) -> str | int:
    """An example of ids like one, or the text with a marker from which it is made."""
    text = str(own_id)
    for marker, base in bases:
        if is_id(base) and own_id == base:
            return f"{{{marker}}}"
        if len(str(base)) >= LEAST_NAME and str(base) in text:
            return text.replace(str(base), f"{{{marker}}}", 1)
    if not isinstance(own_id, str):
        return 7040
    try:
        return opaque_form(without_markers(text)).make(Random(0))
    except ValueError:
        return text


def is_example(example: str | int, kind: str) -> bool:
    try:
        id_form(example, kind)
    except ValueError:
        return False
    return is_valid(example, schemas()["id"])
