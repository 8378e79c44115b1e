"""The probes: what is asked, at which level, and what the contract says about it."""

from typing import NamedTuple

from web.routing import CREATED

READ, WRITE, ABUSE = LEVELS = ("read", "write", "abuse")
# What a request has in its Authorization header.
TOKEN, WRONG, NONE = "token", "wrong token", "no token"

PROJECTS = "#/paths/~1v1~1projects"
DEPLOYMENT = "#/paths/~1v1~1deployments~1{id}"
DEPLOYMENT_ID = f"{DEPLOYMENT}/get/parameters/0"
BEARER = "#/components/securitySchemes/bearer"
RESPONSES = "#/components/responses/"
SCHEMAS = "#/components/schemas/"
INPUT = SCHEMAS + "ProjectInput"
NAME, NAMES = f"{INPUT}/properties/name", f"{INPUT}/propertyNames"
INVALID_BODY = f"{RESPONSES}InvalidBody"

# What a probe may need, and the reason why it is not asked without.
NEEDS = {
    WRITE: "needs --write",
    ABUSE: "needs --write --abuse",
    "listed": "no listed project has a latest_deployment_id",
    "created": "no project was created",
    "followed": "no created project has a latest_deployment_id",
}


class Probe(NamedTuple):
    """A request, and the response that the contract has for it.

    `expects` names a response of the contract, which has the `status`. `rules` are parts that hold
    if the service accepts what the contract accepts, or rejects what it rejects.
    `{word}` stands for a random word, `{name}` for a new name, the others for what an earlier
    response says. `needs` names such a one of `NEEDS` without which the probe is not asked.
    """

    name: str
    level: str
    method: str
    target: str
    path: str = ""  # of the contract, if it is one that should exist
    status: int = 0
    expects: str = ""
    rules: tuple[str, ...] = ()
    authorization: str = TOKEN
    body: str = ""
    content_type: str = ""
    needs: str = ""


LIST = Probe(
    *("list", READ, "GET", "/v1/projects", PROJECTS, 200, f"{PROJECTS}/get/responses/200"),
    rules=(f"{PROJECTS}/get", PROJECTS),
)
CREATE = Probe(
    *(
        "create",
        WRITE,
        "POST",
        "/v1/projects",
        PROJECTS,
        CREATED,
        f"{PROJECTS}/post/responses/{CREATED}",
    ),
    rules=(f"{PROJECTS}/post", PROJECTS, f"{PROJECTS}/post/requestBody", INPUT, NAME),
    body='{{"name": "{name}", "stubverify": "{word}"}}',
    content_type="application/json",
)
CREATE_BY_NAME = CREATE._replace(body='{{"name": "{name}"}}')  # where others are rejected
GET_DEPLOYMENT = Probe(
    *("deployment", READ, "GET", "/v1/deployments/{listed}", DEPLOYMENT),
    *(200, f"{DEPLOYMENT}/get/responses/200"),
    rules=(f"{DEPLOYMENT}/get", DEPLOYMENT, DEPLOYMENT_ID, f"{DEPLOYMENT_ID}/schema"),
    needs="listed",
)
LISTED = LIST._replace(name="created is listed", level=WRITE, needs="created")
FOLLOWED = GET_DEPLOYMENT._replace(
    name="created deployment", level=WRITE, target="/v1/deployments/{followed}", needs="followed"
)
UNKNOWN_DEPLOYMENT = Probe(
    *("unknown deployment", READ, "GET", "/v1/deployments/stub-verify-{word}"),
    *("", 404, f"{RESPONSES}DeploymentNotFound"),
)
UNKNOWN_PATH = Probe(
    *("unknown path", READ, "GET", "/v1/stub-verify-{word}", "", 404, f"{RESPONSES}NotFound"),
)


def without(probe: Probe, authorization: str) -> Probe:
    """An operation with another credential than the token.

    The contract rejects the body: a service that looks at it first creates nothing.
    """
    name, body = f"{probe.name}, {authorization}", "{{}}" if probe.body else ""
    changed = probe._replace(name=name, body=body, authorization=authorization)
    return changed._replace(status=401, expects=f"{RESPONSES}Unauthorized", rules=(BEARER,))


def others(probe: Probe) -> tuple[Probe, ...]:
    """What else is asked at the path of a GET."""
    options = probe._replace(name=f"{probe.name}, OPTIONS", method="OPTIONS", rules=())
    not_allowed = options._replace(status=405, expects=f"{RESPONSES}MethodNotAllowed")
    return without(probe, NONE), without(probe, WRONG), not_allowed


def rejected(name: str, status: int, response: str, body: str, *rules: str) -> Probe:
    """A body that the contract rejects with this response."""
    probe = CREATE._replace(name=name, level=ABUSE, body=body, needs="created")
    return probe._replace(status=status, expects=RESPONSES + response, rules=rules)


AN_ID = '{{"name": "{name}", "id": "stub-verify-{word}"}}'
LARGE = '{{"name": "{name}", "filler": "' + "x" * 70 * 1024 + '"}}'
OF_TEXT = rejected("another content type", 415, "UnsupportedMediaType", CREATE_BY_NAME.body)
# In the order in which they are asked.
ALL = (
    LIST,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    *others(LIST),
    CREATE,
    FOLLOWED,  # at once, as a list may not have the project, or not yet
    LISTED,
    without(CREATE, NONE),
    without(CREATE, WRONG),
    GET_DEPLOYMENT,
    *others(GET_DEPLOYMENT),
    rejected("no JSON", 400, "MalformedBody", '{{"name": '),
    rejected("an array", 422, "InvalidBody", "[]", INPUT),
    rejected("no name", 422, "InvalidBody", "{{}}", NAME),
    rejected("an id", 422, "InvalidBody", AN_ID, NAMES, f"{NAMES}/not"),
    rejected("the created name again", 409, "NameTaken", '{{"name": "{created}"}}'),
    OF_TEXT._replace(content_type="text/plain"),
    rejected("70 KiB", 413, "BodyTooLarge", LARGE),
)
