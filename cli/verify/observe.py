"""Makes the profile of a service from what a run has exchanged: its bodies with markers."""

from dataclasses import dataclass
from typing import Any

from stub.like.check import errors_in
from stub.like.markers import values_below
from stub.like.profile import OWN_WORDS
from web.validation import pointer

from .checks import FOLLOWED, GET_DEPLOYMENT
from .constants import Constants
from .errors import common_form, rejections, without_echo
from .exchange import Exchange
from .fields import Fields, Mark
from .forms import times_form
from .ids import observe_ids
from .marks import ListMarks, Marks, mark_inside, named
from .observation import Observation, Part
from .places import has_status_name, is_of_deployment
from .readings import Reading, Readings
from .run import LISTS, Run
from .values import (
    NEWEST,
    Path,
    at,
    first_of,
    is_same,
    last_name,
    order_of,
    parse_seconds,
    replaced,
    scalars,
    texts_in,
    words_of,
)

STATUSES_OF_CREATION = (200, 201, 202)
COUNT_WORDS = {"count", "total", "length"}


def observe(run: Run, date: str, *, given: str) -> Observation:
    """Observe a service in what a run has exchanged; `date` is the day.

    `given` is the id of a deployment that a person has named, "" if none: its values may be shown.
    """
    readings = Readings(run, given)
    constants = Constants(run.redactor, readings.others(), readings.own(), readings.names())
    fields = Fields(run, constants)
    found = Observation({"observed_at": date}, is_own=run.creation is not None)
    observer = Observer(run, readings, constants, fields, found)
    parts = {
        "statuses": statuses_of(readings),
        "list": observer.list_form(),
        "create": observer.create_form(),
        "deployment": observer.deployment_form(),
        "errors": observer.error_forms(),
        "ids": observe_ids(readings, found),
        "times": times_form(readings.times()),
    }
    for name, part in parts.items():
        if part:
            found.profile[name] = part
    remove_invalid(found)
    for place, value in constants.kept.items():
        _, name, *_ = place.split("/")
        if name in found.profile:
            found.kept[place] = value
    if constants.signed:
        places = ", ".join(constants.signed)
        found.cannot_say(f"URLs with a signature or a password: {places}")
    if fields.left_out:
        names = ", ".join(sorted(fields.left_out))
        found.cannot_say(f"header fields that vary: {names}")
    return found


def statuses_of(readings: Readings) -> Part | None:
    """The statuses of the run of the created deployment, and the one that ended it."""
    words = readings.words
    run = list(dict.fromkeys(word for word in words if word))
    if not run:
        return None
    last = run[-1]
    has_ended = readings.run.has_ended and words[-1] == last
    return {"run": run, "ended": last if has_ended else None}


