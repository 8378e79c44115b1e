"""waitress with errors in JSON, responses that can be dropped, and an end that loses none.

It knows nothing of the app. It uses waitress' public names alone, and overrides five methods:

| overridden | what a user sees of it |
|---|---|
| `HTTPRequestParser.received` | a response to TLS |
| `HTTPRequestParser.parse_header` | a limit of fields |
| `ErrorTask.execute` | errors in JSON |
| `WSGITask.get_environment`, `WSGITask.build_response_header` | responses that are cut or dropped |

[speedups.py](speedups.py) overrides more; the server is right without it.
"""

import logging
import signal
import sys
import traceback
from collections.abc import Callable
from ipaddress import ip_address
from types import FrameType
from typing import Any

from .addresses import ListenError as ListenError
from .addresses import address_of as address_of
from .addresses import listen
from .hosts import App, serve_hosts
from .hosts import check_hosts as check_hosts
from .hosts import in_brackets as in_brackets
from .loop import Server as Server
from .loop import ServerOptions as ServerOptions
from .speedups import speed_up as speed_up

Handlers = dict[signal.Signals, Any]
DEFAULTS = ServerOptions()


def create_server(app: App, host: str, port: int, options: ServerOptions = DEFAULTS) -> Server:
    """Listen, and return the server, whose port is `effective_port`. Raises as `listen()` does.

    On loopback it serves the names of loopback, the host and the trusted ones.
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
    """Serve until SIGTERM, SIGINT or SIGHUP, drain, and return; in a process' main thread.

    A second signal ends the process at once. Raises as `create_server()` does; any other OSError
    is a failure of the running server.
    """
    logger = logging.getLogger("waitress")
    logger.setLevel(logging.ERROR)  # it warns of each response that is cut short on purpose
    logger.addFilter(without_message)
    server = create_server(app, host, port, options)

    def drain(number: int, frame: FrameType | None) -> None:
        restore_handlers(dict.fromkeys(previous, signal.SIG_DFL))
        server.stop()

    previous = handle_stop_signals(drain)
    try:
        options.on_listening(server.effective_port, server.stop)
        server.run()
    finally:
        server.close()
        restore_handlers(previous)


def handle_stop_signals(handler: Callable[[int, FrameType | None], None]) -> Handlers:
    """Handle SIGTERM, SIGINT and SIGHUP; return the previous handlers.

    A SIGHUP that is ignored, such as by `nohup`, stays ignored.
    """
    previous: Handlers = {}
    for each in signal.Signals:
        is_ignored = signal.getsignal(each) is signal.SIG_IGN
        # Windows has no SIGHUP.
        if each.name in ("SIGTERM", "SIGINT") or (each.name == "SIGHUP" and not is_ignored):
            previous[each] = signal.signal(each, handler)
    return previous


def restore_handlers(previous: Handlers) -> None:
    for each, handler in previous.items():
        signal.signal(each, handler)


def without_message(record: logging.LogRecord) -> bool:
    """A filter: of an exception, log where it came from, since the rest may quote the request."""
    kind, _, trace = sys.exc_info()
    if kind:
        frames = "".join(traceback.format_tb(trace))
        record.msg = f"a request or a connection failed: {kind.__name__}\n{frames}"
        record.args = None
        record.exc_info = None
    return True
