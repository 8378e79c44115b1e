"""Finds its way in the bodies of a service, by what their values do and not by their names."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from web.redaction import SECRET_NAME

from .probes import OWN_MEMBER
from .values import (
    NOTHING,
    Path,
    arrays_in,
    at,
    called_name,
    has_records,
    is_id,
    is_same,
    is_through_objects,
    last_name,
    last_word,
    outermost,
    parse_seconds,
    scalars,
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
    arrays = [*arrays_in(body)]
    likeness = {path: likeness_of(items, name, created) for path, items in arrays}
    named = [path for path, _ in arrays if likeness[path] > 0]
    if named:
        return min(named, key=lambda path: (-likeness[path], len(path)))
    outer = [each for each in arrays if is_through_objects(each[0])]
    of_objects = [each for each in outer if has_records(each[1])]
    grown = [each for each in of_objects if has_grown(each[1], at(earlier, each[0]))]
    return outermost_array(grown or of_objects or outer)


def likeness_of(items: list[Any], name: str, created: Any) -> int:
    """How many values an item with the new name has that the creation has; 0 without such one."""
    for item in items if name else ():
        values = [value for path, value in scalars(item) if is_through_objects(path)]
        if isinstance(item, dict) and name in values:
            known = [value for _, value in scalars(created)]
            return 1 + sum(value in known for _, value in scalars(item))
    return 0


def find_named(items: Iterable[Any], text: Any, members: Container[str] = ()) -> Any:
    """The first item with this text or number, at any depth; None if there is none.

    Where there are `members`, the outermost one of them counts alone.
    """
    for item in items if is_id(text) else ():
        if members:
            values = [value for path, value in outermost(item) if last_name(path) in members][:1]
        else:
            values = [value for _, value in scalars(item)]
        if any(is_same(value, text) for value in values):
            return item
    return None


def has_grown(items: list[Any], earlier: Any) -> bool:
    return isinstance(earlier, list) and len(items) > len(earlier)


def outermost_array(arrays: list[tuple[Path, list[Any]]]) -> Path | None:
    """The path of the outermost of these arrays, first of those whose items have ids.

    Of several in one depth it is the one that has the contract's name.
    """
    paths = [path for path, items in arrays if has_ids(items)] or [path for path, _ in arrays]
    least = min((len(path) for path in paths), default=0)
    outer = [path for path in paths if len(path) == least]
    named = [path for path in outer if last_name(path) == "projects"]
    return next(iter(named or outer), None)


def has_ids(items: list[Any]) -> bool:
    """Whether the first item has a member that is called as an id is."""
    names = [last_name(path) for path, _ in scalars(items[0])] if items else []
    return any(last_word(name) in ID_WORDS for name in names)


# The ids


def find_id(item: Any, others: Sequence[Any], shared: Any = NOTHING, name: str = "") -> Path | None:
    """The path of a record's id: of a text or an integer that no other record has there.

    With `shared`, which is another form of the record, the id stands there, too. `name` is the name
    of the record, "" if it is not known.
    """
    values = None if shared is NOTHING else [value for _, value in scalars(shared)]
    found = []
    for path, value in outermost(item):
        is_other = any(at(other, path) == value for other in others)
        is_shared = values is None or value in values
        if may_be_own_id(path, value, name) and is_shared and not is_other:
            found.append(path)
    # That of its deployment stands below such a name.
    found = [path for path in found if not any(map(says_deployment, path))] or found
    ids = [path for path in found if last_name(path) == "id"] or found
    ids = [path for path in ids if at(item, path) != name] or ids
    outer = [path for path in ids if len(path) == len(ids[0])]
    alike = [path for path in outer if last_word(last_name(path)) in ID_WORDS]
    return next(iter(alike or outer), None)


def may_be_own_id(path: Path, value: Any, name: str) -> bool:
    """Whether it may be the id of a record: no time, no name, and no id of its deployment."""
    last = last_name(path)
    is_name = last_word(last) == "name" and (not name or value == name)
    is_own = not is_name and not says_deployment(last) and last != OWN_MEMBER
    return is_own and is_id(value) and parse_seconds(value) is None


def name_in(project: Any, members: Container[str] = ()) -> str:
    """The name of a project that verify did not create, "" if it has none.

    It is a text in one of these members, else the outermost one whose member is called so.
    """
    texts = [(path, value) for path, value in outermost(project) if isinstance(value, str)]
    known = [each for each in texts if last_name(each[0]) in members]
    found = [text for _, text in known or called_name(texts)]
    return found[0] if found else ""


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
    found = [each for body in bodies for each in candidates_in(body)]
    found = [each for each in found if each.id != str(own_id)]
    found.sort(key=lambda each: each.rank)
    distinct: dict[str, Candidate] = {}
    for each in found:
        distinct.setdefault(each.id, each)
    likeliest = [*distinct.values()][: MAX_CANDIDATES - 2]
    if is_id(own_id):
        likeliest.append(Candidate(str(own_id), "id", 5))
    return likeliest


def candidates_in(body: Any) -> Iterator[Candidate]:
    for path, value in outermost(body):
        last = last_name(path)
        is_secret = SECRET_NAME.search(last) or last_word(last) == "key"
        is_short = is_id(value) and len(str(value)) <= MAX_ID
        if is_secret or not is_short or parse_seconds(value) is not None:
            continue
        in_url = id_in_url(str(value))
        rank = 0 if in_url else rank_of_candidate(path, str(value))
        if rank is not None:
            yield Candidate(in_url or str(value), last, rank)


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
    return {
        path: value
        for path, value in outermost(body)
        if isinstance(value, str)
        and 0 < len(value) <= MAX_STATUS
        and value.isprintable()
        and parse_seconds(value) is None
    }


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
    changing = [
        path
        for path, text in last.items()
        if all(path in texts for texts in reads)
        and any(texts[path] != text for texts in reads)
        and (len(reads) < 3 or reads[-2][path] == text)
    ]
    named = [path for path in last if has_status_name(path)]
    found = [*filter(has_status_name, changing), *changing, *named]
    outer = [path for path in found if is_through_objects(path)]  # not of the steps in an array
    return next(iter(outer or found), None)
