"""Observes a service: makes a template of each kind of response in a log."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from random import Random
from typing import Any, TypeVar

from profiles.ids import make_slug, parse_opaque_form
from profiles.markers import is_through_objects
from traffic.json_values import Path, map_leaves, replace_value

from .errors import DETAIL, mark_error
from .exchange import NOTHING, Log, ServiceExchange
from .guesses import COUNT_WORDS, LEAST_NAME, MAX_READINGS, MINUTE
from .kinds import CREATE, DEPLOYMENT, LIST, NAME_PREFIX, find_kinds
from .order import find_order
from .places import Places
from .status import word_of
from .template import Reading, Unified, unify
from .values import (
    MIN_SECONDS,
    Known,
    find_texts,
    find_value,
    get_first,
    get_key,
    is_id,
    list_leaves,
    make_base_pattern,
    parse_seconds,
    prefer,
    split_words,
    strip_markers,
)

T = TypeVar("T")
SECOND_ID = re.compile(r"(?=[^0-9]*[0-9])(?!v?[0-9]+(\.[0-9x]+)+$)[\w.~:-]*\w[\w~:-]*", re.ASCII)
"""A text with a digit that may be an id, and no version."""


@dataclass(frozen=True)
class Template:
    """What all responses of one kind have in common.

    `exchanges` are those that it was made from, at least one. `body` is as in a profile: with
    markers, a choice where the status decides, and one item in the array of the projects. It is
    `NOTHING` if the responses are no JSON. The paths in `varying` lead through that body to what
    differs between two responses, or is not in each; the first value stands there. `headers` has
    the fields of all responses, with markers; None is a value that varies.
    """

    kind: str
    exchanges: tuple[ServiceExchange, ...]
    body: Any = NOTHING
    varying: frozenset[Path] = frozenset()
    headers: Mapping[str, str | None] = field(default_factory=dict)
    is_own: bool = True  # the record is the created one; else plain values stand for all others

    @property
    def status(self) -> int:
        return self.exchanges[0].status

    @property
    def content_type(self) -> str:
        return self.exchanges[0].find_response_field("Content-Type") or ""


@dataclass(frozen=True)
class Observation:
    """What a log shows of a service.

    `templates` are by the kind of response. `run` has the statuses of the followed deployment in
    their order, as the words of a choice. `ids` has an example of each kind of record, as in a
    profile.
    """

    places: Places
    templates: Mapping[str, Template]
    run: tuple[str, ...] = ()
    order: str = ""  # of the list, "" if it does not show
    ids: Mapping[str, str | int] = field(default_factory=dict)


def observe(log: Log, places: Places) -> Observation:
    """Observe a service in a log."""
    observer = Observer(log, places)
    by_kind: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange, kind in find_kinds(log).items():
        if not exchange.failure:
            by_kind[kind].append(exchange)
    templates = {kind: observer.template(kind, found) for kind, found in by_kind.items()}
    return Observation(
        places, templates, observer.run, find_order(places), make_id_examples(places)
    )


class Observer:
    """Makes the readings of each kind, each with the values that were known then."""

    def __init__(self, log: Log, places: Places) -> None:
        self._log = log
        self._places = places
        self._base = make_base_pattern(log.base)
        self.words = places.words
        self._second_ids = [*find_second_ids(places)]

    def template(self, kind: str, exchanges: list[ServiceExchange]) -> Template:
        """The template of the responses of a kind, or of the last one if all of them failed."""
        if kind == LIST:
            return self._list(exchanges)
        if kind == CREATE:
            return self._create(exchanges)
        if kind == DEPLOYMENT:
            return self._deployment(exchanges)
        return self._error(kind, exchanges)

    # The list

    def _list(self, exchanges: list[ServiceExchange]) -> Template:
        places = self._places
        path = places.items_path
        lists = [
            each for each in places.lists if isinstance(find_value(each.response_json, path), list)
        ]
        lists = first_and_last(prefer(lists, lambda each: bool(places.list_items(each))))
        if path is None or not lists:
            return replace(self._plain(LIST, exchanges), is_own=False)
        known = [self._known_of_list(each) for each in lists]
        bodies = [replace_value(each.seen, path, []) for each in lists]
        around = unify([Reading(body, each) for body, each in zip(bodies, known, strict=True)])
        own = self._readings_of_items()
        readings = own or self._readings_of_others(lists)
        item = unify(readings) if readings else Unified(NOTHING, frozenset())
        body = replace_value(around.body, path, [item.body] if readings else [])
        varying = around.varying | {(*path, 0, *inner) for inner in item.varying}
        headers = common_headers(lists, known)
        return Template(LIST, tuple(lists), body, varying, headers, is_own=bool(own))

    def _known_of_list(self, exchange: ServiceExchange) -> Known:
        places = self._places
        items = places.list_items(exchange)
        named: list[tuple[str, Any]] = [("count", places.count_items(exchange))]
        if items:
            named += [
                ("first.id", places.find_id(items[0])),
                ("last.id", places.find_id(items[-1])),
            ]
        return Known(tuple(each for each in named if is_id(each[1])), self._base)

    def _readings_of_others(self, lists: list[ServiceExchange]) -> list[Reading]:
        """The projects of others, as they are listed."""
        places = self._places
        items = first_and_last([item for each in lists for item in places.list_items(each)])
        found = []
        for item in items:
            known = self._known(
                "project", places.find_id(item), places.find_name(item), None, is_new=False
            )
            found.append(self._reading(item, known))
        return found

    # The created project

    def _create(self, exchanges: list[ServiceExchange]) -> Template:
        places = self._places
        creation = places.creation
        if creation is None:
            return self._plain(CREATE, exchanges[-1:])
        known = self._known_of_own("project")
        headers = common_headers([creation], [known])
        if not creation.has_json:
            return Template(CREATE, (creation,), headers=headers)
        if places.created is NOTHING:
            return replace(self._plain(CREATE, [creation]), is_own=False)
        unified = unify([self._reading(places.created, known, self._word_of_creation)])
        return Template(CREATE, (creation,), unified.body, unified.varying, headers)

    @cached_property
    def _word_of_creation(self) -> str:
        """The status that the response to the creation shows, else the first one that was read."""
        shown = word_of(find_value(self._places.created, self._status_path))
        return shown or get_first(self.words) or ""

    def _readings_of_items(self) -> list[Reading]:
        """The created project as it was listed, each time with the status of its deployment.

        Of a status with which it was not listed it is as with the one before.
        """
        known = self._known_of_own("project")
        readings = []
        for body, word in self._timed:
            shown = word_of(find_value(body, self._status_path))
            readings.append(replace(self._reading(body, known), word=shown or word))
        previous = get_first(readings)
        for word in self.run:
            listed = [each for each in readings if each.word == word]
            if previous and not listed and self._status_path is None:
                listed = [replace(previous, word=word)]
                readings += listed
            previous = listed[-1] if listed else previous
        return readings

    @cached_property
    def _status_path(self) -> Path | None:
        """Where a listed project has the status of its deployment, each time that it was read."""
        last = self._timed[-1][0] if self._timed else None
        for path, _ in list_leaves(last):
            words = [word_of(find_value(body, path)) for body, _ in self._timed]
            is_known = bool({*words} & {*self.words})
            if is_known and "" not in words and (len({*words}) > 1 or get_key(path) == "status"):
                return path
        return None

    @cached_property
    def _timed(self) -> list[tuple[Any, str]]:
        """The created project as it was listed, each time with the status that was read before."""
        places = self._places
        left = [*self.words]
        word = get_first(left) or ""
        found: list[tuple[Any, str]] = []
        for exchange in self._log.exchanges:
            if left and exchange in places.followed:
                word = left.pop(0)
            item = places.get_created_item(exchange)
            if item is not None:
                found.append((item, word))
        return few_of_each(found, lambda timed: timed[1])

    @property
    def run(self) -> tuple[str, ...]:
        """The statuses of the followed deployment in their order, with those of the creation."""
        if not any(self.words):
            return ()
        words = dict.fromkeys([self._word_of_creation, *self.words])
        return tuple(filter(None, words))

    # Deployments

    def _deployment(self, exchanges: list[ServiceExchange]) -> Template:
        places = self._places
        known = self._known_of_deployment()
        readings = [
            self._reading(each.seen, known, places.read_status(each)) for each in places.followed
        ]
        readings = prefer(readings, lambda each: each.word != "")
        readings = few_of_each(readings, lambda each: each.word)
        if not readings:
            return self._plain(DEPLOYMENT, exchanges)
        unified = unify(readings)
        headers = common_headers(places.followed, [known] * len(places.followed))
        return Template(
            DEPLOYMENT,
            places.followed,
            unified.body,
            unified.varying,
            headers,
            is_own=places.is_own,
        )

    def _known_of_deployment(self) -> Known:
        places = self._places
        is_new = places.creation is not None and places.owner_id == places.created_id
        ids = (places.owner_id, places.owner_name, places.deployment_id)
        return self._known("deployment", *ids, is_new=is_new)

    def _known_of_own(self, kind: str) -> Known:
        places = self._places
        is_named = places.owner_id == places.created_id and places.is_own
        deployment_id = places.deployment_id if is_named else None
        return self._known(kind, places.created_id, places.created_name, deployment_id, is_new=True)

    def _known(
        self, kind: str, project_id: Any, name: str, deployment_id: Any, *, is_new: bool
    ) -> Known:
        """What is known of a project and its deployment, the ids of this kind first."""
        ids = [("project.id", project_id), ("deployment.id", deployment_id)]
        ids.sort(key=lambda each: not each[0].startswith(kind))
        named = [*ids, ("project.name", name)]
        window = self._window if is_new else (0.0, self._window[1])
        known = tuple(each for each in named if is_id(each[1]))
        if is_new:
            known += tuple(self._second_ids)
        paths = (self._places.status_path, self._status_path)
        names = {get_key(path) for path in paths if path}
        return Known(known, self._base, window, f"{kind}.created_at", frozenset({"status", *names}))

    @cached_property
    def _window(self) -> tuple[float, float]:
        """Between which times, by the service's clock, the created project has changed."""
        until = self._log.exchanges[-1].sent_at + MINUTE
        creation = self._places.creation
        if creation is None:
            return 0.0, until
        created_at = creation.served_at
        if not created_at:
            return 0.0, inf  # a recording without times
        return created_at - MINUTE, until + created_at - creation.sent_at

    # Errors, and what is no JSON

    def _error(self, kind: str, exchanges: list[ServiceExchange]) -> Template:
        """The template of an error: of the responses with the status of the first rejection."""
        rejected = [each for each in exchanges if 400 <= each.status < 500] or exchanges
        same = first_and_last([each for each in rejected if each.status == rejected[0].status])
        template = self._plain(kind, same)
        if template.status < 400:
            return template

        def mark(path: Path, value: Any) -> Any:
            is_same = path not in template.varying and len(same) > 1
            return mark_error(path, value, template.status, is_same=is_same)

        body = map_leaves(template.body, mark)
        varying = frozenset(path for path in template.varying if find_value(body, path) != DETAIL)
        return replace(template, body=body, varying=varying)

    def _plain(self, kind: str, exchanges: list[ServiceExchange]) -> Template:
        """The template of responses without a record: of an error, or of what is no JSON."""
        chosen = exchanges
        is_error = kind.startswith("errors/")
        if not is_error:
            chosen = [each for each in exchanges if each.is_success] or exchanges[-1:]
        same = tuple(each for each in chosen if each.status == chosen[0].status)
        known = [Known(find_subject(each) if is_error else (), self._base) for each in same]
        headers = common_headers(same, known)
        if not all(each.has_json for each in same):
            return Template(kind, same, headers=headers)
        readings = [Reading(each.seen, own) for each, own in zip(same, known, strict=True)]
        unified = unify(readings)
        return Template(kind, same, unified.body, unified.varying, headers)

    def _reading(self, body: Any, known: Known, word: str = "") -> Reading:
        values = {str(value) for _, value in known.named if len(str(value)) >= LEAST_NAME}
        return Reading(remove_data(body, values), known, word)


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


