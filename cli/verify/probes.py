"""The probes: what is asked, at which level, and what the contract says about it."""

from typing import NamedTuple

from .service import JSON

READ, WRITE, ABUSE = LEVELS = ("read", "write", "abuse")
TOKEN = ""  # the credential of the run
BASIC = "Basic c3R1YjpzdHVi"  # nobody's

PROJECTS = "#/paths/~1v1~1projects"
DEPLOYMENT = "#/paths/~1v1~1deployments~1{id}"
BEARER = "#/components/securitySchemes/bearer"
RESPONSES = "#/components/responses/"
SCHEMAS = "#/components/schemas/"
INPUT = SCHEMAS + "ProjectInput"


class Probe(NamedTuple):
    """A request, which is sent twice, and the response that the contract has for it.

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
    authorization: str | None = TOKEN
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
    (f"{PROJECTS}/get", BEARER, PROJECTS),
)
UNKNOWN_DEPLOYMENT = Probe(
    "unknown deployment",
    READ,
    "GET",
    "/v1/deployments/stub-verify-{word}",
    f"{RESPONSES}DeploymentNotFound",
)
UNKNOWN_PATH = Probe("unknown path", READ, "GET", "/v1/stub-verify-{word}", f"{RESPONSES}NotFound")
NO_TOKEN = Probe(
    "list, no token",
    READ,
    "GET",
    "/v1/projects",
    f"{RESPONSES}Unauthorized",
    (BEARER,),
    authorization=None,
)
OTHER_LISTS = (
    Probe("list, HEAD", READ, "HEAD", "/v1/projects"),
    Probe("list, unknown query", READ, "GET", "/v1/projects?stub-verify={word}"),
    NO_TOKEN,
    NO_TOKEN._replace(name="list, Basic", authorization=BASIC),
    Probe("list, OPTIONS", READ, "OPTIONS", "/v1/projects", f"{RESPONSES}MethodNotAllowed"),
)
CREATE = Probe(
    "create",
    WRITE,
    "POST",
    "/v1/projects",
    f"{PROJECTS}/post/responses/201",
    (
        f"{PROJECTS}/post",
        PROJECTS,
        f"{PROJECTS}/post/requestBody",
        INPUT,
        f"{INPUT}/properties/name",
    ),
    body='{{"name": "{name}", "stub_verify": "{word}"}}',
)
LISTED = LIST._replace(name="created is listed", level=WRITE)
GET_DEPLOYMENT = Probe(
    "deployment",
    READ,
    "GET",
    "/v1/deployments/{id}",
    f"{DEPLOYMENT}/get/responses/200",
    (
        f"{DEPLOYMENT}/get",
        DEPLOYMENT,
        BEARER,
        f"{DEPLOYMENT}/get/parameters/0",
        f"{DEPLOYMENT}/get/parameters/0/schema",
    ),
)
FOLLOWED = GET_DEPLOYMENT._replace(name="created deployment", level=WRITE)
OTHER_DEPLOYMENTS = (
    Probe("deployment, HEAD", READ, "HEAD", "/v1/deployments/{id}"),
    Probe("deployment, unknown query", READ, "GET", "/v1/deployments/{id}?stub-verify={word}"),
    NO_TOKEN._replace(name="deployment, no token", target="/v1/deployments/{id}"),
    Probe(
        "deployment, OPTIONS",
        READ,
        "OPTIONS",
        "/v1/deployments/{id}",
        f"{RESPONSES}MethodNotAllowed",
    ),
)


def rejected(name: str, response: str, *rules: str, body: str, content_type: str = JSON) -> Probe:
    """A body that the contract rejects with this response."""
    return Probe(
        name,
        ABUSE,
        "POST",
        "/v1/projects",
        RESPONSES + response,
        rules,
        body=body,
        content_type=content_type,
    )


NAME = f"{INPUT}/properties/name"
NAMED = '{{"name": "{name}"}}'
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
    GET_DEPLOYMENT,
    FOLLOWED,
    *OTHER_DEPLOYMENTS,
    *ABUSES,
)
