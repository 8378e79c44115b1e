"""The parts of openapi.json by short names, and what a difference must be found as."""

from typing import Any, NamedTuple

from tests.verify.service import Change, Service, Write

LIST_PATH = "#/paths/~1v1~1projects"
LIST, POST = f"{LIST_PATH}/get", f"{LIST_PATH}/post"
LIST_200, POST_201 = f"{LIST}/responses/200", f"{POST}/responses/201"
BODY = f"{POST}/requestBody"
DEP_PATH = "#/paths/~1v1~1deployments~1{id}"
DEP = f"{DEP_PATH}/get"
DEP_ID, DEP_200 = f"{DEP}/parameters/0", f"{DEP}/responses/200"
BEARER = "#/components/securitySchemes/bearer"


def header(name: str) -> str:
    return f"#/components/headers/{name}"


def response(name: str) -> str:
    return f"#/components/responses/{name}"


def schema(name: str, member: str = "") -> str:
    return f"#/components/schemas/{name}" + (f"/properties/{member}" if member else "")


CACHE, WWW, ALLOW = map(header, ("Cache-Control", "WWW-Authenticate", "Allow"))
UNAUTHORIZED, DEP_404, UNKNOWN = map(response, ("Unauthorized", "DeploymentNotFound", "NotFound"))
METHOD, MALFORMED, TAKEN = map(response, ("MethodNotAllowed", "MalformedBody", "NameTaken"))
LARGE, INVALID, MEDIA = map(response, ("BodyTooLarge", "InvalidBody", "UnsupportedMediaType"))
PROJECTS, ITEMS = schema("ProjectList"), schema("ProjectList", "projects")
PROJECT, ID, NAME = schema("Project"), schema("Project", "id"), schema("Project", "name")
CREATED, LATEST = schema("Project", "created_at"), schema("Project", "latest_deployment_id")
MEMBERS = (ID, NAME, CREATED, LATEST)
INPUT, INPUT_NAME = schema("ProjectInput"), schema("ProjectInput", "name")
NAMES, NOT = f"{INPUT}/propertyNames", f"{INPUT}/propertyNames/not"
DEPLOYMENT, OWNER = schema("Deployment"), schema("Deployment", "project_id")
DID, STATUS = schema("Deployment", "id"), schema("Deployment", "status")
DCREATED = schema("Deployment", "created_at")
PROBLEM = schema("Problem")
IN_A_PROBLEM = ("type", "title", "status", "detail", "code")
TYPE, TITLE, PSTATUS, DETAIL, CODE = (schema("Problem", each) for each in IN_A_PROBLEM)
ERRORS, FIELD = schema("Problem", "errors"), schema("FieldError")
POINTER, FIELD_DETAIL = schema("FieldError", "pointer"), schema("FieldError", "detail")

Finding = tuple[str, str]
"""A part and its verdict."""


class Difference(NamedTuple):
    """A way in which a service differs, and what `verify` has to find: this and nothing else."""

    name: str
    level: str  # read, write or abuse
    findings: frozenset[Finding]
    changes: tuple[Change, ...]
    write: Write | None
    rules: dict[str, Any]

    def service(self) -> Service:
        return Service(*self.changes, write=self.write, **self.rules)


def broken(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "broken") for part in parts)


def differs(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "differs") for part in parts)


def unchecked(*parts: str) -> frozenset[Finding]:
    return frozenset((part, "could not check") for part in parts)


NOTHING: frozenset[Finding] = frozenset()
NO_LIST = unchecked(LIST, LIST_200, PROJECTS, ITEMS, PROJECT, *MEMBERS)
NO_CREATION = unchecked(POST, BODY, POST_201, INPUT, INPUT_NAME)


def read(
    name: str,
    findings: frozenset[Finding],
    *changes: Change,
    level: str = "read",
    write: Write | None = None,
    **rules: Any,
) -> Difference:
    return Difference(name, level, findings, changes, write, rules)


def written(name: str, findings: frozenset[Finding], *changes: Change, **more: Any) -> Difference:
    return read(name, findings, *changes, level="write", **more)


def abused(name: str, findings: frozenset[Finding], *changes: Change, **more: Any) -> Difference:
    return read(name, findings, *changes, level="abuse", **more)
