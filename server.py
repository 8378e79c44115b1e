"""waitress set up to be trusted: strict framing, JSON errors, bounded patience, drain on signals.

It knows nothing of the app. Beside each rule stands why it is there and what stock waitress 3.0.2
does instead; a bare § is one of RFC 9112, HTTP/1.1.
"""

import ctypes
import ipaddress
import json
import logging
import math
import re
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import unquote_to_bytes

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, Task, WSGITask

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

MAX_HEAD = 16 * 1024  # bytes of a request line and its fields
MAX_FIELDS = 100
MAX_BODY = 1024 * 1024 + 64 * 1024  # bytes on the wire; stock: 1 GiB, on the disk
MAX_JOINED = 64 * 1024  # bytes of a body that leaves in one send with its head
MAX_CONTROL_BODY = 17 * 1024 * 1024
CONTROL_THREADS = 2
MAX_CHUNK_LINE = 4096  # bytes of a chunk's size and extensions, or of one trailer field
MAX_CONNECTIONS = 4096  # stock: 100, and the 101st hangs without a word
SPARE_FILES = 128  # descriptors kept for everything but connections
M_ARENA_MAX = -8  # <malloc.h>
IDLE = 120.0  # seconds without a byte on a connection that owes nothing, or that takes no answer
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
LINGER = 2.0  # seconds a closed connection's input is still read
TICK = 0.5  # seconds between two looks at the clock

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
FIELD = rf"{TOKEN}:[^\x00-\x08\x0a-\x1f\x7f]*"
HOST = r"(?:[A-Za-z0-9._~%-]+|\[[0-9A-Fa-f:.]+\])"
PORT = r"(?::[0-9]{0,5})?"
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
LOOPBACK = rf"(?:[a-z0-9_-]+\.)*localhost\.?|127(?:\.{OCTET}){{3}}|\[::1\]"

EMPTY_LINES = re.compile(rb"(?:\r\n)*")
# The target: visible ASCII but "#". A method in lower case would reach the app in upper case.
REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Z-]+) ([!\"$-~]+) HTTP/(1\.[01])")
ABSOLUTE_FORM = re.compile(rf"https?://({HOST}{PORT})(/.*|\?.*|)", re.IGNORECASE)
AUTHORITY_FORM = re.compile(rf"{HOST}:[0-9]{{1,5}}")
FIELDS = re.compile(rf"(?:{FIELD}\r\n)*")
TRAILER = re.compile(FIELD)
HOST_PORT = re.compile(HOST + PORT)
ORIGIN = re.compile(rb"\r\nOrigin:[ \t]*([!-~]+)[ \t]*\r", re.IGNORECASE)
LENGTH = re.compile("[0-9]{1,19}")  # more digits are no length, and int() may refuse them
QUOTED = r'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
CHUNK = re.compile(rf"([0-9A-Fa-f]{{1,16}})(?:;{TOKEN}(?:=(?:{TOKEN}|{QUOTED}))?)*")
# What can never become part of a head or a chunk's line, however it goes on.
STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)|(?<!\r)\n")

log = logging.getLogger(__name__)


class Problem(NamedTuple):
    """An answer of the server's own (RFC 9457); `detail` repeats nothing that was sent."""

    title: str
    status: int
    detail: str
    code: str


class Refused(Exception):
    """Raised while a request arrives: the Problem that answers it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def malformed(detail: str) -> NoReturn:
    raise Refused(Problem("Bad Request", 400, detail, "malformed_request"))


HEADERS_TOO_LARGE = Problem(
    "Request Header Fields Too Large",
    431,
    f"Send at most {MAX_HEAD // 1024} KiB and {MAX_FIELDS} fields before the body.",
    "headers_too_large",
)
BODY_TOO_LARGE = Problem(
    "Request Entity Too Large", 413, "Send a much smaller body.", "body_too_large"
)
HOST_NOT_ALLOWED = Problem(
    "Bad Request",
    400,
    "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or have the name "
    "added to its trusted hosts.",
    "host_not_allowed",
)
INTERNAL_ERROR = Problem(
    "Internal Server Error", 500, "The server failed: its terminal says where.", "internal_error"
)


class Settings(Adjustments):
    """waitress' settings, which reach every parser, and the Host names served (None: any)."""

    allowed_hosts: re.Pattern[str] | None = None
    control_prefix: str | None = None

    def is_control(self, path: str) -> bool:
        """Whether a path is of the second lane."""
        return self.control_prefix is not None and path.startswith(self.control_prefix)


