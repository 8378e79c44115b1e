"""What has drifted from a profile: how responses differ from the schemas that the stub serves."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from werkzeug.http import parse_options_header

from profiles.markers import CHOICE, parse_whole_marker
from profiles.profile import Form, Profile
from profiles.schema import build_schema
from traffic.json_values import Path, walk
from web.validation import format_pointer

from .checks import (
    PRESENT,
    Check,
    Relation,
    Walk,
    check_fields,
    join_others,
    relate,
    relate_equal,
    show,
)
from .errors import is_code
from .exchange import Log, ServiceExchange
from .kinds import DEPLOYMENT, LIST, NAMELESS, OPERATIONS, explain_nothing, find_kinds
from .order import find_order
from .parts import select_distinct
from .places import Places
from .values import prefer

VALUES = {
    "project.id": "the id of the project",
    "project.name": "the name as it was sent",
    "deployment.id": "the id of the deployment",
}
"""Markers whose value a place must have."""


def find_drift(like: Profile, log: Log, places: Places) -> list[Check]:
    """Find what contradicts a profile, each once; what may vary at any time is among it."""
    judge = DriftJudge(like, places)
    by_kind: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange, kind in find_kinds(log).items():
        by_kind[kind].append(exchange)
    checks = [check for kind, found in by_kind.items() for check in judge.check_kind(kind, found)]
    checks += judge.check_list()
    checks += judge.check_statuses()
    found: dict[str, Check] = {}
    for check in checks:
        if not check.holds:
            found.setdefault(write_drift_line(check), check)
    return [*found.values()]


def write_drift_line(check: Check) -> str:
    return f"{check.part}: {check.expected} in the profile, {check.observed} there"


def is_note(check: Check, places: Places) -> bool:
    """Whether it is no finding: null, or what a record of others lacks."""
    is_of_others = check.exchange is not None and not has_own(check.exchange, places)
    is_in_record = not check.part.startswith("/list") or "/0" in check.part
    is_missing = check.expected == PRESENT or check.expected.startswith("members ")
    return check.observed == "null" or (
        is_missing and is_of_others and is_in_record and not check.part.startswith("/errors")
    )


def has_own(exchange: ServiceExchange, places: Places) -> bool:
    """Whether a response has the created project, or the followed deployment."""
    is_followed = exchange in places.followed and places.is_own
    is_listed = places.get_created_item(exchange) is not None
    return is_followed or is_listed or exchange.is_creation


class DriftJudge:
    """Checks responses by the forms of a profile."""

    def __init__(self, like: Profile, places: Places) -> None:
        self._like = like
        self._places = places

    def check_kind(self, kind: str, exchanges: list[ServiceExchange]) -> Iterator[Check]:
        code = kind.removeprefix("errors/")
        is_error = kind not in OPERATIONS
        form = self._like.error_form(code) if is_error else self._like.form(kind)
        if form is None:
            return
        is_own_form = not is_error or code in self._like.error_forms
        is_deployment = kind == DEPLOYMENT
        schema = build_schema(form.body, self._like, is_deployment=is_deployment)
        own = prefer(exchanges, lambda exchange: has_own(exchange, self._places))
        for exchange in select_distinct(own):
            is_optional = exchange.purpose == NAMELESS and self._like.has_optional_name
            if explain_nothing(exchange, kind) or (is_optional and exchange.is_success):
                continue
            yield from check_status(kind, form, exchange)
            if exchange.is_success == is_error:
                continue
            if is_own_form and self._says_type(kind):
                yield from check_content_type(kind, form, exchange)
            names = {name: f"/{kind}{format_pointer('headers', name)}" for name in form.headers}
            yield from check_fields(names, exchange, form.headers)
            if form.body is not None:
                yield from self._check_body(kind, form, schema, exchange)

    def _says_type(self, kind: str) -> bool:
        """Whether the profile says the content type of a kind: a skeleton may not."""
        document = self._like.document
        part = document.get("errors", {}).get(kind.removeprefix("errors/"), document.get(kind, {}))
        return "content_type" in document or "content_type" in part

    def _check_body(
        self, kind: str, form: Form, schema: dict[str, Any], exchange: ServiceExchange
    ) -> Iterator[Check]:
        if not exchange.has_json:
            yield Check(f"/{kind}/body", "JSON", "no JSON", exchange)
            return
        is_own = has_own(exchange, self._places) or kind not in (LIST, DEPLOYMENT)
        relations = self._relations(kind, form, exchange) if is_own else {}
        walk = Walk({kind: schema}, True, relations, is_own)
        root = "#" + format_pointer(kind)
        found = [[*walk.walk(root, body)] for body in self._places.split_body(exchange)]
        for check in join_others(found) if len(found) > 1 else found[0]:
            yield replace(check, exchange=exchange)

    def _relations(self, kind: str, form: Form, exchange: ServiceExchange) -> dict[str, Relation]:
        """What values have to be: those of markers, and what programs read of an error."""
        values = self._values(exchange)
        found = {}
        for path, value in walk(form.body):
            place = f"/{kind}/body{format_pointer(*name_places(path))}"
            marker = parse_whole_marker(value)
            is_value = marker and marker.form in ("", "text") and CHOICE not in path
            if marker and is_value and values.get(marker.name) is not None:
                found[place] = relate(VALUES[marker.name], values[marker.name])
            is_one = all(isinstance(name, str) for name in path)
            is_constant = is_one and not isinstance(value, dict | list)
            if kind not in OPERATIONS and is_constant and is_code(value):
                found[place] = relate_equal(value)
        return found

    def _values(self, exchange: ServiceExchange) -> dict[str, Any]:
        """The values of markers in a response, as far as they are known for sure."""
        places = self._places
        is_deployment = exchange in places.followed
        own_id = places.owner_id if is_deployment else places.created_id
        name = places.owner_name if is_deployment else places.created_name
        is_known = places.is_own and bool(places.followed) and not is_deployment
        return {
            "project.id": own_id if str(own_id) != name else None,
            "project.name": name or None,
            "deployment.id": places.deployment_id if is_known else None,
        }

    # What no single body shows

    def check_list(self) -> Iterator[Check]:
        """Check the order of the list."""
        places = self._places
        order = find_order(places)
        known = self._like.document.get("list", {}).get("order")
        if known and order:
            yield Check("/list/order", known, order, places.lists[-1])

    def check_statuses(self) -> Iterator[Check]:
        places = self._places
        for word, exchange in zip(places.words, places.followed, strict=False):
            if word and self._like.words and word not in self._like.words:
                yield Check("/statuses/run", f"no {show(word)}", show(word), exchange)


def name_places(path: Path) -> list[str | int]:
    """Name a path in a body as the walk does: the first item stands for each of an array."""
    return [0 if isinstance(name, int) else name for name in path]


def check_status(kind: str, form: Form, exchange: ServiceExchange) -> Iterator[Check]:
    expected = form.status
    if expected is None and kind in (LIST, DEPLOYMENT):
        expected = 200
    if expected is None:  # the profile says nothing of it
        if (kind not in OPERATIONS) == exchange.is_success:
            yield Check(f"/{kind}/status", "an error", str(exchange.status), exchange)
        return
    yield Check(f"/{kind}/status", str(expected), str(exchange.status), exchange)


def check_content_type(kind: str, form: Form, exchange: ServiceExchange) -> Iterator[Check]:
    if form.body is None or not exchange.response_body:
        return
    part = f"/{kind}/content_type"
    expected, parameters = parse_options_header(form.content_type)
    observed, seen = parse_options_header(exchange.find_response_field("Content-Type"))
    yield Check(part, expected.lower(), observed.lower() or "no media type", exchange)
    charsets = [each.get("charset", "utf-8").lower() for each in (parameters, seen)]
    yield Check(part, f"charset {charsets[0]}", f"charset {charsets[1]}", exchange)


def list_lacking(like: Profile, log: Log) -> list[str]:
    """List the kinds of response that the profile has, and nothing has shown."""
    seen = {*find_kinds(log).values()}
    known = [kind for kind in OPERATIONS if like.form(kind)]
    known += [f"errors/{code}" for code in like.error_forms if code != "default"]
    return [kind for kind in known if kind not in seen]
