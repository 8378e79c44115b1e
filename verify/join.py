"""Joins the profiles of several runs, and writes common values of their parts only once."""

import copy
from collections.abc import Iterator
from typing import Any

from profiles import markers
from profiles.statuses import find_statuses
from traffic.json_values import replace_value, walk
from web.strict_json import MEDIA_TYPE

from . import kinds
from .values import is_same

Part = dict[str, Any]


def join_profiles(old: Part, new: Part) -> tuple[Part, list[str]]:
    """Join two unpacked profiles, and list the changes: `["/list: changed"]`.

    The new parts replace the old. Bodies with choices stay if the new profile has fewer statuses.
    """
    found = {**old, "observed_at": new["observed_at"]}
    old_words = find_statuses(old).words
    new_words = find_statuses(new).words
    has_fewer = bool(new_words) and {*new_words} < {*old_words}
    for kind in kinds.OPERATIONS:
        before = old.get(kind, {})
        stays = has_fewer and any(map(markers.is_choice, list_values(before.get("body"))))
        if kind in new and not stays:
            found[kind] = new[kind]
    if "create" in old and "create" in new:
        names = ("request", "required", "optional", "unique")
        kept = {name: old["create"][name] for name in names if name in old["create"]}
        found["create"] = {**kept, **found["create"]}
    for part in ("errors", "ids"):
        if part in new:
            found[part] = {**old.get(part, {}), **new[part]}
    if new_words and not has_fewer:
        others = [word for word in old_words if word not in new_words]
        found["statuses"] = new["statuses"] | ({"others": others} if others else {})
    return found, [*describe_changes(old, found)]


def list_values(body: Any) -> list[Any]:
    return [value for _, value in walk(body)]


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
    for record in filter(is_record, list_values(items)):
        changed = copy.deepcopy(profile)
        count = 0
        for form in list_successes(changed):
            for path, value in walk(form["body"]):
                if is_same(value, record):
                    form["body"] = replace_value(form["body"], path, markers.RECORD)
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
