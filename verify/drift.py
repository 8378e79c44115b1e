"""What has drifted from a profile: how the service differs from the stub that serves it."""

from dataclasses import dataclass

from profiles.profile import Profile, ResponseForm
from web.documents import path_of

from .compare import Aspect, Compared
from .exchange import Exchange
from .kinds import CREATE, DEPLOYMENT, LIST
from .observation import Observation

NO_FINDING = {Aspect.NEW, Aspect.NULL, Aspect.UNSEEN_WORD}
OF_OWN_RECORDS = {Aspect.MEMBER, Aspect.TIME, Aspect.TIME_FORM, Aspect.VALUE}
"""In what a record of others may differ."""
OF_CONTENT = {Aspect.JSON, Aspect.MEDIA_TYPE, Aspect.PARAMETER}
OF_FIELDS = {Aspect.FIELD, Aspect.FIELD_FORM}


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
    if kind.startswith("errors/"):
        return is_said_of_error(like, compared)
    form = like.form(kind)
    if form is None:
        return False
    if compared.aspect == Aspect.STATUS and kind == CREATE:
        # Without one the service had a status that a profile cannot have, or nobody has said it.
        return form.status is not None or not has_succeeded(compared)
    return compared.aspect not in OF_FIELDS or has_field(form, names[-1])


def is_said_of_error(like: Profile, compared: Compared) -> bool:
    """Whether the profile says something of an error; that of all others has a form alone."""
    code = compared.kind.removeprefix("errors/")
    form = like.error_form(code)
    if form is None or (code not in like.error_forms and compared.aspect in OF_CONTENT):
        return False
    if compared.aspect == Aspect.STATUS:
        return form.status is not None
    return compared.aspect not in OF_FIELDS or has_field(form, path_of(compared.place)[-1])


def has_field(form: ResponseForm, name: str) -> bool:
    return name.lower() in {each.lower() for each in form.headers}


def has_succeeded(compared: Compared) -> bool:
    return compared.exchange is not None and compared.exchange.is_success


def unseen_kinds(like: Profile, seen: Observation) -> list[str]:
    """The kinds of response that the profile has, and nothing has shown."""
    parts = [name for name in (LIST, CREATE, DEPLOYMENT) if like.form(name)]
    errors = [f"errors/{code}" for code in like.error_forms if code != "default"]
    return [kind for kind in (*parts, *errors) if kind not in seen.templates]
