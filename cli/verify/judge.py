"""Judges a response by its probe: what the contract says of it, and how it relates to others."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import stub

from .client import TOKEN, Exchange
from .forms import MISSING, NO_JSON, Claim, Forms, array_in, claim, json_of, type_of, unwrap
from .probes import (
    BEARER,
    DEPLOYMENT_ID,
    INPUT,
    LIST,
    PROJECTS,
    RESPONSES,
    SCHEMAS,
    Probe,
)

PROJECT_LIST = f"{SCHEMAS}ProjectList"
PROJECT = f"{SCHEMAS}Project"
RECORD = f"{SCHEMAS}Deployment"
PROBLEM = f"{SCHEMAS}Problem"
LATEST = f"{PROJECT}/properties/latest_deployment_id"
ALLOW = "#/components/headers/Allow"
METHOD_NOT_ALLOWED = f"{RESPONSES}MethodNotAllowed"
INVALID_BODY = f"{RESPONSES}InvalidBody"
ERRORS = f"{PROBLEM}/properties/errors"  # which this response alone has
OWN_MEMBER = "stub_verify"
OF_THE_BODY = (400, 409, 413, 415, 422)  # statuses that a body may be the reason for
COULD_NOT_CHECK, NOT_SEEN = "could not check", "not seen"


class Judge:
    """Judges responses. `owners` has the ids of projects by the id of their latest deployment.

    `unknown_path` is the response to a path that cannot exist, once there is one.
    """

    def __init__(self, forms: Forms) -> None:
        self.unknown_path: Exchange | None = None
        self.owners: dict[str, set[str]] = {}
        self._lost: set[str] = set()  # paths of the contract that do not seem to exist
        self._succeeded: set[tuple[str, str]] = set()  # methods and paths, with the token
        self._forms = forms

    def silence(self, probe: Probe, exchange: Exchange) -> tuple[str, str] | None:
        """The verdict of the probe's parts, and why a response says nothing of them, if so."""
        status = exchange.status
        if exchange.failure or not probe.expects:
            return (COULD_NOT_CHECK, exchange.failure) if exchange.failure else None
        if self._forms.status(probe.expects) < 400 and status in (401, 403):
            return COULD_NOT_CHECK, f"{status}: the token is not accepted for this"
        if probe.expects == LIST.expects and status == 200 and json_of(exchange) is NO_JSON:
            return COULD_NOT_CHECK, "no JSON where the list should be"
        is_of_body = probe.method == "POST" and (status < 400 or status in OF_THE_BODY)
        is_of_token = (probe.method, probe.path) in self._succeeded and not is_of_body
        if BEARER in probe.rules and not exchange.is_success and status not in (401, 403):
            return None if is_of_token else (NOT_SEEN, f"{status} tells nothing of the token")
        return None

    def claims(self, probe: Probe, exchange: Exchange) -> Iterator[Claim]:
        """What a response says about the parts of its probe."""
        if not probe.expects or self.silence(probe, exchange):
            return
        is_plain_get = probe.method == "GET" and probe.authorization == TOKEN
        is_elsewhere = exchange.status == 404 or exchange.location is not None
        if is_elsewhere and probe.path in self._lost and not is_plain_get:
            return  # the path alone is missing
        pointer, _ = self._forms.contract.find(probe.expects)
        status = self._forms.status(pointer)
        if status < 400 and not exchange.is_success:
            yield from self._judge_failed(probe, pointer, status, exchange)
        elif status < 400:
            self._succeeded.add((probe.method, probe.path))
            yield from (claim(rule, True, "success", "") for rule in probe.rules)
            yield from self._forms.judge(pointer, exchange)
        elif exchange.is_success and probe.rules:
            for rule in probe.rules:
                yield claim(rule, False, "rejected", f"accepted with {exchange.status}")
        else:
            if exchange.status >= 400 or BEARER in probe.rules:
                yield from (claim(rule, True, "rejected", "") for rule in probe.rules)
            if exchange.status == status:
                yield from self._forms.judge(pointer, exchange)
                yield from self._compare_problem(probe, pointer, exchange)
            else:
                yield claim(pointer, False, str(status), str(exchange.status))
        if exchange.is_success and is_plain_get:
            yield from self._compare(probe, exchange)

    def _judge_failed(
        self, probe: Probe, pointer: str, status: int, exchange: Exchange
    ) -> Iterator[Claim]:
        """What it says that a request which should succeed did not."""
        observed = str(exchange.status)
        operation = pointer.partition("/responses/")[0]
        if probe.method == "GET" and self.is_moved(exchange):
            self._lost.add(probe.path)
            place = f"Location: {exchange.header('Location')}"
            yield Claim(probe.path, False, "exists", f"{observed}, a redirect", place)
        elif exchange.status < 400:
            yield claim(pointer, False, str(status), observed)
        elif exchange.status == 405 or (probe.path == PROJECTS and exchange.status == 404):
            if probe.method == "GET" and exchange.status == 404:
                self._lost.add(probe.path)
            yield claim(operation, False, "success", observed)
        elif probe.method == "POST" and exchange.status == 415:
            yield claim(f"{operation}/requestBody", False, "JSON is accepted", observed)
        elif probe.method == "POST":
            yield claim(INPUT, False, "a name and other members are accepted", observed)
        elif probe.path == PROJECTS:
            yield claim(operation, False, "success", observed)
        elif exchange.status != 404:
            yield claim(pointer, False, str(status), observed)
        elif self._is_like_unknown_path(exchange):
            self._lost.add(probe.path)
            yield claim(operation, False, "success", "404, as for a path that does not exist")
        else:
            yield claim(LATEST, False, "the id of a deployment", "404")

    @staticmethod
    def is_moved(exchange: Exchange) -> bool:
        """Whether a redirect leads to a place of the same origin."""
        return (exchange.location or "").startswith(f"{exchange.origin}/")

    def _is_like_unknown_path(self, exchange: Exchange) -> bool:
        other = self.unknown_path
        return other is not None and other.status == 404 and likeness(other) == likeness(exchange)

    def _compare(self, probe: Probe, exchange: Exchange) -> Iterator[Claim]:
        """The relations within a list, and of a deployment to the id in the path."""
        if probe.path == PROJECTS:
            projects = self.projects_of(exchange)
            once: dict[str, dict[str, Any]] = {}
            for each in projects:
                key = each["id"] if is_id(each.get("id")) else each
                once.setdefault(json.dumps(key, sort_keys=True), each)
            part = f"{PROJECT_LIST}/properties/projects"
            if len(once) < len(projects):
                yield claim(part, False, "each project once", "a project twice")
            made = [stub.parse_time(each.get("created_at")) for each in once.values()]
            times = [each for each in made if each]
            if len(times) == len(made) > 1:
                yield claim(part, times == sorted(times), "oldest first", "another order")
        elif "/deployments/" in probe.target:
            record = self.unwrap(RECORD, object_of(exchange))
            asked = unquote(exchange.target.rpartition("/")[2])
            if is_id(record.get("id")):
                is_it = str(record["id"]) == asked
                yield claim(DEPLOYMENT_ID, is_it, "the deployment of this id", "another one")
            owners, project_id = self.owners.get(asked), record.get("project_id")
            if owners and project_id is not None:
                part, is_its = f"{RECORD}/properties/project_id", str(project_id) in owners
                yield claim(part, is_its, "the id of its project", "another id")

    def projects_of(self, exchange: Exchange) -> list[dict[str, Any]]:
        """The records of a list, none if it has no such form."""
        found = [each for each in array_of(exchange) or () if isinstance(each, dict)]
        return [self.unwrap(PROJECT, each) for each in found]

    def unwrap(self, schema: str, value: Any) -> dict[str, Any]:
        """The record, also of an object around it."""
        return unwrap(value, self._forms.contract.find(schema)[1]["required"])

    def _compare_problem(self, probe: Probe, pointer: str, exchange: Exchange) -> Iterator[Claim]:
        """The relations of a problem document to its response, and of the response to its path."""
        problem = self.unwrap(PROBLEM, object_of(exchange))
        if type_of(problem.get("status")) == "integer":
            part, is_same = f"{PROBLEM}/properties/status", problem["status"] == exchange.status
            yield claim(part, is_same, "the status of the response", "another status")
        allowed = exchange.header("Allow")
        if pointer == METHOD_NOT_ALLOWED and allowed is not None:
            declared = {name.upper() for name in self._forms.contract.find(probe.path)[1]}
            missing = declared & {"GET", "POST"} - {*re.split(r"[\s,]+", allowed)}
            part, otherwise = f"{ALLOW}/schema", f"without {', '.join(sorted(missing))}"
            yield claim(part, not missing, "the methods of the path", otherwise)
        members = self._forms.contract.schemas["Problem"]["required"]
        if pointer == INVALID_BODY and "errors" not in problem and {*problem} & {*members}:
            yield claim(ERRORS, False, "present", MISSING)

    def compare_created(
        self, record: dict[str, Any], exchange: Exchange, word: str, name: str
    ) -> Iterator[Claim]:
        """What was sent, in a response."""
        if isinstance(record.get("name"), str):
            part = f"{PROJECT}/properties/name"
            yield claim(part, record["name"] == name, "as it was sent", "changed")
        if record and OWN_MEMBER.encode() in exchange.body:
            is_kept = record.get(OWN_MEMBER) == word
            observed = "changed" if OWN_MEMBER in record else "left out"
            yield claim(PROJECT, is_kept, "members of the client as they were sent", observed)


def object_of(exchange: Exchange) -> dict[str, Any]:
    """The JSON object in the body, {} if there is none."""
    value = json_of(exchange)
    return value if isinstance(value, dict) else {}


def array_of(exchange: Exchange) -> list[Any] | None:
    """The array of a list, None without one."""
    return array_in(json_of(exchange), "projects") if exchange.is_success else None


def latest_of(project: dict[str, Any]) -> str:
    """The id of a project's latest deployment as it stands in a path, "" if it has none."""
    latest = project.get("latest_deployment_id")
    return str(latest) if is_id(latest) else ""


def is_id(value: Any) -> bool:
    """Whether it can be sent in a path."""
    if isinstance(value, str):
        return value not in ("", ".", "..") and not re.search("[\ud800-\udfff]", value)
    return type_of(value) == "integer"


def likeness(exchange: Exchange) -> Any:
    """What responses for one reason have in common: the code of the error, or the whole body."""
    code = object_of(exchange).get("code")
    asked = unquote(exchange.target).rpartition("/")[2]
    body = exchange.content.decode(errors="replace")
    return code or body.replace(exchange.target, "").replace(asked, "")
