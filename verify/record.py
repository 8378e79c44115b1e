"""A proxy that records: it passes the requests of a team's own tests on to the service.

Only paths below `/v1` are passed on, to that one service. Of `/_stub` it knows what a fixture of
tests needs: health, reset and requests.
"""

import hmac
import re
import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from urllib.parse import unquote

from flask import Flask, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import Headers

import traffic.exchange
from profiles.openapi import Operation
from stub.request.entry import Applied, Entry, keep_body
from stub.request.journal import Journal, read_filters
from stub.request.promises import object_in
from traffic.masking import Redactor
from web.problems import Problem, handle_errors
from web.routing import raw_target

from .client import MAX_BODY, Client
from .exchange import Exchange, Log
from .shorten import MAX_BYTES, MAX_EXCHANGES, shortened, size_of

TIMEOUT = 60.0  # seconds of a request that is passed on: a test's own timeout is shorter
# Fields of one connection (RFC 9110 §7.6.1), and those that the client makes anew.
OWN_FIELDS = {
    "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    "proxy-connection", "proxy-authorization", "proxy-authenticate", "content-length",
}  # fmt: skip
OF_REQUEST = OWN_FIELDS | {"host", "accept-encoding"}
NOT_RECORDED = "The recording proxy passes on paths below /v1 alone; of /_stub it knows"
OPERATIONS = ("listProjects", "createProject", "getDeployment")
KNOWN = "GET /_stub/health, POST /_stub/reset without a body, and GET /_stub/requests."


class Recorder:
    """The proxy as a WSGI app, `app`, and what it has recorded.

    `token` is that of the service. Followed by a dot and a name it is that of a world, and is sent
    without it: the worlds share the service, and each has the requests of its own.
    """

    def __init__(self, client: Client, token: str) -> None:
        self._client = client
        self._token = token
        self._redactor = Redactor([token])
        self._lock = Lock()
        self._log = Log(client.base, ())
        self._waiting: list[Exchange] = []  # that are not in the log yet
        self._journals: dict[str, Journal] = defaultdict(Journal)  # by world
        self.app = Flask(__name__, static_folder=None)
        handle_errors(self.app, {})
        self.app.before_request(self._respond)

    def log(self) -> Log:
        with self._lock:
            self._shorten()
            in_order = sorted(self._log.exchanges, key=lambda each: each.sent_at)
            return replace(self._log, exchanges=tuple(in_order))

    def _shorten(self) -> None:
        """Move the waiting exchanges to the log. The caller holds the lock."""
        exchanges = (*self._log.exchanges, *self._waiting)
        self._log = shortened(replace(self._log, exchanges=exchanges))
        self._waiting = []

    # Requests

    def _respond(self) -> ResponseReturnValue:
        path, _, _ = raw_target(request.environ).partition("?")
        if is_below_v1(path):
            return self._pass_on()
        if (request.method, path) == ("GET", "/_stub/health"):
            return {"status": "ok"}
        if (request.method, path) == ("POST", "/_stub/reset") and not request.get_data():
            self._journal().clear()
            return Response(status=204)
        if (request.method, path) == ("GET", "/_stub/requests"):
            filters = read_filters(request.args, OPERATIONS)
            return self._journal().document(**filters)
        raise Problem(501, "not_recorded", f"{NOT_RECORDED} {KNOWN}")

    def _journal(self) -> Journal:
        """The requests of the world of a request, which has a valid token."""
        world = self._world_of(credential())
        if world is None:
            raise Problem(401, "token_invalid", "Send the token in STUB_TOKEN as a bearer token.")
        with self._lock:
            return self._journals[world]

    def _world_of(self, token: str) -> str | None:
        """The world of a token, "" for the main one; None if the token is another one."""
        if is_same(token, self._token):
            return ""
        start, _, world = token.rpartition(".")
        return world if is_same(start, self._token) else None

    def _pass_on(self) -> Response:
        body = request.get_data()
        if len(body) > MAX_BODY:
            raise Problem(413, "body_too_large", f"Send at most {MAX_BODY // 1024**2} MiB.")
        world = self._world_of(credential())
        started = time.perf_counter()
        target = raw_target(request.environ)
        exchange = self._client.send(Exchange(request.method, target, self._sent(world), body))
        entry = self._entry(exchange, started)
        with self._lock:
            self._add(exchange)
            journal = self._journals[world or ""]
        journal.append(entry)
        if exchange.failure:
            detail = f"The service did not respond to the recording proxy: {exchange.failure}."
            raise Problem(502, "no_response", detail)
        return response_of(exchange, self._client.base)

    def _sent(self, world: str | None) -> tuple[tuple[str, str], ...]:
        """The header fields to pass on: the token without a world."""
        own = OF_REQUEST | named_in(request.headers.get("Connection", ""))
        fields = {name: value for name, value in request.headers if name.lower() not in own}
        if world:
            scheme, _, _ = fields["Authorization"].rpartition(" ")
            fields["Authorization"] = f"{scheme} {self._token}"
        return tuple(fields.items())

    def _add(self, exchange: Exchange) -> None:
        """The caller holds the lock."""
        self._waiting.append(exchange)
        if len(self._waiting) >= MAX_EXCHANGES or size_of(self._waiting) >= MAX_BYTES:
            self._shorten()

    def _entry(self, exchange: Exchange, started: float) -> Entry:
        """The exchange as the journal of the stub has it."""
        recorded = traffic.exchange.Exchange(
            method=exchange.method,
            target=exchange.target,
            request_fields=[(name.title(), value) for name, value in exchange.sent],
            request_body=keep_body(exchange.body, self._redactor),
            status=exchange.status,
            response_fields=[(name, str(value)) for name, value in exchange.headers.items()],
            response_body=keep_body(exchange.content, self._redactor),
            time=datetime.fromtimestamp(exchange.sent_at, UTC),
            ms=(time.perf_counter() - started) * 1000,
        )
        return Entry(
            exchange=recorded,
            applied=Applied(exchange.status),
            operation=operation_of(exchange),
            redactor=self._redactor,
            started=started,
            code=code_of(exchange),
            reason=exchange.failure,
        )


