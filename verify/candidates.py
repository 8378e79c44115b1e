"""What may be the id of a deployment, in bodies and in header fields."""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from profiles.markers import Path
from stub.redaction import SECRET_NAME

from .exchange import Exchange
from .guesses import DEPLOYMENT_WORDS, ID_WORDS, LOCATIONS, MAX_CANDIDATES, MAX_ID
from .kinds import is_own_member
from .values import (
    at,
    is_id,
    is_of_deployment,
    last_name,
    last_word,
    says_deployment,
    scalars,
    seconds_of,
    words_of,
)

COLLECTIONS = "|".join({*DEPLOYMENT_WORDS, "version"})
IN_A_URL = re.compile(rf"(?:^|/)({COLLECTIONS})s/([^/?#>\s]+)")


@dataclass(frozen=True)
class Candidate:
    """A value that may be the id of a deployment, and the member or the field that has it."""

    id: str
    member: str
    rank: int  # 0 is the likeliest


def candidates_in(
    bodies: Iterable[Any],
    exchanges: Iterable[Exchange],
    own_id: Any,
    *known: Path | None,
    among: Container[str] | None,
) -> list[Candidate]:
    """The candidates in bodies, and in header fields; those at known places come first."""
    found = [each for exchange in exchanges for each in candidates_in_fields(exchange)]
    for body in bodies:
        found += [Candidate(str(at(body, path)), "", -1) for path in known if is_id(at(body, path))]
        for path, value in scalars(body):
            may_count = among is None or str(value) in among or IN_A_URL.search(str(value))
            candidate = candidate_at(path, value) if may_count else None
            if candidate is not None:
                found.append(candidate)
    found.sort(key=lambda candidate: candidate.rank)
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        if candidate.id != str(own_id):
            distinct.setdefault(candidate.id, candidate)
    likeliest = list(distinct.values())[: MAX_CANDIDATES - 2]
    if is_id(own_id):
        likeliest.append(Candidate(str(own_id), "id", 5))
    return likeliest


def candidates_in_fields(exchange: Exchange) -> Iterator[Candidate]:
    """The ids that stand at the end of the URLs in header fields."""
    for name in LOCATIONS:
        text = exchange.header(name) or ""
        for match in IN_A_URL.finditer(text):
            yield Candidate(unquote(match[2]), name, 0)
        is_url = name != "link" and "/projects/" not in text
        last = re.search("([^/?#]+)/?(?:[?#].*)?$", text)
        if last and is_url:
            yield Candidate(unquote(last[1]), name, 1)


def candidate_at(path: Path, value: Any) -> Candidate | None:
    """The value as a candidate, None if it is no id of a deployment."""
    text = str(value)
    name = last_name(path)
    last = last_word(name)
    if not is_id(value) or len(text) > MAX_ID or seconds_of(value) is not None:
        return None
    if SECRET_NAME.search(name) or last == "key" or is_own_member(name):
        return None
    match = IN_A_URL.search(text)
    if match:
        return Candidate(unquote(match[2]), name, 0)
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
    if last in ID_WORDS and len(words_of(name)) > 1:
        return Candidate(text, name, 4)
    return None


def names_deployment(body: Any, deployment_id: str) -> bool:
    """Whether a body has the id of a deployment, by itself or in its URL."""
    for _, value in scalars(body):
        match = IN_A_URL.search(str(value))
        if deployment_id in (str(value), unquote(match[2]) if match else ""):
            return True
    return False
