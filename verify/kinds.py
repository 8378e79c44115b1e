"""Of which kind the responses of a log are."""

from .exchange import NOTHING, Exchange, Log
from .values import words_of

LIST = "list"  # kinds of responses; an error is called as in a profile
CREATE = "create"
DEPLOYMENT = "deployment"
TOKEN_MISSING = "errors/token_missing"
TOKEN_INVALID = "errors/token_invalid"
UNKNOWN_DEPLOYMENT = "errors/deployment_not_found"
UNKNOWN_PATH = "errors/not_found"

# The purposes of requests, which may end with what was in the Authorization field.
NO_SUCH_DEPLOYMENT = "unknown deployment"
NO_SUCH_PATH = "unknown path"
SOUGHT = "candidate"  # what may be a deployment: its rejection says nothing
REPEATED = "repeated"  # its response was a 429 or a 5xx, after which it was sent again
REJECTED = "rejected creation"  # after which another body, or media type, was sent
WITHOUT = " without a token"
WRONG = " with a wrong token"

OWN_MEMBER = "stubverify"  # of a creation; one word, which no other spelling changes
NAME_PREFIX = "stub-verify-"  # of what verify creates, and of what cannot exist

REJECTIONS = {
    400: "errors/invalid_body",
    409: "errors/name_taken",
    413: "errors/body_too_large",
    415: "errors/unsupported_media_type",
    422: "errors/invalid_body",
}
"""Of each status of a rejected creation, the kind."""

OTHER_METHODS = ("HEAD", "OPTIONS")  # whose responses have no body, or are not of the service

OF_PURPOSES = {
    NO_SUCH_DEPLOYMENT: UNKNOWN_DEPLOYMENT,
    NO_SUCH_PATH: UNKNOWN_PATH,
    REPEATED: "",
    REJECTED: "",
}


def kinds_of(log: Log) -> dict[Exchange, str]:
    """The kind of each exchange that says something; in a recording it follows from the request.

    A 403 is the error of a token only if no other response has accepted that.
    """
    accepted = {each.token for each in log.exchanges if each.is_success}
    found = {}
    for exchange in log.exchanges:
        if exchange.failure or exchange.status == 304 or exchange.method in OTHER_METHODS:
            continue
        is_asked = exchange.purpose != ""
        kind = kind_of_purpose(exchange) if is_asked else kind_recorded(exchange, accepted)
        if kind:
            found[exchange] = kind
    return found


def kind_of_purpose(exchange: Exchange) -> str:
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


def kind_recorded(exchange: Exchange, accepted: set[str]) -> str:
    status = exchange.status
    if status == 401 or (status == 403 and exchange.token not in accepted):
        return TOKEN_INVALID if exchange.token else TOKEN_MISSING
    if exchange.is_creation:
        is_malformed = status == 400 and exchange.body and exchange.sent_json is NOTHING
        return "errors/malformed_json" if is_malformed else REJECTIONS.get(status, CREATE)
    if exchange.is_list:
        return LIST
    if exchange.is_deployment:
        return kind_of_deployment(status)
    return {404: UNKNOWN_PATH, 405: "errors/method_not_allowed"}.get(status, "")


def kind_of_deployment(status: int) -> str:
    if status in (404, 410):
        return UNKNOWN_DEPLOYMENT
    return "" if status in (400, 422) else DEPLOYMENT


def is_own_member(name: str) -> bool:
    """Whether it is the member that verify sends itself, in any spelling."""
    return "".join(words_of(name)) == OWN_MEMBER
