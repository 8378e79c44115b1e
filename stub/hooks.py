"""What the stub does with each request: one function before the view, one after it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Request, Response, current_app, g, request
from werkzeug.wsgi import get_path_info

from problems import FieldError, Problem
from redaction import Redactor

from .contract import Contract, Operation, find_unpromised, find_violations
from .coverage import Outcome
from .faults import Fault, preferred_status
from .grease import vary
from .journal import MAX_BODY, Entry, body_text, cut, header_fields, mask, sentences
from .worlds import World, Worlds

MAX_SHOWN = 160  # bytes of a name in a sentence
REQUESTED = "This response was requested with `Prefer` or `/_stub/faults`: see docs/testing.md."


def bound(proxy: Any) -> Any:
    """The object behind a proxy of Flask's: the proxy looks the object up for each attribute."""
    return proxy._get_current_object()


def start() -> None:
    """Note the time, before anything else."""
    bound(g).started = time.perf_counter()


@dataclass(frozen=True)
class Hooks:
    """The two functions, and what they work on."""

    worlds: Worlds
    contract: Contract
    redactor: Redactor
    sleep: Callable[[float], None]
    delay: Callable[[], float]  # seconds of the next response to `/v1`

    def before(self) -> None:
        """Enter the world, then take a fault or a preferred outcome of a request to `/v1`."""
        environ = bound(request).environ
        path = environ["PATH_INFO"]  # request.path has lost its leading slashes
        if not is_recorded(path):
            return
        context = bound(g)
        context.world = world = self.worlds.open(context.world_name)
        context.store = world.store
        if not path.startswith("/v1/"):
            return
        if world.faults:
            operation = self.contract.operation(request)
            name = operation.id if operation else None
            context.fault = fault = world.faults.take(name, request.method, request.path)
            if fault and fault.status:
                raise self.forced(fault.status)
        if "HTTP_PREFER" in environ and not context.get("fault"):
            self.prefer(environ["HTTP_PREFER"])

    def after(self, response: Response) -> Response:
        """Vary the response, record it, and then delay it or cut it short: in this order."""
        received, context = bound(request), vars(bound(g))
        path = received.environ["PATH_INFO"]
        if not is_recorded(path) or "is_preflight" in context:
            return response
        world: World = context.get("world") or self.worlds.intended(
            context.get("intended_world_name", "")
        )
        fault: Fault | None = context.get("fault")
        status = response.status_code
        axes = vary(world.greasing, response, self.contract, received)
        delay = self.delay() if path.startswith("/v1/") else 0.0
        entry = self.describe(received, context, world, response.status_code, axes, delay)
        shown = context.get("deployment_status") if received.method == "GET" else None
        is_forced = "is_forced" in context
        world.record(entry, Outcome(entry.operation, status, shown, is_forced))
        if delay:
            self.sleep(delay)
        if fault is not None:
            fault.apply(response, self.sleep, received.environ.get("server.close"))
        return response

    def describe(
        self,
        received: Request,
        context: dict[str, Any],
        world: World,
        status: int,
        axes: tuple[str, ...],
        delay: float,
    ) -> Entry:
        """The journal's entry for a request."""
        environ = received.environ
        operation = self.contract.operation(received)
        body = body_text(received)
        is_accepted = "world_name" in context
        unpromised, violations = self.findings(received, operation, body, is_accepted)
        fault: Fault | None = context.get("fault")
        delay += (fault.delay or 0) if fault else 0
        ms = (time.perf_counter() - context["started"] + delay) * 1000
        return Entry(
            time=world.clock(),
            method=environ["REQUEST_METHOD"],
            path=get_path_info(environ),  # request.path has lost its leading slashes
            query=environ["QUERY_STRING"],
            headers=header_fields(environ),
            body=body and mask(body, MAX_BODY, self.redactor),
            status=status,
            code=context.get("problem_code"),
            operation=operation.id if operation else None,
            fault=fault.id if fault else None,
            ms=0 if world.clock.is_frozen else ms,
            unpromised=unpromised,
            violations=violations,
            grease=axes,
        )

    def findings(
        self, received: Request, operation: Operation | None, body: str, is_accepted: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a request depends on without a promise, and what it violates.

        `is_accepted` is whether the bearer check accepted the request.
        """
        environ = received.environ
        unpromised: tuple[str, ...] = ()
        violations: tuple[str, ...] = ()
        if operation and is_accepted and (body or environ["QUERY_STRING"]):
            unpromised = sentences(find_unpromised(operation, received, body, self.mask_name))
        if operation is None or not is_accepted:
            header = None if is_accepted else received.headers.get("Authorization", "")
            method, path = environ["REQUEST_METHOD"], get_path_info(environ)
            target = f"{self.mask_name(method)} {self.mask_name(path)}"
            violations = sentences(find_violations(operation, header, target))
        return unpromised, violations

    def mask_name(self, name: str) -> str:
        return cut(self.redactor.text(name), MAX_SHOWN)

    def forced(self, status: int, code: str = "injected_fault") -> Problem:
        """A problem that was requested, with the headers of a real one."""
        g.is_forced = True
        headers = {}
        if status == 401:
            headers["WWW-Authenticate"] = self.contract.challenge
        if status == 405:
            methods = current_app.url_map.bind("").allowed_methods(request.path)
            if methods:
                headers["Allow"] = ", ".join(sorted(methods))
        return Problem(status, code, REQUESTED, headers=headers)

    def prefer(self, header: str) -> None:
        """Raise the problem that `Prefer: code=…` names, with the document of the contract."""
        status = preferred_status(header)
        if status is None:
            return
        example = self.contract.problem(self.contract.operation(request), status) or {}
        problem = self.forced(status, example.get("code", "injected_fault"))
        problem.headers["Preference-Applied"] = f"code={status}"
        if status == 503:
            problem.headers["Retry-After"] = "1"
        problem.errors = [FieldError(**error) for error in example.get("errors", ())]
        raise problem


def is_recorded(path: str) -> bool:
    """Whether a request to this path is for the interface, or tries to be."""
    return not (path.startswith("/_stub/") or path in ("/_stub", "/openapi.json", "/"))
