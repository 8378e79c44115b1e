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
from .marks import ListMarks, named
from .observation import Observation, Part
from .places import has_status_name, is_of_deployment, texts_of_status
from .readings import Reading, Readings
from .run import LISTS, Run
from .values import (
    NEWEST,
    Path,
    at,
    first_of,
    order_of,
    parse_seconds,
    replaced,
    scalars,
)

STATUSES_OF_CREATION = (200, 201, 202)


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
        "times": times_form(readings.own()) or times_form(readings.others()),
    }
    for name, part in parts.items():
        if part:
            found.profile[name] = part
    remove_invalid(found)
    for place, value in constants.kept.items():
        if place.split("/")[1] in found.profile:
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
        found = self.found
        asked = [each for each in run.of(*LISTS) if each.is_success]
        path = run.places.items
        if not asked or not found.is_strict(asked[-1], "list"):
            return None
        if path is None:
            found.unreadable.append("list")
            return None
        lists = [each for each in asked if run.items_of(each)]
        if not lists:
            return None
        own = [each for each in lists if each in self.readings.mine]
        last = (own or lists)[-1]
        place = "/list/body"
        item_place = place + pointer(*path, 0)
        if own:
            item = self._created("project", self.readings.of_project(), item_place)
        else:
            item = self._hidden_project(run.items_of(last))
        marks = {each: self._list_marks(each, path, is_sure=bool(own)) for each in lists}
        bodies = [("", marks[each].mark(each.json)) for each in lists]
        body = self.constants.clean(found.merge(bodies, place), place)
        body = replaced(body, path, [item])
        found.note_status("list", last)
        form = self._form("list", lists, body, lambda value, each: marks[each].mark_field(value))
        if self._is_newest_first(last):
            form["order"] = NEWEST
        return form

    def _list_marks(self, exchange: Exchange, path: Path, *, is_sure: bool) -> ListMarks:
        run = self.run
        items = run.items_of(exchange)
        ids = named({"first.id": run.own_id(items[0]), "last.id": run.own_id(items[-1])})
        return ListMarks(path, len(items), ids, self.constants.is_map, is_sure)

    def _hidden_project(self, items: list[Any]) -> Any:
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
        if exchange in self.readings.mine:
            return len(items) > 1 and first is self.readings.mine[exchange]
        for path, value in scalars(first):
            times = [parse_seconds(at(item, path)) for item in items]
            order = order_of(times)
            if parse_seconds(value) is not None and order is not None:
                return order == NEWEST
        return False

    def create_form(self) -> Part | None:
        run = self.run
        creation = run.creation
        if creation is None or not self.found.is_strict(creation, "create"):
            return None
        part = {"request": self.constants.clean(run.request, "/create/request")}
        part |= tolerance_of(run)
        status = creation.status
        if status in STATUSES_OF_CREATION:
            part["status"] = status
        else:
            self.found.cannot_say(f"the status of a creation: {status}")
        word = self.readings.words[0] if self.readings.words else ""
        body = self._created("project", [Reading(creation.json, word, word)], "/create/body")
        marks = self.readings.marks_of_created("project")
        return part | self._form("create", [creation], body, marks.mark_field)

    def deployment_form(self) -> Part | None:
        run = self.run
        asked = [each for each in run.of(FOLLOWED.name, GET_DEPLOYMENT.name) if each.is_success]
        exchanges = run.followed or self.readings.other_deployment or asked
        if not exchanges or not self.found.is_strict(exchanges[-1], "deployment"):
            return None
        self.found.note_status("deployment", exchanges[0])
        if not run.followed:
            return self._other_deployment(exchanges)
        body = self._created("deployment", self.readings.of_deployment(), "/deployment/body")
        marks = self.readings.marks_of_created("deployment")
        return self._form("deployment", exchanges, body, marks.mark_field)

    def _other_deployment(self, exchanges: list[Exchange]) -> Part:
        """The form of a deployment that was not created, with its values only if it was given."""
        found = self.found
        readings = self.readings
        first = exchanges[0]
        marks = readings.marks_of_other("deployment", readings.project_of(first))
        marks.is_shown = readings.is_given(first)
        named_so = [path for path in texts_of_status(first.json) if has_status_name(path)]
        if named_so:
            marks.status_paths = {named_so[0]}
            found.word = at(first.json, named_so[0])
        place = "/deployment/body"
        bodies = [("", marks.mark(each.json)) for each in exchanges]
        body = found.merge(bodies, place)
        if marks.is_shown:
            found.cannot_say("the run of a deployment: the one that was named is over")
            body = self.constants.clean(body, place)
        form = self._form("deployment", exchanges, body, marks.mark_field)
        if not marks.is_shown:
            remove_own_fields(form, self.run)
        return form

    def error_forms(self) -> Part:
        forms: Part = {}
        for code, exchanges in rejections(self.run).items():
            part = f"errors/{code}"
            place = f"/{part}/body"
            first = exchanges[0]
            if not self.found.is_strict(first, part):
                continue
            bodies = [("", without_echo(each)) for each in exchanges]
            body = self.constants.clean(self.found.merge(bodies, place), place)
            form = self._form(part, exchanges, body, lambda value, _: value)
            forms[code] = {"status": first.status, **form}
        default = common_form(list(forms.values()))
        if default:
            forms["default"] = default
        return forms

    def _created(self, kind: str, readings: list[Reading], place: str) -> Any:
        """The body of the created project, or of its deployment, of what was read of it."""
        marks = self.readings.marks_of_created(kind)
        marks.status_paths = self.readings.status_paths(readings)
        status_path = first_of(marks.status_paths)
        bodies = []
        for reading in readings:
            word = reading.before
            if status_path is not None:
                word = at(reading.body, status_path)
            bodies.append((word, marks.mark(reading.body)))
        self.found.note_times(readings[-1].body, place)
        return self.constants.clean(self.found.merge(bodies, place), place)

    def _form(self, part: str, exchanges: list[Exchange], body: Any, mark: Mark) -> Part:
        """The form of a response: its body, its content type and its header fields."""
        place = f"/{part}"
        self.found.exchanges[place] = exchanges
        return {"body": body, **self.fields.of(exchanges, place, mark)}


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


def remove_own_fields(form: Part, run: Run) -> None:
    """Remove the header fields of a deployment of others that no other response has."""
    others = [each for each in run.exchanges if each.check.name != GET_DEPLOYMENT.name]
    kept = {}
    for name, value in form.pop("headers", {}).items():
        values = [exchange.header(name) for exchange in others]
        if value in values:
            kept[name] = value
    if kept:
        form["headers"] = kept


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
