"""--probe: runs a command with what may vary, and with what may fail, and says what it shows."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any

from flask import Flask, Response

import stub
from stub.failures import FAILURES, RETRY_AFTER, STALLED, UNAVAILABLE, Failures
from web.problems import PROBLEM_JSON
from web.redaction import printable

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
BREAKS = ("breaks", "hangs")
NOT_RUN = "not run"
NO_CACHE = "`go test -count=1`, `gradle --rerun-tasks`, `nx --skip-nx-cache`, …"
MAX_WORLDS = 5  # that a finding names
PERFORMED = "though it had been performed: where names are not unique, two projects"
IMPLIED_BY = {"times-odd": "times", "ids-encoded": "ids"}  # whose cause may be that of the other
BETWEEN_RUNS = b"""{"type": "about:blank", "title": "Service Unavailable", "status": 503, \
"detail": "This request came between two runs of --probe: end what a run starts with the run.", \
"code": "between_runs"}"""


@dataclass
class Run:
    """A run that has ended, and its output, masked.

    Its result is `passes`, `breaks`, `hangs`, or `not run` if it sent no request where the plain
    one did; with an axis also `not met`, `disturbed`, `unstable` or `implied`. `parts` are those
    that the axis varied, in so many responses, `first` is the request of the first of these, and
    `worlds` are those of all. `uncalled` are the operations that only the plain run called. `alone`
    are the runs with one part. A run is disturbed if a process that a run left sent a request
    before or after it.
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
    worlds: Sequence[str] = ()
    uncalled: Sequence[str] = ()
    alone: dict[str, "Run"] = field(default_factory=dict)

    @property
    def breaks(self) -> bool:
        return self.result in BREAKS

    @property
    def broken_runs(self) -> list["Run"]:
        """The runs with one part that break; where there is none, this run if it breaks."""
        if not self.breaks:
            return []
        return [self.alone[part] for part in self.broken_parts] or [self]

    @property
    def broken_parts(self) -> list[str]:
        return [part for part, run in self.alone.items() if run.breaks]

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
        self.stub: stub.Stub = self.plain_app.extensions["stub"]
        self.app: Flask | None = self.plain_app
        self.plain: Run | None = None
        self.axes: list[Run] = []
        self.failures: list[tuple[Failures, Run]] = []
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
        status = 0
        try:
            self.plain = self._run("plain", self.plain_app)
            status = self.plain.status
            if not (status or self.command.signal):
                self.log.is_muted = True
                for name in self.settings.probe:
                    if name in stub.ADVICE:
                        self._try_axis(name)
                    else:
                        self._fail(name)
                self.is_complete = True
        except KeyboardInterrupt:
            say("probe: incomplete: a signal came\n")
        return 128 + self.command.signal if self.command.signal else status

    def findings(self) -> Iterator[stub.Finding]:
        """What the tests depend on, by part or axis; and what the client did after failures."""
        for axis in self.axes:
            for run in axis.broken_runs:
                yield self._dependency(run)
        for failures, run in self.failures:
            if not run.is_disturbed:
                yield from findings(failures)

    def _dependency(self, run: Run) -> stub.Finding:
        axis, _, part = run.name.partition("@")
        what, advice = axis, stub.ADVICE[axis]
        if part:
            what += f" of {part}"
            advice += f"; {self.stub.parts.origin(part)}"
        advice += text_of_worlds(run.worlds)
        return stub.Finding("depends", what, 1, advice, run.first)

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
        broken = [axis for axis in self.axes if axis.breaks]
        is_narrowed = any(axis.broken_parts for axis in self.axes)  # then some run has passed
        if len(broken) == len(self.axes) > 1 and not is_narrowed:
            yield "warning: all axes break the tests: can these run twice, and without input?\n"
        if self.failures:
            yield table([failures for failures, _ in self.failures])
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

    @property
    def not_run(self) -> list[str]:
        """The axes and the failures whose run sent no request, though the plain one did."""
        runs = [*self.axes, *(run for _, run in self.failures)]
        return [run.name for run in runs if run.result == NOT_RUN]

    def document(self) -> dict[str, Any]:
        return {
            "seed": self.settings.grease_seed,
            "is_complete": self.is_complete,
            "plain": self.plain.document() if self.plain else None,
            "axes": [
                {
                    "axis": axis.name,
                    "tier": 1 if axis.name in stub.TIER_1 else 2,
                    "result": axis.result,
                    "varied": axis.varied,
                    **axis.document(),
                    "output": axis.output[-MAX_OUTPUT:],
                    "parts": [
                        {"part": part, "result": run.result} for part, run in axis.alone.items()
                    ],
                }
                for axis in self.axes
            ],
            "failures": [
                {
                    "failure": run.name,
                    "result": run.result,
                    **run.document(),
                    "output": run.output[-MAX_OUTPUT:],
                    "operations": failures.reactions,
                }
                for failures, run in self.failures
            ],
        }

    def _fail(self, name: str) -> None:
        """Run the command once, and let each operation meet the failure."""
        failures = Failures(name, self.stub.options.failures)
        run = self._run(name, self.make_app(failures=failures))
        show(run)
        latest = time.monotonic() + STILL
        while time.monotonic() < latest:  # the server sees later that a client has closed
            if all(each.ended for each in failures.met.values()):
                break
            time.sleep(SETTLE)
        failures.settle(self.stub.operations)
        self.failures.append((failures, run))

    def _try_axis(self, name: str) -> None:
        """Run the command with an axis; repeat a break, and find the parts that break."""
        axis = self._run(name)
        show(axis)
        if axis.breaks:
            again = self._run(name, label=f"{name} again").result
            if again not in BREAKS:
                axis.result = again if again in ("disturbed", NOT_RUN) else "unstable"
        self.axes.append(axis)  # which has what is known for certain
        if axis.breaks:
            self._narrow(axis)
        if axis.result in ("disturbed", "implied", "unstable"):
            say(f"probe: {name}: {axis.result}: no finding\n")

    def _narrow(self, axis: Run) -> None:
        """Try each part alone that was varied; then all but those found, until these pass.

        A client that stops at its first break hides the parts that come later.
        """
        run = axis
        while run.breaks:
            before = axis.broken_parts
            for part in run.parts:
                if part not in axis.alone:
                    axis.alone[part] = self._run(f"{axis.name}@{part}")
            broken = axis.broken_parts
            if broken == before:
                break
            others = [
                f"{axis.name}@{part}"
                for part in self.stub.parts.by_axis[axis.name]
                if part not in broken
            ]
            run = self._run(f"{axis.name} but @{', @'.join(broken)}", self._varied(*others))
        for other in self.axes:
            if other.name == IMPLIED_BY.get(axis.name):
                mark_implied(axis, other)

    def _run(self, name: str, app: Flask | None = None, label: str = "") -> Run:
        """Run the command until it ends or hangs, and say how it ended.

        Without an app it is with the axis, or the part of one, that the name is. The plain run has
        the terminal, and as long as it takes. Raises `KeyboardInterrupt` after a signal.
        """
        app = app or self._varied(name)
        run = self._execute(name, app)
        if self.command.signal:
            raise KeyboardInterrupt
        app_stub: stub.Stub = app.extensions["stub"]
        coverage, plain_coverage = app_stub.coverage, self.stub.coverage
        run.first, run.worlds = coverage.varied(axis_of(name))
        called = coverage.called()
        run.uncalled = [each for each in plain_coverage.called() if each not in called]
        if self.plain and plain_coverage.is_called and not coverage.is_called:
            run.result = NOT_RUN
        sentence = f"{run.result} in {run.seconds:.1f} s"
        if run.status and run.result in ("breaks", NOT_RUN):
            sentence += f" (exit status {run.status})"
        if not self.plain and not run.status:
            sentence += self._plan()
        if axis_of(name) in stub.ADVICE and run.result != NOT_RUN:
            sentence += note_varied(run, app_stub)
        say(f"probe: {label or name}: {sentence}\n")
        return run

    def _execute(self, name: str, app: Flask) -> Run:
        """Run the command, end what it leaves in its group, and look for late requests."""
        limit = self._limit(name)
        was_disturbed = self.is_disturbed
        started = time.monotonic()
        self.app = app
        with TemporaryFile() as output:
            status = self.command.run(output if self.plain else None, limit, STUB_PROBE_RUN=name)
            seconds = time.monotonic() - started
            self.command.kill_group()
            self.app = None
            late = self.late
            time.sleep(SETTLE)
            self.is_disturbed = self.late > late
            output.seek(0)
            text = output.read().decode(errors="replace")
        text = self.log.redactor.text(text)
        result = "breaks" if status else "passes"
        if seconds > limit:
            result = "hangs"
        return Run(name, result, status, seconds, text, was_disturbed or self.is_disturbed)

    def _limit(self, name: str) -> float:
        """The seconds after which a run hangs."""
        if not self.plain:
            return 1e9
        limit = max(HANG_SECONDS, HANG_FACTOR * self.plain.seconds)
        if name == STALLED:
            limit += Failures.stall * len(self.stub.operations)
        return limit

    def _plan(self) -> str:
        """What comes after the plain run."""
        names = self.settings.probe
        axes = [name for name in names if name in stub.ADVICE]
        failures = [name for name in names if name in FAILURES]
        kinds = []
        if axes:
            kinds.append(counted(axes, "axis", "axes"))
        if failures:
            kinds.append(counted(failures, "failure", "failures"))
        runs = counted(names, "run", "runs")
        return f"; {', '.join(kinds)}, seed {self.settings.grease_seed}; {runs} to come"

    def _varied(self, *words: str) -> Flask:
        """The app of a run with axes, such as `members`, or parts, such as `members@Project`."""
        return self.make_app(grease=words, announces_grease=False)


