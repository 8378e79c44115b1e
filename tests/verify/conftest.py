"""A service of the interface, written apart from the stub, which can be made to differ; and runs.

It conforms to openapi.json in all that `verify` can see. A `Change` edits a finished response. It
records each request, and each response.
"""

import json
import re
import ssl
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from profiles.markers import replaced
from profiles.profile import make_profile
from tests.contract import CREATED
from tests.program import run
from verify.exchange import PROJECTS, Exchange, message_of
from verify.inputs import Inputs
from verify.main import Result, judge
from verify.options import Options
from verify.script import Plan, Session
from verify.way import Hints

TOKEN = "tok-9f27/Kc+abc~x.y=="
ENDED = ("succeeded", "failed", "canceled")
CHALLENGE = 'Bearer realm="projects"'
LEVELS = {"read": (), "write": ("--write",)}
QUICK = ("--pause", "0", "--wait", "0.5")  # what these services create appears at once


@dataclass
class Request:
    """What the service received, and when; `at` and `until` are monotonic seconds."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    at: float
    until: float = 0.0
    status: int = 0

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Response:
    """A response before it is written; `case` says which one of the contract it is."""

    case: str
    status: int
    body: Any
    headers: dict[str, str | None] = field(default_factory=dict)
    raw: bytes | None = None  # in place of the body as JSON

    def data(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()


Change = Callable[[Response, Request, int], None]
"""Edits a response; the number counts those of its case, from 0."""

Write = Callable[[BaseHTTPRequestHandler, Request, Response], None]


class Service:
    """Projects, deployments, and what was asked.

    `opens` matches the method and path of requests that need no token, `takes` the credentials
    that are accepted beside the token. `accepts` has what is not rejected: name, media type.
    """

    def __init__(
        self,
        *changes: Change,
        write: Write | None = None,
        base: str = "",
        new_id: Callable[[str, int, str], Any] = "{}-{}".format,  # of a kind, number and name
        sample: int = 3,  # projects at the start
        opens: str = "-",
        takes: str = "-",
        accepts: Collection[str] = (),
    ) -> None:
        self.changes, self.write, self.base, self.new_id = changes, write or plain, base, new_id
        self.opens, self.takes, self.accepts = opens, takes, accepts
        self.stop = threading.Event()  # for what writes without end
        self.requests: list[Request] = []
        self.sent: list[Response] = []
        self.projects: list[dict[str, Any]] = []
        self.deployments: dict[str, dict[str, Any]] = {}
        self.created: list[str] = []  # ids
        self.lock = threading.RLock()
        self._seen: Counter[str] = Counter()
        for number in range(sample):
            self._add({"name": f"sample-{number}"}, (*ENDED, "building")[number % 4])

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

    def respond(self, request: Request) -> Response:
        """The response, with the changes."""
        with self.lock:
            response = self._conforming(request)
            response.headers.setdefault("Cache-Control", "no-store")
            kind = "problem+json" if response.status >= 400 else "json"
            response.headers.setdefault("Content-Type", f"application/{kind}")
            for change in self.changes:
                change(response, request, self._seen[response.case])
            self._seen[response.case] += 1
            self.sent.append(response)
            return response

    def _conforming(self, request: Request) -> Response:
        authorization, path = request.header("Authorization"), request.path.removeprefix(self.base)
        is_open = re.match(self.opens, f"{request.method} {path}")
        if not is_open and not re.match(self.takes, authorization or ""):
            if authorization is None:
                return problem("anonymous", 401, {"WWW-Authenticate": CHALLENGE})
            if authorization != f"Bearer {TOKEN}":
                challenge = f'{CHALLENGE}, error="invalid_token"'
                return problem("unauthorized", 401, {"WWW-Authenticate": challenge})
        deployment = re.fullmatch("/v1/deployments/([^/]+)", path)
        if deployment and request.method == "GET":
            return self._deployment(unquote(deployment[1]))
        if path == "/v1/projects" and request.method == "GET":
            return Response("list", 200, {"projects": [dict(each) for each in self.projects]})
        if path == "/v1/projects" and request.method == "POST":
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

    def _post(self, request: Request) -> Response:
        try:
            sent = json.loads(request.body)
        except ValueError:
            return problem("malformed", 400)
        is_json = request.header("Content-Type") == "application/json"
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


def plain(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
    """Write a response as usual."""
    data = response.data() if response.status != 204 else b""
    handler.send_response(response.status)
    for name, value in response.headers.items():
        if value is not None:
            handler.send_header(name, value)
    if response.status != 204:
        handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def problem(case: str, status: int, headers: dict[str, str | None] | None = None) -> Response:
    code = case.replace(" ", "_")
    body = {"type": "about:blank", "title": "No", "status": status, "detail": "no", "code": code}
    return Response(case, status, body, headers or {})


@contextmanager
def listening(service: Service, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The URL of the service, as long as it listens."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with service.lock:
                parts = (self.command, self.path, [*self.headers.items()], body, time.monotonic())
                request = Request(*parts)
                service.requests.append(request)
            response = service.respond(request)
            request.status, request.until = response.status, time.monotonic()
            service.write(self, request, response)

        do_GET = do_POST = do_OPTIONS = respond  # noqa: N815

        def log_message(self, *args: object) -> None:
            """The tests look at the requests instead."""

    server = Server(("127.0.0.1", 0), Handler)
    server.stop = service.stop
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.005,))
    thread.start()
    try:
        scheme, port = "https" if tls else "http", server.server_address[1]
        yield f"{scheme}://127.0.0.1:{port}{service.base}"
    finally:
        service.stop.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    stop: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may go away."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def told(result: Result) -> set[tuple[str, str]]:
    """The parts of which there is something to say, with their verdicts."""
    verdicts = {(part.part, part.verdict) for part in result.parts}
    return {each for each in verdicts if each[1] in ("broken", "differs", "could not check")}


class Direct:
    """A client that asks a service in the process; its clock goes on by requests and pauses."""

    base = "http://127.0.0.1"

    def __init__(self, service: Service) -> None:
        self.service = service
        self.now = time.time()

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def send(self, request: Exchange) -> Exchange:
        sent_at = self.now
        self.now += 0.01
        target = self.service.base + request.target
        received = Request(request.method, target, [*request.sent], request.body, sent_at)
        self.service.requests.append(received)
        response = self.service.respond(received)
        fields = [(name, value) for name, value in response.headers.items() if value is not None]
        return replace(
            request,
            sent_at=sent_at,
            status=response.status,
            headers=message_of(fields),
            content=response.data(),
        )


def judged(
    service: Service,
    level: str = "read",
    like: Any = None,
    *,
    saves: bool = False,
    deployment: str = "",
    more: Sequence[bytes] = (),
) -> Result:
    """What a session with a service shows, with a profile if there is one.

    `more` are the bodies of creations that are sent at its end, as a recorded suite may do.
    """
    client = Direct(service)
    profile = make_profile(like) if like else None
    request = profile.request if profile else None
    hints = Hints(deployment=deployment, request=request, profile=profile)
    plan = Plan(
        token=TOKEN,
        writes=level == "write",
        wait=5.0,
        pause=0.0,
        repeats=saves or like is not None,
        hints=hints,
    )
    session = Session(client, plan, sleep=client.sleep, clock=client.clock)
    session.ask_all()
    for body in more:
        session.send("", "POST", PROJECTS, body, {"Content-Type": "application/json"})
    options = Options(write=level == "write", save=Path("profile.json") if saves else None)
    return judge(session.log, options, Inputs(hints), TOKEN)


def verdict_of(part: str, service: Service, level: str) -> tuple[str, str]:
    """The verdict of a part and its reason."""
    (found,) = (each for each in judged(service, level).parts if each.part == part)
    return found.verdict, found.reason


class Verified(NamedTuple):
    """What a run left; a report and a profile that it did not write are None."""

    status: int
    stdout: str
    stderr: str
    report: Any
    profile: Any

    @property
    def parts(self) -> dict[str, dict[str, Any]]:
        return {each["part"]: each for each in self.report["parts"]}

    @property
    def found(self) -> set[tuple[str, str]]:
        """The parts of which there is something to say, with their verdicts."""
        verdicts = {(part, each["verdict"]) for part, each in self.parts.items()}
        return {each for each in verdicts if each[1] in ("broken", "differs", "could not check")}

    @property
    def requests(self) -> dict[str, int]:
        """How often each check was asked."""
        return {each["name"]: each["requests"] for each in self.report["probes"]}


def verify(
    service: Service | str | None,
    *options: str,
    level: str = "read",
    saves: bool = False,
    env: Mapping[str, str] | None = None,
    **files: str,
) -> Verified:
    """Run `verify` on a service, or on what is at a URL; `saves` makes a profile.

    The others are options with a file: what it has in it.
    """
    environ = {"VERIFY_TOKEN": TOKEN} if env is None else env
    listens = listening(service) if isinstance(service, Service) else nullcontext(service)
    with listens as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [*LEVELS[level], *QUICK, "--report", f"{name}/report"]
        if saves:
            words += ["--save", f"{name}/profile"]
        for option, text in files.items():
            (folder / option).write_text(text, "utf-8")
            words += [f"--{option}", f"{name}/{option}"]
        if url is not None:
            words.append(url)
        done = run("verify", *words, *options, env=environ)
        report, profile = (json_of(folder / each) for each in ("report", "profile"))
    assert "Traceback" not in done.stdout + done.stderr, done
    return Verified(done.status, done.stdout, done.stderr, report, expanded(profile))


def expanded(profile: Any) -> Any:
    """A profile whose bodies have the record itself, where it stands in several."""
    if not profile or "record" not in profile:
        return profile
    record = profile.pop("record")
    return replaced(profile, "{record}", record)


def json_of(file: Path) -> Any:
    return json.loads(file.read_text("utf-8")) if file.exists() else None


def save(service: Service | str, *options: str, level: str = "write", **more: Any) -> Verified:
    """A run that saves the profile of a service."""
    done = verify(service, *options, level=level, saves=True, **more)
    assert done.status in (0, 1), done
    return done
