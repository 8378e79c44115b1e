"""What a client did in the runs of --probe in which each operation failed once."""

from collections.abc import Iterator, Sequence
from typing import Any

from stub import Finding
from stub.failures import RETRY_AFTER, STALLED, UNAVAILABLE, Attempt, Failures

PERFORMED = "though it had been performed: where names are not unique, two projects"


def document(failures: Failures, operations: Sequence[str]) -> dict[str, Any]:
    """What was done after each failure; times are in seconds."""
    return {
        name: {
            "met": attempt is not None,
            "again_after": attempt.again_after if attempt else [],
            "closed_after": attempt.closed_after if attempt else None,
            "waited": has_waited(failures, attempt),
        }
        for name in operations
        for attempt in [failures.met.get(name)]
    }


def findings(failures: Failures) -> Iterator[Finding]:
    for name, attempt in failures.met.items():
        what = f"{name} after {failures.name}"
        if attempt.again_after:
            seconds = attempt.again_after[0]
            again = f"sent again after {seconds:.2f} s"
            if failures.name == UNAVAILABLE and seconds < RETRY_AFTER:
                advice = f"{again}; Retry-After was {RETRY_AFTER} s (RFC 9110 §10.2.3)"
                yield Finding("hurries", what, 1, advice)
            if failures.name != UNAVAILABLE and attempt.method == "POST":
                yield Finding("repeats", what, 1, f"{again}, {PERFORMED} (RFC 9110 §9.2.2)")
        if has_waited(failures, attempt):
            yield Finding("waits", what, 1, f"no timeout within {failures.stall:g} s")


def table(runs: Sequence[Failures], operations: Sequence[str]) -> str:
    """A row for each operation, and a column for each failure."""
    rows = [["", *(run.name for run in runs)]]
    rows += [[name, *(reaction(run, run.met.get(name)) for run in runs)] for name in operations]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    padded = [map(str.ljust, row, widths) for row in rows]
    return "".join(f"  {''.join(cells).rstrip()}\n" for cells in padded)


def reaction(failures: Failures, attempt: Attempt | None) -> str:
    if attempt is None:
        return "not met"
    words = []
    if has_waited(failures, attempt):
        words.append(f"waited {failures.stall:g} s")
    if attempt.closed_after is not None:
        words.append(f"closed after {attempt.closed_after:.1f} s")
    if again := attempt.again_after:
        times = f" ({len(again)} times)" if len(again) > 1 else ""
        words.append(f"again after {again[0]:.2f} s{times}")
    return ", ".join(words) or "gave up"


def has_waited(failures: Failures, attempt: Attempt | None) -> bool:
    return failures.name == STALLED and attempt is not None and attempt.closed_after is None
