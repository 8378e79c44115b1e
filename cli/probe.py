"""--probe: on which parts of the responses, which nobody promised, does a command depend?"""

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from flask import Flask

import stub
from web.problems import PROBLEM_JSON
from web.redaction import Redactor, printable

from .command import COMMAND_GRACE, REPEAT_WINDOW, Command, end_group
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
BETWEEN_RUNS = {
    "type": "about:blank",
    "title": "Service Unavailable",
    "status": 503,
    "detail": "This request came between two runs of --probe: end what a run starts with the run.",
    "code": "between_runs",
}


PROCESSES = Path("/proc")
MARK = b"STUB_PROBE_RUN="


class Interrupted(Exception):
    """A signal has ended the probe."""


class Run(NamedTuple):
    """A varied run that has ended; `output` is the end of what it wrote, masked.

    `is_disturbed` is whether a process that an earlier run left sent requests around it.
    """

    status: int
    seconds: float
    hangs: bool
    output: str
    varied: int  # responses
    parts: list[str]  # of the contract that were varied
    is_disturbed: bool

    @property
    def end(self) -> str:
        if self.hangs:
            return "hangs"
        return "breaks" if self.status else "passes"

    @property
    def result(self) -> str:
        """What the run says of its axis."""
        if not self.parts:
            return "not met"
        return "disturbed" if self.is_disturbed and self.end != "passes" else self.end


@dataclass
class Axis:
    """What is known of an axis; `run` is its first one, and `parts` has the result of each."""

    name: str
    result: str = "not met"
    run: Run | None = None
    parts: dict[str, str] = field(default_factory=dict)

    def broken_parts(self) -> list[str]:
        return [part for part, result in self.parts.items() if result in BREAKS]

    def dependencies(self) -> list[str]:
        """The parts that the tests depend on: empty text for the axis if no part is known."""
        return (self.broken_parts() or [""]) if self.result in BREAKS else []

    def document(self) -> dict[str, Any]:
        run = self.run
        return {
            "axis": self.name,
            "tier": 1 if self.name in stub.TIER_1 else 2,
            "result": self.result,
            "varied": run.varied if run else 0,
            "seconds": round(run.seconds, 3) if run else None,
            "exit_status": run.status if run else None,
            "output": run.output[-MAX_OUTPUT:] if run else "",
            "parts": [{"part": part, "result": result} for part, result in self.parts.items()],
        }


