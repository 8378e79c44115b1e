"""Finds its way in the bodies of a service, by what their values do and not by their names."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from web.redaction import SECRET_NAME

from .checks import OWN_MEMBER
from .values import (
    NOTHING,
    Path,
    arrays_in,
    at,
    called_name,
    first_of,
    has_records,
    is_id,
    is_same,
    is_through_objects,
    last_name,
    last_word,
    outermost,
    parse_seconds,
    scalars,
    texts_in,
    values_in,
    words_of,
)

STATUS_NAMES = ("status", "state", "phase", "readystate")  # in lower case
DEPLOYMENT_WORDS = ("deployment", "deploy", "build", "release", "operation", "job", "run")
ID_WORDS = ("id", "uid", "uuid", "guid", "key", "ref", "slug")
IN_A_URL = re.compile("/deployments/([^/?#]+)")
MAX_CANDIDATES = 10  # GETs that look for a deployment
MAX_ID = 200  # characters
MAX_STATUS = 64  # characters


# The list


def find_items(body: Any, earlier: Any = None, name: str = "", created: Any = None) -> Path | None:
    """The path of the array of the projects in the body of a list, None if there is no array.

    It is the one with an item that has the new name, and of several the one whose item is most like
    the response to the creation; else the one that has grown since an earlier list; else the
    outermost array of objects, first of those that have ids.
    """
    arrays = [Array(path, items) for path, items in arrays_in(body)]
    best: Array | None = None
    most = 0
    for array in sorted(arrays, key=lambda array: len(array.path)):
        likeness = likeness_of(array.items, name, created)
        if likeness > most:
            best = array
            most = likeness
    if best is not None:
        return best.path
    outer = [array for array in arrays if is_through_objects(array.path)]
    of_objects = [array for array in outer if has_records(array.items)]
    grown = [array for array in of_objects if has_grown(array.items, at(earlier, array.path))]
    return outermost_array(grown or of_objects or outer)


class Array(NamedTuple):
    path: Path
    items: list[Any]


def likeness_of(items: list[Any], name: str, created: Any) -> int:
    """How many values an item with the new name has that the creation has; 0 without such one."""
    if not name:
        return 0
    for item in items:
        values = [value for path, value in scalars(item) if is_through_objects(path)]
        if isinstance(item, dict) and name in values:
            known = values_in(created)
            shared = [value for value in values_in(item) if value in known]
            return 1 + len(shared)
    return 0


def find_named(items: Iterable[Any], text: Any, members: Container[str] = ()) -> Any:
    """The first item with this text or number, at any depth; None if there is none.

    Where there are `members`, the outermost one of them counts alone.
    """
    if not is_id(text):
        return None
    for item in items:
        if members:
            values = [value for path, value in outermost(item) if last_name(path) in members][:1]
        else:
            values = values_in(item)
        if any(is_same(value, text) for value in values):
            return item
    return None


def has_grown(items: list[Any], earlier: Any) -> bool:
    return isinstance(earlier, list) and len(items) > len(earlier)


def outermost_array(arrays: list[Array]) -> Path | None:
    """The path of the outermost of these arrays, first of those whose items have ids.

    Of several in one depth it is the one that has the contract's name.
    """
    with_ids = [array.path for array in arrays if has_ids(array.items)]
    paths = with_ids or [array.path for array in arrays]
    if not paths:
        return None
    least = min(len(path) for path in paths)
    outer = [path for path in paths if len(path) == least]
    named = [path for path in outer if last_name(path) == "projects"]
    return first_of(named or outer)


def has_ids(items: list[Any]) -> bool:
    """Whether the first item has a member that is called as an id is."""
    first = items[0] if items else None
    return any(is_called_id(path) for path, _ in scalars(first))


# The ids


def find_id(item: Any, others: Sequence[Any], shared: Any = NOTHING, name: str = "") -> Path | None:
    """The path of a record's id: of a text or an integer that no other record has there.

    With `shared`, which is another form of the record, the id stands there, too. `name` is the name
    of the record, "" if it is not known.
    """
    known = values_in(shared)
    found = []
    for path, value in outermost(item):
        is_other = any(at(other, path) == value for other in others)
        is_shared = shared is NOTHING or value in known
        if may_be_own_id(path, value, name) and is_shared and not is_other:
            found.append(path)
    # That of its deployment stands below such a name.
    found = [path for path in found if not any(says_deployment(name) for name in path)] or found
    found = [path for path in found if last_name(path) == "id"] or found
    found = [path for path in found if at(item, path) != name] or found
    outer = [path for path in found if len(path) == len(found[0])]
    alike = [path for path in outer if is_called_id(path)]
    return first_of(alike or outer)


def is_called_id(path: Path) -> bool:
    return last_word(last_name(path)) in ID_WORDS


def may_be_own_id(path: Path, value: Any, name: str) -> bool:
    """Whether it may be the id of a record: no time, no name, and no id of its deployment."""
    last = last_name(path)
    if last == OWN_MEMBER or says_deployment(last):
        return False
    if last_word(last) == "name" and (not name or value == name):
        return False
    return is_id(value) and parse_seconds(value) is None


def name_in(project: Any, members: Container[str] = ()) -> str:
    """The name of a project that verify did not create, "" if it has none.

    It is a text in one of these members, else the outermost one whose member is called so.
    """
    texts = texts_in(project)
    for path, text in texts.items():
        if last_name(path) in members:
            return text
    named = called_name(list(texts))
    return "" if named is None else texts[named]


# Deployments


class Candidate(NamedTuple):
    """A value that may be the id of a deployment, and the member that has it."""

    id: str
    member: str
    rank: int


def find_candidates(bodies: Iterable[Any], own_id: Any) -> list[Candidate]:
    """What may be the id of a deployment in these bodies, the likeliest first, each once.

    `own_id` is the id of the project, which some services have for its deployment.
    """
    found: list[Candidate] = []
    for body in bodies:
        found += candidates_in(body)
    found.sort(key=lambda candidate: candidate.rank)
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        if candidate.id != str(own_id):
            distinct.setdefault(candidate.id, candidate)
    likeliest = list(distinct.values())[: MAX_CANDIDATES - 2]
    if is_id(own_id):
        likeliest.append(Candidate(str(own_id), "id", 5))
    return likeliest


def candidates_in(body: Any) -> Iterator[Candidate]:
    for path, value in outermost(body):
        text = str(value)
        last = last_name(path)
        if not is_id(value) or len(text) > MAX_ID or parse_seconds(value) is not None:
            continue
        if SECRET_NAME.search(last) or last_word(last) == "key":
            continue
        in_url = id_in_url(text)
        rank = 0 if in_url else rank_of_candidate(path, text)
        if rank is not None:
            yield Candidate(in_url or text, last, rank)


def id_in_url(text: str) -> str:
    """The id in the URL of a deployment, "" in another text."""
    match = IN_A_URL.search(text)
    return unquote(match[1]) if match else ""


def rank_of_candidate(path: Path, text: str) -> int | None:
    """How likely a value is the id of a deployment, 0 at best; None if it is none."""
    last = last_word(last_name(path))
    says = [says_deployment(name) for name in path]
    if any(says) and last in ID_WORDS:
        return 0
    if " " in text or "://" in text:
        return None
    if says_deployment(last):
        return 1
    if any(says[:-1]):
        return 2
    if last == "id" and len(path) > 1:
        return 3
    return 4 if any(says) else None


def says_deployment(name: str | int) -> bool:
    """Whether the name of a member has a word for a deployment."""
    words = words_of(name) if isinstance(name, str) else []
    return any(word.removesuffix("s") in DEPLOYMENT_WORDS for word in words)


# Its status


def texts_of_status(body: Any) -> dict[Path, str]:
    """The texts of a deployment that may be its status, the outer ones first."""
    return {path: text for path, text in texts_in(body).items() if may_be_status(text)}


def may_be_status(text: str) -> bool:
    is_short = 0 < len(text) <= MAX_STATUS
    return is_short and text.isprintable() and parse_seconds(text) is None


def has_status_name(path: Path) -> bool:
    return last_name(path).lower() in STATUS_NAMES


def find_status(bodies: Sequence[Any]) -> Path | None:
    """The path of the status in the bodies of a deployment, which were read in this order.

    It is a text that changes, but not between the last two reads; or else one whose name says it.
    """
    if not bodies:
        return None
    reads = [texts_of_status(body) for body in bodies]
    last = reads[-1]
    changing = [path for path in last if changes_until_end(path, reads)]
    named = [path for path in last if has_status_name(path)]
    named_changing = [path for path in changing if has_status_name(path)]
    found = [*named_changing, *changing, *named]
    outer = [path for path in found if is_through_objects(path)]  # not of the steps in an array
    return first_of(outer or found)


def changes_until_end(path: Path, reads: list[dict[Path, str]]) -> bool:
    """Whether a text changes from read to read, but not between the last two of several."""
    texts = [texts.get(path) for texts in reads]
    if None in texts or len(set(texts)) == 1:
        return False
    return len(texts) < 3 or texts[-2] == texts[-1]
