"""A service of the interface, written apart from the stub, which can be made to differ; and runs.

It conforms to openapi.json in all that `verify` can see. A `Change` edits a finished response. It
records each request, and each response.
"""

import json
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote

from werkzeug.wrappers import Request

from profiles.profile import Profile
from tests.contract import CREATED
from tests.live import serving
from tests.program import run
from verify.inputs import Inputs
from verify.judge import Result, judge
from verify.judges.parts import give_reason, give_verdict
from verify.options import VerifyOptions
from verify.seen.hints import Hints
from verify.seen.service_log import PROJECTS, ServiceExchange
from verify.sources.script import Plan, Session
from web.routing import read_raw_target

TOKEN = "tok-9f27/Kc+abc~x.y=="
ENDED = ("succeeded", "failed", "canceled")
QUICK = ("--pause", "0", "--wait", "0.5")  # what these services create appears at once


@dataclass
class Response:
    """A response before it is sent; `case` says which one of the contract it is.

    `raw` stands in place of the body as JSON. With a `failure` no response comes.
    """

    case: str
    status: int
    body: Any
    headers: dict[str, str | None] = field(default_factory=dict)
    raw: bytes | None = None
    failure: str = ""

    @property
    def content(self) -> bytes:
        return json.dumps(self.body).encode() if self.raw is None else self.raw

    @property
    def fields(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self.headers.items() if value is not None]


Change = Callable[[Response, ServiceExchange, int], None]
"""Edits a response; the number counts those of its case, from 0."""


class Service:
    """Projects, deployments, and what was asked.

    `opens` matches the method and path of requests that need no token, `takes` the credentials
    that are accepted beside the token. `accepts` has what is not rejected: name, media type.
    """

    def __init__(
        self,
        *changes: Change,
        base: str = "",  # the path of its address
        new_id: Callable[[str, int, str], Any] = "{}-{}".format,  # of a kind, number and name
        sample: int = 3,  # projects at the start
        opens: str = "-",
        takes: str = "-",
        accepts: Collection[str] = (),
    ) -> None:
        self.changes, self.base, self.new_id = changes, base, new_id
        self.opens, self.takes, self.accepts = opens, takes, accepts
        self.requests: list[ServiceExchange] = []
        self.sent: list[Response] = []
        self.projects: list[dict[str, Any]] = []
        self.deployments: dict[str, dict[str, Any]] = {}
        self.created: list[str] = []  # ids
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        for number in range(sample):
            self._add({"name": f"sample-{number}"}, ENDED[number % 3])

    def _add(self, sent: Any, status: str) -> dict[str, Any]:
        number, sent = len(self.projects) + 1, sent if isinstance(sent, dict) else {}
        name = sent.get("name")
        own_id, deployment_id = (self.new_id(kind, number, name) for kind in "pd")
        ids = {"id": own_id, "created_at": f"2026-01-{number:02}T09:00:00Z"}
        project = {"name": None, **sent, **ids, "latest_deployment_id": deployment_id}
        self.projects.append(project)
        deployment = {**ids, "id": deployment_id, "project_id": project["id"], "status": status}
        self.deployments[str(deployment_id)] = deployment
        return project

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        """The service as a WSGI app."""
        request = Request(environ)
        fields = tuple(request.headers)
        target = read_raw_target(environ)
        response = self.respond(ServiceExchange(request.method, target, fields, request.get_data()))
        start_response(f"{response.status} X", response.fields)
        return [response.content]

    def respond(self, request: ServiceExchange) -> Response:
        """The response, with the changes."""
        with self._lock:
            self.requests.append(request)
            response = self._conforming(request)
            response.headers.setdefault("Cache-Control", "no-store")
            kind = "problem+json" if response.status >= 400 else "json"
            response.headers.setdefault("Content-Type", f"application/{kind}")
            for change in self.changes:
                change(response, request, self._seen[response.case])
            self._seen[response.case] += 1
            self.sent.append(response)
            return response

    def _conforming(self, request: ServiceExchange) -> Response:
        authorization, path = request.find_request_field("Authorization"), request.path
        path = path.removeprefix(self.base)
        is_open = re.match(self.opens, f"{request.method} {path}")
        if not is_open and not re.match(self.takes, authorization):
            challenge = 'Bearer realm="projects"'
            if not authorization:
                return problem("anonymous", 401, {"WWW-Authenticate": challenge})
            if authorization != f"Bearer {TOKEN}":
                challenge += ', error="invalid_token"'
                return problem("unauthorized", 401, {"WWW-Authenticate": challenge})
        deployment = re.fullmatch("/v1/deployments/([^/]+)", path)
        if deployment and request.method == "GET":
            return self._deployment(unquote(deployment[1]))
        if path == PROJECTS and request.method == "GET":
            return Response("list", 200, {"projects": [dict(each) for each in self.projects]})
        if path == PROJECTS and request.method == "POST":
            return self._post(request)
        return problem("unknown", 404)

    def _deployment(self, name: str) -> Response:
        found = self.deployments.get(name)
        if found is None:
            return problem("no deployment", 404)
        shown = dict(found)
        if found["project_id"] in self.created:
            found["status"] = {"queued": "building"}.get(found["status"], "succeeded")
        return Response("deployment", 200, shown)

    def _post(self, request: ServiceExchange) -> Response:
        sent = request.request_json
        is_json = request.find_request_field("Content-Type") == "application/json"
        if not is_json and "media type" not in self.accepts:
            return problem("media type", 415)
        has_name = isinstance(sent, dict) and bool(sent.get("name"))
        if not has_name and "name" not in self.accepts:
            response = problem("invalid", 422)
            response.body["errors"] = [{"pointer": "/name", "detail": "no"}]
            return response
        project = self._add(sent, "queued")
        self.created.append(project["id"])
        return Response("created", CREATED, dict(project))


