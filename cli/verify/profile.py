"""What a run says of the forms of a service: its profile, and how it differs from another one."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

import stub
from stub.profile import (
    DEFAULTS,
    NEWEST_FIRST,
    OLDEST_FIRST,
    SCHEMA,
    IdForm,
    Profile,
    TimeForm,
    characters,
    errors_of,
    forms_of,
    id_form,
    is_imitated,
)
from web.redaction import Redactor

from . import probes
from .client import Exchange
from .forms import Claim, type_of
from .judge import DEPLOYMENT, OWN_MEMBER, PROJECT, Record

TIME = re.compile(r"[^Tt]+([Tt])[^.]*?(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")
CREATED_AT, STATUS = f"{PROJECT}/properties/created_at", f"{DEPLOYMENT}/properties/status"


def profile_of(record: Record, date: str, redactor: Redactor) -> Profile:
    """The forms of the responses, without any value of them."""
    responses = [each for each in record.at(probes.PROJECTS) if each.is_success]
    lists = [record.listed(each) for each in responses if each.probe.method == "GET"]
    created = [each for each in responses if each.probe.method == "POST"]
    made = (record.unwrap(PROJECT, each.json) for each in created)
    projects = [*chain.from_iterable(lists), *made]
    found = [each for each in record.at(probes.DEPLOYMENT) if each.is_success]
    deployments = [record.unwrap(DEPLOYMENT, each.json) for each in found]
    records = {"project": projects, "deployment": deployments}
    texts = (str(each.get("created_at")) for each in (*projects, *deployments))
    times = [each for each in texts if stub.parse_time(each)]
    followed = [each for each in found if each.probe.name == probes.FOLLOWED.name]
    statuses = [str(record.unwrap(DEPLOYMENT, each.json).get("status")) for each in followed]
    forms: dict[str, Any] = {
        "ids": {
            "projects": ids_of(projects, "id", deployments, "project_id"),
            "deployments": ids_of(deployments, "id", projects, "latest_deployment_id"),
        },
        "times": only(map(time_form, times)),
        "creation_status": only(each.status for each in created),
        "list_order": order_of(lists[-1]) if lists else None,
        "statuses": {
            "run": [*dict.fromkeys(statuses)],
            "ended": statuses[-1] if statuses and record.has_ended else None,
        },
        "members": {kind: members_of(record, kind, each) for kind, each in records.items()},
        "headers": headers_of(record, redactor),
        "media_types": {
            "json": only(each.header("Content-Type") for each in (*responses, *found)),
            "problem": only(each.header("Content-Type") for each in errors_in(record)),
        },
    }
    for name in ("ids", "members", "media_types"):
        each, schema = forms[name], SCHEMA["properties"][name]
        forms[name] = {kind: one for kind, one in each.items() if is_valid({kind: one}, schema)}
    seen = {
        name: each
        for name, each in forms.items()
        if (each or name == "headers") and is_valid(each, SCHEMA["properties"][name])
    }
    profile = cast(Profile, {"observed_at": date, **seen})
    spelled = {"times": (CREATED_AT, times), "statuses": (STATUS, statuses)}
    return {**profile, "not_imitated": [*differences(record, profile, spelled, redactor)]}


def is_valid(form: Any, schema: dict[str, Any]) -> bool:
    return not [*errors_of(form, schema)]


def only(forms: Iterator[Any]) -> Any:
    """The form of all, None if there are several or none."""
    found = [*forms]
    return found[0] if found and all(each == found[0] for each in found) else None


def ids_of(own: list[Any], name: str, others: list[Any], reference: str) -> IdForm | None:
    """The form of the ids of a kind of record, if they are texts."""
    ids = [each.get(name) for each in own] + [each.get(reference) for each in others]
    ids = [each for each in ids if each is not None]
    return id_form(ids) if ids and all(isinstance(each, str) and each for each in ids) else None


def time_form(text: str) -> TimeForm | None:
    match = TIME.fullmatch(text)
    letters = match[1] + match[3][:1] if match else ""
    if match is None or (letters != letters.upper() and letters != letters.lower()):
        return None
    case = "upper" if letters == letters.upper() else "lower"
    return TimeForm(offset=match[3].upper(), digits=len(match[2] or ""), case=case)


def order_of(projects: list[dict[str, Any]]) -> str | None:
    """The order of a list, None if the times do not tell."""
    times = [time for each in projects if (time := stub.parse_time(each.get("created_at")))]
    orders = {OLDEST_FIRST: sorted(times), NEWEST_FIRST: sorted(times, reverse=True)}
    found = [name for name, each in orders.items() if each == times]
    return found[0] if len(found) == 1 and len(times) == len(projects) else None


def members_of(record: Record, kind: str, found: list[dict[str, Any]]) -> Any:
    """What all records have besides the members of the contract, and what none of them has."""
    if not found:
        return None
    own = record.contract.schemas[kind.title()]["properties"]
    names = set.intersection(*map(set, found)) - {*own, OWN_MEMBER}
    types = {name: {type_of(each[name]): None for each in found} for name in sorted(names)}
    added = {
        name: next((each for each in kinds if each != "null"), "null")
        for name, kinds in types.items()
    }
    chosen = [name for name, each in own.items() if "chosen" in each["x-origin"]]
    absent = [name for name in chosen if not any(name in each for each in found)]
    return {"added": added, "absent": absent}


def headers_of(record: Record, redactor: Redactor) -> list[str]:
    """The names of the fields that all successful responses have and the contract lacks."""
    found = [each.headers for each in record.exchanges if each.is_success and each.probe.expects]
    declared = record.contract.find(probes.LIST.expects)[1]["headers"]
    names = [name for name in (found[0] if found else ()) if all(name in each for each in found)]
    return sorted(
        name
        for name in dict.fromkeys(names)
        if name not in declared and is_imitated(name) and redactor.text(name) == name
    )


def errors_in(record: Record) -> list[Exchange]:
    """The responses to rejected requests that have JSON objects."""
    rejected = [each for each in record.exchanges if each.status >= 400 and not each.failure]
    return [each for each in rejected if isinstance(each.json, dict)]


def differences(
    record: Record, profile: Profile, spelled: dict[str, tuple[str, Any]], redactor: Redactor
) -> Iterator[dict[str, str]]:
    """What of the service is another choice than the contract's, and no form of the profile.

    `spelled` has forms that no claim is about, each with its part and with what was seen.
    """
    told = [
        {"part": claim.part, "what": f"{claim.expected} here, {observed_in(claim)} there"}
        for claim, _ in record.claims
        if not claim.holds and not is_shown(claim, profile)
    ]
    told = [each for each in told if "fixed" not in origin_of(record, each["part"])]
    for form, (part, seen) in spelled.items():
        if seen and form not in profile:
            told.append({"part": part, "what": f"{form} of one form here, of others there"})
    for index, each in enumerate(told):
        if each not in told[:index] and redactor.text(each["what"]) == each["what"]:
            yield each


def observed_in(claim: Claim) -> str:
    """What was observed in place of the contract's, but for the text of a header."""
    return "another one" if "/" in claim.expected else claim.observed