class ChunkedBody(ChunkedReceiver):
    """A chunked body (§7.1).

    Stock takes a bare LF after a size and an empty line before one, and reads a line of any length.
    """

    def __init__(self, buffer: OverflowableBuffer, limit: int) -> None:
        super().__init__(buffer)
        self.limit = limit  # bytes

    def received(self, data: bytes) -> int:
        """Take what belongs to this body; return how many bytes of `data` that was."""
        held = len(self.control_line)
        data = self.control_line + data
        self.control_line = b""
        at = 0
        while at < len(data) and not self.completed:
            if self.chunk_remainder:
                piece = data[at : at + self.chunk_remainder]
                self.buf.append(piece)
                self.chunk_remainder -= len(piece)
                at += len(piece)
                continue
            if self.validate_chunk_end and not b"\r\n".startswith(data[at : at + 2]):
                malformed("End each chunk's data with CRLF, where its size says that it ends.")
            end = data.find(b"\r\n", at)
            line = data[at:] if end < 0 else data[at:end]
            if len(line) > MAX_CHUNK_LINE:
                malformed("Keep chunk extensions and trailer fields short.")
            if end >= 0:
                self.read_line(line.decode("latin-1"))
                at = end + 2
            elif STRAY.search(line):
                malformed("End every line of a chunked body with CRLF.")
            else:
                self.control_line = line
                at = len(data)
        return at - held

    def read_line(self, line: str) -> None:
        if self.validate_chunk_end:
            self.validate_chunk_end = False
        elif self.all_chunks_received:
            # A trailer field is checked and dropped: it never becomes a header (§7.1.2).
            self.completed = not line
            if line and not TRAILER.fullmatch(line):
                malformed("Send well-formed trailer fields, or none.")
        elif chunk := CHUNK.fullmatch(line):
            self.chunk_remainder = int(chunk[1], 16)
            if self.chunk_remainder > self.limit:
                raise Refused(BODY_TOO_LARGE)
            self.validate_chunk_end = self.chunk_remainder > 0
            self.all_chunks_received = self.chunk_remainder == 0
        else:
            malformed("Give each chunk's size as hexadecimal digits alone.")


