"""Makes templates of the responses of a service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

from traffic import json_values

from ..seen import guesses, inspection, kinds
from ..seen.places import Places
from ..seen.service_log import NOTHING, Log, ServiceExchange
from ..seen.status import format_word
from . import errors
from .ids import find_second_ids
from .known import Known, make_base_pattern
from .unify import Reading, unify


@dataclass(frozen=True)
class Template:
    """The form of all responses of a kind.

    It was made of the `exchanges`. `body` has markers, choices by the status, and only the created
    project in the list; it is `NOTHING` if the responses are not JSON. `varying` has the paths of
    values that vary between responses. `headers` has the fields of all responses, with markers,
    and None for a value that varies.
    """

    kind: str
    exchanges: tuple[ServiceExchange, ...]
    body: Any = NOTHING
    varying: frozenset[json_values.Path] = frozenset()
    headers: Mapping[str, str | None] = field(default_factory=dict)
    is_own: bool = True  # whether the record is the created project, or its deployment

    @property
    def status(self) -> int:
        return self.exchanges[0].status

    @property
    def content_type(self) -> str:
        return self.exchanges[0].find_response_field("Content-Type") or ""


class TemplateMaker:
    """Makes templates of the responses in a log, by the values that are known of its project."""

    def __init__(self, log: Log, places: Places) -> None:
        self._log = log
        self._places = places
        self._base = make_base_pattern(log.base)
        self._second_ids = [*find_second_ids(places, log)]

    @cached_property
    def templates(self) -> dict[str, Template]:
        """The templates by their kinds. A response that did not come is in no template."""
        found = {}
        for kind, exchanges in kinds.group_by_kind(self._log).items():
            responses = [exchange for exchange in exchanges if not exchange.failure]
            if responses:
                found[kind] = self._make_template(kind, responses)
        return found

    @property
    def run(self) -> tuple[str, ...]:
        """The statuses of the followed deployment since its creation: `("queued", "live")`."""
        words = self._places.words
        if not any(words):
            return ()
        run = dict.fromkeys([self._first_word, *words])
        return tuple(filter(None, run))

    def _make_template(self, kind: str, exchanges: list[ServiceExchange]) -> Template:
        if kind == kinds.LIST:
            return self._make_list(exchanges)
        if kind == kinds.CREATE:
            return self._make_creation(exchanges)
        if kind == kinds.DEPLOYMENT:
            return self._make_deployment(exchanges)
        return self._make_error(kind, exchanges)

    # The list

    def _make_list(self, exchanges: list[ServiceExchange]) -> Template:
        places = self._places
        path = places.items_path
        readings = self._read_items()
        if path is None or not readings:
            return replace(self._make_plain(kinds.LIST, exchanges), is_own=False)
        lists = [exchange for exchange in places.lists if places.list_items(exchange)]
        known = [self._make_known_of_list(places.list_items(exchange)) for exchange in lists]
        bodies = [json_values.replace_value(exchange.body, path, []) for exchange in lists]
        around = unify([Reading(*pair) for pair in zip(bodies, known, strict=True)])
        item = unify(readings)
        body = json_values.replace_value(around.body, path, [item.body])
        varying = around.varying | {(*path, 0, *inner) for inner in item.varying}
        headers = find_common_headers(lists, known)
        return Template(kinds.LIST, tuple(lists), body, varying, headers)

    def _make_known_of_list(self, items: list[Any]) -> Known:
        places = self._places
        named = [
            ("count", len(items)),
            ("first.id", places.find_id(items[0])),
            ("last.id", places.find_id(items[-1])),
        ]
        return Known(tuple(pair for pair in named if inspection.is_id(pair[1])), self._base)

    def _read_items(self) -> list[Reading]:
        """Read the created project in the lists, with the status that it shows or that was read."""
        known = self._make_known_of_project()
        readings = []
        for item, word in self._listed:
            shown = format_word(inspection.find_value(item, self._item_status_path))
            readings.append(self._read(item, known, shown or word))
        return readings

    @cached_property
    def _listed(self) -> list[tuple[Any, str]]:
        """The created project in each list, with the status that was read before the list."""
        places = self._places
        word = inspection.get_first(places.words) or ""
        found = []
        for exchange in self._log.exchanges:
            if places.is_own and exchange in places.followed:
                word = places.read_status(exchange)
            item = places.get_created_item(exchange)
            if item is not None:
                found.append((item, word))
        return found

    @cached_property
    def _item_status_path(self) -> json_values.Path | None:
        """The path of the deployment's status in a listed project: `("latest", "status")`.

        Its words change, and all are statuses of the deployment; or a member `status` has the words
        that were read. A status of the project itself has other words, or stays.
        """
        places = self._places
        records = [item for item, _ in self._listed]
        read = [word for _, word in self._listed]
        for path, _ in inspection.list_leaves(records[-1]) if records else ():
            words = [format_word(inspection.find_value(record, path)) for record in records]
            created = format_word(inspection.find_value(places.created, path))
            distinct = {*words, created or words[0]}
            is_changing = len(distinct) > 1 and distinct <= {*places.words}
            if is_changing or (inspection.get_key(path) == "status" and words == read):
                return path
        return None

    # The created project, and its deployment

    def _make_creation(self, exchanges: list[ServiceExchange]) -> Template:
        places = self._places
        creation = places.creation
        if creation is None:
            return self._make_plain(kinds.CREATE, exchanges[-1:])
        known = self._make_known_of_project()
        headers = find_common_headers([creation], [known])
        if not creation.has_json:
            return Template(kinds.CREATE, (creation,), headers=headers)
        if places.created is None:
            return replace(self._make_plain(kinds.CREATE, [creation]), is_own=False)
        unified = unify([self._read(places.created, known, self._first_word)])
        return Template(kinds.CREATE, (creation,), unified.body, unified.varying, headers)

    @cached_property
    def _first_word(self) -> str:
        """The status in the response to the creation, or else the first that was read."""
        shown = format_word(inspection.find_value(self._places.created, self._item_status_path))
        return shown or inspection.get_first(self._places.words) or ""

    def _make_deployment(self, exchanges: list[ServiceExchange]) -> Template:
        places = self._places
        known = self._make_known_of_deployment()
        readings = [
            self._read(exchange.body, known, places.read_status(exchange))
            for exchange in places.followed
        ]
        readings = inspection.prefer(readings, lambda reading: reading.word != "")
        if not readings:
            return self._make_plain(kinds.DEPLOYMENT, exchanges)
        unified = unify(readings)
        headers = find_common_headers(places.followed, [known] * len(places.followed))
        template = Template(kinds.DEPLOYMENT, places.followed, unified.body, unified.varying)
        return replace(template, headers=headers, is_own=places.is_own)

    def _make_known_of_deployment(self) -> Known:
        places = self._places
        is_new = places.creation is not None and places.owner_id == places.created_id
        ids = [("deployment.id", places.deployment_id), ("project.id", places.owner_id)]
        return self._make_known("deployment", ids, places.owner_name, is_new=is_new)

    def _make_known_of_project(self) -> Known:
        places = self._places
        is_named = places.owner_id == places.created_id and places.is_own
        deployment_id = places.deployment_id if is_named else None
        ids = [("project.id", places.created_id), ("deployment.id", deployment_id)]
        return self._make_known("project", ids, places.created_name, is_new=True)

    def _make_known(
        self, kind: str, ids: list[tuple[str, Any]], project_name: str, *, is_new: bool
    ) -> Known:
        """Return the values that are known of a project and its deployment."""
        named = [*ids, ("project.name", project_name)]
        window = (0.0, self._window[1])
        if is_new:
            named += self._second_ids
            window = self._window
        paths = (self._places.status_path, self._item_status_path)
        return Known(
            named=tuple(pair for pair in named if inspection.is_id(pair[1])),
            base=self._base,
            window=window,
            time=f"{kind}.created_at",
            status_names=frozenset(
                ["status", *(inspection.get_key(path) for path in paths if path)]
            ),
        )

    @cached_property
    def _window(self) -> tuple[float, float]:
        """The first and the last time that may be of the creation, by the service's clock."""
        tolerance = 60.0  # seconds by which clocks may differ
        until = self._log.exchanges[-1].sent_at + tolerance
        creation = self._places.creation
        if creation is None:
            return 0.0, until
        created_at = creation.served_at
        if not created_at:
            return 0.0, inf  # A recording may have no times.
        return created_at - tolerance, until + created_at - creation.sent_at

    def _read(self, body: Any, known: Known, word: str) -> Reading:
        values = [str(value) for _, value in known.named]
        long_values = {value for value in values if len(value) >= guesses.SHORTEST_NAME}
        return Reading(remove_data(body, long_values), known, word)

    # Errors, and responses without JSON

    def _make_error(self, kind: str, exchanges: list[ServiceExchange]) -> Template:
        """Make the template of an error from the responses with the status of the first."""
        rejected = inspection.prefer(exchanges, lambda exchange: 400 <= exchange.status < 500)
        same = [exchange for exchange in rejected if exchange.status == rejected[0].status]
        template = self._make_plain(kind, same)
        if template.status < 400:
            return template

        def mark(path: json_values.Path, value: Any) -> Any:
            is_same = path not in template.varying and len(same) > 1
            return errors.mark_error(path, value, template.status, is_same=is_same)

        body = json_values.map_leaves(template.body, mark)
        varying = [
            path for path in template.varying if inspection.find_value(body, path) != errors.DETAIL
        ]
        return replace(template, body=body, varying=frozenset(varying))

    def _make_plain(self, kind: str, exchanges: list[ServiceExchange]) -> Template:
        """Make the template of responses that have no record of the run."""
        is_error = kind.startswith("errors/")
        chosen = exchanges
        if not is_error:
            chosen = [each for each in exchanges if each.is_success] or exchanges[-1:]
        same = tuple(exchange for exchange in chosen if exchange.status == chosen[0].status)
        known = [Known(find_subject(each) if is_error else (), self._base) for each in same]
        headers = find_common_headers(same, known)
        if not all(exchange.has_json for exchange in same):
            return Template(kind, same, headers=headers)
        bodies = [exchange.body for exchange in same]
        unified = unify([Reading(*pair) for pair in zip(bodies, known, strict=True)])
        return Template(kind, same, unified.body, unified.varying, headers)


