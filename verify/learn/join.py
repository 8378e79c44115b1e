"""Joins the profiles of several runs, and writes common values of their parts only once."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from profiles import markers
from profiles.statuses import find_statuses
from traffic import json_values
from web.strict_json import MEDIA_TYPE

from ..seen import kinds
from ..seen.inspection import is_same
from ..seen.service_log import NOTHING

Part = dict[str, Any]


def join_profiles(old: Part, new: Part) -> tuple[Part, list[str]]:
    """Join two unpacked profiles, and list the changes: `["/list: changed"]`.

    The new parts replace the old. If the new profile has fewer statuses, the choices keep the rest.
    """
    found = {**old, "observed_at": new["observed_at"]}
    old_statuses = find_statuses(old).all
    new_statuses = find_statuses(new).all
    missing = [status for status in old_statuses if status not in new_statuses]
    has_fewer = bool(new_statuses) and {*new_statuses} < {*old_statuses}
    kept = missing if has_fewer else []
    for kind in kinds.OPERATIONS:
        if kind in new:
            body = join_bodies(old.get(kind, {}).get("body"), new[kind]["body"], kept)
            found[kind] = {**new[kind], "body": body}
    if "create" in old and "create" in new:
        names = ("request", "required", "optional", "unique")
        old_parts = {name: old["create"][name] for name in names if name in old["create"]}
        found["create"] = {**old_parts, **found["create"]}
    for part in ("errors", "ids"):
        if part in new:
            found[part] = {**old.get(part, {}), **new[part]}
    if has_fewer:
        found.setdefault("statuses", {"run": [*old_statuses]})
    elif new_statuses:
        found["statuses"] = new["statuses"] | ({"others": missing} if missing else {})
    return found, [*describe_changes(old, found)]


def join_bodies(old: Any, new: Any, kept: Sequence[str]) -> Any:
    """Return the new body, whose choices have the old values of the statuses that are kept."""
    if markers.is_choice(old):
        choices = new[markers.CHOICE] if markers.is_choice(new) else {"": new}
        usual = choices.get("", NOTHING)
        kept_choices = select_choices(old, kept).items()
        more = {status: value for status, value in kept_choices if not is_same(value, usual)}
        return {markers.CHOICE: {**more, **choices}} if more else new
    if isinstance(old, dict) and isinstance(new, dict) and not markers.is_choice(new):
        found = {name: join_bodies(old.get(name), value, kept) for name, value in new.items()}
        for name, value in old.items():
            selected = select_choices(value, kept) if name not in new else {}
            if selected:
                found[name] = {markers.CHOICE: selected}
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [join_bodies(*pair, kept) for pair in zip(old, new, strict=True)]
    return new


def select_choices(value: Any, kept: Sequence[str]) -> dict[str, Any]:
    """Return the values that a choice has for the statuses that are kept: `{"FAILED": true}`."""
    if not markers.is_choice(value):
        return {}
    choices = value[markers.CHOICE]
    found = {status: choices.get(status, choices.get("", NOTHING)) for status in kept}
    return {status: value for status, value in found.items() if value is not NOTHING}


def describe_changes(old: Part, new: Part) -> Iterator[str]:
    """Describe the parts that are new or different: `/errors/not_found: added`."""
    errors = old.get("errors", {}), new.get("errors", {})
    for before, now, place in ((old, new, ""), (*errors, "/errors")):
        for part in now:
            is_compared = part not in ("errors", "observed_at", "$schema")
            if is_compared and not is_same(before.get(part), now[part]):
                yield f"{place}/{part}: {'changed' if part in before else 'added'}"


# Common parts


def unpack_profile(profile: Part) -> Part:
    """Write the record, and the content type, into all parts that have them."""
    found = copy.deepcopy(profile)
    record = found.pop("record", None)
    content_type = found.pop("content_type", MEDIA_TYPE)
    for form in list_successes(found):
        form["body"] = markers.replace_text(form["body"], markers.RECORD, record)
    for form in list_forms(found):
        form.setdefault("content_type", content_type)
    return found


def pack_profile(profile: Part) -> Part:
    """Write a project that stands in two parts, and the usual content type, only once."""
    return pack_record(pack_content_type(profile))


def list_successes(profile: Part) -> list[Part]:
    return [profile[kind] for kind in kinds.OPERATIONS if kind in profile]


def list_forms(profile: Part) -> list[Part]:
    return [*list_successes(profile), *profile.get("errors", {}).values()]


def pack_content_type(profile: Part) -> Part:
    """Move the content type of the first success from all forms to the profile."""
    found = copy.deepcopy(profile)
    types = [form["content_type"] for form in list_successes(found) if "content_type" in form]
    if not types:
        return found
    for form in list_forms(found):
        if form.get("content_type") == types[0]:
            del form["content_type"]
    return {"observed_at": found["observed_at"], "content_type": types[0], **found}


def pack_record(profile: Part) -> Part:
    """Replace the project of the list by `{record}` if a second part has the same."""
    items = profile.get("list", {}).get("body")
    for record in [value for _, value in json_values.walk(items) if is_record(value)]:
        changed = copy.deepcopy(profile)
        count = 0
        for form in list_successes(changed):
            for path, value in json_values.walk(form["body"]):
                if is_same(value, record):
                    form["body"] = json_values.replace_value(form["body"], path, markers.RECORD)
                    count += 1
        if count > 1:
            return {"observed_at": profile["observed_at"], "record": record, **changed}
    return profile


def is_record(value: Any) -> bool:
    """Return whether an object has the name of a project, and its id or its time."""
    if not isinstance(value, dict) or markers.NAME not in value.values():
        return False
    texts = [text for text in value.values() if isinstance(text, str) and text != markers.NAME]
    return any(text.startswith("{project.") for text in texts)
