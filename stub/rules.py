"""The rules of what is sent to the stub, as stub/openapi.json has them."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from records import Stage, Timeline, round_to_microseconds
from web.files import read_file
from web.problems import FieldError
from web.schemas import Schema, errors_of, resolved


def check(value: Any, name: str, words: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """What in a value contradicts the schema of this name.

    `words` are the statuses of a profile, if it has any: no others are valid then.
    """
    return errors_of(value, schemas(words)[name])


@cache
def schemas(words: tuple[str, ...] = ()) -> dict[str, Schema]:
    """The schemas of stub/openapi.json by name, without `$ref`, and with the statuses `words`."""
    document = json.loads(read_file("stub/openapi.json"))
    named: dict[str, Schema] = document["components"]["schemas"]
    if words:
        named["Status"] = {"type": "string", "enum": list(words)}
    return {name: resolved(schema, named) for name, schema in named.items()}


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without errors; a lone `status` is pinned."""
    *running, last = document.get("timeline", [document])
    timeline = []
    for each in running:
        seconds = round_to_microseconds(each["seconds"])
        timeline.append(Stage(each["status"], seconds))
    end = Stage(last["status"])
    return (*timeline, end)
