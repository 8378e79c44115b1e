"""--probe: runs a command with what may vary, and with what may fail; see `probe_report.py`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import stub
from stub import FAILURES, STALL, STALLED, Attempt, Failures, Reaction, read_reactions
from traffic.masking import make_printable

from .options import Settings
from .stderr import say

HANG = 30.0  # seconds: the least after which a varied run hangs
HANG_FACTOR = 5  # of the plain run's seconds
SHOWN_LINES = 20  # of a run's output on the terminal

PLAIN = "plain"
PASSES, BREAKS, HANGS = "passes", "breaks", "hangs"
NOT_RUN, NOT_MET, NO_FINDING = "not run", "not met", "no finding"


class Ended(NamedTuple):
    """What a run of the program left. `output` is masked; the plain run has the terminal."""

    status: int
    seconds: float
    output: str
    worlds: stub.Worlds
    attempts: Collection[Attempt]
    signal: int | None  # that came, if one did


Execute = Callable[..., Ended]
"""Runs the program: `execute(name, limit, **options)`, for `limit` seconds at most, if any."""


class Varied(NamedTuple):
    """What an axis varied in a run: the first request, the worlds of all, and the parts."""

    responses: int = 0
    first: dict[str, Any] | None = None
    worlds: Sequence[str] = ()
    parts: Sequence[str] = ()


@dataclass(eq=False)
class ProbeRun:
    """A run that has ended.

    `uncalled` are the operations that only the plain run called. What follows a run of an axis that
    breaks: `again` is its repetition, and `alone` are the runs with one part each.
    """

    name: str
    axis: str  # empty for the plain run and for those of failures
    status: int
    seconds: float
    output: str
    has_hung: bool
    is_called: bool  # whether it sent a request, or the plain run sent none
    uncalled: Sequence[str]
    varied: Varied
    reactions: Mapping[str, Reaction] = field(default_factory=dict)  # to its failure
    missed: Sequence[str] = ()  # operations that it did not come to, as it broke
    again: "ProbeRun | None" = None
    alone: dict[str, "ProbeRun"] = field(default_factory=dict)

    @property
    def end(self) -> str:
        """How it ended, whatever that shows."""
        if not self.is_called:
            return NOT_RUN
        if self.has_hung:
            return HANGS
        return BREAKS if self.status else PASSES

    @property
    def result(self) -> str:
        """What came of it, which is decided here alone."""
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
        return [part for part, run in self.alone.items() if run.breaks]

    @property
    def breaks_whole(self) -> bool:
        """Whether it breaks, and no part of it alone does."""
        return self.breaks and not self.broken_parts

    def sentence(self) -> str:
        """How it ended, and what its axis varied."""
        sentence = f"{self.end} in {self.seconds:.1f} s"
        if self.status and self.end in (BREAKS, NOT_RUN):
            sentence += f" (exit status {self.status})"
        if self.axis and self.end != NOT_RUN:
            responses = self.varied.responses
            sentence += f", varied responses: {responses}" if self.varied.parts else ", not met"
        return sentence


class Signalled(Exception):
    """A signal came, which ends all runs. Its argument is the number."""


class Probe:
    """Runs the command plain, then with each axis of grease, then with each failure.

    Each run is a run of the program, with its own worlds. `worlds` are those of the plain run.
    """

    worlds: stub.Worlds

    def __init__(self, settings: Settings, execute: Execute) -> None:
        self.settings = settings
        self.plain: ProbeRun | None = None
        self.axes: list[ProbeRun] = []
        self.failures: list[ProbeRun] = []
        self.is_complete = False
        self._execute = execute
        self._plain_attempts: Collection[Attempt] = ()

    def run(self) -> int:
        """Make all runs. Returns the exit status: that of a signal, or of the plain run."""
        try:
            self.plain = self._run(PLAIN)
            if self.plain.status == 0:
                for name in self.settings.probe:
                    if name in FAILURES:
                        self._try_failure(name)
                    else:
                        self._try_axis(name)
                self.is_complete = True
        except Signalled as signalled:
            say("probe: incomplete: a signal came\n")
            return 128 + int(signalled.args[0])
        return self.plain.status

    @property
    def not_run(self) -> list[str]:
        """The axes and the failures whose run sent no request; `plain` if not even that did."""
        if self.is_complete and not self.worlds.common.coverage.is_called:
            return [PLAIN]
        return [run.name for run in self.axes + self.failures if run.result == NOT_RUN]

    def _try_failure(self, name: str) -> None:
        """Run the command once, let each operation meet the failure, and read what followed."""
        failures = Failures(name, self._plain_attempts)
        run = self._run(name, failures=failures)
        if run.end in (BREAKS, HANGS):
            run.missed = sorted(failures.waiting)
        self.failures.append(run)
        show(run)

    def _try_axis(self, name: str) -> None:
        """Run the command with an axis; repeat a break, and try each varied part alone."""
        axis = self._vary(name, name)
        show(axis)
        if axis.breaks:
            axis.again = self._vary(name, name, f"{name} again")
        self.axes.append(axis)  # which has what is known for certain
        if axis.breaks:
            for part in axis.varied.parts:
                axis.alone[part] = self._vary(name, f"{name}@{part}")
        if axis.result == NO_FINDING:
            say(f"probe: {name}: no finding: it passed when it was repeated\n")

    def _vary(self, axis: str, word: str, label: str = "") -> ProbeRun:
        """Run the command with an axis, or with a part of it, such as `members@Project`."""
        return self._run(word, axis, label, grease=(word,), announces_grease=False)

    def _run(self, name: str, axis: str = "", label: str = "", **options: Any) -> ProbeRun:
        """Run the program once, and say how the command ended. Raises `Signalled`."""
        limit = self._limit(name)
        ended = self._execute(name, limit, **options)
        if name == PLAIN:
            self.worlds = ended.worlds
            self._plain_attempts = ended.attempts
        if ended.signal:
            raise Signalled(ended.signal)
        run = self._describe(name, axis, limit, ended)
        sentence = run.sentence()
        if name == PLAIN and run.status == 0:
            seed = self.settings.options.grease_seed
            sentence += f"; seed {seed}, runs to come: {len(self.settings.probe)}"
        say(f"probe: {label or name}: {sentence}\n")
        return run

    def _describe(self, name: str, axis: str, limit: float | None, ended: Ended) -> ProbeRun:
        """Describe a run that has ended, without its worlds, which take memory."""
        coverage = ended.worlds.common.coverage
        plain = self.worlds.common.coverage
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
            varied=varied_by(axis, ended.worlds),
        )
        if name in FAILURES:
            is_broken = run.end != PASSES
            run.reactions = read_reactions(
                name, self._plain_attempts, ended.attempts, is_broken=is_broken
            )
        return run

    def _limit(self, name: str) -> float | None:
        """The seconds after which a run hangs; the plain one has as many as it takes."""
        if not self.plain:
            return None
        limit = max(HANG, HANG_FACTOR * self.plain.seconds)
        if name == STALLED:
            limit += STALL * len(self.worlds.common.contract.operation_ids)
        return limit


def varied_by(axis: str, worlds: stub.Worlds) -> Varied:
    if not axis:
        return Varied()
    return Varied(*worlds.common.coverage.describe_axis(axis), worlds.common.parts.varied_by(axis))


def show(run: ProbeRun) -> None:
    """Print the last lines of a run that breaks, or that failed before its first request."""
    has_failed = run.result == NOT_RUN and run.status
    if run.breaks or has_failed:
        lines = run.output.splitlines()
        for line in lines[-SHOWN_LINES:]:
            say(f"  | {make_printable(line)}\n")