class Parser(HTTPRequestParser):
    """One request, refused at the first byte that no well-formed one could hold."""

    adj: Settings
    headers: dict[str, str]
    error: Problem | None  # type: ignore[assignment]
    first_line = command = request_uri = path = query = fragment = ""  # type: ignore[assignment]
    url_scheme = "http"
    target_host: str | None = None

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        try:
            used = self.read_head(data) if self.body_rcv is None else self.read_body(data)
        except Refused as refused:
            self.error = refused.problem
            self.completed = True
            used = len(data)
            # A page may read this, too, even if the fields were not.
            if self.body_rcv is None and (origin := ORIGIN.search(self.header_plus + data)):
                self.headers.setdefault("ORIGIN", origin[1].decode())
        return used

    def read_head(self, data: bytes) -> int:
        held = len(self.header_plus)
        head = self.header_plus + data
        # Empty lines before a request are to be ignored (§2.2). Stock strips any white space, and
        # takes two of them for an empty request, which gives a trickler a fresh start.
        head = head[EMPTY_LINES.match(head).end() :]  # type: ignore[union-attr]
        if head.startswith(b"HEAD "):
            self.command = "HEAD"  # so that a refusal, too, has no body
        end = head.find(b"\r\n\r\n") + 4
        complete = end >= 4
        if (end if complete else len(head)) > MAX_HEAD:
            raise Refused(HEADERS_TOO_LARGE)
        if not complete and STRAY.search(head, max(0, held - 1)):
            malformed("End every line with CRLF and send no control characters.")
        if not self.first_line and b"\r\n" in head:
            # As soon as it is there: stock waits for the fields that HTTP/0.9 never sends.
            self.read_request_line(head[: head.index(b"\r\n")].decode("latin-1"))
        if not complete:
            self.header_plus = head
            return len(data)
        self.headers_finished = True
        self.read_fields(head[len(self.first_line) + 2 : end - 2].decode("latin-1"))
        length = self.read_framing()
        self.check_host()
        self.start_body(length)
        return len(data) - (len(head) - end)

    def read_request_line(self, line: str) -> None:
        """Check the request line (§3) and its target's form (§3.2).

        Stock serves any version, and lets control bytes, fragments and a broken authority through
        or dies of them; it quotes what it refuses, in its answer or its log.
        """
        request = REQUEST_LINE.fullmatch(line)
        if not request:
            malformed(
                "Start with a method in upper case, one space, a target of visible ASCII "
                "characters without a fragment, one space, and HTTP/1.1 or HTTP/1.0."
            )
        self.first_line = line
        self.command, target, self.version = request.groups()
        resource = target
        if self.command == "CONNECT":
            if not AUTHORITY_FORM.fullmatch(target):
                malformed("CONNECT takes host:port as its target.")
        elif absolute := ABSOLUTE_FORM.fullmatch(target):
            self.target_host, resource = absolute.groups()
            resource = resource if resource.startswith("/") else f"/{resource}"
        elif not target.startswith("/") and (self.command, target) != ("OPTIONS", "*"):
            malformed("Send a target that starts with a slash, or an absolute http URL.")
        self.request_uri = target
        path, _, self.query = resource.partition("?")
        self.path = unquote_to_bytes(path).decode("latin-1")

    def read_fields(self, block: str) -> None:
        """Read the fields (§5), each ended by CRLF.

        Stock unfolds folded ones. It joins any two of a name by a comma, as we do but for two
        tokens: two hosts, lengths or codings make a list that is refused as it is. It drops a name
        with an underscore, as we do, since `A_B` would reach the app as `A-B`.
        """
        if not FIELDS.fullmatch(block):
            malformed(
                "Send each field as a name, a colon right after it and a value without control "
                "characters, on one line ended by CRLF."
            )
        lines = block.split("\r\n")
        if len(lines) > MAX_FIELDS + 1:
            raise Refused(HEADERS_TOO_LARGE)
        for line in lines[:-1]:
            name, _, value = line.partition(":")
            if "_" in name:
                continue
            key = name.upper().replace("-", "_")
            value = value.strip(" \t")
            if key not in self.headers:
                self.headers[key] = value
            elif key == "AUTHORIZATION":
                malformed("Send one Authorization field.")
            else:
                self.headers[key] += ", " + value

    def read_framing(self) -> int | None:
        """Return the body's length in bytes, None for a chunked one (§6).

        Stock prefers one of two framings, ignores chunked in HTTP/1.0 (and takes the body for the
        next request), lets "chunked" be repeated, and answers other codings 501.
        """
        coding = self.headers.pop("TRANSFER_ENCODING", None)
        length = self.headers.get("CONTENT_LENGTH", "0")
        if coding is not None:
            if coding.lower() != "chunked" or self.version == "1.0":
                malformed("Send no Transfer-Encoding but chunked, once, and in HTTP/1.1 only.")
            if "CONTENT_LENGTH" in self.headers:
                malformed("Send either Content-Length or Transfer-Encoding.")
        elif not LENGTH.fullmatch(length):
            malformed("Send one Content-Length: decimal digits.")
        # Stock knows these two words alone, not a list that has one of them (RFC 9110 §7.6.1).
        options = {
            word.strip(" \t") for word in self.headers.get("CONNECTION", "").lower().split(",")
        }
        for word in ("keep-alive", "close"):
            if word in options:
                self.headers["CONNECTION"] = word
        return int(length) if coding is None else None

    def check_host(self) -> None:
        """Check whom the request is for (§3.2). Stock takes none, two, or any.

        A page whose name is made to resolve to 127.0.0.1 (DNS rebinding) is same-origin with what
        it reads there: on loopback only loopback names are served.
        """
        host = self.headers.get("HOST")
        if host is None and self.version == "1.1":
            malformed("Send a Host field.")
        if host is not None and not HOST_PORT.fullmatch(host):
            malformed("Send a Host field with a host and, if need be, a port.")
        if allowed := self.adj.allowed_hosts:
            for name in (host, self.target_host):
                if name is not None and not allowed.fullmatch(name):
                    raise Refused(HOST_NOT_ALLOWED)
        if self.target_host is not None:
            self.headers["HOST"] = self.target_host  # it overrides the field (§3.2.2)

    @property
    def max_body(self) -> int:
        return MAX_CONTROL_BODY if self.adj.is_control(self.path) else MAX_BODY

    def start_body(self, length: int | None) -> None:
        self.completed = length == 0
        if self.completed:
            return
        buffer = OverflowableBuffer(self.adj.inbuf_overflow)
        if length is None:
            self.chunked = True
            self.body_rcv = ChunkedBody(buffer, self.max_body)
        elif length > self.max_body:
            raise Refused(BODY_TOO_LARGE)
        else:
            self.content_length = length
            self.body_rcv = FixedStreamReceiver(length, buffer)
        # Stock offers "100 Continue" to a refused request too, and to one without a body, which it
        # thereby marks as unfinished: it hangs, and the next on the connection gets its headers.
        expected = self.headers.get("EXPECT", "").lower()
        self.expect_continue = expected == "100-continue" and self.version == "1.1"

    def read_body(self, data: bytes) -> int:
        body = self.body_rcv
        assert body is not None
        used = body.received(data)
        self.body_bytes_received += used
        if self.body_bytes_received > self.max_body:
            raise Refused(BODY_TOO_LARGE)
        self.completed = body.completed
        if self.completed and self.chunked:
            self.headers["CONTENT_LENGTH"] = str(len(body))  # the app sees no chunks
        return used


