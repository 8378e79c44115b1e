"""A world, which a reset replaces whole: a store, a clock, ids, faults, a journal, a coverage."""

import json
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from profiles.openapi import Contract
from records import STATUSES
from store import MAX_PROJECTS, Clock, NewId
from traffic.masking import Redactor

from ..grease.axes import Parts, Switch, read_grease
from ..request.coverage import Coverage
from ..request.entry import Entry, Recorded
from ..request.faults import Faults, UnusedFault
from ..request.journal import Journal
from .clock import Setting, WorldClock
from .ids import Ids
from .options import Options
from .seed import Seed
from .store import NewStore, Records, StubStore, WorldStore
from .timelines import timelines_of

if TYPE_CHECKING:
    from profiles.forms import FilledList, Forms
    from profiles.profile import Profile


class Common:
    """What all worlds of a stub share: the options, the contract, the forms, and their start.

    `forms` are those of a profile; without one, the views of the service respond. Raises
    `ValueError` for an unknown part.
    """

    def __init__(self, options: Options, contract: bytes, clock: Clock, new_id: NewId) -> None:
        like = options.like
        self.options = options
        names = like.names_of_request if like else None
        self.contract = Contract(json.loads(contract), names, like.expected if like else ())
        self.forms = make_forms(like) if like else None
        self.redactor = Redactor(options.tokens)
        self.clock = clock
        # All worlds count here, also those that have ended.
        self.coverage = Coverage(self.contract, options.max_firsts)
        # What each world starts with.
        self.parts = Parts(self.contract)
        self.grease = read_grease(options.grease, options.grease_seed, self.parts.by_axis)
        self.ids = Ids(new_id, options.ids_seed, like.ids if like else {}, Switch(self.grease))
        statuses = (like.run if like else ()) or STATUSES
        self.timeline_for = timelines_of(options.pace, statuses, options.outcomes)
        now = options.freeze or clock()
        self.records = options.seed.records(now, self.ids, self.timeline_for)

    def open_store(self, world: str, ids: Ids) -> tuple[StubStore, WorldClock]:
        """Open the store of a new world and its clock, which programs may share."""
        options = self.options
        like = options.like
        new_store: NewStore = partial(
            WorldStore,
            timeline_for=self.timeline_for,
            max_projects=options.max_projects or MAX_PROJECTS,
            unique_names=like is None or like.has_unique_names,
        )
        clock = WorldClock(self.clock, Setting(options.freeze, tick=options.tick))
        if options.stores:
            return options.stores.open(world, clock, ids, self.records, new_store)
        return new_store(clock, ids, records=self.records), clock


def make_forms(like: "Profile") -> "Forms":
    """Return the forms of a profile. Most starts need none, nor what this imports."""
    from profiles.forms import Forms

    return Forms(like)


class World:
    """A world between two resets. A request stays in the one that it entered."""

    def __init__(self, name: str, common: Common) -> None:
        self.name = common.redactor.mask(name)  # which may be a token
        options = common.options
        self.instance = uuid4().hex  # of no other world, also after the program was started anew
        self.coverage = Coverage(common.contract, options.max_firsts)
        self.journal = Journal(options.max_entries)
        self._lock = Lock()  # of the two above: a view shows both as of one request
        self._coverages = (self.coverage, common.coverage)
        self.faults = Faults(options.max_faults)
        self.grease = Switch(common.grease)
        self.ids = common.ids.of_world(name, self.grease)
        self.store, self.clock = common.open_store(name, self.ids)
        self.timeline_for = common.timeline_for
        self.filled_list: FilledList | None = None  # cache of a profile's list

    def records_of(self, seed: Seed) -> Records:
        """New records of a seed, with ids of this world."""
        return seed.records(self.clock(), self.ids, self.timeline_for)

    def unused_faults(self) -> list[UnusedFault]:
        """The faults that no request has met."""
        unused = self.faults.unused()
        return [UnusedFault(what, count, self.name) for what, count in unused.items()]

    def record(self, entry: Entry) -> Recorded:
        """Keep a request in the journal, and count it in the coverage of this world and the run."""
        with self._lock:
            recorded = Recorded(self.name, self.journal.append(entry.shorten()), entry)
            counted = entry.list_counted()
            for coverage in self._coverages:
                coverage.count(recorded, counted)
        return recorded

    def recorded(self) -> tuple[int, int, dict[str, Any]]:
        """The number of the oldest entry, the highest number, and the coverage of these."""
        with self._lock:
            return self.journal.first, self.journal.last, self.coverage.document()
