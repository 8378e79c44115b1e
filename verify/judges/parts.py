"""Judges the parts of the contract.

A fixed part is kept or broken, as the rules say. A chosen part is confirmed or differs, as its
schema says. Any part may be not seen, or could not be checked, for a reason.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import replace
from functools import cache

from profiles.openapi import Contract
from web.files import read_file
from web.routing import CREATED
from web.validation import format_pointer

from ..seen import kinds
from ..seen.find_projects import find_order
from ..seen.inspection import find_value
from ..seen.places import Places
from ..seen.service_log import DEPLOYMENTS, NOTHING, PROJECTS, Log, ServiceExchange
from . import checks, rules
from .checks import Check, Expected

KEPT, BROKEN, CONFIRMED, DIFFERS = "kept", "broken", "confirmed", "differs"
NOT_SEEN, COULD_NOT_CHECK = "not seen", "could not check"
VERDICTS = (KEPT, BROKEN, CONFIRMED, DIFFERS, NOT_SEEN, COULD_NOT_CHECK)

REQUEST_BODY = f"{rules.POST_PART}/requestBody"
INPUT = "#/components/schemas/ProjectInput"
LISTED = "#/components/schemas/ProjectList"
LATEST = "#/components/schemas/Project/properties/latest_deployment_id"

RESPONSES = {
    kinds.LIST: (f"{rules.LIST_PART}/responses/200", 200),
    kinds.CREATE: (f"{rules.POST_PART}/responses/{CREATED}", CREATED),
    kinds.DEPLOYMENT: (f"{rules.READ_PART}/responses/200", 200),
    kinds.TOKEN_MISSING: ("#/components/responses/Unauthorized", 401),
    kinds.TOKEN_INVALID: ("#/components/responses/Unauthorized", 401),
    kinds.UNKNOWN_DEPLOYMENT: ("#/components/responses/DeploymentNotFound", 404),
    kinds.UNKNOWN_PATH: ("#/components/responses/NotFound", 404),
    kinds.INVALID_BODY: ("#/components/responses/InvalidBody", 422),
    "errors/malformed_json": ("#/components/responses/MalformedBody", 400),
    "errors/name_taken": ("#/components/responses/NameTaken", 409),
    "errors/body_too_large": ("#/components/responses/BodyTooLarge", 413),
    "errors/unsupported_media_type": ("#/components/responses/UnsupportedMediaType", 415),
}
"""The response of the contract and its status, by the kind of a response."""

ACCEPTED = {
    kinds.CREATE: (REQUEST_BODY, INPUT, f"{INPUT}/properties/name"),
    kinds.DEPLOYMENT: (f"{rules.READ_PART}/parameters/0/schema",),
}
"""The parts of a request that a success shows."""


@cache
def load_contract() -> Contract:
    """Load the contract of this program."""
    return Contract(json.loads(read_file("openapi.json")))


@cache
def list_parts(pointer: str = "#") -> dict[str, str]:
    """List the parts at a pointer and below it, through `$ref`, as `fixed` or `chosen`.

    `{"#/paths/~1v1~1projects": "fixed"}`. Parts that only the stub has are left out.
    """
    part, node = load_contract().find(pointer)
    found = {}
    if "x-origin" in node:
        found[part] = next(iter(node["x-origin"]))
    members = enumerate(node) if isinstance(node, list) else node.items()
    for name, value in members:
        is_part = name not in ("x-origin", "examples", "links") and isinstance(value, dict | list)
        if is_part and "x-stub-only" not in value:
            found.update(list_parts(part + format_pointer(name)))
    return found


def judge_parts(
    log: Log, places: Places, rule_checks: dict[str, Check], given_id: str
) -> list[Check]:
    """Judge the parts of the contract, in its order, by all responses in a log.

    `given_id` is the id that a person gave for a deployment, and may be wrong; or it is "".
    """
    judge = PartsJudge(log, places, rule_checks, given_id)
    shown: dict[str, list[Check]] = defaultdict(list)
    for check in judge.check_all():
        shown[check.part].append(check)
    found = []
    for part in list_parts():
        if part in rule_checks:
            found.append(rule_checks[part])
        elif shown[part]:
            found.append(checks.join_checks(shown[part]))
        else:
            found.append(Check(part, "", "", judge.find_failed(part)))
    return found


def give_verdict(check: Check) -> str:
    """Give the verdict of a part: `kept`."""
    is_fixed = list_parts()[check.part] == "fixed"
    if not check.is_shown:
        return COULD_NOT_CHECK if give_reason(check) else NOT_SEEN
    if check.holds:
        return KEPT if is_fixed else CONFIRMED
    return BROKEN if is_fixed else DIFFERS


def give_reason(check: Check) -> str:
    """Give the reason why no response shows a part: `503`, or "" if no response failed."""
    exchange = check.exchange
    if check.is_shown or exchange is None:
        return ""
    if exchange.purpose and kinds.find_asked_kind(exchange) in kinds.TOKEN_ERRORS:
        return kinds.find_failure(exchange, "")
    return kinds.find_failure(exchange, kinds.name_operation(exchange))


def name_purpose(exchange: ServiceExchange | None) -> str:
    """Return the purpose of a request, or describe a recorded request: `GET /v1/projects`.

    Another path may have ids of others, so it is left out: `GET another path`.
    """
    if exchange is None:
        return ""
    if exchange.purpose:
        return exchange.purpose
    if exchange.path == PROJECTS:
        return f"{exchange.method} {PROJECTS}"
    path = f"{DEPLOYMENTS}{{id}}" if exchange.deployment_id else "another path"
    return f"{exchange.method} {path}"


class PartsJudge:
    """Checks the responses of a log by the schemas of the contract."""

    def __init__(
        self, log: Log, places: Places, rule_checks: dict[str, Check], given_id: str
    ) -> None:
        self._log = log
        self._places = places
        self._rules = rule_checks
        self._given_id = given_id
        self._by_kind = kinds.group_by_kind(log)

    def check_all(self) -> Iterator[Check]:
        for kind, exchanges in self._by_kind.items():
            for exchange in select_distinct(exchanges):
                if kind in RESPONSES and shows_response(exchange, kind):
                    yield from self._check_response(exchange, kind)
                elif kind == kinds.DEPLOYMENT and self._is_unknown(exchange):
                    yield Check(LATEST, "200", "404", exchange)
        yield from self._check_requests()
        yield from self._check_order()
        yield from self._check_created()

    def find_failed(self, part: str) -> ServiceExchange | None:
        """Find the last response that should have shown a part, if it shows nothing."""
        for kind, exchanges in self._by_kind.items():
            shown = [*ACCEPTED.get(kind, ())]
            if kind in RESPONSES:
                pointer, _ = RESPONSES[kind]
                shown += list_parts(pointer)
            if part in shown and kinds.find_failure(exchanges[-1], kind):
                return exchanges[-1]
        return None

    def _is_unknown(self, exchange: ServiceExchange) -> bool:
        """Return whether the service does not know a deployment with an id of its own."""
        path_rules = [self._rules[part] for part in (rules.READ_PART, rules.DEPLOYMENTS_PART)]
        if any(rule.fails for rule in path_rules) or exchange.deployment_id == self._given_id:
            return False
        return exchange.status == 404 and not exchange.failure

    def _check_response(self, exchange: ServiceExchange, kind: str) -> Iterator[Check]:
        pointer, expected = RESPONSES[kind]
        part, response = load_contract().find(pointer)
        yield Check(part, str(expected), str(exchange.status), exchange)
        if exchange.is_success != (expected < 300):
            return
        for name in response["headers"]:
            field, _ = load_contract().find(part + format_pointer("headers", name))
            yield from checks.check_field(exchange, name, field, f"{field}/schema")
        (media_type,) = response["content"]
        if exchange.response_body:
            yield Check(part, media_type, exchange.media_type or "no media type", exchange)
        yield Check(part, "JSON", "JSON" if exchange.has_json else "no JSON", exchange)
        if exchange.has_json:
            schema = part + format_pointer("content", media_type, "schema")
            checker = checks.BodyChecker(
                document=load_contract().document, expected=self._find_expected(exchange)
            )
            yield from check_bodies(checker, schema, self._places, exchange)

    def _find_expected(self, exchange: ServiceExchange) -> dict[str, Expected]:
        """Find the values that the created project, or its deployment, must have in a response."""
        places = self._places
        found = {}
        if exchange == places.creation or places.get_created_item(exchange) is not None:
            name = "#/components/schemas/Project/properties/name"
            found[name] = Expected("the name as it was sent", (places.created_name,))
            if places.followed and places.is_own:
                found[LATEST] = Expected("the id of the deployment", (places.deployment_id,))
        if exchange in places.followed and places.owner_id is not None:
            owner = "#/components/schemas/Deployment/properties/project_id"
            found[owner] = Expected("the id of the project", (places.owner_id, None))
        return found

    # Requests, and parts that no single body shows

    def _check_requests(self) -> Iterator[Check]:
        """Check the parts of requests: the service accepts them, or rejects the body of a run."""
        for kind, accepted_parts in ACCEPTED.items():
            accepted = [each for each in self._by_kind.get(kind, ()) if each.is_success]
            for part in accepted_parts if accepted else ():
                yield Check(part, "success", "success", accepted[0])
        for exchange in self._log.exchanges:
            is_own = exchange.purpose in (kinds.CREATE, kinds.REJECTED)
            if is_own and exchange.status == 415:
                yield Check(REQUEST_BODY, "JSON is accepted", "415", exchange)
            elif is_own and exchange.status in kinds.REJECTIONS:
                yield Check(INPUT, "a name is accepted", str(exchange.status), exchange)

    def _check_order(self) -> Iterator[Check]:
        order = find_order(self._places)
        if order:
            part = f"{LISTED}/properties/projects"
            yield Check(part, "oldest first", order, self._places.lists[-1])

    def _check_created(self) -> Iterator[Check]:
        """Check that the last list after the creation has the created project."""
        places = self._places
        creation = places.creation
        later = [each for each in places.lists if creation and each.sent_at > creation.sent_at]
        if not later or not isinstance(find_value(later[-1].body, places.items_path), list):
            return
        expected = "a created project is listed"
        if places.latest_item is not None:
            yield Check(LISTED, expected, expected, later[-1])
        elif all(isinstance(item, dict) for item in places.list_items(later[-1])):
            yield Check(LISTED, expected, "it is not", later[-1])


def shows_response(exchange: ServiceExchange, kind: str) -> bool:
    """Return whether a response can be checked by the response of the contract for its kind."""
    if kind == kinds.CREATE:
        # The check of the body describes a creation without JSON.
        return exchange.is_success
    if kind in kinds.OPERATIONS:
        return exchange.is_success and not kinds.find_failure(exchange, kind)
    if kinds.find_failure(exchange, kind):
        return False
    if kind not in kinds.TOKEN_ERRORS:
        return True
    # The rule of the token judges the other responses.
    return exchange.status == 401 or (exchange.is_list and not exchange.is_success)


def check_bodies(
    checker: checks.BodyChecker,
    pointer: str,
    places: Places,
    exchange: ServiceExchange,
    typed_parts: Set[str] | None = None,
) -> Iterator[Check]:
    """Check the body of a response by the schema at a pointer, such as `#/list`.

    In a list, the record of another may lack members, but has no member of another type; this holds
    for the `typed_parts`, or for all.
    """
    own, others = places.split_body(exchange)
    found = [[*checker.check(pointer, body)] for body in others]
    checked = checks.join_others(found) if own is NOTHING else checker.check(pointer, own)
    wrong = checks.find_wrong_types(found)
    typed = [each for each in wrong if typed_parts is None or each.part in typed_parts]
    for check in (*checked, *typed):
        yield replace(check, exchange=exchange)


def select_distinct(exchanges: list[ServiceExchange]) -> list[ServiceExchange]:
    """Select the first exchange of those with the same response."""
    found: dict[object, ServiceExchange] = {}
    for exchange in exchanges:
        key = (exchange.status, exchange.media_type, exchange.failure, exchange.response_body)
        found.setdefault(key, exchange)
    return [*found.values()]