def log_failure(what: str, error: BaseException | None) -> None:
    """Log where an exception came from but not its message, which may quote what was sent."""
    frames = traceback.format_tb(error.__traceback__) if error else []
    log.error("%s: %s\n%s", what, type(error).__name__, "".join(frames))


class Answer(Task):
    """What the app's answers and the server's own have in common."""

    channel: "Channel"
    request: Parser  # type: ignore[assignment]

    def service(self) -> None:
        # Stock logs the path, which may hold a token, and closes without an answer, and without a
        # word in the log, if the exception that escapes the app happens to be an OSError.
        try:
            self.start()
            self.execute()  # type: ignore[attr-defined]
            self.finish()
        except ClientDisconnected:
            self.close_on_finish = True
        except BaseException as error:  # sys.exit(), too, would leave the connection hanging
            log_failure("an exception escaped the app", error)
            if not self.wrote_header and self.request.error is None:
                self.request.error = INTERNAL_ERROR
                ProblemTask(self.channel, self.request).service()  # type: ignore[arg-type]
            self.close_on_finish = True

    def build_response_header(self) -> bytes:
        server = self.channel.server
        if server.draining and len(self.channel.requests) == 1:
            self.set_close_on_finish()
        if self.close_on_finish:
            self.request.headers["CONNECTION"] = "close"  # or HTTP/1.0 is told both
        return super().build_response_header()

    def write(self, data: bytes) -> None:
        # Stock sends the head by itself: a second system call, and a second packet, each time. A
        # long body is worth that more than a copy.
        if self.complete and not self.wrote_header:
            self.channel.last_activity = time.time()  # the app may have taken its time
            head = self.build_response_header()
            self.wrote_header = True
            if self.has_body and len(data) == self.content_length and len(data) < MAX_JOINED:
                self.content_bytes_written = len(data)
                self.channel.write_soon(head + data)
                return
            self.channel.write_soon(head)
        super().write(data)
        self.channel.server.pull_trigger()  # the next piece may be long in coming


