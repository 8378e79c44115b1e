"""The header fields of responses, as a profile has them."""

from collections.abc import Callable
from typing import Any

from stub.like.markers import escape, names_in
from stub.rules import is_valid, schemas
from web.redaction import SECRET_NAME
from web.validation import pointer

from .constants import Constants
from .exchange import Exchange
from .run import LISTS, Run

Mark = Callable[[str], str]


class Fields:
    """Reads header fields; `left_out` are the names of those that vary."""

    def __init__(self, run: Run, constants: Constants) -> None:
        self._constants = constants
        self._schemas = schemas()
        self._varying = varying_fields(run)
        self.left_out: set[str] = set()

    def of(self, exchanges: list[Exchange], place: str, mark: Mark) -> dict[str, Any]:
        """The content type and the header fields of the responses of one kind.

        `mark` puts markers in a value. A field stays if it is then the same
        in all of them.
        """
        first = exchanges[0]
        found: dict[str, Any] = {}
        content_type = first.header("Content-Type") or ""
        if is_valid(content_type, self._schemas["content_type"]):
            found["content_type"] = content_type
        headers = {}
        names = {name.lower(): name for name in first.headers}
        for name in names.values():
            value = self._value(name, exchanges, mark)
            if value is not None:
                inner = place + pointer("headers", name)
                headers[name] = self._constants.clean(value, inner)
        if headers:
            found["headers"] = headers
        return found

    def _value(self, name: str, exchanges: list[Exchange], mark: Mark) -> str | None:
        """The value of a field, None for one that a profile cannot have."""
        constants = self._constants
        lower = name.lower()
        if lower == "allow":
            return None  # it is another one at each path, as the stub has it
        if SECRET_NAME.search(name) or constants.has_token(name):
            return None
        values = [exchange.header(name) or "" for exchange in exchanges]
        marked = {mark(value) for value in values}
        first = values[0]
        if not is_valid({name: first}, self._schemas["headers"]):
            return None
        found = marked.pop() if len(marked) == 1 else escape(first)
        is_varying = len(set(values)) > 1 or lower in self._varying
        if is_varying and not names_in(found):
            self.left_out.add(name)
            return None
        return None if constants.may_not_stay(found) else found


def varying_fields(run: Run) -> set[str]:
    """The names of the header fields that differ between two responses to one check."""
    first: dict[tuple[str, int, str], str | None] = {}
    found = set()
    for exchange in run.exchanges:
        check = "list" if exchange.check.name in LISTS else exchange.check.name
        for name in exchange.headers:
            lower = name.lower()
            value = exchange.header(name)
            if first.setdefault((check, exchange.status, lower), value) != value:
                found.add(lower)
    return found