def counted(names: Sequence[str], one: str, many: str) -> str:
    return f"1 {one}" if len(names) == 1 else f"{len(names)} {many}"


def mark_implied(axis: Run, other: Run) -> None:
    """Mark the parts of an axis that break along the other axis, too: that one has the cause."""
    implied = [part for part in axis.broken_parts if part in other.broken_parts]
    for part in implied:
        axis.alone[part].result = "implied"
    if implied and not axis.broken_parts:
        axis.result = "implied"


def axis_of(name: str) -> str:
    """The axis of a run that is named by it, by a part of it, or by all but some parts."""
    return re.split("[@ ]", name)[0]


def note_varied(run: Run, app_stub: stub.Stub) -> str:
    """Note what the axis of a run has varied; return what to say of it."""
    axis = axis_of(run.name)
    run.varied = app_stub.coverage.document()["grease"][axis]
    run.parts = app_stub.parts.varied_by(axis)
    if not run.parts:
        run.result = "not met"
        return ", not met"
    if run.status and run.is_disturbed:
        run.result = "disturbed"
    return f", varied responses: {run.varied}"


def show(run: Run) -> None:
    """Print the last lines of a run that breaks, or that failed before its first request."""
    if run.breaks or (run.result == NOT_RUN and run.status):
        shown = run.output.splitlines()[-SHOWN_LINES:]
        say("".join(f"  | {printable(line)}\n" for line in shown))


