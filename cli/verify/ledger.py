"""The known differences of a service, which a team commits: --known and --write-known."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

from .result import DIFFERENCES, Verdict
from .service import Unusable

KINDS = (*DIFFERENCES, "ledger", "stale")


class Known(NamedTuple):
    """A difference that was seen on a day. Several forms are separated by `; `."""

    part: str
    verdict: str
    observed: str
    seen: str  # the day in UTC, as 2026-11-22
    reason: str


class Finding(NamedTuple):
    """Something to fail on."""

    kind: str
    what: str


def read_known(path: Path) -> list[Known]:
    """The entries of a file. Raises `Unusable` if it has another form."""
    try:
        entries = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{path}: it is no JSON: {error}.") from None
    if not isinstance(entries, list):
        raise Unusable(f"{path}: give a list of known differences.")
    known = [read_entry(path, index, each) for index, each in enumerate(entries)]
    for part, count in Counter(each.part for each in known).items():
        if count > 1:
            raise Unusable(f"{path}: {part} is listed {count} times: keep one entry.")
    return known


def read_entry(path: Path, index: int, entry: object) -> Known:
    fields = ", ".join(Known._fields)
    place = f"{path}: /{index}"
    if not isinstance(entry, dict) or entry.keys() != {*Known._fields}:
        raise Unusable(f"{place}: give an object with {fields}.")
    if not all(isinstance(each, str) for each in entry.values()):
        raise Unusable(f"{place}: give strings for {fields}.")
    known = Known(**entry)
    if known.verdict not in DIFFERENCES:
        raise Unusable(f"{place}/verdict: give {' or '.join(DIFFERENCES)}.")
    try:
        date.fromisoformat(known.seen)
    except ValueError:
        raise Unusable(f"{place}/seen: give a day such as 2026-11-22.") from None
    return known


def findings_of(
    parts: list[Verdict], entries: Iterable[Known], today: date, max_age: int | None
) -> Iterator[Finding]:
    """What is not known, what is known and no longer so, and what was not seen for too long."""
    by_part = {each.part: each for each in parts}
    excused = set()
    for entry in entries:
        now = by_part.get(entry.part)
        if now and is_as_known(now, entry):
            excused.add(entry.part)
            continue
        if now is None:
            yield Finding("ledger", f"{entry.part}: the contract has no such part")
        elif now.verdict in DIFFERENCES:
            was, is_now = f"{entry.verdict}: {entry.observed}", f"{now.verdict}: {now.observed}"
            yield Finding("ledger", f"{entry.part}: known as {was}; now {is_now}")
        elif now.verdict in ("kept", "confirmed"):
            yield Finding(
                "ledger",
                f"{entry.part}: known as {entry.verdict}: {entry.observed}; now {now.verdict}",
            )
        if max_age is not None and (today - date.fromisoformat(entry.seen)).days > max_age:
            yield Finding("stale", f"{entry.part}: not seen since {entry.seen}")
    for each in parts:
        if each.verdict in DIFFERENCES and each.part not in excused:
            yield Finding(each.verdict, f"{each.part}: {each.expected} here, {each.observed} there")


def is_as_known(now: Verdict, entry: Known) -> bool:
    """Whether a difference is listed; a run at another level may see fewer of its forms."""
    forms = {*now.observed.split("; ")}
    return now.verdict == entry.verdict and forms <= {*entry.observed.split("; ")}


def known_of(parts: list[Verdict], entries: Iterable[Known], today: date) -> list[Known]:
    """The known differences after a run: what it saw, and the entries that it could not see."""
    old = {each.part: each for each in entries}
    known = []
    for each in parts:
        entry = old.get(each.part)
        if each.verdict in DIFFERENCES:
            is_same = entry and is_as_known(each, entry)
            observed = entry.observed if entry and is_same else each.observed
            reason = entry.reason if entry and is_same else ""
            known.append(Known(each.part, each.verdict, observed, today.isoformat(), reason))
        elif entry and each.verdict not in ("kept", "confirmed"):
            known.append(entry)
    return known
