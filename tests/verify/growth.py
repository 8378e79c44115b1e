"""What a service may do at any time, or later than asked, or where no part says otherwise."""

import json
from typing import Any

from tests.verify.changes import ERRORS as ALL
from tests.verify.changes import of_projects, on, put
from tests.verify.error_differences import asked, of_errors, of_fields
from tests.verify.parts import NOTHING, Difference
from tests.verify.parts import difference as d
from tests.verify.service import Change, Request, Response

MORE: dict[str, Any] = {"a_new": {"id": [7]}, "status_text": None, "url": "https://a.example/x"}
REPLIES = ("list", "created", "deployment")


def reversed_members(body: Any) -> Any:
    if isinstance(body, dict):
        return {name: reversed_members(body[name]) for name in reversed(body)}
    return [reversed_members(each) for each in body] if isinstance(body, list) else body


def written(response: Response, request: Request, number: int) -> None:
    """Whitespace and escapes that differ each time."""
    if response.body is not None:
        text = json.dumps(response.body, indent=number % 3).replace("a", "\\u0061")
        response.raw = f"\r\n{text}\t\n".encode()


def counting(response: Response, request: Request, number: int) -> None:
    """Headers and members that come and go."""
    response.headers[f"X-Request-{number}"] = f"{number}"
    if isinstance(response.body, dict) and number % 2:
        response.body["seen"] = number


def times(text: str) -> tuple[Change, ...]:
    edit = put(created_at=text)
    return of_projects(edit), on("deployment", body=edit)


def g(name: str, *changes: Change, level: str = "abuse", **rules: Any) -> Difference:
    return d(name, level, NOTHING, *changes, **rules)


GROWTH = [
    g("it conforms"),
    g("it conforms, and is only read", level="read"),
    g("it conforms, and is written to", level="write"),
    g("more members", of_projects(put(**MORE)), on("deployment", body=put(**MORE))),
    g("more in the list", on("list", body=put(next=None, total=3, items=[]))),
    g("more in errors", of_errors(put(instance="/x", trace=[1])), of_fields(put(code="no"))),
    g("errors in each error", of_errors(put(errors=lambda each: each or []))),
    g("more headers", on(headers={"X-New": "1", "Set-Cookie": "a=b", "Server": "x"})),
    g("Location", on("created", headers={"Location": "/v1/projects/7"})),
    g("other members and headers each time", counting),
    g("other text each time", written),
    g("members in another order", on(body=reversed_members)),
    g("charset", on(*REPLIES, headers={"Content-Type": "application/json; charset=utf-8"})),
    g("case of the type", on(*REPLIES, headers={"Content-Type": "Application/JSON;v=1"})),
    g(
        "case of errors",
        on(*ALL, headers={"Content-Type": "application/Problem+JSON ; charset=utf-8"}),
    ),
    g("case of no-store", on(headers={"Cache-Control": "No-Store"})),
    g("an unknown status", on("deployment", body=put(status="deploying")), wait="0.2"),
    g("a status in capitals", on("deployment", body=put(status="READY")), wait="0.2"),
    g("it never ends", ends=False, wait="0.2"),
    g("times with offset", *times("2026-01-05T09:00:00+05:30")),
    g("times with nine digits", *times("2026-01-05T09:00:00.123456789Z")),
    g("times in lower case", *times("2026-01-05t09:00:00z")),
    g("times of unknown offset", *times("2026-01-05T09:00:00-00:00")),
    g("a leap second", *times("2016-12-31T23:59:60Z")),
    g("ids with a slash", id_form="{}/{}"),
    g("ids to encode", id_form="{} %2F?é#&{}"),
    g("ids of digits", id_form="{1}"),
    g("long ids", id_form="{}" + "x" * 200 + "{}"),
    g("listed late", listed_after=3),
    g("its deployment is found late", found_after=3),
    g("somebody else creates", others=True),
    g("no project yet", sample=0),
    g("no project yet, only read", level="read", sample=0),
    g("five thousand projects", sample=5000),
    g("prose, types and codes", of_errors(put(title="", detail="x", code="E-7", type="/errors/7"))),
    g(
        "two challenges",
        on("anonymous", "unauthorized", headers={"WWW-Authenticate": 'Bearer, Basic realm="x"'}),
    ),
    g(
        "challenge in lower case",
        on("anonymous", "unauthorized", headers={"WWW-Authenticate": "bearer"}),
    ),
    g("more methods", on("method", headers={"Allow": "DELETE, GET, HEAD, PATCH, POST"})),
    # "HEAD works as GET does", and what becomes of a query: no part of the contract says it.
    g("no HEAD", asked("HEAD", on("list", "deployment", status=405, headers={"Allow": "GET"}))),
    g("HEAD 404", asked("HEAD", on("list", "deployment", status=404))),
    g("no unknown query", asked("GET", on("list", status=400), lambda each: "?" in each.target)),
    g("a path below", base="/api/v7"),
]