class AppTask(Answer, WSGITask):
    def get_environment(self) -> "WSGIEnvironment":
        # Stock strips leading slashes, which makes another path of the one that was asked for.
        environ = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        # For an app that wants the connection closed: PEP 3333 forbids it the header.
        environ["server.close"] = self.set_close_on_finish
        return environ

    def execute(self) -> None:
        try:
            super().execute()
        finally:
            self.environ = None  # it holds a method of this: that would wait for the collector


class ProblemTask(Answer, ErrorTask):
    """The server's own errors. Stock sends text/plain, with an HTTP/1.0 status line if the
    request line had not been read by then.
    """

    def execute(self) -> None:
        problem = self.request.error
        assert problem is not None
        body = json.dumps({"type": "about:blank", **problem._asdict()}).encode()
        self.version = "1.1"
        self.status = f"{problem.status} {problem.title}"
        self.response_headers = [
            ("Cache-Control", "no-store"),
            ("Content-Type", "application/problem+json"),
        ]
        self.content_length = len(body)
        self.set_close_on_finish()
        server = self.channel.server
        if server.headers_for:
            self.response_headers += server.headers_for(self.request.headers.get("ORIGIN")).items()
        if server.on_refused:
            server.on_refused(problem.status, problem.code)
        self.write(b"" if self.request.command == "HEAD" else body)


class Channel(HTTPChannel):
    """One connection."""

    parser_class = Parser
    task_class = AppTask
    error_task_class = ProblemTask

    server: "Server"
    socket: Any
    requests: list[Parser]
    _flush_exception: Callable[..., object]
    _flush_some_if_lockable: Callable[..., object]
    arriving_since: float | None = None  # monotonic time of the first byte of a request
    linger_until: float | None = None

    def received(self, data: bytes) -> bool:
        server = self.server
        server.stirred = True
        # A client alone gets its answer from the thread that made it, at once. Among others the
        # thread that reads sends it, with those of others: that saves the worker a system call,
        # and with it two changes of the thread that holds the interpreter's lock.
        server.adj.send_bytes = 1 if server.heard is self else MAX_JOINED
        server.heard = self
        before = self.request
        taken = super().received(data)
        if self.request is None:
            self.arriving_since = None
        elif self.request is not before:
            self.arriving_since = time.monotonic()
        return taken

    def readable(self) -> bool:
        busy = self.requests or self.total_outbufs_len or self.close_when_flushed or self.will_close
        return self.linger_until is not None or not busy

    def writable(self) -> bool:
        due = self.total_outbufs_len or self.close_when_flushed or self.will_close
        return self.linger_until is None and bool(due)

    def handle_write(self) -> None:
        # Always under the lock: stock flushes without it when no request is running, while a worker
        # may be sending a deferred "100 Continue".
        self._flush_exception(self._flush_some_if_lockable)
        if self.will_close:
            self.handle_close()
        elif self.close_when_flushed and self.connected and not self.total_outbufs_len:
            self.linger()

    def linger(self) -> None:
        """Close our side and read on for a moment (§9.6). Stock closes at once, and what the client
        still sends is answered by a reset, which may take the answer from it unread.
        """
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()
        else:
            self.linger_until = time.monotonic() + LINGER

    def close_if_overdue(self, now: float) -> None:
        """Close what has kept us waiting too long. Stock allows any request any time to arrive, and
        never closes a connection on which an answer waits that the client does not take.
        """
        idle = time.time() - self.last_activity > IDLE
        if self.linger_until is not None:
            overdue = now > self.linger_until
        elif self.requests or self.total_outbufs_len:
            overdue = idle and self.total_outbufs_len > 0
            if self.arriving_since is not None:
                self.arriving_since = now  # we do not read meanwhile: the client waits for us
        elif self.arriving_since is not None:
            overdue = now - self.arriving_since > self.server.deadline
        else:
            overdue = idle
        if overdue:
            self.handle_close()

    def read_waiting(self) -> None:
        """Take in what the kernel has received so far, be it behind a request that is running."""
        with suppress(OSError):  # nothing there, or a broken connection, which the next poll finds
            self.received(self.socket.recv(MAX_HEAD + MAX_BODY))

    def handle_expt(self) -> None:
        # Urgent data, which HTTP knows nothing of: stock logs it, again and again, at full speed.
        self.handle_close()

    def handle_error(self) -> None:
        log_failure("a connection failed", sys.exc_info()[1])
        self.handle_close()