def problem(case: str, status: int, headers: dict[str, str | None] | None = None) -> Response:
    code = case.replace(" ", "_")
    body = {"type": "about:blank", "title": "No", "status": status, "detail": "no", "code": code}
    return Response(case, status, body, headers or {})


@contextmanager
def listening(service: Service) -> Iterator[str]:
    """The URL of the service, as long as it listens."""
    with serving(service) as port:
        yield f"http://127.0.0.1:{port}{service.base}"


# A session in this process


class Direct:
    """A client that asks a service in the process; its clock goes on by requests and pauses."""

    base = "http://127.0.0.1"
    step = 0.01  # seconds of a request

    def __init__(self, service: Service) -> None:
        self.service = service
        self.now = time.time()

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def respond(self, request: ServiceExchange) -> Response:
        return self.service.respond(request)

    def send(self, request: ServiceExchange) -> ServiceExchange:
        request = replace(request, time=datetime.fromtimestamp(self.now, UTC))
        self.now += self.step
        response = self.respond(request)
        return replace(
            request,
            status=response.status,
            response_fields=response.fields,
            response_body=response.content,
            failure=response.failure,
        )


def judged(
    service: Service,
    level: str = "read",
    like: Profile | None = None,
    *,
    saves: bool = False,
    deployment: str = "",
    request: Any = None,
    pause: float = 0.0,
    wait: float = 5.0,
) -> Result:
    """What a session with a service shows, with a profile if there is one."""
    client = Direct(service)
    request = like.request.value if like else request
    hints = Hints(deployment, request=request, profile=like)
    plan = Plan(
        token=TOKEN,
        writes=level == "write",
        wait=wait,
        pause=pause,
        repeats=saves or like is not None,
        hints=hints,
    )
    # The same wrong token in all sessions: its pattern is compiled once.
    session = Session(client, plan, sleep=client.sleep, clock=client.clock, random=Random(1))
    log = session.ask_all()
    options = VerifyOptions(write=level == "write", save=Path("profile.json") if saves else None)
    return judge(log, options, Inputs(hints), TOKEN)


def learn(service: Service, request: Any = None) -> Any:
    """Return the profile that a session with --write and --save learns, as a document."""
    inferred = judged(service, "write", request=request, saves=True).inferred
    assert inferred
    return inferred.document


def told(result: Result) -> set[tuple[str, str]]:
    """The parts of which there is something to say, with their verdicts."""
    verdicts = {(check.part, give_verdict(check)) for check in result.parts}
    return {each for each in verdicts if each[1] in ("broken", "differs", "could not check")}


def find_verdict(part: str, result: Result) -> tuple[str, str]:
    """The verdict of a part and its reason."""
    (found,) = (each for each in result.parts if each.part == part)
    return give_verdict(found), give_reason(found)


# The program


class Verified(NamedTuple):
    """What a run left; a report that it did not write is None."""

    status: int
    stdout: str
    stderr: str
    report: Any


def verify(service: Service | str, *options: str, env: Mapping[str, str] | None = None) -> Verified:
    """Run `verify` on a service, on what is at a URL, or, if that is "", on a recording."""
    environ = {"VERIFY_TOKEN": TOKEN} if env is None else env
    listens = listening(service) if isinstance(service, Service) else nullcontext(service)
    with listens as url, tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        words = [*filter(None, [url]), *QUICK, "--report", str(file), *options]
        done = run("verify", *words, env=environ)
        written = file.read_text("utf-8") if file.exists() else ""
    report = json.loads(written) if written else None
    assert "Traceback" not in done.stdout + done.stderr, done
    return Verified(done.status, done.stdout, done.stderr, report)