def text_of_worlds(names: Sequence[str]) -> str:
    """The worlds of the requests that an axis varied, where there are several."""
    if len(names) < 2:
        return ""
    text = ", ".join(name or "the main one" for name in names[:MAX_WORLDS])
    more = len(names) - MAX_WORLDS
    if more > 0:
        text += f" and {more} more"
    return f"; varied in the worlds {text}"


def findings(failures: Failures) -> Iterator[stub.Finding]:
    """What the client did wrong after the failures of a run."""
    for name, attempt in failures.met.items():
        what = f"{name} after {failures.name}"
        again_after = attempt.reaction["again_after"]
        if again_after:
            seconds = again_after[0]
            again = f"sent again after {seconds:.2f} s"
            if failures.name != UNAVAILABLE and attempt.method == "POST":
                advice = f"{again}, {PERFORMED} (RFC 9110 §9.2.2)"
                yield stub.Finding("repeats", what, 1, advice, attempt.first)
            if failures.name == UNAVAILABLE and seconds < RETRY_AFTER:
                advice = f"{again}; Retry-After was {RETRY_AFTER} s (RFC 9110 §10.2.3)"
                yield stub.Finding("hurries", what, 1, advice, attempt.first)
        if attempt.reaction["waited"]:
            advice = f"no timeout within {failures.stall:g} s"
            yield stub.Finding("waits", what, 1, advice, attempt.first)


def table(runs: Sequence[Failures]) -> str:
    """A row for each operation, and a column for each failure."""
    lines = ["", *runs[0].reactions]
    for run in runs:
        width = max(map(len, lines)) + 2
        column = [run.name, *(text_of(run, name) for name in run.reactions)]
        lines = [line.ljust(width) + text for line, text in zip(lines, column, strict=True)]
    return "".join(f"  {line}\n" for line in lines)


def text_of(run: Failures, operation: str) -> str:
    """What the client did after a failure of an operation."""
    reaction = run.reactions[operation]
    words = []
    if not reaction["met"]:
        words.append("not met")
    if reaction["waited"]:
        words.append(f"waited {run.stall:g} s")
    if reaction["closed_after"] is not None:
        words.append(f"closed after {reaction['closed_after']:.1f} s")
    again = reaction["again_after"]
    if again:
        times = f" ({len(again)} times)" if len(again) > 1 else ""
        words.append(f"again after {again[0]:.2f} s{times}")
    return ", ".join(words) or "gave up"
