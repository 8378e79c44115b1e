"""Reads JSON so that its numbers can be written again as a client wrote them, such as `1.10`."""

import json
import re

# Numbers are read as strings that begin with a lone surrogate, which no valid document has, and are
# written without their quotes, so that none that a client sent changes.
MARK = "\udfff"
read = json.JSONDecoder(parse_int=MARK.__add__, parse_float=MARK.__add__).decode
_NUMBER = re.compile(r'"(?:\\udfff|\udfff)([^"]*)"')


def unquote_numbers(text: str) -> str:
    """JSON text with the numbers that were read as strings as they were."""
    return _NUMBER.sub(r"\1", text)
