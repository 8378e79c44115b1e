"""What a run set out to see, and has not: silence is a finding."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from profiles.profile import Profile
from web.validation import format_pointer

from .checks import Check
from .exchange import Log, ServiceExchange
from .kinds import (
    CREATE,
    DEPLOYMENT,
    LIST,
    OPERATIONS,
    REPEATED,
    SOUGHT,
    TOKEN_ERRORS,
    explain_nothing,
    find_asked_kind,
    find_kinds,
    name_operation,
)
from .options import RECORDED, WRITE
from .parts import load_contract
from .places import Hints, Places
from .values import find_value

NAMES = {LIST: "list", CREATE: "project", DEPLOYMENT: "deployment"}


def list_unseen(
    log: Log, level: str, hints: Hints, places: Places, rules: Collection[Check]
) -> list[Check]:
    """List what was to be seen and is not, each with the reason of its last response.

    A script is to see its steps; a recording what was asked, and what the profile has.
    Raises `ValueError` if nothing at all was seen, and no rule is broken.
    """
    asked = group_by_operation(log)
    bad = {kind: find_bad(asked[kind], kind) for kind in OPERATIONS}
    is_seen = [kind for kind in OPERATIONS if asked[kind] and bad[kind] is None]
    if not is_seen and all(check.holds or not check.observed for check in rules):
        raise ValueError(f"nothing could be checked: {describe_last(log)}")
    found = []
    for kind in list_aims(level, hints.profile, asked, places, hints):
        exchange = bad[kind] if asked[kind] else None
        if not asked[kind] or exchange:
            reason = describe_missing(kind, exchange, hints)
            found.append(make_unseen(NAMES[kind], reason, exchange))
        else:
            found += check_created(kind, level, hints, places)
    if LIST in is_seen:
        found += check_list(asked[LIST], places)
    for kind, doubt in places.doubts:
        if kind in is_seen:
            found.append(make_unseen(NAMES[kind], doubt, None))
    if level != RECORDED:
        found += check_steps(log)
    if DEPLOYMENT in is_seen:
        found += check_end(hints.profile, places)
    return found


def make_unseen(what: str, reason: str, exchange: ServiceExchange | None) -> Check:
    return Check(what, "seen", reason, exchange)


def group_by_operation(log: Log) -> dict[str, list[ServiceExchange]]:
    """Group the requests with the token by their operation, also those that were rejected for it.

    What was only tried, or sent again, is not among them, nor a body that is rejected as such.
    """
    kinds = find_kinds(log)
    groups: dict[str, list[ServiceExchange]] = defaultdict(list)
    for exchange in log.exchanges:
        kind = kinds.get(exchange, "")
        operation = name_operation(exchange)
        is_of_token = kind in TOKEN_ERRORS and not exchange.purpose and exchange.token != ""
        if exchange.purpose:
            is_own = exchange.purpose == operation
        else:
            is_own = kind == operation or (is_of_token and not has_accepted(log, exchange))
        if is_own and operation:
            groups[operation].append(exchange)
    return groups


def has_accepted(log: Log, exchange: ServiceExchange) -> bool:
    """Whether another token than that of a recorded request is accepted for its operation."""
    operation = name_operation(exchange)
    return any(
        each.is_success and each.token and name_operation(each) == operation
        for each in log.exchanges
    )


def find_bad(exchanges: list[ServiceExchange], kind: str) -> ServiceExchange | None:
    """Find a last response that shows nothing: of each path, or of all creations."""
    last = {each.path if kind != CREATE else "": each for each in exchanges}
    bad = [each for each in last.values() if explain_nothing(each, kind)]
    return bad[-1] if bad else None


def list_aims(
    level: str,
    like: Profile | None,
    asked: dict[str, list[ServiceExchange]],
    places: Places,
    hints: Hints,
) -> list[str]:
    """List the operations that are to be seen."""
    if level == RECORDED:
        return [kind for kind in OPERATIONS if asked[kind] or (like and like.form(kind))]
    if level != WRITE:
        return [LIST, DEPLOYMENT]
    # Without a created project its deployment is not missed.
    has_deployment = places.creation or hints.deployment or asked[DEPLOYMENT]
    return [LIST, CREATE, DEPLOYMENT] if has_deployment else [LIST, CREATE]


def describe_missing(kind: str, exchange: ServiceExchange | None, hints: Hints) -> str:
    reason = explain_nothing(exchange, kind) if exchange else "no request was sent"
    if kind == CREATE and exchange is None:
        return "no project was created: none was asked for, or each was rejected for its body"
    if kind == CREATE:
        is_of_body = exchange is not None and exchange.status in (400, 422)
        advice = "; give --body FILE with what the service asks for" if is_of_body else ""
        return f"no project was created: {reason}{advice}"
    if kind == DEPLOYMENT and hints.deployment:
        return f"{hints.deployment} was not read: {reason}"
    if kind == DEPLOYMENT and exchange is None:
        line = '"create": {"body": {"MEMBER": "{deployment.id}"}}'
        return f"no response names one; give --deployment ID, or --like FILE with {line}"
    return reason


def check_created(kind: str, level: str, hints: Hints, places: Places) -> Iterator[Check]:
    """Check that the read deployment is the named one, or that of the created project."""
    if kind != DEPLOYMENT or level != WRITE:
        return
    read = [each.deployment_id for each in places.followed if places.is_own]
    if hints.deployment and hints.deployment not in read:
        yield make_unseen("deployment", f"{hints.deployment} was not read", None)
    elif places.creation and not read:
        yield make_unseen("deployment", "that of the created project was not read", None)


def check_list(lists: list[ServiceExchange], places: Places) -> Iterator[Check]:
    """Check that the last list has its array, and a list since the creation its project."""
    last = lists[-1]
    path = places.items_path
    items = find_value(last.seen, path)
    if path is not None and not isinstance(items, list):
        yield make_unseen(
            "list", f"no array is at {format_pointer(*path) or 'the top'} any more", last
        )
    creation = places.creation
    is_later = creation is not None and last.sent_at > creation.sent_at
    if is_later and isinstance(items, list) and places.latest_item is None:
        yield make_unseen("list", "the created project is not in it", last)


def check_steps(log: Log) -> Iterator[Check]:
    """Check the steps of a script that are no operation: what is unknown, and without a token."""
    last = {}
    for exchange in log.exchanges:
        if exchange.purpose not in (SOUGHT, REPEATED, *OPERATIONS):
            last[exchange.purpose] = exchange
    for purpose, exchange in last.items():
        reason = explain_nothing(exchange, find_asked_kind(exchange) or "errors/")
        if reason:
            yield make_unseen(purpose, reason, exchange)


def check_end(like: Profile | None, places: Places) -> Iterator[Check]:
    """Check that the created deployment has run to its end: what comes after it is not seen."""
    words = [word for word in places.words if word]
    if not words or places.creation is None:
        return
    last = words[-1]
    if like and like.words:
        run = list(like.run)
        start = run.index(last) + 1 if last in run else 0
        later = [word for word in run[start:] if word not in words]
    else:
        later = ["its end"] if last in load_contract().running else []
    for word in later:
        what = word if word == "its end" else f"the status {word}"
        reason = f"the deployment stayed {last}"
        yield make_unseen(f"deployment: {what}", reason, places.followed[-1])


def describe_last(log: Log) -> str:
    asked = [each for each in log.exchanges if name_operation(each)]
    if not asked:
        return "no request is one of this interface"
    last = [each for each in asked if each.token][-1:] or asked[-1:]
    return explain_nothing(last[0], name_operation(last[0])) or "no response is a good one"
