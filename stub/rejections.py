"""The requests that the server rejected before the app."""

from threading import Lock
from typing import Any

from .redaction import Redactor


class Rejections:
    """By code, how many there were, and the first, as the first request of a finding is shown."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._lock = Lock()
        self._by_code: dict[str, tuple[int, dict[str, Any]]] = {}

    def count(
        self, method: str, target: str, host: str, status: int, code: str, detail: str
    ) -> None:
        """Count a request. The target is as it was sent."""
        redactor = self._redactor
        path, _, query = target.partition("?")
        request = {
            "world": None,
            "number": None,
            **redactor.request_line(method, path, query),
            "headers": {"Host": redactor.host(host)} if host else {},
            "body": "",
            "status": status,
            "code": code,
            "reason": detail,
        }
        with self._lock:
            count, first = self._by_code.get(code, (0, request))
            self._by_code[code] = count + 1, first

    def counted(self) -> list[tuple[int, dict[str, Any]]]:
        """Of each code, how many there were, and the first."""
        with self._lock:
            return list(self._by_code.values())
