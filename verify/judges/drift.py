"""Finds drift: how responses differ from the schemas that the stub serves for a profile."""

from collections.abc import Iterator
from typing import Any

from werkzeug.http import parse_options_header

from profiles import markers, profile
from profiles.schema import build_schema
from traffic.json_values import Path, walk
from web.validation import format_pointer

from ..seen import inspection, kinds
from ..seen.guesses import TEXT, has_word, is_code
from ..seen.order import find_order
from ..seen.places import Places
from ..seen.service_log import Log, ServiceExchange
from ..seen.status import is_alone_in_arrays
from . import checks, parts
from .checks import Check


def find_drift(like: profile.Profile, log: Log, places: Places) -> list[Check]:
    """Find the contradictions to a profile, including values that may vary."""
    found: dict[str, Check] = {}
    for check in DriftJudge(like, places).check_all(kinds.group_by_kind(log)):
        if not check.holds:
            found.setdefault(write_drift_line(check), check)
    return [*found.values()]


def write_drift_line(check: Check) -> str:
    """Write the line of a drift: `/list/status: 200 in the profile, 203 in the service`."""
    return f"{check.part}: {check.expected} in the profile, {check.observed} in the service"


def is_note(check: Check, places: Places) -> bool:
    """Return whether a drift is no finding.

    It is none if a member is null, or if a stranger's record lacks it.
    """
    if check.observed == "null":
        return not check.part.endswith("/body")
    is_missing = check.expected == checks.PRESENT or check.expected.startswith("members ")
    is_of_others = check.exchange is not None and not has_own(check.exchange, places)
    is_around = check.part.startswith("/list") and "/0" not in check.part
    is_in_record = not is_around and not check.part.startswith("/errors")
    return is_missing and is_of_others and is_in_record


def has_own(exchange: ServiceExchange, places: Places) -> bool:
    """Return whether a response has the created project, or the followed deployment."""
    is_followed = exchange in places.followed and places.is_own
    is_listed = places.get_created_item(exchange) is not None
    return is_followed or is_listed or exchange.is_creation


class DriftJudge:
    """Checks responses by the forms of a profile."""

    def __init__(self, like: profile.Profile, places: Places) -> None:
        self._like = like
        self._places = places

    def check_all(self, by_kind: dict[str, list[ServiceExchange]]) -> Iterator[Check]:
        for kind, exchanges in by_kind.items():
            code = kind.removeprefix("errors/")
            is_error = kind not in kinds.OPERATIONS
            form = self._like.error_form(code) if is_error else self._like.form(kind)
            if form is not None:
                yield from self._check_kind(kind, form, exchanges)
        places = self._places
        order = find_order(places)
        known_order = self._like.document.get("list", {}).get("order")
        if known_order and order:
            yield Check("/list/order", known_order, order, places.lists[-1])
        for word, exchange in zip(places.words, places.followed, strict=False):
            if word and self._like.words and word not in self._like.words:
                shown = checks.show(word)
                yield Check("/statuses/run", f"no {shown}", shown, exchange)

    def _check_kind(
        self, kind: str, form: profile.Form, exchanges: list[ServiceExchange]
    ) -> Iterator[Check]:
        is_error = kind not in kinds.OPERATIONS
        is_deployment = kind == kinds.DEPLOYMENT
        # A skeleton has no example of an id, and does not say its type.
        any_id = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
        schema = build_schema(
            form.body, self._like, is_deployment=is_deployment, id_without_example=any_id
        )
        fields = {name: f"/{kind}{format_pointer('headers', name)}" for name in form.headers}
        own = inspection.prefer(exchanges, lambda exchange: has_own(exchange, self._places))
        for exchange in parts.select_distinct(own):
            is_nameless = exchange.purpose == kinds.NAMELESS and exchange.is_success
            is_accepted = is_nameless and self._like.has_optional_name
            if is_accepted or kinds.find_defect(exchange, kind):
                continue
            yield from check_status(kind, form, exchange)
            if exchange.is_success == is_error:
                continue
            if self._has_content_type(kind):
                yield from check_content_type(kind, form, exchange)
            yield from checks.check_fields(fields, exchange, form.headers)
            if form.body is not None:
                yield from self._check_body(kind, form, schema, exchange)

    def _has_content_type(self, kind: str) -> bool:
        """Return whether the profile has the content type of a kind: a skeleton may not."""
        document = self._like.document
        part = document.get(kind)
        if kind not in kinds.OPERATIONS:
            part = document.get("errors", {}).get(kind.removeprefix("errors/"))
        return part is not None and ("content_type" in document or "content_type" in part)

    def _check_body(
        self,
        kind: str,
        form: profile.Form,
        schema: dict[str, Any],
        exchange: ServiceExchange,
    ) -> Iterator[Check]:
        if not exchange.has_json:
            yield Check(f"/{kind}/body", "JSON", "no JSON", exchange)
            return
        is_own = has_own(exchange, self._places) or kind not in (kinds.LIST, kinds.DEPLOYMENT)
        relations = self._find_relations(kind, form, exchange) if is_own else {}
        walk = checks.Walk({kind: schema}, True, relations, is_own)
        yield from parts.check_bodies(walk, "#" + format_pointer(kind), self._places, exchange)

    def _find_relations(
        self, kind: str, form: profile.Form, exchange: ServiceExchange
    ) -> dict[str, checks.Relation]:
        """Find the values that a body must have: those of markers, and codes of errors."""
        known = self._find_known(exchange)
        found = {}
        for path, value in walk(form.body):
            # As in a profile, arrays have only the item 0.
            names = [0 if isinstance(name, int) else name for name in path]
            place = f"/{kind}/body{format_pointer(*names)}"
            marker = markers.parse_whole_marker(value)
            is_plain = marker and marker.form in ("", "text") and markers.CHOICE not in path
            if marker and is_plain and marker.name in known:
                found[place] = known[marker.name]
            if kind not in kinds.OPERATIONS and is_read_code(path, value, exchange.body):
                found[place] = checks.relate_equal(value)
        return found

    def _find_known(self, exchange: ServiceExchange) -> dict[str, checks.Relation]:
        """Find the values of markers that are certain for a response."""
        places = self._places
        is_deployment = exchange in places.followed
        own_id = places.owner_id if is_deployment else places.created_id
        name = places.owner_name if is_deployment else places.created_name
        found = {}
        if own_id is not None and str(own_id) != name:
            found["project.id"] = checks.relate("the id of the project", own_id)
        if name:
            found["project.name"] = checks.relate("the name as it was sent", name)
        if places.is_own and places.followed and not is_deployment:
            deployment_id = places.deployment_id
            found["deployment.id"] = checks.relate("the id of the deployment", deployment_id)
        return found


