"""The file of --log: lines, or JSON objects if its name ends with `.jsonl`."""

import json
import logging
import os
from collections.abc import Callable
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from flask import Response, g, request

from records import timestamp
from server import RejectedRequest
from store import Clock
from web.access_log import milliseconds_since, reasons
from web.redaction import Redactor

# What a JSON object has of the journal's entry of a request, by the names there.
OF_ENTRY = ("number", "ms", "method", "path", "query", "status", "code", "reason", "operation",
            "fault", "unpromised", "violations", "grease")  # fmt: skip
NOTHING: dict[str, Any] = dict.fromkeys(("tenant", "world", *OF_ENTRY))


class LogFile(WatchedFileHandler):
    """Made anew at the start, and by the first line after somebody has moved it.

    Raises `OSError` if it cannot be written.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        if path.is_file():
            os.truncate(path, 0)
        super().__init__(path, encoding="utf-8", errors="replace")
        self.terminator = ""
        self._is_json = path.suffix.lower() == ".jsonl"
        self._clock = clock

    def add(self, line: str, members: Callable[[], dict[str, Any]] | None) -> None:
        """Write a line behind the time, or the JSON object of its `members`, if it has any."""
        now = timestamp(self._clock())
        if not self._is_json:
            self._write(f"{now} {line}")
        elif members:
            self._write(json.dumps({"time": now, **members()}) + "\n")

    def _write(self, text: str) -> None:
        self.handle(logging.makeLogRecord({"msg": text}))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        raise  # the error that `emit` handles with this call


def members_of(response: Response, redactor: Redactor) -> dict[str, Any]:
    """The current request and its response, with tokens masked."""
    environ = request.environ
    context = vars(g._get_current_object())
    full_name = context.get("world_name") or context.get("intended_world_name") or ""
    tenant, _, world = full_name.rpartition("/")
    members = {**NOTHING, "tenant": redactor.text(tenant), "world": redactor.text(world)}
    if "entry" in context:
        document = context["entry"].document(context["number"])
        for name in OF_ENTRY:
            members[name] = document[name]
        return members
    query = environ.get("QUERY_STRING", "")
    members |= redactor.request_line(environ["REQUEST_METHOD"], request.path, query)
    members["ms"] = round(milliseconds_since(context["started"]), 3)
    members["status"] = response.status_code
    problem = context.get("problem")
    if problem:
        members["code"] = problem["code"]
        members["reason"] = redactor.text(reasons(problem)[0])
    return members


def members_of_rejected(rejected: RejectedRequest, redactor: Redactor) -> dict[str, Any]:
    """A request that the server rejected, before anything was known of its world."""
    path, _, query = rejected.target.partition("?")
    return {
        **NOTHING,
        **redactor.request_line(rejected.method, path, query),
        "status": rejected.status,
        "code": rejected.code,
        "reason": rejected.detail,
    }
