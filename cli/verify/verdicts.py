"""The verdict of each part of the contract, from what all responses say of it."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import stub
from stub.redaction import Redactor
from web.validation import pointer as json_pointer

from .checks import BEARER, CANDIDATE, INVALID_BODY, LEVELS, NEEDS, Check
from .exchange import Exchange
from .judge import COULD_NOT_CHECK, ERRORS, NOT_SEEN, Claim, claims_of, silence_of
from .run import LISTS, Run
from .values import children, preferred

LEAK = "the response contains the token"
Seen = tuple[Claim, Exchange]  # a claim, and the exchange that makes it
NO_PARTS = ("x-origin", "examples", "links")  # members of the contract
VERDICTS = ("kept", "broken", "confirmed", "differs", NOT_SEEN, COULD_NOT_CHECK)


class Part(NamedTuple):
    """A part and its verdict. A difference has the exchange that showed it, and its value there."""

    part: str
    origin: str  # fixed or chosen
    verdict: str = NOT_SEEN
    expected: str = ""
    observed: str = ""
    reason: str = ""
    probe: str = ""  # the name of the check
    value: str = ""
    exchange: Exchange | None = None

    @property
    def sentence(self) -> str:
        return f"{self.verdict}: {self.part}: {self.expected} here, {self.observed} there"

    def as_json(self) -> dict[str, str]:
        """What the report has of it."""
        members = self._asdict()
        del members["value"]
        del members["exchange"]
        return members


def judge_parts(run: Run) -> Iterator[Part]:
    """The parts of the contract with their verdicts, in its order."""
    seen: dict[str, list[Seen]] = defaultdict(list)
    for exchange in run.judged:
        for claim in claims_of(run, exchange):
            seen[claim.part].append((claim, exchange))
    witnesses = witnesses_of(run)
    for pointer, origin in parts_in(run.contract, "#").items():
        part = Part(pointer, origin)
        yield judge_part(run, part, seen[pointer], witnesses[pointer])


def witnesses_of(run: Run) -> dict[str, list[Check]]:
    """The checks that can show a part, by the part."""
    errors = parts_in(run.contract, ERRORS).keys()
    found: dict[str, list[Check]] = defaultdict(list)
    for check in run.checks:
        shown = set(check.rules)
        if check.expects:
            shown.update(parts_in(run.contract, check.expects))
        if check.expects != INVALID_BODY:
            shown -= errors
        for part in shown:
            found[part].append(check)
    return found


def judge_part(run: Run, part: Part, seen: list[Seen], witnesses: list[Check]) -> Part:
    """The part with its verdict: one contradiction outweighs many agreements."""
    against = [(claim, exchange) for claim, exchange in seen if not claim.holds]
    if against:
        return contradicted(part, against)
    if part.part == BEARER:  # which every operation has to show
        names = [exchange.name for _, exchange in seen]
        witnesses = [check for check in witnesses if check.name not in names]
        if witnesses:
            seen = []
    if not seen:
        return unseen(run, part, witnesses)
    claim, exchange = seen[0]
    return part._replace(
        verdict="kept" if part.origin == "fixed" else "confirmed",
        expected=claim.expected,
        observed=claim.expected,
        probe=exchange.name,
    )


def contradicted(part: Part, against: list[Seen]) -> Part:
    """The part with all that contradicts it, and the first exchange that does."""
    expected = dict.fromkeys(claim.expected for claim, _ in against)
    observed = {claim.otherwise for claim, _ in against}
    claim, exchange = against[0]
    return part._replace(
        verdict="broken" if part.origin == "fixed" else "differs",
        expected="; ".join(expected),
        observed="; ".join(sorted(observed)),
        probe=exchange.name,
        value=claim.value,
        exchange=exchange,
    )


def unseen(run: Run, part: Part, witnesses: list[Check]) -> Part:
    """The part with the reason and the check that could have shown it: one that failed, if any."""
    if not witnesses:
        return part._replace(reason="cannot be provoked by a well-formed request")
    found = []
    for check in sorted(witnesses, key=partial(rank_of, run)):
        name = check.name
        verdict, reason = run.silent.get(name, (NOT_SEEN, "no response had it"))
        found.append(part._replace(verdict=verdict, reason=reason, probe=name))
    return preferred(found, lambda each: each.verdict == COULD_NOT_CHECK)[0]


def rank_of(run: Run, check: Check) -> tuple[int, int, int]:
    """The order of the checks: those of the lowest level that was not asked come last."""
    level = LEVELS.index(check.level)
    asked = 0
    if not run.is_recorded:
        asked = LEVELS.index(run.level)
    silence = 0 if check.name in run.silent else 1
    return max(level, asked), silence, level


def parts_in(contract: stub.Contract, pointer: str) -> dict[str, str]:
    """The parts at a pointer and below, behind `$ref` too, with their origins: fixed or chosen.

    Those of the stub alone do not come.
    """
    pointer, node = contract.find(pointer)
    found = {}
    if "x-origin" in node:
        (found[pointer],) = node["x-origin"]
    for name, value in children(node):
        is_part = name not in NO_PARTS and isinstance(value, dict | list)
        if is_part and "x-stub-only" not in value:
            inner = pointer + json_pointer(name)
            found.update(parts_in(contract, inner))
    return found


def conclude(run: Run, check: Check, exchanges: list[Exchange]) -> None:
    """Note what a check has shown, if it was asked: these exchanges say something of its parts."""
    name = check.name
    if name in LISTS:
        run.look()
    run.judged += exchanges
    run.concluded.append(name)
    if not exchanges:
        run.silent[name] = NOT_SEEN, NEEDS[check.needs]
    elif silence := silence_of(run, exchanges[-1]):
        run.silent[name] = silence
    run.tell(f"{name:26} {outcome_of(run, name)}")
    if any(has_token(run.tokens, each) for each in run.of(name)):
        run.leaks.append(name)
        run.tell(f"{name:26} {LEAK}")


def has_token(tokens: Redactor, exchange: Exchange) -> bool:
    for name, value in exchange.headers.items():
        field = f"{name}: {value}"
        if tokens.text(field) != field:
            return True
    text = exchange.content.decode(errors="replace")
    return tokens.text(text) != text


def outcome_of(run: Run, name: str) -> str:
    """What came of a check, in a few words, and what failed before it was sent again."""
    claims: list[Claim] = []
    for exchange in run.judged:
        if exchange.name == name:
            claims += claims_of(run, exchange)
    if name in run.silent:
        outcome = ": ".join(run.silent[name])
    elif name == CANDIDATE.name:
        outcome = "no id of a deployment"
    elif all(claim.holds for claim in claims):
        outcome = "agrees"
    else:
        outcome = "differs"
    for exchange in run.of(name)[:-1]:
        if exchange.status >= 429:
            outcome += f"; sent again after a {exchange.status}"
    return outcome
