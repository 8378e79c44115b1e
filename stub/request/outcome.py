"""Decides the outcome of a request before the view, by a fault or by `Prefer`."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Request, current_app
from flask.typing import ResponseReturnValue
from werkzeug.http import unquote_header_value

from profiles import openapi
from web import problems
from web.documents import make_ref
from web.routing import read_target
from web.strict_json import JSON

from .faults import Fault, Faults, Outcome, PlannedFaults

REQUESTED = "This response was requested with `Prefer` or `/_stub/faults`."


class Example(NamedTuple):
    """An example of a response: `Example(409, "name_taken", {…})`."""

    status: int
    name: str
    value: Any = None


def decide_outcome(
    request: Request,
    operation: openapi.Operation | None,
    faults: Faults,
    world: str,
    contract: openapi.Contract,
    planned: PlannedFaults | None,
) -> Outcome:
    """Decide the outcome of a request to `/v1`. A fault that matches it is used up.

    A waiting fault comes first. The planned faults of `--probe failures` spare a request whose
    `Prefer` names a status.
    """
    fault = faults.take(operation.id if operation else None, request)
    if fault:
        return Outcome(operation, fault, respond_by_fault(request, operation, fault, contract))
    preferences = read_preferences(request)
    status = find_status(preferences)
    if planned and operation and status is None:
        fault = planned.replace(operation.id, identify(request, world))
        if fault:
            return Outcome(operation, fault, respond_by_fault(request, operation, fault, contract))
    response = respond_by_preference(request, operation, preferences, contract)
    return Outcome(operation, None, response)


def identify(request: Request, world: str) -> int:
    """Return a number that is equal for equal requests to a world."""
    return hash((request.method, read_target(request.environ), world, request.get_data()))


def read_preferences(request: Request) -> dict[str, str]:
    """Return the preferences in the header `Prefer` (RFC 7240 §2) by name: `{"code": "409"}`.

    Only the first preference with a name counts. Parameters are left out.
    """
    from urllib.request import parse_http_list  # Most requests have no preferences.

    found: dict[str, str] = {}
    for preference in parse_http_list(request.environ.get("HTTP_PREFER", "")):
        name, _, rest = preference.partition("=")
        value, _, _ = rest.partition(";")
        found.setdefault(name.strip().lower(), unquote_header_value(value.strip()))
    return found


def find_status(preferences: Mapping[str, str]) -> int | None:
    """Return the status in the preference `code`; None without a status of an error."""
    code = preferences.get("code", "")
    return int(code) if re.fullmatch("[45][0-9]{2}", code) else None


def respond_by_fault(
    request: Request, operation: openapi.Operation | None, fault: Fault, contract: openapi.Contract
) -> ResponseReturnValue | None:
    """Make the response with the status of a fault. Without a status, the view responds."""
    if fault.skips_operation:
        return "", 503  # Nothing of it is sent.
    status = fault.status
    if status is None:
        return None
    if not fault.has_own_body:
        return respond_with_status(request, operation, status, {}, contract)
    code, _ = find_error(contract, operation, status)
    response = fault.make_response()
    response.headers.update(make_error_headers(request, status, code, contract))
    return response


def respond_by_preference(
    request: Request,
    operation: openapi.Operation | None,
    preferences: Mapping[str, str],
    contract: openapi.Contract,
) -> ResponseReturnValue | None:
    """Make the response of `Prefer: example=name_taken` or `Prefer: code=409`.

    The view responds if no preference names a response of the contract or a status of an error.
    """
    status = find_status(preferences)
    if "example" in preferences:
        example = find_example(contract, operation, preferences["example"], status)
        if example:
            return make_example(request, example, contract)
    if status is None:
        return None
    headers = make_preference_headers(status, f"code={status}")
    return respond_with_status(request, operation, status, headers, contract)


def respond_with_status(
    request: Request,
    operation: openapi.Operation | None,
    status: int,
    headers: dict[str, str],
    contract: openapi.Contract,
) -> ResponseReturnValue:
    """Respond with the problem that the contract has for a status."""
    code, example = find_error(contract, operation, status)
    headers = headers | make_error_headers(request, status, code, contract)
    errors = [problems.FieldError(**error) for error in example]
    return problems.respond(
        problems.Problem(status, code, REQUESTED, headers=headers, errors=errors)
    )


def make_example(
    request: Request, example: Example, contract: openapi.Contract
) -> ResponseReturnValue:
    """Make the response that is an example in the contract.

    An error is a problem, so that a profile can give it another form.
    """
    status, name, value = example
    shown = name if re.fullmatch(r"[\w.-]+", name, re.ASCII) else f'"{name}"'
    headers = make_preference_headers(status, f"example={shown}")
    if status < 400:
        return f"{json.dumps(value)}\n", status, {**JSON, **headers}
    headers |= make_error_headers(request, status, name, contract)
    if name == "token_missing":  # It has no `error` (RFC 6750 §3.1).
        headers["WWW-Authenticate"], *_ = contract.challenge.split(",")
    problem = value or {"detail": REQUESTED}
    errors = [problems.FieldError(**error) for error in problem.get("errors", ())]
    return problems.respond(
        problems.Problem(status, name, problem["detail"], headers=headers, errors=errors)
    )


def make_preference_headers(status: int, applied: str) -> dict[str, str]:
    """Make the fields of a response to `Prefer`: `{"Preference-Applied": "code=409"}`."""
    headers = {"Preference-Applied": applied}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return headers


def make_error_headers(
    request: Request, status: int, code: str, contract: openapi.Contract
) -> dict[str, str]:
    """Make the fields of an error with this status or code: `{"Allow": "GET, HEAD"}`."""
    headers: dict[str, str] = {}
    # A profile may have another status for a code.
    if status == 401 or code in ("token_missing", "token_invalid"):
        headers["WWW-Authenticate"] = contract.challenge
    if status == 405 or code == "method_not_allowed":
        methods = current_app.url_map.bind("").allowed_methods(request.path)
        headers |= {"Allow": ", ".join(sorted(methods))} if methods else {}
    return headers


# In the contract


def find_error(
    contract: openapi.Contract, operation: openapi.Operation | None, status: int
) -> tuple[str, list[dict[str, str]]]:
    """Return the code of the problem for a status, and the errors of its example.

    The code is `injected_fault` if the contract has no error with this status, or only that of an
    unavailable store, which is not the reason.
    """
    response = find_response(contract, operation, str(status))
    if status < 400 or response is None:
        return "injected_fault", []
    codes = [code for code in list_codes(response) if code != "store_unavailable"]
    if not codes:
        return "injected_fault", []
    code = codes[0]
    for content in response.get("content", {}).values():
        if content["schema"] == make_ref("Problem") and code in content["examples"]:
            problem = content["examples"][code]["value"]
            return code, problem.get("errors", [])
    return code, []


def find_example(
    contract: openapi.Contract, operation: openapi.Operation | None, name: str, status: int | None
) -> Example | None:
    """Find an example by its name in the responses of an operation, or of no operation.

    A status restricts the search to the response with it. The name of an error of a profile is
    its code, and its value is None.
    """
    responses = operation.responses if operation else contract.elsewhere
    for text, response in responses.items():
        if status not in (None, int(text)):
            continue
        for content in response.get("content", {}).values():
            examples = content.get("examples", {})
            is_plain = content["schema"] == make_ref("Problem") or text < "400"
            if name in examples and is_plain:
                return Example(int(text), name, examples[name]["value"])
        if text >= "400" and name in list_codes(response):
            return Example(int(text), name)
    return None


def find_response(
    contract: openapi.Contract, operation: openapi.Operation | None, status: str
) -> dict[str, Any] | None:
    """Return the response with this status, or None."""
    response = contract.elsewhere.get(status)
    if operation is None:
        return response
    # All operations may have the status of a method that is not allowed.
    may_be_any = response is not None and "method_not_allowed" in list_codes(response)
    return operation.responses.get(status, response if may_be_any else None)


def list_codes(response: dict[str, Any]) -> list[str]:
    """Return the codes of the errors in a response: `["token_missing", "token_invalid"]`."""
    if "x-codes" in response:  # The errors of a profile may have no body.
        own: list[str] = response["x-codes"]
        return own
    (content,) = response["content"].values()
    return [*content["examples"]]