def is_read_code(path: Path, value: Any, body: Any) -> bool:
    """Return whether programs read a value of an error: a code, such as `not_found`.

    They read the code of the only error in an array, too: `{"errors": [{"code": 8000009}]}`.
    """
    if isinstance(value, dict | list) or value == TEXT:  # It replaces what was left out.
        return False
    name = inspection.get_key(path)
    is_called_code = has_word(name, "code")
    is_named = is_called_code or has_word(name, "status", "type")
    is_one = is_named and is_alone_in_arrays(path, body)
    if not (markers.is_through_objects(path) or is_one):
        return False
    return is_code(value, max_code=10**9) if is_called_code else is_code(value)


def check_status(kind: str, form: profile.Form, exchange: ServiceExchange) -> Iterator[Check]:
    part = f"/{kind}/status"
    expected = form.status
    if expected is None and kind in (kinds.LIST, kinds.DEPLOYMENT):
        expected = 200
    if expected is not None:
        yield Check(part, str(expected), str(exchange.status), exchange)
    elif kind not in kinds.OPERATIONS and exchange.is_success:
        yield Check(part, "an error", str(exchange.status), exchange)


def check_content_type(kind: str, form: profile.Form, exchange: ServiceExchange) -> Iterator[Check]:
    if form.body is None or not exchange.response_body:
        return
    part = f"/{kind}/content_type"
    expected, parameters = parse_options_header(form.content_type)
    field = exchange.find_response_field("Content-Type")
    observed, observed_parameters = parse_options_header(field)
    yield Check(part, expected.lower(), observed.lower() or "no media type", exchange)
    charset = parameters.get("charset", "utf-8").lower()
    observed_charset = observed_parameters.get("charset", "utf-8").lower()
    yield Check(part, f"charset {charset}", f"charset {observed_charset}", exchange)


def list_lacking(like: profile.Profile, log: Log) -> list[str]:
    """List the kinds of responses of the profile that the log lacks: `["errors/name_taken"]`."""
    seen = {*kinds.find_kinds(log).values()}
    known = [kind for kind in kinds.OPERATIONS if like.form(kind)]
    known += [f"errors/{code}" for code in like.error_forms if code != "default"]
    return [kind for kind in known if kind not in seen]
