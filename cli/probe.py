"""--probe: runs a command with what may vary, and with what may fail, and says what it shows."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

from flask import Flask, Response

import stub
from stub.failures import FAILURES, RETRY_AFTER, STALLED, UNAVAILABLE, Attempt, Failures
from stub.redaction import printable
from web.problems import PROBLEM_JSON

from .command import Command
from .log import Log
from .options import Settings
from .stderr import say

# A varied run may take this long, or HANG_FACTOR times as long as the plain one.
HANG_SECONDS = 30.0
HANG_FACTOR = 5
STILL = 5.0  # seconds in which the server sees that the clients have closed
SETTLE = 0.1  # seconds in which the last requests of an ended run arrive
MAX_OUTPUT = 16 * 1024  # characters of a run's output in the report
SHOWN_LINES = 20  # of it on the terminal
NOT_RUN = "not run"
NO_CACHE = "`go test -count=1`, `gradle --rerun-tasks`, `nx --skip-nx-cache`, …"
MAX_WORLDS = 5  # that a finding names
PERFORMED = "though it had been performed: where names are not unique, two projects"
IMPLIED_BY = {"times-odd": "times", "ids-encoded": "ids"}  # whose cause may be that of the other
BETWEEN_RUNS = b"""{"type": "about:blank", "title": "Service Unavailable", "status": 503, \
"detail": "This request came between two runs of --probe: end what a run starts with the run.", \
"code": "between_runs"}"""


@dataclass
class ProbeRun:
    """A run that has ended, and its output, masked.

    Its result is `passes`, `breaks`, `hangs`, or `not run` if it sent no request where the plain
    one did; with an axis also `not met`, `disturbed`, `unstable` or `implied`. `parts` are those
    that the axis varied, in so many responses, `first` is the request of the first of these, and
    `worlds` are those of all. `uncalled` are the operations that only the plain run called. `alone`
    are the runs with one part, and `failures` those that the operations met. A run is disturbed if
    a process that a run left sent a request before or after it.
    """

    name: str
    result: str
    status: int
    seconds: float
    output: str
    is_disturbed: bool
    varied: int = 0
    parts: Sequence[str] = ()
    first: dict[str, Any] | None = None
    world_names: Sequence[str] = ()
    uncalled: Sequence[str] = ()
    alone: dict[str, "ProbeRun"] = field(default_factory=dict)
    failures: Failures = field(default_factory=Failures)

    @property
    def axis(self) -> str:
        """The axis of a run that is named by it, by a part of it, or by all but some parts."""
        word = re.split("[@ ]", self.name)[0]
        return word if word in stub.ADVICE else ""

    @property
    def breaks(self) -> bool:
        return self.result in ("breaks", "hangs")

    @property
    def broken_parts(self) -> list[str]:
        return [part for part, run in self.alone.items() if run.breaks]

    @property
    def breaks_whole(self) -> bool:
        """Whether it breaks, and no part of it alone does."""
        return self.breaks and not self.broken_parts

    def sentence(self) -> str:
        """How it ended, and what its axis varied."""
        sentence = f"{self.result} in {self.seconds:.1f} s"
        if self.status and self.result in ("breaks", NOT_RUN):
            sentence += f" (exit status {self.status})"
        if self.axis and self.result != NOT_RUN:
            sentence += f", varied responses: {self.varied}" if self.parts else ", not met"
        return sentence

    def document(self) -> dict[str, Any]:
        """What the report has of each run."""
        return {"exit_status": self.status, "seconds": round(self.seconds, 3)}


class Probe:
    """Runs the command plain, then with each axis of grease, then with each failure.

    `make_app` makes the app of a run with other options of the stub. `app` is that of the current
    run, or None between two runs.
    """

    def __init__(
        self, command: Command, settings: Settings, log: Log, make_app: Callable[..., Flask]
    ) -> None:
        self.command = command
        self.settings = settings
        self.log = log
        self.make_app = make_app
        self.plain_app = make_app(failures=Failures())
        self.common: stub.Common = self.plain_app.extensions["worlds"].common
        self.app: Flask | None = self.plain_app
        self.plain: ProbeRun | None = None
        self.axes: list[ProbeRun] = []
        self.failures: list[ProbeRun] = []
        self.is_complete = False
        self.late = 0  # requests between two runs
        self.is_disturbed = False  # whether such a request came after the latest run

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The app of the current run; between two runs each request is rejected."""
        app: Any = self.app
        if app is None:
            self.late += 1
            app = Response(BETWEEN_RUNS, 503, PROBLEM_JSON)
        return app(environ, start_response)

    def run(self) -> int:
        """Make all runs. Returns the exit status: that of a signal, or of the plain run."""
        try:
            self.plain = self._run("plain", self.plain_app)
            if self.plain.status == 0:
                self.log.is_muted = True
                for name in self.settings.probe:
                    if name in stub.ADVICE:
                        self._try_axis(name)
                    else:
                        self._fail(name)
                self.is_complete = True
        except KeyboardInterrupt:
            say("probe: incomplete: a signal came\n")
        if self.command.signal:
            return 128 + self.command.signal
        assert self.plain
        return self.plain.status

    def _fail(self, name: str) -> None:
        """Run the command once, and let each operation meet the failure."""
        failures = Failures(name, self.common.options.failures)
        run = self._run(name, self.make_app(failures=failures))
        run.failures = failures
        show(run)
        wait_for_end(failures)
        failures.settle(self.common.contract.operation_ids, is_broken=run.breaks)
        self.failures.append(run)

    def _try_axis(self, name: str) -> None:
        """Run the command with an axis; repeat a break, and find the parts that break."""
        axis = self._vary(name, [name])
        show(axis)
        if axis.breaks:
            again = self._vary(name, [name], f"{name} again")
            if again.result in ("disturbed", NOT_RUN):
                axis.result = again.result
            elif not again.breaks:
                axis.result = "unstable"
        self.axes.append(axis)  # which has what is known for certain
        if axis.breaks:
            self._narrow(axis)
        if axis.result in ("disturbed", "implied", "unstable"):
            say(f"probe: {name}: {axis.result}: no finding\n")

    def _narrow(self, axis: ProbeRun) -> None:
        """Try each part alone that was varied; then all but those found, until these pass.

        A client that stops at its first break hides the parts that come later.
        """
        name = axis.name
        parts = self.common.parts.by_axis[name]
        run = axis
        while run.breaks and self._try_parts(axis, run.parts):
            broken = axis.broken_parts
            others = [f"{name}@{part}" for part in parts if part not in broken]
            run = self._vary(f"{name} but @{', @'.join(broken)}", others)
        for other in self.axes:
            if other.name == IMPLIED_BY.get(name):
                mark_implied(axis, other)

    def _try_parts(self, axis: ProbeRun, parts: Sequence[str]) -> bool:
        """Run each part alone that was not yet; return whether one of them breaks."""
        runs = []
        for part in parts:
            if part not in axis.alone:
                name = f"{axis.name}@{part}"
                axis.alone[part] = self._vary(name, [name])
                runs.append(axis.alone[part])
        return any(run.breaks for run in runs)

    def _vary(self, name: str, words: Sequence[str], label: str = "") -> ProbeRun:
        """Run the command with axes, such as `members`, or parts, such as `members@Project`."""
        app = self.make_app(grease=words, announces_grease=False)
        run = self._run(name, app, label)
        if run.result == NOT_RUN:
            return run
        if not run.parts:
            run.result = "not met"
        elif run.status and run.is_disturbed:
            run.result = "disturbed"
        return run

    def _run(self, name: str, app: Flask, label: str = "") -> ProbeRun:
        """Run the command until it ends or hangs, and say how it ended.

        Raises `KeyboardInterrupt` after a signal.
        """
        run = self._execute(name, app)
        if self.command.signal:
            raise KeyboardInterrupt
        self._observe(run, app.extensions["worlds"].common)
        sentence = run.sentence()
        if not self.plain and run.status == 0:
            sentence += plan(self.settings)
        say(f"probe: {label or name}: {sentence}\n")
        return run

    def _execute(self, name: str, app: Flask) -> ProbeRun:
        """Run the command, end what it leaves in its group, and look for late requests."""
        limit = self._limit(name)
        was_disturbed = self.is_disturbed
        started = time.monotonic()
        self.app = app
        # The plain run has the terminal, and needs no file.
        with TemporaryFile() if self.plain else nullcontext() as file:
            status = self.command.run(file, limit, STUB_PROBE_RUN=name)
            seconds = time.monotonic() - started
            self.command.kill_group()
            self.app = None
            late = self.late
            time.sleep(SETTLE)
            self.is_disturbed = self.late > late
            written = content(file) if file else b""
        text = self.log.redactor.text(written.decode(errors="replace"))
        result = "breaks" if status else "passes"
        if limit is not None and seconds > limit:
            result = "hangs"
        is_disturbed = was_disturbed or self.is_disturbed
        return ProbeRun(name, result, status, seconds, text, is_disturbed)

    def _limit(self, name: str) -> float | None:
        """The seconds after which a run hangs; the plain one has as many as it takes."""
        if not self.plain:
            return None
        limit = max(HANG_SECONDS, HANG_FACTOR * self.plain.seconds)
        if name == STALLED:
            limit += Failures.stall * len(self.common.contract.operation_ids)
        return limit

    def _observe(self, run: ProbeRun, common: stub.Common) -> None:
        """Note what a run called, and what its axis varied."""
        plain = self.common.coverage
        coverage = common.coverage
        if plain.is_called and not coverage.is_called:
            run.result = NOT_RUN
        called = coverage.called()
        run.uncalled = [each for each in plain.called() if each not in called]
        axis = run.axis
        if axis:
            counts = coverage.document()["grease"]
            run.varied = counts[axis]
            run.first, run.world_names = coverage.varied(axis)
            run.parts = common.parts.varied_by(axis)

    def findings(self) -> Iterator[stub.Finding]:
        """What the tests depend on, by part or axis; and what the client did after failures."""
        for axis in self.axes:
            broken = axis.broken_parts
            for part in broken:
                origin = self.common.parts.origin(part)
                what = f"{axis.name} of {part}"
                yield dependency(axis.alone[part], what, f"; {origin}")
            if axis.breaks_whole:
                yield dependency(axis, axis.name)
        for run in self.failures:
            if not run.is_disturbed:
                yield from findings(run.failures)

    @property
    def not_run(self) -> list[str]:
        """The axes and the failures whose run sent no request; `plain` if not even that did."""
        if self.is_complete and not self.common.coverage.is_called:
            return ["plain"]
        runs = self.axes + self.failures
        return [run.name for run in runs if run.result == NOT_RUN]

    def summary(self) -> Iterator[str]:
        """What makes the results doubtful, and the table of the failures."""
        if self.late:
            yield (
                "warning: a run left a process running, whose requests between two runs got 503: "
                "what is disturbed is no finding\n"
            )
        if self.not_run:
            yield (
                f"warning: no request in the run of {', '.join(self.not_run)}: does the command "
                f"cache its results? Turn the cache off: {NO_CACHE}\n"
            )
        for axis in self.axes:
            if axis.result == "passes" and axis.uncalled:
                yield (
                    f"warning: {', '.join(axis.uncalled)} was called in the plain run and not in "
                    f"that of {axis.name}: does the command cache a part of its results?\n"
                )
        # Where a part breaks, a run without it has passed.
        if len(self.axes) > 1 and all(axis.breaks_whole for axis in self.axes):
            yield "warning: all axes break the tests: can these run twice, and without input?\n"
        if self.failures:
            yield table([run.failures for run in self.failures])
        if self._is_clear():
            seed = self.settings.grease_seed
            yield f"no dependency was found with seed {seed}; others may find more\n"

    def _is_clear(self) -> bool:
        """Whether all runs of axes were made whole and passed, at least one with variations."""
        if not self.is_complete or self.not_run:
            return False
        if any(axis.uncalled or axis.breaks for axis in self.axes):
            return False
        return any(axis.result != "not met" for axis in self.axes)

    def document(self) -> dict[str, Any]:
        """What the report has of all runs."""
        return {
            "seed": self.settings.grease_seed,
            "is_complete": self.is_complete,
            "plain": self.plain.document() if self.plain else None,
            "axes": [document_of_axis(axis) for axis in self.axes],
            "failures": [document_of_failure(run) for run in self.failures],
        }