@dataclass(frozen=True)
class Observer:
    """Makes the forms of responses, and notes in `found` what they do not say."""

    run: Run
    readings: Readings
    constants: Constants
    fields: Fields
    found: Observation

    def list_form(self) -> Part | None:
        run = self.run
        asked = self._asked("list", *LISTS)
        path = run.places.items
        if asked and path is None:
            self.found.unreadable.append("list")
        own = [each for each in asked if each in self.readings.items]
        lists = [each for each in asked if run.items_of(each)]
        if path is None or not lists:
            return None
        last = (own or lists)[-1]
        marks = self._list_marks(lists, is_sure=bool(own))
        bodies = [("", each.mark(exchange.json)) for exchange, each in marks.items()]
        body = self.found.merge(bodies, "/list/body")
        item = self._created_item(path) if own else self._other_item(run.items_of(last))

        def mark(value: str, exchange: Exchange) -> str:
            if value == str(len(run.items_of(exchange))):
                return "{count}"
            return str(mark_inside(value, marks[exchange].ids))

        form = self._form("list", lists, body, mark)
        form["body"] = replaced(form["body"], path, [item])
        if self._is_newest_first(last):
            form["order"] = NEWEST
        self.found.note_status("list", last)
        return form

    def _list_marks(self, lists: list[Exchange], *, is_sure: bool) -> dict[Exchange, ListMarks]:
        run = self.run
        path = run.places.items
        assert path is not None
        count_paths = self._paths_of_count(lists)
        marks = {}
        for exchange in lists:
            items = run.items_of(exchange)
            ids = named({"first.id": run.own_id(items[0]), "last.id": run.own_id(items[-1])})
            is_map = self.constants.is_map
            marks[exchange] = ListMarks(path, count_paths, ids, is_map, is_sure)
        return marks

    def _paths_of_count(self, lists: list[Exchange]) -> set[Path]:
        """Where each list has the number of its projects; of one size, where a name says so."""
        sizes = [len(self.run.items_of(each)) for each in lists]
        found = set()
        for path, _ in scalars(lists[0].json):
            is_called = not COUNT_WORDS.isdisjoint(words_of(last_name(path)))
            values = [at(each.json, path) for each in lists]
            if is_same(values, sizes) and (is_called or len(set(sizes)) > 1):
                found.add(path)
        return found

    def _created_item(self, path: Path) -> Any:
        """The form of each project, with the values of the created one."""
        place = "/list/body" + pointer(*path, 0)
        items = [*self.readings.items.values()]
        marks = self.readings.marks_of_created("project")
        marks.status_paths = self.readings.status_paths(items)
        status_path = first_of(marks.status_paths)
        bodies = []
        for reading in items:
            word = reading.before
            if status_path is not None:
                word = at(reading.body, status_path)
            bodies.append((word, marks.mark(reading.body)))
        self.found.note_times(items[-1].body, place)
        return self.constants.clean(self.found.merge(bodies, place), place)

    def _other_item(self, items: list[Any]) -> Any:
        """The form of each project without the values of any."""
        first = items[0]
        marks = self.readings.marks_of_other("project", first)
        marks.is_shown = False
        if len(items) > 1:  # others may be values, as in a map by the names of environments
            marks.names = {path[-1] for path, _ in values_below(items[1:]) if path}
        for path, _ in scalars(first):
            if has_status_name(path) and is_of_deployment(path[:-1]):
                marks.status_paths.add(path)
        return marks.mark(first)

    def _is_newest_first(self, exchange: Exchange) -> bool:
        items = self.run.items_of(exchange)
        first = items[0]
        mine = self.readings.items.get(exchange)
        if mine is not None:
            return len(items) > 1 and first is mine.body
        for path, value in scalars(first):
            times = [parse_seconds(at(item, path)) for item in items]
            order = order_of(times)
            if parse_seconds(value) is not None and order is not None:
                return order == NEWEST
        return False

    def create_form(self) -> Part | None:
        run = self.run
        found = self.found
        creation = run.creation
        if creation is None or not found.is_strict(creation, "create"):
            return None
        part = {"request": self.constants.clean(run.request, "/create/request")}
        part |= tolerance_of(run)
        status = creation.status
        if status in STATUSES_OF_CREATION:
            part["status"] = status
        else:
            found.cannot_say(f"the status of a creation: {status}")
        body = creation.json
        marks = self.readings.marks_of_created("project")
        marks.status_paths = self.readings.status_paths_of_creation(body)
        found.note_times(body, "/create/body")
        return part | self._form("create", [creation], marks.mark(body), marks.mark_field)

    def deployment_form(self) -> Part | None:
        run = self.run
        found = self.found
        asked = [each for each in run.of(FOLLOWED.name, GET_DEPLOYMENT.name) if each.is_success]
        exchanges = run.followed or self.readings.other_deployment or asked
        if not exchanges or not found.is_strict(exchanges[-1], "deployment"):
            return None
        first = exchanges[0]
        if run.followed:
            marks = self._marks_of_created(exchanges)
            found.note_times(exchanges[-1].json, "/deployment/body")
        else:
            marks = self._marks_of_other(first)
        words = self.readings.words or [""] * len(exchanges)
        pairs = zip(words, exchanges, strict=True)
        bodies = [(word, marks.mark(each.json)) for word, each in pairs]
        body = found.merge(bodies, "/deployment/body")
        found.note_status("deployment", first)
        if marks.is_shown:
            return self._form("deployment", exchanges, body, marks.mark_field)
        fields = self._fields("deployment", exchanges, marks.mark_field)
        remove_own_fields(fields, run)
        return {"body": body, **fields}

    def _marks_of_created(self, exchanges: list[Exchange]) -> Marks:
        readings = []
        for exchange, word in zip(exchanges, self.readings.words, strict=True):
            readings.append(Reading(exchange.json, word, word))
        marks = self.readings.marks_of_created("deployment")
        marks.status_paths = self.readings.status_paths(readings)
        return marks

    def _marks_of_other(self, exchange: Exchange) -> Marks:
        """The marks of another deployment, whose status is the outermost text that is called so."""
        readings = self.readings
        marks = readings.marks_of_other("deployment", readings.project_of(exchange))
        marks.is_shown = readings.is_given(exchange)
        if marks.is_shown:
            self.found.cannot_say("the run of a deployment: the one that was named is over")
        texts = texts_in(exchange.json)
        path = first_of(path for path, text in texts.items() if text and has_status_name(path))
        if path is not None:
            marks.status_paths = {path}
            self.found.word = texts[path]
        return marks

    def error_forms(self) -> Part:
        forms: Part = {}
        for code, exchanges in rejections(self.run).items():
            part = f"errors/{code}"
            first = exchanges[0]
            if self.found.is_strict(first, part):
                bodies = [("", without_echo(each)) for each in exchanges]
                body = self.found.merge(bodies, f"/{part}/body")
                forms[code] = {
                    "status": first.status,
                    **self._form(part, exchanges, body, unmarked),
                }
        default = common_form(list(forms.values()))
        if default:
            forms["default"] = default
        return forms

    def _asked(self, part: str, *checks: str) -> list[Exchange]:
        """The successful responses to checks, none if the last one is no JSON of a profile."""
        asked = [each for each in self.run.of(*checks) if each.is_success]
        if not asked or not self.found.is_strict(asked[-1], part):
            return []
        return [each for each in asked if each.has_json]

    def _form(self, part: str, exchanges: list[Exchange], body: Any, mark: Mark) -> Part:
        """The form of a response: its body, its content type and its header fields."""
        cleaned = self.constants.clean(body, f"/{part}/body")
        return {"body": cleaned, **self._fields(part, exchanges, mark)}

    def _fields(self, part: str, exchanges: list[Exchange], mark: Mark) -> Part:
        place = f"/{part}"
        self.found.exchanges[place] = exchanges
        return self.fields.of(exchanges, place, mark)