def find_subject(exchange: ServiceExchange) -> tuple[tuple[str, str], ...]:
    """Find what a request is about, which its error may repeat: an id, a name, or the path."""
    found = exchange.deployment_id
    if exchange.is_creation:
        texts = find_texts(exchange.request_json)
        names = [text for path, text in texts.items() if get_key(path) == "name"]
        own = [text for text in texts.values() if text.startswith(NAME_PREFIX)]
        found = next(iter(own or names), "")
    elif not found and not exchange.is_list:
        found = exchange.path
    return (("error.subject", found),) if found else ()


def remove_data(value: Any, values: set[str]) -> Any:
    """A body without the members whose names are data: ids, times, and what verify has sent."""
    if isinstance(value, list):
        return [remove_data(each, values) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, each in value.items():
        is_data = parse_seconds(name) is not None
        if not is_data and not any(known in name for known in values):
            found[name] = remove_data(each, values)
    return found


def common_headers(
    exchanges: Sequence[ServiceExchange], known: Sequence[Known]
) -> dict[str, str | None]:
    """The header fields of all responses but that of the media type; None is one that varies."""
    found: dict[str, str | None] = {}
    for name in {name.lower(): name for name, _ in exchanges[0].response_fields}.values():
        values = [each.find_response_field(name) for each in exchanges]
        if name.lower() == "content-type" or None in values:
            continue
        pairs = zip(values, known, strict=True)
        marked = {marked_field(name, value or "", each) for value, each in pairs}
        found[name] = marked.pop() if len(marked) == 1 else None
    return found


def marked_field(name: str, value: str, known: Known) -> str:
    counts = [str(each) for marker, each in known.named if marker == "count"]
    if value in counts and COUNT_WORDS.intersection(split_words(name)):
        return "{count}"
    return known.mark(value)


# Ids


def find_second_ids(places: Places) -> Iterator[tuple[str, str]]:
    """Find texts of the listed project that are ids, too: each other project has its own there.

    Yields the name of a marker, such as `project.id:415104041262`, and the text.
    """
    mine = places.latest_item
    others = [item for each in places.lists[-1:] for item in places.list_others(each)]
    known = {str(places.created_id), places.created_name, str(places.deployment_id)}
    for path, value in list_leaves(mine):
        is_plain = isinstance(value, str) and SECOND_ID.fullmatch(value) is not None
        if not others or not is_plain or value in known or parse_seconds(value) is not None:
            continue
        values = [find_value(other, path) for other in others]
        is_own = len({*values, value}) == len(values) + 1
        if is_own and all(is_like(value, each) for each in values) and is_through_objects(path):
            yield f"project.id:{parse_opaque_form(value).make(Random(0))}", value


def find_second_numbers(places: Places) -> Iterator[Path]:
    """Find numbers of the listed project of which each other project has another one."""
    others = [item for each in places.lists[-1:] for item in places.list_others(each)]
    for path, value in list_leaves(places.latest_item):
        values = [find_value(other, path) for other in others]
        is_plain = type(value) is int and value != places.created_id and value < MIN_SECONDS
        is_own = all(type(each) is int for each in values) and len({*values, value}) > len(values)
        if is_plain and is_own and len(values) > 1 and is_through_objects(path):
            yield path


def is_like(text: str, other: Any) -> bool:
    """Whether another value is an id of the form that a text has."""
    if not isinstance(other, str) or SECOND_ID.fullmatch(other) is None:
        return False
    forms = parse_opaque_form(text), parse_opaque_form(other)
    is_as_long = abs(len(text) - len(other)) <= 2
    return forms[0].prefix == forms[1].prefix and is_as_long


def make_id_examples(places: Places) -> dict[str, str | int]:
    """An example of the ids of each kind of record, or the marker from which they are made."""
    examples = {}
    if places.creation and places.created_id is not None:
        bases = [("project.name", make_slug(places.created_name))]
        examples["projects"] = make_id_example(places.created_id, bases)
    if places.creation and places.followed and places.is_own:
        bases = [("project.id", places.owner_id), ("project.name", make_slug(places.owner_name))]
        examples["deployments"] = make_id_example(places.deployment_id, bases)
    return examples


def make_id_example(own_id: Any, bases: list[tuple[str, Any]]) -> str | int:
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
        return parse_opaque_form(strip_markers(text)).make(Random(0))
    except ValueError:
        return text
