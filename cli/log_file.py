"""The file of --log: lines, or JSON objects if its name ends with `.jsonl`."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Response, g, request

from records import timestamp
from server import RejectedRequest
from store import utc_now
from stub.access_log import STARTED, milliseconds_since, world_name
from stub.redaction import Redactor
from web.files import is_named_pipe, no_file
from web.problems import reasons

from .reports import PRIVATE
from .stderr import say

# What a JSON object has of the journal's entry of a request, by the names there.
OF_ENTRY = ("number", "ms", "method", "path", "query", "status", "code", "reason", "operation",
            "fault", "unpromised", "violations", "grease")  # fmt: skip
NOTHING: dict[str, Any] = dict.fromkeys(("tenant", "world", *OF_ENTRY))


class LogFile:
    """Made anew at the start. Each line opens it, so that it may be moved or truncated meanwhile.

    Raises `OSError` if it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        if is_named_pipe(path):
            raise no_file(path)
        open(path, "wb", opener=open_private).close()
        self._path = path
        self._is_json = path.suffix.lower() == ".jsonl"
        self._lost = 0  # lines that it could not take

    def add(self, line: str, members: Callable[[], dict[str, Any]] | None = None) -> None:
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
            with open(self._path, "ab", buffering=0, opener=open_private) as file:
                file.write(text.encode(errors="replace"))
        except OSError as error:
            if not self._lost:
                say(f"warning: --log: {error.strerror}: lines are lost until this ends\n")
            self._lost += 1
            return
        if self._lost:
            say(f"--log: it can be written again; {self._lost} lines were lost\n")
            self._lost = 0


def open_private(path: str, flags: int) -> int:
    """An opener for `open()`: a new file, which has requests in it, is for its owner alone."""
    return os.open(path, flags, PRIVATE)


def members_of(response: Response, redactor: Redactor) -> dict[str, Any]:
    """The current request and its response, with tokens masked."""
    context = vars(g._get_current_object())
    tenant, world = world_name(context)
    members = {**NOTHING, "tenant": redactor.text(tenant), "world": redactor.text(world)}
    if "entry" in context:
        document = context["entry"].document(context["number"])
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
        members["reason"] = redactor.url(first)
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
