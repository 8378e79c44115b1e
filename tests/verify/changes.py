"""Edits of the responses of tests/verify/service.py."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.verify.service import Change, Request, Response, problem


def on(
    *cases: str,
    status: int = 0,
    headers: Mapping[str, str | None] | None = None,
    body: Callable[[Any], Any] | None = None,
    raw: bytes | None = None,
) -> Change:
    """A change of the responses of these cases, or of all; a header of None is left out."""

    def change(response: Response, request: Request, number: int) -> None:
        if cases and response.case not in cases:
            return
        if (
            status
            and isinstance(response.body, dict)
            and response.body.get("status") == response.status
        ):
            response.body["status"] = status
        if status >= 400 > response.status:
            response.body = problem("", status, "no").body
            response.headers["Content-Type"] = "application/problem+json"
        response.status = status or response.status
        response.headers.update(headers or {})
        response.raw = raw
        if body:
            response.body = body(response.body)

    return change


ERRORS = (
    "anonymous",
    "unauthorized",
    "unknown",
    "no deployment",
    "method",
    "media type",
    "large",
    "malformed",
    "invalid",
    "taken",
)
Edit = Callable[[Any], Any]


def of_projects(edit: Edit) -> Change:
    """A change of each project, listed or created."""

    def change(response: Response, request: Request, number: int) -> None:
        if response.case == "list":
            response.body["projects"] = [edit(each) for each in response.body["projects"]]
        elif response.case == "created":
            response.body = edit(response.body)

    return change


def every_other(first: Change) -> Change:
    """A change of every second response to the same request."""

    def change(response: Response, request: Request, number: int) -> None:
        if number % 2:
            first(response, request, number)

    return change


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
