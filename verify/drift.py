"""What has drifted from a profile: how the service differs from the stub that serves it."""

import re
from dataclasses import dataclass

from profiles.profile import Form, Profile
from web.documents import path_of

from .compare import Aspect, Compared
from .exchange import NOTHING, Exchange
from .kinds import CREATE, DEPLOYMENT, LIST
from .observation import Observation
from .values import at

MAY_VARY = {Aspect.NEW, Aspect.NULL}
OF_RECORDS = {Aspect.MEMBER, Aspect.TIME, Aspect.TIME_FORM, Aspect.VALUE}
"""In what the records of others may differ."""
OF_CONTENT = {Aspect.JSON, Aspect.MEDIA_TYPE, Aspect.PARAMETER}
OF_FIELDS = {Aspect.FIELD, Aspect.FIELD_FORM}
INDEX = re.compile("/[0-9]+(?=[/:])")  # in a line


@dataclass(frozen=True)
class Drift:
    """One line, and the exchange that showed it; what may vary at any time is no finding."""

    line: str
    is_finding: bool
    kind: str
    exchange: Exchange | None


def find_drift(like: Profile, compared: list[Compared]) -> list[Drift]:
    """What differs where the profile says something, each line once, also of alike items.

    `compared` is the comparison with the stub that serves the profile.
    """
    found: dict[str, Drift] = {}
    for each in compared:
        if not each.holds and is_said(like, each):
            line = f"{each.place}: {each.expected} in the profile, {each.observed} there"
            of_any_item = INDEX.sub("/0", line)
            found.setdefault(of_any_item, Drift(line, is_finding(each), each.kind, each.exchange))
    return list(found.values())


def is_finding(compared: Compared) -> bool:
    if compared.aspect in MAY_VARY:
        return False
    return compared.is_own or compared.aspect not in OF_RECORDS or not is_in_record(compared)


def is_in_record(compared: Compared) -> bool:
    """Whether it is a record, or in one: all of a list but what is around its items."""
    is_of_item = any(name.isdecimal() for name in path_of(compared.place))
    return compared.kind != LIST or is_of_item


# What a profile says; what it leaves out is the contract's own


def is_said(like: Profile, compared: Compared) -> bool:
    aspect = compared.aspect
    if aspect == Aspect.WORD:
        return bool(like.words) and compared.value not in like.words
    if aspect in (Aspect.ID_FORM, Aspect.ORDER):
        path = tuple(path_of(compared.place))
        return at(like.document, path) is not NOTHING
    is_error = compared.kind.startswith("errors/")
    code = compared.kind.removeprefix("errors/")
    form = like.error_form(code) if is_error else like.form(compared.kind)
    if form is None:
        return False
    if aspect in OF_FIELDS:
        return has_field(form, compared)
    if is_error and aspect in OF_CONTENT:
        return code in like.error_forms  # the form of all others says nothing of it
    if aspect == Aspect.STATUS and form.status is None and is_error:
        return False
    if aspect == Aspect.STATUS and form.status is None and compared.kind == CREATE:
        # The service had a status that a profile cannot have, or nobody has said it.
        return not has_succeeded(compared)
    return True


def has_field(form: Form, compared: Compared) -> bool:
    *_, name = path_of(compared.place)
    return name.lower() in [each.lower() for each in form.headers]


def has_succeeded(compared: Compared) -> bool:
    return compared.exchange is not None and compared.exchange.is_success


def unseen_parts(like: Profile, seen: Observation) -> list[str]:
    """The kinds of response and the statuses that the profile has, and nothing has shown."""
    parts = [name for name in (LIST, CREATE, DEPLOYMENT) if like.form(name)]
    errors = [f"errors/{code}" for code in like.error_forms if code != "default"]
    kinds = [kind for kind in (*parts, *errors) if kind not in seen.templates]
    words = like.run if seen.run else ()
    return kinds + [f"the status {word}" for word in words if word not in seen.run]
