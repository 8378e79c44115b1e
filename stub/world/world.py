"""A world has a store, a clock, ids, faults, a journal and a coverage. A reset replaces it."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import store
from profiles.openapi import Contract
from records import STATUSES
from traffic.masking import Redactor

from ..grease import axes
from ..request import findings
from ..request.coverage import Coverage
from ..request.entry import Entry, Recorded
from ..request.faults import Faults
from ..request.journal import Journal
from .clock import Setting, WorldClock
from .ids import Ids
from .options import Options
from .seed import Seed
from .store import NewStore, Records, StubStore, WorldStore, plan_timelines

if TYPE_CHECKING:
    from profiles.forms import FilledList, Forms
    from profiles.ids import IdFormat

    from ..grease.parts import Parts


class Shared:
    """The parts that all worlds of a stub share: options, contract, forms, and the first records.

    `forms` are the forms of the profile; without a profile, the views of the service respond.
    `coverage` counts the requests to all worlds, and outlives their resets. Raises `ValueError` for
    an unknown part of the contract.
    """

    def __init__(
        self, options: Options, contract: bytes, clock: store.Clock, new_id: store.NewId
    ) -> None:
        like = options.like
        self.options = options
        document = json.loads(contract)
        self.forms: Forms | None = None
        id_formats: Mapping[str, IdFormat] = {}
        statuses: Sequence[str] = STATUSES
        if like:
            from profiles import forms

            self.contract = Contract(document, like.request.known_names, like.request.expected)
            self.forms = forms.Forms(like)
            id_formats = like.ids
            statuses = like.run or STATUSES
        else:
            self.contract = Contract(document)
        self.redactor = Redactor(options.tokens)
        self.clock = clock
        self.coverage = Coverage(self.contract, options.max_firsts)
        self.grease = axes.Grease({}, options.grease_seed)
        if options.grease:
            from ..grease.parts import read_grease

            self.grease = read_grease(options.grease, options.grease_seed, self.parts.by_axis)
        self.ids = Ids(new_id, options.ids_seed, id_formats, axes.Switch(self.grease))
        self.timeline_for = plan_timelines(options.pace, statuses, options.outcomes)
        now = options.freeze or clock()
        self.records = options.seed.make_records(now, self.ids, self.timeline_for)

    @cached_property
    def parts(self) -> "Parts":
        """The parts of the contract that grease can vary. Most programs do not need them."""
        from ..grease.parts import Parts

        return Parts(self.contract)

    def open_store(self, world: str, ids: Ids) -> tuple[StubStore, WorldClock]:
        """Open the store and the clock of a world. With `--store`, programs share them."""
        options = self.options
        like = options.like
        new_store: NewStore = partial(
            WorldStore,
            timeline_for=self.timeline_for,
            max_projects=options.max_projects or store.MAX_PROJECTS,
            unique_names=like is None or like.has_unique_names,
        )
        clock = WorldClock(self.clock, Setting(options.freeze, tick=options.tick))
        if options.stores:
            return options.stores.open(world, clock, ids, self.records, new_store)
        return new_store(clock, ids, records=self.records), clock


class World:
    """A world between two resets. A request stays in the world that it entered.

    `instance` is a random name, so a page notices a reset and a restart of the program.
    """

    def __init__(self, name: str, shared: Shared) -> None:
        self._redactor = shared.redactor
        self.name = self._redactor.mask(name)  # A client may send a token as the name.
        options = shared.options
        self.instance = uuid4().hex
        self.coverage = Coverage(shared.contract, options.max_firsts, shared.coverage)
        self.journal = Journal(options.max_entries)
        self._lock = Lock()  # A view shows the journal and the coverage after the same request.
        self.faults = Faults(options.max_faults)
        self.grease = axes.Switch(shared.grease)
        self.ids = shared.ids.copy_for_world(name, self.grease)
        self.store, self.clock = shared.open_store(name, self.ids)
        self.timeline_for = shared.timeline_for
        self.filled_list: FilledList | None = None  # cache, for the list of a profile

    def make_records(self, seed: Seed) -> Records:
        """Make the records of a seed, with ids of this world."""
        return seed.make_records(self.clock(), self.ids, self.timeline_for)

    def list_unused_faults(self) -> list[findings.Finding]:
        """List the findings of faults that no request met."""
        counts = Counter[str]()
        for what, count in self.faults.count_unused().items():
            counts[self._redactor.mask(what)] += count
        first = {"world": self.name, "number": None}
        return [
            findings.make_finding("unused-faults", what, n, first) for what, n in counts.items()
        ]

    def record(self, entry: Entry) -> Recorded:
        """Add a request to the journal, and to the coverages of this world and of the run."""
        with self._lock:
            recorded = Recorded(self.name, self.journal.append(entry), entry)
            self.coverage.count(recorded)
        return recorded

    def read_requests(self) -> tuple[int, int, dict[str, Any]]:
        """Read the numbers of the first and the last entry in the journal, and the coverage."""
        with self._lock:
            return self.journal.first, self.journal.last, self.coverage.document()
