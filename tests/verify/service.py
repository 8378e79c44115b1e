"""A service of the interface, written apart from the stub, which can be made to differ.

It conforms to openapi.json in all that `verify` can see. A `Change` edits a finished response; a
`Rules` says what the service accepts and when it shows what it has. It records each request.
"""

import json
import re
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

TOKEN = "tok-9f27/Kc+abc~x.y=="
ENDED = ("succeeded", "failed", "canceled")
CHALLENGE = 'Bearer realm="projects"'


@dataclass
class Request:
    """What the service received, and when."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    at: float  # monotonic seconds
    in_flight: int  # requests, this one included
    until: float = 0.0
    status: int = 0

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        values = [value for each, value in self.headers if each.lower() == name.lower()]
        return ", ".join(values) if values else None

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
"""Edits a response; the number counts the requests of its kind, from 0."""

Write = Callable[[BaseHTTPRequestHandler, Request, Response], None]


@dataclass
class Rules:
    """What the service accepts, and when it shows what it has."""

    base: str = ""
    id_form: str = "{}-{}"
    sample: int = 3  # projects at the start
    version: str = "/v1"
    token: str = TOKEN
    needs_token: bool = True
    takes_basic: bool = False
    takes_any: bool = False  # token
    opens: str = ""  # a method, or a part of the path, that needs no token
    unique: bool = True
    takes_ids: bool = False
    needs_name: bool = True
    needs_json: bool = True  # in the body
    needs_media_type: bool = True
    needs_member: str = ""  # a member besides the name
    limit: int = 65536
    keeps_members: bool = True
    lists: bool = True
    listed_after: int = 0  # lists that do not have a new project yet
    found_after: int = 0  # requests that do not find a new deployment yet
    finds: bool = True  # new deployments
    ends: bool = True  # deployments
    page: int = 1_000_000  # projects in a list
    posts: int = 0  # the status of each POST instead
    others: bool = False  # somebody else creates a project before each list


class Service:
    """The service: projects, deployments, and what was asked."""

    def __init__(self, *changes: Change, write: Write | None = None, **rules: Any) -> None:
        self.rules = Rules(**rules)
        self.write = write or plain
        self.stop = threading.Event()  # for what writes without end
        self.changes = changes
        self.requests: list[Request] = []
        self.projects: list[dict[str, Any]] = []
        self.deployments: dict[str, dict[str, Any]] = {}
        self.created: list[str] = []  # ids
        self._seen: Counter[Any] = Counter()
        self._in_flight = 0
        self._lock = threading.RLock()
        for number in range(self.rules.sample):
            self._add({"name": f"sample-{number}"}, (*ENDED, "building")[number % 4])

    def _add(self, sent: Any, status: str) -> dict[str, Any]:
        number = len(self.projects) + 1
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        project = {
            "id": self.rules.id_form.format("p", number),
            "name": sent.get("name") if isinstance(sent, dict) else None,
            "created_at": now.replace("+00:00", "Z"),
            "latest_deployment_id": self.rules.id_form.format("d", number),
        }
        if self.rules.keeps_members and isinstance(sent, dict):
            project.update({name: each for name, each in sent.items() if name not in project})
        self.projects.append(project)
        deployment_id = project["latest_deployment_id"]
        self.deployments[deployment_id] = {
            "id": deployment_id,
            "project_id": project["id"],
            "status": status,
            "created_at": project["created_at"],
        }
        return project

    def answer(self, request: Request) -> Response:
        """The response, with the changes."""
        with self._lock:
            response = self._conforming(request)
            response.headers.setdefault("Cache-Control", "no-store")
            kind = "problem+json" if response.status >= 400 else "json"
            response.headers.setdefault("Content-Type", f"application/{kind}")
            members: tuple[str, ...] = ()
            if response.case == "invalid":
                members = tuple(sorted(request.json)) if request.body[:1] == b"{" else ()
            key: Any = (request.method, request.target, request.header("Authorization"), members)
            if request.method == "POST" or response.case in ("unknown", "no deployment"):
                key = (request.method, response.case, members)  # each time another target or body
            for change in self.changes:
                change(response, request, self._seen[key])
            self._seen[key] += 1
            return response

    def _conforming(self, request: Request) -> Response:
        rules = self.rules
        authorization = request.header("Authorization")
        path = request.path.removeprefix(rules.base)
        root = f"{rules.version}/"
        is_open = rules.opens in (request.method, path.removeprefix(root).partition("/")[0])
        basic = rules.takes_basic and (authorization or "").startswith("Basic ")
        anyone = rules.takes_any and (authorization or "").startswith("Bearer ")
        if not (is_open or basic or anyone) and (rules.needs_token or authorization):
            if authorization is None:
                headers: dict[str, str | None] = {"WWW-Authenticate": CHALLENGE}
                return problem("anonymous", 401, "token_missing", headers)
            if authorization != f"Bearer {rules.token}":
                headers = {"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'}
                return problem("unauthorized", 401, "token_invalid", headers)
        if path == f"{root}projects":
            return self._projects(request)
        if match := re.fullmatch(f"{root}deployments/([^/]+)", path):
            if request.method not in ("GET", "HEAD"):
                return not_allowed("GET, HEAD")
            return self._deployment(unquote(match[1]))
        return problem("unknown", 404, "not_found")

    def _projects(self, request: Request) -> Response:
        rules = self.rules
        if request.method == "POST":
            return problem("post", rules.posts, "no_post") if rules.posts else self._post(request)
        if request.method not in ("GET", "HEAD"):
            return not_allowed("GET, HEAD, POST")
        if rules.others:
            self._add({"name": f"other-{len(self.projects)}"}, "queued")
        hidden = set() if rules.lists else {*self.created}
        if self.created and rules.listed_after > 0:
            rules.listed_after -= 1
            hidden = {*self.created}
        listed = [dict(each) for each in self.projects if each["id"] not in hidden]
        return Response("list", 200, {"projects": listed[: rules.page]})

    def _deployment(self, name: str) -> Response:
        rules, found = self.rules, self.deployments.get(name)
        is_new = found is not None and found["project_id"] in self.created
        if found is None or (is_new and not rules.finds):
            return problem("no deployment", 404, "deployment_not_found")
        if is_new and rules.found_after > 0:
            rules.found_after -= 1
            return problem("no deployment", 404, "deployment_not_found")
        shown = dict(found)
        if is_new and rules.ends:
            found["status"] = {"queued": "building"}.get(found["status"], "succeeded")
        return Response("deployment", 200, shown)

    def _post(self, request: Request) -> Response:
        rules = self.rules
        if rules.needs_media_type and request.header("Content-Type") != "application/json":
            return problem("media type", 415, "unsupported_media_type")
        if len(request.body) > rules.limit:
            return problem("large", 413, "body_too_large")
        sent: Any = None
        try:
            sent = json.loads(request.body)
        except ValueError:
            if rules.needs_json:
                return problem("malformed", 400, "malformed_json")
        errors = [*self._errors(sent)]
        if errors and (sent is not None or rules.needs_json):
            response = problem("invalid", 422, "invalid_body")
            response.body["errors"] = errors
            return response
        name = sent.get("name") if isinstance(sent, dict) else None
        if rules.unique and name and name in [each["name"] for each in self.projects]:
            return problem("taken", 409, "name_taken")
        if isinstance(sent, dict):
            sent.pop("id", None)
        project = self._add(sent, "queued")
        self.created.append(project["id"])
        return Response("created", 201, dict(project))

    def _errors(self, sent: Any) -> Iterator[dict[str, str]]:
        rules = self.rules
        if not isinstance(sent, dict):
            yield {"pointer": "", "detail": "must be an object"}
            return
        if "id" in sent and not rules.takes_ids:
            yield {"pointer": "/id", "detail": "is set by the service"}
        name = sent.get("name", None if rules.needs_name else "x")
        if not isinstance(name, str) or not name.strip():
            yield {"pointer": "/name", "detail": "is required, as a text"}
        if rules.needs_member and rules.needs_member not in sent:
            yield {"pointer": f"/{rules.needs_member}", "detail": "is required"}

    @contextmanager
    def received(self, handler: BaseHTTPRequestHandler) -> Iterator[Request]:
        """Read and record a request, until its response has been written."""
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        with self._lock:
            self._in_flight += 1
            request = Request(
                handler.command,
                handler.path,
                list(handler.headers.items()),
                body,
                time.monotonic(),
                self._in_flight,
            )
            self.requests.append(request)
        try:
            yield request
        finally:
            with self._lock:
                self._in_flight -= 1
                request.until = time.monotonic()


def plain(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
    """Write a response as usual."""
    data = response.data()
    handler.send_response(response.status)
    for name, value in response.headers.items():
        if value is not None:
            handler.send_header(name, value)
    if response.status != 204:
        handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    if request.method != "HEAD" and response.status != 204:
        handler.wfile.write(data)


def problem(
    case: str, status: int, code: str, headers: dict[str, str | None] | None = None
) -> Response:
    body = {
        "type": "about:blank",
        "title": f"Status {status}",
        "status": status,
        "detail": "What to do is not said here.",
        "code": code,
    }
    return Response(case, status, body, headers or {})


def not_allowed(allow: str) -> Response:
    return problem("method", 405, "method_not_allowed", {"Allow": allow})


@contextmanager
def listening(service: Service, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The URL of the service, as long as it listens."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self) -> None:
            with service.received(self) as request:
                response = service.answer(request)
                request.status = response.status
                service.write(self, request, response)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = respond  # noqa: N815

        def log_message(self, *args: object) -> None:
            """The tests look at the requests instead."""

    server = Server(("127.0.0.1", 0), Handler)
    server.stop = service.stop
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        scheme, port = "https" if tls else "http", server.server_address[1]
        yield f"{scheme}://127.0.0.1:{port}{service.rules.base}"
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
