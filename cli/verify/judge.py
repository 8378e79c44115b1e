"""Judges a response by its probe: what the contract says of it, and how it relates to others."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import stub

from .contract import MISSING, NO_JSON, PROBLEM, Claim, Contract, json_of, type_of
from .probes import GET_DEPLOYMENT, INPUT, LIST, PROJECTS, RESPONSES, SCHEMAS, TOKEN, Probe
from .service import Exchange

PROJECT_LIST = f"{SCHEMAS}ProjectList"
PROJECT = f"{SCHEMAS}Project"
RECORD = f"{SCHEMAS}Deployment"
LATEST = f"{PROJECT}/properties/latest_deployment_id"
ALLOW = "#/components/headers/Allow"
METHOD_NOT_ALLOWED = f"{RESPONSES}MethodNotAllowed"
MAX_WRAPS = 3  # objects around the array of a list
INVALID_BODY = f"{RESPONSES}InvalidBody"
ERRORS = f"{PROBLEM}/properties/errors"  # which this response alone has
OWN_MEMBER = "stub_verify"


class Judge:
    """Judges responses. `owners` has the ids of projects by the id of their latest deployment.

    `unknown_path` is the response to a path that cannot exist, once there is one.
    """

    def __init__(self, contract: Contract) -> None:
        self.unknown_path: Exchange | None = None
        self.owners: dict[str, set[str]] = {}
        self.lost: set[str] = set()  # paths of the contract that do not seem to exist
        self._contract = contract
        self._members = contract.find(PROBLEM)[1]["required"]

    def claims(self, probe: Probe, exchange: Exchange) -> Iterator[Claim]:
        """What a response says about the parts of its probe."""
        if not probe.expects or self.failure(probe, exchange):
            return
        is_plain_get = probe.method == "GET" and probe.authorization == TOKEN
        if exchange.status == 404 and probe.path in self.lost and not is_plain_get:
            return  # the path alone is missing
        pointer, _ = self._contract.find(probe.expects)
        status = self._contract.status(pointer)
        if status < 400:
            if not exchange.is_success:
                yield from self._judge_failed(probe, pointer, status, exchange)
                return
            yield from (claim(rule, True, "success", "") for rule in probe.rules)
            yield from self._contract.judge(pointer, exchange)
            yield from self._compare(probe, exchange)
        elif exchange.is_success and probe.rules:
            for rule in probe.rules:
                yield claim(rule, False, "rejected", f"accepted with {exchange.status}")
        elif exchange.status == status:
            yield from (claim(rule, True, "rejected", "") for rule in probe.rules)
            yield from self._contract.judge(pointer, exchange)
            yield from self._compare_problem(probe, pointer, exchange)
        else:
            if exchange.status >= 400:
                yield from (claim(rule, True, "rejected", "") for rule in probe.rules)
            yield claim(pointer, False, str(status), str(exchange.status))

    def _judge_failed(
        self, probe: Probe, pointer: str, status: int, exchange: Exchange
    ) -> Iterator[Claim]:
        """What it says that a request which should succeed did not."""
        observed = str(exchange.status)
        operation = pointer.partition("/responses/")[0]
        if exchange.status < 400:
            yield claim(pointer, False, str(status), observed)
        elif exchange.status == 405 or (probe.path == PROJECTS and exchange.status == 404):
            if probe.method == "GET" and exchange.status == 404:
                self.lost.add(probe.path)
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
            self.lost.add(probe.path)
            yield claim(operation, False, "success", "404, as for a path that does not exist")
        else:
            yield claim(LATEST, False, "the id of a deployment", "404")

    def _is_like_unknown_path(self, exchange: Exchange) -> bool:
        other = self.unknown_path
        return other is not None and other.status == 404 and likeness(other) == likeness(exchange)

    def _compare(self, probe: Probe, exchange: Exchange) -> Iterator[Claim]:
        """The relations within a list, and of a deployment to the id in the path."""
        if probe.expects == LIST.expects:
            projects = self.projects_of(exchange)
            made = [stub.parse_time(each.get("created_at")) for each in projects]
            times = [each for each in made if each]
            if len(times) == len(made) > 1:
                part = f"{PROJECT_LIST}/properties/projects"
                yield claim(part, times == sorted(times), "oldest first", "another order")
        elif probe.expects == GET_DEPLOYMENT.expects:
            record = self._contract.unwrap(RECORD, object_of(exchange))
            asked = unquote(exchange.target.rpartition("/")[2])
            if is_id(record.get("id")):
                part, is_same = f"{RECORD}/properties/id", str(record["id"]) == asked
                yield claim(part, is_same, "the id of the path", "another id")
            owners, project_id = self.owners.get(asked), record.get("project_id")
            if owners and project_id is not None:
                part, is_its = f"{RECORD}/properties/project_id", str(project_id) in owners
                yield claim(part, is_its, "the id of its project", "another id")

    def projects_of(self, exchange: Exchange) -> list[dict[str, Any]]:
        """The records of a list, none if it has no such form."""
        found = [each for each in array_of(exchange) or () if isinstance(each, dict)]
        return [self._contract.unwrap(PROJECT, each) for each in found]

    def _compare_problem(self, probe: Probe, pointer: str, exchange: Exchange) -> Iterator[Claim]:
        """The relations of a problem document to its response, and of the response to its path."""
        problem = self._contract.unwrap(PROBLEM, object_of(exchange))
        if type_of(problem.get("status")) == "integer":
            part, is_same = f"{PROBLEM}/properties/status", problem["status"] == exchange.status
            yield claim(part, is_same, "the status of the response", "another status")
        allowed = exchange.header("Allow")
        if pointer == METHOD_NOT_ALLOWED and allowed is not None:
            missing = self._contract.methods(probe.path) - {*re.split(r"[\s,]+", allowed)}
            part, otherwise = f"{ALLOW}/schema", f"without {', '.join(sorted(missing))}"
            yield claim(part, not missing, "the methods of the path", otherwise)
        if pointer == INVALID_BODY and "errors" not in problem and {*problem} & {*self._members}:
            yield claim(ERRORS, False, "present", MISSING)

    def failure(self, probe: Probe, exchange: Exchange) -> str:
        """Why a response says nothing about the contract, if so."""
        if exchange.failure or not probe.expects:
            return exchange.failure
        if self._contract.status(probe.expects) < 400 and exchange.status in (401, 403):
            return f"{exchange.status}: the token is not accepted for this"
        if probe.expects == LIST.expects and exchange.status == 200:
            return "no JSON where the list should be" if json_of(exchange) is NO_JSON else ""
        return ""

    def compare_created(
        self, record: dict[str, Any], exchange: Exchange, word: str, name: str
    ) -> Iterator[Claim]:
        """What was sent, in a response."""
        if "name" in record and isinstance(record["name"], str):
            part = f"{PROJECT}/properties/name"
            yield claim(part, record["name"] == name, "as it was sent", "changed")
        if record and OWN_MEMBER.encode() in exchange.body:
            is_kept = record.get(OWN_MEMBER) == word
            observed = "changed" if OWN_MEMBER in record else "left out"
            yield claim(PROJECT, is_kept, "members of the client as they were sent", observed)


def claim(part: str, agrees: bool, expected: str, otherwise: str) -> Claim:
    """The claim of a relation; `otherwise` is what was observed if it does not hold."""
    return Claim(part, agrees, expected, expected if agrees else otherwise)


def object_of(exchange: Exchange) -> dict[str, Any]:
    """The JSON object in the body, {} if there is none."""
    value = json_of(exchange)
    return value if isinstance(value, dict) else {}


def array_of(exchange: Exchange) -> list[Any] | None:
    """The array of a list, under whatever name and however deep it has it; None without one."""
    value = json_of(exchange) if exchange.is_success else None
    for _ in range(MAX_WRAPS):
        if not isinstance(value, dict):
            break
        members = [value.get("projects"), *value.values()]
        arrays = [each for each in members if isinstance(each, list)]
        objects = [each for each in members if isinstance(each, dict)]
        value = next(iter(arrays or objects), None)
    return value if isinstance(value, list) else None


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