class Lane:
    """A pool of threads, of which the one that was idle last is given the next channel.

    So few of them take turns when few are needed. Stock wakes the one that waited longest: as many
    as there are take turns, and change places at each request.
    """

    def __init__(self, threads: int) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[Channel | None] = deque()
        self.idle: list[SimpleQueue[Channel | None]] = []
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def add_task(self, channel: Channel | None) -> None:
        """Have a channel served; None ends a thread."""
        with self.lock:
            if not self.idle:
                self.waiting.append(channel)
                return
            given = self.idle.pop()
        given.put(channel)

    def work(self) -> None:
        given: SimpleQueue[Channel | None] = SimpleQueue()
        while True:
            with self.lock:
                if self.waiting:
                    given.put(self.waiting.popleft())
                else:
                    self.idle.append(given)
            channel = given.get()
            if channel is None:
                return
            try:
                channel.service()
            except BaseException as error:
                log_failure("a request failed", error)

    def shutdown(self, timeout: float) -> None:
        """Begin nothing more, and wait for what is under way, `timeout` seconds at most."""
        with self.lock:
            self.waiting.clear()
        for _ in self.threads:
            self.add_task(None)
        end = time.monotonic() + timeout
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))


class Lanes:
    """Two of them, so that requests that sleep cannot use up the threads of the control routes.

    Which one a channel is for, the path of its next request says.
    """

    def __init__(self, settings: Settings) -> None:
        self.is_control = settings.is_control
        self.main = Lane(settings.threads)
        self.control = Lane(0 if settings.control_prefix is None else CONTROL_THREADS)

    def add_task(self, channel: Channel) -> None:
        lane = self.control if self.is_control(channel.requests[0].path) else self.main
        lane.add_task(channel)

    def shutdown(self, timeout: float) -> None:
        for lane in (self.main, self.control):
            lane.shutdown(timeout)


