"""The kinds of responses, the purposes of requests, and why a response shows nothing.

The purpose says why the script sent a request. It is "" in a recording. The operation follows from
the method and the path, and the kind from the whole exchange. Typical exchanges of the script:

| request and status          | purpose                 | operation  | kind                        |
| --------------------------- | ----------------------- | ---------- | --------------------------- |
| GET the list: 200           | list                    | list       | list                        |
| GET the list: 500           | list                    | list       | list                        |
| GET the list, no token: 401 | list without a token    | list       | errors/token_missing        |
| POST {"name": "shop"}: 201  | create                  | create     | create                      |
| POST {}: 422                | creation without a name | create     | errors/invalid_body         |
| GET a deployment: 200       | deployment              | deployment | deployment                  |
| GET no deployment: 404      | unknown deployment      | deployment | errors/deployment_not_found |
| GET a candidate: 404        | candidate               | deployment | none, it shows nothing      |
| GET no path: 404            | unknown path            | none       | errors/not_found            |
"""

from collections import defaultdict

from . import candidates
from .service_log import NOTHING, Log, ServiceExchange

# Kinds of responses. An error has the name that it has in a profile.
LIST = "list"
CREATE = "create"
DEPLOYMENT = "deployment"
OPERATIONS = (LIST, CREATE, DEPLOYMENT)
TOKEN_MISSING = "errors/token_missing"
TOKEN_INVALID = "errors/token_invalid"
TOKEN_ERRORS = (TOKEN_MISSING, TOKEN_INVALID)
UNKNOWN_DEPLOYMENT = "errors/deployment_not_found"
UNKNOWN_PATH = "errors/not_found"
INVALID_BODY = "errors/invalid_body"

# Purposes of requests beside the operations.
NO_SUCH_DEPLOYMENT = "unknown deployment"
NO_SUCH_PATH = "unknown path"
SOUGHT = "candidate"  # The id may be that of a deployment. A rejection shows nothing.
REPEATED = "repeated"  # The response was 429 or 5xx, and the request was sent again.
REJECTED = "rejected creation"  # The creation was sent again with another media type.
NAMELESS = "creation without a name"

# Ends of purposes, for the field Authorization of the request.
WITHOUT = " without a token"
WRONG = " with a wrong token"

NO_TOKEN = (401, 403)
NAME_PREFIX = "stub-verify-"
"""The prefix of the names of created projects, and of ids and paths that cannot exist."""

REJECTIONS = {
    400: INVALID_BODY,
    409: "errors/name_taken",
    413: "errors/body_too_large",
    415: "errors/unsupported_media_type",
    422: INVALID_BODY,
}
"""The kinds of rejected creations by the status."""


def name_operation(exchange: ServiceExchange) -> str:
    """Name the operation of a request: `list`, or "" for another request."""
    if exchange.is_list:
        return LIST
    if exchange.is_creation:
        return CREATE
    return DEPLOYMENT if exchange.is_deployment else ""


def find_kinds(log: Log) -> dict[ServiceExchange, str]:
    """Find the kinds of the responses. A response without a kind is left out.

    In a recording the kind follows from the request. A token is valid if a response accepted it;
    a deployment exists if it was read, or if a creation named it and nothing was changed since.
    """
    successes = [exchange for exchange in log.exchanges if exchange.is_success]
    tokens = {exchange.token for exchange in successes}
    existing = {exchange.deployment_id for exchange in successes if exchange.is_deployment}
    for creation in log.creations:
        if not creation.purpose and not log.has_change_after(creation):
            location = creation.find_response_field("Location") or ""
            named = candidates.find_in_bodies([creation.body], location, None)
            existing |= {each.id for each in named if each.is_named}
    found = {}
    for exchange in log.exchanges:
        # HEAD has no body, and OPTIONS may be of a proxy.
        if exchange.status == 304 or exchange.method in ("HEAD", "OPTIONS"):
            continue
        if exchange.purpose:
            kind = find_asked_kind(exchange)
        else:
            is_known = exchange.deployment_id in existing
            kind = find_recorded_kind(exchange, tokens, is_known=is_known)
        if kind:
            found[exchange] = kind
    return found


