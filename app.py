"""A stand-in for the Project and Deployment Service: the app and its command line."""

import ipaddress
import json
import math
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import click
from flask import Blueprint, Flask, Request, Response, g, request
from flask.sessions import NullSession, SessionInterface
from waitress.server import MultiSocketServer, create_server
from werkzeug.exceptions import BadRequest, Conflict, HTTPException, NotFound
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.routing import MapAdapter

import stub
from auth import DEFAULT_TOKEN, BearerAuth, require_token
from body import InvalidBody, check_project, read_json
from store import (
    MAX_PROJECTS,
    PACE,
    MemoryStore,
    NameTaken,
    Store,
    StoreFull,
    random_id,
    running,
    utc_now,
)
from stub.seed import SAMPLE, Seed, read_seed

VERSION = "1.0.0"
CONTRACT = Path(__file__).with_name("openapi.json")
HEADERS = {"Content-Type": "application/json", "Cache-Control": "no-store"}

# What the framework raises by itself, in our words: status -> code, detail.
FRAMEWORK_PROBLEMS = {
    400: ("malformed_request", "Send a well-formed HTTP request."),
    404: (
        "not_found",
        "There is nothing at this path. /openapi.json lists the paths that exist; a trailing or "
        "doubled slash makes another path.",
    ),
    405: ("method_not_allowed", "Use one of the methods that the header Allow names."),
    500: ("internal_error", "The stub failed: its terminal says why."),
}


class DeploymentNotFound(NotFound):
    problem = "deployment_not_found"
    description = (
        "No deployment has this id. Take one from the `latest_deployment_id` of a project in "
        "GET /v1/projects."
    )


class NameInUse(Conflict):
    problem = "name_taken"
    description = "A project has this name. Choose another: names are compared exactly."


class NoRoom(HTTPException):
    code = 507
    problem = "store_full"
    description = "The store is full. Restart the service, or raise --max-projects."


class UnknownQuery(BadRequest):
    problem = "unknown_query"
    description = "No operation has query parameters (--strict). Send the path alone."


def answer(body: bytes, status: int = 200, headers: Mapping[str, str] = HEADERS) -> Response:
    """The one way out: JSON that ends in a newline, for whoever reads it in a terminal."""
    return Response(body + b"\n", status, headers)


def answer_problem(error: HTTPException, auth: BearerAuth) -> Response:
    """The one error shape: `application/problem+json` (RFC 9457) and a `code` for machines.

    Whoever raises gives a werkzeug exception a `problem`, the code, and perhaps `errors`.
    """
    status = error.code or 500
    code = getattr(error, "problem", None)
    detail = error.description
    if code is None:
        code, detail = FRAMEWORK_PROBLEMS[status if status in FRAMEWORK_PROBLEMS else 500]
    problem: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTP_STATUS_CODES[status],
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors := getattr(error, "errors", None):
        problem["errors"] = [
            {"pointer": auth.redact(fault.pointer), "detail": fault.detail} for fault in errors
        ]
    headers = dict(error.get_headers())  # WWW-Authenticate, Allow
    headers |= HEADERS | {"Content-Type": "application/problem+json"}
    if "Allow" in headers:
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
    return answer(json.dumps(problem).encode(), status, headers)


class NoSession(SessionInterface):
    """The service keeps nothing of a client between requests."""

    nothing = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:
        return self.nothing


