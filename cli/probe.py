"""--probe: runs a command with what may vary, and with what may fail; see `probe_report.py`."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from flask import Flask

import stub
from stub.failures import FAILURES, STALLED, Failures
from stub.redaction import printable

from .apps import NewApp, Served, worlds_of
from .command import Command
from .log import Log
from .options import Settings
from .stderr import say

HANG = 30.0  # seconds: the least after which a varied run hangs
HANG_FACTOR = 5  # of the plain run's seconds
PAUSE = 0.1  # seconds in which the last requests of an ended run arrive
STILL = 5.0  # seconds in which the server sees that the clients have closed
SHOWN_LINES = 20  # of a run's output on the terminal

PASSES, BREAKS, HANGS = "passes", "breaks", "hangs"
NOT_RUN, NOT_MET, NO_FINDING = "not run", "not met", "no finding"
# The reasons for which there is no finding.
LATE = "a process that a run left sent requests between two runs"
ONCE = "it passed when it was repeated"


class Result(NamedTuple):
    """What came of a run, and the reason why it is no finding."""

    word: str
    reason: str | None = None


class Varied(NamedTuple):
    """What an axis varied in a run: the first request, the worlds of all, and the parts."""

    responses: int = 0
    first: dict[str, Any] | None = None
    worlds: Sequence[str] = ()
    parts: Sequence[str] = ()


@dataclass(eq=False)
class Run:
    """A run that has ended, and its output, masked.

    `uncalled` are the operations that only the plain run called. What follows a run of an axis that
    breaks: `again` is its repetition, and `alone` are the runs with one part each.
    """

    name: str
    axis: str  # empty for the plain run and for those of failures
    status: int
    seconds: float
    output: str
    has_hung: bool
    met_late: bool  # whether requests came late, right before or after it
    is_called: bool  # whether it sent a request, or the plain run sent none
    uncalled: Sequence[str]
    varied: Varied
    failures: Failures = field(default_factory=Failures)  # that its operations met
    again: "Run | None" = None
    alone: dict[str, "Run"] = field(default_factory=dict)

    @property
    def end(self) -> str:
        """How it ended, whatever that shows."""
        if not self.is_called:
            return NOT_RUN
        if self.has_hung:
            return HANGS
        return BREAKS if self.status else PASSES

    @property
    def result(self) -> Result:
        """What came of it, which is decided here alone."""
        if self.end == NOT_RUN:
            return Result(NOT_RUN)
        if self.axis and not self.varied.parts:
            return Result(NOT_MET)
        if self.met_late and (self.failures.name or self.end != PASSES):
            return Result(NO_FINDING, LATE)
        if self.end == PASSES:
            return Result(PASSES)
        if self.again and not self.again.breaks:
            found = self.again.result
            is_known = found.word in (NOT_RUN, NO_FINDING)
            return found if is_known else Result(NO_FINDING, ONCE)
        return Result(self.end)

    @property
    def breaks(self) -> bool:
        return self.result.word in (BREAKS, HANGS)

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
    """A signal came, which ends all runs."""


class Probe:
    """Runs the command plain, then with each axis of grease, then with each failure.

    `new_app` makes the app of a run with other options of the stub. `worlds` are those of the plain
    run. `clock` returns seconds, and `sleep` waits for some.
    """

    def __init__(
        self,
        command: Command,
        settings: Settings,
        log: Log,
        new_app: NewApp,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._plain_failures = Failures()
        self._plain_app = new_app(failures=self._plain_failures)
        self.served = Served(self._plain_app)
        self.settings = settings
        self.worlds = worlds_of(self._plain_app)
        self.plain: Run | None = None
        self.axes: list[Run] = []
        self.failures: list[Run] = []
        self.is_complete = False
        self._command = command
        self._log = log
        self._new_app = new_app
        self._clock = clock
        self._sleep = sleep
        self._late = 0  # requests that had come between two runs when the latest run ended

    def run(self) -> int:
        """Make all runs. Returns the exit status: that of a signal, or of the plain run."""
        try:
            self.plain = self._run("plain", self._plain_app)
            if self.plain.status == 0:
                self._log.is_muted = True
                for name in self.settings.probe:
                    if name in FAILURES:
                        self._try_failure(name)
                    else:
                        self._try_axis(name)
                self.is_complete = True
        except Signalled:
            say("probe: incomplete: a signal came\n")
        if self._command.signal:
            return 128 + self._command.signal
        assert self.plain
        return self.plain.status

    @property
    def not_run(self) -> list[str]:
        """The axes and the failures whose run sent no request; `plain` if not even that did."""
        if self.is_complete and not self.worlds.coverage().is_called:
            return ["plain"]
        return [run.name for run in self.axes + self.failures if run.result.word == NOT_RUN]

    def _try_failure(self, name: str) -> None:
        """Run the command once, and let each operation meet the failure."""
        failures = Failures(name, self._plain_failures)
        run = self._run(name, self._new_app(failures=failures))
        run.failures = failures
        show(run)
        self._wait_for_end(failures)
        operations = self.worlds.common.contract.operation_ids
        failures.settle(operations, is_broken=run.end != PASSES)
        self.failures.append(run)
        show_reason(run)

    def _wait_for_end(self, failures: Failures) -> None:
        """Wait for the requests that failed: the server sees late that a client has closed."""
        latest = self._clock() + STILL
        while self._clock() < latest:
            if all(attempt.ended for attempt in failures.met.values()):
                return
            self._sleep(PAUSE)

    def _try_axis(self, name: str) -> None:
        """Run the command with an axis; repeat a break, and find the parts that break."""
        axis = self._vary(name, name, [name])
        show(axis)
        if axis.breaks:
            axis.again = self._vary(name, name, [name], f"{name} again")
        self.axes.append(axis)  # which has what is known for certain
        if axis.breaks:
            self._narrow(axis)
        show_reason(axis)

    def _narrow(self, axis: Run) -> None:
        """Try each part alone that was varied; then all but those found, until these pass.

        A client that stops at its first break hides the parts that come later.
        """
        name = axis.name
        run = axis
        while run.breaks and self._try_parts(axis, run.varied.parts):
            broken = axis.broken_parts
            others = [part for part in self.worlds.common.parts.by_axis[name] if part not in broken]
            words = [f"{name}@{part}" for part in others]
            run = self._vary(name, f"{name} but @{', @'.join(broken)}", words)

    def _try_parts(self, axis: Run, parts: Sequence[str]) -> bool:
        """Run each part alone that was not yet; return whether one of them breaks."""
        found = False
        for part in parts:
            if part not in axis.alone:
                word = f"{axis.name}@{part}"
                axis.alone[part] = self._vary(axis.name, word, [word])
                found = found or axis.alone[part].breaks
        return found

    def _vary(self, axis: str, name: str, words: Sequence[str], label: str = "") -> Run:
        """Run the command with an axis, or with parts of it, such as `members@Project`."""
        app = self._new_app(grease=words, announces_grease=False)
        return self._run(name, app, axis, label)

    def _run(self, name: str, app: Flask, axis: str = "", label: str = "") -> Run:
        """Run the command until it ends or hangs, and say how it ended. Raises `Signalled`."""
        run = self._execute(name, app, axis)
        if self._command.signal:
            raise Signalled
        sentence = run.sentence()
        if not self.plain and run.status == 0:
            seed = self.settings.options.grease_seed
            sentence += f"; seed {seed}, runs to come: {len(self.settings.probe)}"
        say(f"probe: {label or name}: {sentence}\n")
        return run

    def _execute(self, name: str, app: Flask, axis: str) -> Run:
        """Run the command, end what it leaves in its group, and look for late requests."""
        limit = self._limit(name)
        met_late = self.served.late > self._late
        started = self._clock()
        self.served.app = app
        # The plain run has the terminal, and needs no file.
        with TemporaryFile() if self.plain else nullcontext() as file:
            status = self._command.run(file, limit, STUB_PROBE_RUN=name)
            seconds = self._clock() - started
            self._command.kill_group()
            self.served.app = None
            self._late = self.served.late
            self._sleep(PAUSE)
            written = b""
            if file:
                file.seek(0)
                written = file.read()
        worlds = worlds_of(app)
        coverage = worlds.coverage()
        plain = self.worlds.coverage()
        called = coverage.called()
        return Run(
            name=name,
            axis=axis,
            status=status,
            seconds=seconds,
            output=self._log.redactor.text(written.decode(errors="replace")),
            has_hung=limit is not None and seconds > limit,
            met_late=met_late or self.served.late > self._late,
            is_called=coverage.is_called or not plain.is_called,
            uncalled=[each for each in plain.called() if each not in called],
            varied=varied_by(axis, worlds),
        )

    def _limit(self, name: str) -> float | None:
        """The seconds after which a run hangs; the plain one has as many as it takes."""
        if not self.plain:
            return None
        limit = max(HANG, HANG_FACTOR * self.plain.seconds)
        if name == STALLED:
            limit += Failures.stall * len(self.worlds.common.contract.operation_ids)
        return limit


def varied_by(axis: str, worlds: stub.Worlds) -> Varied:
    if not axis:
        return Varied()
    return Varied(*worlds.coverage().varied(axis), worlds.common.parts.varied_by(axis))


# What a run says


def show(run: Run) -> None:
    """Print the last lines of a run that breaks, or that failed before its first request."""
    has_failed = run.result.word == NOT_RUN and run.status
    if run.breaks or has_failed:
        lines = run.output.splitlines()
        for line in lines[-SHOWN_LINES:]:
            say(f"  | {printable(line)}\n")


def show_reason(run: Run) -> None:
    word, reason = run.result
    if reason:
        say(f"probe: {run.name}: {word}: {reason}\n")
