"""Of which kind the responses of a log are, and which of them show nothing."""

from .exchange import NOTHING, Log, ServiceExchange

LIST = "list"  # kinds of responses; an error is called as in a profile
CREATE = "create"
DEPLOYMENT = "deployment"
OPERATIONS = (LIST, CREATE, DEPLOYMENT)
TOKEN_MISSING = "errors/token_missing"
TOKEN_INVALID = "errors/token_invalid"
UNKNOWN_DEPLOYMENT = "errors/deployment_not_found"
UNKNOWN_PATH = "errors/not_found"
INVALID_BODY = "errors/invalid_body"
TOKEN_ERRORS = (TOKEN_MISSING, TOKEN_INVALID)
NO_TOKEN = (401, 403)

# The purposes of requests, which may end with what was in the Authorization field.
NO_SUCH_DEPLOYMENT = "unknown deployment"
NO_SUCH_PATH = "unknown path"
SOUGHT = "candidate"  # what may be a deployment: its rejection says nothing
REPEATED = "repeated"  # its response was a 429 or a 5xx, after which it was sent again
REJECTED = "rejected creation"  # after which another body, or media type, was sent
NAMELESS = "creation without a name"
WITHOUT = " without a token"
WRONG = " with a wrong token"

NAME_PREFIX = "stub-verify-"  # of what verify creates, and of what cannot exist

REJECTIONS = {
    400: INVALID_BODY,
    409: "errors/name_taken",
    413: "errors/body_too_large",
    415: "errors/unsupported_media_type",
    422: INVALID_BODY,
}
"""Of each status of a rejected creation, the kind."""

OTHER_METHODS = ("HEAD", "OPTIONS")  # whose responses have no body, or are not of the service

OF_PURPOSES = {
    NO_SUCH_DEPLOYMENT: UNKNOWN_DEPLOYMENT,
    NO_SUCH_PATH: UNKNOWN_PATH,
    NAMELESS: INVALID_BODY,
    REPEATED: "",
    REJECTED: "",
}


def find_kinds(log: Log) -> dict[ServiceExchange, str]:
    """The kind of each exchange that says something; in a recording it follows from the request.

    A token is a valid one if any response has accepted it, and a deployment is there if it was.
    """
    accepted = {each.token for each in log.exchanges if each.is_success}
    existing = {each.target for each in log.exchanges if each.is_deployment and each.is_success}
    found = {}
    for exchange in log.exchanges:
        if exchange.status == 304 or exchange.method in OTHER_METHODS:
            continue
        if exchange.purpose:
            kind = find_asked_kind(exchange)
        else:
            kind = find_recorded_kind(exchange, accepted, is_known=exchange.target in existing)
        if kind:
            found[exchange] = kind
    return found


def find_asked_kind(exchange: ServiceExchange) -> str:
    """The kind of what a script asked for, "" of what it sought in vain."""
    purpose = exchange.purpose
    if purpose.endswith(WITHOUT):
        return TOKEN_MISSING
    if purpose.endswith(WRONG):
        return TOKEN_INVALID
    if purpose == SOUGHT:
        return DEPLOYMENT if exchange.is_success else ""
    if purpose in OF_PURPOSES:
        return OF_PURPOSES[purpose]
    if exchange.is_creation:
        return REJECTIONS.get(exchange.status, CREATE)
    if exchange.is_list:
        return LIST
    return DEPLOYMENT


def find_recorded_kind(exchange: ServiceExchange, accepted: set[str], *, is_known: bool) -> str:
    status = exchange.status
    if status in NO_TOKEN and exchange.token not in accepted:
        return TOKEN_INVALID if exchange.token else TOKEN_MISSING
    if exchange.is_creation:
        is_malformed = status == 400 and exchange.request_body and exchange.request_json is NOTHING
        return "errors/malformed_json" if is_malformed else REJECTIONS.get(status, CREATE)
    if exchange.is_list:
        return LIST
    if exchange.is_deployment:
        return DEPLOYMENT if is_known else kind_of_unknown(status)
    return {404: UNKNOWN_PATH, 405: "errors/method_not_allowed"}.get(status, "")


def kind_of_unknown(status: int) -> str:
    if status in (404, 410):
        return UNKNOWN_DEPLOYMENT
    return "" if status in (400, 422) else DEPLOYMENT


# What shows nothing


def explain_failure(exchange: ServiceExchange, kind: str) -> str:
    """Say why a response says nothing of the service, "" if it says something: 404, for example."""
    status = exchange.status
    if exchange.failure or status == 429 or status >= 500:
        return exchange.reason
    if kind not in OPERATIONS:
        return ""
    if status in NO_TOKEN:
        return f"{status}: the token is not accepted for this"
    if not exchange.is_success or exchange.has_json:
        return ""
    if not exchange.response_body:
        is_plain = kind == CREATE and status in (201, 202, 204)
        return "" if is_plain else f"{status} without a body"
    coding = exchange.find_response_field("Content-Encoding")
    why = f", its coding is {coding}" if coding else ""
    return f"{status}, but its body is no JSON{why}"


def explain_nothing(exchange: ServiceExchange, kind: str) -> str:
    """Say why a response does not show what was asked for, "" if it does.

    Of an operation only a success does, and it is JSON; a creation may have no body.
    """
    failure = explain_failure(exchange, kind)
    is_rejected = kind in OPERATIONS and not exchange.is_success
    return failure or (exchange.reason if is_rejected else "")
