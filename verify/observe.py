"""Observes a service: makes a template of each kind of response in a log."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from math import inf
from random import Random
from typing import Any, TypeVar

from profiles.ids import opaque_form, slug_of
from profiles.markers import Path

from .errors import DETAIL, error_text
from .exchange import NOTHING, Exchange, Log
from .guesses import COUNT_WORDS, LEAST_NAME, MAX_READINGS, MINUTE
from .kinds import CREATE, DEPLOYMENT, LIST, NAME_PREFIX, is_own_member, kinds_of
from .limits import SENTENCE, Limited
from .observation import ANOTHER, NEWEST, OLDEST, Observation, Template
from .status import has_status_name, word_of
from .template import Reading, Unified, unify
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
    with_scalars,
    with_value,
    without_markers,
    words_of,
)
from .way import Way

T = TypeVar("T")
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
        # The statuses of the created deployment, or the named one, each time that it was read.
        self.words = [way.status_of(each) for each in way.followed if way.is_own]

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
        lists = first_and_last(preferred(lists, lambda each: bool(way.items_of(each))))
        if path is None or not lists:
            return replace(self._plain(LIST, exchanges), is_own=False)
        known = [self._known_of_list(each) for each in lists]
        bodies = [Limited(with_value(each.json, path, [])).value for each in lists]
        around = unify([Reading(body, each) for body, each in zip(bodies, known, strict=True)])
        own = self._readings_of_items()
        readings = own or self._readings_of_others(lists)
        item = unify(readings) if readings else Unified(NOTHING, frozenset())
        body = with_value(around.body, path, [item.body] if readings else [])
        varying = around.varying | {(*path, 0, *inner) for inner in item.varying}
        headers = common_headers(lists, known)
        return Template(LIST, tuple(lists), body, varying, headers, is_own=bool(own))

    def _known_of_list(self, exchange: Exchange) -> Known:
        way = self._way
        items = way.items_of(exchange)
        named: list[tuple[str, Any]] = [("count", way.size_of(exchange))]
        if items:
            named += [("first.id", way.id_of(items[0])), ("last.id", way.id_of(items[-1]))]
        return Known(tuple(each for each in named if is_id(each[1])), self._base)

    def _readings_of_others(self, lists: list[Exchange]) -> list[Reading]:
        """The projects of others, as they are listed."""
        way = self._way
        items = first_and_last([item for each in lists for item in way.items_of(each)])
        found = []
        for item in items:
            known = self._known("project", way.id_of(item), way.name_of(item), None, is_new=False)
            found.append(self._reading(item, known))
        return found

    # The created project

    def _create(self, exchanges: list[Exchange]) -> Template:
        way = self._way
        creation = way.creation
        if creation is None:
            return self._plain(CREATE, exchanges[-1:])
        known = self._known_of_own("project")
        headers = common_headers([creation], [known])
        if not creation.has_json:
            return Template(CREATE, (creation,), headers=headers)
        if way.created is NOTHING or way.is_map:
            return replace(self._plain(CREATE, [creation]), is_own=False)
        unified = unify([self._reading(way.created, known, self._word_of_creation)])
        return Template(CREATE, (creation,), unified.body, unified.varying, headers)

    @cached_property
    def _word_of_creation(self) -> str:
        """The status that the response to the creation shows, else the first one that was read."""
        shown = word_of(at(self._way.created_record, self._status_path))
        return shown or first_of(self.words) or ""

    def _readings_of_items(self) -> list[Reading]:
        """The created project as it was listed, each time with the status of its deployment.

        Of a status with which it was not listed it is as with the one before.
        """
        known = self._known_of_own("project")
        readings = []
        for timed in self._timed:
            reading = self._reading(timed[0], known)
            readings.append(replace(reading, word=self._word_of_item(timed)))
        previous = first_of(readings)
        for word in self.run:
            listed = [each for each in readings if each.word == word]
            if previous and not listed and self._status_path is None:
                listed = [replace(previous, word=word)]
                readings += listed
            previous = listed[-1] if listed else previous
        return readings

    def _word_of_item(self, timed: Timed) -> str:
        """The status of a listed project: the one that it shows, else the one that was read before.

        It is the one that was read after it, if only bodies that surely have this one are like it.
        """
        body, before, after = timed
        shown = word_of(at(body, self._status_path))
        if shown:
            return shown
        sure_before = self._listed_within(before)
        is_like_other = bool(sure_before) or body in self._listed_within(after)
        is_contradicted = is_like_other and body not in sure_before
        return after if is_contradicted or not before else before

    def _listed_within(self, word: str) -> list[Any]:
        """The created project as it was listed between two reads of one status."""
        return [body for body, before, after in self._timed if before == after == word]

    @cached_property
    def _status_path(self) -> Path | None:
        """Where a listed project has the status of its deployment."""
        last = self._timed[-1][0] if self._timed else None
        return first_of(path for path, _ in scalars(last) if self._is_status_place(path))

    def _is_status_place(self, path: Path) -> bool:
        """Whether a listed project has there, each time, a status that was read before or after it.

        In a member that is called so it may be one that was never read.
        """
        words = set()
        others = set()
        for body, before, after in self._timed:
            word = word_of(at(body, path))
            words.add(word)
            if word not in (before, after):
                others.add(word)
        if "" in words or words == others:
            return False
        if has_status_name(path):
            return others.isdisjoint(self.words)
        return not others and len(words) > 1

    @cached_property
    def _timed(self) -> list[Timed]:
        """The created project as it was listed: some bodies between each two statuses."""
        way = self._way
        left = [*self.words]
        word = ""
        found: list[Timed] = []
        for exchange in self._log.exchanges:
            if left and exchange in way.followed:
                word = left.pop(0)
            item = way.created_item(exchange)
            if item is not None:
                found.append((item, word, left[0] if left else word))
        return few_of_each(found, lambda timed: timed[1:])

    @property
    def run(self) -> tuple[str, ...]:
        """The statuses of the followed deployment in their order, with those of the creation."""
        if not any(self.words):
            return ()
        words = dict.fromkeys([self._word_of_creation, *self.words])
        return tuple(filter(None, words))

    # Deployments

    def _deployment(self, exchanges: list[Exchange]) -> Template:
        way = self._way
        known = self._known_of_deployment()
        readings = [self._reading(each.seen, known, way.status_of(each)) for each in way.followed]
        readings = preferred(readings, lambda each: each.word != "")
        readings = few_of_each(readings, lambda each: each.word)
        if not readings:
            return self._plain(DEPLOYMENT, exchanges)
        unified = unify(readings)
        headers = common_headers(way.followed, [known] * len(way.followed))
        return Template(
            DEPLOYMENT, way.followed, unified.body, unified.varying, headers, is_own=way.is_own
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
        same = first_and_last([each for each in rejected if each.status == rejected[0].status])
        template = self._plain(kind, same)
        if template.status < 400:
            return template
        sent = {text for each in same for text in sent_texts(each)}

        def marked(path: Path, value: Any) -> Any:
            return error_text(path, value, template.status, sent)

        body = with_scalars(template.body, marked)
        varying = frozenset(path for path in template.varying if at(body, path) != DETAIL)
        return replace(template, body=body, varying=varying)

    def _plain(self, kind: str, exchanges: list[Exchange]) -> Template:
        """The template of responses without a record: of an error, or of what is no JSON."""
        chosen = exchanges
        if not kind.startswith("errors/"):
            chosen = [each for each in exchanges if each.is_success] or exchanges[-1:]
        same = tuple(each for each in chosen if each.status == chosen[0].status)
        known = Known((), self._base)
        headers = common_headers(same, [known] * len(same))
        if not all(each.has_json for each in same):
            return Template(kind, same, headers=headers)
        unified = unify([Reading(each.seen, known) for each in same])
        return Template(kind, same, unified.body, unified.varying, headers)

    def _reading(self, body: Any, known: Known, word: str = "") -> Reading:
        values = {str(value) for _, value in known.named if len(str(value)) >= LEAST_NAME}
        return Reading(without_data(body, values), known, word)


def first_and_last(found: Sequence[T]) -> list[T]:
    """As many as are looked at: of more, the first half of them, and the last."""
    half = MAX_READINGS // 2
    return [*found] if len(found) <= MAX_READINGS else [*found[:half], *found[-half:]]


def few_of_each(found: Sequence[T], key: Callable[[T], object]) -> list[T]:
    """As many as are looked at of each that have one key, in their order."""
    groups: dict[object, list[T]] = defaultdict(list)
    for each in found:
        groups[key(each)].append(each)
    chosen = {id(each) for group in groups.values() for each in first_and_last(group)}
    return [each for each in found if id(each) in chosen]


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
    if order:
        return order
    for exchange in reversed(way.lists):
        items = way.items_of(exchange)
        mine = way.created_item(exchange)
        if mine is None or len(items) < 2:
            continue
        if mine == items[0]:
            return NEWEST
        if mine == items[-1]:
            return OLDEST
    return ""


def order_of_times(way: Way) -> str:
    """The order of the list by the first member that is the time of a creation."""
    items = way.items_of(way.lists[-1]) if way.lists else []
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
    """An example of the ids of each kind of record, or the marker from which they are made."""
    examples = {}
    if way.creation and way.created_id is not None:
        bases = [("project.name", slug_of(way.created_name))]
        examples["projects"] = example_of(way.created_id, bases)
    if way.creation and way.followed and way.is_own:
        bases = [("project.id", way.owner_id), ("project.name", slug_of(way.owner_name))]
        examples["deployments"] = example_of(way.deployment_id, bases)
    return examples


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
