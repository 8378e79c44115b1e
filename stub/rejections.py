"""The requests that the server rejected before the app."""

from threading import Lock
from typing import Any

from traffic.masking import Redactor

from .entry import REJECTED
from .findings import Finding, FirstRequest, finding_of


class Rejections:
    """By code, how many there were, and the first."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._lock = Lock()
        self._by_code: dict[str, tuple[int, FirstRequest]] = {}

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
            "headers": {"Host": redactor.text(host)} if host else {},
            "body": "",
            "status": status,
            "code": code,
            "reason": detail,
        }
        with self._lock:
            count, first = self._by_code.get(code, (0, request))
            self._by_code[code] = count + 1, first

    def document(self) -> list[dict[str, Any]]:
        """What the report has of them."""
        with self._lock:
            return [
                {"status": first["status"], "code": code, "count": count}
                for code, (count, first) in self._by_code.items()
            ]

    def findings(self) -> list[Finding]:
        """Those of requests that the contract does not allow."""
        found = []
        with self._lock:
            for code, (count, first) in self._by_code.items():
                status = first["status"]
                if status in REJECTED:
                    what = f"before the app {status} {code}"
                    found.append(finding_of("rejected", what, count, first))
        return found
