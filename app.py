"""A stand-in for the Project and Deployment Service: the app and its command line."""

import json
import math
import random
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import click
from flask import Blueprint, Flask, Request, Response, request
from flask.sessions import NullSession, SessionInterface
from werkzeug.datastructures import Headers
from werkzeug.exceptions import BadRequest, Conflict, HTTPException, NotFound
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.routing import Map, MapAdapter
from werkzeug.wsgi import get_path_info

import stub
from auth import DEFAULT_TOKEN, BearerAuth, require_token
from body import check_project, read_json, refuse
from server import Options, check_hosts, in_brackets, is_loopback, serve
from store import (
    MAX_PROJECTS,
    PACE,
    Clock,
    Deployment,
    MemoryStore,
    NameTaken,
    NewId,
    NewStore,
    Project,
    Store,
    StoreFull,
    random_id,
    running,
    utc_now,
)
from stub.seed import EMPTY, SAMPLE, Seed, read_seed, read_states

VERSION = "1.0.0"
CONTRACT = Path(__file__).with_name("openapi.json")
OPEN_PATHS = {"/openapi.json"}
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
    description = "Another project has this name. Choose another: names are compared exactly."


class NoRoom(HTTPException):
    code = 507
    problem = "store_full"
    description = "The store is full. Restart the service, or raise --max-projects."


class UnknownQuery(BadRequest):
    problem = "unknown_query"
    description = "No operation has query parameters (--strict). Send the path alone."


def answer(body: bytes, status: int = 200, headers: Mapping[str, str] = HEADERS) -> Response:
    """The one way out: JSON that ends in a newline, for whoever reads it in a terminal."""
    return Answer(body if body.endswith(b"\n") else body + b"\n", status, headers)


class Answer(Response):
    """A response that is complete: Werkzeug need not look once more for what to correct in it."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        whole = Headers([*headers.items(), ("Content-Length", str(len(body)))])
        super().__init__([body], status, whole)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response(self.status, self.headers.to_wsgi_list())
        body: Any = self.response  # a list of bytes, as whoever changes it leaves it
        return () if environ["REQUEST_METHOD"] == "HEAD" else body


class Received(Request):
    """A request whose size `server.py` has limited: Flask need not look for a limit of its own."""

    max_content_length = None


class NoSessions(SessionInterface):
    """Nothing is kept of a client between two requests."""

    session = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:
        return self.session


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
        "title": HTTP_STATUS_CODES.get(status, "Unknown Error"),
        "status": status,
        "detail": auth.redact(str(detail)),
        "code": code,
    }
    if errors := getattr(error, "errors", None):
        problem["errors"] = [
            {"pointer": auth.redact(error.pointer), "detail": error.detail} for error in errors
        ]
    headers = dict(error.get_headers())  # WWW-Authenticate, Allow
    headers |= HEADERS | {"Content-Type": "application/problem+json"}
    if "Allow" in headers:
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
    return answer(json.dumps(problem).encode(), status, headers)


def say(text: str) -> None:
    """Write to stderr, if anybody reads it: that nobody does is no reason to fail."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)


class Route(MapAdapter):
    """What there is at a path for a method. It is looked for once: clients ask again and again."""

    found: Any = None

    def __init__(self, rules: Map, path: str, method: str) -> None:
        super().__init__(rules, "", "/", "", "http", path, method)

    def match(self, *args: Any, **kwargs: Any) -> Any:
        if self.found is None:
            self.found = super().match(*args, **kwargs)
        return self.found


class Service(Flask):
    """Flask for an API alone: no OPTIONS, no redirects and no debugging of its own."""

    request_class = Received
    session_interface = NoSessions()
    report: Callable[[], str] = staticmethod(lambda: "")

    def __init__(self, auth: BearerAuth) -> None:
        super().__init__(__name__, static_folder=None)
        self.auth = auth
        self.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
        self.config["PROPAGATE_EXCEPTIONS"] = False  # whatever FLASK_DEBUG says
        self.url_map.merge_slashes = self.url_map.redirect_defaults = False
        self.route_to = lru_cache(maxsize=256)(partial(Route, self.url_map))
        self.register_error_handler(HTTPException, lambda error: answer_problem(error, auth))
        self.register_error_handler(NameTaken, lambda _: answer_problem(NameInUse(), auth))
        self.register_error_handler(StoreFull, lambda _: answer_problem(NoRoom(), auth))

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """All of the service is synchronous, which Flask would look for at each call."""
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Match the path and the method, and nothing else that a client says of itself.

        Werkzeug would look at Host and Upgrade too, and drop leading slashes.
        """
        if request is None:
            return None
        if request.environ["PATH_INFO"].startswith("//"):
            raise NotFound
        return self.route_to(request.path, request.method)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        environ["app.started"] = time.perf_counter()
        return super().__call__(environ, start_response)

    def log_exception(self, exc_info: Any) -> None:
        """Show a failure of our own on stderr. It may quote the request, but never a token."""
        say(self.auth.redact("".join(traceback.format_exception(*exc_info))))


def v1(store: Callable[[], Store], *, strict: bool) -> Blueprint:
    """The interface's three operations (§4), and nothing else; `store` gives that of a request."""
    routes = Blueprint("v1", __name__, url_prefix="/v1")

    if strict:

        @routes.before_request
        def check_query() -> None:
            if request.args:
                raise UnknownQuery

    @routes.get("/projects")
    def list_projects() -> Response:
        return answer(store().list_projects().representation)

    @routes.post("/projects")
    def create_project() -> Response:
        text, document = read_json()
        refuse(check_project(document, strict=strict))
        project = store().create_project(document["name"], text.strip())
        return answer(project.representation, 201)

    @routes.get("/deployments/<deployment_id>")
    def get_deployment(deployment_id: str) -> Response:
        held = store()
        deployment = held.get_deployment(deployment_id)
        if deployment is None:
            raise DeploymentNotFound
        return answer(deployment.representation(held.now()))

    return routes


