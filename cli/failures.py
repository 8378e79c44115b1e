"""What a client did in the runs of --probe in which each operation failed once."""

from collections.abc import Iterator, Sequence
from typing import Any

from stub import Finding
from stub.failures import RETRY_AFTER, STALLED, UNAVAILABLE, Failures

PERFORMED = "though it had been performed: where names are not unique, two projects"


def reactions(failures: Failures, operations: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What was done after the failure of each operation; times are in seconds."""
    found = {}
    for name in operations:
        attempt = failures.met.get(name)
        closed_after = attempt.closed_after if attempt else None
        found[name] = {
            "met": attempt is not None,
            "again_after": attempt.again_after if attempt else [],
            "closed_after": closed_after,
            "waited": bool(attempt) and failures.name == STALLED and closed_after is None,
        }
    return found


def findings(failures: Failures) -> Iterator[Finding]:
    for name, reaction in reactions(failures, [*failures.met]).items():
        what = f"{name} after {failures.name}"
        for seconds in reaction["again_after"][:1]:
            again = f"sent again after {seconds:.2f} s"
            if failures.name != UNAVAILABLE and failures.met[name].method == "POST":
                yield Finding("repeats", what, 1, f"{again}, {PERFORMED} (RFC 9110 §9.2.2)")
            if failures.name == UNAVAILABLE and seconds < RETRY_AFTER:
                advice = f"{again}; Retry-After was {RETRY_AFTER} s (RFC 9110 §10.2.3)"
                yield Finding("hurries", what, 1, advice)
        if reaction["waited"]:
            yield Finding("waits", what, 1, f"no timeout within {failures.stall:g} s")


def table(runs: Sequence[Failures], operations: Sequence[str]) -> str:
    """A row for each operation, and a column for each failure."""
    rows = [["", *(run.name for run in runs)]]
    found = [reactions(run, operations) for run in runs]
    rows += [[name, *(text_of(each[name]) for each in found)] for name in operations]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    padded = [map(str.ljust, row, widths) for row in rows]
    return "".join(f"  {''.join(cells).rstrip()}\n" for cells in padded)


def text_of(reaction: dict[str, Any]) -> str:
    if not reaction["met"]:
        return "not met"
    words = ["waited"] if reaction["waited"] else []
    if reaction["closed_after"] is not None:
        words.append(f"closed after {reaction['closed_after']:.1f} s")
    if again := reaction["again_after"]:
        times = f" ({len(again)} times)" if len(again) > 1 else ""
        words.append(f"again after {again[0]:.2f} s{times}")
    return ", ".join(words) or "gave up"
