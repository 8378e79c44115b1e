"""Judges the log of a service: what it shows, how it differs, and what of that is a finding."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from profiles.openapi import Contract
from profiles.profile import Profile
from web.patterns import matches

from .compare import Compared, compare
from .drift import Drift, find_drift, unseen_parts
from .exchange import Exchange, Log
from .infer import Inferred, profile_of
from .inputs import Inputs
from .kinds import CREATE, DEPLOYMENT, LIST, NAME_PREFIX, OWN_MEMBER, REJECTED, kinds_of
from .observation import Observation
from .observe import observe
from .options import RECORDED, WRITE, Options
from .ours import expected_log
from .parts import (
    BROKEN,
    DIFFERS,
    Case,
    Part,
    failure_of,
    judge_parts,
    purpose_of,
)
from .rules import rules_of, why_nothing
from .script import own_contract
from .spellings import Secrets, secrets_of
from .values import scalars
from .way import Hints, Way, find_way

DRIFT = "drift"
LEAK = "the response contains the token"
NAMES = {LIST: "list", CREATE: "project", DEPLOYMENT: "deployment"}  # of what was not seen


@dataclass(frozen=True)
class Finding:
    """Something that a team may want to fail on, with the exchange that showed it.

    `about` is the kind of response that it is about.
    """

    kind: str
    text: str
    exchange: Exchange | None = None
    about: str = ""

    @property
    def line(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Result:
    """What a log has shown. `drift` is None without a profile, and `inferred` without --save."""

    log: Log
    seen: Observation
    secrets: Secrets
    contract: Contract
    parts: Sequence[Part]
    drift: Sequence[Drift] | None
    lacking: Sequence[str]  # what the profile has, and nothing has shown
    leaks: Mapping[str, Exchange]  # the first of each purpose
    unseen: Mapping[str, str]  # the reasons, by the kind of response that was to be seen
    inferred: Inferred | None

    @property
    def findings(self) -> list[Finding]:
        """All of them; where a profile has the choices of the service, drift stands for those that
        differ from the contract.
        """
        found = [Finding(DRIFT, each.line, each.exchange, each.kind) for each in self.drift_found]
        for kind, why in self.unseen.items():
            found.append(Finding("unseen", f"{NAMES[kind]}: {why}", about=kind))
        for purpose, exchange in self.leaks.items():
            found.append(Finding("leaks", f"{purpose}: {LEAK}", exchange))
        kinds = kinds_of(self.log)
        for part in self.differences:
            about = kinds.get(part.exchange, "") if part.exchange else ""
            found.append(Finding(part.verdict, part.sentence, part.exchange, about))
        return found

    def findings_of(self, kinds: Collection[str], known: Sequence[str] = ()) -> list[Finding]:
        """Those of some kinds that a team has not accepted.

        Where a response has drifted, what follows is no other finding.
        """
        chosen = unknown_of([each for each in self.findings if each.kind in kinds], known)
        drifted = {each.about for each in chosen if each.kind == DRIFT}
        return [each for each in chosen if each.kind == DRIFT or each.about not in drifted]

    @property
    def drift_found(self) -> list[Drift]:
        return [each for each in self.drift or () if each.is_finding]

    @property
    def differences(self) -> list[Part]:
        """The parts that are broken, and without a profile those that differ."""
        verdicts = (BROKEN, DIFFERS) if self.drift is None else (BROKEN,)
        return [part for part in self.parts if part.verdict in verdicts]


def judge(log: Log, options: Options, inputs: Inputs, token: str) -> Result:
    """Judge a log, once. Raises `ValueError` if nothing in it can be judged."""
    hints = inputs.hints
    secrets = secrets_of(log, token)
    way = find_way(log, hints)
    seen = observe(log, way)
    if not seen.templates:
        raise ValueError(f"nothing could be checked: {why_no_template(log)}")
    case = case_of(log, seen)
    drift = None
    lacking: list[str] = []
    if hints.profile:
        compared = compare(expected(hints.profile, sends_more(way)), seen)
        told = [each for each in compared if not has_failed(case, each.kind)]
        drift = find_drift(hints.profile, told)
        lacking = unseen_parts(hints.profile, seen)
    return Result(
        log=log,
        seen=seen,
        secrets=secrets,
        contract=case.contract,
        parts=list(judge_parts(case)),
        drift=drift,
        lacking=lacking,
        leaks=leaks_in(log, secrets),
        unseen=dict(unseen_of(case, options, hints)),
        inferred=profile_of(seen, log, secrets) if options.save else None,
    )


def leaks_in(log: Log, secrets: Secrets) -> dict[str, Exchange]:
    """The first response with the token of each purpose."""
    found: dict[str, Exchange] = {}
    for exchange in log.exchanges:
        purpose = purpose_of(exchange)
        if purpose not in found and secrets.leak_in(exchange):
            found[purpose] = exchange
    return found


def has_failed(case: Case, kind: str) -> bool:
    """Whether a kind of response could not be checked; an error of the service's own may be new."""
    template = case.seen.templates.get(kind)
    is_new = template is not None and kind.startswith("errors/") and template.status != 429
    return failure_of(case, kind) != "" and not is_new


