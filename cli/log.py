"""The log of a run: on stderr, in the file of --log, and its latest lines for the end."""

import re
from collections import deque
from contextlib import suppress

from flask import Response

import server
import stub
from web.access_log import line_of
from web.redaction import Redactor, printable
from web.routing import OPERATIONS, is_control_path

from .options import Settings
from .stderr import say

LATEST = 20  # lines that the end of a run shows


class Log:
    """The log of a run. With --quiet only what a client's own output may not show is printed.

    `shows_latest` is whether the end of the run may show the latest lines that were not printed.
    The file is made anew. Raises `OSError` if it cannot be written.
    """

    def __init__(self, settings: Settings, *, shows_latest: bool) -> None:
        self._redactor = Redactor(settings.token)
        self._quiet = settings.quiet
        self._file = settings.log.open("wb", buffering=0) if settings.log else None
        self._has_readers = bool(shows_latest or not settings.quiet or settings.log)
        self.is_called = False  # whether there was a request to /v1
        self._latest: deque[str] = deque(maxlen=LATEST)  # lines that were not printed
        self.is_muted = False  # whether only the file gets what comes
        self._hints: set[str] = set()

    def add(self, response: Response) -> Response:
        """The last step of a request: log its response."""
        if not self._has_readers and response.status_code < 400:
            return response
        line = line_of(response)
        self.is_called = self.is_called or line.path.startswith(OPERATIONS)
        # An open page asks for the one each second, a health check for the other every 5 seconds.
        if line.path == stub.POLL_PATH or (line.path, line.status) == ("/_stub/ready", 200):
            return response
        self._write(
            line.text(self._redactor),
            is_printed=line.is_control_error,
            is_kept=not is_control_path(line.path),
        )
        if line.hint:
            self._hint(line.hint)
        return response

    def add_rejected(self, rejected: server.RejectedRequest) -> None:
        """Log a request that the server rejected."""
        target = f"{rejected.method} {rejected.target}" if rejected.target else "a request"
        what = self._redactor.target(target)
        path = rejected.target.partition("?")[0]
        self.is_called = self.is_called or path.startswith(OPERATIONS) or not path
        text = f"{what} {rejected.status} {rejected.code} ({rejected.detail})\n"
        self._write(text, is_printed=is_control_path(path))
        if rejected.code == "host_not_allowed":
            name = re.sub(":[0-9]*$", "", rejected.host).strip("[]")
            self._hint(f"Host {rejected.host} is not served: start with --trusted-host {name}")

    def latest(self) -> str:
        """The latest lines that were not printed."""
        before = "(--log FILE has all lines)\n" if len(self._latest) == LATEST else ""
        return before + "".join(self._latest)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _hint(self, hint: str) -> None:
        """Print what to start with instead: each text once."""
        text = printable(self._redactor.text(hint)) + "\n"
        if text not in self._hints:
            self._hints.add(text)
            self._write(text, is_printed=True)

    def _write(self, text: str, *, is_printed: bool = False, is_kept: bool = True) -> None:
        if self._file:
            with suppress(OSError):  # a full disk breaks no request
                self._file.write(text.encode())
        if self.is_muted:
            return
        if is_printed or not self._quiet:
            say(text)
        elif is_kept:
            self._latest.append(text)