def group_by_kind(log: Log) -> dict[str, list[ServiceExchange]]:
    """Group the responses of a log by their kinds: `{"list": […], "errors/not_found": […]}`."""
    groups: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange, kind in find_kinds(log).items():
        groups[kind].append(exchange)
    return groups


def find_asked_kind(exchange: ServiceExchange) -> str:
    """Find the kind of a response to the script: `list`, or "" if it shows nothing."""
    purpose = exchange.purpose
    if purpose.endswith(WITHOUT):
        return TOKEN_MISSING
    if purpose.endswith(WRONG):
        return TOKEN_INVALID
    if purpose in (REPEATED, REJECTED):
        return ""
    if purpose == NAMELESS:
        return INVALID_BODY
    if purpose == NO_SUCH_PATH:
        return UNKNOWN_PATH
    if purpose == NO_SUCH_DEPLOYMENT:
        return UNKNOWN_DEPLOYMENT
    if purpose == SOUGHT:
        return DEPLOYMENT if exchange.is_success else ""
    if exchange.is_creation:
        return REJECTIONS.get(exchange.status, CREATE)
    return LIST if exchange.is_list else DEPLOYMENT


def find_recorded_kind(exchange: ServiceExchange, tokens: set[str], *, is_known: bool) -> str:
    """Find the kind of a recorded response: `errors/not_found`, or "" if it shows nothing.

    `tokens` are valid. `is_known` says that the deployment exists.
    """
    status = exchange.status
    # Some services reject a list without a valid token with another status, such as 400.
    is_rejected_list = exchange.is_list and tokens and 400 <= status < 429
    if (status in NO_TOKEN or is_rejected_list) and exchange.token not in tokens:
        return TOKEN_INVALID if exchange.token else TOKEN_MISSING
    if exchange.is_creation:
        is_malformed = exchange.request_body and exchange.request_json is NOTHING
        if status == 400 and is_malformed:
            return "errors/malformed_json"
        return REJECTIONS.get(status, CREATE)
    if exchange.is_list:
        return LIST
    if exchange.is_deployment:
        if is_known:
            return DEPLOYMENT
        if status in (404, 410):
            return UNKNOWN_DEPLOYMENT
        return "" if status in (400, 422) else DEPLOYMENT
    return {404: UNKNOWN_PATH, 405: "errors/method_not_allowed"}.get(status, "")


# Responses that show nothing
#
# Both functions return a reason, or "" for a response that can be used.


def find_failure(exchange: ServiceExchange, kind: str) -> str:
    """Find the reason why a response shows nothing: `200 without a body`.

    A rejection, such as 404, shows something.
    """
    status = exchange.status
    if exchange.failure or status == 429 or status >= 500:
        return exchange.reason
    if kind not in OPERATIONS:
        return ""
    if status in NO_TOKEN:
        return f"{status}: the token is not accepted for this"
    if not exchange.is_success or exchange.has_json:
        return ""
    if exchange.response_body:
        coding = f", its coding is {exchange.coding}" if exchange.coding else ""
        return f"{status}, but its body is not JSON{coding}"
    is_complete = kind == CREATE and status in (201, 202, 204)
    return "" if is_complete else f"{status} without a body"


def find_defect(exchange: ServiceExchange, kind: str) -> str:
    """Find the reason why a response does not show an operation: `404`.

    A success shows it. Its body is JSON; that of a creation may be empty.
    """
    failure = find_failure(exchange, kind)
    if failure:
        return failure
    is_rejected = kind in OPERATIONS and not exchange.is_success
    return exchange.reason if is_rejected else ""
