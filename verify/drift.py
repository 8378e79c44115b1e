"""What has drifted from a profile: how the service differs from the stub that serves it."""

from dataclasses import dataclass

from profiles.profile import Profile
from web.documents import path_of

from .compare import Aspect, Compared
from .exchange import Exchange
from .kinds import LIST
from .observation import Observation

NO_FINDING = {Aspect.NEW, Aspect.NULL, Aspect.UNSEEN_WORD}
OF_OWN_RECORDS = {Aspect.MEMBER, Aspect.TIME, Aspect.TIME_FORM, Aspect.VALUE}
"""In what a record of others may differ."""


@dataclass(frozen=True)
class Drift:
    """One line, and the exchange that showed it; what may vary at any time is no finding."""

    line: str
    is_finding: bool
    exchange: Exchange | None


def find_drift(like: Profile, compared: list[Compared]) -> list[Drift]:
    """What differs where the profile says something, each line once.

    `compared` is the comparison with the stub that serves the profile.
    """
    found: dict[str, Drift] = {}
    for each in compared:
        if each.holds or not is_said(like, each):
            continue
        line = f"{each.place}: {each.expected} in the profile, {each.observed} there"
        if each.aspect == Aspect.WORD:
            line = f"{each.place}: {each.observed}"
        found.setdefault(line, Drift(line, is_finding(each), each.exchange))
    return list(found.values())


def is_finding(compared: Compared) -> bool:
    if compared.aspect in NO_FINDING:
        return False
    return compared.is_own or compared.aspect not in OF_OWN_RECORDS or is_around(compared)


def is_around(compared: Compared) -> bool:
    """Whether it is around the projects of a list."""
    names = path_of(compared.place)
    return compared.kind == LIST and not any(name.isdecimal() for name in names)


def is_said(like: Profile, compared: Compared) -> bool:
    """Whether the profile says something of a place; what it leaves out is the contract's own."""
    kind = compared.kind
    names = path_of(compared.place)
    if compared.aspect in (Aspect.WORD, Aspect.UNSEEN_WORD):
        is_known = compared.aspect == Aspect.WORD and compared.value in like.words
        return bool(like.words) and not is_known
    if compared.aspect == Aspect.ID_FORM:
        return names[-1] in like.document.get("ids", {})
    if compared.aspect == Aspect.ORDER:
        return "order" in like.document.get(LIST, {})
    is_error = kind.startswith("errors/")
    form = like.error_form(kind.removeprefix("errors/")) if is_error else like.form(kind)
    if form is None:
        return False
    if compared.aspect == Aspect.STATUS:
        return not is_error or form.status is not None
    if compared.aspect in (Aspect.FIELD, Aspect.FIELD_FORM):
        return names[-1].lower() in {name.lower() for name in form.headers}
    return True


def unseen_kinds(like: Profile, seen: Observation) -> list[str]:
    """The kinds of response that the profile has, and nothing has shown."""
    parts = [name for name in ("list", "create", "deployment") if like.form(name)]
    errors = [f"errors/{code}" for code in like.error_forms if code != "default"]
    return [kind for kind in (*parts, *errors) if kind not in seen.templates]
