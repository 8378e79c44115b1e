"""What a fault or `Prefer` does to a request: decided before the view."""

import json
import re
from typing import NamedTuple

from flask import Request, current_app
from flask.typing import ResponseReturnValue

from profiles.openapi import Contract, Example, Operation
from web.problems import FieldError, Problem, respond
from web.strict_json import JSON

from .failures import Failures, identify
from .faults import Fault, Faults

REQUESTED = "This response was requested with `Prefer` or `/_stub/faults`."
# `code=` and `example=` among the preferences of RFC 7240 §2, and the quoted values of others.
CODE = re.compile(r'(?:^|,)\s*code\s*=\s*("?)([45][0-9]{2})\1\s*(?:[;,]|$)', re.IGNORECASE)
NOT_CODE = re.compile(r'(?<!\bcode)(?<!\s)\s*=\s*"[^"]*"', re.IGNORECASE)
EXAMPLE = re.compile(
    r'(?:^|,)\s*example\s*=\s*(?:"([^"]+)"|([^\s",;]+))\s*(?:[;,]|$)', re.IGNORECASE
)
NOT_EXAMPLE = re.compile(r'(?<!\bexample)(?<!\s)\s*=\s*"[^"]*"', re.IGNORECASE)
TOKEN = re.compile(r"[A-Za-z0-9_.-]+")


class Outcome(NamedTuple):
    """What happens to a request. `response` is requested in place of the view's."""

    operation: Operation | None
    fault: Fault | None = None
    response: ResponseReturnValue | None = None


def decide(
    request: Request,
    operation: Operation | None,
    faults: Faults,
    world: str,
    contract: Contract,
    failures: Failures | None,
) -> Outcome:
    """Decide the outcome of a request to `/v1`. A fault that matches it is used up.

    `failures` are those of a run of `--probe failures`: a request meets one of them if the tests
    have requested nothing for it.
    """
    fault = faults.take(operation.id if operation else None, request)
    prefers = "HTTP_PREFER" in request.environ and not fault
    status = preferred_status(request) if prefers else None
    if fault:
        status = fault.status
    if failures and operation and not fault and status is None:
        sent = identify(request, world)
        fault = failures.replace(operation.id, sent)
        status = fault.status if fault else None
    response: ResponseReturnValue | None = None
    if fault and fault.drop and not fault.performed:
        response = "", 503  # of which nothing is sent
    elif prefers and (example := find_example(request, operation, status, contract)):
        response = example_response(request, example, contract)
    elif status is not None:
        response = requested_response(request, operation, status, fault, contract)
    return Outcome(operation, fault, response)


def preferred_status(request: Request) -> int | None:
    """The status that a client requests with `Prefer`, if any."""
    sent = request.environ.get("HTTP_PREFER")
    found = CODE.search(NOT_CODE.sub("", sent)) if sent else None
    return int(found[2]) if found else None


def find_example(
    request: Request, operation: Operation | None, status: int | None, contract: Contract
) -> Example | None:
    """Find the example that a client requests with `Prefer`, such as `example=name_taken`.

    With a status it is one of the response with this status.
    """
    sent = request.environ.get("HTTP_PREFER")
    found = EXAMPLE.search(NOT_EXAMPLE.sub("", sent)) if sent else None
    if not found:
        return None
    return contract.find_example(operation, found[1] or found[2], status)


def requested_response(
    request: Request,
    operation: Operation | None,
    status: int,
    fault: Fault | None,
    contract: Contract,
) -> ResponseReturnValue:
    """The response of a fault with a status; without a fault, that of `Prefer`."""
    code, example = contract.problem(operation, status)
    headers = {} if fault else preference_headers(status, f"code={status}")
    headers |= error_headers(request, status, code, contract)
    if fault and fault.has_own_body:
        response = fault.own_response()
        response.headers.update(headers)
        return response
    errors = [FieldError(**error) for error in example]
    return respond(Problem(status, code, REQUESTED, headers=headers, errors=errors))


def example_response(request: Request, example: Example, contract: Contract) -> ResponseReturnValue:
    """The response that is an example of the contract; of a profile's error, in its form."""
    status, name, value = example
    shown = name if TOKEN.fullmatch(name) else f'"{name}"'
    headers = preference_headers(status, f"example={shown}")
    if status < 400:
        return f"{json.dumps(value)}\n", status, {**JSON, **headers}
    headers |= error_headers(request, status, name, contract)
    if name == "token_missing":  # RFC 6750 §3.1: without an error.
        headers["WWW-Authenticate"], *_ = contract.challenge.split(",")
    problem = value or {"detail": REQUESTED}
    errors = [FieldError(**error) for error in problem.get("errors", ())]
    return respond(Problem(status, name, problem["detail"], headers=headers, errors=errors))


def preference_headers(status: int, applied: str) -> dict[str, str]:
    headers = {"Preference-Applied": applied}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return headers


def error_headers(request: Request, status: int, code: str, contract: Contract) -> dict[str, str]:
    """The fields that an error of this status or code has."""
    headers: dict[str, str] = {}
    # A profile may have another status for a code.
    if status == 401 or code in ("token_missing", "token_invalid"):
        headers["WWW-Authenticate"] = contract.challenge
    if status == 405 or code == "method_not_allowed":
        methods = current_app.url_map.bind("").allowed_methods(request.path)
        headers |= {"Allow": ", ".join(sorted(methods))} if methods else {}
    return headers
