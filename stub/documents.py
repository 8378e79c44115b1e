"""JSON documents: what is wrong in a file of them, and numbers as they were written."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from web.problems import InvalidBody
from web.strict_json import MalformedJSON

# Numbers are read as strings that begin with a lone surrogate, which no valid document has, and are
# written without their quotes, so that none that a client sent changes.
MARK = "\udfff"
read = json.JSONDecoder(parse_int=MARK.__add__, parse_float=MARK.__add__).decode
_NUMBER = re.compile(r'"(?:\\udfff|\udfff)([^"]*)"')


def unquote_numbers(text: str) -> str:
    """JSON text with the numbers that were read as strings as they were."""
    return _NUMBER.sub(r"\1", text)


class Readable(Protocol):
    """A path, or a file in a package, which may be in a zip file."""

    def read_bytes(self) -> bytes: ...


@contextmanager
def explained(path: Readable) -> Iterator[None]:
    """Raises `ValueError` with the reasons for which the file cannot be read."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except MalformedJSON as error:
        raise ValueError(f"{path}: {error}") from None
    except InvalidBody as error:
        places = [(json.dumps(at)[1:-1] or "the document", why) for at, why in error.errors]
        raise ValueError("\n".join(f"{path}: {at}: {why}" for at, why in places)) from None