def find_subject(exchange: ServiceExchange) -> tuple[tuple[str, str], ...]:
    """Find the value of a request that its error may repeat: an id, a name, or the path.

    It is `(("error.subject", "/v1/nothing"),)`, or `()` for the list.
    """
    found = exchange.deployment_id
    if exchange.is_creation:
        texts = inspection.find_texts(exchange.request_json)
        names = [text for path, text in texts.items() if inspection.get_key(path) == "name"]
        own = [text for text in texts.values() if text.startswith(kinds.NAME_PREFIX)]
        found = inspection.get_first(own or names) or ""
    elif not found and not exchange.is_list:
        found = exchange.path
    return (("error.subject", found),) if found else ()


def remove_data(value: Any, known_values: set[str]) -> Any:
    """Remove the members that are named by a time, or by a known value.

    `{"prj_7044": {}, "2026-11-25": 1, "id": "prj_7044"}` becomes `{"id": "prj_7044"}`.
    """
    if isinstance(value, list):
        return [remove_data(item, known_values) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, member in value.items():
        is_time = inspection.parse_seconds(name) is not None
        if not is_time and not any(known in name for known in known_values):
            found[name] = remove_data(member, known_values)
    return found


def find_common_headers(
    exchanges: Sequence[ServiceExchange], known: Sequence[Known]
) -> dict[str, str | None]:
    """Find the header fields of all responses, but Content-Type: `{"Age": None, "Server": "x"}`.

    The value of a field that varies is None.
    """
    found: dict[str, str | None] = {}
    for name in {name.lower(): name for name, _ in exchanges[0].response_fields}.values():
        values = [exchange.find_response_field(name) for exchange in exchanges]
        if name.lower() == "content-type" or None in values:
            continue
        pairs = zip(values, known, strict=True)
        marked = {mark_field(name, value or "", value_known) for value, value_known in pairs}
        found[name] = marked.pop() if len(marked) == 1 else None
    return found


def mark_field(name: str, value: str, known: Known) -> str:
    counts = [str(count) for marker, count in known.named if marker == "count"]
    if value in counts and guesses.is_count(name):
        return "{count}"
    return known.mark(value)
