"""Finds drift: how responses differ from the schemas that the stub serves for a profile."""

from collections.abc import Iterator
from random import Random
from typing import Any

from profiles import ids, markers, profile
from profiles.schema import build_schema
from traffic.json_values import Path, get_value, walk
from web.validation import format_pointer

from ..seen import guesses, inspection, kinds
from ..seen.find_projects import find_order
from ..seen.places import Places
from ..seen.service_log import Log, ServiceExchange
from ..seen.status import is_alone_in_arrays
from . import checks, parts
from .checks import Check, Expected


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


def is_variation(check: Check, places: Places) -> bool:
    """Return whether a drift is listed, but is not a finding.

    It is a null, or a member that is missing in the only record of others.
    """
    if check.observed == "null":
        return not check.part.endswith("/body")
    if check.exchange is None or has_own(check.exchange, places):
        return False
    is_missing = check.expected == checks.PRESENT or check.expected.startswith("members ")
    is_in_item = check.part.startswith("/list") and "/0" in check.part
    is_only = is_in_item and len(places.list_others(check.exchange)) == 1
    return is_missing and (is_only or check.part.startswith("/deployment"))


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
            form = self._find_form(kind)
            if form is not None:
                yield from self._check_kind(kind, form, exchanges)
        yield from self._check_order()
        yield from self._check_statuses()
        yield from self._check_ids()

    def _find_form(self, kind: str) -> profile.Form | None:
        if kind in kinds.OPERATIONS:
            return self._like.form(kind)
        return self._like.error_form(kind.removeprefix("errors/"))

    def _check_order(self) -> Iterator[Check]:
        expected = self._like.document.get("list", {}).get("order")
        order = find_order(self._places)
        if expected and order:
            yield Check("/list/order", expected, order, self._places.lists[-1])

    def _check_statuses(self) -> Iterator[Check]:
        """Check that the profile has the statuses of the created, or named, deployment."""
        known = self._like.statuses
        for word, exchange in zip(self._places.words, self._places.followed, strict=False):
            if word and known and word not in known:
                status = checks.format_value(word)
                yield Check("/statuses/run", f"no {status}", status, exchange)

    def _check_ids(self) -> Iterator[Check]:
        """Check that the ids of the run are made from the name, or from an id, of the project."""
        places = self._places
        if places.creation is None or places.created_id is None:
            return
        is_followed = places.is_own and places.followed and places.owner_id == places.created_id
        own_ids = {
            "projects": places.created_id,
            "deployments": places.deployment_id if is_followed else None,
        }
        for kind, own_id in own_ids.items():
            form = self._like.ids.get(kind)
            if own_id is not None and isinstance(form, ids.Derived) and not form.after:
                base = ids.choose_base(form, places.created_name, str(places.created_id))
                starts = (form.make(Random(0), base), form.before + base)
                is_made = str(own_id).lower().startswith(tuple(each.lower() for each in starts))
                expected = self._like.document["ids"][kind]
                observed = expected if is_made else "another form"
                yield Check(f"/ids/{kind}", expected, observed, places.creation)

    def _check_kind(
        self, kind: str, form: profile.Form, exchanges: list[ServiceExchange]
    ) -> Iterator[Check]:
        """Check the responses of a kind, if possible those with the created project."""
        # A skeleton has no example of an id, and does not say its type.
        any_id = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
        schema = build_schema(
            form.body,
            self._like,
            is_deployment=kind == kinds.DEPLOYMENT,
            id_without_example=any_id,
        )
        own = inspection.prefer(exchanges, lambda exchange: has_own(exchange, self._places))
        found: list[Check] = []
        for exchange in parts.select_distinct(own):
            if kinds.find_defect(exchange, kind) or self._accepts_nameless(exchange):
                continue
            yield from check_status(kind, form, exchange)
            if exchange.is_success == (kind in kinds.OPERATIONS):
                yield from self._check_content_type(kind, form, exchange)
                yield from check_fields(kind, form, exchange)
                found += self._check_body(kind, form, schema, exchange)
        yield from self._drop_optional(kind, form, found)

    def _drop_optional(self, kind: str, form: profile.Form, found: list[Check]) -> Iterator[Check]:
        """Leave out the missing members of creations and errors that a response of this kind has.

        A client may send members that are returned, and an error may name the member that is wrong.
        An id is never optional, and a name that was sent is not, either.
        """
        present = {check.part for check in found if check.holds}
        for check in found:
            is_missing = (check.expected, check.observed) == (checks.PRESENT, checks.MISSING)
            is_record = kind in (kinds.LIST, kinds.DEPLOYMENT)
            is_optional = is_missing and not is_record and check.part in present
            marked = self._find_marked(kind, form, check) if is_optional else ()
            if not is_optional or any(part.startswith(check.part) for part in marked):
                yield check

    def _find_marked(self, kind: str, form: profile.Form, check: Check) -> Iterator[str]:
        """Find the parts of a creation that have an id, or the name if its request has a name."""
        names = ["project.id", "deployment.id"]
        if check.exchange and expect_sent_name(check.exchange, self._places):
            names.append("project.name")
        if kind == kinds.CREATE:
            yield from (part for part, marker in list_markers(kind, form) if marker.name in names)

    def _accepts_nameless(self, exchange: ServiceExchange) -> bool:
        """Return whether a response accepts a project without a name, as the profile says."""
        is_accepted = exchange.purpose == kinds.NAMELESS and exchange.is_success
        return is_accepted and self._like.request.has_optional_name

    def _check_content_type(
        self, kind: str, form: profile.Form, exchange: ServiceExchange
    ) -> Iterator[Check]:
        """Check the media type, if the profile has it: a skeleton may not."""
        document = self._like.document
        own = get_value(document, kind.split("/"))
        is_known = own is not None and ("content_type" in document or "content_type" in own)
        if is_known and form.body is not None and exchange.response_body:
            observed = exchange.media_type or "no media type"
            yield Check(f"/{kind}/content_type", form.media_type, observed, exchange)

    def _check_body(
        self, kind: str, form: profile.Form, schema: dict[str, Any], exchange: ServiceExchange
    ) -> Iterator[Check]:
        if form.body is None:
            return
        if not exchange.has_json:
            yield Check(f"/{kind}/body", "JSON", "no JSON", exchange)
            return
        # The ids and values of records of others may vary.
        is_own = has_own(exchange, self._places) or kind not in (kinds.LIST, kinds.DEPLOYMENT)
        checker = checks.BodyChecker(
            document={kind: schema},
            expected=self._find_expected(kind, form, exchange) if is_own else {},
            is_profile=True,
            checks_forms=is_own,
        )
        pointer = "#" + format_pointer(kind)
        # The other members of records may have had several types all the time.
        read = {part for part, _ in list_markers(kind, form)}
        yield from parts.check_bodies(checker, pointer, self._places, exchange, read)

    def _find_expected(
        self, kind: str, form: profile.Form, exchange: ServiceExchange
    ) -> dict[str, Expected]:
        """Find the values that a body must have: those of markers, and codes of errors."""
        of_markers = self._find_marker_values(exchange)
        found = {}
        for path, value in walk(form.body):
            part = name_part(kind, path)
            marker = markers.parse_whole_marker(value)
            is_plain = marker and marker.spec in ("", "text") and markers.CHOICE not in path
            if marker and is_plain and marker.name in of_markers:
                found[part] = of_markers[marker.name]
            if kind not in kinds.OPERATIONS and is_read_code(path, value, exchange.body):
                code = checks.format_value(value)
                found[part] = Expected(code, (value,), shows_others=True)
        return found

    def _find_marker_values(self, exchange: ServiceExchange) -> dict[str, Expected]:
        """Find the values of markers that are certain for a response."""
        places = self._places
        if exchange.is_creation and exchange != places.creation:
            return expect_sent_name(exchange, places)
        is_deployment = exchange in places.followed
        project_id = places.owner_id if is_deployment else places.created_id
        name = places.owner_name if is_deployment else places.created_name
        found = {}
        if project_id is not None and str(project_id) != name:
            found["project.id"] = Expected("the id of the project", (project_id,))
        if name:
            found["project.name"] = Expected("the name as it was sent", (name,))
        if places.is_own and places.followed:
            own = (places.deployment_id,)
            found["deployment.id"] = Expected("the id of the deployment", own)
        return found