class Service(Flask):
    """Flask for an API alone: no sessions, no OPTIONS of its own, no way to be another host."""

    session_interface = NoSession()

    def __init__(self, auth: BearerAuth) -> None:
        super().__init__(__name__, static_folder=None)
        self.auth = auth
        self.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
        self.url_map.merge_slashes = False
        self.register_error_handler(HTTPException, lambda error: answer_problem(error, auth))

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Match the path and the method, and nothing else that a client says of itself.

        Werkzeug would look at Host and Upgrade too, and drop leading slashes.
        """
        if request is None:
            return None
        if request.environ["PATH_INFO"].startswith("//"):
            raise NotFound
        return MapAdapter(self.url_map, "", "/", "", "http", request.path, request.method)

    def log_exception(self, exc_info: Any) -> None:
        """Show a failure of our own on stderr. It may quote the request, but never a token."""
        sys.stderr.write(self.auth.redact("".join(traceback.format_exception(*exc_info))))


def v1(store: Store, *, strict: bool) -> Blueprint:
    """The interface's three operations (§4), and nothing else."""
    routes = Blueprint("v1", __name__, url_prefix="/v1")

    @routes.before_request
    def check_query() -> None:
        if strict and request.args:
            raise UnknownQuery

    @routes.get("/projects")
    def list_projects() -> Response:
        return answer(store.list_projects().representation)

    @routes.post("/projects")
    def create_project() -> Response:
        text, document = read_json()
        if faults := check_project(document, strict=strict):
            raise InvalidBody(faults)
        try:
            project = store.create_project(document["name"], text.strip())
        except NameTaken:
            raise NameInUse from None
        except StoreFull:
            raise NoRoom from None
        return answer(project.representation, 201)

    @routes.get("/deployments/<deployment_id>")
    def get_deployment(deployment_id: str) -> Response:
        deployment = store.get_deployment(deployment_id)
        if deployment is None:
            raise DeploymentNotFound
        return answer(deployment.representation(store.now()))

    return routes


def create_app(
    *,
    tokens: Iterable[str] = (DEFAULT_TOKEN,),
    store: Store | None = None,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[str], str] = random_id,
    pace: float = PACE,
    max_projects: int = MAX_PROJECTS,
    seed: Seed | None = None,
    strict: bool = False,
    log: TextIO | None = None,
) -> Service:
    """The WSGI app, empty unless there is a `seed`; two apps share nothing.

    `tokens` are all the valid ones, each a b64token (RFC 6750 §2.1), else `ValueError`. Without a
    `store`, `clock` (UTC), `new_id` (prefix to id), `pace` (seconds in each running stage) and
    `max_projects` make a `MemoryStore`. `strict` refuses query parameters and unknown members.
    `log` gets a line per request.
    """
    if store is None:
        store = MemoryStore(clock=clock, new_id=new_id, pace=pace, max_projects=max_projects)
    if seed is not None:
        store.reset(*seed.records(store.now(), new_id, running(pace)))
    auth = BearerAuth(tokens)
    app = Service(auth)
    contract = CONTRACT.read_bytes().rstrip()
    if log is not None:
        log_requests(app, log)
    require_token(app, auth, open_paths={"/openapi.json", "/_stub/health"})
    app.register_blueprint(v1(store, strict=strict))
    app.add_url_rule("/openapi.json", "contract", lambda: answer(contract))
    stub.install(app, answer=answer)
    return app


def log_requests(app: Service, stream: TextIO) -> None:
    """Write a line for each request: method, path, status, milliseconds.

    The path is percent-encoded anew, so that whatever it holds stays on its line.
    """

    @app.before_request
    def start() -> None:
        g.started = time.perf_counter()

    @app.after_request
    def write(response: Response) -> Response:
        ms = (time.perf_counter() - g.started) * 1000
        asked = app.auth.redact(f"{request.method} {request.path}")
        line = f"{quote(asked, safe=' /*:@!$&+,;=~')} {response.status_code} {ms:.1f} ms\n"
        with suppress(OSError):  # whoever read the log may be gone: no reason to fail a request
            stream.write(line)
        return response


class Refusal(click.ClickException):
    """A reason not to start; told on stderr, with a non-zero exit."""

    exit_code = 2


