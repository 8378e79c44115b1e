"""`verify URL -- COMMAND`: the server and the command around the recording proxy."""

from collections.abc import Callable, Mapping, Sequence

import server
from verify.client import HTTPClient
from verify.exchange import Log
from verify.record import Recorder

from .command import Command
from .run import warn_of_no_request

HOST = "127.0.0.1"


def record(
    client: HTTPClient, token: str, words: Sequence[str], environ: Mapping[str, str]
) -> tuple[Log, int]:
    """Run a command with a proxy to the service; return what it recorded, and the exit status.

    The command's environment has STUB_URL and STUB_TOKEN. Raises `server.ListenError`.
    """
    recorder = Recorder(client, token)
    command = Command(words, environ)

    def begin(port: int, stop: Callable[[], None]) -> None:
        command.forward_signals()
        command.environ.update(STUB_URL=f"http://{HOST}:{port}", STUB_TOKEN=token)
        command.start(command.run, stop)

    try:
        server.serve(recorder.app, HOST, 0, server.ServerOptions(on_listening=begin))
    finally:
        command.end()
    log = recorder.log()
    if not log.exchanges:
        warn_of_no_request(command, "STUB_URL")
    return log, command.status