class Probe:
    """Runs the command plain, and then with each axis of grease, in the order of `axes`.

    `make_app` makes the app of a run, which is served from then on: without grease, or with an axis
    or a part of one (`members@Project`).
    """

    def __init__(
        self,
        command: Command,
        axes: Sequence[str],
        seed: int,
        make_app: Callable[[str], Flask],
        tokens: Collection[str],
    ) -> None:
        self.app = self.plain_app = make_app("")
        self._parts = self.plain_app.extensions["stub"].parts
        self.axes: list[Axis] = []
        self.is_complete = False
        self._command = command
        command.on_signal = self._interrupt
        self._names = axes
        self._seed = seed
        self._make_app = make_app
        self._redactor = Redactor(tokens)
        self._longest_token = max(map(len, tokens))
        self._variables: Mapping[str, str] = {}
        self._plain_seconds = 0.0
        self._is_between = False  # two runs
        self._late = 0  # requests between two runs
        self._is_disturbed = False  # whether what a run left sends requests
        self._left: set[int] = set()  # processes that runs left
        self._ignored: set[int] = set()  # those of them that send nothing
        self._left_by: dict[str, None] = {}  # the runs that left a process
        self._process: subprocess.Popen[bytes] | None = None
        self._signal: int | None = None
        self._signalled_at = 0.0

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The app of the current run; between two runs each request is rejected."""
        if not self._is_between:
            return self.app(environ, start_response)
        self._late += 1
        start_response("503 Service Unavailable", [*PROBLEM_JSON.items()])
        return [json.dumps(BETWEEN_RUNS).encode()]

    @property
    def status(self) -> int:
        """The exit status: that of a signal, or of the plain run; 1 if a run could not be made."""
        if self._signal:
            return 128 + self._signal
        return self._command.status or int(not self.is_complete)

    def forward_signals(self) -> None:
        self._command.forward_signals()

    def start(self, variables: Mapping[str, str], then: Callable[[], None]) -> str | None:
        """Start the plain run in the main thread, the others when it has passed; then call `then`.

        Returns why the command could not be started, if so.
        """
        self._variables = variables
        started = time.monotonic()

        def go_on() -> None:
            self._plain_seconds = time.monotonic() - started
            try:
                self._end_run("plain", self._command.end_leftovers)
                if not self._command.status:
                    self._run_axes()
            except Interrupted:
                pass
            except OSError as error:
                say(f"error: probe: {error.strerror}\n")
            finally:
                then()

        return self._command.start({**variables, "STUB_PROBE_RUN": "plain"}, then=go_on)

    def findings(self) -> list[stub.Finding]:
        """A finding for each part that the tests depend on: what to do, and why nobody promised."""
        return [
            stub.Finding("depends", f"{axis.name} of {part}" if part else axis.name, 1, advice)
            for axis in self.axes
            for part in axis.dependencies()
            for advice in [self._advice(axis.name, part)]
        ]

    def _advice(self, axis: str, part: str) -> str:
        why, advice = stub.ADVICE[axis]
        if axis == "ids-encoded" and part and not self._is_in_a_path(part):
            advice = stub.ADVICE["ids"][1]
        origin = f"; {self._parts.origin(part)}" if part else ""
        return f"{advice} ({why}{origin})"

    def _is_in_a_path(self, part: str) -> bool:
        """Whether the ids of a kind of record are a segment of a path."""
        rules = self.plain_app.url_map.iter_rules()
        return any(f"/{part}/<" in rule.rule for rule in rules if rule.rule.startswith("/v1/"))

    def summary(self) -> str:
        """Whether all was probed, and what makes the results doubtful."""
        status, lines = self._command.status, []
        if self._signal:
            lines.append("probe: incomplete: a signal came before all runs were made\n")
        elif status:
            lines.append(f"probe: plain: breaks (exit status {status}): nothing was probed\n")
        elif not self.is_complete:
            lines.append("probe: incomplete: not all runs could be made\n")
        lines += self._warnings()
        if self.is_complete and not self.findings():
            lines.append(f"no dependency was found with seed {self._seed}; others may find more\n")
        return "".join(lines)

    def _warnings(self) -> Iterator[str]:
        """What makes the results doubtful."""
        made = [(axis, axis.run) for axis in self.axes if axis.run]
        for axis, run in made:
            if axis.result == "unstable":
                yield f"probe: {axis.name}: unstable: broke, and passed when repeated\n"
            elif axis.result == "not met" and run.status:
                yield f"warning: {axis.name}: broke before a response was varied\n"
            elif axis.result == "disturbed":
                yield f"warning: {axis.name}: disturbed by what a run left: no finding\n"
        if self._late or self._left_by:
            left = ", ".join(self._left_by) or "a run"
            yield (
                f"warning: {left} left a process running: {amount(self._late, 'request')} between "
                "two runs got 503\n"
            )
        if len(made) > 1 and all(run.status for _, run in made):
            yield "warning: all axes break the tests: can these run twice, and without input?\n"

    def document(self) -> dict[str, Any]:
        return {
            "seed": self._seed,
            "is_complete": self.is_complete,
            "plain": {
                "exit_status": self._command.status,
                "seconds": round(self._plain_seconds, 3),
            },
            "axes": [axis.document() for axis in self.axes],
        }

    def _run_axes(self) -> None:
        say(
            f"probe: plain: passes in {self._plain_seconds:.1f} s; "
            f"{amount(len(self._names), 'axis', 'axes')}, seed {self._seed}\n"
        )
        for name in self._names:
            self._probe(Axis(name))
        self.is_complete = True

    def _probe(self, axis: Axis) -> None:
        """Run the axis, repeat a break, and narrow it; `axes` has what is known for certain."""
        axis.run = run = self._run(axis.name, axis.name)
        axis.result = run.result
        if axis.result in BREAKS:
            shown = run.output.splitlines()[-SHOWN_LINES:]
            say("".join(f"  | {printable(line)}\n" for line in shown))
            again = self._run(axis.name, axis.name, f"{axis.name} again").result
            if again not in BREAKS:
                axis.result = "disturbed" if again == "disturbed" else "unstable"
        self.axes.append(axis)
        if axis.result in BREAKS:
            self._narrow(axis, run)
            self._imply(axis)

    def _narrow(self, axis: Axis, run: Run) -> None:
        """Try each part alone that was varied; then all but those found, until these pass.

        A client that stops at its first break hides the parts that come later.
        """
        while run.result in BREAKS:
            found = axis.broken_parts()
            for part in run.parts:
                if part not in axis.parts:
                    alone = f"{axis.name}@{part}"
                    axis.parts[part] = self._run(alone, alone).result
            broken = axis.broken_parts()
            others = [part for part in self._parts.by_axis[axis.name] if part not in broken]
            if broken == found or not others:
                return
            but = ", ".join(f"@{part}" for part in broken)
            words = ",".join(f"{axis.name}@{part}" for part in others)
            run = self._run(words, f"{axis.name} but {but}")

    def _imply(self, axis: Axis) -> None:
        """Take out of an axis what another one, which has the same cause, has found already."""
        for other in self.axes:
            if other.name == IMPLIED_BY.get(axis.name) and other.result in BREAKS:
                for part in axis.broken_parts():
                    if part in other.broken_parts() or not other.broken_parts():
                        axis.parts[part] = "implied"
                if not axis.broken_parts():
                    axis.result = "implied"
                    say(f"probe: {axis.name}: as {other.name}\n")

    def _run(self, grease: str, name: str, label: str = "") -> Run:
        """Run the command with axes or parts of one. Raises `Interrupted`."""
        if self._signal:
            raise Interrupted
        self.app = self._make_app(grease)
        run = self._run_command(name, grease.partition("@")[0])
        if self._signal:
            raise Interrupted
        status = f" (exit status {run.status})" if run.end == "breaks" else ""
        varied = f"{amount(run.varied, 'response')} varied"
        if not run.parts:
            varied = f"not met: {NOT_MET.get(name, 'none varied')}"
        say(f"probe: {label or name}: {run.end} in {run.seconds:.1f} s{status}, {varied}\n")
        return run

    def _run_command(self, name: str, axis: str) -> Run:
        variables = {**self._variables, "STUB_PROBE_RUN": name}
        was_disturbed = self._is_disturbed
        with tempfile.TemporaryFile() as output:
            started = time.monotonic()
            self._is_between = False
            self._process = process = self._command.start_quietly(variables, output)
            if self._signal:  # it came while the process was started
                self._interrupt(self._signal)
            hangs = False
            try:
                status = process.wait(max(HANG_SECONDS, HANG_FACTOR * self._plain_seconds))
            except subprocess.TimeoutExpired:
                hangs = True
                end_group(process)
                status = process.wait()
            seconds = time.monotonic() - started
            self._end_run(name, lambda: end_group(process))
            text = self._tail(output)
        whole: stub.Stub = self.app.extensions["stub"]
        return Run(
            status if status >= 0 else 128 - status,
            seconds,
            hangs,
            text,
            whole.judge().varied[axis],
            whole.parts.varied_by(axis),
            was_disturbed or self._is_disturbed,
        )

    def _tail(self, output: IO[bytes]) -> str:
        """The end of what a run wrote, without tokens."""
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - MAX_TAIL))
        text = self._redactor.text(output.read(MAX_TAIL).decode(errors="replace"))
        return text[self._longest_token :] if size > MAX_TAIL else text  # it may begin in a token

    def _end_run(self, name: str, end_leftovers: Callable[[], None]) -> None:
        """End what a run left, as far as it can be, and look whether the rest sends requests."""
        end_leftovers()
        self._is_between = True
        time.sleep(SETTLE)
        late, end = self._late, time.monotonic() + WATCH
        while (left := self._leftovers()) and time.monotonic() < end:
            time.sleep(SETTLE)
        self._is_disturbed = self._late > late and (bool(left) or not PROCESSES.exists())
        if left - self._left:
            self._left_by[name] = None
        self._left |= left
        if not self._is_disturbed:
            self._ignored |= left

    def _leftovers(self) -> set[int]:
        """The processes that a run has left, by their environment; none where there is no /proc."""
        url = f"STUB_URL={self._variables['STUB_URL']}".encode()
        found = set()
        for path in PROCESSES.glob("[0-9]*/environ"):
            with suppress(OSError):
                variables = path.read_bytes().split(b"\0")
                if url in variables and any(each.startswith(MARK) for each in variables):
                    found.add(int(path.parent.name))
        return found - self._ignored - {os.getpid()}

    def _interrupt(self, number: int) -> None:
        """End the current run; kill it if the signal is repeated, or after a moment."""
        now = time.monotonic()
        if self._signal is None:
            self._signal, self._signalled_at = number, now
        process = self._process
        if process is None:  # the plain run, to which the command passes the signal
            timer = threading.Timer(COMMAND_GRACE, self._command.kill)
        else:
            if now - self._signalled_at > REPEAT_WINDOW:
                end_group(process)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            timer = threading.Timer(COMMAND_GRACE, end_group, [process])
        timer.daemon = True
        timer.start()


def amount(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: `1 run`, `2 runs`."""
    return f"{count} {noun if count == 1 else nouns or f'{noun}s'}"
