"""The forms of values, of times and of ids, and which forms may be the same."""

import json
import re
from typing import Any

from profiles.ids import Derived, Numbers, Opaque, id_form
from profiles.markers import CHOICE, TIMES, Path, markers_in, values_below, whole_marker
from profiles.times import OURS, TimeForm, time_form
from web.validation import pointer

from .observation import Observation
from .values import is_number, is_through_objects, type_of

MAX_SHOWN = 200  # characters of a value
MAX_CODE = 10_000  # a number that is larger may be that of one request
USUAL_DIGITS = (0, 3, 6, 9)  # of a fraction of a second
CODE = re.compile("[A-Za-z_.:/-]{1,64}|[A-Z]{0,8}[-_]?[0-9]{1,6}")
"""A text that says a reason to programs: one with other digits may be an id."""


# Types and shapes


def type_in(observation: Observation, value: Any) -> str:
    """The type of a value, or of what a marker stands for; an integer is a number."""
    marker = whole_marker(value)
    if marker is None:
        found = type_of(value)
        return "number" if found == "integer" else found
    if isinstance(form_of_time(value), str):
        return "number"
    kind = "deployments" if marker.name.startswith("deployment.") else "projects"
    is_integer_id = marker.name.endswith("id") and has_integers(observation, kind)
    is_number_alone = is_integer_id or marker.name in ("count", "error.status")
    return "number" if is_number_alone and not marker.form else "string"


def has_integers(observation: Observation, kind: str) -> bool:
    """Whether the ids of a kind are numbers; those of deployments may be the projects'."""
    way = observation.way
    example = observation.ids.get(kind)
    if example == "{project.id}":
        return has_integers(observation, "projects")
    if example is None and kind == "deployments":
        example = way.deployment_id
    elif example is None and way.lists:
        items = way.items_of(way.lists[-1])
        example = way.id_of(items[0]) if items else None
    return isinstance(example, int)


def has_choices(body: Any) -> bool:
    return any(isinstance(each, dict) and CHOICE in each for _, each in values_below(body))


def shape_of(value: Any) -> set[str]:
    """The places in a value with their types; indexes are left out."""
    found = set()
    for path, each in values_below(value):
        names = [name for name in path if isinstance(name, str)]
        found.add(f"{pointer(*names)} {type(each).__name__}")
    return found


def path_of_record(value: Any, names: dict[str, Any]) -> Path | None:
    """The path of the object with most of the names, the outermost of several; None without any."""
    best: Path | None = None
    most = 0
    found = [(path, each) for path, each in values_below(value) if isinstance(each, dict)]
    for path, each in sorted(found, key=lambda item: len(item[0])):
        count = len(names.keys() & each.keys())
        if count > most and is_through_objects(path):
            best = path
            most = count
    return best


def split_content_type(text: str) -> tuple[str, str]:
    """The media type, and its parameters without a charset that is the usual one of JSON."""
    media_type, _, rest = text.lower().partition(";")
    parameters = [each.strip().replace('"', "") for each in rest.split(";")]
    others = [each for each in parameters if each not in ("", "charset=utf-8", "charset=utf8")]
    return media_type.strip() or "no media type", "; ".join(sorted(others)) or "no parameters"


def shown(value: Any) -> str:
    """A value as JSON, or as much of it as a line may have."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


# Times


def form_of_time(value: Any) -> TimeForm | str | None:
    """The form of a time, or of the marker of one; of a number its unit; None for all else."""
    marker = whole_marker(value)
    if marker is None:
        return time_form(value) if isinstance(value, str) else None
    if marker.name not in TIMES:
        return None
    if marker.form in ("s", "ms"):
        return marker.form
    return time_form(marker.form) if marker.form else OURS


def is_same_time(before: TimeForm, now: TimeForm) -> bool:
    """Whether a time may be of a known form: zeros at the end may be left out, and an offset may be
    that of a season.
    """
    is_utc = before.offset in ("Z", "z")
    if before.separator != now.separator or is_utc != (now.offset in ("Z", "z")):
        return False
    if bool(before.offset) != bool(now.offset):
        return False
    if before.digits not in USUAL_DIGITS or now.digits not in USUAL_DIGITS:
        return True
    return now.digits <= before.digits


# Ids

PREFIX = re.compile("[A-Za-z]+[_.:~-]")  # one word: several may be of one id alone
UUID_SHAPE = re.compile("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")


def is_same_ids(before: str | int, now: str | int, kind: str) -> bool:
    """Whether two examples of ids may be of one form; what tells little is no difference."""
    try:
        old_form = id_form(before, kind)
        new_form = id_form(now, kind)
    except ValueError:  # of an id without a letter or a digit
        return before == now
    if isinstance(old_form, Numbers) or isinstance(new_form, Numbers):
        return type(old_form) is type(new_form)
    if isinstance(old_form, Derived) or isinstance(new_form, Derived):
        return True
    has_uuid = bool(UUID_SHAPE.search(old_form.rest))
    if has_uuid != bool(UUID_SHAPE.search(new_form.rest)):
        return False
    return word_before(old_form) == word_before(new_form)


def word_before(form: Opaque) -> str:
    """The prefix of ids, if it is one word."""
    return form.prefix if PREFIX.fullmatch(form.prefix) else ""


# What programs read of an error


def is_code(value: Any) -> bool:
    """Whether a constant in an error is one that programs read: not a text for people."""
    if isinstance(value, str):
        return CODE.fullmatch(value) is not None and not markers_in(value)
    return isinstance(value, bool) or (is_number(value) and abs(value) < MAX_CODE)