def content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def plan(settings: Settings) -> str:
    """The runs that follow the plain one."""
    names = settings.probe
    axes = [name for name in names if name in stub.ADVICE]
    failures = [name for name in names if name in FAILURES]
    kinds = []
    if axes:
        kinds.append(counted(axes, "axis", "axes"))
    if failures:
        kinds.append(counted(failures, "failure", "failures"))
    runs = counted(names, "run", "runs")
    return f"; {', '.join(kinds)}, seed {settings.grease_seed}; {runs} to come"


def counted(names: Sequence[str], one: str, many: str) -> str:
    return f"1 {one}" if len(names) == 1 else f"{len(names)} {many}"


def document_of_axis(axis: ProbeRun) -> dict[str, Any]:
    parts = [{"part": part, "result": run.result} for part, run in axis.alone.items()]
    return {
        "axis": axis.name,
        "tier": 1 if axis.name in stub.TIER_1 else 2,
        "result": axis.result,
        "varied": axis.varied,
        **axis.document(),
        "output": axis.output[-MAX_OUTPUT:],
        "parts": parts,
    }


def document_of_failure(run: ProbeRun) -> dict[str, Any]:
    return {
        "failure": run.name,
        "result": run.result,
        **run.document(),
        "output": run.output[-MAX_OUTPUT:],
        "operations": run.failures.reactions,
    }


