"""What the errors and headers of a service may have that openapi.json has not.

As in tests/verify/differences.py, a member or a header that is missing is found at itself.
"""

from collections.abc import Callable

from tests.verify.changes import ERRORS as ALL
from tests.verify.changes import Edit, every_other, on, put, renamed, without
from tests.verify.parts import (
    ALLOW,
    BEARER,
    CACHE,
    CODE,
    DEP_404,
    DETAIL,
    ERRORS,
    FIELD,
    FIELD_DETAIL,
    INPUT_NAME,
    INVALID,
    LARGE,
    MALFORMED,
    MEDIA,
    METHOD,
    NAMES,
    NOT,
    POINTER,
    PROBLEM,
    PSTATUS,
    TAKEN,
    TITLE,
    TYPE,
    UNAUTHORIZED,
    UNKNOWN,
    WWW,
    broken,
    differs,
    header,
    unchecked,
    unstable,
)
from tests.verify.parts import difference as d
from tests.verify.service import Change, Request, Response

CACHE_VALUE, WWW_VALUE = header("Cache-Control") + "/schema", header("WWW-Authenticate") + "/schema"
IN_A_PROBLEM = (TYPE, TITLE, PSTATUS, DETAIL, CODE)
PAGE = b"<!doctype html><title>Not here</title>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
JSON = {"Content-Type": "application/json"}


def of_errors(edit: Edit) -> Change:
    return on(*ALL, body=edit)


def of_fields(edit: Edit) -> Change:
    return on("invalid", body=put(errors=lambda errors: [edit(each) for each in errors]))


def asked(method: str, change: Change, has: Callable[[Request], bool] = lambda _: True) -> Change:
    """A change of the responses to a method, where the request is such a one."""

    def changed(response: Response, request: Request, number: int) -> None:
        if request.method == method and has(request):
            change(response, request, number)

    return changed


