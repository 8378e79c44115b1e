"""What a client did in the runs of --probe in which each operation failed once."""

from collections.abc import Iterator, Sequence
from typing import Any

from stub import Finding
from stub.failures import RETRY_AFTER, UNAVAILABLE, Failures

PERFORMED = "though it had been performed: where names are not unique, two projects"


def findings(failures: Failures) -> Iterator[Finding]:
    """What the client did wrong after the failures of a run."""
    for name, attempt in failures.met.items():
        what, reaction = f"{name} after {failures.name}", attempt.reaction
        for seconds in reaction["again_after"][:1]:
            again = f"sent again after {seconds:.2f} s"
            if failures.name != UNAVAILABLE and attempt.method == "POST":
                yield Finding("repeats", what, 1, f"{again}, {PERFORMED} (RFC 9110 §9.2.2)")
            if failures.name == UNAVAILABLE and seconds < RETRY_AFTER:
                advice = f"{again}; Retry-After was {RETRY_AFTER} s (RFC 9110 §10.2.3)"
                yield Finding("hurries", what, 1, advice)
        if reaction["waited"]:
            yield Finding("waits", what, 1, f"no timeout within {failures.stall:g} s")


def table(runs: Sequence[Failures], operations: Sequence[str]) -> str:
    """A row for each operation, and a column for each failure."""
    columns = [["", *operations]]
    columns += [[run.name, *(text_of(run.reaction(name)) for name in operations)] for run in runs]
    widths = [max(map(len, column)) + 2 for column in columns]
    rows = [map(str.ljust, row, widths) for row in zip(*columns, strict=True)]
    return "".join(f"  {''.join(row).rstrip()}\n" for row in rows)


def text_of(reaction: dict[str, Any]) -> str:
    if not reaction["met"]:
        return "not met"
    closed_after, again = reaction["closed_after"], reaction["again_after"]
    times = f" ({len(again)} times)" if len(again) > 1 else ""
    words = (
        "waited" if reaction["waited"] else "",
        "" if closed_after is None else f"closed after {closed_after:.1f} s",
        f"again after {again[0]:.2f} s{times}" if again else "",
    )
    return ", ".join(filter(None, words)) or "gave up"
