"""The log of a run: on stderr, at once or at its end, and in the file of --log."""

import errno
import json
import logging
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from flask import Response, g, request

import stub
from records import timestamp
from store import utc_now
from stub.access_log import line_of, milliseconds_since, world_name
from stub.entry import STARTED
from stub.paths import is_control_path
from traffic.masking import Redactor, printable
from web.files import is_named_pipe, no_file
from web.problems import reasons

from .options import Settings
from .reports import PRIVATE, is_output
from .stderr import say

UNLOGGED = (f"{stub.POLL_PATH}/", "/_stub/health", "/_stub/ready")  # where they succeed
# Lines that the end of a failed run shows, and with --quiet. A guess: those of a large test run.
HELD = 1000
LATEST = 20
HINTS = 100  # the newest, which are not repeated

Members = Callable[[], dict[str, Any]]
"""Makes the JSON object of a request."""


class Log:
    """The log of a run: printed at once, or held and printed at the end of a run that fails.

    It is held beside a COMMAND, whose output it would bury, and with --quiet. A run fails by its
    status or a finding, not by a 4xx, which tests request on purpose. Raises `OSError` if the file
    cannot be written.
    """

    def __init__(self, settings: Settings, *, has_command: bool) -> None:
        self.redactor = Redactor(settings.options.tokens)
        self.is_muted = False  # whether only the file gets what comes
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
        if not self._has_readers and status < 400:
            return response
        # The console has many files and asks each second, that of the image every 5 seconds.
        if path == stub.POLL_PATH or (status == 200 and path.startswith(UNLOGGED)):
            return response
        line = line_of(response, self.redactor)
        self._add(line, path, status, partial(members_of, response, self.redactor))
        if "hint" in g:
            self._hint(g.hint)
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

    def _add(self, line: str, path: str, status: int, members: Members) -> None:
        """Write a line; print or hold it. A client may not show which control requests fail."""
        if self._file:
            self._file.add(line, members)
        if self.is_muted:
            return
        is_control = is_control_path(path)
        if not self._is_held or (is_control and status >= 400):
            say(line)
        elif not (is_control and self._quiet):
            self._held.append(line)

    def _hint(self, hint: str) -> None:
        """Print what to start with instead, unless this is one of the newest hints."""
        text = printable(self.redactor.text(hint)) + "\n"
        if text in self._hints:
            return
        self._hints.append(text)
        if self._file:
            self._file.add(text)
        if not self.is_muted:
            say(text)


class LogFile(WatchedFileHandler):
    """The file of --log: lines, or JSON objects if its name ends with `.jsonl`.

    It is made anew at the start, and may be moved or truncated meanwhile. Raises `OSError` if it
    cannot be made.
    """

    terminator = ""  # a line has its own

    def __init__(self, path: Path) -> None:
        if is_named_pipe(path):
            raise no_file(path)
        if path.exists() and is_output(path.stat()):
            raise OSError(errno.EINVAL, "the output of this program", str(path))
        open(path, "wb", opener=open_private).close()
        super().__init__(path, encoding="utf-8", errors="replace")
        self._path = path
        self._is_json = path.suffix.lower() == ".jsonl"
        self._lost = 0  # lines that it could not take

    def add(self, line: str, members: Members | None = None) -> None:
        """Write a line behind the time, or the JSON object of its `members`, if it has any.

        What the file cannot take is counted, and breaks no request.
        """
        now = timestamp(utc_now())
        text = f"{now} {line}"
        if self._is_json:
            if members is None:
                return
            text = json.dumps({"time": now, **members()}) + "\n"
        try:
            self._path.touch(PRIVATE)  # else the handler makes a file that others can read
            self.handle(logging.makeLogRecord({"msg": text}))
        except OSError as error:
            if not self._lost:
                say(f"warning: --log: {error.strerror}: lines are lost until this ends\n")
            self._lost += 1
            with suppress(OSError):  # it has the line still; the next one opens the file again
                self.close()
            return
        if self._lost:
            say(f"--log: it can be written again; {self._lost} lines were lost\n")
            self._lost = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        raise  # what is being handled: `add` counts it


def open_private(path: str, flags: int) -> int:
    """An opener for `open()`: a new file, which has requests in it, is for its owner alone."""
    return os.open(path, flags, PRIVATE)


# What a JSON object has of the journal's entry of a request, by the names there.
OF_ENTRY = ("number", "ms", "method", "path", "query", "status", "code", "reason", "operation",
            "fault", "unpromised", "violations", "grease")  # fmt: skip
NOTHING: dict[str, Any] = dict.fromkeys(("world", *OF_ENTRY))


def members_of(response: Response, redactor: Redactor) -> dict[str, Any]:
    """The current request and its response, with tokens masked."""
    context = vars(g._get_current_object())
    members = {**NOTHING, "world": redactor.text(world_name(context))}
    if "recorded" in context:
        document = context["recorded"].document()
        for name in OF_ENTRY:
            members[name] = document[name]
        return members
    environ = request.environ
    query = environ.get("QUERY_STRING", "")
    elapsed = milliseconds_since(environ[STARTED])
    members |= redactor.request_line(environ["REQUEST_METHOD"], request.path, query)
    members["ms"] = round(elapsed, 3)
    members["status"] = response.status_code
    problem = context.get("problem")
    if problem:
        first, *_ = reasons(problem)
        members["code"] = problem["code"]
        members["reason"] = redactor.text(first)
    return members
