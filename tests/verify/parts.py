"""The parts of openapi.json by short names, and what a difference must be found as."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tests.verify.service import Change, Service, Write

LIST_PATH = "#/paths/~1v1~1projects"
LIST = f"{LIST_PATH}/get"
LIST_200 = f"{LIST}/responses/200"
POST = f"{LIST_PATH}/post"
BODY = f"{POST}/requestBody"
POST_201 = f"{POST}/responses/201"
DEP_PATH = "#/paths/~1v1~1deployments~1{id}"
DEP = f"{DEP_PATH}/get"
DEP_ID = f"{DEP}/parameters/0"
DEP_200 = f"{DEP}/responses/200"
BEARER = "#/components/securitySchemes/bearer"


def header(name: str) -> str:
    return f"#/components/headers/{name}"


def response(name: str) -> str:
    return f"#/components/responses/{name}"


def schema(name: str, member: str = "") -> str:
    return f"#/components/schemas/{name}" + (f"/properties/{member}" if member else "")


CACHE, WWW, ALLOW = map(header, ("Cache-Control", "WWW-Authenticate", "Allow"))
UNAUTHORIZED, DEP_404, UNKNOWN, METHOD, MALFORMED, TAKEN, LARGE, MEDIA, INVALID = map(
    response,
    (
        "Unauthorized",
        "DeploymentNotFound",
        "NotFound",
        "MethodNotAllowed",
        "MalformedBody",
        "NameTaken",
        "BodyTooLarge",
        "UnsupportedMediaType",
        "InvalidBody",
    ),
)
RESPONSES = (UNAUTHORIZED, DEP_404, UNKNOWN, METHOD, MALFORMED, TAKEN, LARGE, MEDIA, INVALID)
PROJECTS, ITEMS = schema("ProjectList"), schema("ProjectList", "projects")
LISTS = (LIST, LIST_200, PROJECTS, ITEMS)
PROJECT = schema("Project")
ID, NAME, CREATED, LATEST = (
    schema("Project", each) for each in ("id", "name", "created_at", "latest_deployment_id")
)
MEMBERS = (ID, NAME, CREATED, LATEST)
INPUT, INPUT_NAME = schema("ProjectInput"), schema("ProjectInput", "name")
NAMES, NOT = f"{INPUT}/propertyNames", f"{INPUT}/propertyNames/not"
DEPLOYMENT = schema("Deployment")
DID, OWNER, STATUS, DCREATED = (
    schema("Deployment", each) for each in ("id", "project_id", "status", "created_at")
)
OWNER_TEXT, OWNER_NULL = f"{OWNER}/anyOf/0", f"{OWNER}/anyOf/1"
PROBLEM = schema("Problem")
TYPE, TITLE, PSTATUS, DETAIL, CODE, ERRORS = (
    schema("Problem", each) for each in ("type", "title", "status", "detail", "code", "errors")
)
FIELD = schema("FieldError")
POINTER, FIELD_DETAIL = schema("FieldError", "pointer"), schema("FieldError", "detail")

Finding = tuple[str, str]
"""A part and its verdict."""


class Difference(NamedTuple):
    """A way in which a service differs, and what `verify` has to find: this and nothing else."""

    name: str
    level: str  # read, write or abuse
    findings: frozenset[Finding]
    service: Callable[[], Service]
    wait: str  # seconds for what is created to appear: few where it never does


def broken(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "broken") for part in parts)


def differs(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "differs") for part in parts)


def unstable(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "unstable") for part in parts)


def unchecked(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "could not check") for part in parts)


NOTHING: frozenset[Finding] = frozenset()


def difference(
    name: str,
    level: str,
    findings: frozenset[Finding],
    *changes: Change,
    write: Write | None = None,
    wait: str = "30",
    **rules: Any,
) -> Difference:
    service = partial(Service, *changes, write=write, **rules)
    return Difference(name, level, findings, service, wait)
