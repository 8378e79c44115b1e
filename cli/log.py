"""The log of a run: printed at once or at the end, and written to the file of --log."""

from collections import deque
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import Lock

from flask import Response, g, request

import server
import stub
from records import timestamp
from store import utc_now
from traffic import masking

from .files import open_private
from .options import Settings
from .stderr import say

FREQUENT = (f"{stub.POLL_PATH}/", "/_stub/health", "/_stub/ready")
DOCUMENTS = ("/openapi.json", "/_stub/openapi.json", "/llms.txt")


class RunLog:
    """The log of a run: printed at once, or held until the end and printed if the run fails.

    It is held with --quiet, and with a COMMAND, since the output of a COMMAND is more important. A
    run fails with its exit status or a finding, not with a 404 that a test wants to see. Raises
    `OSError` if the file of --log cannot be written.
    """

    def __init__(self, settings: Settings, *, has_command: bool) -> None:
        self.redactor = masking.Redactor(settings.options.tokens)
        self.is_muted = False  # If true, new lines go only to the file.
        self.has_served_documents = False
        self._file = LogFile(settings.log) if settings.log else None
        self._quiet = settings.quiet
        self._is_held = settings.quiet or (has_command and not settings.probe)
        self._has_readers = not settings.quiet or bool(
            has_command or settings.fail_on or settings.log
        )
        # A large test run sends about 1,000 requests: a guess.
        self._held: deque[str] = deque(maxlen=20 if settings.quiet else 1000)
        self._hints: deque[str] = deque(maxlen=100)

    def add(self, response: Response) -> Response:
        """Log a response: the last step of a request."""
        path = request.environ["PATH_INFO"]
        status = response.status_code
        if path in DOCUMENTS:
            self.has_served_documents = True
        if not self._has_readers and status < 400:
            return response
        # The console polls every second, and the health check of the image every 5 seconds.
        if path == stub.POLL_PATH or (status == 200 and path.startswith(FREQUENT)):
            return response
        self._add(stub.format_line(response, self.redactor), path, status)
        visit = g.get("store")
        if visit and visit.hint:
            self._hint(visit.hint)
        return response

    def add_wrong_host(self, name: str) -> None:
        """Print the host of a rejected request, and the option that lets the program serve it.

        A repeated field is no host: `team.test,localhost`.
        """
        option = f": start with --trusted-host {name}" if server.is_host(name) else ""
        if name:
            self._hint(f"Host {name} is not served{option}")

    def held(self) -> str:
        """Return the latest lines that were not printed."""
        is_full = len(self._held) == self._held.maxlen
        before = "(--log FILE has the earlier lines)\n" if is_full else ""
        return before + "".join(self._held)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _add(self, line: str, path: str, status: int) -> None:
        """Write a line to the file; print or hold it.

        A failed control request is printed at once, because a client may not show the failure.
        """
        if self._file:
            self._file.add(line)
        if self.is_muted:
            return
        is_control = stub.is_control_path(path)
        if not self._is_held or (is_control and status >= 400):
            say(line)
        elif not (is_control and self._quiet):
            self._held.append(line)

    def _hint(self, hint: str) -> None:
        """Print a hint, such as an option to start with. Do not repeat the newest hints."""
        text = masking.make_printable(self.redactor.mask(hint)) + "\n"
        if text in self._hints:
            return
        self._hints.append(text)
        if self._file:
            self._file.add(text)
        if not self.is_muted:
            say(text)


class LogFile:
    """The file of --log: `2026-01-05T09:00:00.000Z GET /v1/projects 200 …`, a line per request.

    Raises `OSError` if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = FileIO(path, "ab", opener=open_private)
        self._has_failed = False
        self._lock = Lock()

    def add(self, text: str) -> None:
        """Append a line. If it cannot be written whole, nothing of it stays in the file."""
        line = f"{timestamp(utc_now())} {text}".encode(errors="replace")
        with self._lock:
            if self._file.closed:  # The request took longer than --grace.
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
        """Remove `size` bytes from the end of the file, unless it is a pipe."""
        if size:
            with suppress(OSError):
                self._file.truncate(self._file.tell() - size)

    def close(self) -> None:
        with self._lock:
            self._file.close()
