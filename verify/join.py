"""The form of a saved profile, and how one run adds to that of another."""

import copy
from collections.abc import Iterator
from typing import Any

from profiles.markers import CHOICE, NAME, RECORD, replace_text
from profiles.statuses import find_statuses
from traffic.json_values import replace_value, walk
from web.strict_json import MEDIA_TYPE

from .kinds import CREATE, OPERATIONS
from .values import is_same

Part = dict[str, Any]
NOT_TOLD = ("errors", "observed_at", "$schema")  # parts that change by themselves, or by their own
OF_REQUESTS = ("request", "required", "optional", "unique")  # members of `create`


def join_profiles(old: Part, new: Part) -> tuple[Part, list[str]]:
    """Join two unpacked profiles: what the new one lacks stays; return it with what changed.

    Where the new one has seen fewer statuses, the bodies that have choices stay, too.
    """
    found = {**old, "observed_at": new["observed_at"]}
    words, new_words = find_statuses(old).words, find_statuses(new).words
    has_less = bool(new_words) and {*new_words} < {*words}
    for kind in OPERATIONS:
        before = old.get(kind)
        if kind not in new or (before and has_less and has_choice(before["body"])):
            continue
        kept = {name: before[name] for name in OF_REQUESTS if before and name in before}
        found[kind] = {**kept, **new[kind]} if kind == CREATE else new[kind]
    for part in ("errors", "ids"):
        if part in new:
            found[part] = {**old.get(part, {}), **new[part]}
    if new_words and not has_less:
        others = [word for word in words if word not in new_words]
        found["statuses"] = new["statuses"] | ({"others": others} if others else {})
    return found, [*describe_changes(old, found)]


def describe_changes(old: Part, new: Part) -> Iterator[str]:
    """Say which parts a run has changed, or added."""
    errors = old.get("errors", {}), new.get("errors", {})
    for before, now, place in ((old, new, ""), (*errors, "/errors")):
        for part in now:
            if part not in NOT_TOLD and not is_same(before.get(part), now[part]):
                yield f"{place}/{part}: {'changed' if part in before else 'added'}"


def has_choice(body: Any) -> bool:
    return any(isinstance(value, dict) and CHOICE in value for _, value in walk(body))


# What is alike in several parts stands once


def unpack_profile(profile: Part) -> Part:
    """Write the record, and the content type, in each part that has it."""
    found = copy.deepcopy(profile)
    record = found.pop("record", None)
    content_type = found.pop("content_type", MEDIA_TYPE)
    for kind in OPERATIONS:
        if kind in found:
            found[kind]["body"] = replace_text(found[kind]["body"], RECORD, record)
    for form in (*list_successes(found), *found.get("errors", {}).values()):
        form.setdefault("content_type", content_type)
    return found


def pack_profile(profile: Part) -> Part:
    """Write a project that stands in two parts alike once, and the usual content type."""
    return pack_record(pack_content_type(profile))


def list_successes(profile: Part) -> list[Part]:
    return [profile[kind] for kind in OPERATIONS if kind in profile]


def pack_content_type(profile: Part) -> Part:
    """Name the content type of the successes once, for all that have it, too."""
    found = copy.deepcopy(profile)
    successes = list_successes(found)
    types = [each["content_type"] for each in successes if "content_type" in each]
    if not types:
        return found
    for each in (*successes, *found.get("errors", {}).values()):
        if each.get("content_type") == types[0]:
            del each["content_type"]
    return {"observed_at": found["observed_at"], "content_type": types[0], **found}


def pack_record(profile: Part) -> Part:
    """Write a project that stands in two places alike once."""
    names = [name for name in OPERATIONS if name in profile]
    items = profile.get("list", {}).get("body")
    for record in [value for _, value in walk(items) if is_record(value)]:
        changed = copy.deepcopy(profile)
        count = 0
        for name in names:
            for path, value in walk(profile[name]["body"]):
                if is_same(value, record):
                    changed[name]["body"] = replace_value(changed[name]["body"], path, RECORD)
                    count += 1
        if count > 1:
            return {"observed_at": profile["observed_at"], "record": record, **changed}
    return profile


def is_record(value: Any) -> bool:
    """Whether it is an object that has the name of a project, and its id or its time."""
    if not isinstance(value, dict) or NAME not in value.values():
        return False
    texts = [each for each in value.values() if isinstance(each, str) and each != NAME]
    return any(each.startswith("{project.") for each in texts)
