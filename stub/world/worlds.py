"""The tokens of a stub, the worlds that they open, and the visit of a request to a world."""

import re
from collections import OrderedDict
from collections.abc import Collection
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import Any

import auth
import records

from ..request import findings
from ..request.entry import Recorded
from ..request.faults import Outcome
from .seed import Seed
from .world import Shared, World

MAIN = ""
"""The name of the main world. A token without the name of a world opens it."""
WORLD = "[A-Za-z0-9_-]{1,64}"
"""The pattern of the name of a world."""


class Tokens:
    """An allow-list of b64tokens (RFC 6750 §2.1).

    A token may be followed by a dot and the name of a world: `"dev-token.job-42"`. All tokens open
    the same worlds. Raises `ValueError` for an invalid token, and for two tokens like `a` and
    `a.b`.
    """

    def __init__(self, tokens: Collection[str]) -> None:
        for token in tokens:
            if not auth.B64TOKEN.fullmatch(token):
                raise ValueError(auth.TOKEN_RULE)
            shorter, _, world = token.rpartition(".")
            if shorter in tokens and re.fullmatch(WORLD, world):
                raise ValueError(
                    "two tokens are ambiguous: with the tokens `a` and `a.b`, the second would "
                    "also open the world `b` of the first; rename one of them"
                )
        self._is_valid = auth.make_token_check(tokens)

    def find_world(self, token: str) -> str | None:
        """Return the name of the world that a token opens: of `"dev-token.job-42"` it is `job-42`.

        Return None for an invalid token. A token with a dot may be valid as a whole.
        """
        if self._is_valid(token):
            return MAIN
        token, _, world = token.rpartition(".")
        if re.fullmatch(WORLD, world) and self._is_valid(token):
            return world
        return None

    def find_intended_world(self, header: str) -> str:
        """Return the world of a valid token in a malformed header, or else the main world.

        Of the header `bearer dev-token.job-42` it is `job-42`.
        """
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{auth.B64TOKEN.pattern}(?:\.{WORLD})?", header)
        for token in tokens:
            world = self.find_world(token)
            if world:
                return world
        return MAIN


def explain_token(header: str) -> str:
    """Explain the names of worlds if an invalid token may name a world; otherwise return ""."""
    sent = re.fullmatch(r"Bearer (\S+)", header)
    if not sent or "." not in sent[1]:
        return ""
    return " If a world is meant: the name of a world has 1 to 64 of A-Z a-z 0-9 _ -."


class Worlds:
    """The worlds by name. A world is made at its first use.

    There are at most `max_worlds` besides the main world. A new world replaces the least recently
    used world. Raises `ValueError` for an invalid token.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.tokens = Tokens(shared.options.tokens)
        self._stores = shared.options.stores
        self._lock = Lock()
        self._worlds: OrderedDict[str, World] = OrderedDict()  # least recently used first
        self._most = shared.options.max_worlds
        self._unused_faults: list[findings.Finding] = []  # findings of ended worlds

    def authenticate(self, token: str) -> "Visit | None":
        """Return a visit to the world of a token such as `"dev-token.job-42"`, or None."""
        name = self.tokens.find_world(token)
        return None if name is None else Visit(name, self)

    def open(self, name: str) -> World:
        """Return the world with this name. It is made at its first use."""
        with self._lock:
            world = self._worlds.get(name)
            if world is None:
                world = World(name, self.shared)
                self._add(name, world)
            self._worlds.move_to_end(name)
            return world

    def reset(self, name: str, seed: Seed | None) -> None:
        """Replace a world by a world with the records of a seed, or as at the start.

        Without a seed, a named world is removed, and made again at its next use.
        """
        # This needs no lock, and a large seed takes time.
        # A removed world is reset, too: its records may be in a shared store.
        world = World(name, self.shared)
        world.store.reset(world.make_records(seed) if seed is not None else None)
        with self._lock:
            self._remove(name)
            if seed is not None or name == MAIN:
                self._add(name, world)

    def list_unused_faults(self) -> list[findings.Finding]:
        """List the findings of faults that no request met, in all worlds of the run."""
        with self._lock:
            found = list(self._unused_faults)
            for world in self._worlds.values():
                found += world.list_unused_faults()
            return findings.merge_findings(found)

    def document(self) -> dict[str, Any]:
        """Return the JSON of the worlds, the main world first: `{"worlds": […], "room": 999}`.

        With a shared store, it has the worlds of other programs, without their requests.
        """
        self.open(MAIN)
        with self._lock:
            worlds = dict(self._worlds)
        projects = self._count_projects(worlds)
        redactor = self.shared.redactor
        rows = []
        for name in sorted(projects):
            world = worlds.get(name)
            row = {
                "name": redactor.mask(name),
                "projects": projects[name],
                "requests": world.journal.last if world else 0,
            }
            rows.append(row)
        return {"worlds": rows, "room": 1 + self._most - len(worlds)}

    def _count_projects(self, worlds: dict[str, World]) -> dict[str, int]:
        """Count the projects of these worlds, and of the worlds in a shared store, by name."""
        if self._stores:
            # A world without records in the store begins with the records of the start.
            at_start = len(self.shared.records.projects)
            return dict.fromkeys(worlds, at_start) | self._stores.worlds()
        return {name: len(world.store.list_projects()) for name, world in worlds.items()}

    # The caller of the following methods holds the lock.

    def _add(self, name: str, world: World) -> None:
        self._worlds[name] = world
        named = [each for each in self._worlds if each != MAIN]
        if len(named) > self._most:
            self._remove(named[0])

    def _remove(self, name: str) -> None:
        """Remove a world. Its unused faults stay in the verdict of the run."""
        world = self._worlds.pop(name, None)
        if world:
            self._unused_faults = findings.merge_findings(
                self._unused_faults + world.list_unused_faults()
            )


class Visit:
    """The visit of a request to the world with a name.

    It is the `Store` of the request: it calls the store of the world. It also has the notes of the
    steps of the stub, in this order:

    - `is_accepted` is false if the token was rejected. Then the view is not called.
    - `hint` explains a rejected preflight: `preflight from http://…: start with --cors-origin …`.
    - `outcome` is decided before the view. It is None for a path that is not below `/v1`.
    - `deployment` and `time` are what the view read.
    - `recorded` is the entry in the journal. It is None if the request is not recorded.
    """

    hint = ""
    outcome: Outcome | None = None
    deployment: records.Deployment | None = None
    time: datetime | None = None
    recorded: Recorded | None = None

    def __init__(self, name: str, worlds: Worlds, *, is_accepted: bool = True) -> None:
        self.name = name
        self.worlds = worlds
        self.is_accepted = is_accepted

    @cached_property
    def world(self) -> World:
        """The world. It is opened at its first use, so that a rejected request does not open it."""
        return self.worlds.open(self.name)

    @property
    def status_read(self) -> str | None:
        """The status of the deployment that was read, or None."""
        if self.deployment is None or self.time is None:
            return None
        return self.deployment.status(self.time)

    def list_projects(self) -> records.ProjectList:
        return self.world.store.list_projects()

    def create_project(self, name: str, sent: str) -> records.Project:
        return self.world.store.create_project(name, sent)

    def now(self) -> datetime:
        now = self.world.store.now()
        self.time = now
        return now

    def get_deployment(self, deployment_id: str) -> records.Deployment | None:
        self.deployment = self.world.store.get_deployment(deployment_id)
        return self.deployment
