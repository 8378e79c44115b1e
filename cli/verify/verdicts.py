"""The verdict of each part of the contract, from what all responses say of it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import stub
from web.validation import pointer as json_pointer

from .exchange import Exchange
from .judge import COULD_NOT_CHECK, ERRORS, NOT_SEEN, Claim, claims_of, silence_of
from .probes import BEARER, INVALID_BODY, LEVELS, NEEDS, Probe
from .run import LISTS, Run

LEAK = "the response contains the token"
VERDICTS = ("kept", "broken", "confirmed", "differs", NOT_SEEN, COULD_NOT_CHECK)


class Part(NamedTuple):
    """A part and its verdict. A difference has the exchange that showed it, and its value there."""

    part: str
    origin: str  # fixed or chosen
    verdict: str = NOT_SEEN
    expected: str = ""
    observed: str = ""
    reason: str = ""
    probe: str = ""
    value: str = ""
    exchange: Exchange | None = None

    def as_json(self) -> dict[str, str]:
        """What the report has of it."""
        members = self._asdict()
        del members["value"], members["exchange"]
        return members


def judge_parts(run: Run) -> list[Part]:
    """The parts of the contract with their verdicts, in its order."""
    claims = [(claim, each) for each in run.judged for claim in claims_of(run, each)]
    witnesses = witnesses_of(run)
    found = []
    for pointer, origins in dict(parts_in(run.contract, "#")).items():
        (origin,) = origins
        seen = [each for each in claims if each[0].part == pointer]
        found.append(judge_part(run, Part(pointer, origin), seen, witnesses.get(pointer, [])))
    return found


def witnesses_of(run: Run) -> dict[str, list[Probe]]:
    """The probes that can show a part, by the part."""
    errors = dict(parts_in(run.contract, ERRORS)).keys()
    found: dict[str, list[Probe]] = {}
    for probe in run.probes:
        shown = {*probe.rules}
        if probe.expects:
            shown |= dict(parts_in(run.contract, probe.expects)).keys()
        if probe.expects != INVALID_BODY:
            shown -= errors
        for part in shown:
            found.setdefault(part, []).append(probe)
    return found


def judge_part(
    run: Run, part: Part, seen: list[tuple[Claim, Exchange]], witnesses: list[Probe]
) -> Part:
    """The part with its verdict: one contradiction outweighs many agreements."""
    against = [each for each in seen if not each[0].holds]
    if part.part == BEARER and not against:  # which every operation has to show
        names = [exchange.probe.name for _, exchange in seen]
        witnesses = [each for each in witnesses if each.name not in names]
        seen = [] if witnesses else seen
    if not seen:
        return why_not_seen(run, part, witnesses)
    if against:
        claim, exchange = against[0]
        return part._replace(
            verdict="broken" if part.origin == "fixed" else "differs",
            expected="; ".join(dict.fromkeys(each.expected for each, _ in against)),
            observed="; ".join(sorted({each.otherwise for each, _ in against})),
            probe=exchange.probe.name,
            value=claim.value,
            exchange=exchange,
        )
    claim, exchange = seen[0]
    return part._replace(
        verdict="kept" if part.origin == "fixed" else "confirmed",
        expected=claim.expected,
        observed=claim.expected,
        probe=exchange.probe.name,
    )


def why_not_seen(run: Run, part: Part, witnesses: list[Probe]) -> Part:
    """The part with the reason and the probe that could have shown it: one that failed, if any."""
    reason, probe = "cannot be provoked by a well-formed request", ""
    verdict = NOT_SEEN
    for rank, each in enumerate(sorted(witnesses, key=lambda each: rank_of(run, each))):
        found = run.silent.get(each.name, (NOT_SEEN, "no response had it"))
        if rank == 0 or (found[0] == COULD_NOT_CHECK != verdict):
            (verdict, reason), probe = found, each.name
    return part._replace(verdict=verdict, reason=reason, probe=probe)


def rank_of(run: Run, probe: Probe) -> tuple[int, bool, int]:
    """The order of the probes: those of the lowest level that was not asked come last."""
    level = LEVELS.index(probe.level)
    asked = 0 if run.is_recorded else LEVELS.index(run.level)
    return (max(level, asked), probe.name not in run.silent, level)


def parts_in(contract: stub.Contract, pointer: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The parts at a pointer and below, behind `$ref` too, with their origins.

    A part may come more than once. Those of the stub alone do not come.
    """
    pointer, node = contract.find(pointer)
    members: dict[Any, Any] = dict(enumerate(node)) if isinstance(node, list) else node
    if "x-origin" in members:
        yield pointer, members["x-origin"]
    for name, value in members.items():
        is_part = name not in ("x-origin", "examples", "links") and isinstance(value, dict | list)
        if is_part and "x-stub-only" not in value:
            yield from parts_in(contract, f"{pointer}{json_pointer(name)}")


def conclude(
    run: Run, probe: Probe, exchanges: list[Exchange], tell: Callable[[str], None]
) -> None:
    """Note what a probe has shown, if it was asked: these exchanges say something of its parts."""
    if probe.name in LISTS:
        run.look()
    run.judged += exchanges
    run.concluded.append(probe.name)
    silence = silence_of(run, exchanges[-1]) if exchanges else (NOT_SEEN, NEEDS[probe.needs])
    if silence:
        run.silent[probe.name] = silence
    tell(f"{probe.name:26} {outcome_of(run, probe.name)}")
    sent = run.of(probe.name)
    if any(has_token(run, each) for each in sent):
        run.leaks.append(probe.name)
        tell(f"{probe.name:26} {LEAK}")


def has_token(run: Run, exchange: Exchange) -> bool:
    """Whether a response contains the token."""
    fields = [f"{name}: {value}" for name, value in exchange.headers.items()]
    texts = [*fields, exchange.content.decode(errors="replace")]
    return any(run.tokens.text(text) != text for text in texts)


def outcome_of(run: Run, name: str) -> str:
    """What came of a probe, in a few words."""
    sent = run.of(name)
    failed = "".join(f"; once {each.status}" for each in sent[:-1] if each.status >= 429)
    if name in run.silent:
        return ": ".join(run.silent[name]) + failed
    judged = [each for each in run.judged if each.probe.name == name]
    if not any(each.probe.expects for each in judged):
        return f"no id of a deployment{failed}"
    claims = [claim for each in judged for claim in claims_of(run, each)]
    return ("agrees" if all(each.holds for each in claims) else "differs") + failed
