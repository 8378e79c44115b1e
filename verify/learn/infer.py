"""Makes the profile of a service from a log."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from profiles import check, markers, profile
from traffic import json_values
from traffic.secrets import Secrets
from web import strict_json
from web.schemas import is_valid
from web.validation import format_pointer

from ..seen import guesses, inspection, kinds
from ..seen.find_projects import find_order
from ..seen.places import Places
from ..seen.service_log import NOTHING, Log
from ..seen.strangers import Strangers
from . import errors, ids, join, privacy, templates
from .join import Part


@dataclass(frozen=True)
class Inferred:
    """A profile, and notes for the person who reviews it."""

    document: Part
    notes: tuple[str, ...]


def infer_profile(
    log: Log,
    places: Places,
    secrets: Secrets,
    strangers: Strangers,
    like: profile.Profile | None = None,
) -> Inferred:
    """Infer the profile of the created project. Without a created project it has only errors.

    The parts of `like` that the log does not show stay.
    """
    inference = Inference(log, places, secrets, strangers, like)
    document = inference.make_document()
    return Inferred(document, tuple(dict.fromkeys(map(strangers.mask, inference.notes))))


class Inference:
    """Makes a profile of the templates of a log, and notes the parts that it leaves out."""

    def __init__(
        self,
        log: Log,
        places: Places,
        secrets: Secrets,
        strangers: Strangers,
        like: profile.Profile | None,
    ) -> None:
        self._log = log
        self._places = places
        self._like = like
        self._maker = templates.TemplateMaker(log, places)
        self._templates = self._maker.templates
        self._privacy = privacy.Privacy(log.base, places, secrets, strangers)
        self._notes: list[str] = []
        self._left_out: dict[str, str] = {}  # the reasons; key: a part, such as `list/body`
        # A header field that varies in responses of a kind is in no part.
        self._varying_fields: set[str] = set()
        for template in self._templates.values():
            fields = template.headers.items()
            self._varying_fields |= {name.lower() for name, value in fields if value is None}

    @property
    def notes(self) -> list[str]:
        """The notes, and then the places of the values that were left out."""
        return [*self._notes, *self._privacy.notes]

    def make_document(self) -> Part:
        run = list(filter(self._privacy.is_safe_word, self._maker.run))
        parts = {
            "observed_at": find_day(self._log),
            "statuses": {"run": run} if run else None,
            "list": self._make_list(),
            "create": self._make_creation(),
            "deployment": self._make_deployment(),
            "errors": self._make_errors(),
            "ids": ids.make_id_examples(self._places),
        }
        found = {name: part for name, part in parts.items() if part}
        if not run:
            # Without statuses a plain text stands for the status.
            found = json_values.map_leaves(
                found, lambda _, leaf: guesses.TEXT if leaf == markers.CHOICE else leaf
            )
        self._remove_invalid(found)
        if self._like:
            found, changes = join.join_profiles(join.unpack_profile(self._like.document), found)
            self._notes += changes
            self._remove_invalid(found)
        for place, reason in self._left_out.items():
            is_kept = json_values.get_value(found, place.split("/")) is not None
            verb = "stays as it was" if is_kept else "is left out"
            self._notes.append(f"/{place} {verb}: {reason}")
        return join.pack_profile(found)

    def _remove_invalid(self, document: Part) -> None:
        """Remove the parts that a profile cannot have.

        The rest is checked again: the errors of the schema hide further errors.
        """
        while invalid := find_invalid_parts(document):
            for place, reason in invalid.items():
                self._left_out[place] = reason
                *around, name = place.split("/")
                del json_values.get_value(document, around)[name]

    # The parts

    def _make_list(self) -> Part | None:
        template = self._templates.get(kinds.LIST)
        if template is None:
            return None
        if not template.is_own and template.status < 300:
            has_array = self._places.items_path is not None
            why = "no list has the created project" if has_array else "it has no array of projects"
            self._left_out[kinds.LIST] = why
            return None
        if self._reject(template):
            return None
        path = self._places.items_path or ()
        (item,) = inspection.find_value(template.body, path)
        around = self._show_one_page(json_values.replace_value(template.body, path, []))
        around = self._privacy.clean_other(around, "/list/body")
        if inspection.find_value(around, path) is NOTHING:
            self._left_out[kinds.LIST] = "its array is in a map by the names of projects"
            return None
        place = f"/list/body{format_pointer(*path, 0)}"
        item = self._privacy.clean_record(item, place)
        for inner in ids.find_second_numbers(self._places):
            pointer = place + format_pointer(*inner)
            self._notes.append(f"{pointer}: a stub has the same number in all projects")
        form = self._make_form(template, json_values.replace_value(around, path, [item]))
        order = find_order(self._places)
        if order in ("oldest first", "newest first"):
            form["order"] = order
        return form

    def _show_one_page(self, body: Any) -> Any:
        """Remove the signs of a next page from the body of a list."""

        def show(path: json_values.Path, value: Any) -> Any:
            shown = guesses.show_one_page(path, value)
            if not inspection.is_same(shown, value):
                place = f"/list/body{format_pointer(*path)}"
                before = "a text" if isinstance(value, str) else repr(value)
                self._notes.append(f"{place}: as on a single page, not {before}")
            return shown

        return json_values.map_leaves(body, show)

    def _make_creation(self) -> Part | None:
        template = self._templates.get(kinds.CREATE)
        if template is None or self._reject(template):
            return None
        if not template.is_own:
            self._left_out[kinds.CREATE] = "it has other projects, too"
            return None
        body = self._privacy.clean_record(template.body, "/create/body")
        form = self._make_form(template, body)
        if template.status in (200, 201, 202):
            form["status"] = template.status
        request: Any = markers.DEFAULT_REQUEST
        if self._places.request is not None:
            found = templates.remove_data(self._places.request, set())
            found = hide_other_names(found, self._places.created_name)
            request = self._privacy.clean_record(found, privacy.REQUEST)
            form = {"request": request, **form}
        return form | find_needed(self._log, request)

    def _make_deployment(self) -> Part | None:
        template = self._templates.get(kinds.DEPLOYMENT)
        if template is None or self._reject(template):
            return None
        if not template.is_own:
            reason = "no response names the deployment of the created project; if it was read, "
            self._left_out[kinds.DEPLOYMENT] = f"{reason}give its id as --deployment"
            return None
        body = self._privacy.clean_record(template.body, "/deployment/body")
        return self._make_form(template, body)

    def _make_errors(self) -> Part:
        found: Part = {}
        for kind, template in self._templates.items():
            part, _, code = kind.partition("/")
            if part != "errors" or not 400 <= template.status < 600:
                continue
            failure = kinds.find_failure(template.exchanges[-1], kind)
            if failure:
                self._left_out[kind] = f"the status was {failure}"
                continue
            body = NOTHING
            if not self._reject(template):
                body = self._privacy.clean_other(template.body, f"/{kind}/body")
            found[code] = {"status": template.status, **self._make_form(template, body)}
        # An error of the token that was not seen is like the error that was.
        pair = [found[code] for code in ("token_missing", "token_invalid") if code in found]
        if pair:
            found.setdefault("token_missing", pair[0])
            found.setdefault("token_invalid", pair[0])
        default = errors.find_common_form(
            [form for form in found.values() if form["body"] is not None]
        )
        if default:
            found["default"] = default
        return found

    def _reject(self, template: templates.Template) -> bool:
        """Leave out a body that is not strict JSON, and return whether it was left out.

        A creation and an error may have no body.
        """
        kind = template.kind
        is_error = kind.startswith("errors/")
        if not is_error and not 200 <= template.status < 300:
            self._left_out[kind] = f"the status was {template.status}"
            return True
        last = template.exchanges[-1]
        is_empty = not any(exchange.response_body for exchange in template.exchanges)
        if is_empty and (is_error or kind == kinds.CREATE):
            return False
        try:
            strict_json.parse_json(last.response_body, profile.DEPTH)
        except strict_json.MalformedJSON as error:
            reason = f"is not strict JSON: {error}" if last.has_json else "is not JSON"
            self._left_out[f"{kind}/body"] = f"it {reason}"
            return True
        return False

    # Forms

    def _make_form(self, template: templates.Template, body: Any) -> Part:
        """Make the form of a response: its body, its content type and its header fields."""
        place = f"/{template.kind}"
        for path in sorted(template.varying, key=str):
            value = inspection.find_value(body, path)
            if value is not NOTHING and value == inspection.find_value(template.body, path):
                self._notes.append(
                    f"{place}/body{format_pointer(*path)}: the responses differ; "
                    "the profile has the first value"
                )
        form: Part = {"body": None if body is NOTHING else body}
        media_type = template.content_type
        is_plain = is_valid(media_type, check.load_schemas()["content_type"])
        if is_plain and self._privacy.clean_field("Content-Type", media_type):
            form["content_type"] = media_type
        headers = {}
        for name, value in template.headers.items():
            kept = self._clean_field(name, value, place)
            if kept is not None:
                headers[name] = kept
        if headers:
            form["headers"] = headers
        return form

    def _clean_field(self, name: str, value: str | None, place: str) -> str | None:
        """Return the value of a header field, or None if a profile cannot have the field."""
        if guesses.COMPUTED_FIELDS.fullmatch(name) or name.lower() == "allow":
            return None
        if not is_valid({name: value or ""}, check.load_schemas()["headers"]):
            return None
        if value is None or name.lower() in self._varying_fields:
            self._notes.append(f"{place}/headers/{name}: left out, since it varies")
            return None
        if guesses.names_next_page(name, value):
            self._notes.append(f"{place}/headers/{name}: left out, since it names a next page")
            return None
        return self._privacy.clean_field(name, value)


def find_invalid_parts(document: Part) -> dict[str, str]:
    """Find the parts that a profile cannot have, and why: `{"errors/not_found": "/errors/…"}`."""
    found: dict[str, str] = {}
    for error in check.check_profile(document):
        names = error.pointer.split("/")[1:]
        path = names[:2] if names[0] in ("errors", "ids") else names[:1]
        if json_values.get_value(document, path) is not None:
            found.setdefault("/".join(path), f"{error.pointer} {error.detail}")
    return found


def hide_other_names(request: Any, name: str) -> Any:
    """Hide the texts of a request that have the name in them, or look like a marker."""

    def hide(_: json_values.Path, value: Any) -> Any:
        if not isinstance(value, str) or value == markers.NAME:
            return value
        has_name = name != "" and name in value
        return guesses.TEXT if has_name or markers.find_markers(value) else value

    return json_values.map_leaves(request, hide)


def find_needed(log: Log, request: Any) -> Part:
    """Find the members that a creation needs: `{"required": ["/team"], "optional": ["/size"]}`.

    Accepted creations lacked an optional member. A rejected creation lacked only the required one.
    """
    members = [path for path, _ in json_values.walk(request) if path]
    paths = [path for path in members if markers.is_through_objects(path)]
    optional: list[str] = []
    required: list[str] = []
    for exchange, kind in kinds.find_kinds(log).items():
        if not exchange.is_creation or not isinstance(exchange.request_json, dict):
            continue
        lacking = list_lacking(exchange.request_json, paths)
        if exchange.is_success and kind in (kinds.CREATE, kinds.INVALID_BODY):
            optional += lacking
        elif kind == kinds.INVALID_BODY and len(lacking) == 1:
            required += lacking
    name = format_pointer(*markers.find_name_paths(request)[0])
    needed = [each for each in required if each != name and each not in optional]
    found = {"required": [*dict.fromkeys(needed)], "optional": [*dict.fromkeys(optional)]}
    return {part: pointers for part, pointers in found.items() if pointers}


def list_lacking(body: dict[str, Any], paths: list[json_values.Path]) -> list[str]:
    """List the outermost members that a body lacks: `["/team"]`."""
    sent = {path for path, _ in json_values.walk(body)}
    lacking = [path for path in sorted(paths) if path not in sent and path[:-1] in sent]
    return [format_pointer(*path) for path in lacking]


def find_day(log: Log) -> str:
    """Find the day of the first time in a log, or else of the recording: `2026-11-25`."""
    times = [exchange.sent_at or exchange.served_at for exchange in log.exchanges]
    known = [time for time in times if time]
    if not known and log.day:
        return log.day
    return f"{datetime.fromtimestamp(known[0] if known else 0.0, UTC):%Y-%m-%d}"
