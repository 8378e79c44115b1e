"""Makes the profile of a service from what a run has exchanged: its bodies with markers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from stub.like.check import errors_in
from stub.like.profile import DEPTH, OWN_WORDS
from web.strict_json import MalformedJSON, parse_json
from web.validation import pointer

from .choices import merge, volatile_paths
from .constants import Constants
from .envelope import Envelope, Listing
from .errors import common_form, rejections, without_echo
from .exchange import NO_JSON, Exchange
from .fields import Fields
from .forms import Form, ids_form, time_form
from .marks import Marks
from .places import has_status_name, name_in, says_deployment
from .probes import FOLLOWED, GET_DEPLOYMENT
from .readings import Reading, Readings, id_of
from .run import LISTS, Run
from .values import Path, at, parse_seconds, replaced, scalars

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
        found = self._found
        parts: dict[str, Callable[[], Part | None]] = {
            "statuses": self._statuses,
            "list": self._list,
            "create": self._create,
            "deployment": self._deployment,
            "errors": self._errors,
            "ids": self._ids,
            "times": lambda: self._readings.times,
        }
        for name, make in parts.items():
            part = make()
            if part:
                found.profile[name] = part
        self._remove_invalid()
        found.kept = {
            place: value
            for place, value in self._constants.kept.items()
            if place.split("/")[1] in found.profile
        }
        found.exchanges = self._fields.exchanges
        if self._constants.signed:
            places = ", ".join(self._constants.signed)
            found.unsaid.append(f"URLs with a signature or a password: {places}")
        if self._fields.left_out:
            names = ", ".join(sorted(self._fields.left_out))
            found.unsaid.append(f"header fields that vary: {names}")
        return found

    def _statuses(self) -> Part | None:
        run = [*dict.fromkeys(word for word in self._readings.words if word)]
        if not run:
            return None
        has_ended = self._run.has_ended and self._readings.words[-1] == run[-1]
        return {"run": run, "ended": run[-1] if has_ended else None}

    # The list

    def _list(self) -> Part | None:
        run = self._run
        lists = run.succeeded(*LISTS)
        self._check_strict("list", *LISTS)
        with_items = [each for each in lists if run.items_of(each)]
        own = [each for each in lists if self._readings.item_in(each) is not None]
        if lists and run.places.items is None:
            self._found.unreadable.append("list")
        if run.places.items is None or not with_items:
            return None
        last = (own or with_items)[-1]
        if not self._is_strict(last, "list"):
            return None
        listings = {each: self._listing(each) for each in lists}
        place = ("list", "body", *run.places.items, 0)
        item = self._item(last)
        if own:
            item = self._constants.clean(item, place)
        envelope = Envelope(
            [*listings.values()], run.places.items, self._constants.is_map, is_sure=bool(own)
        )
        body = self._constants.clean(envelope.mark(last.json), ("list", "body"))
        self._found.varying += [pointer("list", "body", *path) for path in envelope.varying]
        fields = self._fields.of(
            lists, ("list",), lambda value, each: listings[each].mark_field(value)
        )
        part = {"body": replaced(body, run.places.items, [item]), **fields}
        if self._is_newest_first(last):
            part["order"] = "newest first"
        self._note_status("list", last)
        return part

    def _listing(self, exchange: Exchange) -> Listing:
        run, items = self._run, self._run.items_of(exchange)
        if not items:
            return Listing(exchange.json, 0)
        return Listing(exchange.json, len(items), run.own_id(items[0]), run.own_id(items[-1]))

    def _item(self, exchange: Exchange) -> Any:
        """The form of each project: of the created one, or of another one without its values."""
        readings = self._readings
        if not readings.items:
            items = self._run.items_of(exchange)
            marks = readings.marks_of_other("project", items[0], is_shown=False)
            named = [path for path, _ in scalars(items[0]) if has_status_name(path)]
            marks.status_paths = {path for path in named if any(map(says_deployment, path[:-1]))}
            return replace(marks, names=common_names(items)).mark(items[0])
        paths = readings.status_paths(readings.items) if readings.words else set()
        marks = replace(readings.marks_of_created("project"), status_paths=paths)
        bodies = []
        for each in readings.items:
            words = [at(each.body, path) for path in paths]
            bodies.append((words[0] if words else each.before, marks.mark(each.body)))
        place = ("list", "body", *(self._run.places.items or ()), 0)
        self._note_times(place, readings.items[-1].body)
        return self._merge(bodies, place)

    def _is_newest_first(self, exchange: Exchange) -> bool:
        items = self._run.items_of(exchange)
        if len(items) < 2:
            return False
        mine = self._readings.item_in(exchange)
        if mine is not None:
            return items[0] is mine
        for path, value in scalars(items[0]):
            times = [parse_seconds(at(item, path)) for item in items]
            known = [each for each in times if each is not None]
            if parse_seconds(value) is not None and len({*known}) > 1:
                return known == sorted(known, reverse=True)
        return False

    # The creation and the deployment

    def _create(self) -> Part | None:
        run = self._run
        creation = run.creation
        if creation is None or not self._is_strict(creation, "create"):
            return None
        marks = self._readings.marks_of_created("project")
        marks.status_paths = self._readings.status_paths_of_creation(creation.json)
        part = {"request": self._constants.clean(run.request, ("create", "request"))}
        part |= self._tolerance()
        if creation.status in STATUSES_OF_CREATION:
            part["status"] = creation.status
        else:
            self._found.unsaid.append(f"the status of a creation: {creation.status}")
        part["body"] = self._constants.clean(marks.mark(creation.json), ("create", "body"))
        self._note_times(("create", "body"), creation.json)
        return part | self._fields.of(
            [creation], ("create",), lambda value, _: marks.mark_inside(value)
        )

    def _tolerance(self) -> Part:
        """What invalid bodies have shown of a creation."""
        accepted = {each.probe.name for each in self._run.exchanges if each.is_success}
        found: Part = {}
        if "no name" in accepted:
            found["optional"] = True
        if "the created name again" in accepted:
            found["unique"] = False
        if accepted & {"another content type", "no content type"}:
            found["any_type"] = True
        return found

    def _deployment(self) -> Part | None:
        readings = self._readings
        followed = self._run.followed
        self._check_strict("deployment", FOLLOWED.name, GET_DEPLOYMENT.name)
        other = readings.others_deployment
        place = ("deployment", "body")
        if followed and self._is_strict(followed[-1], "deployment"):
            words = readings.words
            known = [
                Reading(each.json, word, word) for each, word in zip(followed, words, strict=True)
            ]
            paths = readings.status_paths(known) if any(words) else set()
            marks = replace(readings.marks_of_created("deployment"), status_paths=paths)
            bodies = [(each.before, marks.mark(each.body)) for each in known]
            exchanges, body = followed, self._merge(bodies, place)
            self._note_times(place, followed[-1].json)
        elif other is not None and self._is_strict(other, "deployment"):
            project = readings.project_of(other)
            is_shown = readings.is_given(other)
            marks = readings.marks_of_other("deployment", project, is_shown=is_shown)
            marks.status_paths = named_status(other.json)
            self._found.word = next((at(other.json, path) for path in marks.status_paths), "")
            read = self._run.succeeded(GET_DEPLOYMENT.name)
            exchanges = [each for each in read if each.target == other.target]
            body = self._merge([("", marks.mark(each.json)) for each in exchanges], place)
            if is_shown:
                self._found.unsaid.append("the run of a deployment: the one that was named is over")
        else:
            return None
        fields = self._fields.of(
            exchanges, ("deployment",), lambda value, _: marks.mark_inside(value)
        )
        if marks.is_shown:
            body = self._constants.clean(body, place)
        else:
            fields = self._without_own_fields(fields)
        self._note_status("deployment", exchanges[0])
        return {"body": body, **fields}

    def _without_own_fields(self, fields: Part) -> Part:
        """The header fields of a deployment of others that other responses have, too."""
        others = [each for each in self._run.exchanges if each.probe.name != GET_DEPLOYMENT.name]
        headers = {
            name: value
            for name, value in fields.pop("headers", {}).items()
            if any(each.header(name) == value for each in others)
        }
        return {**fields, "headers": headers} if headers else fields

    def _note_times(self, place: Path, body: Any) -> None:
        """Note the forms of the times in a body of the created record."""
        for path, value in scalars(body):
            form = time_form(value) if parse_seconds(value) is not None else None
            if form:
                self._found.times[pointer(*place, *path)] = form

    def _note_status(self, part: str, exchange: Exchange) -> None:
        """Note the status of a list or a deployment, for which a profile has 200."""
        self._found.statuses[part] = exchange.status
        if exchange.status != 200:
            self._found.unsaid.append(f"the status of the {part}: {exchange.status}, not 200")

    def _merge(self, bodies: list[tuple[str, Any]], place: Path) -> Any:
        """One body of several readings, each with its status; what varies is noted."""
        volatile = self._volatile(bodies, place)
        first = dict(reversed(bodies))
        words = [word for word in dict.fromkeys(self._readings.words) if word in first]
        return merge({word: first[word] for word in words or first}, volatile)

    def _volatile(self, bodies: list[tuple[str, Any]], place: Path) -> set[Path]:
        """The paths at which bodies of one status vary, which are noted."""
        found = volatile_paths(bodies)
        self._found.varying += sorted(pointer(*place, *path) for path in found)
        return found

    # The rest

    def _errors(self) -> Part:
        found: Part = {}
        volatile: set[Path] = set()
        for code, exchanges in rejections(self._run).items():
            first = exchanges[0]
            if not self._is_strict(first, f"errors/{code}"):
                continue
            bodies = []
            for each in exchanges:
                body = Marks("error").mark(each.json)
                bodies.append(("", without_echo(body, each.deployment_id)))
            place = ("errors", code, "body")
            volatile |= self._volatile(bodies, place)
            found[code] = {
                "status": first.status,
                "body": self._constants.clean(bodies[0][1], place),
                **self._fields.of(exchanges, ("errors", code), lambda value, _: value),
            }
        default = common_form([*found.values()], volatile)
        if default:
            found["default"] = default
        return found

    def _ids(self) -> Part:
        """The forms of the ids that were seen."""
        run = self._run
        items = [*run.places.others]
        if run.places.mine is not None:
            items.append(run.places.mine)
        projects = [(run.own_id(item), name_in(item, run.name_members)) for item in items]
        if run.creation is not None and run.places.mine is None:
            projects.append((run.places.created_id, run.created_name))
        projects = [each for each in projects if each[0] is not None]
        deployments, owner = self._ids_of_deployments(items)
        name = run.created_name
        if name and any(name in str(each) for each in deployments) and not owner:
            self._found.unsaid.append("ids of deployments that are made from the name")
            deployments = []
        found = {
            "projects": ids_form([each for each, _ in projects], [name for _, name in projects]),
            "deployments": ids_form(deployments, [], owner),
        }
        return {kind: form for kind, form in found.items() if form}

    def _ids_of_deployments(self, items: list[Any]) -> tuple[list[Any], list[Any]]:
        """The ids of deployments, and those of their projects, if there is but one.

        The other projects have theirs where the created one has its own.
        """
        readings, run = self._readings, self._run
        if run.followed:
            read, owner_id = readings.deployment_id, run.places.created_id
        elif readings.others_deployment is not None:
            read = id_of(readings.others_deployment)
            owner_id = run.own_id(readings.project_of(readings.others_deployment))
        else:
            return [], []
        if read == owner_id:
            return [read], [read]
        found = [read]
        for item in items:
            paths = [path for path, value in scalars(item) if value == read]
            found += [at(other, path) for path in paths[:1] for other in items]
        return [*dict.fromkeys(each for each in found if type(each) is type(read))], []

    def _check_strict(self, place: str, *probes: str) -> None:
        """Note that the successful responses to these probes are no JSON, if none of them is."""
        found = [each for each in self._run.of(*probes) if each.is_success]
        if found and not self._run.succeeded(*probes):
            self._is_strict(found[-1], place)

    def _is_strict(self, exchange: Exchange, place: str) -> bool:
        """Whether the body of a response is JSON that a profile can have."""
        try:
            parse_json(exchange.content, DEPTH)
        except MalformedJSON as error:
            reason = "is no JSON" if exchange.json is NO_JSON else f"is no strict JSON: {error}"
            self._found.unsaid.append(f"/{place}/body: the body of the service {reason}")
            self._found.unreadable.append(place)
            return False
        return True

    def _remove_invalid(self) -> None:
        """Leave out the parts that a profile cannot have."""
        profile = self._found.profile
        for error in errors_in(profile, OWN_WORDS):
            _, name, *rest = error.pointer.split("/")
            holder, last = (
                (profile[name], rest[0]) if name in ("errors", "ids") else (profile, name)
            )
            if last in holder:
                self._found.unsaid.append(f"/{name}: {error.pointer} {error.detail}")
                del holder[last]


def common_names(records: list[Any]) -> set[str] | None:
    """The names of members that more than one record has; of one record alone it is not known.

    Others may be values of somebody, as in a map by the names of environments.
    """
    counts: Counter[str] = Counter()
    for record in records:
        counts.update({str(name) for path, _ in scalars(record) for name in path})
    return {name for name, count in counts.items() if count > 1} if len(records) > 1 else None


def named_status(body: Any) -> set[Path]:
    """Where a deployment that has ended has its status: the outermost text that is called so."""
    found = [path for path, value in scalars(body) if value and has_status_name(path)]
    texts = [path for path in found if isinstance(at(body, path), str)]
    return {min(texts, key=len)} if texts else set()
