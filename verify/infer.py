"""The profile of a service, from what was observed of it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from profiles.check import check_profile, load_schemas
from profiles.markers import (
    CHOICE,
    DEFAULT_REQUEST,
    NAME,
    find_markers,
    find_name_paths,
    is_through_objects,
)
from profiles.profile import DEPTH, Profile
from traffic.json_values import Path, map_leaves, replace_value, walk
from traffic.secrets import Secrets
from web.schemas import is_valid
from web.strict_json import MalformedJSON, parse_json
from web.validation import format_pointer

from .errors import common_form
from .exchange import NOTHING, Log
from .guesses import COMPUTED_FIELDS, names_next_page, show_one_page
from .join import join_profiles, pack_profile, unpack_profile
from .kinds import CREATE, DEPLOYMENT, INVALID_BODY, LIST, find_kinds
from .observe import Observation, Template, find_second_numbers, observe, remove_data
from .order import NEWEST, OLDEST
from .places import Places
from .privacy import TEXT, Privacy, lower_texts
from .values import (
    find_texts,
    find_value,
    is_same,
    list_leaves,
)

Part = dict[str, Any]
STATUSES_OF_CREATION = (200, 201, 202)
TOKEN_ERRORS = ("token_missing", "token_invalid")  # one is as the other, if that was not seen


@dataclass(frozen=True)
class Inferred:
    """A profile, and sentences on what a person has to know of it."""

    document: Part
    notes: tuple[str, ...]


def infer_profile(
    log: Log, places: Places, secrets: Secrets, like: Profile | None = None
) -> Inferred:
    """Infer the profile of the created project; without one it has errors alone.

    What `like` has, and the log does not show, stays.
    """
    inference = Inference(observe(log, places), log, secrets, like)
    document = inference.document()
    return Inferred(document, tuple(dict.fromkeys(inference.notes)))


class Inference:
    """Makes a profile of an observation, and notes what it leaves out."""

    def __init__(
        self, observation: Observation, log: Log, secrets: Secrets, like: Profile | None
    ) -> None:
        self._like = like
        self._observation = observation
        self._templates = observation.templates
        places = observation.places
        self._places = places
        own = [places.get_created_item(each) for each in places.lists]
        own += [places.created, places.request]
        others = [item for each in places.lists for item in places.list_others(each)]
        if places.items_path is None:
            others += [each.seen for each in places.lists]
        for exchange in log.exchanges:
            if exchange.is_deployment and exchange.is_success:
                is_own = places.is_own and exchange in places.followed
                (own if is_own else others).append(exchange.seen)
        self._privacy = Privacy(
            secrets,
            log.base,
            others=others,
            own=own,
            names=[places.created_id, places.created_name, places.deployment_id],
            strangers=lower_texts(values_of_strangers(places)),
        )
        self._log = log
        self._computed: set[str] = set()  # header fields that vary in one kind of response
        for template in self._templates.values():
            fields = template.headers.items()
            self._computed |= {name.lower() for name, value in fields if value is None}
        self._notes: list[str] = []

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *self._privacy.notes]

    def document(self) -> Part:
        found: Part = {"observed_at": find_day(self._log)}
        run = list(filter(self._privacy.is_safe_word, self._observation.run))
        parts = {
            "statuses": {"run": run} if run else None,
            "list": self._list(),
            "create": self._create(),
            "deployment": self._deployment(),
            "errors": self._errors(),
            "ids": dict(self._observation.ids),
        }
        found |= {name: part for name, part in parts.items() if part}
        if not run:
            found = without_status(found)
        self._remove_invalid(found)
        self._remove_invalid(found)  # what the schema cannot say comes after what it rejects
        if self._like:
            found, changes = join_profiles(unpack_profile(self._like.document), found)
            self._notes += changes
            self._remove_invalid(found)
        return pack_profile(found)

    # The parts

    def _list(self) -> Part | None:
        template = self._templates.get(LIST)
        if template is None:
            return None
        if not template.is_own and template.status < 300:
            has_array = self._places.items_path is not None
            why = "no list has the created project" if has_array else "it has no array of projects"
            self._notes.append(f"/list is left out: {why}")
            return None
        if not self._is_usable(template):
            return None
        path = self._places.items_path or ()
        items = find_value(template.body, path)
        around = self._on_one_page(replace_value(template.body, path, []))
        body = self._clean(replace_value(around, path, items), path, "/list/body")
        form = self._form(template, body)
        for inner in find_second_numbers(self._places):
            place = f"/list/body{format_pointer(*path, 0, *inner)}"
            self._notes.append(f"{place}: another number in each project; a stub has this one")
        if self._observation.order in (OLDEST, NEWEST):
            form["order"] = self._observation.order
        return form

    def _clean(self, body: Any, path: Path | None, place: str) -> Any:
        """A body of the created record, which is the only item of a list at the path, if any."""
        if path is None:
            return self._privacy.clean_record(body, place)
        (item,) = find_value(body, path)
        around = self._privacy.clean_around(replace_value(body, path, []), place)
        item = self._privacy.clean_record(item, place + format_pointer(*path, 0))
        return replace_value(around, path, [item])

    def _create(self) -> Part | None:
        template = self._templates.get(CREATE)
        if template is None or not self._is_usable(template):
            return None
        if not template.is_own:
            self._notes.append("/create is left out: it has other projects, too")
            return None
        body = self._clean(template.body, None, "/create/body")
        form = self._form(template, body)
        status = template.status
        if status in STATUSES_OF_CREATION:
            form["status"] = status
        request: Any = DEFAULT_REQUEST
        if self._places.request is not None:
            found = remove_data(self._places.request, set())
            request = self._with_one_name(self._privacy.clean_record(found, "/create/request"))
            form = {"request": request, **form}
        return form | find_needed(self._log, request)

    def _with_one_name(self, request: Any) -> Any:
        """A request in which no other text has the name, or looks like a marker."""
        own_name = self._places.created_name

        def change(_: Path, value: Any) -> Any:
            is_text = isinstance(value, str) and value != NAME
            has_name = is_text and own_name != "" and own_name in value
            is_other = has_name or (is_text and bool(find_markers(value)))
            return TEXT if is_other else value

        return map_leaves(request, change)

    def _deployment(self) -> Part | None:
        template = self._templates.get(DEPLOYMENT)
        if template is None or not self._is_usable(template):
            return None
        if not template.is_own:
            self._notes.append("/deployment is left out: none of the created project was read")
            return None
        body = self._privacy.clean_record(template.body, "/deployment/body")
        return self._form(template, body)

    def _errors(self) -> Part:
        found: Part = {}
        for kind, template in self._templates.items():
            part, _, code = kind.partition("/")
            if part != "errors" or not 400 <= template.status < 600:
                continue
            body = NOTHING
            if self._is_usable(template):
                body = self._privacy.clean_error(template.body, f"/{kind}/body")
            found[code] = {"status": template.status, **self._form(template, body)}
        for code, other in (TOKEN_ERRORS, TOKEN_ERRORS[::-1]):
            if code in found:
                found.setdefault(other, found[code])
        default = common_form([form for form in found.values() if form["body"] is not None])
        if default:
            found["default"] = default
        return found

    def _is_usable(self, template: Template) -> bool:
        """Whether a profile can have the body: strict JSON, or none; if not, it is noted."""
        is_success = 200 <= template.status < 300
        is_error = template.kind.startswith("errors/")
        if not is_success and not is_error:
            self._notes.append(f"/{template.kind} is left out: the status was {template.status}")
            return False
        contents = {each.response_body for each in template.exchanges}
        if contents == {b""}:
            return template.kind not in (LIST, DEPLOYMENT)
        reason = self._reason_against(template)
        if reason:
            self._notes.append(f"/{template.kind}/body is left out: it {reason}")
        return not reason

    def _reason_against(self, template: Template) -> str:
        """Why a profile cannot have the last body of a kind, "" if it can."""
        exchange = template.exchanges[-1]
        try:
            parse_json(exchange.response_body, DEPTH)
        except MalformedJSON as error:
            return f"is no strict JSON: {error}" if exchange.has_json else "is no JSON"
        return ""

    # Forms

    def _form(self, template: Template, body: Any) -> Part:
        """The form of a response: its body, its content type and its header fields."""
        place = f"/{template.kind}"
        for path in sorted(template.varying, key=str):
            if find_value(body, path) is not NOTHING:
                self._notes.append(
                    f"{place}/body{format_pointer(*path)}: another value in each reading; "
                    "the profile has the first one"
                )
        form: Part = {"body": None if body is NOTHING else body}
        content_type = template.content_type
        if is_valid(content_type, load_schemas()["content_type"]):
            form["content_type"] = content_type
        headers = {}
        for name, value in template.headers.items():
            kept = self._field(name, value, place)
            if kept is not None:
                headers[name] = kept
        if headers:
            form["headers"] = headers
        return form

    def _field(self, name: str, value: str | None, place: str) -> str | None:
        """The value of a header field, None for one that a profile cannot have."""
        if COMPUTED_FIELDS.fullmatch(name) or name.lower() == "allow":
            return None
        value = None if name.lower() in self._computed else value
        is_known = is_valid({name: value or ""}, load_schemas()["headers"])
        if not is_known:
            return None
        if value is None:
            self._notes.append(f"{place}/headers/{name}: left out, as it varies")
            return None
        if names_next_page(name, value):
            self._notes.append(f"{place}/headers/{name}: left out, as it names another page")
            return None
        return value if self._privacy.is_safe_field(name, value) else None

    def _on_one_page(self, body: Any) -> Any:
        """The body of a list in which nothing says that there is another page."""

        def change(path: Path, value: Any) -> Any:
            new = show_one_page(path, value)
            if not is_same(new, value):
                place = f"/list/body{format_pointer(*path)}"
                self._notes.append(f"{place}: as on the only page, not {value!r}"[:200])
            return new

        return map_leaves(body, change)

    def _remove_invalid(self, document: Part) -> None:
        """Leave out the parts that a profile cannot have."""
        for error in check_profile(document):
            _, name, *rest = error.pointer.split("/")
            holder = document
            part = name
            if name in ("errors", "ids") and rest:
                holder = document[name]
                part = rest[0]
            if part in holder:
                self._notes.append(f"/{name} is left out: {error.pointer} {error.detail}")
                del holder[part]


def find_needed(log: Log, request: Any) -> Part:
    """Find which members a creation may lack, as an accepted one did, and which it may not."""
    example = {path for path, _ in walk(request) if path and is_through_objects(path)}
    optional: dict[str, None] = {}
    required: dict[str, None] = {}
    for exchange, kind in find_kinds(log).items():
        if not exchange.is_creation or not isinstance(exchange.request_json, dict):
            continue
        sent = {path for path, _ in walk(exchange.request_json)}
        lacking = [path for path in sorted(example - sent) if path[:-1] in sent]
        pointers = [format_pointer(*path) for path in lacking]
        if exchange.is_success and kind in (CREATE, INVALID_BODY):
            optional |= dict.fromkeys(pointers)
        elif kind == INVALID_BODY and len(pointers) == 1:
            required |= dict.fromkeys(pointers)
    name = format_pointer(*find_name_paths(request)[0])
    found = {
        "required": [each for each in required if each not in optional and each != name],
        "optional": [*optional],
    }
    return {part: pointers for part, pointers in found.items() if pointers}


def find_day(log: Log) -> str:
    """Find the day of a log: that of its first time, or else of the file of a recording."""
    times = [each.sent_at or each.served_at for each in log.exchanges]
    known = [time for time in times if time]
    if not known and log.day:
        return log.day
    return f"{datetime.fromtimestamp(known[0] if known else 0.0, UTC):%Y-%m-%d}"


def values_of_strangers(places: Places) -> list[Any]:
    """The ids, names and mail addresses of other projects, and the ids of their deployments."""
    own_id = str(places.deployment_id)
    paths = [path for path, value in list_leaves(places.latest_item) if str(value) == own_id]
    found = []
    for exchange in places.lists:
        for item in places.list_others(exchange):
            found += [
                places.find_id(item),
                places.find_name(item),
                *(find_value(item, path) for path in paths),
            ]
            found += [text for text in find_texts(item).values() if "@" in text]
    return found


def without_status(value: Any) -> Any:
    """A profile without statuses, in which a plain text stands for each."""
    return map_leaves(value, lambda _, each: TEXT if each == CHOICE else each)
