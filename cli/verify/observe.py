"""Makes the profile of a service from what a run has exchanged: its bodies with markers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from stub.like.check import errors_in
from stub.like.profile import DEPTH, OWN_WORDS
from web.strict_json import MalformedJSON, parse_json
from web.validation import pointer

from .choices import merge, volatile_paths
from .constants import Constants
from .envelope import Envelope, Listing
from .errors import common_form, rejections, without_echo
from .exchange import Exchange
from .fields import Fields
from .forms import Form, ids_form, time_form
from .marks import Marks
from .places import has_status_name, says_deployment
from .probes import FOLLOWED, GET_DEPLOYMENT
from .readings import Reading, Readings, id_of
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
    texts_in,
)

Part = dict[str, Any]

STATUSES_OF_CREATION = (200, 201, 202)


@dataclass
class Observation:
    """A profile, and what a person has to know of it.

    `kept` are its constants by their JSON pointers, `varying` what was another one in each reading,
    `unsaid` sentences of what a profile cannot say, `unreadable` the parts whose response has a
    body that no profile can have, `word` the status of a deployment whose run was not seen,
    `statuses` those of the responses to a list and a deployment, `exchanges` what showed each form,
    `times` the forms of the times of the created records by their places; `is_own` says that the
    records are those of the created project.
    """

    profile: Part
    kept: dict[str, Any] = field(default_factory=dict)
    varying: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    word: str = ""
    is_own: bool = False
    statuses: dict[str, int] = field(default_factory=dict)
    exchanges: dict[str, list[Exchange]] = field(default_factory=dict)
    times: dict[str, Form] = field(default_factory=dict)


class Observer:
    """Observes a service in what a run has exchanged; `date` is the day.

    `given` is the id of a deployment that a person has named, "" if none: its values may be shown.
    """

    def __init__(self, run: Run, date: str, *, given: str) -> None:
        self._run = run
        self._found = Observation({"observed_at": date}, is_own=run.creation is not None)
        self._readings = Readings(run, given)
        own, others = self._readings.own(), self._readings.others()
        self._constants = Constants(run.redactor, others, own, self._readings.names())
        self._fields = Fields(run, self._constants)

    def observe(self) -> Observation:
        self._add("statuses", self._statuses())
        self._add("list", self._list())
        self._add("create", self._create())
        self._add("deployment", self._deployment())
        self._add("errors", self._errors())
        self._add("ids", self._ids())
        self._add("times", self._readings.times)
        self._remove_invalid()
        self._note_values()
        self._found.exchanges = self._fields.exchanges
        return self._found

    def _add(self, name: str, part: Part | None) -> None:
        if part:
            self._found.profile[name] = part

    def _statuses(self) -> Part | None:
        words = self._readings.words
        run = list(dict.fromkeys(word for word in words if word))
        if not run:
            return None
        has_ended = self._run.has_ended and words[-1] == run[-1]
        return {"run": run, "ended": run[-1] if has_ended else None}

    # The list

    def _list(self) -> Part | None:
        lists = self._run.succeeded(*LISTS)
        path = self._run.places.items
        self._check_strict("list", *LISTS)
        if lists and path is None:
            self._found.unreadable.append("list")
        last = self._last_list(lists)
        if path is None or last is None or not self._is_strict(last, "list"):
            return None
        is_own = self._readings.item_in(last) is not None
        item_place = f"/list/body{pointer(*path)}/0"
        if is_own:
            item = self._constants.clean(self._created_item(item_place), item_place)
        else:
            item = self._other_item(self._run.items_of(last))
        listings = {exchange: self._listing(exchange) for exchange in lists}
        envelope = Envelope(list(listings.values()), path, self._constants.is_map, is_sure=is_own)
        body = self._constants.clean(envelope.mark(last.json), "/list/body")
        self._found.varying += ["/list/body" + pointer(*each) for each in envelope.varying]

        def mark(value: str, exchange: Exchange) -> str:
            return listings[exchange].mark_field(value)

        fields = self._fields.of(lists, "/list", mark)
        part = {"body": replaced(body, path, [item]), **fields}
        if self._is_newest_first(last):
            part["order"] = NEWEST
        self._note_status("list", last)
        return part

    def _last_list(self, lists: list[Exchange]) -> Exchange | None:
        """The last list with the created project, or else with any project."""
        found = [each for each in lists if self._readings.item_in(each) is not None]
        found = found or [each for each in lists if self._run.items_of(each)]
        return found[-1] if found else None

    def _listing(self, exchange: Exchange) -> Listing:
        run = self._run
        items = run.items_of(exchange)
        if not items:
            return Listing(exchange.json, 0)
        return Listing(exchange.json, len(items), run.own_id(items[0]), run.own_id(items[-1]))

    def _created_item(self, place: str) -> Any:
        """The form of each project, from the created one."""
        readings = self._readings
        marks = readings.marks_of_created("project")
        if readings.words:
            marks.status_paths = readings.status_paths(readings.items)
        bodies = []
        for reading in readings.items:
            words = [at(reading.body, path) for path in marks.status_paths]
            word = words[0] if words else reading.before
            bodies.append((word, marks.mark(reading.body)))
        self._note_times(place, readings.items[-1].body)
        return self._merge(bodies, place)

    def _other_item(self, items: list[Any]) -> Any:
        """The form of each project, from the first one, without its values."""
        first = items[0]
        marks = self._readings.marks_of_other("project", first, is_shown=False)
        marks.names = common_names(items)
        marks.status_paths = {path for path, _ in scalars(first) if is_deployment_status(path)}
        return marks.mark(first)

    def _is_newest_first(self, exchange: Exchange) -> bool:
        items = self._run.items_of(exchange)
        mine = self._readings.item_in(exchange)
        if mine is not None:
            return len(items) > 1 and items[0] is mine
        for path, value in scalars(items[0]):
            order = order_of([parse_seconds(at(item, path)) for item in items])
            if parse_seconds(value) is not None and order is not None:
                return order == NEWEST
        return False

    # The creation and the deployment

    def _create(self) -> Part | None:
        run = self._run
        creation = run.creation
        if creation is None or not self._is_strict(creation, "create"):
            return None
        marks = self._readings.marks_of_created("project")
        marks.status_paths = self._readings.status_paths_of_creation(creation.json)
        request = self._constants.clean(run.request, "/create/request")
        part = {"request": request, **self._tolerance()}
        if creation.status in STATUSES_OF_CREATION:
            part["status"] = creation.status
        else:
            self._cannot_say(f"the status of a creation: {creation.status}")
        part["body"] = self._constants.clean(marks.mark(creation.json), "/create/body")
        self._note_times("/create/body", creation.json)
        return {**part, **self._fields.of([creation], "/create", marks.mark_field)}

    def _tolerance(self) -> Part:
        """What invalid bodies have shown of a creation."""
        accepted = {each.probe.name for each in self._run.exchanges if each.is_success}
        found: Part = {}
        if "no name" in accepted:
            found["optional"] = True
        if "the created name again" in accepted:
            found["unique"] = False
        if "another content type" in accepted or "no content type" in accepted:
            found["any_type"] = True
        return found

    def _deployment(self) -> Part | None:
        self._check_strict("deployment", FOLLOWED.name, GET_DEPLOYMENT.name)
        followed = self._run.followed
        if followed and self._is_strict(followed[-1], "deployment"):
            return self._created_deployment(followed)
        other = self._readings.others_deployment
        if other is not None and self._is_strict(other, "deployment"):
            return self._other_deployment(other)
        return None

    def _created_deployment(self, followed: list[Exchange]) -> Part:
        place = "/deployment/body"
        words = self._readings.words
        readings = [
            Reading(each.json, word, word) for each, word in zip(followed, words, strict=True)
        ]
        marks = self._readings.marks_of_created("deployment")
        if any(words):
            marks.status_paths = self._readings.status_paths(readings)
        bodies = [(each.before, marks.mark(each.body)) for each in readings]
        body = self._merge(bodies, place)
        self._note_times(place, followed[-1].json)
        fields = self._fields.of(followed, "/deployment", marks.mark_field)
        self._note_status("deployment", followed[0])
        return {"body": self._constants.clean(body, place), **fields}

    def _other_deployment(self, other: Exchange) -> Part:
        """The form of a deployment that was not created, with its values only if it was given."""
        place = "/deployment/body"
        is_given = self._readings.is_given(other)
        project = self._readings.project_of(other)
        marks = self._readings.marks_of_other("deployment", project, is_shown=is_given)
        status_path = named_status(other.json)
        if status_path is not None:
            marks.status_paths = {status_path}
            self._found.word = at(other.json, status_path)
        read = self._run.succeeded(GET_DEPLOYMENT.name)
        exchanges = [each for each in read if each.target == other.target]
        body = self._merge([("", marks.mark(each.json)) for each in exchanges], place)
        fields = self._fields.of(exchanges, "/deployment", marks.mark_field)
        if is_given:
            self._cannot_say("the run of a deployment: the one that was named is over")
            body = self._constants.clean(body, place)
        else:
            fields = self._without_own_fields(fields)
        self._note_status("deployment", exchanges[0])
        return {"body": body, **fields}

    def _without_own_fields(self, fields: Part) -> Part:
        """The header fields of a deployment of others that other responses have, too."""
        others = [each for each in self._run.exchanges if each.probe.name != GET_DEPLOYMENT.name]

        def is_shared(name: str, value: str) -> bool:
            return any(each.header(name) == value for each in others)

        headers = fields.pop("headers", {})
        shared = {name: value for name, value in headers.items() if is_shared(name, value)}
        return {**fields, "headers": shared} if shared else fields

    def _merge(self, bodies: list[tuple[str, Any]], place: str) -> Any:
        """One body of several readings, each with its status; what varies is noted."""
        volatile = self._volatile(bodies, place)
        by_word: dict[str, Any] = {}
        for word, body in bodies:
            by_word.setdefault(word, body)
        words = [word for word in dict.fromkeys(self._readings.words) if word in by_word]
        if words:
            by_word = {word: by_word[word] for word in words}
        return merge(by_word, volatile)

    def _volatile(self, bodies: list[tuple[str, Any]], place: str) -> set[Path]:
        """The paths at which bodies of one status vary, which are noted."""
        found = volatile_paths(bodies)
        self._found.varying += sorted(place + pointer(*path) for path in found)
        return found

    # Errors

    def _errors(self) -> Part:
        found: Part = {}
        all_volatile: set[Path] = set()
        for code, exchanges in rejections(self._run).items():
            if not self._is_strict(exchanges[0], f"errors/{code}"):
                continue
            bodies = []
            for exchange in exchanges:
                body = Marks("error").mark(exchange.json)
                bodies.append(("", without_echo(body, exchange.deployment_id)))
            place = f"/errors/{code}"
            all_volatile |= self._volatile(bodies, f"{place}/body")
            _, first_body = bodies[0]
            found[code] = {
                "status": exchanges[0].status,
                "body": self._constants.clean(first_body, f"{place}/body"),
                **self._fields.of(exchanges, place, unmarked),
            }
        default = common_form(list(found.values()), all_volatile)
        if default:
            found["default"] = default
        return found

    # Ids

    def _ids(self) -> Part:
        """The forms of the ids that were seen."""
        run = self._run
        known = [(run.own_id(item), run.name_of(item)) for item in run.places.listed]
        if run.creation is not None and run.places.mine is None:
            known.append((run.places.created_id, run.created_name))
        known = [(project_id, name) for project_id, name in known if project_id is not None]
        ids = [project_id for project_id, _ in known]
        names = [name for _, name in known]
        forms: Part = {}
        form = ids_form(ids, names)
        if form:
            forms["projects"] = form
        form = self._form_of_deployments()
        if form:
            forms["deployments"] = form
        return forms

    def _form_of_deployments(self) -> Form | None:
        """The form of the ids of deployments: of one, and where the projects name theirs, of all.

        The other projects have theirs where the created one has its own.
        """
        readings, run = self._readings, self._run
        if run.followed:
            seen, owner_id = readings.deployment_id, run.places.created_id
        elif readings.others_deployment is not None:
            seen = id_of(readings.others_deployment)
            owner_id = run.own_id(readings.project_of(readings.others_deployment))
        else:
            return None
        if seen == owner_id:
            return ids_form([seen], [], project_ids=[seen])
        ids = dict.fromkeys([seen, *self._others_beside(seen)])
        if run.created_name and any(run.created_name in str(each) for each in ids):
            self._cannot_say("ids of deployments that are made from the name")
            return None
        return ids_form(list(ids), [])

    def _others_beside(self, deployment_id: Any) -> Iterator[Any]:
        """What stands in all projects where one of them has the id of a deployment."""
        items = self._run.places.listed
        for item in items:
            path = first_of(path for path, value in scalars(item) if value == deployment_id)
            if path is None:
                continue
            for other in items:
                found = at(other, path)
                if type(found) is type(deployment_id):
                    yield found

    # What a person has to know

    def _cannot_say(self, sentence: str) -> None:
        self._found.unsaid.append(sentence)

    def _note_times(self, place: str, body: Any) -> None:
        """Note the forms of the times in a body of the created record."""
        for path, value in scalars(body):
            form = time_form(value) if parse_seconds(value) is not None else None
            if form:
                self._found.times[place + pointer(*path)] = form

    def _note_status(self, part: str, exchange: Exchange) -> None:
        """Note the status of a list or a deployment, for which a profile has 200."""
        self._found.statuses[part] = exchange.status
        if exchange.status != 200:
            self._cannot_say(f"the status of the {part}: {exchange.status}, not 200")

    def _note_values(self) -> None:
        """Note which values of the service are in the profile, and which cannot be."""
        constants = self._constants
        for place, value in constants.kept.items():
            part = place.split("/")[1]
            if part in self._found.profile:
                self._found.kept[place] = value
        if constants.signed:
            places = ", ".join(constants.signed)
            self._cannot_say(f"URLs with a signature or a password: {places}")
        if self._fields.left_out:
            names = ", ".join(sorted(self._fields.left_out))
            self._cannot_say(f"header fields that vary: {names}")

    def _check_strict(self, place: str, *probes: str) -> None:
        """Note that the successful responses to these probes are no JSON, if none of them is."""
        found = [each for each in self._run.of(*probes) if each.is_success]
        if found and not self._run.succeeded(*probes):
            self._is_strict(found[-1], place)

    def _is_strict(self, exchange: Exchange, place: str) -> bool:
        """Whether the body of a response is JSON that a profile can have; if not, it is noted."""
        try:
            parse_json(exchange.content, DEPTH)
        except MalformedJSON as error:
            reason = f"is no strict JSON: {error}" if exchange.has_json else "is no JSON"
            self._cannot_say(f"/{place}/body: the body of the service {reason}")
            self._found.unreadable.append(place)
            return False
        return True

    def _remove_invalid(self) -> None:
        """Leave out the parts that a profile cannot have."""
        profile = self._found.profile
        for error in errors_in(profile, OWN_WORDS):
            _, name, *rest = error.pointer.split("/")
            holder, part = profile, name
            if name in ("errors", "ids"):
                holder, part = profile[name], rest[0]
            if part in holder:
                self._cannot_say(f"/{name}: {error.pointer} {error.detail}")
                del holder[part]


def unmarked(value: str, _: Exchange) -> str:
    """The value of a header field of an error, in which no marker can stand."""
    return value


def is_deployment_status(path: Path) -> bool:
    """Whether a member has the name of a status, inside of one that says deployment."""
    return has_status_name(path) and any(says_deployment(name) for name in path[:-1])


def common_names(records: list[Any]) -> set[str] | None:
    """The names of members that more than one record has; of one record alone it is not known.

    Others may be values of somebody, as in a map by the names of environments.
    """
    if len(records) < 2:
        return None
    counts: Counter[str] = Counter()
    for record in records:
        names: set[str] = set()
        for path, _ in scalars(record):
            names.update(str(name) for name in path)
        counts.update(names)
    return {name for name, count in counts.items() if count > 1}


def named_status(body: Any) -> Path | None:
    """Where a deployment that has ended has its status: the outermost text that is called so."""
    texts = texts_in(body)
    return first_of(path for path, text in texts.items() if text and has_status_name(path))