def create_app(
    *,
    tokens: Iterable[str] = (DEFAULT_TOKEN,),
    clock: Clock = utc_now,
    new_id: NewId = random_id,
    pace: float = PACE,
    max_projects: int = MAX_PROJECTS,
    new_store: NewStore | None = None,
    seed: Seed = EMPTY,
    strict: bool = False,
    log: Callable[[str], None] | None = None,
    with_stub: bool = True,
    states: Mapping[str, Seed] = MappingProxyType({}),
    cors_origins: Collection[str] = (),
    grease: tuple[str, ...] = (),
    grease_seed: int = 0,
    sleep: Callable[[float], None] = time.sleep,
) -> Service:
    """The WSGI app, empty unless there is a `seed`; two apps share nothing.

    `tokens` are all the valid ones, each a b64token (RFC 6750 §2.1), else `ValueError`. `clock`
    gives the time in UTC, `new_id` an id for a prefix, `pace` is in seconds. `new_store` makes an
    empty store of a clock and a source of ids, by default a `MemoryStore`. `strict` refuses query
    parameters and unknown members. `log` is called with a line per request. `with_stub` adds all of
    `/_stub`, and with it `states`, Pact's provider states by name, the origins of browser clients,
    the axes and the seed of `grease`, and the `sleep` of delayed answers.
    """
    if new_store is None:
        new_store = partial(MemoryStore, pace=pace, max_projects=max_projects)
    auth = BearerAuth(tokens, worlds=with_stub)
    app = Service(auth)
    contract = CONTRACT.read_bytes().rstrip()
    app.add_url_rule("/openapi.json", "contract", lambda: answer(contract))
    if log is not None:
        log_requests(app, log)

    def records(seed: Seed, now: datetime) -> tuple[list[Project], list[Deployment]]:
        return seed.records(now, new_id, running(pace))

    if with_stub:
        require_token(app, auth, OPEN_PATHS | stub.OPEN_PATHS)
        installed = stub.install(
            app,
            contract=contract,
            answer=answer,
            redact=auth.redact,
            clock=clock,
            new_store=new_store,
            new_id=new_id,
            records=records,
            seed=seed,
            states=states,
            cors_origins=cors_origins,
            grease=grease,
            grease_seed=grease_seed,
            max_projects=max_projects,
            sleep=sleep,
        )
        app.report = installed.report
        current_store = installed.store
    else:
        require_token(app, auth, OPEN_PATHS)
        store = new_store(clock, new_id)
        store.reset(*records(seed, clock()))

        def current_store() -> Store:
            return store

    app.register_blueprint(v1(current_store, strict=strict))
    return app


def log_requests(app: Service, write: Callable[[str], None]) -> None:
    """Write a line for each request: method, path, status, milliseconds.

    The path is percent-encoded anew, so that whatever it holds stays on its line.
    """

    @app.after_request
    def log(response: Response) -> Response:
        ms = (time.perf_counter() - request.environ["app.started"]) * 1000
        # Not request.path, of which Werkzeug drops leading slashes.
        asked = app.auth.redact(f"{request.method} {get_path_info(request.environ)}")
        write(f"{quote(asked, safe=' /*:@!$&+,;=~')} {response.status_code} {ms:.1f} ms\n")
        return response


class Refusal(click.ClickException):
    """A reason not to start; told on stderr, with a non-zero exit."""

    exit_code = 2