class Server(TcpWSGIServer):
    """`run()` until `stop()`, from any thread or a signal handler; `close()` waits for that."""

    channel_class = Channel

    adj: Settings
    active_channels: dict[int, Channel]  # type: ignore[assignment]
    next_channel_cleanup: float  # type: ignore[assignment]
    effective_port: int
    trigger: Any
    _map: dict[int, object]
    stopping = False
    draining = False
    stirred = False  # whether anything was received or answered since the last look at the clock
    heard: Channel | None = None  # the connection that something came from last

    def __init__(
        self,
        app: "WSGIApplication",
        sock: socket.socket,
        settings: Settings,
        *,
        deadline: float,
        on_refused: Callable[[int, str], None] | None,
        headers_for: Callable[[str | None], dict[str, str]] | None,
    ) -> None:
        self.deadline = deadline
        self.headers_for = headers_for
        self.grace = 10.0
        self.on_refused = on_refused
        self.running = threading.RLock()
        self.waking = threading.RLock()
        self.next_look = 0.0
        self.glibc = glibc()
        self.lanes = Lanes(settings)
        sockinfo = (sock.family, sock.type, sock.proto, sock.getsockname())
        super().__init__(
            app,
            {},
            _sock=sock,
            adj=settings,
            sockinfo=sockinfo,
            bind_socket=False,
            dispatcher=self.lanes,  # type: ignore[arg-type]
        )
        self.effective_port = int(self.effective_port)
        self.next_channel_cleanup = math.inf  # close_if_overdue does it

    def run(self) -> None:
        with self.running:
            while not self.stopping:
                self.turn(TICK)
            self.drain()

    def turn(self, timeout: float) -> None:
        # poll: stock's select() dies of a descriptor above 1023.
        self.asyncore.loop(timeout=timeout, use_poll=True, map=self._map, count=1)
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look = now + TICK
            channels = list(self.active_channels.values())
            for channel in channels:
                channel.close_if_overdue(now)
            at_work = any(channel.requests for channel in channels)
            if self.glibc and self.stirred and not at_work:
                self.stirred = False
                self.glibc.malloc_trim(0)

    def stop(self) -> None:
        self.stopping = True
        self.pull_trigger()

    def pull_trigger(self) -> None:
        self.stirred = True
        with self.waking:
            if not self.trigger._closed:  # stock would write to what has its descriptor by now
                super().pull_trigger()

    def drain(self) -> None:
        """Answer whole what had been received when the signal came, for `grace` seconds at most.

        Stock loses all of it at SIGTERM, and at SIGINT whatever it had not sent within 5 s.
        """
        end = time.monotonic() + self.grace
        known = -1
        while self.accepting and known != len(self._map):
            known = len(self._map)
            self.handle_accept()
        wasyncore.dispatcher.close(self)
        for channel in list(self.active_channels.values()):
            channel.read_waiting()
        self.draining = True
        for channel in list(self.active_channels.values()):
            if not (channel.requests or channel.total_outbufs_len or channel.linger_until):
                channel.handle_close()
        while self.active_channels and time.monotonic() < end:
            for channel in list(self.active_channels.values()):
                if not channel.requests:
                    channel.close_when_flushed = True
            self.turn(min(TICK, max(0.0, end - time.monotonic())))
        self.release(timeout=0 if self.active_channels else 1)

    def release(self, timeout: int) -> None:
        wasyncore.dispatcher.close(self)
        for channel in list(self.active_channels.values()):
            channel.handle_close()
        self.lanes.shutdown(timeout)
        with self.waking:
            self.trigger.close()

    def close(self) -> None:
        self.stop()
        with self.running:
            if not self.trigger._closed:
                self.release(timeout=1)

    def handle_error(self) -> None:
        # Stock closes the listening socket, and the process lives on deaf.
        log_failure("a connection could not be accepted", sys.exc_info()[1])


def glibc() -> Any:
    """The C library where it is glibc, which keeps what it frees: None elsewhere.

    It does so in an arena for each thread. After a few long bodies or answers at once the process
    would stay several times its size: hence one arena, and malloc_trim() when there is leisure.
    """
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        if library.malloc_trim and library.mallopt(M_ARENA_MAX, 1):
            return library
    return None


