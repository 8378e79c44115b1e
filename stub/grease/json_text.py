"""Reads and writes JSON, with the numbers as a client wrote them, for example `1.10`."""

import json
import re
from random import Random
from typing import Any

# A number is read as a string that begins with a lone surrogate. No valid document has one.
MARK = "\udfff"
read = json.JSONDecoder(parse_int=MARK.__add__, parse_float=MARK.__add__).decode


def write(body: Any, source: Random | None) -> str:
    """Write JSON. With a source of draws, add whitespace, and an escape in every string."""
    space = source.choice([" ", "\n", "\t", "  ", "\r\n "]) if source else ""
    text = json.dumps(body, separators=(f"{space}, ", f"{space}: "))
    text = re.sub(r'"(?:\\udfff|\udfff)([^"]*)"', r"\1", text)  # Numbers lose their quotes.
    if source:
        place = source.getrandbits(32)
        text = re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: escape(match[0], place), text)
    return f"{space}{text}\n"


def escape(quoted: str, place: int) -> str:
    r"""Escape a character of a JSON string: `"shop"` becomes `"s\u0068op"`.

    An empty string and a string with escapes stay. So does a time: Go's time.Time reads no escapes.
    """
    text = quoted[1:-1]
    if not text or "\\" in text or text[0].isdigit():
        return quoted
    at = place % len(text)
    code = ord(text[at])
    rest = text[at + 1 :]
    return f'"{text[:at]}\\u{code:04x}{rest}"'
