"""Guesses by names of members and header fields, and by lengths, where no response tells more."""

import json
import re
from functools import cache, lru_cache
from typing import Any

from profiles import markers
from traffic import json_values
from traffic.json_values import Path
from web.files import read_file

from . import inspection

SHORTEST_PART = 3  # characters of a value that is found inside a text
SHORTEST_NUMBER = 5  # digits of a number that is found inside a text
SHORTEST_NAME = 5  # characters of a value that is found inside the name of a member
SHORTEST_FOREIGN = (4, 4)  # characters, and digits, of a name of others inside a text
SHORTEST_VALUE = (SHORTEST_NAME, SHORTEST_NUMBER)  # of another value of others inside a text

TEXT = "text"  # stands in a profile for a text that was left out


def is_left_out(value: Any) -> bool:
    """Return whether a value stands for one that was left out: `text`, `https://text.example`."""
    pattern = rf"{TEXT}|[^/]*://{TEXT}\.example"
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


NEXT_PAGE = ("next", "more", "cursor", "cursors", "continuation")
"""Words of members and header fields that tell of a next page."""

COMPUTED_FIELDS = re.compile(
    "etag|last-modified|age|expires|date|warning|via|retry-after|set-cookie2?|server-timing|b3"
    "|.*(digest|md5|hash|checksum|signature|trace|rate-?limit|quota).*|x-b3-.*|cf-.*"
    "|x-amzn-(request|trace|remapped).*|x-amz-(request-id|id-2|cf-.*|apigw-id)"
    "|.*(request|correlation|transaction|span|invocation|session|audit)-?id.*|x-vercel-id"
    "|x-(runtime|response-time|served-by|timer|cache.*|process-time|duration)"
    "|nel|report-to|alt-svc",
    re.IGNORECASE,
)
"""Header fields that a service computes for every response, such as `X-Request-Id`."""


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    """Split a name into words: `latestDeploymentId` into `latest`, `deployment` and `id`."""
    separated = re.sub("(?<=[a-z0-9])[A-Z]", r"_\g<0>", name)
    return tuple(re.findall("[a-z]+", separated.lower()))


def has_word(name: str, *words: str) -> bool:
    """Return whether a name has a word: `has_word("nextPage", "next", "more")` is true."""
    return not set(words).isdisjoint(split_words(name))


def is_count(name: str) -> bool:
    """Return whether a member counts the items of the list: `totalItems`, but not `total_pages`."""
    return has_word(name, "count", "total", "length") and not measures_more(name)


def measures_more(name: str) -> bool:
    """Return whether a member counts something other than items: `max_count`, `total_ms`."""
    return has_word(
        name, "page", "pages", "limit", "per", "max", "ms", "time", "seconds", "duration"
    )


def is_for_people(name: str) -> bool:
    """Return whether a member of an error has a text for people: `errorMessage`."""
    return has_word(
        name, "message", "detail", "details", "description", "reason", "text", "log", "title"
    )


def has_code(name: str) -> bool:
    """Return whether a member has a word for programs: `errorCode`."""
    return has_word(name, "code", "type", "kind", "error", "errors", "status", "reason")


def is_code(value: Any, max_code: int = 10_000) -> bool:
    """Return whether a value may be an error code: `not_found`, `E-1042`, 17, but no id."""
    if isinstance(value, str):
        has_form = re.fullmatch("[A-Za-z_.:/-]{1,64}|[A-Z]{0,8}[-_]?[0-9]{1,6}", value)
        return has_form is not None and not markers.find_markers(value)
    return isinstance(value, bool) or (inspection.is_number(value) and abs(value) < max_code)


CONSTANT_WORDS = (
    "arch", "architecture", "branch", "builder", "buildpack", "category", "class", "color",
    "conclusion", "count", "cpu", "currency", "datacenter", "duration", "enabled", "engine", "env",
    "environment", "flavor", "format", "framework", "health", "icon", "instance", "kind",
    "language", "level", "limit", "locale", "location", "machine", "manager", "memory", "method",
    "mode", "ms", "node", "outcome", "phase", "plan", "platform", "preset", "priority", "protocol",
    "provider", "region", "release", "result", "role", "runtime", "seconds", "severity", "size",
    "source", "stack", "state", "status", "strategy", "target", "tier", "timezone", "total", "type",
    "tz", "version", "visibility", "zone",
)  # fmt: skip
"""Words in the names of members whose values are those of the service, not of a record."""


@cache
def list_common_words() -> frozenset[str]:
    """List the names in the contract, such as `project`: in a sentence they are no names."""
    found: set[str] = set()
    for path, _ in json_values.walk(json.loads(read_file("openapi.json"))):
        if not {"example", "examples"} & {*path}:
            found.update(split_words(inspection.get_key(path)))
    return frozenset(found)


DATE_OR_VERSION = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|v?[0-9]+(\.[0-9x]+)+|v?[0-9]+(alpha|beta|rc|p)[0-9]*",
    re.IGNORECASE,
)


def is_constant(name: str, text: str) -> bool:
    """Return whether a value may be a constant of the service: `{"region": "us-east-1"}`.

    A date and a version are constants under any name. An id and an address are no constants:
    `{"node_id": "MDEwOlJlcG9"}`, `{"environment_url": "https://cart.example"}`.
    """
    if DATE_OR_VERSION.fullmatch(text):
        return True
    is_of_record = has_word(name, "id", "uid", "uuid", "url", "uri") or "://" in text
    return has_word(name, *CONSTANT_WORDS) and not is_of_record


# Pages


def names_next_page(field: str, value: str) -> bool:
    """Return whether a header field says that there is a next page: `Link: </v1>; rel=next`."""
    if field.lower() == "link":
        return re.search(r'rel="?[^",;]*next', value) is not None
    return is_of_next_page(field) and value.lower() not in ("", "0", "false")


def is_of_next_page(name: str) -> bool:
    """Return whether a name is of the next page: `has_more`."""
    return has_word(name, *NEXT_PAGE)


def show_one_page(path: Path, value: Any) -> Any:
    """Return a value beside the list as it is on the only page: 1 for 7 at `/total_pages`."""
    name = inspection.get_key(path)
    if inspection.is_number(value):
        # `page: 3` and `total_pages: 7`, but not `page_size: 20`.
        if has_word(name, "page", "pages") and not has_word(name, "per", "size", "limit", "max"):
            return min(value, 1)
        # `total: 38` and `{"total": {"value": 38}}`, but not `total_ms: 38`.
        if is_on_path(path, "total") and not measures_more(name):
            return "{count}"
    if isinstance(value, bool):
        if has_word(name, "last"):  # `is_last: false`
            return True
        return value and not is_of_next_page(name)  # `has_more: true`
    # `next_cursor: "c-2"` and `{"next": {"url": "/v1/projects?page=2"}}`
    if is_on_path(path, *NEXT_PAGE) and value not in ("", 0):
        return None
    return value


def is_on_path(path: Path, *words: str) -> bool:
    """Return whether a name on a path has one of the words."""
    return any(has_word(name, *words) for name in path if isinstance(name, str))