def mark_implied(axis: ProbeRun, other: ProbeRun) -> None:
    """Mark the parts of an axis that break along the other axis, too: that one has the cause."""
    implied = [part for part in axis.broken_parts if part in other.broken_parts]
    for part in implied:
        axis.alone[part].result = "implied"
    if implied and not axis.broken_parts:
        axis.result = "implied"


def show(run: ProbeRun) -> None:
    """Print the last lines of a run that breaks, or that failed before its first request."""
    has_failed = run.result == NOT_RUN and run.status
    if run.breaks or has_failed:
        lines = run.output.splitlines()
        for line in lines[-SHOWN_LINES:]:
            say(f"  | {printable(line)}\n")


def dependency(run: ProbeRun, what: str, origin: str = "") -> stub.Finding:
    """A finding of the axis of a run, which names the worlds of its requests if several."""
    advice = stub.ADVICE[run.axis] + origin
    worlds = [name or "the main one" for name in run.world_names]
    if len(worlds) > 1:
        named = ", ".join(worlds[:MAX_WORLDS])
        advice += f"; varied in the worlds {named}"
    if len(worlds) > MAX_WORLDS:
        advice += f" and {len(worlds) - MAX_WORLDS} more"
    return stub.Finding("depends", what, 1, advice, run.first)


