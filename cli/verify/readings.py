"""What a run has read: whose it is, and with which status."""

from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

from stub.contract import object_in

from .checks import GET_DEPLOYMENT
from .exchange import Exchange
from .forms import Form, times_form
from .marks import MINUTE, Marks
from .places import has_status_name
from .run import LISTS, Run, names_deployment
from .values import Path, at, first_of, is_id, last_name, parse_seconds, scalars, values_in


@dataclass(frozen=True)
class Reading:
    """A body, and the statuses of the created deployment that were read before and after it."""

    body: Any
    before: str
    after: str


class Readings:
    """The bodies of a run. `given` is the id of a deployment that a person has named, or ""."""

    def __init__(self, run: Run, given: str) -> None:
        self.run = run
        self.given = given
        self._items: dict[Exchange, Any] = {}  # cache: a list may be long
        self.status_path = run.status_path
        self.words = [self._word_of(each.json) for each in run.followed]

    def _word_of(self, body: Any) -> str:
        word = None if self.status_path is None else at(body, self.status_path)
        return word if isinstance(word, str) else ""

    @cached_property
    def items(self) -> list[Reading]:
        """The created project, as the lists had it."""
        found = []
        count = 0  # of the readings of the deployment so far
        followed = self.run.followed
        for exchange in self.run.exchanges:
            if exchange in followed:
                count += 1
            item = self.item_in(exchange)
            if item is not None:
                before = self._word_at(count - 1)
                after = self._word_at(count)
                found.append(Reading(item, before, after))
        return found

    def _word_at(self, index: int) -> str:
        """The status at the nearest index that there is."""
        if not self.words:
            return ""
        last = len(self.words) - 1
        return self.words[min(max(index, 0), last)]

    def item_in(self, exchange: Exchange) -> Any:
        """The created project in a list, None if it is not there."""
        if exchange.check.name not in LISTS or not self.run.creation:
            return None
        if exchange not in self._items:
            self._items[exchange] = self.run.created_item(exchange)
        return self._items[exchange]

    @cached_property
    def others_deployment(self) -> Exchange | None:
        """The response with a deployment that is not the created one, None if there is none."""
        read = self._read_ones()
        given = [each for each in read if self.is_given(each)]
        return first_of(given or read)

    def is_given(self, exchange: Exchange) -> bool:
        """Whether a person has named this deployment."""
        return exchange.deployment_id == self.given

    # Whose values

    def own(self) -> list[Any]:
        """The bodies whose values may be shown: those of the record that the run has made."""
        run = self.run
        found = [*run.bodies_of_creation()]
        found += [each.json for each in run.followed]
        found += [each.body for each in self.items]
        if run.creation is not None:
            found.append(object_in(run.creation.body))
        return found

    def others(self) -> list[Any]:
        """The records of others; a deployment that a person has named is none of them."""
        found = []
        for exchange in self.run.succeeded(*LISTS):
            mine = self.item_in(exchange)
            found += [each for each in self.run.items_of(exchange) if each is not mine]
        found += [each.json for each in self._read_ones() if not self.is_given(each)]
        return found

    def names(self) -> list[str]:
        """The ids and names of all projects, and the id of the created deployment."""
        run = self.run
        found = [run.places.created_id, run.created_name, self.deployment_id]
        for project in run.places.others:
            found += [run.name_of(project), run.own_id(project)]
        return [str(each) for each in found if each is not None]

    def _read_ones(self) -> list[Exchange]:
        """The responses with deployments that are not the created one."""
        own = [each.target for each in self.run.followed]
        read = self.run.succeeded(GET_DEPLOYMENT.name)
        return [each for each in read if each.target not in own]

    # Markers

    @cached_property
    def times(self) -> Form | None:
        """The form of the service's times, None if there are none."""
        texts = time_texts(self.own()) or time_texts(self.others())
        near = [text for text in texts if self._is_in_window(text)]
        return times_form(near or texts)

    def _is_in_window(self, text: str) -> bool:
        since, until = self._window
        seconds = parse_seconds(text)
        return seconds is not None and since <= seconds <= until

    @cached_property
    def _window(self) -> tuple[float, float]:
        """Between which times, by the service's clock, the created project has changed."""
        creation = self.run.creation
        until = max(each.sent_at for each in self.run.exchanges)
        if creation is None:
            return 0.0, until + MINUTE
        skew = clock_skew(creation)
        since = creation.sent_at + skew
        return since - MINUTE, until + skew + MINUTE

    @cached_property
    def deployment_id(self) -> Any:
        """The id of the created deployment, None if it was not read."""
        followed = self.run.followed
        return id_of(followed[-1]) if followed else None

    def marks_of_created(self, kind: str) -> Marks:
        places = self.run.places
        return Marks(
            kind,
            places.created_id,
            self.run.created_name,
            self.deployment_id,
            times=self.times,
            window=self._window,
        )

    def marks_of_other(self, kind: str, project: Any, *, is_shown: bool) -> Marks:
        """What stands for the values of a project that is listed, and of its deployment."""
        deployment = self.others_deployment
        return Marks(
            kind,
            self.run.own_id(project),
            self.run.name_of(project),
            None if deployment is None else id_of(deployment),
            times=self.times,
            window=(0.0, self._window[1]),
            is_shown=is_shown,
            has_any_time=True,
        )

    def project_of(self, deployment: Exchange) -> Any:
        """The listed project that a deployment belongs to, None if none says so."""
        run = self.run
        values = [value for value in values_in(deployment.json) if is_id(value)]
        for project in run.places.listed:
            if names_deployment(project, deployment.deployment_id):
                return project
            if run.own_id(project) in values or run.name_of(project) in values:
                return project
        return None

    # Where the status stands

    def status_paths(self, readings: list[Reading]) -> set[Path]:
        """Where these bodies have the status: a text that changes with it, or is called so."""
        found = set()
        for path, value in scalars(readings[-1].body):
            texts = [at(reading.body, path) for reading in readings]
            has_changed = any(text != value for text in texts)
            if not value or not (has_changed or has_status_name(path)):
                continue
            if are_words(texts, readings):
                found.add(path)
        return found

    def status_paths_of_creation(self, body: Any) -> set[Path]:
        """Where the response to the creation has the status: as the list has it, if that does."""
        first = self.words[0] if self.words else ""
        paths = [path for path, value in scalars(body) if value and value == first]
        if not self.items:
            return {path for path in paths if has_status_name(path)}
        if not paths:
            return set()
        names = {last_name(path) for path in self.status_paths(self.items)}
        return {path for path in paths if last_name(path) in names}


def are_words(texts: list[Any], readings: list[Reading]) -> bool:
    """Whether each text is the status that was read before or after it."""
    for text, reading in zip(texts, readings, strict=True):
        if text not in (reading.before, reading.after):
            return False
    return True


def time_texts(bodies: Iterable[Any]) -> list[str]:
    """The RFC 3339 times in bodies."""
    values = values_in([*bodies])
    return [value for value in values if parse_seconds(value) is not None]


def clock_skew(exchange: Exchange) -> float:
    """By how many seconds the clock of the service is ahead; 0 where it is within a minute."""
    dates = exchange.headers.get_all("Date", [""])
    try:
        seconds = parsedate_to_datetime(dates[-1]).timestamp()
    except ValueError:
        return 0.0
    skew = seconds - exchange.sent_at
    return skew if abs(skew) > MINUTE else 0.0


def id_of(exchange: Exchange) -> Any:
    """The id of a deployment that was read, of the type that it has in the body."""
    asked = exchange.deployment_id
    for value in values_in(exchange.json):
        if is_id(value) and str(value) == asked:
            return value
    return asked
