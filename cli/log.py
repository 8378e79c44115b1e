"""The log of a run: on stderr, at once or at its end, and in the file of --log."""

from collections import deque
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import Lock

from flask import Response, g, request

import stub
from records import timestamp
from store import utc_now
from stub import is_control_path, line_of
from traffic.masking import Redactor, make_printable

from .options import Settings
from .reports import open_private
from .stderr import say

UNLOGGED = (f"{stub.POLL_PATH}/", "/_stub/health", "/_stub/ready")  # where they succeed
DOCUMENTS = ("/openapi.json", "/_stub/openapi.json", "/llms.txt")
# Lines that the end of a failed run shows, and with --quiet. A guess: those of a large test run.
HELD = 1000
LATEST = 20
HINTS = 100  # the newest, which are not repeated


class RunLog:
    """The log of a run: printed at once, or held and printed at the end of a run that fails.

    It is held beside a COMMAND, whose output it would bury, and with --quiet. A run fails by its
    status or a finding, not by a 4xx, which tests request on purpose. Raises `OSError` if the file
    cannot be written.
    """

    def __init__(self, settings: Settings, *, has_command: bool) -> None:
        self.redactor = Redactor(settings.options.tokens)
        self.is_muted = False  # whether only the file gets what comes
        self.has_served_documents = False
        self._file = LogFile(settings.log) if settings.log else None
        self._quiet = settings.quiet
        self._is_held = settings.quiet or (has_command and not settings.probe)
        self._has_readers = not settings.quiet or bool(
            has_command or settings.fail_on or settings.log
        )
        self._held: deque[str] = deque(maxlen=LATEST if settings.quiet else HELD)
        self._hints: deque[str] = deque(maxlen=HINTS)

    def add(self, response: Response) -> Response:
        """The last step of a request: log its response."""
        path = request.environ["PATH_INFO"]
        status = response.status_code
        if path in DOCUMENTS:
            self.has_served_documents = True
        if not self._has_readers and status < 400:
            return response
        # The console has many files and asks each second, that of the image every 5 seconds.
        if path == stub.POLL_PATH or (status == 200 and path.startswith(UNLOGGED)):
            return response
        self._add(line_of(response, self.redactor), path, status)
        visit = g.get("store")
        if visit and visit.hint:
            self._hint(visit.hint)
        return response

    def add_wrong_host(self, name: str) -> None:
        """Say how to start to serve the host that a request was for."""
        self._hint(f"Host {name} is not served: start with --trusted-host {name}")

    def held(self) -> str:
        """The latest lines that were not printed."""
        is_full = len(self._held) == self._held.maxlen
        before = "(--log FILE has all lines)\n" if is_full else ""
        return before + "".join(self._held)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _add(self, line: str, path: str, status: int) -> None:
        """Write a line; print or hold it. A client may not show which control requests fail."""
        if self._file:
            self._file.add(line)
        if self.is_muted:
            return
        is_control = is_control_path(path)
        if not self._is_held or (is_control and status >= 400):
            say(line)
        elif not (is_control and self._quiet):
            self._held.append(line)

    def _hint(self, hint: str) -> None:
        """Print what to start with instead, unless this is one of the newest hints."""
        text = make_printable(self.redactor.mask(hint)) + "\n"
        if text in self._hints:
            return
        self._hints.append(text)
        if self._file:
            self._file.add(text)
        if not self.is_muted:
            say(text)


class LogFile:
    """The file of --log, to which lines are appended, each behind the time and whole.

    Raises `OSError` if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = FileIO(path, "ab", opener=open_private)
        self._has_failed = False
        self._lock = Lock()

    def add(self, text: str) -> None:
        """Append a line. One that cannot be written breaks no request, and leaves no half."""
        line = f"{timestamp(utc_now())} {text}".encode(errors="replace")
        with self._lock:
            if self._file.closed:  # the request outlived the grace
                return
            rest = line
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
            except OSError as error:
                self._remove_last(len(line) - len(rest))
                if not self._has_failed:
                    reason = f"{error.strerror}: lines of the log are lost"
                    say(f"warning: {self._file.name}: {reason}\n")
                self._has_failed = True

    def _remove_last(self, size: int) -> None:
        """Remove so many bytes from the end of the file."""
        if size:
            with suppress(OSError):  # a pipe has no end
                self._file.truncate(self._file.tell() - size)

    def close(self) -> None:
        with self._lock:
            self._file.close()
