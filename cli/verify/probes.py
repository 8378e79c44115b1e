"""The probes: what is asked, at which level, and what the contract says about it."""

from typing import NamedTuple

from .client import BASIC, JSON, NONE, TOKEN, WRONG

READ, WRITE, ABUSE = LEVELS = ("read", "write", "abuse")

PROJECTS = "#/paths/~1v1~1projects"
DEPLOYMENT = "#/paths/~1v1~1deployments~1{id}"
DEPLOYMENT_ID = f"{DEPLOYMENT}/get/parameters/0"
BEARER = "#/components/securitySchemes/bearer"
RESPONSES = "#/components/responses/"
SCHEMAS = "#/components/schemas/"
INPUT = SCHEMAS + "ProjectInput"
NAME = f"{INPUT}/properties/name"
NAMED = '{{"name": "{name}"}}'


class Probe(NamedTuple):
    """A request, and the response that the contract has for it.

    `expects` names a response of the contract; without one the request belongs to no part, and it
    is a note if it is rejected where the plain GET is not. `rules` are parts that hold if the
    service accepts what the contract accepts, or rejects what it rejects. `{id}` stands for a
    deployment's id, `{word}` for a random word, `{name}` for a new name, `{created}` for that of
    the created project.
    """

    name: str
    level: str
    method: str
    target: str
    expects: str = ""
    rules: tuple[str, ...] = ()
    authorization: str = TOKEN
    body: str = ""
    content_type: str = JSON

    @property
    def path(self) -> str:
        """The path of the contract that is asked, if it is one that should exist."""
        if "{id}" in self.target:
            return DEPLOYMENT
        return PROJECTS if self.target.startswith("/v1/projects") else ""


LIST = Probe(
    "list",
    READ,
    "GET",
    "/v1/projects",
    f"{PROJECTS}/get/responses/200",
    (f"{PROJECTS}/get", PROJECTS),
)
CREATE = Probe(
    "create",
    WRITE,
    "POST",
    "/v1/projects",
    f"{PROJECTS}/post/responses/201",
    (f"{PROJECTS}/post", PROJECTS, f"{PROJECTS}/post/requestBody", INPUT, NAME),
    body='{{"name": "{name}", "stub_verify": "{word}"}}',
)
GET_DEPLOYMENT = Probe(
    "deployment",
    READ,
    "GET",
    "/v1/deployments/{id}",
    f"{DEPLOYMENT}/get/responses/200",
    (f"{DEPLOYMENT}/get", DEPLOYMENT, DEPLOYMENT_ID, f"{DEPLOYMENT_ID}/schema"),
)
LISTED = LIST._replace(name="created is listed", level=WRITE)
FOLLOWED = GET_DEPLOYMENT._replace(name="created deployment", level=WRITE)
UNKNOWN_DEPLOYMENT = Probe(
    "unknown deployment",
    READ,
    "GET",
    "/v1/deployments/stub-verify-{word}",
    f"{RESPONSES}DeploymentNotFound",
)
UNKNOWN_PATH = Probe("unknown path", READ, "GET", "/v1/stub-verify-{word}", f"{RESPONSES}NotFound")


def without(probe: Probe, authorization: str, name: str, body: str = "") -> Probe:
    """An operation with another credential than the token."""
    return probe._replace(
        name=f"{probe.name}, {name}",
        expects=f"{RESPONSES}Unauthorized",
        rules=(BEARER,),
        authorization=authorization,
        body=body,
    )


def others(probe: Probe) -> tuple[Probe, ...]:
    """What else is asked at the path of a GET."""
    plain = Probe(f"{probe.name}, HEAD", READ, "HEAD", probe.target)
    query = f"{probe.target}?stub-verify={{word}}"
    return (
        plain,
        plain._replace(name=f"{probe.name}, unknown query", method="GET", target=query),
        without(probe, NONE, "no token"),
        without(probe, WRONG, "wrong token"),
        plain._replace(
            name=f"{probe.name}, OPTIONS",
            method="OPTIONS",
            expects=f"{RESPONSES}MethodNotAllowed",
        ),
    )


OTHER_LISTS = (*others(LIST), without(LIST, BASIC, "Basic"))
OTHER_DEPLOYMENTS = others(GET_DEPLOYMENT)
# The contract rejects the body: a service that looks at it first creates nothing.
OTHER_CREATIONS = (
    without(CREATE, NONE, "no token", body="{{}}"),
    without(CREATE, WRONG, "wrong token", body="{{}}"),
)


def rejected(name: str, response: str, *rules: str, body: str, content_type: str = JSON) -> Probe:
    """A body that the contract rejects with this response."""
    expects = RESPONSES + response
    return CREATE._replace(
        name=name, level=ABUSE, expects=expects, rules=rules, body=body, content_type=content_type
    )


ABUSES = (
    rejected("no JSON", "MalformedBody", body='{{"name": '),
    rejected("an array", "InvalidBody", INPUT, body="[]"),
    rejected("no name", "InvalidBody", NAME, body="{{}}"),
    rejected(
        "an id",
        "InvalidBody",
        f"{INPUT}/propertyNames",
        f"{INPUT}/propertyNames/not",
        body='{{"name": "{name}", "id": "stub-verify-{word}"}}',
    ),
    rejected("the created name again", "NameTaken", body='{{"name": "{created}"}}'),
    rejected("another content type", "UnsupportedMediaType", body=NAMED, content_type="text/plain"),
    rejected(
        "70 KiB", "BodyTooLarge", body='{{"name": "{name}", "filler": "' + "x" * 70 * 1024 + '"}}'
    ),
)
ALL = (
    LIST,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    *OTHER_LISTS,
    CREATE,
    LISTED,
    *OTHER_CREATIONS,
    GET_DEPLOYMENT,
    FOLLOWED,
    *OTHER_DEPLOYMENTS,
    *ABUSES,
)