def wait_for_end(failures: Failures) -> None:
    """Wait for the requests that failed: the server sees late that a client has closed."""
    latest = time.monotonic() + STILL
    while time.monotonic() < latest:
        if all(attempt.ended for attempt in failures.met.values()):
            return
        time.sleep(SETTLE)


def findings(failures: Failures) -> Iterator[stub.Finding]:
    """What the client did wrong after the failures of a run."""
    for operation, attempt in failures.met.items():
        what = f"{operation} after {failures.name}"
        for kind, advice in mistakes(failures, attempt):
            yield stub.Finding(kind, what, 1, advice, attempt.first)


def mistakes(failures: Failures, attempt: Attempt) -> Iterator[tuple[str, str]]:
    """The kinds of what the client did wrong after its request had failed, each with the reason."""
    reaction = attempt.reaction
    if reaction["again_after"]:
        seconds = reaction["again_after"][0]
        again = f"sent again after {seconds:.2f} s"
        if failures.name != UNAVAILABLE and attempt.method == "POST":
            yield "repeats", f"{again}, {PERFORMED} (RFC 9110 §9.2.2)"
        if failures.name == UNAVAILABLE and seconds < RETRY_AFTER:
            yield "hurries", f"{again}; Retry-After was {RETRY_AFTER} s (RFC 9110 §10.2.3)"
    if reaction["waited"]:
        yield "waits", f"no timeout within {failures.stall:g} s"


def table(runs: Sequence[Failures]) -> str:
    """A row for each operation, and a column for each failure."""
    lines = ["", *runs[0].reactions]
    for run in runs:
        reactions = run.reactions.values()
        column = [run.name, *[text_of(each, run.stall) for each in reactions]]
        width = max(map(len, lines)) + 2
        rows = zip(lines, column, strict=True)
        lines = [line.ljust(width) + text for line, text in rows]
    return "".join(f"  {line}\n" for line in lines)


def text_of(reaction: dict[str, Any], stall: float) -> str:
    """What the client did after a failure, which stalled for so many seconds."""
    words = []
    if not reaction["met"]:
        words.append("not met")
    if reaction["waited"]:
        words.append(f"waited {stall:g} s")
    closed_after = reaction["closed_after"]
    if closed_after is not None:
        words.append(f"closed after {closed_after:.1f} s")
    again_after = reaction["again_after"]
    if again_after:
        words.append(f"again after {again_after[0]:.2f} s")
    if len(again_after) > 1:
        words[-1] += f" ({len(again_after)} times)"
    return ", ".join(words) or "gave up"