def tolerance_of(run: Run) -> Part:
    """What invalid bodies have shown of a creation."""
    accepted = {each.check.name for each in run.exchanges if each.is_success}
    found: Part = {}
    if "no name" in accepted:
        found["optional"] = True
    if "the created name again" in accepted:
        found["unique"] = False
    if "another content type" in accepted or "no content type" in accepted:
        found["any_type"] = True
    return found


def unmarked(value: str, _: Exchange) -> str:
    """The value of a header field of an error, in which no marker can stand."""
    return value


def remove_own_fields(fields: Part, run: Run) -> None:
    """Remove the header fields of a deployment of others that no other response has."""
    others = [each for each in run.exchanges if each.check.name != GET_DEPLOYMENT.name]
    kept = {}
    for name, value in fields.pop("headers", {}).items():
        values = [exchange.header(name) for exchange in others]
        if value in values:
            kept[name] = value
    if kept:
        fields["headers"] = kept


def remove_invalid(found: Observation) -> None:
    """Leave out the parts that a profile cannot have."""
    profile = found.profile
    for error in errors_in(profile, OWN_WORDS):
        _, name, *rest = error.pointer.split("/")
        holder = profile
        part = name
        if name in ("errors", "ids"):
            holder = profile[name]
            part = rest[0]
        if part in holder:
            found.cannot_say(f"/{name}: {error.pointer} {error.detail}")
            del holder[part]
