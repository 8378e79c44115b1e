"""The log of a run: on stderr, in the file of --log, and its latest lines for the end."""

from collections import deque
from functools import partial

from flask import Response, g, request

import server
import stub
from stub.access_log import line_of
from stub.paths import is_control_path
from stub.redaction import Redactor, name_of_host, printable

from .log_file import LogFile, members_of, members_of_rejected
from .options import Settings
from .stderr import say

UNLOGGED = (f"{stub.POLL_PATH}/", "/_stub/health", "/_stub/ready")  # where they succeed
LATEST = 20  # lines that the end of a run shows
HINTS = 100  # the newest, which are not repeated


class Log:
    """The log of a run. With --quiet only what a client's own output may not show is printed.

    `shows_latest` is whether the end of the run may show the latest lines that were not printed.
    Raises `OSError` if the file cannot be written.
    """

    def __init__(self, settings: Settings, *, shows_latest: bool) -> None:
        self.redactor = Redactor(settings.secrets)
        self.is_muted = False  # whether only the file gets what comes
        self._file = LogFile(settings.log) if settings.log else None
        self._quiet = settings.quiet
        self._has_readers = shows_latest or not settings.quiet or bool(settings.log)
        self._latest: deque[str] = deque(maxlen=LATEST)  # lines that were not printed
        self._hints: deque[str] = deque(maxlen=HINTS)

    def add(self, response: Response) -> Response:
        """The last step of a request: log its response."""
        path = request.environ["PATH_INFO"]
        status = response.status_code
        if not self._has_readers and status < 400:
            return response
        # The console has many files and asks each second, a health check every 5 seconds.
        if path == stub.POLL_PATH or (status == 200 and path.startswith(UNLOGGED)):
            return response
        redactor = self.redactor
        line = line_of(response, redactor)
        if self._file:
            self._file.add(line, partial(members_of, response, redactor))
        if not is_control_path(path):
            self._print_or_keep(line)
        elif status >= 400 or not self._quiet:  # a test's own log may not show the failed ones
            self._print(line)
        if "hint" in g:
            self._hint(g.hint)
        return response

    def add_rejected(self, rejected: server.RejectedRequest) -> None:
        """Log a request that the server rejected."""
        redactor = self.redactor
        line = "a request"
        if rejected.target:
            line = redactor.target(f"{rejected.method} {rejected.target}")
        line += f" {rejected.status} {rejected.code} ({rejected.detail})\n"
        if self._file:
            self._file.add(line, partial(members_of_rejected, rejected, redactor))
        path, _, _ = rejected.target.partition("?")
        if is_control_path(path):
            self._print(line)
        else:
            self._print_or_keep(line)
        if rejected.code == "host_not_allowed":
            host = redactor.host(rejected.host)
            name = name_of_host(host)
            self._hint(f"Host {host} is not served: start with --trusted-host {name}")

    def latest(self) -> str:
        """The latest lines that were not printed."""
        before = "(--log FILE has all lines)\n" if len(self._latest) == LATEST else ""
        return before + "".join(self._latest)

    def _hint(self, hint: str) -> None:
        """Print what to start with instead, unless this is one of the newest hints."""
        text = printable(self.redactor.url(hint)) + "\n"
        if text in self._hints:
            return
        self._hints.append(text)
        if self._file:
            self._file.add(text)
        self._print(text)

    def _print_or_keep(self, line: str) -> None:
        """Print a line; with --quiet, keep it for the end."""
        if not self._quiet:
            self._print(line)
        elif not self.is_muted:
            self._latest.append(line)

    def _print(self, text: str) -> None:
        if not self.is_muted:
            say(text)