def check_tokens(
    context: click.Context, option: click.Parameter, tokens: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        BearerAuth(tokens or (DEFAULT_TOKEN,))
    except ValueError as error:
        raise click.BadParameter(f"{error}.", context, option) from None
    return tokens


def check_finite(context: click.Context, option: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter("give a finite number of seconds.", context, option)
    return value


@click.command(context_settings={"auto_envvar_prefix": "STUB", "max_content_width": 100})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--token",
    "tokens",
    envvar="STUB_TOKEN",
    multiple=True,
    callback=check_tokens,
    help=f"A valid token, in place of {DEFAULT_TOKEN}; repeatable.",
)
@click.option(
    "--pace",
    type=click.FloatRange(0),
    callback=check_finite,
    default=PACE,
    show_default=True,
    help="Seconds that a new deployment is queued, and then building.",
)
@click.option("--empty", is_flag=True, help="Start without the sample.")
@click.option(
    "--seed",
    "seed_file",
    envvar="STUB_SEED",
    type=click.Path(path_type=Path),
    help="Start from this JSON seed document in place of the sample.",
)
@click.option(
    "--strict", is_flag=True, help="Refuse query parameters and members not in the contract."
)
@click.option(
    "--max-projects",
    type=click.IntRange(1),
    default=MAX_PROJECTS,
    show_default=True,
    help="Projects that there is room for.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Requests worked on at once.",
)
@click.option("--quiet", is_flag=True, help="Write no line per request.")
@click.version_option(VERSION, message="%(version)s")
def cli(
    host: str,
    port: int,
    tokens: tuple[str, ...],
    pace: float,
    empty: bool,
    seed_file: Path | None,
    strict: bool,
    max_projects: int,
    threads: int,
    quiet: bool,
) -> None:
    """A local stand-in for the Project and Deployment Service, for development and tests.

    Each option is an environment variable too: --max-projects is STUB_MAX_PROJECTS.
    """
    if not tokens and not is_loopback(host):
        raise Refusal(
            f"{host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
            "give --token, or leave --host out."
        )
    if empty and seed_file:
        raise Refusal("--empty and --seed exclude each other: give one.")
    try:
        seed = None if empty else read_seed(seed_file or SAMPLE, max_projects=max_projects)
    except ValueError as error:
        raise Refusal(str(error)) from None
    app = create_app(
        tokens=tokens or (DEFAULT_TOKEN,),
        pace=pace,
        max_projects=max_projects,
        seed=seed,
        strict=strict,
        log=None if quiet else sys.stderr,
    )
    try:
        server = create_server(app, host=host, port=port, threads=threads)
    except OSError as error:
        raise Refusal(
            f"cannot listen on {host} port {port}: {error.strerror}. "
            "Give another --port; 0 picks a free one."
        ) from None
    assert not isinstance(server, MultiSocketServer)
    assert server.socket
    port = int(server.socket.getsockname()[1])
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{port}", flush=True)
    token = "$STUB_TOKEN" if tokens else DEFAULT_TOKEN
    print(
        f'try: curl -H "Authorization: Bearer {token}" http://{shown}:{port}/v1/projects',
        file=sys.stderr,
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.run()


def is_loopback(host: str) -> bool:
    """Whether all that listens on `host` can be reached from this machine alone."""
    try:
        found = socket.getaddrinfo(host, None) if host else []
    except OSError:
        raise Refusal(f"no address is known for --host {host}.") from None
    return bool(found) and all(ipaddress.ip_address(each[4][0]).is_loopback for each in found)


def origin(error: click.ClickException) -> str:
    """Which environment variable a bad value is from, if it is."""
    if not isinstance(error, click.BadParameter) or not error.ctx or not error.param:
        return ""
    source = error.ctx.get_parameter_source(str(error.param.name))
    variable = "STUB_" + error.param.opts[0].lstrip("-").replace("-", "_").upper()
    return f" It is from {variable}." if source is click.core.ParameterSource.ENVIRONMENT else ""


def main() -> int:
    """Run the command line; bad usage is said in one line, not in click's four."""
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        for line in error.format_message().splitlines():
            print(f"error: {line}{origin(error)}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
