"""The operations of stub/openapi.json: their routes, and the checks of their requests."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue

from web import schemas
from web.problems import FieldError
from web.validation import prefix_errors

from ..world import rules

View = Callable[..., ResponseReturnValue]
"""A view. Its arguments are the parameters of the path, in their order."""


@cache
def read_operations() -> dict[str, dict[str, Any]]:
    """Return the control operations by id; `path` and `method` are added: `/_stub/clock`, `GET`."""
    found = {}
    for path, item in rules.read_contract()["paths"].items():
        for method, operation in item.items():
            place = {"path": path, "method": method.upper()}
            found[operation["operationId"]] = operation | place
    return found


def add_routes(app: Flask, views: Mapping[str, View]) -> None:
    """Route every operation to the view with its id: `{"getClock": show_clock}`."""
    for name, operation in read_operations().items():
        rule = operation["path"].replace("{", "<").replace("}", ">")
        view = partial(call_view, views[name])
        app.add_url_rule(rule, name, view, methods=[operation["method"]])


def call_view(view: View, **parameters: str) -> ResponseReturnValue:
    return view(*parameters.values())


def check_request(document: Any, statuses: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Yield the errors in the path and in the body of the current request."""
    operation = read_operations()[request.endpoint or ""]
    named = rules.read_schemas(statuses)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            name = parameter["name"]
            value = (request.view_args or {})[name]
            schema = schemas.resolve_refs(parameter["schema"], named)
            yield from prefix_errors([name], schemas.find_errors(value, schema))
    for content in operation["requestBody"]["content"].values():
        yield from schemas.find_errors(document, schemas.resolve_refs(content["schema"], named))
