"""--probe: runs a command with what may vary, and with what may fail, and says what it shows."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from flask import Flask

import stub
from stub.failures import STALLED, Failures
from web.problems import PROBLEM_JSON
from web.redaction import Redactor, printable

from .command import Command, shell_status
from .failures import document, findings, table
from .log import Log
from .options import Settings
from .stderr import say

# A varied run may take this long, or HANG_FACTOR times as long as the plain one.
HANG_SECONDS = 30.0
HANG_FACTOR = 5
SETTLE = 0.05  # seconds in which the last requests of an ended run arrive
WATCH = 2.0  # seconds in which a process that a run left may end, or send a request
MAX_TAIL = 64 * 1024  # bytes of its output that are kept, and searched for tokens
MAX_OUTPUT = 16 * 1024  # characters of it in the report
SHOWN_LINES = 20  # of it on the terminal
BREAKS = ("breaks", "hangs")
IMPLIED_BY = {"times-odd": "times", "ids-encoded": "ids"}  # whose cause may be that of the other
# Why an axis may have varied nothing; for the others, no response of the run had such a part.
NOT_MET = {
    "ids": "no record was created",
    "ids-encoded": "no record was created",
    "list-order": "no list had two projects",
    "status-values": "no deployment was running: see --pace",
    "success-code": "no project was created",
}
BETWEEN_RUNS = b"""{"type": "about:blank", "title": "Service Unavailable", "status": 503, \
"detail": "This request came between two runs of --probe: end what a run starts with the run.", \
"code": "between_runs"}"""
PROCESSES = Path("/proc")


class Interrupted(Exception):
    """A signal has ended the probe."""


class Run(NamedTuple):
    """A run that has ended, and the end of its output, masked. It is disturbed if a process that a
    run left sent requests around it.
    """

    end: str
    status: int
    seconds: float
    output: str
    is_disturbed: bool
    varied: int = 0  # responses
    parts: Sequence[str] = ()  # of the contract that were varied

    @property
    def result(self) -> str:
        """What a varied run says of its axis."""
        if not self.parts:
            return "not met"
        return "disturbed" if self.status and self.is_disturbed else self.end

    def text(self) -> str:
        status = f" (exit status {self.status})" if self.end == "breaks" else ""
        return f"{self.end} in {self.seconds:.1f} s{status}"


@dataclass
class Axis:
    """What is known of an axis; `run` is its first one, and `parts` has the result of each."""

    name: str
    result: str
    run: Run
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def broken_parts(self) -> list[str]:
        return [part for part, result in self.parts.items() if result in BREAKS]

    def document(self) -> dict[str, Any]:
        return {
            "axis": self.name,
            "tier": 1 if self.name in stub.TIER_1 else 2,
            "result": self.result,
            "varied": self.run.varied,
            "seconds": round(self.run.seconds, 3),
            "exit_status": self.run.status,
            "output": self.run.output[-MAX_OUTPUT:],
            "parts": [{"part": part, "result": result} for part, result in self.parts.items()],
        }


@dataclass
class Probe:
    """Runs the command plain, then with each axis of grease, then with each failure.

    `make_app` makes the app of a run from words such as `members` and `members@Project`, or from
    its failures. `app` is that of the current run, or None between two runs.
    """

    command: Command
    settings: Settings
    log: Log
    plain_app: Flask
    make_app: Callable[..., Flask]
    plain: Failures
    app: Flask | None = None
    axes: list[Axis] = field(default_factory=list)
    failures: list[tuple[Failures, Run]] = field(default_factory=list)
    is_complete: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    plain_seconds: float = 0.0
    late: int = 0  # requests between two runs
    is_disturbed: bool = False  # whether what a run left sends requests
    left: dict[int, str] = field(default_factory=dict)  # processes, and the runs that left them
    silent: set[int] = field(default_factory=set)  # those of them that send nothing

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The app of the current run; between two runs each request is rejected."""
        if app := self.app:
            return app(environ, start_response)
        self.late += 1
        start_response("503 Service Unavailable", [*PROBLEM_JSON.items()])
        return [BETWEEN_RUNS]

    @property
    def status(self) -> int:
        """The exit status: that of a signal, or of the plain run; 1 if a run could not be made."""
        if self.command.signal:
            return 128 + self.command.signal
        return self.command.status or int(not self.is_complete)

    def start(self, variables: Mapping[str, str], then: Callable[[], None]) -> None:
        """Start the plain run; when it has passed, make the others. Then call `then`."""
        self.app, self.variables = self.plain_app, variables
        started = time.monotonic()

        def go_on() -> None:
            self.plain_seconds = time.monotonic() - started
            try:
                self._end_run()
                if not self.command.status:
                    self._run_all()
            except Interrupted:
                pass
            except OSError as error:
                say(f"error: probe: {error.strerror}\n")
            finally:
                then()

        self.command.start_beside({**variables, "STUB_PROBE_RUN": "plain"}, go_on)

    def findings(self) -> list[stub.Finding]:
        """What the tests depend on, by part or axis; and what the client did after failures."""
        depends = [
            stub.Finding("depends", f"{axis.name} of {part}" if part else axis.name, 1, advice)
            for axis in self.axes
            if axis.result in BREAKS
            for part in axis.broken_parts or [""]
            for advice in [self._advice(axis.name, part)]
        ]
        clear = [failures for failures, run in self.failures if not run.is_disturbed]
        return [*depends, *chain.from_iterable(map(findings, clear))]

    def _advice(self, axis: str, part: str) -> str:
        advice = stub.ADVICE[axis]
        parts = self.plain_app.extensions["stub"].parts
        rules = [rule.rule for rule in self.plain_app.url_map.iter_rules()]
        if axis == "ids-encoded" and part and not any(f"/v1/{part}/<" in rule for rule in rules):
            advice = stub.ADVICE["ids"]  # no path has the id of this kind of record
        origin = f"; {parts.origin(part)}" if part else ""
        return f"{advice}{origin}"

    def summary(self) -> Iterator[str]:
        """Whether all was probed, and what makes the results doubtful."""
        status = self.command.status
        if self.command.signal:
            yield "probe: incomplete: a signal came before all runs were made\n"
        elif status:
            yield f"probe: plain: breaks (exit status {status}): nothing was probed\n"
        elif not self.is_complete:
            yield "probe: incomplete: not all runs could be made\n"
        for axis in self.axes:
            if axis.result == "unstable":
                yield f"probe: {axis.name}: unstable: broke, and passed when repeated\n"
            elif axis.result == "not met" and axis.run.status:
                yield f"warning: {axis.name}: broke before a response was varied\n"
            elif axis.result == "disturbed":
                yield f"warning: {axis.name}: disturbed by what a run left: no finding\n"
        for failures, run in self.failures:
            if run.is_disturbed:
                yield f"warning: {failures.name}: disturbed by what a run left: no finding\n"
        if self.late or self.left:
            left = ", ".join(dict.fromkeys(self.left.values())) or "a run"
            late = f"{amount(self.late, 'request')} between two runs got 503"
            yield f"warning: {left} left a process running: {late}\n"
        if len(self.axes) > 1 and all(axis.run.status for axis in self.axes):
            yield "warning: all axes break the tests: can these run twice, and without input?\n"
        if self.failures:
            yield table([failures for failures, _ in self.failures], self._operations)
        if self.is_complete and self.axes and not any(axis.result in BREAKS for axis in self.axes):
            seed = self.settings.grease_seed
            yield f"no dependency was found with seed {seed}; others may find more\n"

    def document(self) -> dict[str, Any]:
        return {
            "seed": self.settings.grease_seed,
            "is_complete": self.is_complete,
            "plain": {"exit_status": self.command.status, "seconds": round(self.plain_seconds, 3)},
            "axes": [axis.document() for axis in self.axes],
            "failures": [
                {
                    "failure": failures.name,
                    "exit_status": run.status,
                    "seconds": round(run.seconds, 3),
                    "operations": document(failures, self._operations),
                }
                for failures, run in self.failures
            ],
        }

    @property
    def _operations(self) -> Sequence[str]:
        operations: Sequence[str] = self.plain_app.extensions["stub"].operations
        return operations

    def _run_all(self) -> None:
        axes = [name for name in self.settings.probe if name in stub.ADVICE]
        failures = [name for name in self.settings.probe if name not in stub.ADVICE]
        kinds = [amount(len(axes), "axis", "axes")] if axes else []
        kinds += [amount(len(failures), "failure")] if failures else []
        to_come = "" if axes else f"; {amount(len(failures), 'run')} to come"
        say(
            f"probe: plain: passes in {self.plain_seconds:.1f} s; "
            f"{', '.join(kinds)}, seed {self.settings.grease_seed}{to_come}\n"
        )
        self.log.is_muted = True
        for name in axes:
            axis = self._try_axis(name)
            self.axes.append(axis)  # which has what is known for certain
            if axis.result in BREAKS:
                self._narrow(axis)
                self._imply(axis)
        for name in failures:
            self._fail(name)
        self.is_complete = True

    def _fail(self, name: str) -> None:
        """Run the command once, and let each operation meet the failure."""
        failures = Failures(name, self.plain.succeeded)
        stalls = len(self._operations) * failures.stall if name == STALLED else 0.0
        run = self._run_app(self.make_app(failures=failures), name, stalls)
        end = time.monotonic() + WATCH
        while any(each.ended is None for each in failures.met.values()) and time.monotonic() < end:
            time.sleep(SETTLE)  # until the server has seen that the client is gone
        failures.settle(self.plain)
        self.failures.append((failures, run))
        say(f"probe: {name}: {run.text()}\n")

    def _try_axis(self, name: str) -> Axis:
        """Run an axis, and repeat a break."""
        run = self._run(name, name)
        axis = Axis(name, run.result, run)
        if run.result in BREAKS:
            shown = run.output.splitlines()[-SHOWN_LINES:]
            say("".join(f"  | {printable(line)}\n" for line in shown))
            again = self._run(name, name, f"{name} again").result
            if again not in BREAKS:
                axis.result = "disturbed" if again == "disturbed" else "unstable"
        return axis

    def _narrow(self, axis: Axis) -> None:
        """Try each part alone that was varied; then all but those found, until these pass.

        A client that stops at its first break hides the parts that come later.
        """
        run, parts = axis.run, self.plain_app.extensions["stub"].parts
        while run.result in BREAKS:
            found = axis.broken_parts
            for part in run.parts:
                if part not in axis.parts:
                    alone = f"{axis.name}@{part}"
                    axis.parts[part] = self._run(alone, alone).result
            broken = axis.broken_parts
            others = [part for part in parts.by_axis[axis.name] if part not in broken]
            if broken == found or not others:
                return
            words = ",".join(f"{axis.name}@{part}" for part in others)
            run = self._run(words, f"{axis.name} but {', '.join(f'@{part}' for part in broken)}")

    def _imply(self, axis: Axis) -> None:
        """Take out of an axis what another one, which has the same cause, has found already."""
        for other in self.axes:
            if other.name == IMPLIED_BY.get(axis.name) and other.result in BREAKS:
                for part in axis.broken_parts:
                    if part in other.broken_parts or not other.broken_parts:
                        axis.parts[part] = "implied"
                if not axis.broken_parts:
                    axis.result = "implied"
                    say(f"probe: {axis.name}: as {other.name}\n")

    def _run(self, words: str, name: str, label: str = "") -> Run:
        """Run the command with an axis, or parts of one. Raises `Interrupted`."""
        app = self.make_app(stub.parse_axes(words))
        run = self._run_app(app, name)
        axis, whole = words.partition("@")[0], app.extensions["stub"]
        varied = whole.judge().varied[axis]
        parts = whole.parts.varied_by(axis)
        met = f"not met: {NOT_MET.get(name, 'none varied')}"
        if parts:
            met = f"{amount(varied, 'response')} varied"
        say(f"probe: {label or name}: {run.text()}, {met}\n")
        return run._replace(varied=varied, parts=parts)

    def _run_app(self, app: Flask, name: str, stalls: float = 0.0) -> Run:
        """Run the command with an app until it ends or hangs, `stalls` seconds left out.

        Raises `Interrupted`.
        """
        if self.command.signal:
            raise Interrupted
        self.app = app
        was_disturbed, started = self.is_disturbed, time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = self.command.start({**self.variables, "STUB_PROBE_RUN": name}, output)
            try:
                code = process.wait(max(HANG_SECONDS, HANG_FACTOR * self.plain_seconds) + stalls)
                end = "breaks" if code else "passes"
            except subprocess.TimeoutExpired:
                self.command.kill_group()
                code, end = process.wait(), "hangs"
            seconds = time.monotonic() - started
            self._end_run()
            text = self._tail(output)
        if self.command.signal:
            raise Interrupted
        is_disturbed = was_disturbed or self.is_disturbed
        return Run(end, shell_status(code), seconds, text, is_disturbed)

    def _tail(self, output: IO[bytes]) -> str:
        """The last lines of what a run wrote, without tokens."""
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - MAX_TAIL))
        text = output.read().decode(errors="replace")
        if size > MAX_TAIL:  # it may begin in a token
            text = text.partition("\n")[2]
        return Redactor(self.settings.token).text(text)

    def _end_run(self) -> None:
        """End what a run left, as far as it can be, and look whether the rest sends requests."""
        self.command.kill_group()
        self.app = None
        late, end = self.late, time.monotonic() + WATCH
        time.sleep(SETTLE)
        while (left := self._leftovers()) and time.monotonic() < end:
            time.sleep(SETTLE)
        self.is_disturbed = self.late > late and (bool(left) or not PROCESSES.exists())
        self.left |= left
        if not self.is_disturbed:
            self.silent |= {*left}

    def _leftovers(self) -> dict[int, str]:
        """The processes that runs have left, and these runs; none where there is no /proc."""
        found = {}
        for path in PROCESSES.glob("[0-9]*/environ"):
            with suppress(OSError):
                lines = path.read_text("utf-8", "replace").split("\0")
                variables = dict(line.partition("=")[::2] for line in lines)
                name, url = variables.get("STUB_PROBE_RUN"), variables.get("STUB_URL")
                if name and url == self.variables["STUB_URL"]:
                    found[int(path.parent.name)] = name
        return {pid: name for pid, name in found.items() if pid not in self.silent}


def amount(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: `1 run`, `2 runs`."""
    return f"{count} {noun if count == 1 else nouns or f'{noun}s'}"
