"""The rules of the interface, as one function each: whether a service keeps them.

They are no comparison: a service that has none of our forms may keep them all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from stub.request.promises import object_in

from .exchange import Exchange, Log
from .kinds import (
    DEPLOYMENT,
    REPEATED,
    SOUGHT,
    TOKEN_INVALID,
    TOKEN_MISSING,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    kind_of_purpose,
    kinds_of,
)
from .values import is_id, scalars
from .way import Way

OF_A_BODY = (400, 409, 413, 415, 422)  # statuses that reject a body
OF_TOKENS = (TOKEN_MISSING, TOKEN_INVALID)
NO_TOKEN = (401, 403)
NO_PATH = "404, as for a path that does not exist"

IsOne = Callable[[Exchange], bool]
FailureOf = Callable[["Evidence", Exchange], str]
"""What of a response contradicts a rule, "" if nothing does."""


@dataclass(frozen=True)
class Judged:
    """Whether a rule holds, as the first exchange shows that contradicts it, or else any.

    `holds` is None if nothing shows it. `reason` says why, if it was asked and failed.
    """

    holds: bool | None = None
    expected: str = ""
    observed: str = ""
    reason: str = ""
    exchange: Exchange | None = None


@dataclass(frozen=True)
class Evidence:
    """What the rules are judged by."""

    log: Log
    way: Way
    kinds: dict[Exchange, str]

    def of(self, is_one: IsOne) -> list[Exchange]:
        """The exchanges with the token that are such ones, but for ids that were guessed."""
        own = []
        for exchange in self.log.exchanges:
            kind = self.kinds.get(exchange, "")
            is_other = kind in (*OF_TOKENS, UNKNOWN_DEPLOYMENT, UNKNOWN_PATH)
            is_named = exchange.purpose not in (SOUGHT, REPEATED)
            if is_one(exchange) and is_named and not is_other:
                own.append(exchange)
        return own


def rules_of(log: Log, way: Way) -> dict[str, Judged]:
    """Each fixed part of the contract, and whether it is kept."""
    evidence = Evidence(log, way, kinds_of(log))
    of_operations = {part: judge_operation(evidence, *row) for part, row in OPERATIONS.items()}
    return of_operations | {part: judge(evidence) for part, judge in RULES.items()}


is_list: IsOne = attrgetter("is_list")
is_creation: IsOne = attrgetter("is_creation")
is_deployment: IsOne = attrgetter("is_deployment")


# Operations and paths


def is_of_projects(exchange: Exchange) -> bool:
    return exchange.is_list or exchange.is_creation


def failure_of_list(_: Evidence, exchange: Exchange) -> str:
    return "" if exchange.is_redirect else str(exchange.status)


def failure_of_creation(_: Evidence, exchange: Exchange) -> str:
    return str(exchange.status) if exchange.status in (404, 405) else ""


def failure_of_deployment(evidence: Evidence, exchange: Exchange) -> str:
    if is_as_unknown_path(evidence, exchange):
        return NO_PATH
    return "405" if exchange.status == 405 else ""


def failure_of_projects_path(_: Evidence, exchange: Exchange) -> str:
    if exchange.is_redirect and exchange.method == "GET":
        return f"{exchange.status}, a redirect"
    return NO_PATH if exchange.status == 404 and exchange.method == "GET" else ""


def failure_of_deployments_path(evidence: Evidence, exchange: Exchange) -> str:
    if exchange.is_redirect:
        return f"{exchange.status}, a redirect"
    return NO_PATH if is_as_unknown_path(evidence, exchange) else ""


def judge_operation(
    evidence: Evidence, is_one: IsOne, failure_of: FailureOf, expected: str
) -> Judged:
    """A rule that a success shows, and that a failure contradicts if `failure_of` says so."""
    asked = evidence.of(is_one)
    told = [each for each in asked if not why_nothing(each)]
    for exchange in told:
        observed = "" if exchange.is_success else failure_of(evidence, exchange)
        if observed:
            return Judged(False, expected, observed, exchange=exchange)
    for exchange in told:
        if exchange.is_success:
            return Judged(True, expected, expected, exchange=exchange)
    return unseen(asked)


def why_nothing(exchange: Exchange) -> str:
    """Why a response says nothing of what it was asked for, "" if it says something."""
    status = exchange.status
    if exchange.failure or status == 429 or status >= 500:
        return exchange.reason
    if status in NO_TOKEN:
        return f"{status}: the token is not accepted for this"
    if exchange.is_list and status == 200 and not exchange.has_json:
        return "no JSON where the list should be"
    return ""


def unseen(asked: list[Exchange]) -> Judged:
    """What nothing has shown, with the reason if the last request failed."""
    if not asked:
        return Judged()
    last = asked[-1]
    return Judged(reason=why_nothing(last), exchange=last)


def is_as_unknown_path(evidence: Evidence, exchange: Exchange) -> bool:
    """Whether an error is that of a path that does not exist."""
    unknown = [each for each, kind in evidence.kinds.items() if kind == UNKNOWN_PATH]
    return exchange.status == 404 and likeness(exchange) in map(likeness, unknown)


def likeness(exchange: Exchange) -> object:
    """What errors for one reason have in common: their code, or the whole body."""
    code = object_in(exchange.content).get("code")
    if code:
        return code
    body = exchange.content.decode(errors="replace")
    return body.replace(exchange.target, "")


# A deployment


def judge_id(evidence: Evidence) -> Judged:
    """The segment `:id` names one deployment: a record with an id has that of the path."""
    what = "the deployment of this id"
    shown = None
    asked = [each for each in evidence.log.exchanges if is_deployment(each) and each.is_success]
    for exchange in asked:
        kind = evidence.kinds.get(exchange)
        if kind not in (DEPLOYMENT, UNKNOWN_DEPLOYMENT) or not exchange.has_json:
            continue
        shown = shown or exchange
        values = {str(value) for _, value in scalars(exchange.seen) if is_id(value)}
        has_id = any(is_own_id(path) for path, _ in scalars(exchange.seen))
        if has_id and exchange.deployment_id not in values:
            return Judged(False, what, "another one", exchange=exchange)
    if shown:
        return Judged(True, what, what, exchange=shown)
    return unseen(evidence.of(is_deployment))


def is_own_id(path: tuple[str | int, ...]) -> bool:
    """Whether a record, or one in an envelope, has its id there."""
    return len(path) in (1, 2) and path[-1] == "id"


def judge_status(evidence: Evidence) -> Judged:
    read = [each for each in evidence.of(is_deployment) if each.is_success and each.has_json]
    if not read:
        return unseen(evidence.of(is_deployment))
    path = evidence.way.status_path
    is_of_record = path is not None and isinstance(path[0], str)
    for exchange in read:
        if not is_of_record or not evidence.way.status_of(exchange):
            return Judged(False, "present", "missing", exchange=exchange)
    return Judged(True, "present", "present", exchange=read[0])


# The token


def judge_bearer(evidence: Evidence) -> Judged:
    """Each operation rejects a request without a token, and one with a wrong token."""
    rejected = [each for each in evidence.log.exchanges if is_without_token(evidence, each)]
    for exchange in rejected:
        if exchange.is_success:
            observed = f"accepted with {exchange.status}"
            return Judged(False, "rejected", observed, exchange=exchange)
    lacks = list(lacks_of(evidence, rejected))
    failed = [each for each in lacks if each.reason]
    if lacks:
        return (failed or lacks)[0]
    return Judged(True, "rejected", "rejected", exchange=rejected[0])


def is_without_token(evidence: Evidence, exchange: Exchange) -> bool:
    """Whether a request had no token or a wrong one; also if no response came."""
    return evidence.kinds.get(exchange) in OF_TOKENS or kind_of_purpose(exchange) in OF_TOKENS


def lacks_of(evidence: Evidence, rejected: list[Exchange]) -> Iterator[Judged]:
    """For each operation of which nothing shows that it rejects such requests."""
    for is_one in (is_list, is_creation, is_deployment):
        with_token = [each for each in evidence.of(is_one) if each.is_success]
        for is_missing in (True, False):
            asked = [each for each in rejected if is_one(each) and (not each.token) == is_missing]
            lack = lack_of(asked, bool(with_token))
            if lack:
                yield lack


def lack_of(asked: list[Exchange], is_accepted: bool) -> Judged | None:
    """That these show nothing, None if they show it. `is_accepted` says whether a token helps."""
    if not asked:
        return Judged()
    last = asked[-1]
    status = last.status
    if status in NO_TOKEN:
        return None
    reason = why_nothing(last)
    if reason:
        return Judged(reason=reason, exchange=last)
    is_of_body = last.method == "POST" and (status < 400 or status in OF_A_BODY)
    if is_of_body or not is_accepted:
        return Judged(exchange=last)
    return None


PROJECTS_PART = "#/paths/~1v1~1projects"
DEPLOYMENTS_PART = "#/paths/~1v1~1deployments~1{id}"
BEARER = "#/components/securitySchemes/bearer"
STATUS = "#/components/schemas/Deployment/properties/status"
OPERATIONS: dict[str, tuple[IsOne, FailureOf, str]] = {
    PROJECTS_PART: (is_of_projects, failure_of_projects_path, "exists"),
    f"{PROJECTS_PART}/get": (is_list, failure_of_list, "success"),
    f"{PROJECTS_PART}/post": (is_creation, failure_of_creation, "success"),
    DEPLOYMENTS_PART: (is_deployment, failure_of_deployments_path, "exists"),
    f"{DEPLOYMENTS_PART}/get": (is_deployment, failure_of_deployment, "success"),
}
"""Of each operation and path the requests, what contradicts it, and what is expected."""

RULES: dict[str, Callable[[Evidence], Judged]] = {
    f"{DEPLOYMENTS_PART}/get/parameters/0": judge_id,
    BEARER: judge_bearer,
    STATUS: judge_status,
}
