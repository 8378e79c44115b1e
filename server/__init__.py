"""waitress with errors in JSON, with dropped responses, and with an end that loses no request.

It does not know the app. It uses only public names of waitress, and overrides seven methods:

| method | effect for a user |
|---|---|
| `HTTPRequestParser.received` | a response to TLS |
| `HTTPRequestParser.parse_header` | a limit of fields |
| `ErrorTask.execute` | errors in JSON |
| `WSGITask.get_environment`, `WSGITask.build_response_header` | cut and dropped responses |
| `WSGITask.service` | no traceback of a response that its app cuts |
| `HTTPChannel.__init__` | none: a connection knows its server |

[speedups.py](speedups.py) overrides more methods, and no response depends on it.
"""

import logging
import signal
import sys
import traceback
from collections.abc import Callable
from ipaddress import ip_address
from types import FrameType
from typing import Any

from .addresses import ListenError, find_address, listen
from .hosts import App, add_brackets, check_hosts, is_host, serve_hosts
from .loop import Server, ServerOptions
from .speedups import speed_up

__all__ = [
    "ListenError", "Server", "ServerOptions", "add_brackets", "check_hosts", "create_server",
    "find_address", "handle_stop_signals", "is_host", "serve", "set_handlers", "speed_up",
]  # fmt: skip

Handlers = dict[signal.Signals, Any]
DEFAULTS = ServerOptions()


def create_server(app: App, host: str, port: int, options: ServerOptions = DEFAULTS) -> Server:
    """Listen, and return the server. `listen()` describes the errors.

    `port` may be 0: `effective_port` of the server is the port that the system chose. On loopback
    the server accepts loopback names, `host`, and the trusted hosts.
    """
    sockets = listen(host, port)
    try:
        if ip_address(sockets[0].getsockname()[0]).is_loopback:
            app = serve_hosts(app, [host, *options.trusted_hosts], options.on_wrong_host)
        return Server(app, sockets, options)
    except BaseException:
        for each in sockets:
            each.close()
        raise


def serve(app: App, host: str, port: int, options: ServerOptions = DEFAULTS) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then finish the current requests.

    Call it in the main thread. A second signal ends the process at once. Raises `ListenError`, and
    `OSError` if the running server fails.
    """
    logger = logging.getLogger("waitress")
    logger.setLevel(logging.ERROR)  # A cut response is a warning, but it is cut on purpose.
    logger.addFilter(hide_message)
    server = create_server(app, host, port, options)

    def drain(number: int, frame: FrameType | None) -> None:
        set_handlers(dict.fromkeys(previous, signal.SIG_DFL))
        server.stop()

    previous = handle_stop_signals(drain)
    try:
        options.on_listening(server.effective_port, server.stop)
        server.run()
    finally:
        server.close()
        set_handlers(previous)


def handle_stop_signals(handler: Callable[[int, FrameType | None], None]) -> Handlers:
    """Handle SIGTERM, SIGINT and SIGHUP; return the previous handlers.

    If SIGHUP is ignored, such as by `nohup`, it stays ignored.
    """
    previous: Handlers = {}
    stops = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        stops.append(signal.SIGHUP)  # Windows has no SIGHUP.
    for each in stops:
        previous[each] = signal.signal(each, handler)
    return previous


def set_handlers(handlers: Handlers) -> None:
    for each, handler in handlers.items():
        signal.signal(each, handler)


def hide_message(record: logging.LogRecord) -> bool:
    """Log only the type and the frames of an exception, since its message may quote the request.

    It is a filter of `logging`: a record stays for True.
    """
    kind, _, trace = sys.exc_info()
    if kind:
        frames = "".join(traceback.format_tb(trace))
        record.msg = f"a request or a connection failed: {kind.__name__}\n{frames}"
        record.args = None
        record.exc_info = None
    return True