ACCESS = [
    # §5 is fixed: every request requires a bearer token.
    d("no token needed", "read", broken(BEARER), needs_token=False, takes_basic=True),
    d("Basic taken", "read", broken(BEARER), takes_basic=True),
    d("deployments are open", "read", broken(BEARER), open_deployments=True),
    # The outcome without one is not shown (§7).
    *(
        d(f"no token {status}", "read", differs(UNAUTHORIZED), on("anonymous", status=status))
        for status in (400, 403, 404)
    ),
    d("Basic 400", "read", differs(UNAUTHORIZED), on("unauthorized", status=400)),
    # RFC 9110 asks for a challenge with 401 alone.
    d(
        "403 without challenge",
        "read",
        differs(UNAUTHORIZED),
        on("anonymous", "unauthorized", status=403, headers={"WWW-Authenticate": None}),
    ),
    d(
        "no token 302",
        "read",
        differs(UNAUTHORIZED),
        on("anonymous", status=302, headers={"Location": "/login", **HTML}, raw=b""),
    ),
    d("no challenge", "read", differs(WWW), on("anonymous", headers={"WWW-Authenticate": None})),
    d(
        "no second one",
        "read",
        differs(WWW),
        on("unauthorized", headers={"WWW-Authenticate": None}),
    ),
    d(
        "challenge Basic",
        "read",
        differs(WWW_VALUE),
        on("anonymous", "unauthorized", headers={"WWW-Authenticate": 'Basic realm="all"'}),
    ),
    d(
        "empty 401",
        "read",
        differs(UNAUTHORIZED),
        on("anonymous", "unauthorized", headers={"Content-Type": None}, raw=b""),
    ),
    d(
        "no token 401 at times",
        "read",
        unstable(UNAUTHORIZED),
        every_other(on("anonymous", status=403)),
    ),
]
HEADERS = [
    d("no Cache-Control", "read", differs(CACHE), on(headers={"Cache-Control": None})),
    d("none in the list", "read", differs(CACHE), on("list", headers={"Cache-Control": None})),
    d("none in errors", "read", differs(CACHE), on(*ALL, headers={"Cache-Control": None})),
    d("none at 405", "read", differs(CACHE), on("method", headers={"Cache-Control": None})),
    d("none at 409", "abuse", differs(CACHE), on("taken", headers={"Cache-Control": None})),
    # The header is there; the value is stated by its schema.
    d(
        "max-age",
        "read",
        differs(CACHE_VALUE),
        on(headers={"Cache-Control": "private, max-age=60"}),
    ),
    d(
        "deployment no-cache",
        "read",
        differs(CACHE_VALUE),
        on("deployment", headers={"Cache-Control": "no-cache"}),
    ),
    d(
        "Cache-Control at times",
        "read",
        unstable(CACHE),
        every_other(on(headers={"Cache-Control": None})),
    ),
    d(
        "Allow of another form",
        "read",
        differs(f"{ALLOW}/schema"),
        on("method", headers={"Allow": "GET, HEAD, POST, (any)"}),
    ),
    d("Allow without GET", "read", differs(f"{ALLOW}/schema"), on("method", headers={"Allow": ""})),
    d("no Allow", "read", differs(ALLOW), on("method", headers={"Allow": None})),
]
OPTIONS_OK = {"Allow": "GET, HEAD, POST, OPTIONS", "Content-Type": None}
NO_ALLOW = {"Allow": None}
PATHS = [
    # "OPTIONS is no exception", says MethodNotAllowed.
    d(
        "OPTIONS 204",
        "read",
        differs(METHOD),
        on("method", status=204, headers=OPTIONS_OK, raw=b""),
    ),
    d(
        "OPTIONS 200",
        "read",
        differs(METHOD),
        on("method", status=200, headers=OPTIONS_OK, raw=b""),
    ),
    d(
        "OPTIONS 404",
        "read",
        differs(METHOD),
        on("method", status=404, headers=NO_ALLOW),
    ),
    d(
        "OPTIONS 501",
        "read",
        unchecked(METHOD, ALLOW, f"{ALLOW}/schema"),
        on("method", status=501, headers=NO_ALLOW),
    ),
    *(
        d(f"unknown path {status}", "read", differs(UNKNOWN), on("unknown", status=status))
        for status in (400, 403, 405, 410)
    ),
    d(
        "unknown path 302",
        "read",
        differs(UNKNOWN),
        on("unknown", status=302, headers={"Location": "/", **HTML}, raw=b""),
    ),
    d(
        "a page for all",
        "read",
        differs(UNKNOWN),
        on("unknown", status=200, headers=HTML, raw=PAGE),
    ),
    d(
        "an HTML 404",
        "read",
        differs(UNKNOWN),
        on("unknown", headers=HTML, raw=PAGE),
    ),
    d("unknown path 500", "read", unchecked(UNKNOWN), on("unknown", status=500)),
    d("unknown path at times", "read", unstable(UNKNOWN), every_other(on("unknown", status=400))),
    *(
        d(f"no deployment {status}", "read", differs(DEP_404), on("no deployment", status=status))
        for status in (400, 403, 410, 422)
    ),
    d(
        "no deployment 204",
        "read",
        differs(DEP_404),
        on("no deployment", status=204, headers={"Content-Type": None}, raw=b""),
    ),
    d(
        "no deployment is null",
        "read",
        differs(DEP_404),
        on("no deployment", status=200, headers=JSON, raw=b"null"),
    ),
    d(
        "one deployment for all ids",
        "read",
        differs(DEP_404),
        on(
            "no deployment",
            status=200,
            headers=JSON,
            body=lambda _: {
                "id": "d-1",
                "project_id": "p-1",
                "status": "queued",
                "created_at": "2026-01-05T09:00:00Z",
            },
        ),
    ),
]
PROBLEMS = [
    *(
        d(f"no {name} in errors", "read", differs(part), of_errors(without(name)))
        for name, part in zip(
            ("type", "title", "status", "detail", "code"), IN_A_PROBLEM, strict=True
        )
    ),
    *(
        d(f"{name} an object", "read", differs(part), of_errors(put(**{name: {"en": "x"}})))
        for name, part in zip(
            ("type", "title", "status", "detail", "code"), IN_A_PROBLEM, strict=True
        )
    ),
    d("code a number", "read", differs(CODE), of_errors(put(code=1001))),
    d("code null", "read", differs(CODE), of_errors(put(code=None))),
    d("status a text", "read", differs(PSTATUS), of_errors(put(status=str))),
    d("status of another", "read", differs(PSTATUS), of_errors(put(status=499))),
    d("detail is message", "read", differs(DETAIL), of_errors(renamed("detail", "message"))),
    d("no code at 404", "read", differs(CODE), on("no deployment", body=without("code"))),
    d("no code at 409", "abuse", differs(CODE), on("taken", body=without("code"))),
    d("code at times", "read", unstable(CODE), every_other(of_errors(without("code")))),
    d(
        "another error shape",
        "read",
        differs(PROBLEM),
        of_errors(lambda body: {"error": body["detail"]}),
    ),
    d(
        "errors are arrays",
        "read",
        differs(PROBLEM),
        of_errors(lambda body: [body]),
    ),
    # The media type is declared by each response.
    d(
        "errors are JSON",
        "read",
        differs(UNAUTHORIZED, DEP_404, UNKNOWN, METHOD),
        on(*ALL, headers=JSON),
    ),
    d(
        "404 is JSON",
        "read",
        differs(DEP_404),
        on("no deployment", headers=JSON),
    ),
    d("409 is JSON", "abuse", differs(TAKEN), on("taken", headers=JSON)),
]
BODIES = [
    *(
        d(f"{case} {status}", "abuse", differs(part), on(case, status=status))
        for case, part, statuses in (
            ("malformed", MALFORMED, (415, 422)),
            ("invalid", INVALID, (400, 409)),
            ("taken", TAKEN, (400, 422)),
            ("media type", MEDIA, (400, 422)),
            ("large", LARGE, (400, 422)),
        )
        for status in statuses
    ),
    *(
        d(f"{case} 500", "abuse", unchecked(*parts), on(case, status=500))
        for case, *parts in (
            ("malformed", MALFORMED),
            ("invalid", INVALID, ERRORS, FIELD, POINTER, FIELD_DETAIL, NAMES, NOT),
            ("taken", TAKEN),
            ("media type", MEDIA),
            ("large", LARGE),
        )
    ),
    d("no JSON taken", "abuse", differs(MALFORMED), needs_json=False),
    d("no name taken", "abuse", differs(INPUT_NAME), needs_name=False),
    d("an id taken", "abuse", differs(NAMES, NOT), takes_ids=True),
    d("a name taken twice", "abuse", differs(TAKEN), unique=False),
    d("any type taken", "abuse", differs(MEDIA), needs_media_type=False),
    d("70 KiB taken", "abuse", differs(LARGE), limit=1 << 20),
    d("422 without errors", "abuse", differs(ERRORS), on("invalid", body=without("errors"))),
    d("errors null", "abuse", differs(ERRORS), on("invalid", body=put(errors=None))),
    d(
        "errors by name",
        "abuse",
        differs(ERRORS),
        on("invalid", body=put(errors={"name": ["is required"]})),
    ),
    d(
        "errors are texts",
        "abuse",
        differs(FIELD),
        of_fields(lambda each: each["detail"]),
    ),
    d("no pointer", "abuse", differs(POINTER), of_fields(without("pointer"))),
    d("field for pointer", "abuse", differs(POINTER), of_fields(renamed("pointer", "field"))),
    d(
        "pointer is a name",
        "abuse",
        differs(POINTER),
        of_fields(put(pointer=lambda each: each[1:])),
    ),
    d(
        "pointer is JSONPath",
        "abuse",
        differs(POINTER),
        of_fields(put(pointer=lambda each: f"$.{each[1:]}")),
    ),
    d(
        "pointer of a URI",
        "abuse",
        differs(POINTER),
        of_fields(put(pointer=lambda each: f"#{each}")),
    ),
    d(
        "pointer an array",
        "abuse",
        differs(POINTER),
        of_fields(put(pointer=lambda each: [each[1:]])),
    ),
    d("no field detail", "abuse", differs(FIELD_DETAIL), of_fields(without("detail"))),
    d("field detail a number", "abuse", differs(FIELD_DETAIL), of_fields(put(detail=4))),
    d("400 and 422", "abuse", unstable(INVALID), every_other(on("invalid", status=400))),
    d("409 at times", "abuse", unstable(TAKEN), every_other(on("taken", status=422))),
    d("413 at times", "abuse", unstable(LARGE), every_other(on("large", status=400))),
    d(
        "errors at times",
        "abuse",
        unstable(ERRORS),
        every_other(on("invalid", body=without("errors"))),
    ),
    d("pointer at times", "abuse", unstable(POINTER), every_other(of_fields(without("pointer")))),
]
DIFFERENCES = [*ACCESS, *HEADERS, *PATHS, *PROBLEMS, *BODIES]
