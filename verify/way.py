"""Finds its way in the bodies of a service: where the list, a record and the status are."""

from dataclasses import dataclass
from typing import Any

from profiles.markers import Path
from profiles.profile import Profile

from .exchange import Exchange


@dataclass(frozen=True)
class Hints:
    """What a person has said: a deployment, the body of a creation, and a known profile."""

    deployment: str = ""
    request: Any = None  # with the marker {project.name}
    profile: Profile | None = None


@dataclass(frozen=True)
class Candidate:
    """A value that may be the id of a deployment, and the member that has it."""

    id: str
    member: str
    rank: int  # 0 is the likeliest


@dataclass(frozen=True)
class Way:
    """Where a service has what; None, "" and () are not found.

    `creation` is the one of the project that is followed; `created_id` and `created_name` are its
    id, of the type that it has, and its name. `followed` are the successful reads of its
    deployment, or of the one that a person has named.
    """

    creation: Exchange | None = None
    created_id: Any = None
    created_name: str = ""
    items_path: Path | None = None  # of the array of the projects, in a list
    id_path: Path | None = None  # in an item
    followed: tuple[Exchange, ...] = ()
    deployment_id: Any = None  # of the type that it has in its body
    status_path: Path | None = None  # in a deployment
