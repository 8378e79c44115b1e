"""What --probe found: the findings, what is said at its end, and its part of the report."""

from collections.abc import Iterator, Sequence
from typing import Any

import stub
from stub import STALL, Reaction, find_wrong_reactions

from .probe import NOT_MET, PASSES, Probe, ProbeRun

MAX_WORLDS = 5  # that a finding names
MAX_OUTPUT = 16 * 1024  # characters of a run's output
NO_CACHE = "`go test -count=1`, `gradle --rerun-tasks`, `nx --skip-nx-cache`, …"
NONE = Reaction()  # of an operation that met no failure

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
        yield from find_wrong_reactions(run.name, run.reactions)


def dependency(run: ProbeRun, what: str, origin: str = "") -> stub.Finding:
    """A finding of the axis of a run, which names the worlds of its requests if several."""
    advice = stub.AXES[run.axis].advice + origin
    worlds = [name or "the main one" for name in run.varied.worlds]
    if len(worlds) > 1:
        named = ", ".join(worlds[:MAX_WORLDS])
        advice += f"; varied in the worlds {named}"
    if len(worlds) > MAX_WORLDS:
        advice += f" and {len(worlds) - MAX_WORLDS} more"
    return stub.make_finding("depends", what, 1, run.varied.first, advice=advice)


# What is shown


def summary(probe: Probe) -> Iterator[str]:
    """What makes the results doubtful, and the table of the failures."""
    if probe.not_run:
        yield (
            f"warning: no request in the run of {', '.join(probe.not_run)}: does the command "
            f"cache its results? Turn the cache off: {NO_CACHE}\n"
        )
    for axis in probe.axes:
        if axis.result == PASSES and axis.uncalled:
            yield (
                f"warning: {', '.join(axis.uncalled)} was called in the plain run and not in "
                f"that of {axis.name}: does the command cache a part of its results?\n"
            )
    for run in probe.failures:
        if run.missed:
            yield (
                f"warning: the run of {run.name} ended before {', '.join(run.missed)} met it: "
                "did the tests stop early, as with pytest -x?\n"
            )
    if len(probe.axes) > 1 and all(axis.breaks_whole for axis in probe.axes):
        yield "warning: all axes break the tests: can these run twice, and without input?\n"
    if probe.failures:
        yield table(probe.failures, probe.worlds.common.contract.operation_ids)
    if is_clear(probe):
        seed = probe.settings.options.grease_seed
        yield f"no dependency was found with seed {seed}; others may find more\n"


def is_clear(probe: Probe) -> bool:
    """Whether all runs of axes were made whole and passed, at least one with variations."""
    if not probe.is_complete or probe.not_run:
        return False
    if any(axis.uncalled or axis.breaks for axis in probe.axes):
        return False
    return any(axis.result != NOT_MET for axis in probe.axes)


def table(runs: Sequence[ProbeRun], operations: Sequence[str]) -> str:
    """A row for each operation, and a column for each failure."""
    lines = ["", *operations]
    for run in runs:
        texts = [describe(run.reactions.get(operation, NONE)) for operation in operations]
        width = max(map(len, lines)) + 2
        rows = zip(lines, [run.name, *texts], strict=True)
        lines = [line.ljust(width) + text for line, text in rows]
    return "".join(f"  {line}\n" for line in lines)


def describe(reaction: Reaction) -> str:
    """Say what the client did: `gave up`, `again, same key, after 0.50 s (2 times)`."""
    words = []
    if reaction.attempt is None:
        words.append("not met")
    if reaction.waited:
        words.append(f"waited {STALL:g} s")
    if reaction.closed_after is not None:
        words.append(f"closed after {reaction.closed_after:.1f} s")
    if reaction.accepted:
        words.append("accepted")
    again_after = reaction.again_after
    if again_after:
        key = ", same key," if reaction.same_key else ""
        words.append(f"again{key} after {again_after[0]:.2f} s")
    if len(again_after) > 1:
        words[-1] += f" ({len(again_after)} times)"
    return ", ".join(words) or "gave up"


# What the report has


def document_of(probe: Probe) -> dict[str, Any]:
    """What the report has of all runs."""
    operations = probe.worlds.common.contract.operation_ids
    return {
        "seed": probe.settings.options.grease_seed,
        "is_complete": probe.is_complete,
        "plain": document_of_run(probe.plain) if probe.plain else None,
        "axes": [document_of_axis(axis) for axis in probe.axes],
        "failures": [document_of_failure(run, operations) for run in probe.failures],
    }


def document_of_run(run: ProbeRun) -> dict[str, Any]:
    return {"exit_status": run.status, "seconds": round(run.seconds, 3)}


def document_of_axis(axis: ProbeRun) -> dict[str, Any]:
    return {
        "axis": axis.name,
        "tier": stub.AXES[axis.name].tier,
        "result": axis.result,
        "varied": axis.varied.responses,
        **document_of_run(axis),
        "output": axis.output[-MAX_OUTPUT:],
        "parts": [{"part": part, "result": run.result} for part, run in axis.alone.items()],
    }


def document_of_failure(run: ProbeRun, operations: Sequence[str]) -> dict[str, Any]:
    reactions = {each: run.reactions.get(each, NONE).document() for each in operations}
    return {
        "failure": run.name,
        "result": run.result,
        **document_of_run(run),
        "output": run.output[-MAX_OUTPUT:],
        "operations": reactions,
    }
