"""Finds its way in the bodies of a service, by what their values do and not by their names."""

import re
from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from stub.redaction import SECRET_NAME

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
    preferred,
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
MAX_STATUS = 64  # characters


# The list


def find_items(body: Any, earlier: Any, name: str, created: Any) -> Path | None:
    """The path of the array of the projects in the body of a list, None if there is no array.

    It is the one with an item that has the new name, and of several the one whose item is most like
    the response to the creation; else the one that has grown since an earlier list; else the
    outermost array of objects, first of those with ids, then of those with the contract's name.
    """
    paths = arrays_in(body)
    likeness = [likeness_of(at(body, path), name, created) for path in paths]
    if any(likeness):
        return paths[likeness.index(max(likeness))]

    def has_grown(path: Path) -> bool:
        before = at(earlier, path)
        return isinstance(before, list) and len(at(body, path)) > len(before)

    def has_ids(path: Path) -> bool:
        first_item = at(body, (*path, 0))
        return any(is_called_id(inner) for inner, _ in scalars(first_item))

    paths = [path for path in paths if is_through_objects(path)]
    paths = preferred(paths, lambda path: has_records(at(body, path)))
    paths = preferred(paths, has_grown)
    paths = preferred(paths, has_ids)
    paths = [path for path in paths if len(path) == len(paths[0])]
    return first_of(preferred(paths, lambda path: last_name(path) == "projects"))


def likeness_of(items: list[Any], name: str, created: Any) -> int:
    """How many values an item with the new name has that the creation has; 0 without such one."""
    if not name:
        return 0
    known = values_in(created)
    for item in items:
        values = [value for path, value in scalars(item) if is_through_objects(path)]
        if isinstance(item, dict) and name in values:
            shared = [value for value in values_in(item) if value in known]
            return 1 + len(shared)
    return 0


def find_named(items: Iterable[Any], text: Any, members: Container[str]) -> Any:
    """The first item with this text or number, at any depth; None if there is none.

    Where there are `members`, the outermost one of them counts alone.
    """
    if not is_id(text):
        return None
    for item in items:
        values = values_in(item)
        if members:
            named = [value for path, value in outermost(item) if last_name(path) in members]
            values = named[:1]
        if any(is_same(value, text) for value in values):
            return item
    return None


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
    found = preferred(found, lambda path: not is_of_deployment(path))
    found = preferred(found, lambda path: last_name(path) == "id")
    found = preferred(found, lambda path: at(item, path) != name)
    found = [path for path in found if len(path) == len(found[0])]
    return first_of(preferred(found, is_called_id))


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
    rank: int  # 0 is the likeliest


def find_candidates(bodies: Iterable[Any], own_id: Any) -> list[Candidate]:
    """What may be the id of a deployment in these bodies, the likeliest first, each once.

    `own_id` is the id of the project, which some services have for its deployment.
    """
    found = []
    for body in bodies:
        for path, value in outermost(body):
            candidate = candidate_at(path, value)
            if candidate is not None and candidate.id != str(own_id):
                found.append(candidate)
    found.sort(key=lambda candidate: candidate.rank)
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        distinct.setdefault(candidate.id, candidate)
    likeliest = list(distinct.values())[: MAX_CANDIDATES - 2]
    if is_id(own_id):
        likeliest.append(Candidate(str(own_id), "id", 4))
    return likeliest


def candidate_at(path: Path, value: Any) -> Candidate | None:
    """The value as a candidate, None if it is no id of a deployment."""
    text = str(value)
    name = last_name(path)
    last = last_word(name)
    if not is_id(value) or parse_seconds(value) is not None:
        return None
    if SECRET_NAME.search(name) or last == "key":
        return None
    in_url = id_in_url(text)
    if in_url:
        return Candidate(in_url, name, 0)
    if is_of_deployment(path) and last in ID_WORDS:
        return Candidate(text, name, 0)
    if " " in text or "://" in text:
        return None
    if says_deployment(last) or is_of_deployment(path[:-1]):
        return Candidate(text, name, 1)
    if last == "id" and len(path) > 1:
        return Candidate(text, name, 2)
    if is_of_deployment(path):
        return Candidate(text, name, 3)
    return None


def id_in_url(text: str) -> str:
    """The id in the URL of a deployment, "" in another text."""
    match = IN_A_URL.search(text)
    return unquote(match[1]) if match else ""


def is_of_deployment(path: Path) -> bool:
    """Whether a name on the path has a word for a deployment."""
    return any(says_deployment(name) for name in path if isinstance(name, str))


def says_deployment(name: str) -> bool:
    return any(word.removesuffix("s") in DEPLOYMENT_WORDS for word in words_of(name))


# Its status


def texts_of_status(body: Any) -> dict[Path, str]:
    """The texts of a deployment that may be its status, the outer ones first."""
    found = {}
    for path, text in texts_in(body).items():
        is_short = 0 < len(text) <= MAX_STATUS
        if is_short and text.isprintable() and parse_seconds(text) is None:
            found[path] = text
    return found


def has_status_name(path: Path) -> bool:
    return last_name(path).lower() in STATUS_NAMES


def find_status(bodies: Sequence[Any]) -> Path | None:
    """The path of the status in the bodies of a deployment, which were read in this order.

    It is a text that changes, but not between the last two reads; or else one whose name says it.
    """
    if not bodies:
        return None
    reads = [texts_of_status(body) for body in bodies]

    def changes_until_end(path: Path) -> bool:
        texts = [read.get(path) for read in reads]
        if None in texts or len(set(texts)) == 1:
            return False
        return len(texts) < 3 or texts[-2] == texts[-1]

    last = reads[-1]
    found = [path for path in last if has_status_name(path) or changes_until_end(path)]
    found = preferred(found, is_through_objects)  # not of the steps in an array
    found = preferred(found, changes_until_end)
    return first_of(preferred(found, has_status_name))


# Records


class Record(NamedTuple):
    """The members of a record, and where in a body it stands; `has_any` of the required ones."""

    path: Path
    members: dict[str, Any]
    has_any: bool


def find_record(body: Any, required: Collection[str]) -> Record:
    """The object with most of the required members, which may stand in an envelope.

    Objects in a record do not count.
    """
    best = Record((), {}, False)
    most = 0
    to_read: list[tuple[Path, Any]] = [((), body)]
    for path, value in to_read:  # which grows while it is read
        if not isinstance(value, dict):
            continue
        count = len([name for name in required if name in value])
        if count > most or not best.members:
            best = Record(path, value, count > 0)
            most = count
        is_record = "id" in value and count > 1
        if not is_record:
            to_read += [((*path, name), inner) for name, inner in value.items()]
    return best