def origin_of(record: Record, part: str) -> dict[str, str]:
    origin: dict[str, str] = record.contract.find(part)[1].get("x-origin", {})
    return origin


def is_shown(claim: Claim, profile: Profile) -> bool:
    """Whether a form of the profile says what contradicts the contract."""
    shown = {str(default): form for form, (default, _) in DEFAULTS.items()}
    members = profile.get("members", {}).values()
    absent = [name for each in members for name in each.get("absent", ())]
    is_absent = claim.expected == "present" and claim.part.rpartition("/")[2] in absent
    return is_absent or shown.get(claim.expected) in forms_of(profile)


def drift(found: Profile, known: Profile) -> Iterator[str]:
    """The findings of what differs from a known profile."""
    before = {form: default for form, (default, _) in DEFAULTS.items()} | forms_of(known)
    for form, now in forms_of(found).items():
        if not is_same(form, before[form], now):
            old, new = (json.dumps(each, ensure_ascii=False) for each in (before[form], now))
            yield f"drift: {form}: {old} in the profile, {new} there"
    for each in found["not_imitated"]:
        if each not in known.get("not_imitated", []):
            yield f"drift: {each['part']}: {each['what']}"


def is_same(form: str, before: Any, now: Any) -> bool:
    """Whether what was seen is of a known form: a run shows some ids, and some statuses."""
    if form.startswith("/ids/"):
        alphabets = [{*"".join(map(characters, each["alphabet"]))} for each in (now, before)]
        is_longer = now["shortest"] < before["shortest"] or now["longest"] > before["longest"]
        return alphabets[0] <= alphabets[1] and now["prefix"] == before["prefix"] and not is_longer
    if form == "/statuses":
        return {*now["run"]} <= {*before["run"]} and now["ended"] in (None, before["ended"])
    return bool(now == before)
