"""Checks the rules of the interface: a function for every fixed part of the contract.

They need no schema: a service with different bodies may keep all rules.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from traffic import json_values

from ..seen import inspection, kinds
from ..seen.places import Places
from ..seen.service_log import NOTHING, Log, ServiceExchange
from .checks import MISSING, PRESENT, Check

PROJECTS_PART = "#/paths/~1v1~1projects"
DEPLOYMENTS_PART = "#/paths/~1v1~1deployments~1{id}"
LIST_PART = f"{PROJECTS_PART}/get"
POST_PART = f"{PROJECTS_PART}/post"
READ_PART = f"{DEPLOYMENTS_PART}/get"
NO_PATH = "404 like an unknown path"


@dataclass(frozen=True)
class Evidence:
    """A log, the places in it, and the kinds of its responses."""

    log: Log
    places: Places
    kind_by_exchange: dict[ServiceExchange, str]

    @cached_property
    def has_credentials(self) -> bool:
        """Whether a request has a token. Some recordings have no credentials at all."""
        return any(exchange.token for exchange in self.log.exchanges)

    def select(self, *operations: str) -> list[ServiceExchange]:
        """Select the exchanges of operations with the token, without guessed and unknown ids."""
        errors = (*kinds.TOKEN_ERRORS, kinds.UNKNOWN_DEPLOYMENT, kinds.UNKNOWN_PATH)
        purposes = (kinds.SOUGHT, kinds.REPEATED)
        return [
            exchange
            for exchange in self.log.exchanges
            if kinds.name_operation(exchange) in operations
            and exchange.purpose not in purposes
            and self.kind_by_exchange.get(exchange, "") not in errors
        ]


def check_rules(log: Log, places: Places) -> dict[str, Check]:
    """Check the fixed parts of the contract; return the checks by their parts.

    A rule is reported under its part, which has an `x-origin` with `fixed` in the contract.
    """
    evidence = Evidence(log, places, kinds.find_kinds(log))
    projects = (kinds.LIST, kinds.CREATE)
    checks = [
        check_operation(evidence, PROJECTS_PART, "exists", projects, contradict_projects_path),
        check_operation(evidence, LIST_PART, "success", (kinds.LIST,), contradict_list),
        check_operation(evidence, POST_PART, "success", (kinds.CREATE,), contradict_creation),
        check_operation(
            evidence, DEPLOYMENTS_PART, "exists", (kinds.DEPLOYMENT,), contradict_deployments_path
        ),
        check_operation(evidence, READ_PART, "success", (kinds.DEPLOYMENT,), contradict_deployment),
        check_id(evidence),
        check_bearer(evidence),
        check_status(evidence),
    ]
    return {check.part: check for check in checks}


# Operations and paths. A function describes how a rejection contradicts a rule: `404`.

Contradict = Callable[[Evidence, ServiceExchange], str]


def check_operation(
    evidence: Evidence,
    part: str,
    expected: str,
    operations: tuple[str, ...],
    contradict: Contradict,
) -> Check:
    """Check a rule that a success shows, and that a rejection may contradict."""
    asked = evidence.select(*operations)
    for exchange in asked:
        status = exchange.status
        is_rejection = 300 <= status < 500 and status not in (*kinds.NO_TOKEN, 429)
        if is_rejection and not exchange.failure:
            observed = contradict(evidence, exchange)
            if observed:
                return Check(part, expected, observed, exchange)
    for exchange in asked:
        if not kinds.find_defect(exchange, kinds.name_operation(exchange)):
            return Check(part, expected, expected, exchange)
    return make_open_check(evidence, part, expected, operations)


def make_open_check(
    evidence: Evidence, part: str, expected: str, operations: tuple[str, ...]
) -> Check:
    """Make the check of a rule that no response shows. Its exchange should have shown it."""
    asked = evidence.select(*operations)
    return Check(part, expected, "", asked[-1] if asked else None)


def contradict_projects_path(evidence: Evidence, exchange: ServiceExchange) -> str:
    if exchange.is_list and exchange.is_redirect:
        return f"{exchange.status}, a redirect"
    return NO_PATH if exchange.is_list and exchange.status == 404 else ""


def contradict_list(evidence: Evidence, exchange: ServiceExchange) -> str:
    return "" if exchange.is_redirect else str(exchange.status)


def contradict_creation(evidence: Evidence, exchange: ServiceExchange) -> str:
    return str(exchange.status) if exchange.status in (404, 405) else ""


def contradict_deployments_path(evidence: Evidence, exchange: ServiceExchange) -> str:
    if exchange.is_redirect:
        return f"{exchange.status}, a redirect"
    return NO_PATH if is_like_unknown_path(evidence, exchange) else ""


def contradict_deployment(evidence: Evidence, exchange: ServiceExchange) -> str:
    if exchange.status == 405:
        return "405"
    return NO_PATH if is_like_unknown_path(evidence, exchange) else ""


def is_like_unknown_path(evidence: Evidence, exchange: ServiceExchange) -> bool:
    """Return whether an error is the same as that of a path that does not exist."""
    unknown = [
        each for each, kind in evidence.kind_by_exchange.items() if kind == kinds.UNKNOWN_PATH
    ]
    return exchange.status == 404 and describe_error(exchange) in map(describe_error, unknown)


def describe_error(exchange: ServiceExchange) -> object:
    """Return the code of an error, such as `not_found`, or else its body without the path."""
    body = exchange.response_json
    code = body.get("code") if isinstance(body, dict) else None
    text = exchange.response_body.decode(errors="replace")
    return code or text.replace(exchange.target, "")


# A deployment


def check_id(evidence: Evidence) -> Check:
    """Check that `:id` names a deployment: its record has the id of the path, at one place."""
    part = f"{READ_PART}/parameters/0"
    expected = "the deployment of this id"
    read = [
        exchange
        for exchange, kind in evidence.kind_by_exchange.items()
        if kind == kinds.DEPLOYMENT and exchange.is_success and exchange.has_json
    ]
    place = None
    for exchange in read:
        place = place or find_own_id(exchange)
        value = inspection.find_value(exchange.body, place)
        is_other = inspection.is_id(value) and str(value) != exchange.deployment_id
        if is_other or has_other_id(exchange):
            return Check(part, expected, "another one", exchange)
        if place and not inspection.is_id(value):
            return Check(part, expected, MISSING, exchange)
    for exchange, kind in evidence.kind_by_exchange.items():
        if kind == kinds.UNKNOWN_DEPLOYMENT and exchange.is_success:
            return Check(part, expected, f"{exchange.status} for an unknown id", exchange)
    if read:
        return Check(part, expected, expected, read[0])
    return make_open_check(evidence, part, expected, (kinds.DEPLOYMENT,))


def find_own_id(exchange: ServiceExchange) -> json_values.Path | None:
    """Find the path of a member `id` with the id of a deployment: `("deployment", "id")`."""
    leaves = inspection.list_leaves(exchange.body)
    paths = [path for path, value in leaves if str(value) == exchange.deployment_id]
    return inspection.find_called(paths, "id")


def has_other_id(exchange: ServiceExchange) -> bool:
    """Return whether a record has a member `id`, perhaps in an envelope, but not its own id."""
    leaves = inspection.list_leaves(exchange.body)
    ids = {str(value) for _, value in leaves if inspection.is_id(value)}
    has_id = any(len(path) in (1, 2) and path[-1] == "id" for path, _ in leaves)
    return has_id and exchange.deployment_id not in ids


def check_status(evidence: Evidence) -> Check:
    """Check that a deployment is an object with a status."""
    part = "#/components/schemas/Deployment/properties/status"
    asked = evidence.select(kinds.DEPLOYMENT)
    read = [exchange for exchange in asked if exchange.is_success and exchange.has_json]
    path = evidence.places.status_path
    bodies = [exchange.body for exchange in evidence.places.followed]
    if path is None and any(body != bodies[0] for body in bodies):
        read = []  # Its place is not certain, and a doubt says so.
    is_in_object = path is not None and isinstance(path[0], str)
    for exchange in read:
        if not is_in_object or not evidence.places.read_status(exchange):
            return Check(part, PRESENT, MISSING, exchange)
        values = [inspection.find_value(each.body, path) for each in (read[0], exchange)]
        types = {type(value) for value in values if value is not NOTHING}
        if str in types and len(types) > 1:
            return Check(part, PRESENT, "of another type than before", exchange)
    if read:
        return Check(part, PRESENT, PRESENT, read[0])
    return make_open_check(evidence, part, PRESENT, (kinds.DEPLOYMENT,))


# The token


def check_bearer(evidence: Evidence) -> Check:
    """Check that all operations reject requests without a token, and with a wrong token."""
    part, expected = "#/components/securitySchemes/bearer", "rejected"
    asked = [each for each in evidence.log.exchanges if must_be_rejected(evidence, each)]
    for exchange in asked:
        observed = contradict_bearer(exchange)
        if observed:
            return Check(part, expected, observed, exchange)
    missing = [*find_missing_rejections(evidence, asked)]
    if not missing:
        return Check(part, expected, expected, asked[0])
    failed = [exchange for exchange in missing if exchange and kinds.find_failure(exchange, "")]
    return Check(part, expected, "", (failed or missing)[0])


def must_be_rejected(evidence: Evidence, exchange: ServiceExchange) -> bool:
    """Return whether a request had no token, or a wrong token, even if no response came."""
    if exchange.purpose:
        return kinds.find_asked_kind(exchange) in kinds.TOKEN_ERRORS
    if evidence.kind_by_exchange.get(exchange) in kinds.TOKEN_ERRORS:
        return True
    if exchange.token or not kinds.name_operation(exchange):
        return False
    # A page in a browser may have a cookie in place of a token.
    if exchange.find_request_field("Cookie") and not exchange.is_creation:
        return False
    return evidence.has_credentials


def contradict_bearer(exchange: ServiceExchange) -> str:
    """Describe how a response shows that the token is not needed: `accepted with 200`.

    A POST shows it with any status but 401 and 403, since its body was looked at first.
    """
    if exchange.is_success:
        return f"accepted with {exchange.status}"
    is_rejected = exchange.status in kinds.NO_TOKEN or kinds.find_failure(exchange, "")
    if exchange.is_creation and not is_rejected:
        return f"{exchange.status}: the token is checked too late, or not at all"
    return ""


def find_missing_rejections(
    evidence: Evidence, asked: list[ServiceExchange]
) -> Iterator[ServiceExchange | None]:
    """Find the operations that no response shows to reject requests without a valid token.

    Yields the last request that should have shown it, or None.
    """
    for operation in kinds.OPERATIONS:
        is_accepted = any(exchange.is_success for exchange in evidence.select(operation))
        for has_token in (False, True):
            last = None
            for exchange in asked:
                is_own = kinds.name_operation(exchange) == operation
                if is_own and bool(exchange.token) == has_token:
                    last = exchange
            if last is None or not shows_rejection(last, is_accepted):
                yield last


def shows_rejection(exchange: ServiceExchange, is_accepted: bool) -> bool:
    """Return whether a response rejects the token, not the request.

    It has another status than 401 and 403, such as 400, in some services. Then the operation must
    be accepted with a valid token.
    """
    if exchange.status in kinds.NO_TOKEN:
        return True
    return is_accepted and not kinds.find_failure(exchange, "")
