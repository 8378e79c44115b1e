"""What a service may have that openapi.json has not, one row for each part and verdict.

A member or a header that is missing is found at itself, a wrong type too, the rest at the part
that states it; what follows from a difference is no other one.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tests import contract
from tests.verify.conftest import Change, Response, Service, problem
from verify.seen.service_log import ServiceExchange

LIST_PATH, DEP_PATH = "#/paths/~1v1~1projects", "#/paths/~1v1~1deployments~1{id}"
LIST, POST, DEP = f"{LIST_PATH}/get", f"{LIST_PATH}/post", f"{DEP_PATH}/get"
LIST_200, POST_201 = f"{LIST}/responses/200", f"{POST}/responses/{contract.CREATED}"
BODY, DEP_ID = f"{POST}/requestBody", f"{DEP}/parameters/0"
BEARER = "#/components/securitySchemes/bearer"


def response(*names: str) -> list[str]:
    return [f"#/components/responses/{name}" for name in names]


def schema(name: str, *members: str) -> list[str]:
    """A schema, and members of it."""
    at = f"#/components/schemas/{name}"
    return [at, *(f"{at}/properties/{each}" for each in members)]


CACHE, WWW = (f"#/components/headers/{name}" for name in ("Cache-Control", "WWW-Authenticate"))
UNAUTHORIZED, DEP_404, UNKNOWN = response("Unauthorized", "DeploymentNotFound", "NotFound")
TAKEN, INVALID = response("NameTaken", "InvalidBody")
PROJECTS, ITEMS = schema("ProjectList", "projects")
PROJECT, *MEMBERS = schema("Project", "id", "name", "created_at", "latest_deployment_id")
ID, NAME, CREATED, LATEST = MEMBERS
INPUT, INPUT_NAME = schema("ProjectInput", "name")
DEPLOYMENT, *_ = schema("Deployment")
_, DID, OWNER, STATUS, DCREATED = schema("Deployment", "id", "project_id", "status", "created_at")
IN_A_PROBLEM = ("type", "title", "status", "detail", "code")
FIELD_ERROR = schema("FieldError", "pointer", "detail")
PROBLEM, *PROBLEM_MEMBERS, ERRORS = schema("Problem", *IN_A_PROBLEM, "errors")

JSON, HTML = "application/json", "text/html; charset=utf-8"
ALL_ERRORS = ("anonymous", "unauthorized", "unknown", "no deployment", "media type", "invalid")
Edit = Callable[[Any], Any]


def on(
    *cases: str,
    status: int = 0,
    headers: dict[str, str | None] | None = None,
    body: Edit | None = None,
    raw: bytes | None = None,
    failure: str = "",
    has: Callable[[ServiceExchange], bool] = lambda _: True,
) -> Change:
    """A change of the responses of these cases, or of all, of requests for which `has` is true.

    A header of None is left out.
    """

    def change(response: Response, request: ServiceExchange, number: int) -> None:
        if (cases and response.case not in cases) or not has(request):
            return
        content = response.body
        if status and isinstance(content, dict) and content.get("status") == response.status:
            content["status"] = status
        if status >= 400 > response.status:
            response.body = problem("", status).body
            response.headers["Content-Type"] = "application/problem+json"
        response.status = status or response.status
        response.raw = response.raw if raw is None else raw
        response.failure = failure or response.failure
        response.headers.update(headers or {})
        if body:
            response.body = body(response.body)

    return change


def first(times: int, change: Change) -> Change:
    """A change of the first responses of each case."""
    return lambda response, request, number: (
        change(response, request, number) if number < times else None
    )


def on_list(edit: Edit) -> Change:
    """A change of the array in the list."""
    return on("list", body=put(projects=edit))


def on_listed(edit: Edit) -> Change:
    return on_list(lambda projects: [edit(each) for each in projects])


def on_projects(edit: Edit) -> Change:
    """A change of each project, listed or created."""

    def change(*response: Any) -> None:
        on_listed(edit)(*response)
        on("created", body=edit)(*response)

    return change


def on_deployment(edit: Edit) -> Change:
    return on("deployment", body=edit)


def on_errors(edit: Edit) -> Change:
    return on(*ALL_ERRORS, body=edit)


def to_post(status: int) -> Change:
    """The response to a POST that is rejected for its token."""
    return on("anonymous", "unauthorized", status=status, has=lambda each: each.method == "POST")


def without(*names: str) -> Edit:
    return lambda body: {name: each for name, each in body.items() if name not in names}


def put(**members: Any) -> Edit:
    """Members that take the place of others, or a function of their value."""

    def edit(body: Any) -> Any:
        made = {name: each(body.get(name)) for name, each in members.items() if callable(each)}
        return {**body, **members, **made}

    return edit


Findings = set[tuple[str, str]]  # parts, and their verdicts


class Difference(NamedTuple):
    """A way in which a service differs, and what `verify` has to find: this and nothing else."""

    name: str
    level: str  # read or write
    findings: Findings
    service: Service


def difference(
    level: str, name: str, findings: Findings, *changes: Change, **more: Any
) -> Difference:
    return Difference(name, level, findings, Service(*changes, **more))


def found(verdict: str, *parts: str) -> Findings:
    return {(part, verdict) for part in parts}


read, write = (partial(difference, level) for level in ("read", "write"))
broken, differs = partial(found, "broken"), partial(found, "differs")
unchecked = partial(found, "could not check")
NOTHING: Findings = set()
NO_LIST = unchecked(LIST, LIST_200, PROJECTS, ITEMS)
NO_POST = unchecked(POST, BODY, POST_201, INPUT, INPUT_NAME)
ANOTHER = {"id": "d-1", "status": "queued", "project_id": None, "created_at": "2026-01-05"}
AWAY: dict[str, str | None] = {"Location": "https://a.example/"}
DIFFERENCES = [
    # The list.
    read("other statuses", differs(LIST_200, UNAUTHORIZED, UNKNOWN),
         on("list", status=203), on("anonymous", status=404), on("unknown", status=410)),
    read("list 410", broken(LIST), on("list", status=410)),
    read("list 404", broken(LIST, LIST_PATH), on("list", status=404)),
    write("list 401", NO_LIST, on("list", status=401)),
    read("list moved", broken(LIST_PATH), on("list", status=308, headers=AWAY, raw=b"")),
    read("a list and a 404 of HTML", differs(LIST_200, UNKNOWN),
         on("list", headers={"Content-Type": HTML}),
         on("unknown", headers={"Content-Type": HTML}, raw=b"<")),
    write("list is no JSON", NO_LIST, on("list", raw=b"{'projects'")),
    read("an array, and a deployment in one", differs(PROJECTS, DEPLOYMENT) | broken(STATUS),
         on("list", body=lambda body: body["projects"]), on_deployment(lambda body: [body])),
    read("envelopes", differs(ITEMS, DEPLOYMENT),
         on("list", "deployment", body=lambda body: {"data": body})),
    write("projects null once", differs(ITEMS), first(1, on_list(lambda _: None))),
    read("projects are ids", differs(PROJECT), on_list(lambda all_: [each["id"] for each in all_])),
    write("never listed", differs(PROJECTS), on_list(lambda _: []), sample=0),
    write("a first page", differs(PROJECTS), on_list(lambda projects: projects[:3])),
    # A project.
    read("an id alone", differs(NAME, CREATED, LATEST),
         on_projects(without("name", "created_at", "latest_deployment_id"))),
    read("without an id", differs(ID), on_projects(without("id"))),
    read("project id a number", differs(ID), on_projects(put(id=int)), new_id="{1}".format),
    read("latest of none", differs(LATEST), on_projects(put(latest_deployment_id="d-none"))),
    # A deployment.
    read("deployment 405", broken(DEP), on("deployment", status=405)),
    write("deployment 404", differs(LATEST), on("deployment", status=404)),
    # A 404 tells nothing of the token where the token gets one, too.
    read("deployment 404 to all", differs(LATEST), on("deployment", status=404), on(
        "anonymous", "unauthorized", status=404, has=lambda each: "/deployments/" in each.target
    )),
    read("a page for all", broken(DEP, DEP_PATH) | differs(UNKNOWN, DEP_404), on(
        "deployment", "no deployment", "unknown", status=404, raw=b"404 page not found"
    )),
    read("errors without codes", differs(LATEST, PROBLEM),
         on("deployment", status=404, body=lambda _: {"error": "no deployment"}),
         on("unknown", body=lambda _: {"error": "no route"})),
    read("no path", broken(DEP, DEP_PATH), on("deployment", status=404, body=put(code="unknown"))),
    read("deployment moved", broken(DEP_PATH), on("deployment", status=301, headers=AWAY, raw=b"")),
    read("without id and status", differs(DID, OWNER) | broken(STATUS),
         on_deployment(without("id", "status")), on_deployment(put(project_id=7))),
    read("another deployment", broken(DEP_ID), on_deployment(put(id="d-0"))),
    read("one deployment for all ids", broken(DEP_ID) | differs(DEP_404), on(
        "no deployment", status=200, headers={"Content-Type": JSON}, body=lambda _: ANOTHER
    )),
    read("status null, and another's", differs(OWNER) | broken(STATUS),
         on_deployment(put(status=None, project_id="p-0"))),
    # A creation.
    write("created 204", differs(POST_201), on("created", status=204, raw=b"")),
    write("created null", differs(PROJECT), on("created", raw=b"null")),
    write("name lost", differs(NAME), on("created", body=without("name"))),
    write("name in capitals", differs(NAME), on_projects(put(name=str.upper))),
    write("POST 404", broken(POST), on("created", status=404)),
    write("POST 405", broken(POST), on("created", status=405)),
    write("POST 501", NO_POST, on("created", status=501)),
    write("POST 415", differs(BODY), on("created", status=415)),
    write("POST 422", differs(INPUT), on("created", status=422)),
    # The token, which a list and a deployment can show without --write.
    read("no token needed", broken(BEARER), opens=".*"),
    read("any token taken", broken(BEARER), takes="Bearer "),
    write("POST is open", broken(BEARER) | differs(INVALID), opens="POST", accepts={"name"}),
    read("no token 302, and an unknown path 200", differs(UNAUTHORIZED, UNKNOWN),
         on("anonymous", status=302, headers=AWAY, raw=b""),
         on("unknown", status=200, body=put(id="7"))),
    # Headers and paths.
    read("an unknown path is cut off", unchecked(UNKNOWN, ERRORS, *FIELD_ERROR),
         on("unknown", failure="cut off")),
    read("no headers", differs(WWW, CACHE),
         on("anonymous", headers={"WWW-Authenticate": None}),
         on("list", headers={"Cache-Control": None})),
    read("other headers", differs(*(f"{each}/schema" for each in (WWW, CACHE))),
         on("unauthorized", headers={"WWW-Authenticate": 'Basic realm="all"'}),
         on("list", headers={"Cache-Control": "max-age=9"})),
    # Problems.
    read("errors have another status alone, and times are numbers",
         differs(*PROBLEM_MEMBERS, CREATED), on_errors(lambda _: {"status": True}),
         on_projects(put(created_at=1767603600))),
    read("no status in errors, and no zone in times", differs(PROBLEM_MEMBERS[2], CREATED),
         on_errors(without("status")), on_projects(put(created_at="2026-01-05T09:00:00"))),
]  # fmt: skip


def rewritten(response: Response, request: ServiceExchange, number: int) -> None:
    """White space, escapes, and members in another order."""
    text = json.dumps(dict(reversed(response.body.items())), indent=2).replace("a", "\\u0061")
    response.raw = f"\r\n{text}\t\n".encode()


def grown(response: Response, request: ServiceExchange, number: int) -> None:
    """More members and headers each time."""
    response.headers |= {f"X-{number}": "1", "Set-Cookie": "a=b", "Location": "/v1/projects/7"}
    response.body["seen"] = {"id": [number]}


TIMES = put(created_at="2026-01-05T09:00:00.123456789+05:30")
MORE: dict[str, Any] = {"a_new": {"id": [7]}, "status_text": None, "url": "https://a.example/x"}
# What a service may do at any time, or later than asked, or where no part says otherwise.
GROWTH = [
    write("more", NOTHING, on_projects(put(**MORE)), on_deployment(put(**MORE)), grown,
          on("list", body=lambda body: {"all": [{"id": 7}], **body}),
          on_errors(put(trace=[1], title="", code="E-7", type="/errors/7")),
          on("anonymous", "unauthorized", headers={"WWW-Authenticate": 'bearer, Basic realm="x"'})),
    write("the same, written otherwise", NOTHING, on_projects(TIMES), on_deployment(TIMES),
          rewritten,
          on("list", "created", headers={"Content-Type": "Application/JSON;v=1"}),
          on(headers={"Cache-Control": "private, No-Store"}), new_id="{}/ %2F?é#&{}".format),
    write("later", NOTHING, first(3, on_list(lambda projects: projects[:3])),
          first(2, on("deployment", status=404, has=lambda each: each.target.endswith("4")))),
    write("an unknown status of no project", NOTHING,
          on_deployment(put(status="READY", project_id=None))),
]  # fmt: skip
