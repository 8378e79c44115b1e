"""The header fields of responses, as a profile has them."""

from collections.abc import Callable

from stub.like.markers import escape, names_in
from stub.rules import is_valid, schemas
from web.redaction import SECRET_NAME
from web.validation import pointer

from .exchange import Exchange
from .observation import Observation, Part

Mark = Callable[[str], str]
"""Puts markers in the value of a field."""


def fields_of(found: Observation, exchanges: list[Exchange], place: str, mark: Mark) -> Part:
    """The content type and the header fields of the responses of one kind."""
    first = exchanges[0]
    fields: Part = {}
    content_type = first.header("Content-Type") or ""
    if is_valid(content_type, schemas()["content_type"]):
        fields["content_type"] = content_type
    headers = {}
    names = {name.lower(): name for name in first.headers}
    for name in names.values():
        values = [exchange.header(name) or "" for exchange in exchanges]
        value = value_of(found, name, values, mark)
        if value is not None:
            inner = place + pointer("headers", name)
            headers[name] = found.constants.clean(value, inner)
    if headers:
        fields["headers"] = headers
    return fields


def value_of(found: Observation, name: str, values: list[str], mark: Mark) -> str | None:
    """The value of a field, None for one that a profile cannot have.

    `values` are those of all responses. It stays if it is the same with markers in all of them.
    """
    constants = found.constants
    lower = name.lower()
    if lower == "allow":
        return None  # it is another one at each path, as the stub has it
    if SECRET_NAME.search(name) or constants.has_token(name):
        return None
    first = values[0]
    if not is_valid({name: first}, schemas()["headers"]):
        return None
    distinct = set(values)
    marked = set(map(mark, distinct))
    value = marked.pop() if len(marked) == 1 else escape(first)
    is_varying = len(distinct) > 1 or lower in found.readings.varying_fields
    if is_varying and not names_in(value):
        found.left_out.add(name)
        return None
    if found.constants.may_not_stay(value):
        return None
    return value
