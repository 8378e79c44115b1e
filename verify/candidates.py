"""What may be the id of a deployment, in bodies and in header fields."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from profiles.markers import Path
from traffic.masking import SECRET_FIELD

from .exchange import Exchange
from .guesses import DEPLOYMENT_WORDS, ID_WORDS, LOCATIONS, MAX_ID
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
LAST_SEGMENT = re.compile("([^/?#]+)/?(?:[?#].*)?$")


@dataclass(frozen=True)
class Candidate:
    """A value that may be the id of a deployment."""

    id: str
    rank: int  # -1 and 0 are the likeliest


def candidates_in(
    bodies: Iterable[Any], exchanges: Iterable[Exchange], own_id: Any, *known: Path | None
) -> list[Candidate]:
    """The candidates in bodies, and in header fields; those at known places come first.

    `own_id` is that of the project, which some services have for its deployment.
    """
    found = [each for exchange in exchanges for each in candidates_in_fields(exchange)]
    for body in bodies:
        values = [at(body, path) for path in known]
        found += [Candidate(str(value), -1) for value in values if is_id(value)]
        found += candidates_in_body(body, str(own_id))
    if is_id(own_id):
        found.append(Candidate(str(own_id), 4))
    found.sort(key=lambda candidate: candidate.rank)
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        distinct.setdefault(candidate.id, candidate)
    return list(distinct.values())


def candidates_in_fields(exchange: Exchange) -> Iterator[Candidate]:
    """The ids that stand at the end of the URLs in header fields."""
    for name in LOCATIONS:
        text = exchange.header(name) or ""
        for match in IN_A_URL.finditer(text):
            yield Candidate(unquote(match[2]), 0)
        last = LAST_SEGMENT.search(text)
        if last and name != "link" and "/projects/" not in text:
            yield Candidate(unquote(last[1]), 1)


def candidates_in_body(body: Any, own_id: str) -> Iterator[Candidate]:
    for path, value in scalars(body):
        text = str(value)
        match = IN_A_URL.search(text)
        found = unquote(match[2]) if match else text
        rank = rank_at(path, value, is_in_a_url=match is not None)
        if rank is not None and found != own_id:
            yield Candidate(found, rank)


def rank_at(path: Path, value: Any, *, is_in_a_url: bool) -> int | None:
    """How likely a value is the id of a deployment, None if it is none."""
    name = last_name(path)
    last = last_word(name)
    text = str(value)
    if not is_id(value) or len(text) > MAX_ID or seconds_of(value) is not None:
        return None
    if SECRET_FIELD.search(name) or last == "key" or is_own_member(name):
        return None
    if is_in_a_url or (is_of_deployment(path) and last in ID_WORDS):
        return 0
    if " " in text or "://" in text:
        return None
    if says_deployment(last) or is_of_deployment(path[:-1]):
        return 1
    if last == "id" and len(path) > 1:
        return 2
    if last in ID_WORDS and len(words_of(name)) > 1:
        return 3
    return 5 if is_of_deployment(path) else None


def names_deployment(body: Any, deployment_id: str) -> bool:
    """Whether a body has the id of a deployment, by itself or in its URL."""
    for _, value in scalars(body):
        match = IN_A_URL.search(str(value))
        if deployment_id in (str(value), unquote(match[2]) if match else ""):
            return True
    return False
