"""Makes the profile of a service from what a run has exchanged: its bodies with markers."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from stub.like.check import errors_in
from stub.like.profile import OWN_WORDS
from web.validation import pointer

from .checks import FOLLOWED, GET_DEPLOYMENT
from .choices import merge
from .constants import Constants
from .envelope import Envelope, Listing
from .errors import common_form, rejections, without_echo
from .exchange import Exchange
from .fields import Fields, Mark
from .ids import observe_ids
from .marks import Marks
from .observation import Observation, Part
from .places import has_status_name, says_deployment
from .readings import Reading, Readings
from .run import LISTS, Run
from .values import NEWEST, Path, at, first_of, order_of, parse_seconds, replaced, scalars, texts_in

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
        "times": readings.times,
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
    found.exchanges = fields.exchanges
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

    # The list

    def list_form(self) -> Part | None:
        run = self.run
        found = self.found
        lists = run.succeeded(*LISTS)
        path = run.places.items
        self._check_strict("list", *LISTS)
        if lists and path is None:
            found.unreadable.append("list")
        last = self._last_list(lists)
        if path is None or last is None or not found.is_strict(last, "list"):
            return None
        place = "/list/body"
        first_item = (*path, 0)
        item = self._item(last, place + pointer(*first_item))
        listings = {exchange: listing_of(run, exchange) for exchange in lists}
        is_own = self.readings.item_in(last) is not None
        envelope = Envelope(list(listings.values()), path, self.constants.is_map, is_sure=is_own)

        def mark(value: str, exchange: Exchange) -> str:
            return listings[exchange].mark_field(value)

        form = self._form("/list", lists, envelope.mark(last.json), mark)
        form["body"] = replaced(form["body"], path, [item])
        if self._is_newest_first(last):
            form["order"] = NEWEST
        for varying in envelope.varying:
            found.varying.append(place + pointer(*varying))
        found.note_status("list", last)
        return form

    def _last_list(self, lists: list[Exchange]) -> Exchange | None:
        """The last list with the created project, or else with any project."""
        for each in reversed(lists):
            if self.readings.item_in(each) is not None:
                return each
        for each in reversed(lists):
            if self.run.items_of(each):
                return each
        return None

    def _item(self, exchange: Exchange, place: str) -> Any:
        """The form of each project: of the created one, or of another one without its values."""
        readings = self.readings
        if readings.item_in(exchange) is not None:
            item = self._created_item(place)
            return self.constants.clean(item, place)
        items = self.run.items_of(exchange)
        first = items[0]
        marks = readings.marks_of_other("project", first, is_shown=False)
        marks.names = common_names(items)
        paths = [path for path, _ in scalars(first)]
        marks.status_paths.update(filter(is_deployment_status, paths))
        return marks.mark(first)

    def _created_item(self, place: str) -> Any:
        readings = self.readings
        items = readings.items
        marks = readings.marks_of_created("project")
        if readings.words:
            marks.status_paths = readings.status_paths(items)
        status_path = first_of(marks.status_paths)
        bodies = []
        for reading in items:
            word = reading.before
            if status_path is not None:
                word = at(reading.body, status_path)
            bodies.append((word, marks.mark(reading.body)))
        self.found.note_times(items[-1].body, place)
        return self._merge(bodies, place)

    def _is_newest_first(self, exchange: Exchange) -> bool:
        items = self.run.items_of(exchange)
        first = items[0]
        mine = self.readings.item_in(exchange)
        if mine is not None:
            return len(items) > 1 and first is mine
        for path, value in scalars(first):
            if parse_seconds(value) is None:
                continue
            times = [parse_seconds(at(item, path)) for item in items]
            order = order_of(times)
            if order is not None:
                return order == NEWEST
        return False

    # The creation and the deployment

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
        return part | self._form("/create", [creation], marks.mark(body), marks.mark_field)

    def deployment_form(self) -> Part | None:
        is_strict = self.found.is_strict
        self._check_strict("deployment", FOLLOWED.name, GET_DEPLOYMENT.name)
        followed = self.run.followed
        if followed and is_strict(followed[-1], "deployment"):
            return self._created_deployment(followed)
        other = self.readings.others_deployment
        if other is not None and is_strict(other, "deployment"):
            return self._other_deployment(other)
        return None

    def _created_deployment(self, followed: list[Exchange]) -> Part:
        place = "/deployment/body"
        found = self.found
        all_readings = self.readings
        words = all_readings.words
        readings = []
        for exchange, word in zip(followed, words, strict=True):
            readings.append(Reading(exchange.json, word, word))
        marks = all_readings.marks_of_created("deployment")
        if any(words):
            marks.status_paths = all_readings.status_paths(readings)
        bodies = [(reading.before, marks.mark(reading.body)) for reading in readings]
        body = self._merge(bodies, place)
        found.note_times(readings[-1].body, place)
        fields = self.fields.of(followed, "/deployment", marks.mark_field)
        found.note_status("deployment", followed[0])
        return {"body": self.constants.clean(body, place), **fields}

    def _other_deployment(self, other: Exchange) -> Part:
        """The form of a deployment that was not created, with its values only if it was given."""
        place = "/deployment/body"
        run = self.run
        readings = self.readings
        found = self.found
        is_given = readings.is_given(other)
        project = readings.project_of(other)
        marks = readings.marks_of_other("deployment", project, is_shown=is_given)
        status_path = named_status(other.json)
        if status_path is not None:
            marks.status_paths = {status_path}
            found.word = at(other.json, status_path)
        read = run.succeeded(GET_DEPLOYMENT.name)
        exchanges = [each for each in read if each.target == other.target]
        bodies = [("", marks.mark(exchange.json)) for exchange in exchanges]
        body = self._merge(bodies, place)
        fields = self.fields.of(exchanges, "/deployment", marks.mark_field)
        if is_given:
            found.cannot_say("the run of a deployment: the one that was named is over")
            body = self.constants.clean(body, place)
        else:
            remove_own_fields(fields, run)
        found.note_status("deployment", exchanges[0])
        return {"body": body, **fields}

    def _form(self, place: str, exchanges: list[Exchange], body: Any, mark: Mark) -> Part:
        """The form of a response: its body, its content type and its header fields."""
        cleaned = self.constants.clean(body, f"{place}/body")
        return {"body": cleaned, **self.fields.of(exchanges, place, mark)}

    def _merge(self, bodies: list[tuple[str, Any]], place: str) -> Any:
        """One body of several readings, each with its status; what varies is noted."""
        volatile = self.found.note_volatile(bodies, place)
        first: dict[str, Any] = {}
        for word, body in bodies:
            first.setdefault(word, body)
        in_order = {}
        for word in self.readings.words:
            if word in first:
                in_order[word] = first[word]
        return merge(in_order or first, volatile)

    def _check_strict(self, place: str, *checks: str) -> None:
        """Note that the successful responses to these checks are no JSON, if none of them is."""
        found = [each for each in self.run.of(*checks) if each.is_success]
        if found and not self.run.succeeded(*checks):
            self.found.is_strict(found[-1], place)

    # Errors

    def error_forms(self) -> Part:
        found = self.found
        forms: Part = {}
        all_volatile: set[Path] = set()
        for code, exchanges in rejections(self.run).items():
            place = f"/errors/{code}"
            first = exchanges[0]
            if not found.is_strict(first, f"errors/{code}"):
                continue
            bodies = []
            for exchange in exchanges:
                marked = Marks("error").mark(exchange.json)
                bodies.append(without_echo(marked, exchange.deployment_id))
            of_one_status = [("", body) for body in bodies]
            all_volatile |= found.note_volatile(of_one_status, f"{place}/body")
            form = self._form(place, exchanges, bodies[0], unmarked)
            forms[code] = {"status": first.status, **form}
        default = common_form(list(forms.values()), all_volatile)
        if default:
            forms["default"] = default
        return forms


def listing_of(run: Run, exchange: Exchange) -> Listing:
    ids = [run.own_id(item) for item in run.items_of(exchange)]
    if not ids:
        return Listing(exchange.json, 0)
    return Listing(exchange.json, len(ids), ids[0], ids[-1])


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


def is_deployment_status(path: Path) -> bool:
    """Whether a member has the name of a status, inside of one that says deployment."""
    outer = path[:-1]
    return has_status_name(path) and any(map(says_deployment, outer))


def common_names(records: list[Any]) -> set[str] | None:
    """The names of members that more than one record has; of one record alone it is not known.

    Others may be values of somebody, as in a map by the names of environments.
    """
    if len(records) < 2:
        return None
    counts: Counter[str] = Counter()
    for record in records:
        names = set[str]()
        for path, _ in scalars(record):
            names.update(map(str, path))
        counts.update(names)
    return {name for name, count in counts.items() if count > 1}


def named_status(body: Any) -> Path | None:
    """Where a deployment that has ended has its status: the outermost text that is called so."""
    texts = texts_in(body)
    return first_of(path for path, text in texts.items() if text and has_status_name(path))
