"""Decides the outcome of a request before the view, by a fault or by `Prefer`."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Request, Response, current_app
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
    """An example of a response in the contract: `Example(409, "name_taken", {…})`.

    For an error, the name is the code. The value is None if a profile has another form of it.
    """

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
    """Decide the outcome of a request to `/v1`.

    A waiting fault that matches comes first. It counts the request, and is removed after the last
    of its `times`. Then come the planned faults of `--probe failures`, which spare a request whose
    `Prefer` names a status, and then `Prefer`.
    """
    responder = Responder(request, operation, contract)
    fault = faults.take(operation.id if operation else None, request)
    if fault:
        return Outcome(operation, fault, responder.respond_by_fault(fault))
    preferences = read_preferences(request)
    if planned and operation and find_status(preferences) is None:
        fault = planned.replace(operation.id, identify(request, world))
        if fault:
            return Outcome(operation, fault, responder.respond_by_fault(fault))
    return Outcome(operation, None, responder.respond_by_preference(preferences))


def identify(request: Request, world: str) -> int:
    """Return a number that is equal for equal requests to a world."""
    return hash((request.method, read_target(request.environ), world, request.get_data()))


def read_preferences(request: Request) -> dict[str, str]:
    """Return the preferences in the header `Prefer` (RFC 7240 §2) by name: `{"code": "409"}`.

    Only the first preference with a name counts. Parameters are left out.
    """
    from urllib.request import parse_http_list

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


def make_preference_headers(status: int, applied: str) -> dict[str, str]:
    """Make the fields of a response to `Prefer`: `{"Preference-Applied": "code=409"}`."""
    headers = {"Preference-Applied": applied}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return headers


class Responder:
    """Responds to a request as a fault or `Prefer` requests, with the examples of the contract."""

    def __init__(
        self,
        request: Request,
        operation: openapi.Operation | None,
        contract: openapi.Contract,
    ) -> None:
        self.request = request
        self.operation = operation
        self.contract = contract

    def respond_by_fault(self, fault: Fault) -> ResponseReturnValue | None:
        """Respond with the status of a fault. Return None if it has no status."""
        if fault.skips_operation:
            return "", 503  # Nothing of it is sent.
        if fault.status is None:
            return None
        error = self._find_error(fault.status)
        if not fault.has_own_body:
            return self._respond_with_error(error, {})
        response = fault.make_response()
        response.headers.update(self._make_error_headers(error))
        return response

    def respond_by_preference(self, preferences: Mapping[str, str]) -> ResponseReturnValue | None:
        """Respond to `Prefer: example=name_taken` or `Prefer: code=409`.

        Return None if no preference names an example of the contract or the status of an error.
        """
        status = find_status(preferences)
        name = preferences.get("example")
        example = None if name is None else self._find_example(name, status)
        if example:
            return self._respond_with_example(example)
        if status is None:
            return None
        headers = make_preference_headers(status, f"code={status}")
        return self._respond_with_error(self._find_error(status), headers)

    def _respond_with_example(self, example: Example) -> ResponseReturnValue:
        status, name, value = example
        shown = name if re.fullmatch(r"[\w.-]+", name, re.ASCII) else f'"{name}"'
        headers = make_preference_headers(status, f"example={shown}")
        if status < 400:
            return f"{json.dumps(value)}\n", status, {**JSON, **headers}
        detail = value["detail"] if value else REQUESTED
        response = self._respond_with_error(example, headers, detail)
        if name == "token_missing":  # It has no `error` (RFC 6750 §3.1).
            response.headers["WWW-Authenticate"], *_ = self.contract.challenge.split(",")
        return response

    def _respond_with_error(
        self, error: Example, headers: dict[str, str], detail: str = REQUESTED
    ) -> Response:
        """Respond with a problem, so that a profile can give it another form."""
        example = error.value or {}
        errors = [problems.FieldError(**each) for each in example.get("errors", ())]
        headers = headers | self._make_error_headers(error)
        problem = problems.Problem(error.status, error.name, detail, headers=headers, errors=errors)
        return problems.respond(problem)

    def _make_error_headers(self, error: Example) -> dict[str, str]:
        """Make the fields of an error: `{"Allow": "GET, HEAD"}`."""
        headers: dict[str, str] = {}
        # A profile may have another status for a code.
        if error.status == 401 or error.name in ("token_missing", "token_invalid"):
            headers["WWW-Authenticate"] = self.contract.challenge
        if error.status == 405 or error.name == "method_not_allowed":
            methods = current_app.url_map.bind("").allowed_methods(self.request.path)
            headers |= {"Allow": ", ".join(sorted(methods))} if methods else {}
        return headers

    def _find_error(self, status: int) -> Example:
        """Find the first error with a status.

        It is `injected_fault` if the contract has no error with this status, or only that of an
        unavailable store, which is not the reason.
        """
        response = self._find_response(str(status))
        if status >= 400 and response is not None:
            for code in list_codes(response):
                if code != "store_unavailable":
                    return self._find_example(code, status) or Example(status, code)
        return Example(status, "injected_fault")

    def _find_example(self, name: str, status: int | None) -> Example | None:
        """Find an example by its name. A status restricts the search to its response."""
        operation = self.operation
        responses = operation.responses if operation else self.contract.elsewhere
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

    def _find_response(self, status: str) -> dict[str, Any] | None:
        response = self.contract.elsewhere.get(status)
        if self.operation is None:
            return response
        # All operations may have the status of a method that is not allowed.
        may_be_any = response is not None and "method_not_allowed" in list_codes(response)
        return self.operation.responses.get(status, response if may_be_any else None)


def list_codes(response: dict[str, Any]) -> list[str]:
    """Return the codes of the errors in a response: `["token_missing", "token_invalid"]`."""
    if "x-codes" in response:  # The errors of a profile may have no body.
        own: list[str] = response["x-codes"]
        return own
    (content,) = response["content"].values()
    return [*content["examples"]]
