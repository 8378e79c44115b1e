"""Reports the results of --probe as findings, in the terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import stub
from stub import failures

from .probe import NOT_MET, PASSES, Probe, ProbeRun

MAX_OUTPUT = 16 * 1024  # characters of a run's output
NO_REACTION = failures.Reaction()  # the reaction of a client that did not meet a failure


def list_findings(probe: Probe) -> Iterator[stub.Finding]:
    """List the dependencies of the tests, and the wrong reactions of the client to failures."""
    for axis in probe.axes:
        for part in axis.broken_parts:
            origin = probe.worlds.shared.parts.describe_origin(part)
            yield make_dependency(axis.by_part[part], f"{axis.name} of {part}", f"; {origin}")
        if axis.breaks_whole:
            yield make_dependency(axis, axis.name)
    for run in probe.failures:
        yield from failures.find_wrong_reactions(run.name, run.reactions)


def make_dependency(
    run: ProbeRun, what: str, origin: str = "", max_worlds: int = 5
) -> stub.Finding:
    """Make the finding of a run that breaks. It names the worlds if there are several.

    `what` names the part: `members of Project`.
    """
    advice = stub.axes.AXES[run.axis].advice + origin
    worlds = [name or "the main one" for name in run.varied.worlds]
    if len(worlds) > 1:
        named = ", ".join(worlds[:max_worlds])
        advice += f"; varied in the worlds {named}"
    if len(worlds) > max_worlds:
        advice += f" and {len(worlds) - max_worlds} more"
    return stub.make_finding("depends", what, 1, run.varied.first, advice=advice)


# The terminal


def summarize(probe: Probe) -> Iterator[str]:
    """Warn of doubtful results, and show the table of the failures."""
    if probe.not_run:
        yield (
            f"warning: no request in the run of {', '.join(probe.not_run)}: does the command "
            "cache its results? Turn the cache off: `go test -count=1`, `gradle --rerun-tasks`, "
            "`nx --skip-nx-cache`, …\n"
        )
    for axis in probe.axes:
        if axis.result == PASSES and axis.uncalled:
            yield (
                f"warning: the plain run called {', '.join(axis.uncalled)}, and the run of "
                f"{axis.name} did not: does the command cache a part of its results?\n"
            )
    for run in probe.failures:
        if run.missed:
            yield (
                f"warning: the run of {run.name} ended before {', '.join(run.missed)} met it: "
                "did the tests stop early, as with pytest -x?\n"
            )
    if len(probe.axes) > 1 and all(axis.breaks_whole for axis in probe.axes):
        yield "warning: all axes break the tests: can the tests run twice, and without input?\n"
    if probe.failures:
        yield format_table(probe.failures, probe.worlds.shared.contract.operation_ids)
    if is_clear(probe):
        seed = probe.settings.options.grease_seed
        yield f"no dependency was found with seed {seed}; another seed may find more\n"


def is_clear(probe: Probe) -> bool:
    """Return whether the runs of all axes passed, and there were variations."""
    if not probe.is_complete or probe.not_run:
        return False
    if any(axis.uncalled or axis.breaks for axis in probe.axes):
        return False
    return any(axis.result != NOT_MET for axis in probe.axes)


def format_table(runs: Sequence[ProbeRun], operations: Sequence[str]) -> str:
    """Format a table with a row per operation, and a column per failure."""
    lines = ["", *operations]
    for run in runs:
        texts = [
            describe_reaction(run.reactions.get(operation, NO_REACTION)) for operation in operations
        ]
        width = max(map(len, lines)) + 2
        rows = zip(lines, [run.name, *texts], strict=True)
        lines = [line.ljust(width) + text for line, text in rows]
    return "".join(f"  {line}\n" for line in lines)


def describe_reaction(reaction: failures.Reaction) -> str:
    """Describe the reaction of the client: `gave up`, `again, same key, after 0.50 s (2 times)`."""
    words = []
    if reaction.attempt is None:
        words.append("not met")
    if reaction.waited:
        words.append(f"waited {failures.STALL:g} s")
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


# The report


def describe_probe(probe: Probe) -> dict[str, Any]:
    """Describe all runs as JSON: `{"seed": 7, "axes": […], …}`."""
    operations = probe.worlds.shared.contract.operation_ids
    return {
        "seed": probe.settings.options.grease_seed,
        "is_complete": probe.is_complete,
        "plain": describe_run(probe.plain) if probe.plain else None,
        "axes": [describe_axis(axis) for axis in probe.axes],
        "failures": [describe_failure(run, operations) for run in probe.failures],
    }


def describe_run(run: ProbeRun) -> dict[str, Any]:
    return {"exit_status": run.status, "seconds": round(run.seconds, 3)}


def describe_axis(axis: ProbeRun) -> dict[str, Any]:
    return {
        "axis": axis.name,
        "tier": stub.axes.AXES[axis.name].tier,
        "result": axis.result,
        "varied": axis.varied.responses,
        **describe_run(axis),
        "output": axis.output[-MAX_OUTPUT:],
        "parts": [{"part": part, "result": run.result} for part, run in axis.by_part.items()],
    }


def describe_failure(run: ProbeRun, operations: Sequence[str]) -> dict[str, Any]:
    reactions = {each: run.reactions.get(each, NO_REACTION).document() for each in operations}
    return {
        "failure": run.name,
        "result": run.result,
        **describe_run(run),
        "output": run.output[-MAX_OUTPUT:],
        "operations": reactions,
    }
