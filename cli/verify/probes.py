"""The probes: what is asked, at which level, and what the contract says about it."""

from typing import NamedTuple

READ, WRITE, ABUSE = LEVELS = ("read", "write", "abuse")
# What a request has in its Authorization header.
TOKEN, WRONG, BASIC, NONE = "the token", "a wrong token", "Basic", "nothing"

PROJECTS = "#/paths/~1v1~1projects"
DEPLOYMENT = "#/paths/~1v1~1deployments~1{id}"
DEPLOYMENT_ID = f"{DEPLOYMENT}/get/parameters/0"
BEARER = "#/components/securitySchemes/bearer"
RESPONSES = "#/components/responses/"
SCHEMAS = "#/components/schemas/"
INPUT = SCHEMAS + "ProjectInput"
NAME = f"{INPUT}/properties/name"
INVALID_BODY = f"{RESPONSES}InvalidBody"

# What a probe may need, and the reason why it is not asked without.
NEEDS = {
    "listed": "no listed project has a deployment",
    "created": "no project was created",
    "followed": "no created project has a deployment",
}


class Probe(NamedTuple):
    """A request, and the response that the contract has for it.

    `expects` names a response of the contract, which has the `status`; without one the request
    belongs to no part, and it is a note if it is rejected where the plain GET is not. `rules` are
    parts that hold if the service accepts what the contract accepts, or rejects what it rejects.
    `{word}` stands for a random word, `{name}` for a new name, the others for what an earlier
    response says. `needs` names such a one of `NEEDS` without which the probe is not asked.
    """

    name: str
    level: str
    method: str
    target: str
    status: int = 0
    expects: str = ""
    rules: tuple[str, ...] = ()
    authorization: str = TOKEN
    body: str = ""
    content_type: str = ""
    needs: str = ""
    path: str = ""  # of the contract, if it is one that should exist


LIST = Probe(
    *("list", READ, "GET", "/v1/projects"),
    status=200,
    expects=f"{PROJECTS}/get/responses/200",
    rules=(f"{PROJECTS}/get", PROJECTS),
    path=PROJECTS,
)
CREATE = Probe(
    *("create", WRITE, "POST", "/v1/projects"),
    status=201,
    expects=f"{PROJECTS}/post/responses/201",
    rules=(f"{PROJECTS}/post", PROJECTS, f"{PROJECTS}/post/requestBody", INPUT, NAME),
    body='{{"name": "{name}", "stub_verify": "{word}"}}',
    content_type="application/json",
    path=PROJECTS,
)
# For a service that rejects members which it does not know.
CREATE_BY_NAME = CREATE._replace(body='{{"name": "{name}"}}')
GET_DEPLOYMENT = Probe(
    *("deployment", READ, "GET", "/v1/deployments/{listed}"),
    status=200,
    expects=f"{DEPLOYMENT}/get/responses/200",
    rules=(f"{DEPLOYMENT}/get", DEPLOYMENT, DEPLOYMENT_ID, f"{DEPLOYMENT_ID}/schema"),
    needs="listed",
    path=DEPLOYMENT,
)
LISTED = LIST._replace(name="created is listed", level=WRITE, needs="created")
FOLLOWED = GET_DEPLOYMENT._replace(
    name="created deployment", level=WRITE, target="/v1/deployments/{followed}", needs="followed"
)
UNKNOWN_DEPLOYMENT = Probe(
    *("unknown deployment", READ, "GET", "/v1/deployments/stub-verify-{word}"),
    *(404, f"{RESPONSES}DeploymentNotFound"),
)
UNKNOWN_PATH = Probe(
    *("unknown path", READ, "GET", "/v1/stub-verify-{word}"),
    *(404, f"{RESPONSES}NotFound"),
)


def without(probe: Probe, authorization: str, name: str) -> Probe:
    """An operation with another credential than the token.

    The contract rejects the body: a service that looks at it first creates nothing.
    """
    return probe._replace(
        name=f"{probe.name}, {name}",
        status=401,
        expects=f"{RESPONSES}Unauthorized",
        rules=(BEARER,),
        authorization=authorization,
        body="{{}}" if probe.body else "",
    )


def others(probe: Probe) -> tuple[Probe, ...]:
    """What else is asked at the path of a GET."""
    plain = probe._replace(
        name=f"{probe.name}, HEAD", method="HEAD", status=0, expects="", rules=()
    )
    query = f"{probe.target}?stub-verify={{word}}"
    return (
        plain,
        plain._replace(name=f"{probe.name}, unknown query", method="GET", target=query),
        without(probe, NONE, "no token"),
        without(probe, WRONG, "wrong token"),
        plain._replace(
            name=f"{probe.name}, OPTIONS",
            method="OPTIONS",
            status=405,
            expects=f"{RESPONSES}MethodNotAllowed",
        ),
    )


def rejected(name: str, status: int, response: str, body: str, *rules: str) -> Probe:
    """A body that the contract rejects with this response."""
    return CREATE._replace(
        name=name,
        level=ABUSE,
        status=status,
        expects=RESPONSES + response,
        rules=rules,
        body=body,
        needs="created",
    )


OTHER_LISTS = (*others(LIST), without(LIST, BASIC, "Basic"))
OTHER_DEPLOYMENTS = others(GET_DEPLOYMENT)
OTHER_CREATIONS = (without(CREATE, NONE, "no token"), without(CREATE, WRONG, "wrong token"))
AN_ID = '{{"name": "{name}", "id": "stub-verify-{word}"}}'
LARGE = '{{"name": "{name}", "filler": "' + "x" * 70 * 1024 + '"}}'
NOT_OF_CLIENTS = (f"{INPUT}/propertyNames", f"{INPUT}/propertyNames/not")
ABUSES = (
    rejected("no JSON", 400, "MalformedBody", '{{"name": '),
    rejected("an array", 422, "InvalidBody", "[]", INPUT),
    rejected("no name", 422, "InvalidBody", "{{}}", NAME),
    rejected("an id", 422, "InvalidBody", AN_ID, *NOT_OF_CLIENTS),
    rejected("the created name again", 409, "NameTaken", '{{"name": "{created}"}}'),
    rejected("another content type", 415, "UnsupportedMediaType", '{{"name": "{name}"}}')._replace(
        content_type="text/plain"
    ),
    rejected("70 KiB", 413, "BodyTooLarge", LARGE),
)
ALL = (
    *(LIST, UNKNOWN_DEPLOYMENT, UNKNOWN_PATH, *OTHER_LISTS),
    *(CREATE, LISTED, FOLLOWED, *OTHER_CREATIONS),
    *(GET_DEPLOYMENT, *OTHER_DEPLOYMENTS, *ABUSES),
)
