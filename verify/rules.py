"""The rules of the interface, one function each: whether a service keeps them.

They need no schema: a service that has none of our forms may keep them all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .checks import MISSING, PRESENT, Check
from .exchange import Log, ServiceExchange
from .kinds import (
    CREATE,
    DEPLOYMENT,
    LIST,
    NO_TOKEN,
    REPEATED,
    SOUGHT,
    TOKEN_ERRORS,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    explain_failure,
    explain_nothing,
    find_asked_kind,
    find_kinds,
)
from .places import Places
from .values import is_id, list_leaves

PROJECTS_PART = "#/paths/~1v1~1projects"
DEPLOYMENTS_PART = "#/paths/~1v1~1deployments~1{id}"
LIST_PART, POST_PART = f"{PROJECTS_PART}/get", f"{PROJECTS_PART}/post"
READ_PART = f"{DEPLOYMENTS_PART}/get"
ID_PART = f"{READ_PART}/parameters/0"
BEARER = "#/components/securitySchemes/bearer"
STATUS = "#/components/schemas/Deployment/properties/status"

NO_PATH = "404, as for a path that does not exist"
LATE = "the token is checked too late, or not at all"


@dataclass(frozen=True)
class Evidence:
    """What the rules are judged by."""

    log: Log
    places: Places
    kinds: dict[ServiceExchange, str]

    def select(self, *kinds: str) -> list[ServiceExchange]:
        """Select the exchanges with the token for these operations, but for guessed ids."""
        own = []
        for exchange in self.log.exchanges:
            kind = self.kinds.get(exchange, "")
            is_other = kind in (*TOKEN_ERRORS, UNKNOWN_DEPLOYMENT, UNKNOWN_PATH)
            is_named = exchange.purpose not in (SOUGHT, REPEATED)
            if name_operation(exchange) in kinds and is_named and not is_other:
                own.append(exchange)
        return own


def name_operation(exchange: ServiceExchange) -> str:
    """Name the operation that a request is for, "" for another request."""
    if exchange.is_list:
        return LIST
    if exchange.is_creation:
        return CREATE
    return DEPLOYMENT if exchange.is_deployment else ""


def check_rules(log: Log, places: Places) -> dict[str, Check]:
    """Check each fixed part of the contract."""
    evidence = Evidence(log, places, find_kinds(log))
    checks = [
        check_projects_path(evidence),
        check_list(evidence),
        check_creation(evidence),
        check_deployments_path(evidence),
        check_deployment(evidence),
        check_id(evidence),
        check_bearer(evidence),
        check_status(evidence),
    ]
    return {check.part: check for check in checks}


# Operations and paths


def check_projects_path(evidence: Evidence) -> Check:
    def contradict(exchange: ServiceExchange) -> str:
        if not exchange.is_list:
            return ""
        if exchange.is_redirect:
            return f"{exchange.status}, a redirect"
        return NO_PATH if exchange.status == 404 else ""

    return check_operation(evidence, PROJECTS_PART, "exists", (LIST, CREATE), contradict)


def check_list(evidence: Evidence) -> Check:
    def contradict(exchange: ServiceExchange) -> str:
        return "" if exchange.is_redirect else str(exchange.status)

    return check_operation(evidence, LIST_PART, "success", (LIST,), contradict)


def check_creation(evidence: Evidence) -> Check:
    def contradict(exchange: ServiceExchange) -> str:
        return str(exchange.status) if exchange.status in (404, 405) else ""

    return check_operation(evidence, POST_PART, "success", (CREATE,), contradict)


def check_deployments_path(evidence: Evidence) -> Check:
    def contradict(exchange: ServiceExchange) -> str:
        if exchange.is_redirect:
            return f"{exchange.status}, a redirect"
        return NO_PATH if is_as_unknown_path(evidence, exchange) else ""

    return check_operation(evidence, DEPLOYMENTS_PART, "exists", (DEPLOYMENT,), contradict)


def check_deployment(evidence: Evidence) -> Check:
    def contradict(exchange: ServiceExchange) -> str:
        if is_as_unknown_path(evidence, exchange):
            return NO_PATH
        return "405" if exchange.status == 405 else ""

    return check_operation(evidence, READ_PART, "success", (DEPLOYMENT,), contradict)


def check_operation(
    evidence: Evidence,
    part: str,
    expected: str,
    kinds: tuple[str, ...],
    contradict: Callable[[ServiceExchange], str],
) -> Check:
    """Check a rule that a success shows, and that a failure contradicts if `contradict` says so."""
    asked = evidence.select(*kinds)
    saying = [each for each in asked if not explain_nothing(each, name_operation(each))]
    for exchange in asked:
        is_telling = not exchange.failure and exchange.status not in (*NO_TOKEN, 429)
        observed = ""
        if is_telling and not exchange.is_success and exchange.status < 500:
            observed = contradict(exchange)
        if observed:
            return Check(part, expected, observed, exchange)
    if saying:
        return Check(part, expected, expected, saying[0])
    return Check(part, expected, "", asked[-1] if asked else None)


def is_as_unknown_path(evidence: Evidence, exchange: ServiceExchange) -> bool:
    """Whether an error is that of a path that does not exist."""
    unknown = [each for each, kind in evidence.kinds.items() if kind == UNKNOWN_PATH]
    return exchange.status == 404 and describe_error(exchange) in map(describe_error, unknown)


def describe_error(exchange: ServiceExchange) -> object:
    """Return what errors for one reason have in common: their code, or the whole body."""
    code = exchange.response_json.get("code") if isinstance(exchange.response_json, dict) else None
    if code:
        return code
    body = exchange.response_body.decode(errors="replace")
    return body.replace(exchange.target, "")


# A deployment


def check_id(evidence: Evidence) -> Check:
    """The segment `:id` names one deployment: a record with an id has that of the path."""
    what = "the deployment of this id"
    shown = None
    for exchange in evidence.log.exchanges:
        kind = evidence.kinds.get(exchange)
        is_read = exchange.is_deployment and exchange.is_success and exchange.has_json
        if not is_read or kind not in (DEPLOYMENT, UNKNOWN_DEPLOYMENT):
            continue
        shown = shown or exchange
        values = {str(value) for _, value in list_leaves(exchange.seen) if is_id(value)}
        # A record, or one in an envelope, has its id there.
        has_id = any(
            len(path) in (1, 2) and path[-1] == "id" for path, _ in list_leaves(exchange.seen)
        )
        if has_id and exchange.deployment_id not in values:
            return Check(ID_PART, what, "another one", exchange)
    if shown:
        return Check(ID_PART, what, what, shown)
    return check_unseen(evidence, ID_PART, what)


def check_status(evidence: Evidence) -> Check:
    asked = evidence.select(DEPLOYMENT)
    read = [each for each in asked if each.is_success and each.has_json]
    if not read:
        return check_unseen(evidence, STATUS, PRESENT)
    path = evidence.places.status_path
    is_of_record = path is not None and isinstance(path[0], str)
    for exchange in read:
        if not is_of_record or not evidence.places.read_status(exchange):
            return Check(STATUS, PRESENT, MISSING, exchange)
    return Check(STATUS, PRESENT, PRESENT, read[0])


def check_unseen(evidence: Evidence, part: str, expected: str) -> Check:
    asked = evidence.select(DEPLOYMENT)
    return Check(part, expected, "", asked[-1] if asked else None)


# The token


def check_bearer(evidence: Evidence) -> Check:
    """Each operation rejects a request without a token, and one with a wrong token."""
    rejected = [each for each in evidence.log.exchanges if is_without_token(evidence, each)]
    for exchange in rejected:
        observed = contradict_bearer(exchange)
        if observed:
            return Check(BEARER, "rejected", observed, exchange)
    lacks = list(find_lacks(evidence, rejected))
    failed = [each for each in lacks if each and explain_failure(each, "")]
    if lacks:
        return Check(BEARER, "rejected", "", (failed or lacks)[0])
    return Check(BEARER, "rejected", "rejected", rejected[0])


def contradict_bearer(exchange: ServiceExchange) -> str:
    """Say how a response shows that the token is not needed.

    A POST says so with any status but 401 and 403: the body was looked at first.
    """
    if exchange.is_success:
        return f"accepted with {exchange.status}"
    is_final = not exchange.failure and exchange.status != 429 and exchange.status < 500
    if exchange.is_creation and is_final and exchange.status not in NO_TOKEN:
        return f"{exchange.status}: {LATE}"
    return ""


def is_without_token(evidence: Evidence, exchange: ServiceExchange) -> bool:
    """Whether a request had no token or a wrong one; also if no response came."""
    if exchange.purpose:
        return find_asked_kind(exchange) in TOKEN_ERRORS
    if evidence.kinds.get(exchange) in TOKEN_ERRORS:
        return True
    # Some recordings have no credentials at all.
    is_recorded = any(each.token for each in evidence.log.exchanges)
    return is_recorded and exchange.is_creation and not exchange.token


def find_lacks(
    evidence: Evidence, rejected: list[ServiceExchange]
) -> Iterator[ServiceExchange | None]:
    """Find each operation of which nothing shows that it rejects such requests.

    It is the last request that should have, None if there was none.
    """
    for kind in (LIST, CREATE, DEPLOYMENT):
        is_accepted = any(each.is_success for each in evidence.select(kind))
        own = [each for each in rejected if name_operation(each) == kind]
        for is_missing in (True, False):
            asked = [each for each in own if (not each.token) == is_missing]
            last = asked[-1] if asked else None
            is_shown = last and not explain_failure(last, "") and is_accepted
            if not is_shown and not (last and last.status in NO_TOKEN):
                yield last
