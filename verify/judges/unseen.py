"""Finds the aims of a run that it did not see: silence is a finding."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator

from traffic.json_values import Path, walk
from web.validation import format_pointer

from ..options import READ, RECORDED, WRITE
from ..seen import kinds
from ..seen.hints import Hints
from ..seen.inspection import find_value, is_id, list_leaves
from ..seen.places import Places
from ..seen.service_log import Log, ServiceExchange
from ..seen.strangers import Strangers
from .checks import Check
from .parts import load_contract

NAMES = {kinds.LIST: "list", kinds.CREATE: "project", kinds.DEPLOYMENT: "deployment"}


def list_unseen(
    log: Log,
    level: str,
    hints: Hints,
    places: Places,
    strangers: Strangers,
    rules: Collection[Check],
) -> list[Check]:
    """List the aims of a run that it did not see, with the reasons.

    A script must see its steps. A recording must see the operations that it sent, and the
    operations of the profile. Raises `ValueError` if it saw nothing, and no rule is broken.
    """
    judge = UnseenJudge(log, level, hints, places, strangers)
    if not judge.seen and not any(rule.fails for rule in rules):
        raise ValueError(f"nothing could be checked: {describe_last(log)}")
    return [*judge.check_all()]


class UnseenJudge:
    """Checks whether a run saw its aims."""

    def __init__(
        self, log: Log, level: str, hints: Hints, places: Places, strangers: Strangers
    ) -> None:
        self._log = log
        self._level = level
        self._hints = hints
        self._places = places
        self._strangers = strangers
        self._sent = group_by_operation(log)
        self._failed = {kind: find_failed(self._sent[kind], kind) for kind in kinds.OPERATIONS}
        self.seen = [
            kind for kind in kinds.OPERATIONS if self._sent[kind] and not self._failed[kind]
        ]

    def check_all(self) -> Iterator[Check]:
        """Return checks of the aims that the run did not see."""
        for kind in self._list_aims():
            if kind not in self.seen:
                yield self._report_missing(kind)
        if kinds.DEPLOYMENT in self.seen:
            yield from self._check_followed()
        if kinds.LIST in self.seen:
            yield from self._check_list()
        for kind in self.seen:
            yield from self._check_last_record(kind)
        for kind, advice, candidates in self._places.doubts:
            if kind in self.seen:
                more = f"; seen: {self._strangers.mask(candidates)}" if candidates else ""
                yield make_unseen(NAMES[kind], advice + more, None)
        if self._level != RECORDED:
            yield from self._check_steps()
        if kinds.DEPLOYMENT in self.seen:
            yield from self._check_end()

    def _list_aims(self) -> list[str]:
        """List the operations that the run must see."""
        given = self._hints.deployment
        if self._level == RECORDED:
            like = self._hints.profile
            found = [each for each in kinds.OPERATIONS if like and like.form(each)]
            found += [kinds.DEPLOYMENT] if given else []
            return [each for each in kinds.OPERATIONS if each in found or self._sent[each]]
        if self._level != WRITE:
            return [kinds.LIST, kinds.DEPLOYMENT]
        # Without a project there is no deployment to see.
        if self._places.creation or given or self._sent[kinds.DEPLOYMENT]:
            return [*kinds.OPERATIONS]
        return [kinds.LIST, kinds.CREATE]

    def _report_missing(self, kind: str) -> Check:
        """Report an operation that was not seen: `no project was created: 500`."""
        given = self._hints.deployment
        exchange = self._failed[kind]
        reason = kinds.find_defect(exchange, kind) if exchange else "no request was sent"
        if kind == kinds.CREATE and exchange is None:
            reason = "no project was created: no request asked for it, or its body was rejected"
        elif kind == kinds.CREATE:
            reason = f"no project was created: {reason}"
            if exchange and exchange.status in (400, 422):
                reason += "; give --body FILE with what the service asks for, and the text {name}"
        elif kind == kinds.DEPLOYMENT and given:
            reason = f"--deployment {given} was not read: {reason}"
        elif kind == kinds.DEPLOYMENT and exchange is None:
            line = '"create": {"body": {"MEMBER": "{deployment.id}"}}'
            advice = {
                READ: "give --deployment ID, or --write",
                WRITE: f"give --deployment ID, or --like FILE with {line}",
                RECORDED: "no request read the deployment",
            }
            reason = f"no response names a deployment; {advice[self._level]}"
        return make_unseen(NAMES[kind], reason, exchange)

    def _check_followed(self) -> Iterator[Check]:
        """Check that the run read the given deployment, or that of the created project."""
        given = self._hints.deployment
        places = self._places
        read = [each.deployment_id for each in places.followed if places.is_own]
        if given and given not in read:
            yield make_unseen("deployment", f"--deployment {given} was not read", None)
        elif self._level == WRITE and places.creation and not read:
            reason = "the deployment of the created project was not read"
            yield make_unseen("deployment", reason, None)

    def _check_list(self) -> Iterator[Check]:
        """Check that the lists have their array, and the last the created project if it is newer.

        A list without projects may have null or `{}` in place of the array. An earlier list may
        lack the member, if it has no other array with items. A deletion, or a further page, may
        take the created project from the list again.
        """
        places = self._places
        last = self._sent[kinds.LIST][-1]
        path = places.items_path
        if path is None:
            # A doubt says that the place of the array is not certain.
            if not any(doubt.kind == kinds.LIST for doubt in places.doubts):
                has_any = any(isinstance(value, list) for _, value in walk(last.body))
                what = "no array of projects" if has_any else "no array"
                yield make_unseen("list", f"{what} is in it", last)
            return
        place = self._strangers.mask(format_pointer(*path)) or "the top"
        if not has_array(last, path):
            yield make_unseen("list", f"no array is at {place} any more", last)
            return
        if places.creation and last.time > places.creation.time and places.latest_item is None:
            yield make_unseen("list", "the created project is not in it", last)
        elif places.latest_item is not None and self._loses_created(last):
            yield make_unseen("list", "the created project is not in it any more", last)
        for exchange in places.lists:
            arrays = [value for _, value in walk(exchange.body) if isinstance(value, list)]
            if any(arrays) and not has_array(exchange, path):
                yield make_unseen("list", f"its array is not always at {place}", exchange)
                return

    def _loses_created(self, last: ServiceExchange) -> bool:
        """Return whether the last list lacks the created project without a reason.

        A request may have removed it, and a list of another user may never have had it.
        """
        places = self._places
        is_listed = places.get_created_item(last) is not None
        if is_listed or not places.creation or self._log.has_change_after(places.creation):
            return False
        earlier = [each for each in places.lists if places.get_created_item(each) is not None][-1]
        is_shorter = len(places.list_items(last)) < len(places.list_items(earlier))
        is_same_request = [*last.request_fields] == [*earlier.request_fields]
        return self._level == WRITE or (is_shorter and is_same_request)

    def _check_last_record(self, kind: str) -> Iterator[Check]:
        """Check that the last response has a member of each earlier record.

        Without one it is another document. An error is no record, and a list may be empty.
        """
        *earlier, last = [each for each in self._sent[kind] if each.is_success]
        found = self._find_members(kind, last)
        if kind == kinds.LIST and not self._places.list_items(last):
            return
        known = [self._find_members(kind, exchange) for exchange in earlier]
        if any(members and members.isdisjoint(found) for members in known):
            yield make_unseen(NAMES[kind], "no member of an earlier record is in it", last)

    def _find_members(self, kind: str, exchange: ServiceExchange) -> set[Path]:
        """Find the members of records that have a text or an integer: `{("id",)}`."""
        records = self._places.list_items(exchange) if kind == kinds.LIST else [exchange.body]
        return {path for record in records for path, value in list_leaves(record) if is_id(value)}

    def _check_steps(self) -> Iterator[Check]:
        """Check the steps of a script beside the operations: `list without a token`."""
        last = {}
        for exchange in self._log.exchanges:
            if exchange.purpose not in (kinds.SOUGHT, kinds.REPEATED, *kinds.OPERATIONS):
                last[exchange.purpose] = exchange
        for purpose, exchange in last.items():
            kind = kinds.find_asked_kind(exchange) or "errors/"
            reason = kinds.find_defect(exchange, kind)
            if purpose == kinds.NAMELESS:
                reason = self._find_nameless_defect(exchange)
            if reason:
                yield make_unseen(purpose, reason, exchange)

    def _find_nameless_defect(self, exchange: ServiceExchange) -> str:
        """Find the reason why a creation without a name was not accepted and not rejected: `401`.

        An accepted one has a member of the record with a name: `{"errors": []}` has none.
        """
        if exchange.status in kinds.REJECTIONS:
            return exchange.failure
        members = self._find_members(kinds.CREATE, self._sent[kinds.CREATE][-1])
        is_other = members and members.isdisjoint(self._find_members(kinds.CREATE, exchange))
        if exchange.is_success and is_other:
            return f"{exchange.status}, but no member of an earlier record is in it"
        return kinds.find_defect(exchange, kinds.CREATE)

    def _check_end(self) -> Iterator[Check]:
        """Check that the created deployment ended, with the further statuses of the profile."""
        places = self._places
        words = [word for word in places.words if word]
        if not words or places.creation is None:
            return
        last = words[-1]
        like = self._hints.profile
        missing = []
        advice = ""
        if like and like.statuses:
            run = [*like.run]
            start = run.index(last) + 1 if last in run else 0
            missing = [f"the status {word}" for word in run[start:] if word not in words]
            if last in like.running and not missing:
                missing = ["its end"]
        elif last.lower() in load_contract().running:
            missing = ["its end"]
        elif {*words} == {last} and self._level == WRITE and not is_known_end(last):
            missing = ["its end"]
            line = f'"statuses": {{"run": [{json.dumps(self._strangers.mask(last))}]}}'
            advice = f"; give a longer --wait, or if that is its end, --like FILE with {line}"
        for what in missing:
            reason = f"the deployment stayed {self._strangers.mask(last)}{advice}"
            yield make_unseen(f"deployment: {what}", reason, places.followed[-1])


def is_known_end(status: str) -> bool:
    """Return whether a status ends a deployment in the contract: `SUCCEEDED`, but not `LIVE`."""
    return status.lower() in load_contract().ends


def has_array(exchange: ServiceExchange, path: Path) -> bool:
    """Return whether a body has an array, or what some languages write for an empty member."""
    value = find_value(exchange.body, path)
    return isinstance(value, list) or (path != () and value in (None, {}))


def make_unseen(what: str, reason: str, exchange: ServiceExchange | None) -> Check:
    return Check(what, "seen", reason, exchange)


def group_by_operation(log: Log) -> dict[str, list[ServiceExchange]]:
    """Group the requests with a token by the operation: `{"list": [...]}`.

    A rejected token counts, if the recording has no accepted token for the operation. Candidates,
    repeated requests and rejected bodies are left out.
    """
    responses = kinds.find_kinds(log)
    accepted = {
        kinds.name_operation(each) for each in log.exchanges if each.is_success and each.token
    }
    groups: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange in log.exchanges:
        kind = responses.get(exchange, "")
        operation = kinds.name_operation(exchange)
        if exchange.purpose:
            is_own = exchange.purpose == operation
        elif kind in kinds.TOKEN_ERRORS:
            is_own = exchange.token != "" and operation not in accepted
        else:
            is_own = kind == operation
        if is_own and operation:
            groups[operation].append(exchange)
    return groups


def find_failed(exchanges: list[ServiceExchange], kind: str) -> ServiceExchange | None:
    """Find a last response that shows nothing, by path; a creation has one path."""
    last = {each.path if kind != kinds.CREATE else "": each for each in exchanges}
    failed = [each for each in last.values() if kinds.find_defect(each, kind)]
    return failed[-1] if failed else None


def describe_last(log: Log) -> str:
    """Describe why a log shows nothing, by its last request with a token: `timed out`."""
    operations = [each for each in log.exchanges if kinds.name_operation(each)]
    if not operations:
        return "no request belongs to this interface"
    plain = ("", *kinds.OPERATIONS)  # A recorded request has no purpose.
    with_token = [each for each in operations if each.token and each.purpose in plain]
    last = with_token[-1] if with_token else operations[-1]
    reason = kinds.find_defect(last, kinds.name_operation(last))
    return reason or "no operation has a good last response"
