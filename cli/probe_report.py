"""What --probe found: the findings, what is said at its end, and its part of the report."""

from collections.abc import Iterator, Sequence
from typing import Any

import stub
from stub.failures import Failures

from .probe import NO_FINDING, NOT_MET, PASSES, Probe, Run

MAX_WORLDS = 5  # that a finding names
MAX_OUTPUT = 16 * 1024  # characters of a run's output
NO_CACHE = "`go test -count=1`, `gradle --rerun-tasks`, `nx --skip-nx-cache`, …"

# What is found


def findings_of(probe: Probe) -> Iterator[stub.Finding]:
    """What the tests depend on, by part or axis; and what the client did after failures."""
    for axis in probe.axes:
        for part in axis.broken_parts:
            origin = probe.worlds.common.parts.origin(part)
            yield dependency(axis.alone[part], f"{axis.name} of {part}", f"; {origin}")
        if axis.breaks_whole:
            yield dependency(axis, axis.name)
    for run in probe.failures:
        if run.result.word != NO_FINDING:
            yield from run.failures.findings()


def dependency(run: Run, what: str, origin: str = "") -> stub.Finding:
    """A finding of the axis of a run, which names the worlds of its requests if several."""
    advice = stub.AXES[run.axis].advice + origin
    worlds = [name or "the main one" for name in run.varied.worlds]
    if len(worlds) > 1:
        named = ", ".join(worlds[:MAX_WORLDS])
        advice += f"; varied in the worlds {named}"
    if len(worlds) > MAX_WORLDS:
        advice += f" and {len(worlds) - MAX_WORLDS} more"
    return stub.finding_of("depends", what, 1, run.varied.first, advice=advice)


# What is shown


def summary(probe: Probe) -> Iterator[str]:
    """What makes the results doubtful, and the table of the failures."""
    if probe.served.late:
        yield (
            "warning: a run left a process running, whose requests between two runs got 503: "
            "the runs before and after them are no finding\n"
        )
    if probe.not_run:
        yield (
            f"warning: no request in the run of {', '.join(probe.not_run)}: does the command "
            f"cache its results? Turn the cache off: {NO_CACHE}\n"
        )
    for axis in probe.axes:
        if axis.result.word == PASSES and axis.uncalled:
            yield (
                f"warning: {', '.join(axis.uncalled)} was called in the plain run and not in "
                f"that of {axis.name}: does the command cache a part of its results?\n"
            )
    # Where a part breaks, a run without it has passed.
    if len(probe.axes) > 1 and all(axis.breaks_whole for axis in probe.axes):
        yield "warning: all axes break the tests: can these run twice, and without input?\n"
    if probe.failures:
        yield table([run.failures for run in probe.failures])
    if is_clear(probe):
        seed = probe.settings.options.grease_seed
        yield f"no dependency was found with seed {seed}; others may find more\n"


def is_clear(probe: Probe) -> bool:
    """Whether all runs of axes were made whole and passed, at least one with variations."""
    if not probe.is_complete or probe.not_run:
        return False
    if any(axis.uncalled or axis.breaks for axis in probe.axes):
        return False
    return any(axis.result.word != NOT_MET for axis in probe.axes)


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
    if reaction["accepted"]:
        words.append("accepted")
    again_after = reaction["again_after"]
    if again_after:
        key = ", same key," if reaction["same_key"] else ""
        words.append(f"again{key} after {again_after[0]:.2f} s")
    if len(again_after) > 1:
        words[-1] += f" ({len(again_after)} times)"
    return ", ".join(words) or "gave up"


# What the report has


def document_of(probe: Probe) -> dict[str, Any]:
    """What the report has of all runs."""
    return {
        "seed": probe.settings.options.grease_seed,
        "is_complete": probe.is_complete,
        "plain": document_of_run(probe.plain) if probe.plain else None,
        "axes": [document_of_axis(axis) for axis in probe.axes],
        "failures": [document_of_failure(run) for run in probe.failures],
    }


def document_of_run(run: Run) -> dict[str, Any]:
    return {"exit_status": run.status, "seconds": round(run.seconds, 3)}


def document_of_result(run: Run) -> dict[str, Any]:
    word, reason = run.result
    return {"result": word, "reason": reason}


def document_of_axis(axis: Run) -> dict[str, Any]:
    return {
        "axis": axis.name,
        "tier": stub.AXES[axis.name].tier,
        **document_of_result(axis),
        "varied": axis.varied.responses,
        **document_of_run(axis),
        "output": axis.output[-MAX_OUTPUT:],
        "parts": [{"part": part, **document_of_result(run)} for part, run in axis.alone.items()],
    }


def document_of_failure(run: Run) -> dict[str, Any]:
    return {
        "failure": run.name,
        **document_of_result(run),
        **document_of_run(run),
        "output": run.output[-MAX_OUTPUT:],
        "operations": run.failures.reactions,
    }