def checked_by(check: Callable[[Any], object]) -> Callable[..., Any]:
    """A click callback for `check`, which raises `ValueError` for a bad value."""

    def callback(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            check(value)
        except ValueError as error:
            raise click.BadParameter(f"{error}.", context, option) from None
        return value

    return callback


def axes_of(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    try:
        return stub.parse_axes(value) if value is not None else ()
    except ValueError as error:
        raise click.BadParameter(f"{error}.", context, option) from None


def check_finite(seconds: float) -> None:
    if not math.isfinite(seconds):
        raise ValueError("give a finite number of seconds")


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
    callback=checked_by(lambda tokens: BearerAuth(tokens or (DEFAULT_TOKEN,))),
    help=f"A valid token, in place of {DEFAULT_TOKEN}; repeatable.",
)
@click.option(
    "--pace",
    type=click.FloatRange(0),
    callback=checked_by(check_finite),
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
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    help="Requests worked on at once.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(0, min_open=True),
    callback=checked_by(check_finite),
    default=30.0,
    show_default=True,
    help="Seconds that a request may take to arrive.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    callback=checked_by(check_finite),
    default=10.0,
    show_default=True,
    help="Seconds to finish what is under way when told to end.",
)
@click.option(
    "--trusted-host",
    "trusted_hosts",
    envvar="STUB_TRUSTED_HOST",
    multiple=True,
    callback=checked_by(check_hosts),
    help="A Host to serve on loopback besides its own names; repeatable.",
)
@click.option("--no-stub", is_flag=True, help="Leave out the control routes under /_stub.")
@click.option(
    "--states",
    "states_file",
    envvar="STUB_STATES",
    type=click.Path(path_type=Path),
    help="JSON file of Pact provider states: a seed document for each name.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    envvar="STUB_CORS_ORIGIN",
    multiple=True,
    callback=checked_by(stub.check_origins),
    help="An origin whose pages may call, or *; repeatable.",
)
@click.option(
    "--grease",
    is_flag=False,
    flag_value="tier1",
    metavar="[AXES]",
    callback=axes_of,
    help="Vary what nobody promised: tier1 if left out, all, or axes with commas between.",
)
@click.option(
    "--grease-seed",
    type=click.IntRange(0, stub.MAX_SEED),
    help="What the variations are made from; random if left out.",
)
@click.option("--quiet", is_flag=True, help="Write no line per request.")
@click.version_option(VERSION, message="%(version)s", allow_from_autoenv=False)
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
    deadline: float,
    grace: float,
    trusted_hosts: tuple[str, ...],
    no_stub: bool,
    states_file: Path | None,
    cors_origins: tuple[str, ...],
    grease: tuple[str, ...],
    grease_seed: int | None,
    quiet: bool,
) -> None:
    """A local stand-in for the Project and Deployment Service, for development and tests.

    Each option is an environment variable too: --max-projects is STUB_MAX_PROJECTS.
    """
    tokens = tokens or (DEFAULT_TOKEN,)
    try:
        if DEFAULT_TOKEN in tokens and not is_loopback(host):
            raise Refusal(
                f"{host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
                "give a --token of your own, or leave --host out."
            )
    except OSError as error:
        raise Refusal(f"{error}: give another --host.") from None
    if empty and seed_file:
        raise Refusal("--empty and --seed exclude each other: give one.")
    if no_stub and (states_file or cors_origins or grease):
        raise Refusal("--no-stub leaves out --states, --cors-origin and --grease: drop it or them.")
    try:
        # The sample may be more than there is room for: the store is full then.
        seed = read_seed(seed_file, max_projects=max_projects) if seed_file else read_seed(SAMPLE)
        states = read_states(states_file, max_projects=max_projects) if states_file else {}
    except ValueError as error:
        raise Refusal(str(error)) from None
    if grease_seed is None:
        grease_seed = random.randrange(2**32)
    app = create_app(
        tokens=tokens,
        pace=pace,
        max_projects=max_projects,
        seed=EMPTY if empty else seed,
        strict=strict,
        log=None if quiet else say,
        with_stub=not no_stub,
        states=states,
        cors_origins=cors_origins,
        grease=grease,
        grease_seed=grease_seed,
    )

    def announce(port: int) -> None:
        url = f"http://{in_brackets(host)}:{port}"
        with suppress(OSError):  # somebody may have closed it
            print(f"listening on {url}", flush=True)
        token = "$STUB_TOKEN"
        if tokens == (DEFAULT_TOKEN,):
            token = DEFAULT_TOKEN
        elif len(tokens) > 1:
            token = "${STUB_TOKEN%% *}"  # the first of them
        say(f'try: curl -H "Authorization: Bearer {token}" {url}/v1/projects\n')
        if grease:
            axes = ",".join(grease)
            say(f"answers vary on purpose: --grease {axes} --grease-seed {grease_seed}\n")

    try:
        serve(
            app,
            host,
            port,
            Options(
                threads=threads,
                deadline=deadline,
                grace=grace,
                trusted_hosts=trusted_hosts,
                control_prefix=None if no_stub else "/_stub/",
                on_listening=announce,
                on_rejected=None if quiet else log_refusal,
                headers_for=partial(stub.grants, cors_origins),
            ),
        )
    except OSError as error:
        raise Refusal(f"{error}. Give another --port (0 picks a free one) or --host.") from None
    say(app.report())


def log_refusal(status: int, code: str) -> None:
    say(f"refused {status} {code}\n")


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
        for line in error.format_message().split("\n"):
            say(f"error: {line}{origin(error)}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
