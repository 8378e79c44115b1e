"""Edits of the responses of tests/verify/service.py."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.verify.service import Change, Request, Response, problem

ERRORS = (
    *("anonymous", "unauthorized", "unknown", "no deployment", "method"),
    *("media type", "large", "malformed", "invalid", "taken"),
)
Edit = Callable[[Any], Any]


def on(
    *cases: str,
    status: int = 0,
    headers: Mapping[str, str | None] | None = None,
    body: Edit | None = None,
    raw: bytes | None = None,
    has: Callable[[Request], bool] = lambda _: True,
) -> Change:
    """A change of the responses of these cases, or of all, to requests that are such ones.

    A header of None is left out.
    """

    def change(response: Response, request: Request, number: int) -> None:
        if (cases and response.case not in cases) or not has(request):
            return
        content = response.body
        if status and isinstance(content, dict) and content.get("status") == response.status:
            content["status"] = status
        if status >= 400 > response.status:
            response.body = problem("", status, "no").body
            response.headers["Content-Type"] = "application/problem+json"
        response.status = status or response.status
        response.headers.update(headers or {})
        response.raw = raw
        if body:
            response.body = body(response.body)

    return change


def has_type(media_type: str | None, *cases: str) -> Change:
    return on(*cases, headers={"Content-Type": media_type})


def of_listed(edit: Edit) -> Change:
    """A change of each project in the list."""
    return on("list", body=put(projects=lambda each: [edit(one) for one in each]))


def of_projects(edit: Edit) -> Change:
    """A change of each project, listed or created."""
    changes = (of_listed(edit), on("created", body=edit))

    def change(response: Response, request: Request, number: int) -> None:
        for each in changes:
            each(response, request, number)

    return change


def of_errors(edit: Edit) -> Change:
    return on(*ERRORS, body=edit)


def of_fields(edit: Edit) -> Change:
    return on("invalid", body=put(errors=lambda errors: [edit(each) for each in errors]))


def first(times: int, change: Change) -> Change:
    """A change of the first responses to requests of each kind."""

    def changed(response: Response, request: Request, number: int) -> None:
        if number < times:
            change(response, request, number)

    return changed


def without(*names: str) -> Edit:
    return lambda body: {name: each for name, each in body.items() if name not in names}


def put(**members: Any) -> Edit:
    """Members that take the place of others, or a function of their value."""

    def edit(body: dict[str, Any]) -> dict[str, Any]:
        changed = {
            name: value(body.get(name)) if callable(value) else value
            for name, value in members.items()
        }
        return {**body, **changed}

    return edit


def renamed(old: str, new: str) -> Edit:
    return lambda body: {new if name == old else name: each for name, each in body.items()}
