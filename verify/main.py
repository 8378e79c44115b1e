"""Judges the log of a service: what it shows, how it differs, and what of that is a finding."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from web.patterns import matches

from .checks import Check
from .drift import find_drift, is_note, list_lacking, write_drift_line
from .exchange import Log, ServiceExchange
from .infer import Inferred, infer_profile
from .inputs import Inputs
from .kinds import CREATE, LIST, NAME_PREFIX, NAMELESS, REJECTED
from .options import Options
from .parts import BROKEN, DIFFERS, give_verdict, judge_parts, name_purpose
from .places import Places, find_places
from .rules import BEARER, check_rules, name_operation
from .spellings import Secrets, secrets_of
from .unseen import NAMES, list_unseen
from .values import list_leaves

DRIFT, LEAKS, UNSEEN = "drift", "leaks", "unseen"
LEAK = "the response contains the token"

Finding = tuple[str, Check]
"""Its kind, such as `drift`, and the check that showed it."""


@dataclass(frozen=True)
class Result:
    """What a log has shown. `drift` is None without a profile, and `inferred` without --save."""

    log: Log
    places: Places
    secrets: Secrets
    parts: Sequence[Check]
    drift: Sequence[Check] | None
    lacking: Sequence[str]  # errors that the profile has, and nothing has shown
    leaks: Sequence[Check]  # the first of each purpose
    unseen: Sequence[Check]
    inferred: Inferred | None

    @property
    def findings(self) -> list[Finding]:
        """All of them; where a profile has the choices of the service, drift stands for those that
        differ from the contract.
        """
        found = [(DRIFT, check) for check in self.drifted]
        found += [(UNSEEN, check) for check in self.unseen]
        found += [(LEAKS, check) for check in self.leaks]
        return found + [(give_verdict(check), check) for check in self.differences]

    def select_findings(self, kinds: Collection[str], known: Sequence[str] = ()) -> list[Finding]:
        """Select those of some kinds that a team has not accepted.

        Where a response has drifted, what follows is no other finding.
        """
        chosen = select_unknown([each for each in self.findings if each[0] in kinds], known)
        drifted = {check.part.split("/")[1] for kind, check in chosen if kind == DRIFT}
        return [(kind, check) for kind, check in chosen if not follows(kind, check, drifted)]

    @property
    def drifted(self) -> list[Check]:
        return [check for check in self.drift or () if not is_note(check, self.places)]

    @property
    def notes(self) -> list[Check]:
        """What contradicts the profile, and may vary."""
        return [check for check in self.drift or () if is_note(check, self.places)]

    @property
    def differences(self) -> list[Check]:
        """The parts that are broken, and without a profile those that differ."""
        verdicts = (BROKEN, DIFFERS) if self.drift is None else (BROKEN,)
        return [check for check in self.parts if give_verdict(check) in verdicts]


def judge(log: Log, options: Options, inputs: Inputs, token: str) -> Result:
    """Judge a log, once. Raises `ValueError` if nothing in it can be judged."""
    hints = inputs.hints
    like = hints.profile
    secrets = secrets_of(log, token)
    places = find_places(log, hints)
    rules = check_rules(log, places)
    return Result(
        log=log,
        places=places,
        secrets=secrets,
        unseen=list_unseen(log, options.level, hints, places, rules.values()),
        parts=judge_parts(log, places, rules),
        drift=find_drift(like, log, places) if like else None,
        lacking=list_lacking(like, log) if like else [],
        leaks=[*find_leaks(log, secrets)],
        inferred=infer_profile(log, places, secrets, like) if options.save else None,
    )


def follows(kind: str, check: Check, drifted: set[str]) -> bool:
    """Whether a finding follows from the drift of an operation: a rule or a place in its body."""
    if kind == UNSEEN:
        return check.exchange is None and check.part in [NAMES[each] for each in drifted & {*NAMES}]
    is_of_rule = kind == BROKEN and check.part != BEARER
    return is_of_rule and check.exchange is not None and name_operation(check.exchange) in drifted


def find_leaks(log: Log, secrets: Secrets) -> Iterator[Check]:
    """Find the first response with the token of each purpose."""
    found = set()
    for exchange in log.exchanges:
        purpose = name_purpose(exchange)
        if purpose not in found and secrets.leak_in(exchange):
            found.add(purpose)
            yield Check(purpose, "no token", LEAK, exchange)


# Lines, and what a team accepts


def write_sentence(finding: Finding) -> str:
    """The sentence of a finding: `PART: EXPECTED here, OBSERVED there`."""
    kind, check = finding
    if kind == DRIFT:
        return write_drift_line(check)
    if kind in (UNSEEN, LEAKS):
        return f"{check.part}: {check.observed}"
    return f"{check.part}: {check.expected} here, {check.observed} there"


def write_line(finding: Finding) -> str:
    return f"{finding[0]}: {write_sentence(finding)}"


def select_unknown(findings: Sequence[Finding], known: Sequence[str]) -> list[Finding]:
    """Select the findings that a team has not accepted."""
    lines = [write_line(each) for each in findings]
    accepted = [any(matches(pattern, line) for pattern in known) for line in lines]
    return [each for each, is_known in zip(findings, accepted, strict=True) if not is_known]


def select_unused(findings: Sequence[Finding], known: Sequence[str]) -> list[str]:
    """Select the accepted ones that match no finding."""
    lines = [write_line(each) for each in findings]
    return [pattern for pattern in known if not any(matches(pattern, line) for line in lines)]


# What a run leaves


def left_behind(exchanges: Sequence[ServiceExchange]) -> list[dict[str, Any]]:
    """The id and the name of what the POSTs of a run may have created; None is not known.

    Without a valid token, only a success has.
    """
    lists = [each for each in exchanges if each.purpose == LIST and each.is_success]
    found = []
    for post in exchanges:
        may_have = post.purpose in (CREATE, REJECTED, NAMELESS) and not 400 <= post.status < 500
        if post.is_creation and post.purpose and (post.is_success or may_have):
            creation = replace(post, purpose=CREATE)
            places = find_places(Log("", (*lists[-1:], creation)))
            found.append({"id": places.created_id, "name": find_own_name(post)})
    return found


def find_own_name(post: ServiceExchange) -> str | None:
    """Find the name of our own in the body of a creation."""
    texts = [value for _, value in list_leaves(post.request_json) if isinstance(value, str)]
    return next((text for text in texts if text.startswith(NAME_PREFIX)), None)
