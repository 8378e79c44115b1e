"""What a service may have that openapi.json has not, one row for each part and verdict.

A member or a header that is missing is found at itself, a wrong type too, the rest at the part
that states it; what follows from a difference is no other one.
"""

import json
from typing import Any

from tests.verify.changes import (
    ERRORS as ALL,
)
from tests.verify.changes import (
    Edit,
    first,
    has_type,
    of_errors,
    of_fields,
    of_listed,
    of_projects,
    on,
    put,
    renamed,
    without,
)
from tests.verify.parts import (
    ALLOW,
    BEARER,
    BODY,
    CACHE,
    CODE,
    CREATED,
    DCREATED,
    DEP,
    DEP_200,
    DEP_404,
    DEP_ID,
    DEP_PATH,
    DEPLOYMENT,
    DETAIL,
    DID,
    ERRORS,
    FIELD,
    FIELD_DETAIL,
    ID,
    IN_A_PROBLEM,
    INPUT,
    INPUT_NAME,
    INVALID,
    ITEMS,
    LARGE,
    LATEST,
    LIST,
    LIST_200,
    LIST_PATH,
    MALFORMED,
    MEDIA,
    MEMBERS,
    METHOD,
    NAME,
    NAMES,
    NO_CREATION,
    NO_LIST,
    NOT,
    NOTHING,
    OWNER,
    POINTER,
    POST,
    POST_201,
    PROBLEM,
    PROJECT,
    PROJECTS,
    PSTATUS,
    STATUS,
    TAKEN,
    UNAUTHORIZED,
    UNKNOWN,
    WWW,
    abused,
    broken,
    differs,
    read,
    schema,
    unchecked,
    written,
)
from tests.verify.service import Change, Request, Response

JSON, HTML, PLAIN = "application/json", "text/html; charset=utf-8", "text/plain"
PAGE = b"<!doctype html><title>Not here</title>"
A_DEPLOYMENT = {"id": "d-1", "status": "queued", "project_id": None, "created_at": "2026-01-05"}
LATER = "2100-01-05T09:00:00Z"
CODES = (400, 415, 422)


def there(edit: Edit) -> Change:
    """A change of each deployment."""
    return on("deployment", body=edit)


def all_of(edit: Edit) -> Change:
    """A change of the array in the list."""
    return on("list", body=put(projects=edit))


def of_case(case: str, status: int, **more: Any) -> Change:
    return on(case, status=status, **more)


def moved(*cases: str, status: int = 308) -> Change:
    """A redirect to the path with a slash."""

    def change(response: Response, request: Request, number: int) -> None:
        headers = {"Location": f"{request.path}/"}
        on(*cases, status=status, headers=headers, raw=b"")(response, request, number)

    return change


def post_without_token(status: int) -> Change:
    """The response to a POST that is rejected for its token."""
    return on("anonymous", "unauthorized", status=status, has=lambda each: each.method == "POST")


