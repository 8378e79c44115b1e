"""--probe runs a command with every axis of grease and every failure; see `probe_report.py`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import stub
from stub import failures
from traffic.masking import make_printable

from .options import Settings
from .stderr import say

PLAIN = "plain"
PASSES, BREAKS, HANGS = "passes", "breaks", "hangs"
NOT_RUN, NOT_MET, NO_FINDING = "not run", "not met", "no finding"


class Ended(NamedTuple):
    """The result of a run of the program.

    `output` is masked. The plain run has the terminal, so its output is empty. `signal` is the
    number of the signal that ended the run.
    """

    status: int
    seconds: float
    output: str
    worlds: stub.Worlds
    attempts: Collection[failures.Attempt]
    signal: int | None


Execute = Callable[..., Ended]
"""Runs the program for at most `limit` seconds: `execute("ids", 30.0, grease=("ids",))`."""


class Varied(NamedTuple):
    """The variations of an axis in a run: varied responses, their worlds and their parts.

    `parts` are names: `["members@Project"]`. `first` is the first varied request.
    """

    responses: int = 0
    first: dict[str, Any] | None = None
    worlds: Sequence[str] = ()
    parts: Sequence[str] = ()


@dataclass(eq=False)
class ProbeRun:
    """A run that has ended.

    `axis` is empty for the plain run, and for the run of a failure. `uncalled` are operations that
    only the plain run called; `missed` are operations that a broken run did not reach. If the run
    of an axis breaks, `again` is its repetition, and `by_part` has a run for every varied part.
    """

    name: str
    axis: str
    status: int
    seconds: float
    output: str
    has_hung: bool
    is_called: bool  # It is also true if the plain run sent no request.
    uncalled: Sequence[str]
    varied: Varied
    reactions: Mapping[str, failures.Reaction] = field(default_factory=dict)
    missed: Sequence[str] = ()
    again: "ProbeRun | None" = None
    by_part: dict[str, "ProbeRun"] = field(default_factory=dict)

    @property
    def end(self) -> str:
        """How the run ended, such as `breaks`."""
        if not self.is_called:
            return NOT_RUN
        if self.has_hung:
            return HANGS
        return BREAKS if self.status else PASSES

    @property
    def result(self) -> str:
        """The result of the run, such as `no finding` if its repetition passed."""
        if self.end == NOT_RUN or (self.again and self.again.end == NOT_RUN):
            return NOT_RUN
        if self.axis and not self.varied.parts:
            return NOT_MET
        if self.again and not self.again.breaks:
            return NO_FINDING
        return self.end

    @property
    def breaks(self) -> bool:
        return self.result in (BREAKS, HANGS)

    @property
    def broken_parts(self) -> list[str]:
        return [part for part, run in self.by_part.items() if run.breaks]

    @property
    def breaks_whole(self) -> bool:
        """Whether the run breaks, but no run with a single part."""
        return self.breaks and not self.broken_parts

    def describe(self) -> str:
        """Describe the end: `breaks in 1.5 s (exit status 1), varied responses: 3`."""
        sentence = f"{self.end} in {self.seconds:.1f} s"
        if self.status and self.end in (BREAKS, NOT_RUN):
            sentence += f" (exit status {self.status})"
        if self.axis and self.end != NOT_RUN:
            responses = self.varied.responses
            sentence += f", varied responses: {responses}" if self.varied.parts else ", not met"
        return sentence


class Signalled(Exception):
    """A signal that ends all runs. Its argument is the number of the signal."""


class Probe:
    """Runs the command plainly, then with the axes of grease, then with the failures.

    Every run is a run of the program with new worlds. `worlds` are the worlds of the plain run.
    """

    worlds: stub.Worlds

    def __init__(self, settings: Settings, execute: Execute) -> None:
        self.settings = settings
        self.plain: ProbeRun | None = None
        self.axes: list[ProbeRun] = []
        self.failures: list[ProbeRun] = []
        self.is_complete = False
        self._execute = execute
        self._plain_attempts: Collection[failures.Attempt] = ()

    def run(self) -> int:
        """Make all runs. Return the exit status of the plain run, or 128 and a signal's number."""
        try:
            self.plain = self._run(PLAIN)
            if self.plain.status == 0:
                for name in self.settings.probe:
                    if name in failures.FAULTS:
                        self._try_failure(name)
                    else:
                        self._try_axis(name)
                self.is_complete = True
        except Signalled as signalled:
            say("probe: incomplete: ended by a signal\n")
            return 128 + int(signalled.args[0])
        return self.plain.status

    @property
    def not_run(self) -> list[str]:
        """The axes and failures of the runs without a request, or `["plain"]`."""
        if self.is_complete and not self.worlds.shared.coverage.is_called:
            return [PLAIN]
        return [run.name for run in self.axes + self.failures if run.result == NOT_RUN]

    def _try_failure(self, name: str) -> None:
        """Run the command with a failure for the first call of every operation."""
        planned = failures.Failures(name, self._plain_attempts)
        run = self._run(name, planned_faults=planned)
        if run.end in (BREAKS, HANGS):
            run.missed = sorted(planned.waiting)
        self.failures.append(run)
        show(run)

    def _try_axis(self, name: str) -> None:
        """Run the command with an axis. If it breaks, repeat it, and run it with its parts."""
        axis = self._vary(name, name)
        show(axis)
        if axis.breaks:
            axis.again = self._vary(name, name, f"{name} again")
        self.axes.append(axis)  # A signal may end the runs with a part.
        if axis.breaks:
            for part in axis.varied.parts:
                axis.by_part[part] = self._vary(name, f"{name}@{part}")
        if axis.result == NO_FINDING:
            say(f"probe: {name}: no finding: the repetition passed\n")

    def _vary(self, axis: str, word: str, label: str = "") -> ProbeRun:
        """Run the command with an axis, or with a part of it: `members@Project`."""
        return self._run(word, axis, label, grease=(word,), announces_grease=False)

    def _run(self, name: str, axis: str = "", label: str = "", **options: Any) -> ProbeRun:
        """Run the program once, and print how the command ended. Raises `Signalled`."""
        limit = self._limit(name)
        ended = self._execute(name, limit, **options)
        if name == PLAIN:
            self.worlds = ended.worlds
            self._plain_attempts = ended.attempts
        if ended.signal:
            raise Signalled(ended.signal)
        run = self._make_run(name, axis, limit, ended)
        sentence = run.describe()
        if name == PLAIN and run.status == 0:
            seed = self.settings.options.grease_seed
            sentence += f"; seed {seed}, runs to come: {len(self.settings.probe)}"
        say(f"probe: {label or name}: {sentence}\n")
        return run

    def _make_run(self, name: str, axis: str, limit: float | None, ended: Ended) -> ProbeRun:
        """Make the record of a run. It lacks the worlds, to free their memory."""
        coverage = ended.worlds.shared.coverage
        plain = self.worlds.shared.coverage
        called = coverage.list_called()
        run = ProbeRun(
            name=name,
            axis=axis,
            status=ended.status,
            seconds=ended.seconds,
            output=ended.output,
            has_hung=limit is not None and ended.seconds > limit,
            is_called=coverage.is_called or not plain.is_called,
            uncalled=[each for each in plain.list_called() if each not in called],
            varied=find_varied(axis, ended.worlds),
        )
        if name in failures.FAULTS:
            is_broken = run.end != PASSES
            run.reactions = failures.read_reactions(
                name, self._plain_attempts, ended.attempts, is_broken=is_broken
            )
        return run

    def _limit(self, name: str, least: float = 30.0, factor: float = 5.0) -> float | None:
        """Return the maximum seconds of a run. The plain run has no limit."""
        if not self.plain:
            return None
        limit = max(least, factor * self.plain.seconds)
        if name == failures.STALLED:
            limit += failures.STALL * len(self.worlds.shared.contract.operation_ids)
        return limit


def find_varied(axis: str, worlds: stub.Worlds) -> Varied:
    if not axis:
        return Varied()
    shared = worlds.shared
    return Varied(*shared.coverage.describe_axis(axis), shared.parts.list_varied(axis))


def show(run: ProbeRun, count: int = 20) -> None:
    """Print the last lines of a run that breaks, or that failed before its first request."""
    has_failed = run.result == NOT_RUN and run.status
    if run.breaks or has_failed:
        for line in run.output.splitlines()[-count:]:
            say(f"  | {make_printable(line)}\n")
