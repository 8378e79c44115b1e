"""What a program chooses of the stub."""

import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from .failures import Failures
from .profile import NO_PROFILE, Profile
from .seed import Seed


class StubOptions(NamedTuple):
    """What the stub adds: Pact's provider states by name, the origins of browser clients, the axes
    (each as `axis` or `axis@part`) and the seed of grease, the seed of the ids, the time at which
    the clocks stand still, and the least and the most seconds by which each response is delayed,
    drawn from `delay_seed`. `sleep` waits for delayed responses. `announces_grease` is
    whether a varied response has the header `Stub-Grease`. `journal_bytes` is the memory for the
    entries of all worlds. `failures` are those of a run of `--probe failures`, and `like` are the
    forms of a service.
    """

    states: Mapping[str, Seed] = MappingProxyType({})
    cors_origins: Collection[str] = ()
    grease: tuple[str, ...] = ()
    grease_seed: int = 0
    ids_seed: int | None = None
    freeze: datetime | None = None
    delay: tuple[float, float] = (0, 0)
    delay_seed: int = 0
    sleep: Callable[[float], None] = time.sleep
    announces_grease: bool = True
    journal_bytes: int = 64 * 1024 * 1024
    failures: Failures | None = None
    like: Profile = NO_PROFILE
