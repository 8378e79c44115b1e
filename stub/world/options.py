"""What the stub takes: the command line makes it, and it is passed on whole."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from flask import Response

from auth import DEFAULT_TOKEN
from store import PACE

from ..request.failures import Failures
from ..request.journal import MAX_ENTRIES
from .seed import EMPTY, Seed
from .store import SharedStores

if TYPE_CHECKING:
    from profiles.profile import Profile


@dataclass(frozen=True)
class Options:
    """The options of a stub; times are in seconds.

    A token is a b64token (RFC 6750 §2.1). `outcomes` are the last statuses of deployments by a
    shell pattern of the name of their project. `stores` are those that several programs share; by
    default each world is in memory.
    """

    tokens: Collection[str] = (DEFAULT_TOKEN,)
    pace: float = PACE
    outcomes: Sequence[tuple[str, str]] = ()
    max_projects: int | None = None  # by default `store.MAX_PROJECTS`
    seed: Seed = EMPTY
    strict: bool = False  # rejects query parameters and unknown members
    states: Mapping[str, Seed] = field(default_factory=dict)  # Pact's provider states by name
    cors_origins: Collection[str] = ()  # of browser clients
    grease: tuple[str, ...] = ()  # the axes, each as `axis` or `axis@part`
    grease_seed: int = 0
    ids_seed: int | None = None
    freeze: datetime | None = None  # the time at which the clocks stand still
    tick: float = 0.0  # by which a read of a deployment advances the clock of its world
    delay: float = 0.0  # of each response
    max_entries: int = MAX_ENTRIES  # of the journal of a world
    max_worlds: int = 1000  # beside the main one
    max_faults: int = 1000  # that wait in a world
    max_firsts: int = 1000  # findings whose first request is shown whole
    max_seed_bytes: int = 64 * 1024 * 1024
    like: "Profile | None" = None  # of a service
    announces_grease: bool = True  # whether a varied response has the header `Stub-Grease`
    failures: Failures | None = None  # of a run of `--probe failures`
    stores: SharedStores | None = None
    log: Callable[[Response], Response] | None = None  # the last step of a request

    @property
    def words(self) -> tuple[str, ...]:
        """The statuses of the profile, such as `("QUEUED", "LIVE")`; empty without one."""
        return self.like.words if self.like else ()