def is_below_v1(path: str) -> bool:
    """Whether a path is `/v1` or below it, however a service may decode and resolve it."""
    if path != "/v1" and not path.startswith("/v1/"):
        return False
    decoded = unquote(unquote(path))
    names = [re.sub(";.*", "", name) for name in re.split(r"[/\\]", decoded)]
    return not {".", ".."} & {*names}


def is_same(token: str, known: str) -> bool:
    """Whether two tokens are equal, compared in constant time."""
    return hmac.compare_digest(token.encode(errors="replace"), known.encode())


def credential() -> str:
    return request.headers.get("Authorization", "").rpartition(" ")[2]


def named_in(field: str) -> set[str]:
    """The names of header fields in a field Connection."""
    return {name.strip().lower() for name in field.split(",")}


def code_of(exchange: Exchange) -> str | None:
    """The code of an error, as the journal of the stub has it."""
    code = object_in(exchange.content).get("code") if exchange.status >= 400 else None
    return code if isinstance(code, str) else None


def operation_of(exchange: Exchange) -> Operation | None:
    is_one = (exchange.is_list, exchange.is_creation, exchange.is_deployment)
    for name, is_of_it in zip(OPERATIONS, is_one, strict=True):
        if is_of_it:
            return Operation(name, responses={}, names={})
    return None


def response_of(exchange: Exchange, base: str) -> Response:
    """The response of the service, whose own URLs lead to the proxy: a test follows them."""
    own = OWN_FIELDS | named_in(exchange.header("Connection") or "")
    here = request.host_url.rstrip("/")
    fields = []
    for name, value in exchange.headers.items():
        if name.lower() not in own:
            line = re.sub(r"[\r\n]+[ \t]*", " ", str(value))  # of a folded one (RFC 9112 §5.2)
            fields.append((name, line.replace(f"{base}/v1", f"{here}/v1")))
    content = exchange.content
    for slash in ("/", "\\/"):  # JSON may have it escaped
        old = f"{base}/v1".replace("/", slash).encode()
        content = content.replace(old, f"{here}/v1".replace("/", slash).encode())
    response = Passed(content, exchange.status)
    size = exchange.header("Content-Length") if exchange.method == "HEAD" else str(len(content))
    if size and exchange.status not in (204, 304):
        fields.append(("Content-Length", size))
    response.headers = Headers(fields)
    return response


class Passed(Response):
    """A response with the header fields of the service as they are: Flask would encode a Location
    anew, and fail if it is no URL.
    """

    def get_wsgi_headers(self, environ: object) -> Headers:
        return self.headers
