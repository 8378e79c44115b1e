"""What a run has read: whose it is, and with which status."""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, NamedTuple

from stub.contract import object_in

from .checks import GET_DEPLOYMENT
from .exchange import Exchange
from .forms import Form, times_form
from .marks import Marks, named
from .places import has_status_name
from .run import LISTS, Run, names_deployment
from .values import Path, at, first_of, is_id, preferred, scalars, text_at, values_in

MINUTE = 60.0


class Reading(NamedTuple):
    """A body, and the statuses of the created deployment that were read before and after it."""

    body: Any
    before: str
    after: str


class Readings:
    """The bodies of a run.

    `words` are the statuses of the created deployment, one for each time that it was read; `mine`
    has the created project as it stands in the lists that have it.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        path = run.status_path
        self.words = [text_at(exchange.json, path) for exchange in run.followed]
        self.mine: dict[Exchange, Any] = {}
        for exchange in run.succeeded(*LISTS):
            item = run.created_item(exchange)
            if item is not None:
                self.mine[exchange] = item

    def of_creation(self) -> list[Reading]:
        """The created project, as the response to the creation has it."""
        word = first_of(self.words) or ""
        return [Reading(self.run.created_body, word, word)]

    def of_deployment(self) -> list[Reading]:
        pairs = zip(self.run.followed, self.words, strict=True)
        return [Reading(exchange.json, word, word) for exchange, word in pairs]

    def of_project(self) -> list[Reading]:
        """The created project, as the lists had it."""
        found = []
        followed = self.run.followed
        to_come = [*self.words] or [""]
        word = to_come[0]
        for exchange in self.run.exchanges:
            if exchange in followed:
                word = to_come.pop(0)
            if exchange in self.mine:
                after = to_come[0] if to_come else word
                found.append(Reading(self.mine[exchange], word, after))
        return found

    @cached_property
    def other_deployment(self) -> list[Exchange]:
        """The responses with one deployment that is not the created one: the given one, if any."""
        others = preferred(self._others_deployments(), self.is_given)
        return [each for each in others if each.target == others[0].target]

    def _others_deployments(self) -> list[Exchange]:
        own = [each.target for each in self.run.followed]
        read = self.run.succeeded(GET_DEPLOYMENT.name)
        return [each for each in read if each.target not in own]

    def is_given(self, exchange: Exchange) -> bool:
        """Whether a person has named this deployment, whose values may be shown then."""
        return exchange.deployment_id == self.run.given

    @cached_property
    def varying_fields(self) -> set[str]:
        """The names of the header fields that differ between two responses to one check."""
        first: dict[tuple[str, int, str], str | None] = {}
        found = set()
        for exchange in self.run.exchanges:
            check = exchange.name
            if check in LISTS:
                check = "list"
            for name in exchange.headers:
                lower = name.lower()
                value = exchange.header(name)
                kind = (check, exchange.status, lower)
                if first.setdefault(kind, value) != value:
                    found.add(lower)
        return found

    # Whose values

    def own(self) -> list[Any]:
        """The bodies whose values may be shown: those of the record that the run has made."""
        run = self.run
        found = run.bodies_of_creation()
        found += self.mine.values()
        found += [each.json for each in run.followed]
        if run.creation:
            found.append(object_in(run.creation.body))
        return found

    def others(self) -> Iterator[Any]:
        """The records of others; a deployment that a person has named is none of them."""
        run = self.run
        for exchange in run.succeeded(*LISTS):
            mine = self.mine.get(exchange)
            for item in run.items_of(exchange):
                if item is not mine:
                    yield item
        for exchange in self._others_deployments():
            if not self.is_given(exchange):
                yield exchange.json

    def names(self) -> list[str]:
        """The ids and names of all projects, and the id of the created deployment."""
        run = self.run
        found = [run.created_id, run.created_name, id_of(run.followed)]
        for project in run.others:
            found += [run.name_of(project), run.own_id(project)]
        return [str(each) for each in found if each is not None]

    # Markers

    @cached_property
    def _window(self) -> tuple[float, float]:
        """Between which times, by the service's clock, the created project has changed."""
        run = self.run
        until = run.exchanges[-1].sent_at + MINUTE
        if run.creation is None:
            return 0.0, until
        skew = clock_skew(run.creation)
        since = run.creation.sent_at - MINUTE
        return since + skew, until + skew

    @cached_property
    def _time(self) -> Form | None:
        return times_form(self.own()) or times_form(list(self.others()))

    def marks_of_created(self, kind: str) -> Marks:
        run = self.run
        return self._marks(kind, run.created_id, run.created_name, run.followed)

    def marks_of_other(self, kind: str, project: Any) -> Marks:
        """What stands for the values of a project that is listed, and of its deployment."""
        run = self.run
        own_id = run.own_id(project)
        name = run.name_of(project)
        marks = self._marks(kind, own_id, name, self.other_deployment)
        _, until = marks.window
        marks.window = (0.0, until)
        marks.is_shown = False
        return marks

    def _marks(self, kind: str, project_id: Any, name: str, deployment: list[Exchange]) -> Marks:
        """What stands for the values of a project and its deployment, those of this kind first."""
        ids = {"project.id": project_id, "deployment.id": id_of(deployment)}
        first = f"{kind}.id"
        values = {first: ids[first], **ids, "project.name": name}
        return Marks(kind, named(values), self._window, self._time)

    def project_of(self, deployment: Exchange) -> Any:
        """The listed project that a deployment belongs to, None if none says so."""
        run = self.run
        values = [value for value in values_in(deployment.json) if is_id(value)]
        for project in run.listed:
            is_named = run.own_id(project) in values or run.name_of(project) in values
            if is_named or names_deployment(project, deployment.deployment_id):
                return project
        return None

    # Where the status stands

    def status_paths(self, readings: list[Reading]) -> Iterator[Path]:
        """Where these bodies have the status: a text that changes with it, or is called so."""
        for path, value in scalars(readings[-1].body):
            texts = [at(reading.body, path) for reading in readings]
            has_changed = any(text != value for text in texts)
            is_likely = has_changed or has_status_name(path)
            if value and is_likely and are_words(texts, readings):
                yield path


def id_of(deployment: list[Exchange]) -> Any:
    """The id of a deployment, of the type that it has in its body; None if it was not read."""
    if not deployment:
        return None
    last = deployment[-1]
    asked = last.deployment_id
    for value in values_in(last.json):
        if is_id(value) and str(value) == asked:
            return value
    return asked


def are_words(texts: list[Any], readings: list[Reading]) -> bool:
    """Whether each text is the status that was read before or after it."""
    for text, reading in zip(texts, readings, strict=True):
        if text not in (reading.before, reading.after):
            return False
    return True


def clock_skew(exchange: Exchange) -> float:
    """By how many seconds the clock of the service is ahead, as far as it says so."""
    dates = exchange.headers.get_all("Date", [""])
    try:
        date = parsedate_to_datetime(dates[-1])
        return date.timestamp() - exchange.sent_at
    except ValueError:
        return 0.0
