"""Services with unlike bodies, the logs of sessions with them, and the profiles of these logs.

No request is sent: functions make the responses.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.verify.conftest import TOKEN as TOKEN
from verify.learn.infer import Inferred, infer_profile
from verify.seen.find_places import find_places
from verify.seen.hints import Hints
from verify.seen.secrets import find_secrets
from verify.seen.service_log import Log, ServiceExchange
from verify.seen.strangers import Strangers

BASE = "https://api.acme.example"
START = datetime(2026, 11, 25, 20, 38, 8, tzinfo=UTC)
NAME = "stub-verify-5f2c9a4b"


@dataclass(frozen=True)
class Project:
    """A project with its deployment, and the status of that."""

    number: int
    name: str
    status: Any = "succeeded"

    @property
    def id(self) -> str:
        return f"prj_{7040 + self.number}"

    @property
    def deployment_id(self) -> str:
        return f"dpl_{8050 + self.number}"

    @property
    def time(self) -> str:
        """The created project has the number 4. Its neighbours are a day older or younger."""
        at = START - timedelta(days=4 - self.number)
        return f"{at:%Y-%m-%dT%H:%M:%SZ}"


Body = Callable[[Project], Any]
Sent = tuple[int, dict[str, str], Any]  # status, header fields, body


def plain_project(project: Project) -> Any:
    return {
        "id": project.id, "name": project.name, "created_at": project.time,
        "latest_deployment_id": project.deployment_id,
    }  # fmt: skip


def plain_deployment(project: Project) -> Any:
    return {
        "id": project.deployment_id, "project_id": project.id, "status": project.status,
        "created_at": project.time,
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Api:
    """A service, made of the functions for its bodies.

    `run` has the statuses of the created deployment for its reads: `("queued", "succeeded")`.
    """

    item: Body = plain_project
    listed: Callable[[list[Any]], Any] = lambda items: {"projects": items}
    created: Callable[[Project], Sent] | None = None
    deployment: Body = plain_deployment
    error: Callable[[int, str], Any] = lambda status, code: {"status": status, "code": code}
    request: Mapping[str, Any] = field(default_factory=lambda: {"name": NAME})
    run: tuple[Any, ...] = ("queued", "building", "succeeded")
    headers: Mapping[str, str] = field(default_factory=dict)
    newest_first: bool = False
    id_in_path: Callable[[Project], Any] = lambda project: project.deployment_id
    media_type: str = "application/json"

    def log(self, base: str = BASE) -> Log:
        """Make the log of a session that reads every status, and the list with it."""
        exchanges = []
        for number, exchange in enumerate(self._session()):
            seconds = START.timestamp() + number - 4
            exchanges.append(self._at(exchange, seconds))
        return Log(base, tuple(exchanges))

    def _session(self) -> Iterator[ServiceExchange]:
        first = self.run[0]
        unknown = "/v1/deployments/stub-verify-1"
        for _ in range(2):
            yield self._list([])
            yield self._error(404, "no_deployment", unknown, "unknown deployment")
        yield self._error(404, "no_path", "/v1/stub-verify-2", "unknown path")
        yield self._create(Project(4, NAME, first))
        for status in (*self.run, self.run[-1]):
            project = Project(4, NAME, status)
            yield respond(self._read(project), 200, {}, self.deployment(project))
            yield self._list([project])
        yield self._error(401, "no_token", "/v1/projects", "list without a token")
        yield self._error(401, "bad_token", "/v1/projects", "list with a wrong token")

    def _list(self, more: list[Project]) -> ServiceExchange:
        projects = [Project(number, f"sample-{number}") for number in (1, 2, 3)] + more
        if self.newest_first:
            projects.reverse()
        body = self.listed([self.item(each) for each in projects])
        return respond(ServiceExchange("GET", "/v1/projects", purpose="list"), 200, {}, body)

    def _create(self, project: Project) -> ServiceExchange:
        make = self.created or (lambda each: (201, {}, self.item(each)))
        data = json.dumps(self.request).encode()
        request = ServiceExchange("POST", "/v1/projects", request_body=data, purpose="create")
        return respond(request, *make(project))

    def _read(self, project: Project) -> ServiceExchange:
        path = f"/v1/deployments/{self.id_in_path(project)}"
        return ServiceExchange("GET", path, purpose="deployment")

    def _error(self, status: int, code: str, path: str, purpose: str) -> ServiceExchange:
        request = ServiceExchange("GET", path, purpose=purpose)
        return respond(request, status, {}, self.error(status, code))

    def _at(self, exchange: ServiceExchange, seconds: float) -> ServiceExchange:
        headers = {
            "Content-Type": self.media_type,
            **self.headers,
            **dict(exchange.response_fields),
        }
        fields = (("Authorization", f"Bearer {TOKEN}"),)
        if exchange.purpose.endswith("without a token"):
            fields = ()
        time = datetime.fromtimestamp(seconds, UTC)
        return replace(
            exchange, time=time, request_fields=fields, response_fields=[*headers.items()]
        )


def respond(
    request: ServiceExchange, status: int, headers: dict[str, str], body: Any
) -> ServiceExchange:
    """Add a response to a request. A body of `None` is empty; bytes are sent as they are."""
    content = b"" if body is None else body
    if not isinstance(content, bytes):
        content = json.dumps(body).encode()
    return replace(
        request, status=status, response_fields=[*headers.items()], response_body=content
    )


def infer_log(log: Log, hints: Hints | None = None) -> Inferred:
    """Infer the profile, and its notes, of a log with a created project."""
    like = hints.profile if hints else None
    places = find_places(log, hints)
    strangers = Strangers(log, places, like)
    return infer_profile(log, places, find_secrets(log, TOKEN), strangers, like)


def infer_document(api: Api) -> Any:
    """Infer the profile of a service as a document: `{"list": …}`."""
    return infer_log(api.log()).document