def resolve(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """The family and the first address of a host, an IPv4 one if it has any.

    Raises ValueError for a port out of range, which getaddrinfo() would reduce modulo 65536, and
    OSError for a host that is unknown.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port {port} is not between 0 and 65535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise OSError(f"no address is known for {host!r}") from None
    family, _, _, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    return family, address


def listen(host: str, port: int) -> socket.socket:
    """Listen on the one address that `resolve()` gives; OSError if it is not ours or is taken."""
    family, address = resolve(host, port)
    try:
        return socket.create_server(address, family=family, backlog=1024)
    except OSError as error:
        reason, _, _ = str(error.strerror).partition(" (while")
        raise OSError(f"cannot listen on {host}, port {port}: {reason}") from error


def is_loopback(host: str) -> bool:
    """Whether what listens on `host` can be reached from this machine alone."""
    _, address = resolve(host, 0)
    return ipaddress.ip_address(address[0].partition("%")[0]).is_loopback


def check_hosts(names: Iterable[str]) -> None:
    """Raise ValueError for a trusted host that is no host: a URL, or a name with a port."""
    for name in names:
        if not re.fullmatch(HOST, in_brackets(name)):
            raise ValueError(f"{name} is not a host name: give it without scheme and port")


def in_brackets(host: str) -> str:
    """The host as a URL has it: an IPv6 address stands in brackets."""
    return f"[{host}]" if host.count(":") > 1 else host


def host_pattern(trusted: Iterable[str]) -> re.Pattern[str]:
    """What Host may be on a server that listens on loopback."""
    names = [re.escape(in_brackets(name).removesuffix(".")) for name in trusted]
    also = "".join(rf"|{name}\.?" for name in names)
    return re.compile(rf"(?:{LOOPBACK}{also}){PORT}", re.IGNORECASE)


def connection_limit() -> int:
    """As many connections as there may be descriptors for: out of them, accept() is a busy loop.

    The soft limit on descriptors, 1,024 on most systems, is raised as far as we need and may.
    """
    if not hasattr(select, "poll"):
        return 512 - SPARE_FILES  # Windows: what select() takes
    if resource is None:
        return MAX_CONNECTIONS
    wanted = MAX_CONNECTIONS + SPARE_FILES
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (wanted if limit == resource.RLIM_INFINITY else limit for limit in limits)
    if soft < min(wanted, hard):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), limits[1]))
            soft = min(wanted, hard)
    return min(MAX_CONNECTIONS, max(soft - SPARE_FILES, soft // 2))


def create_server(
    app: "WSGIApplication",
    host: str,
    port: int,
    *,
    threads: int = 16,
    deadline: float = 30.0,
    trusted_hosts: Iterable[str] = (),
    control_prefix: str | None = None,
    on_refused: Callable[[int, str], None] | None = None,
    headers_for: Callable[[str | None], dict[str, str]] | None = None,
) -> Server:
    """Listen, and return the server, whose port is `effective_port`; raises as `listen()` does.

    `deadline` is in seconds, for a request to arrive whole. Paths that begin with `control_prefix`
    have a lane of their own, and room for larger bodies. `on_refused` is told the status and the
    code of each answer that is the server's own, in the thread that sends it; `headers_for` gives
    more headers for it, by the Origin of the request.
    """
    sock = listen(host, port)
    try:
        settings = Settings(
            threads=threads,
            connection_limit=connection_limit(),
            max_request_header_size=MAX_HEAD,
            inbuf_overflow=2 * MAX_BODY,  # neither request nor answer goes to the disk
            outbuf_overflow=64 * 1024 * 1024,
            log_socket_errors=False,
        )
        settings.control_prefix = control_prefix
        check_hosts(trusted_hosts)
        if is_loopback(sock.getsockname()[0]):
            settings.allowed_hosts = host_pattern(trusted_hosts)
        # waitress warns of each answer cut short on purpose.
        logging.getLogger("waitress").setLevel(logging.ERROR)
        return Server(
            app,
            sock,
            settings,
            deadline=deadline,
            on_refused=on_refused,
            headers_for=headers_for,
        )
    except BaseException:
        sock.close()
        raise


def serve(
    app: "WSGIApplication",
    host: str,
    port: int,
    *,
    threads: int = 16,
    deadline: float = 30.0,
    grace: float = 10.0,
    trusted_hosts: Iterable[str] = (),
    control_prefix: str | None = None,
    on_listening: Callable[[int], None] | None = None,
    on_refused: Callable[[int, str], None] | None = None,
    headers_for: Callable[[str | None], dict[str, str]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, drain for up to `grace` seconds, and return; main thread only.

    A second signal ends the process at once. `on_listening` is told the port.
    """
    server = create_server(
        app,
        host,
        port,
        threads=threads,
        deadline=deadline,
        trusted_hosts=trusted_hosts,
        control_prefix=control_prefix,
        on_refused=on_refused,
        headers_for=headers_for,
    )
    server.grace = grace

    def drain(number: int, frame: FrameType | None) -> None:
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        server.stop()

    before = {each: signal.signal(each, drain) for each in STOP_SIGNALS}
    try:
        if on_listening is not None:
            on_listening(server.effective_port)
        server.run()
    finally:
        server.close()
        for each, handler in before.items():
            signal.signal(each, handler)
