"""Judges the log of a service, and selects the findings."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from traffic.secrets import Secrets
from web.patterns import matches

from .inputs import Inputs
from .judges import drift, parts, rules, unseen
from .judges.checks import Check
from .learn import infer
from .options import VerifyOptions
from .seen.find_places import find_places
from .seen.hints import Hints
from .seen.kinds import find_kinds
from .seen.places import Places
from .seen.secrets import find_secrets, has_token
from .seen.service_log import Log
from .seen.strangers import Strangers

DRIFT, LEAKS, UNSEEN = "drift", "leaks", "unseen"


class VerifyFinding(NamedTuple):
    """A finding: its kind, like `broken`, and the check that showed it.

    A broken part that has also drifted from the profile has the check of the `drift`.
    """

    kind: str
    check: Check
    drift: Check | None = None

    @property
    def line(self) -> str:
        """The line for people and for --known: `drift: /list/status: 200 in the profile, ...`."""
        check = self.check
        if self.kind == DRIFT:
            return f"{DRIFT}: {drift.write_drift_line(check)}"
        if self.kind in (UNSEEN, LEAKS):
            return f"{self.kind}: {check.part}: {check.observed}"
        seen = f"{check.expected} in the contract, {check.observed} in the service"
        line = f"{self.kind}: {check.part}: {seen}"
        return f"{line}; {DRIFT}: {drift.write_drift_line(self.drift)}" if self.drift else line

    def is_known(self, patterns: Sequence[str]) -> bool:
        """Return whether a team has accepted the finding by a pattern like `drift: /list/*`."""
        return any(matches(pattern, self.line) for pattern in patterns)


@dataclass(frozen=True)
class Result:
    """The checks of a log. `drift` is None without a profile, and `inferred` without --save.

    `lacking` are the kinds of responses that the profile has and the log lacks:
    `errors/name_taken`. `leaks` has one leak for each purpose of requests.
    """

    log: Log
    hints: Hints
    places: Places
    secrets: Secrets
    strangers: Strangers
    parts: Sequence[Check]
    drift: Sequence[Check] | None
    lacking: Sequence[str]
    leaks: Sequence[Check]
    unseen: Sequence[Check]
    inferred: infer.Inferred | None

    @property
    def findings(self) -> list[VerifyFinding]:
        """All findings. With a profile there is drift instead of differences from the contract."""
        found = [VerifyFinding(DRIFT, check) for check in self.drifted]
        found += [VerifyFinding(UNSEEN, check) for check in self.unseen]
        found += [VerifyFinding(LEAKS, check) for check in self.leaks]
        for check in self.parts:
            verdict = parts.give_verdict(check)
            is_difference = verdict == parts.DIFFERS and self.drift is None
            if verdict == parts.BROKEN or is_difference:
                found.append(VerifyFinding(verdict, check))
        return found

    def select_findings(
        self, kinds: Collection[str], known: Sequence[str] = ()
    ) -> list[VerifyFinding]:
        """Select the findings of these kinds, without those that a team has accepted; join them.

        A pattern may match a finding alone, or the joined line: it is tried before and after.
        """
        chosen = [each for each in self.findings if each.kind in kinds and not each.is_known(known)]
        return [each for each in self.join_findings(chosen) if not each.is_known(known)]

    def select_unused(self, known: Sequence[str]) -> list[str]:
        """Select the patterns of a team that match no finding."""
        findings = [*self.findings, *self.join_findings(self.findings)]
        return [each for each in known if not any(finding.is_known([each]) for finding in findings)]

    def join_findings(self, findings: Sequence[VerifyFinding]) -> list[VerifyFinding]:
        """Report a cause once.

        A broken part is joined with its drift, and the doubts about places in an operation that has
        drifted are dropped.
        """
        drifts = [each.check for each in findings if each.kind == DRIFT]
        drifted = {check.part.split("/")[1] for check in drifts}
        responses = find_kinds(self.log)
        found = []
        for finding in findings:
            check = finding.check
            if finding.kind == parts.BROKEN and check.exchange:
                kind = responses.get(check.exchange, "")
                finding = finding._replace(drift=find_same_drift(check, kind, drifts))
            found.append(finding)
        joined = [each.drift for each in found if each.drift]
        return [
            each
            for each in found
            if each.check not in joined and not is_uncertain_place(each, drifted)
        ]

    @property
    def drifted(self) -> list[Check]:
        return [check for check in self.drift or () if not drift.is_variation(check, self.places)]

    @property
    def variations(self) -> list[Check]:
        """The differences from the profile that are not findings, like null."""
        return [check for check in self.drift or () if drift.is_variation(check, self.places)]


def judge(log: Log, options: VerifyOptions, inputs: Inputs, token: str) -> Result:
    """Judge a log. Raises `ValueError` if nothing in it can be judged."""
    hints = inputs.hints
    like = hints.profile
    secrets = find_secrets(log, token)
    places = find_places(log, hints)
    fixed = rules.check_rules(log, places)
    strangers = Strangers(log, places, like)
    judged = parts.judge_parts(log, places, fixed, hints.deployment)
    return Result(
        log=log,
        hints=hints,
        places=places,
        secrets=secrets,
        strangers=strangers,
        unseen=unseen.list_unseen(log, options.level, hints, places, strangers, fixed.values()),
        parts=mask_checks(judged, strangers),
        drift=mask_checks(drift.find_drift(like, log, places), strangers) if like else None,
        lacking=drift.list_lacking(like, log) if like else [],
        leaks=[*find_leaks(log, secrets)],
        inferred=(
            infer.infer_profile(log, places, secrets, strangers, like) if options.save else None
        ),
    )


def mask_checks(checks: Iterable[Check], strangers: Strangers) -> list[Check]:
    """Mask the names and ids of others in the texts of broken checks."""
    return [
        check
        if check.holds
        else replace(
            check,
            expected=strangers.mask(check.expected),
            observed=strangers.mask(check.observed),
        )
        for check in checks
    ]


def is_uncertain_place(finding: VerifyFinding, operations: Collection[str]) -> bool:
    """Return whether a finding is an uncertain place in a response of one of the operations."""
    names = [unseen.NAMES[each] for each in operations if each in unseen.NAMES]
    check = finding.check
    return finding.kind == UNSEEN and check.exchange is None and check.part in names


def find_same_drift(broken: Check, kind: str, drifts: Sequence[Check]) -> Check | None:
    """Find the drift of a broken part in responses of its kind.

    It is in a member of the body, or else in the body or the status.
    """
    for check in drifts:
        if check.part.startswith(f"/{kind}/body/") and check.observed == broken.observed:
            return check
    for check in drifts:
        if check.part in (f"/{kind}/body", f"/{kind}/status"):
            return check
    return None


def find_leaks(log: Log, secrets: Secrets) -> Iterator[Check]:
    """Find one response with a token for each purpose of requests."""
    found = set()
    for exchange in log.exchanges:
        purpose = parts.name_purpose(exchange)
        if purpose not in found and has_token(exchange, secrets):
            found.add(purpose)
            yield Check(purpose, "no token", "the response contains the token", exchange)
