"""The header fields of responses, as a profile has them."""

from collections.abc import Callable
from typing import Any

from stub.like.markers import names_in
from stub.rules import is_valid, schemas
from web.redaction import SECRET_NAME

from .constants import Constants
from .exchange import Exchange
from .run import LISTS, Run
from .values import Path

Mark = Callable[[str, Exchange], str]


class Fields:
    """Reads header fields. `varying` are the names, in lower case, of those that vary."""

    def __init__(self, run: Run, constants: Constants) -> None:
        self._constants = constants
        self._schemas = schemas()
        self.varying = varying_fields(run)
        self.left_out: set[str] = set()

    def of(self, exchanges: list[Exchange], place: Path, mark: Mark) -> dict[str, Any]:
        """The content type and the header fields of the responses of one kind.

        `mark` puts markers in the value that a response has. A field stays if it is then the same
        in all of them.
        """
        found: dict[str, Any] = {}
        content_type = exchanges[0].header("Content-Type") or ""
        is_type = is_valid(content_type, self._schemas["content_type"])
        if is_type and not self._constants.may_not_stay(content_type):
            found["content_type"] = content_type
        headers = {}
        for name in dict.fromkeys(exchanges[0].headers):
            value = self._value(name, exchanges, mark)
            if value is not None:
                self._constants.clean(value, (*place, "headers", name))
                headers[name] = value
        if headers:
            found["headers"] = headers
        return found

    def _value(self, name: str, exchanges: list[Exchange], mark: Mark) -> str | None:
        """The value of a field, None for one that a profile cannot have."""
        values = [each.header(name) or "" for each in exchanges]
        if SECRET_NAME.search(name) or not is_valid({name: values[0]}, self._schemas["headers"]):
            return None
        marked = [mark(value, each) for value, each in zip(values, exchanges, strict=True)]
        value = marked[0]
        if any(each != value for each in marked):
            value = values[0]
        is_constant = all(each == value for each in values)
        if not (is_constant or names_in(value)) or self._is_varying(name, value):
            self.left_out.add(name)
            return None
        return None if self._constants.may_not_stay(value) else value

    def _is_varying(self, name: str, value: str) -> bool:
        return name.lower() in self.varying and not names_in(value)


def varying_fields(run: Run) -> set[str]:
    """The names of the header fields that differ between two responses to one probe."""
    first: dict[tuple[str, int, str], str | None] = {}
    found = set()
    for exchange in run.exchanges:
        probe = "list" if exchange.probe.name in LISTS else exchange.probe.name
        for name in {*map(str.lower, exchange.headers)}:
            value = exchange.header(name)
            if first.setdefault((probe, exchange.status, name), value) != value:
                found.add(name)
    return found