def why_no_template(log: Log) -> str:
    failures = [each.failure for each in log.exchanges if each.failure]
    return failures[-1] if failures else "no response is one of this interface"


def case_of(log: Log, seen: Observation) -> Case:
    """The comparison with the plain stub, and what else the parts are judged by."""
    ours, places = expected_by_contract(sends_more(seen.way))
    return Case(
        contract=own_contract(),
        log=log,
        seen=seen,
        compared=compare(ours, seen),
        ours=places,
        rules=rules_of(log, seen.way),
    )


@cache
def expected_by_contract(sends_own_member: bool) -> tuple[Observation, list[Compared]]:
    """What the script sees of the plain stub, and all places that it could see."""
    ours = expected(None, sends_own_member)
    return ours, compare(ours, ours)


@cache
def expected(like: Profile | None, sends_own_member: bool) -> Observation:
    """What the script sees of the stub: the same for each log."""
    log = expected_log(like, sends_more=sends_own_member)
    read = [each.deployment_id for each in log.exchanges if each.purpose == DEPLOYMENT]
    return observe(log, find_way(log, Hints(deployment=read[0], profile=like)))


def sends_more(way: Way) -> bool:
    """Whether the creation had the member of our own beside the name."""
    return way.creation is not None and OWN_MEMBER.encode() in way.creation.body


# What was not seen


def unseen_of(case: Case, options: Options, hints: Hints) -> Iterator[tuple[str, str]]:
    """The kinds of response that a run should have seen and has not, with the reason.

    A recording has what it has: what failed in it counts if the profile has it. Without a created
    project its deployment is not missed.
    """
    way = case.seen.way

    def is_known(kind: str) -> bool:
        return hints.profile is not None and hints.profile.form(kind) is not None

    def is_missed(kind: str) -> bool:
        return is_known(kind) and has_failed(case, kind)

    is_asked = is_known(LIST) and options.level != RECORDED
    if not way.lists and (is_asked or is_missed(LIST)):
        yield LIST, reason_of(case, LIST) or "no list was read"
    if not way.creation and (options.level == WRITE or is_missed(CREATE)):
        yield CREATE, why_no_creation(case)
    has_created = options.level == WRITE and way.creation is not None
    may_be_read = not hints.profile or is_known(DEPLOYMENT) or bool(asked_of(case, DEPLOYMENT))
    is_asked = hints.deployment != "" or (has_created and may_be_read)
    if not has_read_deployment(way, hints) and (is_asked or is_missed(DEPLOYMENT)):
        yield DEPLOYMENT, why_no_deployment(case, hints)


def has_read_deployment(way: Way, hints: Hints) -> bool:
    """Whether the named deployment was read, or else that of the created project."""
    read = [each.deployment_id for each in way.followed if way.is_own]
    return hints.deployment in read if hints.deployment else bool(read)


def why_no_creation(case: Case) -> str:
    asked = asked_of(case, CREATE)
    advice = ""
    if asked and asked[-1].status in (400, 422):
        advice = "; give --body FILE with what the service asks for"
    return f"no project was created: {reason_of(case, CREATE) or 'none was asked for'}{advice}"


def why_no_deployment(case: Case, hints: Hints) -> str:
    reason = reason_of(case, DEPLOYMENT)
    if hints.deployment:
        return f"{hints.deployment} was not read: {reason or 'it was not asked for'}"
    if case.seen.way.followed:
        return "that of the created project was not read"
    return f"no deployment was read: {reason or 'no response names one; give --deployment ID'}"


def reason_of(case: Case, kind: str) -> str:
    """Why the last response of a kind says nothing, "" if nothing was asked."""
    asked = asked_of(case, kind)
    return why_nothing(asked[-1]) or asked[-1].reason if asked else ""


def asked_of(case: Case, purpose: str) -> list[Exchange]:
    return [each for each in case.log.exchanges if each.purpose == purpose]


# What a team accepts, and what a run leaves


def unknown_of(findings: Sequence[Finding], known: Sequence[str]) -> list[Finding]:
    """The findings that a team has not accepted."""
    return [each for each in findings if not any(matches(line, each.line) for line in known)]


def unused_of(findings: Sequence[Finding], known: Sequence[str]) -> list[str]:
    """The accepted ones that match no finding."""
    return [line for line in known if not any(matches(line, each.line) for each in findings)]


def left_behind(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """The id and the name of what the POSTs of a run may have created; None is not known.

    Without a valid token, only a success has.
    """
    lists = [each for each in exchanges if each.purpose == LIST and each.is_success]
    found = []
    for post in exchanges:
        may_have = post.purpose in (CREATE, REJECTED) and not 400 <= post.status < 500
        if post.is_creation and post.purpose and (post.is_success or may_have):
            creation = replace(post, purpose=CREATE)
            way = find_way(Log("", (*lists[-1:], creation)))
            found.append({"id": way.created_id, "name": name_sent(post)})
    return found


def name_sent(post: Exchange) -> str | None:
    """The name of our own in the body of a creation."""
    texts = [value for _, value in scalars(post.sent_json) if isinstance(value, str)]
    return next((text for text in texts if text.startswith(NAME_PREFIX)), None)
