"""waitress with strict heads, errors in JSON, and an end that loses no response.

It knows nothing of the app. It uses waitress' public names alone, and overrides six methods:

| overridden | what a user sees of it |
|---|---|
| `HTTPRequestParser.parse_header` | exact heads; Host checked |
| `HTTPRequestParser.received` | a response to TLS |
| `ErrorTask.execute` | errors in JSON; HEAD without a body |
| `WSGITask.get_environment` | responses that are cut or dropped; a thread for what waits |
| `WSGITask.write`, `HTTPChannel.write_soon` | a response in one piece |
"""

import logging
import signal
import sys
import traceback
from types import FrameType
from typing import Any

from .addresses import LOOPBACK as LOOPBACK
from .addresses import ListenError as ListenError
from .addresses import address_of as address_of
from .addresses import addresses_for_others as addresses_for_others
from .addresses import check_hosts as check_hosts
from .addresses import connection_limit as connection_limit
from .addresses import hosts_served, listen
from .addresses import in_brackets as in_brackets
from .loop import Server as Server
from .options import App
from .options import RejectedRequest as RejectedRequest
from .options import ServerOptions as ServerOptions

# Windows has no SIGHUP.
STOP_SIGNALS = [each for each in signal.Signals if each.name in ("SIGTERM", "SIGINT", "SIGHUP")]
DEFAULTS = ServerOptions()


def create_server(app: App, host: str, port: int, options: ServerOptions = DEFAULTS) -> Server:
    """Listen, and return the server, whose port is `effective_port`. Raises as `listen()` does."""
    sockets = listen(host, port)
    hosts = hosts_served(sockets[0], host, options.trusted_hosts)
    try:
        return Server(app, sockets, hosts, connection_limit(), options)
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
        for each in previous:
            signal.signal(each, signal.SIG_DFL)
        server.stop()

    previous: dict[signal.Signals, Any] = {}
    for each in STOP_SIGNALS:
        if each.name != "SIGHUP" or signal.getsignal(each) is not signal.SIG_IGN:  # by `nohup`
            previous[each] = signal.signal(each, drain)
    try:
        options.on_listening(server.effective_port, server.stop)
        server.run()
    finally:
        server.close()
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