def name_part(kind: str, path: Path) -> str:
    """Name a part of a body as in a profile, where arrays have only the item 0."""
    names = [0 if isinstance(name, int) else name for name in path]
    return f"/{kind}/body{format_pointer(*names)}"


def list_markers(kind: str, form: profile.Form) -> Iterator[tuple[str, markers.Marker]]:
    """List the parts of a body that are a marker: `("/create/body/id", Marker("project.id"))`."""
    for path, value in walk(form.body):
        marker = markers.parse_whole_marker(value)
        if marker:
            yield name_part(kind, path), marker


def expect_sent_name(exchange: ServiceExchange, places: Places) -> dict[str, Expected]:
    """Find the name in a further creation of a recording, as the value of its marker."""
    paths = markers.find_name_paths(places.request)
    name = inspection.find_value(exchange.request_json, paths[0] if paths else None)
    is_sent = isinstance(name, str) and name != ""
    return {"project.name": Expected("the name as it was sent", (name,))} if is_sent else {}


def is_read_code(path: Path, value: Any, body: Any) -> bool:
    """Return whether programs read a value of an error: a code, such as `not_found`.

    They read the code of the only error in an array, too: `{"errors": [{"code": 8000009}]}`.
    """
    if isinstance(value, dict | list) or guesses.is_left_out(value):
        return False
    name = inspection.get_key(path)
    is_read = markers.is_through_objects(path)
    if guesses.has_word(name, "code", "status", "type"):
        is_read = is_read or is_alone_in_arrays(path, body)
    if guesses.has_word(name, "code"):
        return is_read and guesses.is_code(value, max_code=10**9)
    return is_read and guesses.is_code(value)


def check_status(kind: str, form: profile.Form, exchange: ServiceExchange) -> Iterator[Check]:
    part = f"/{kind}/status"
    expected = form.status
    if expected is None and kind in (kinds.LIST, kinds.DEPLOYMENT):
        expected = 200
    if expected is not None:
        yield Check(part, str(expected), str(exchange.status), exchange)
    elif kind not in kinds.OPERATIONS and exchange.is_success:
        yield Check(part, "an error", str(exchange.status), exchange)


def check_fields(kind: str, form: profile.Form, exchange: ServiceExchange) -> Iterator[Check]:
    for name, value in form.headers.items():
        part = f"/{kind}{format_pointer('headers', name)}"
        form_part = part if checks.has_field_form(name, value) else ""
        yield from checks.check_field(exchange, name, part, form_part)


def list_lacking(like: profile.Profile, log: Log) -> list[str]:
    """List the kinds of responses of the profile that the log lacks: `["errors/name_taken"]`."""
    seen = {*kinds.find_kinds(log).values()}
    known = [kind for kind in kinds.OPERATIONS if like.form(kind)]
    known += [f"errors/{code}" for code in like.error_forms if code != "default"]
    return [kind for kind in known if kind not in seen]
