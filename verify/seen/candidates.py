"""Finds values that may be the id of a deployment, in bodies and in the field Location."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from traffic.masking import SECRET_FIELD

from . import inspection
from .places import Place

IN_A_URL = re.compile(r"(?:^|/)deployments/([^/?#>\s]+)")


@dataclass(frozen=True)
class Candidate:
    """A value that may be the id of a deployment. `is_named` says that its place tells so."""

    id: str
    is_named: bool


def find_in_bodies(
    bodies: Iterable[Any], location: str, own_id: Any, hinted: Iterable[Place | None] = ()
) -> list[Candidate]:
    """Find the candidates in bodies, and in the field Location of a creation.

    First come hinted places, then names such as `latest_deployment_id`, then further values. The
    last is `own_id`, the id of the project, since some services have the same for both.
    """
    bodies = [*bodies]
    values = [place.read(body) for body in bodies for place in hinted if place]
    found = [Candidate(str(value), is_named=True) for value in values if inspection.is_id(value)]
    found += find_in_location(location)
    unnamed: list[Candidate] = []
    for body in bodies:
        for candidate in find_in_body(body, str(own_id)):
            if candidate.is_named:
                found.append(candidate)
            else:
                unnamed.append(candidate)
    found += unnamed
    if inspection.is_id(own_id):
        found.append(Candidate(str(own_id), is_named=False))
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        distinct.setdefault(candidate.id, candidate)
    return list(distinct.values())


def find_in_location(location: str) -> Iterator[Candidate]:
    """Find the id at the end of a URL: `d-1` of `/v1/deployments/d-1`, or of `/v1/runs/d-1`."""
    named = IN_A_URL.search(location)
    match = named or re.search("([^/?#]+)/?(?:[?#].*)?$", location)
    if match and "/projects/" not in location:
        yield Candidate(unquote(match[1]), is_named=named is not None)


def find_in_body(body: Any, own_id: str) -> Iterator[Candidate]:
    """Find ids in a body: in a URL of a deployment, under its name, or anywhere."""
    for path, value in inspection.list_leaves(body):
        key = inspection.get_key(path)
        is_secret = SECRET_FIELD.search(key) or key.lower().endswith("key")
        if not inspection.is_id(value) or is_secret:
            continue
        text = str(value)
        match = IN_A_URL.search(text)
        if match:
            yield Candidate(unquote(match[1]), is_named=True)
        elif is_plain_id(value) and text != own_id:
            has_name = key.lower().endswith(("id", "deployment"))
            yield Candidate(text, is_named=has_name and inspection.mentions_deployment(path))


def is_plain_id(value: Any, max_length: int = 1000) -> bool:
    """Return whether a value may be an id: no sentence, no URL and no time."""
    text = str(value)
    is_plain = len(text) <= max_length and " " not in text and "://" not in text
    return inspection.is_id(value) and is_plain and inspection.parse_seconds(value) is None


def has_deployment(body: Any, deployment_id: str) -> bool:
    """Return whether a body has the id of a deployment, by itself or in a URL."""
    for _, value in inspection.list_leaves(body):
        match = IN_A_URL.search(str(value))
        if deployment_id == str(value) or (match and deployment_id == unquote(match[1])):
            return True
    return False
