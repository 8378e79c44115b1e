"""Makes the stores of worlds."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from records import Records, timeline_of
from store import Clock, NewId, Store

from .seed import Seed


@dataclass(frozen=True)
class StoreFactory:
    """Makes stores, and the records of a seed that they start with."""

    new_store: Callable[..., Store]  # called as in `open`
    clock: Clock
    new_id: NewId
    pace: float
    max_projects: int
    seed: Seed

    def open(
        self,
        records: Records,
        world: str = "",
        clock: Clock | None = None,
        new_id: NewId | None = None,
    ) -> Any:
        """The store of a world, as `new_store` made it; what is not given is the factory's own."""
        return self.new_store(
            clock or self.clock,
            new_id or self.new_id,
            pace=self.pace,
            max_projects=self.max_projects,
            records=records,
            world=world,
        )

    def records(self, seed: Seed, now: datetime, new_id: NewId) -> Records:
        """The records of a seed, in which created deployments have the factory's pace."""
        return seed.records(now, new_id, timeline_of(self.pace))