LISTS = [
    read("list 203", differs(LIST_200), of_case("list", 203)),
    read("list 204", differs(LIST_200), of_case("list", 204, raw=b"")),
    read("list 410", broken(LIST), of_case("list", 410)),
    read("v2", broken(LIST, LIST_PATH), version="/v2"),
    abused("v2, written to", broken(LIST, LIST_PATH), version="/v2"),
    read("list 503", NO_LIST, of_case("list", 503)),
    read("list 503 once", NOTHING, first(1, of_case("list", 503))),
    read("list moved", broken(LIST_PATH), moved("list")),
    written("all moved", broken(LIST_PATH) | differs(UNKNOWN, DEP_404), moved()),
    read("list is vnd.api+json", differs(LIST_200), has_type("application/vnd.api+json", "list")),
    read("list is JSON of HTML", differs(LIST_200), has_type(HTML, "list")),
    read("list without a type", differs(LIST_200), has_type(None, "list")),
    read("list is no JSON", NO_LIST, on("list", raw=b"{'projects'")),
    read("list is NaN", NO_LIST, on("list", raw=b'{"projects": NaN}')),
    read("an array at the top", differs(PROJECTS), on("list", body=lambda body: body["projects"])),
    read("list is null", differs(PROJECTS), on("list", raw=b"null")),
    read("list is of another name", differs(ITEMS), on("list", body=renamed("projects", "data"))),
    read("an envelope", differs(PROJECTS), on("list", body=lambda body: {"data": body})),
    read(
        "an envelope of another name",
        differs(ITEMS, CREATED),
        of_listed(without("created_at")),
        on("list", body=lambda body: {"data": {"items": body["projects"]}}),
    ),
    abused("projects null", differs(ITEMS), all_of(lambda _: None)),
    read("projects by id", differs(ITEMS), all_of(lambda each: {one["id"]: one for one in each})),
    read("projects are ids", differs(PROJECT), all_of(lambda each: [one["id"] for one in each])),
    read("oldest last", differs(ITEMS), all_of(
        lambda each: [put(created_at=LATER)(each[0]), *each[1:]]
    )),
    read("a project twice", differs(ITEMS), all_of(lambda each: [*each, each[0]])),
    read("many, one without a time", differs(CREATED), all_of(
        lambda each: [*each[:-1], without("created_at")(each[-1])]
    )),
    written("never listed", differs(PROJECTS), lists=False),
    written("a first page", differs(PROJECTS), page=3),
    written("cut from the list", differs(PROJECT), of_listed(without("stub_verify"))),
    written("list without ids", differs(ID), of_listed(without("id"))),
    abused("a list that cannot be read", unchecked(LIST, LIST_200, PROJECTS, ITEMS), on(
        "list", raw=b"{'projects'"
    )),
]  # fmt: skip
TIMES = (1767603600, "2026-01-05T09:00:00", "2026-01-05", None, "2026-01-05T09:00:00+0100")
PROJECT_RECORDS = [
    *(
        read(f"project without {part}", differs(part), of_projects(without(part.split("/")[-1])))
        for part in MEMBERS
    ),
    read("project id null", differs(ID), of_projects(put(id=None))),
    read("project id a number", differs(ID), of_projects(put(id=int)), id_form="{1}"),
    read("project name an object", differs(NAME), of_projects(put(name=lambda x: {"en": x}))),
    *(
        read(f"created {each}", differs(CREATED), of_projects(put(created_at=each)))
        for each in TIMES
    ),
    read("latest of none", differs(LATEST), of_projects(put(latest_deployment_id="d-none"))),
    read("latest an object", differs(LATEST), of_projects(put(latest_deployment_id={"id": "d-1"}))),
]
DEPLOYMENTS = [
    read("deployment 203", differs(DEP_200), of_case("deployment", 203)),
    read("deployment 405", broken(DEP), of_case("deployment", 405)),
    read("deployment 404", differs(LATEST), of_case("deployment", 404)),
    # A 404 tells nothing of the token where the token gets one, too.
    read("deployment 404 to all", differs(LATEST), of_case("deployment", 404), on(
        *("anonymous", "unauthorized"), status=404, has=lambda each: "/deployments/" in each.target
    )),
    read("no such path", broken(DEP), of_case("deployment", 404, body=put(
        code="not_found"
    ))),
    read("deployment moved", broken(DEP_PATH), moved("deployment", status=301)),
    read("to another origin", differs(DEP_200), of_case(
        "deployment", 302, headers={"Location": "https://a.example/"}, raw=b""
    )),
    read("deployment in an object", differs(DEPLOYMENT), there(lambda body: {"data": body})),
    read("deployment in a list", differs(DEPLOYMENT) | broken(STATUS), there(lambda body: [body])),
    read("deployment null", differs(DEPLOYMENT) | broken(STATUS), on("deployment", raw=b"null")),
    read("deployment without id", differs(DID), there(without("id"))),
    read("another deployment", broken(DEP_ID), there(put(id="d-0"))),
    read("one deployment for all ids", broken(DEP_ID) | differs(DEP_404), of_case(
        "no deployment", 200, headers={"Content-Type": JSON}, body=lambda _: A_DEPLOYMENT
    )),
    read("no project_id", differs(OWNER), there(without("project_id"))),
    read("project_id a number", differs(OWNER), there(put(project_id=7))),
    read("project_id of another", differs(OWNER), there(put(project_id="p-0"))),
    read("project_id null", NOTHING, there(put(project_id=None))),
    read("no status", broken(STATUS), there(without("status"))),
    read("status null", broken(STATUS), there(put(status=None))),
    read("deployment of no zone", differs(DCREATED), there(put(created_at="2026-01-05T09:00:00"))),
    written("its deployment is not found", differs(LATEST), finds=False),
]  # fmt: skip
CREATIONS = [
    written("created 200", differs(POST_201), of_case("created", 200)),
    written("created 204", differs(POST_201), of_case("created", 204, raw=b"")),
    written("created null", differs(PROJECT), on("created", raw=b"null")),
    written("created text/plain", differs(POST_201), has_type(PLAIN, "created")),
    written("created is no JSON", differs(POST_201), on("created", raw=b"ok")),
    written("created in an object", differs(PROJECT), on("created", body=lambda x: {"project": x})),
    written("created id alone", differs(NAME), on("created", body=without("name"))),
    written("own member lost", differs(PROJECT), keeps_members=False),
    written("name in capitals", differs(NAME), of_projects(put(name=str.upper))),
    written("POST 404", broken(POST), posts=404),
    abused("POST 405", broken(POST), posts=405),
    abused("POST 501", NO_CREATION, posts=501),
    abused("POST 403", NO_CREATION, posts=403),
    abused("POST 415", differs(BODY), posts=415),
    abused("a member is required", differs(INPUT), needs_member="team"),
    written("integer ids", differs(ID, LATEST, DID, OWNER), of_projects(
        put(id=int, latest_deployment_id=int)
    ), there(put(id=int, project_id=int)), id_form="{1}"),
]  # fmt: skip
ACCESS = [
    read("no token needed", broken(BEARER), needs_token=False, takes_basic=True),
    read("Basic taken", broken(BEARER), takes_basic=True),
    read("any token taken", broken(BEARER), takes_any=True),
    read("deployments are open", broken(BEARER), opens="deployments"),
    # The token is asked for with GET alone.
    written("POST is open", broken(BEARER), opens="POST", needs_name=False),
    read("no token 404", differs(UNAUTHORIZED), on("anonymous", status=404)),
    read("no token 302", differs(UNAUTHORIZED), on(
        "anonymous", status=302, headers={"Location": "/login", "Content-Type": HTML}, raw=b""
    )),
    read("wrong token 400", differs(UNAUTHORIZED), on("unauthorized", status=400)),
    read("no challenge", differs(WWW), on("anonymous", headers={"WWW-Authenticate": None})),
    read("challenge Basic", differs(f"{WWW}/schema"), on(
        "unauthorized", headers={"WWW-Authenticate": 'Basic realm="all"'}
    )),
    read("empty 401", differs(UNAUTHORIZED), on(
        "anonymous", "unauthorized", headers={"Content-Type": None}, raw=b""
    )),
]  # fmt: skip
HEADERS = [
    read("no Cache-Control", differs(CACHE), on(headers={"Cache-Control": None})),
    read("none at 405", differs(CACHE), on("method", headers={"Cache-Control": None})),
    read("max-age", differs(f"{CACHE}/schema"), on("list", headers={"Cache-Control": "max-age=9"})),
    read(
        "Allow is prose", differs(f"{ALLOW}/schema"), on("method", headers={"Allow": "GET, (any)"})
    ),
    read("Allow without GET", differs(f"{ALLOW}/schema"), on("method", headers={"Allow": ""})),
    read("no Allow", differs(ALLOW), on("method", headers={"Allow": None})),
]
PATHS = [
    read("OPTIONS 204", differs(METHOD), of_case("method", 204, raw=b"")),
    read("OPTIONS 501", unchecked(METHOD, ALLOW, f"{ALLOW}/schema"), of_case("method", 501)),
    read("unknown path 410", differs(UNKNOWN), of_case("unknown", 410)),
    read("unknown path 500", unchecked(UNKNOWN), of_case("unknown", 500)),
    read("a page for all", differs(UNKNOWN), of_case(
        "unknown", 200, headers={"Content-Type": HTML}, raw=PAGE
    )),
    read("an HTML 404", differs(UNKNOWN), on("unknown", headers={"Content-Type": HTML}, raw=PAGE)),
    read("no deployment 422", differs(DEP_404), of_case("no deployment", 422)),
    read("no deployment 204", differs(DEP_404), of_case("no deployment", 204, raw=b"")),
]  # fmt: skip
PROBLEMS = [
    *(
        read(f"no {each} in errors", differs(schema("Problem", each)), of_errors(without(each)))
        for each in IN_A_PROBLEM
    ),
    read("code a number", differs(CODE), of_errors(put(code=1001))),
    read("status a boolean", differs(PSTATUS), of_errors(put(status=True))),
    read("status of another", differs(PSTATUS), of_errors(put(status=499))),
    read("detail is message", differs(DETAIL), of_errors(renamed("detail", "message"))),
    abused("no code at 409", differs(CODE), on("taken", body=without("code"))),
    abused("another shape", differs(PROBLEM), of_errors(lambda body: {"error": body["detail"]})),
    read("errors are arrays", differs(PROBLEM), of_errors(lambda body: [body])),
    read("errors are JSON", differs(UNAUTHORIZED, DEP_404, UNKNOWN, METHOD), has_type(JSON, *ALL)),
    abused("409 is JSON", differs(TAKEN), has_type(JSON, "taken")),
]
BODIES = [
    abused("malformed 422", differs(MALFORMED), of_case("malformed", 422)),
    abused("invalid 409", differs(INVALID), of_case("invalid", 409)),
    abused("taken 422", differs(TAKEN), of_case("taken", 422)),
    abused("media type 400", differs(MEDIA), of_case("media type", 400)),
    abused("large 400", differs(LARGE), of_case("large", 400)),
    abused("large 500", unchecked(LARGE), of_case("large", 500)),
    abused("no JSON taken", differs(MALFORMED), needs_json=False),
    abused("no name taken", differs(INPUT_NAME), needs_name=False),
    abused("an id taken", differs(NAMES, NOT), takes_ids=True),
    abused("a name taken twice", differs(TAKEN), unique=False),
    abused("any type taken", differs(MEDIA), needs_media_type=False),
    abused("70 KiB taken", differs(LARGE), limit=1 << 20),
    abused("422 without errors", differs(ERRORS), on("invalid", body=without("errors"))),
    abused("errors by name", differs(ERRORS), on("invalid", body=put(errors={"name": ["no"]}))),
    abused("errors are texts", differs(FIELD), of_fields(lambda each: each["detail"])),
    abused("no pointer", differs(POINTER), of_fields(without("pointer"))),
    abused("pointer is a name", differs(POINTER), of_fields(put(pointer=lambda each: each[1:]))),
    abused("pointer of a URI", differs(POINTER), of_fields(put(pointer=lambda each: f"#{each}"))),
    abused("no field detail", differs(FIELD_DETAIL), of_fields(without("detail"))),
]
DIFFERENCES = [
    *(*LISTS, *PROJECT_RECORDS, *DEPLOYMENTS, *CREATIONS, *ACCESS),
    *(*HEADERS, *PATHS, *PROBLEMS, *BODIES),
]

