"""The options of the stub: the command line makes them, and passes them on whole."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from flask import Response

from auth import DEFAULT_TOKEN
from store import PACE

from ..request.faults import PlannedFaults
from .seed import Seed
from .store import SharedStores

if TYPE_CHECKING:
    from profiles.profile import Profile


@dataclass(frozen=True)
class Options:
    """The options of a stub. Times are in seconds.

    - `tokens` are b64tokens (RFC 6750 §2.1).
    - `outcomes` are pairs of a pattern of names and a last status: `("fail-*", "failed")`.
    - `max_projects` is by default `store.MAX_PROJECTS`.
    - `strict` rejects query parameters and members that are not in the contract.
    - `states` are Pact's provider states by name.
    - `cors_origins` are the origins of browser clients: `http://localhost:5173`.
    - `grease` has axes, as `members` or `members@Project`. With `announces_grease`, a varied
      response has the header `Stub-Grease`.
    - `freeze` is the time at which the clocks stand still. A read of a deployment advances the
      clock of its world by `tick`.
    - `delay` is added to every response.
    - `max_entries` limits the journal of a world, `max_worlds` the worlds besides the main world,
      `max_faults` the waiting faults of a world, and `max_firsts` the findings with a whole
      first request.
    - `planned_faults` are for a run of `--probe failures`.
    - `stores` are shared by programs. By default a world is in memory.
    - `log` is the last step of a request.
    """

    tokens: Collection[str] = (DEFAULT_TOKEN,)
    pace: float = PACE
    outcomes: Sequence[tuple[str, str]] = ()
    max_projects: int | None = None
    seed: Seed = field(default_factory=Seed)
    strict: bool = False
    states: Mapping[str, Seed] = field(default_factory=dict)
    cors_origins: Collection[str] = ()
    grease: tuple[str, ...] = ()
    grease_seed: int = 0
    ids_seed: int | None = None
    freeze: datetime | None = None
    tick: float = 0.0
    delay: float = 0.0
    max_entries: int = 1000
    max_worlds: int = 1000
    max_faults: int = 1000
    max_firsts: int = 1000
    max_seed_bytes: int = 64 * 1024 * 1024
    like: "Profile | None" = None
    announces_grease: bool = True
    planned_faults: PlannedFaults | None = None
    stores: SharedStores | None = None
    log: Callable[[Response], Response] | None = None

    @property
    def statuses(self) -> tuple[str, ...]:
        """The statuses of the profile: `("QUEUED", "LIVE")`. Without a profile it is empty."""
        return self.like.statuses if self.like else ()
