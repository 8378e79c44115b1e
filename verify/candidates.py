"""Finds what may be the id of a deployment, in bodies and in header fields."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from traffic.json_values import Path
from traffic.masking import SECRET_FIELD

from .exchange import ServiceExchange
from .values import (
    find_value,
    get_key,
    is_id,
    list_leaves,
    mentions_deployment,
    parse_seconds,
)

IN_A_URL = re.compile(r"(?:^|/)deployments/([^/?#>\s]+)")
LAST_SEGMENT = re.compile("([^/?#]+)/?(?:[?#].*)?$")
LOCATIONS = ("Location", "Content-Location")


@dataclass(frozen=True)
class Candidate:
    """A value that may be the id of a deployment; `is_named` where its place says so."""

    id: str
    is_named: bool


def find_in_bodies(
    bodies: Iterable[Any], exchanges: Iterable[ServiceExchange], own_id: Any, *hinted: Path | None
) -> list[Candidate]:
    """Find the candidates: first those at hinted places, then those that a name tells.

    The others follow, and `own_id`, the id of the project, which some services have for both.
    """
    bodies = [*bodies]
    values = [find_value(body, path) for body in bodies for path in hinted]
    found = [Candidate(str(value), is_named=True) for value in values if is_id(value)]
    named = [each for exchange in exchanges for each in find_in_fields(exchange)]
    others: list[Candidate] = []
    for body in bodies:
        for candidate in find_in_body(body, str(own_id)):
            (named if candidate.is_named else others).append(candidate)
    found += named + others
    if is_id(own_id):
        found.append(Candidate(str(own_id), is_named=False))
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        distinct.setdefault(candidate.id, candidate)
    return list(distinct.values())


def find_in_fields(exchange: ServiceExchange) -> Iterator[Candidate]:
    """Find the ids at the end of the URLs in the header fields Location and Content-Location."""
    for name in LOCATIONS:
        text = exchange.find_response_field(name) or ""
        match = IN_A_URL.search(text) or LAST_SEGMENT.search(text)
        if match and "/projects/" not in text:
            yield Candidate(unquote(match[1]), is_named=match.re is IN_A_URL)


def find_in_body(body: Any, own_id: str) -> Iterator[Candidate]:
    """Find ids in a body: in a URL of a deployment, under its name, or anywhere."""
    for path, value in list_leaves(body):
        name = get_key(path)
        text = str(value)
        is_secret = SECRET_FIELD.search(name) or name.lower().endswith("key")
        if not is_id(value) or is_secret:
            continue
        match = IN_A_URL.search(text)
        if match:
            yield Candidate(unquote(match[1]), is_named=True)
        elif may_be_id(value) and text != own_id:
            is_named = mentions_deployment(path) and name.lower().endswith(("id", "deployment"))
            yield Candidate(text, is_named=is_named)


def may_be_id(value: Any) -> bool:
    text = str(value)
    is_plain = len(text) <= 1000 and " " not in text and "://" not in text
    return is_plain and parse_seconds(value) is None


def names_deployment(body: Any, deployment_id: str) -> bool:
    """Whether a body has the id of a deployment, by itself or in its URL."""
    for _, value in list_leaves(body):
        match = IN_A_URL.search(str(value))
        if deployment_id in (str(value), unquote(match[1]) if match else ""):
            return True
    return False
