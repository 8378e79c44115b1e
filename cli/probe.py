"""--probe: on which parts of the responses, which nobody promised, does a command depend?"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flask import Flask

import stub
from web.redaction import Redactor, printable

from .command import COMMAND_GRACE, KILL, REPEAT_WINDOW, Command
from .stderr import say

# A varied run may take this long, or HANG_FACTOR times as long as the plain one.
HANG_SECONDS = 30.0
HANG_FACTOR = 5
OUTPUT_GRACE = 1.0  # seconds to read what an ended run has written
MAX_TAIL = 64 * 1024  # bytes of its output that are kept, and searched for tokens
MAX_OUTPUT = 16 * 1024  # characters of it in the report
SHOWN_LINES = 20  # of it on the terminal


class Interrupted(Exception):
    """A signal has ended the probe."""


class Run(NamedTuple):
    """A varied run that has ended; `output` is the end of what it wrote, masked."""

    status: int
    seconds: float
    hangs: bool
    output: str
    varied: int  # responses
    parts: list[str]  # of the contract that were varied

    @property
    def result(self) -> str:
        if self.hangs:
            return "hangs"
        return "breaks" if self.status else "passes"


@dataclass
class Axis:
    """What is known of an axis; `run` is its first one, and `parts` has the result of each."""

    name: str
    result: str = "not met"
    run: Run | None = None
    parts: dict[str, str] = field(default_factory=dict)

    def dependencies(self) -> list[str]:
        """What the tests depend on: the axis of a part, or the axis alone if no part is known."""
        if self.result not in ("breaks", "hangs"):
            return []
        parts = [part for part, result in self.parts.items() if result != "passes"]
        return [f"{self.name} of {part}" for part in parts] or [self.name]

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
        self._to_come = 0  # runs
        self._process: subprocess.Popen[bytes] | None = None
        self._signal: int | None = None
        self._signalled_at = 0.0

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The app of the current run."""
        return self.app(environ, start_response)

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
        """A finding for each part that the tests depend on."""
        return [
            stub.Finding("depends", what, 1, stub.ADVICE[axis.name][1])
            for axis in self.axes
            for what in axis.dependencies()
        ]

    def table(self) -> str:
        """What the tests depend on, why nobody promised it, and what to do."""
        status, lines = self._command.status, []
        if self._signal:
            lines.append("probe: incomplete: a signal came before all runs were made\n")
        elif status:
            lines.append(f"probe: plain: breaks (exit status {status}): nothing was probed\n")
        elif not self.is_complete:
            lines.append("probe: incomplete: not all runs could be made\n")
        lines += self._warnings()
        rows = [(axis, what) for axis in self.axes for what in axis.dependencies()]
        if rows:
            lines.append("your tests depend on\n")
        elif self.is_complete:
            lines.append(f"no dependency was found with seed {self._seed}; others may find more\n")
        width = max((len(what) for _, what in rows), default=0)
        for axis, what in rows:
            why, advice = stub.ADVICE[axis.name]
            _, _, part = what.partition(" of ")
            contract = self.plain_app.extensions["stub"].parts.contract
            origin = f"; {stub.origin_of(contract, part)}" if part else ""
            lines.append(f"  {what:{width}}  {why}{origin}. {advice[0].upper()}{advice[1:]}.\n")
        return "".join(lines)

    def _warnings(self) -> Iterator[str]:
        """What makes the results doubtful."""
        made = [(axis, axis.run) for axis in self.axes if axis.run]
        for axis, run in made:
            if axis.result == "unstable":
                yield f"probe: {axis.name}: unstable: broke, and passed when repeated\n"
            elif axis.result == "not met" and run.status:
                yield f"warning: {axis.name}: broke before a response was varied\n"
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
        self._to_come = len(self._names)
        say(
            f"probe: plain: passes in {self._plain_seconds:.1f} s; "
            f"{amount(len(self._names), 'axis', 'axes')}, seed {self._seed}; "
            f"{amount(self._to_come, 'run')} to come\n"
        )
        for name in self._names:
            self._probe(Axis(name))
        self.is_complete = True

    def _probe(self, axis: Axis) -> None:
        """Run the axis, repeat a break, and narrow it; `axes` has what is known for certain."""
        axis.run = run = self._run(axis.name)
        if run.parts:
            axis.result = run.result
        if axis.result in ("breaks", "hangs"):
            shown = run.output.splitlines()[-SHOWN_LINES:]
            say("".join(f"  | {printable(line)}\n" for line in shown))
        if axis.result == "breaks":
            self._to_come += 1
            if self._run(axis.name, " again").result == "passes":
                axis.result = "unstable"
        self.axes.append(axis)
        if axis.result == "breaks":
            self._to_come += len(run.parts)
            for part in run.parts:
                axis.parts[part] = self._run(f"{axis.name}@{part}").result

    def _run(self, grease: str, which: str = "") -> Run:
        """Run the command with an axis or a part of one. Raises `Interrupted`."""
        if self._signal:
            raise Interrupted
        self.app = self._make_app(grease)
        self._to_come -= 1
        to_come = f"{amount(self._to_come, 'run')} to come"
        is_terminal = sys.stderr.isatty()
        if is_terminal:
            say(f"\x1b[Kprobe: {grease}{which}: running; {to_come}\r")  # is rewritten
        run = self._run_command({**self._variables, "STUB_PROBE_RUN": grease}, grease)
        if self._signal:
            raise Interrupted
        status = f" (exit status {run.status})" if run.result == "breaks" else ""
        varied = f"{amount(run.varied, 'response')} varied" if run.parts else "not met: none varied"
        clear = "\x1b[K" if is_terminal else ""
        took = f"{run.result} in {run.seconds:.1f} s{status}"
        say(f"{clear}probe: {grease}{which}: {took}, {varied}; {to_come}\n")
        return run

    def _run_command(self, variables: Mapping[str, str], grease: str) -> Run:
        started = time.monotonic()
        self._process = process = self._command.start_quietly(variables)
        tail = Tail(process)
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
        end_group(process)  # what it left running
        axis, _, _ = grease.partition("@")
        whole: stub.Stub = self.app.extensions["stub"]
        return Run(
            status if status >= 0 else 128 - status,
            seconds,
            hangs,
            tail.masked(self._redactor, self._longest_token),
            whole.judge().varied[axis],
            [part for each, part in whole.parts.varied_pairs() if each == axis],
        )

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


class Tail:
    """The end of what a process writes, read in a thread of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._data = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def masked(self, redactor: Redactor, longest_token: int) -> str:
        """What was written, without tokens; a process that left the group may still write on."""
        self._thread.join(OUTPUT_GRACE)
        data = self._data
        text = redactor.text(data.decode(errors="replace"))
        return text[longest_token:] if len(data) == MAX_TAIL else text  # it may begin in a token

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as pipe:
            while data := os.read(pipe.fileno(), MAX_TAIL):
                self._data = (self._data + data)[-MAX_TAIL:]


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what runs in the group of a process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, KILL)


def amount(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: `1 run`, `2 runs`."""
    return f"{count} {noun if count == 1 else nouns or f'{noun}s'}"