MORE: dict[str, Any] = {"a_new": {"id": [7]}, "status_text": None, "url": "https://a.example/x"}


def rewritten(response: Response, request: Request, number: int) -> None:
    """White space, escapes, and members in another order."""
    if isinstance(response.body, dict):
        text = json.dumps(dict(reversed(response.body.items())), indent=2).replace("a", "\\u0061")
        response.raw = f"\r\n{text}\t\n".encode()


def grown(response: Response, request: Request, number: int) -> None:
    """More members and headers each time."""
    response.headers |= {f"X-{number}": "1", "Set-Cookie": "a=b", "Location": "/v1/projects/7"}
    if isinstance(response.body, dict):
        response.body["seen"] = {"id": [number]}


def at(text: str) -> tuple[Change, ...]:
    return of_projects(put(created_at=text)), there(put(created_at=text))


def asked_with(method: str) -> Any:
    return lambda request: request.method == method


# What a service may do at any time, or later than asked, or where no part says otherwise.
GROWTH = [
    abused("it conforms", NOTHING),
    abused("more members", NOTHING, of_projects(put(**MORE)), there(put(**MORE)), grown),
    abused("more in the list", NOTHING, on("list", body=put(next=None, total=3, items=[]))),
    abused("more in errors", NOTHING, of_errors(put(trace=[1])), of_fields(put(code="no"))),
    abused("other text", NOTHING, rewritten),
    abused("spellings of types", NOTHING, has_type("Application/JSON;v=1", "list", "created")),
    abused("case of no-store", NOTHING, on(headers={"Cache-Control": "private, No-Store"})),
    abused("an unknown status", NOTHING, there(put(status="READY"))),
    abused("times with offset", NOTHING, *at("2026-01-05T09:00:00.123456789+05:30")),
    abused("a leap second", NOTHING, *at("2016-12-31t23:59:60z")),
    abused("ids to encode", NOTHING, id_form="{}/ %2F?é#&{}"),
    abused("ids of digits", NOTHING, id_form="{1}"),
    abused("listed late", NOTHING, listed_after=3),
    abused("its deployment is found late", NOTHING, found_after=3),
    abused("somebody else creates", NOTHING, others=True),
    abused("no project yet", NOTHING, sample=0),
    read("no project yet, only read", NOTHING, sample=0),
    abused("prose and codes", NOTHING, of_errors(put(title="", code="E-7", type="/errors/7"))),
    abused("two challenges", NOTHING, on(
        "anonymous", "unauthorized", headers={"WWW-Authenticate": 'bearer, Basic realm="x"'}
    )),
    abused("more methods", NOTHING, on("method", headers={"Allow": "DELETE, GET, HEAD, POST"})),
    abused("no HEAD", NOTHING, on("list", "deployment", status=404, has=asked_with("HEAD"))),
    abused("no query", NOTHING, on("list", status=400, has=lambda each: "?" in each.target)),
    abused("a path below", NOTHING, base="/api/v7"),
    # What says nothing of the token, neither keeps nor breaks.
    *(written(f"POST without a token {each}", NOTHING, post_without_token(each)) for each in CODES),
]  # fmt: skip
