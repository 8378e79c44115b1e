"""The parts of the contract with their verdicts.

A fixed part is kept or broken, as the rules say. A chosen one is confirmed or differs, as its
schema says. Both may be not seen, or could not be checked, for a reason.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

from profiles.openapi import Contract
from web.files import read_file
from web.routing import CREATED
from web.validation import format_pointer

from .checks import Check, Relation, Walk, check_fields, join_checks, join_others, relate
from .exchange import Log, ServiceExchange
from .kinds import (
    CREATE,
    DEPLOYMENT,
    LIST,
    OPERATIONS,
    REJECTED,
    REJECTIONS,
    TOKEN_ERRORS,
    TOKEN_INVALID,
    TOKEN_MISSING,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    explain_failure,
    explain_nothing,
    find_asked_kind,
    find_kinds,
)
from .order import find_order
from .places import Places
from .rules import (
    DEPLOYMENTS_PART,
    LIST_PART,
    POST_PART,
    PROJECTS_PART,
    READ_PART,
    name_operation,
)
from .values import find_value

KEPT, BROKEN, CONFIRMED, DIFFERS = "kept", "broken", "confirmed", "differs"
NOT_SEEN, COULD_NOT_CHECK = "not seen", "could not check"
VERDICTS = (KEPT, BROKEN, CONFIRMED, DIFFERS, NOT_SEEN, COULD_NOT_CHECK)

RESPONSES = "#/components/responses/"
PROJECT = "#/components/schemas/Project"
NAME, LATEST = (f"{PROJECT}/properties/{each}" for each in ("name", "latest_deployment_id"))
OWNER = "#/components/schemas/Deployment/properties/project_id"
PROJECT_LIST = "#/components/schemas/ProjectList"
ITEMS = f"{PROJECT_LIST}/properties/projects"
INPUT = "#/components/schemas/ProjectInput"
REQUEST_BODY = f"{POST_PART}/requestBody"
RESPONSE_OF = {
    LIST: f"{LIST_PART}/responses/200",
    CREATE: f"{POST_PART}/responses/{CREATED}",
    DEPLOYMENT: f"{READ_PART}/responses/200",
    TOKEN_MISSING: f"{RESPONSES}Unauthorized",
    TOKEN_INVALID: f"{RESPONSES}Unauthorized",
    UNKNOWN_DEPLOYMENT: f"{RESPONSES}DeploymentNotFound",
    UNKNOWN_PATH: f"{RESPONSES}NotFound",
    "errors/malformed_json": f"{RESPONSES}MalformedBody",
    "errors/name_taken": f"{RESPONSES}NameTaken",
    "errors/body_too_large": f"{RESPONSES}BodyTooLarge",
    "errors/unsupported_media_type": f"{RESPONSES}UnsupportedMediaType",
    "errors/invalid_body": f"{RESPONSES}InvalidBody",
}
"""Of each kind of response, that of the contract."""

STATUS_OF = {
    TOKEN_MISSING: 401, TOKEN_INVALID: 401, UNKNOWN_DEPLOYMENT: 404, UNKNOWN_PATH: 404,
    "errors/malformed_json": 400, "errors/invalid_body": 422, LIST: 200, CREATE: CREATED,
    DEPLOYMENT: 200, **{f"{kind}": status for status, kind in REJECTIONS.items() if status > 400},
}  # fmt: skip
"""Of each kind of response, the status of the contract."""

RULES_OF = {
    LIST: (LIST_PART, PROJECTS_PART),
    CREATE: (POST_PART,),
    DEPLOYMENT: (READ_PART, DEPLOYMENTS_PART),
}
"""The rules that say all of a failed operation."""

ACCEPTED = {
    CREATE: (REQUEST_BODY, INPUT, f"{INPUT}/properties/name"),
    DEPLOYMENT: (f"{READ_PART}/parameters/0/schema",),
}
"""Parts that a success shows, since the request has them."""

NO_PARTS = ("x-origin", "examples", "links")  # members of the contract


@cache
def own_contract() -> Contract:
    """The contract of this program."""
    return Contract(json.loads(read_file("openapi.json")))


@cache
def list_parts(place: str = "#") -> dict[str, str]:
    """List the parts at a pointer and below, behind `$ref` too, as `fixed` or `chosen`.

    Those of the stub alone do not come.
    """
    place, node = own_contract().find(place)
    found = {}
    if "x-origin" in node:
        (found[place],) = node["x-origin"]
    members = enumerate(node) if isinstance(node, list) else node.items()
    for name, value in members:
        is_part = name not in NO_PARTS and isinstance(value, dict | list)
        if is_part and "x-stub-only" not in value:
            found.update(list_parts(place + format_pointer(name)))
    return found


def judge_parts(log: Log, places: Places, rules: dict[str, Check]) -> list[Check]:
    """Judge the parts of the contract, in its order, each by all that the log shows of it."""
    judge = PartsJudge(log, places, rules)
    shown: dict[str, list[Check]] = defaultdict(list)
    for check in judge.check_all():
        shown[check.part].append(check)
    found = []
    for part in list_parts():
        if part in rules:
            found.append(rules[part])
        elif shown[part]:
            found.append(join_checks(shown[part]))
        else:
            found.append(Check(part, "", "", judge.find_failure(part)))
    return found


def give_verdict(check: Check) -> str:
    """The verdict of a part of the contract."""
    is_fixed = list_parts()[check.part] == "fixed"
    if not check.observed:
        return COULD_NOT_CHECK if give_reason(check) else NOT_SEEN
    if check.holds:
        return KEPT if is_fixed else CONFIRMED
    return BROKEN if is_fixed else DIFFERS


def give_reason(check: Check) -> str:
    """Why nothing shows a part, "" if no response that failed could have."""
    exchange = check.exchange
    if check.observed or exchange is None:
        return ""
    is_of_token = bool(exchange.purpose) and find_asked_kind(exchange) in TOKEN_ERRORS
    return explain_failure(exchange, "" if is_of_token else name_operation(exchange))


def name_purpose(exchange: ServiceExchange | None) -> str:
    """What was asked for; in a recording the method and the path."""
    if exchange is None:
        return ""
    return exchange.purpose or f"{exchange.method} {exchange.path}"


class PartsJudge:
    """Checks the responses of a log by the schemas of the contract."""

    def __init__(self, log: Log, places: Places, rules: dict[str, Check]) -> None:
        self._log = log
        self._places = places
        self._rules = rules
        self._document = own_contract().document
        self._by_kind: dict[str, list[ServiceExchange]] = defaultdict(list)
        for exchange, kind in find_kinds(log).items():
            self._by_kind[kind].append(exchange)

    def check_all(self) -> Iterator[Check]:
        for kind, exchanges in self._by_kind.items():
            if kind in RESPONSE_OF:
                for exchange in select_distinct(exchanges):
                    yield from self._check_response(kind, exchange)
        yield from self._check_requests()
        yield from self._check_list()

    def find_failure(self, part: str) -> ServiceExchange | None:
        """Find the last response that should have shown a part, if it shows nothing."""
        for kind, exchanges in self._by_kind.items():
            response = RESPONSE_OF.get(kind)
            shown = [*ACCEPTED.get(kind, ()), *(list_parts(response) if response else ())]
            if part in shown and explain_failure(exchanges[-1], kind):
                return exchanges[-1]
        return None

    def _check_response(self, kind: str, exchange: ServiceExchange) -> Iterator[Check]:
        """Check a response, unless a rule says all of it, or it shows nothing."""
        rules = [self._rules[part] for part in RULES_OF.get(kind, ())]
        is_broken = any(rule.observed and not rule.holds for rule in rules)
        status = exchange.status
        if exchange.failure or status == 429 or status >= 500:
            return
        if not exchange.is_success and (is_broken or kind in OPERATIONS):
            if kind == DEPLOYMENT and status == 404 and not is_broken:
                yield Check(LATEST, "200", "404", exchange)
            return
        if kind in TOKEN_ERRORS and (
            exchange.is_success or not (exchange.is_list or status == 401)
        ):
            return  # the rule of the token says it
        if kind in (LIST, DEPLOYMENT) and explain_nothing(exchange, kind):
            return
        part, response = own_contract().find(RESPONSE_OF[kind])
        yield Check(part, str(STATUS_OF[kind]), str(status), exchange)
        if exchange.is_success != (STATUS_OF[kind] < 300):
            return
        fields = {name: own_contract().find(f"{part}{format_pointer('headers', name)}")[0]
                  for name in response["headers"]}  # fmt: skip
        yield from check_fields(fields, exchange, {})
        yield from self._check_body(kind, exchange, part, response["content"])

    def _check_body(
        self, kind: str, exchange: ServiceExchange, part: str, content: dict[str, Any]
    ) -> Iterator[Check]:
        (media_type,) = content
        if exchange.response_body:
            yield Check(part, media_type, exchange.media_type or "no media type", exchange)
        yield Check(part, "JSON", "JSON" if exchange.has_json else "no JSON", exchange)
        if not exchange.has_json:
            return
        walk = Walk(self._document, relations=self._relations(exchange))
        schema = f"{part}{format_pointer('content', media_type, 'schema')}"
        bodies = self._places.split_body(exchange)
        found = [[*walk.walk(schema, body)] for body in bodies]
        for check in join_others(found) if len(found) > 1 else found[0]:
            yield Check(check.part, check.expected, check.observed, exchange)

    def _relations(self, exchange: ServiceExchange) -> dict[str, Relation]:
        """What values have to be in a response with the created project, or its deployment."""
        places = self._places
        found = {}
        is_of_project = exchange == places.creation or places.get_created_item(exchange) is not None
        if is_of_project:
            found[NAME] = relate("the name as it was sent", places.created_name)
        if is_of_project and places.followed and places.is_own:
            found[LATEST] = relate("the id of the deployment", places.deployment_id)
        if exchange in places.followed and places.owner_id is not None:
            found[OWNER] = relate("the id of the project", places.owner_id, None)
        return found

    # Requests, and what no single body shows

    def _check_requests(self) -> Iterator[Check]:
        """Check what the service accepts, and what it rejected of the bodies of a run."""
        for kind, parts in ACCEPTED.items():
            accepted = [each for each in self._by_kind.get(kind, ()) if each.is_success]
            for part in parts if accepted else ():
                yield Check(part, "success", "success", accepted[0])
        for exchange in self._log.exchanges:
            is_own = exchange.purpose in (CREATE, REJECTED) and exchange.status in REJECTIONS
            if is_own and exchange.status == 415:
                yield Check(REQUEST_BODY, "JSON is accepted", "415", exchange)
            elif is_own:
                what = "a name is accepted"
                yield Check(INPUT, what, str(exchange.status), exchange)

    def _check_list(self) -> Iterator[Check]:
        """Check the order of the list, and whether it has the created project."""
        places = self._places
        order = find_order(places)
        if order:
            yield Check(ITEMS, "oldest first", order, places.lists[-1])
        creation = places.creation
        later = [each for each in places.lists if creation and each.sent_at > creation.sent_at]
        if later and isinstance(find_value(later[-1].seen, places.items_path), list):
            what = "a created project is listed"
            is_listed = places.latest_item is not None
            if is_listed or all(isinstance(each, dict) for each in places.list_items(later[-1])):
                yield Check(PROJECT_LIST, what, what if is_listed else "it is not", later[-1])


def select_distinct(exchanges: list[ServiceExchange]) -> list[ServiceExchange]:
    """Select one of those that have the same response."""
    found: dict[object, ServiceExchange] = {}
    for each in exchanges:
        found.setdefault((each.status, each.media_type, each.failure, each.response_body), each)
    return [*found.values()]
