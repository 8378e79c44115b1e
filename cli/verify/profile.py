"""The forms of a service as a run shows them: of its ids, its times, and its statuses."""

import json
import re
from collections.abc import Collection, Iterable
from os.path import commonprefix
from string import digits
from typing import Any

from stub.like.check import errors_in
from stub.like.ids import DERIVED, characters
from stub.like.profile import OWN_WORDS, Profile
from stub.rules import TIME

from . import probes
from .judge import DEPLOYMENT, PROJECT, Record
from .names import in_snake_case

FORMS = ("/ids/projects", "/ids/deployments", "/times", "/statuses")

Drifts = dict[str, list[str]]  # findings, each with the parts of the contract that it is about


def profile_of(record: Record, date: str) -> dict[str, Any]:
    """The profile of a service: the forms of its ids and times, and its statuses. It has no body,
    and so no value of a record.
    """
    responses, found = record.at(probes.PROJECTS), record.at(probes.DEPLOYMENT)
    lists = [record.listed(each) for each in responses if each.probe.method == "GET"]
    created = [each for each in responses if each.probe.method == "POST"]
    projects = [project for each in lists for project in each]
    made = [record.unwrap(PROJECT, each.json) for each in created]  # or an operation instead
    ids = [each.get("id") for each in projects]
    projects += [each for each in made if each and (not any(ids) or each.get("id") in ids)]
    deployments = [*filter(None, (record.unwrap(DEPLOYMENT, each.json) for each in found))]
    seen = {
        "ids": {
            "projects": ids_of(projects, "id", deployments, "project_id"),
            "deployments": ids_of(deployments, "id", projects, "latest_deployment_id"),
        },
        "times": times_of([*projects, *deployments]),
        "statuses": statuses_of(record),
    }
    profile: dict[str, Any] = {"observed_at": date}
    for name, form in seen.items():
        if name == "ids":
            form = {
                kind: each for kind, each in form.items() if is_kept(record, {"ids": {kind: each}})
            }
        if form and is_kept(record, {name: form}):
            profile[name] = form
    return profile


def is_kept(record: Record, part: dict[str, Any]) -> bool:
    """Whether a part of a profile is valid, and does not have the token."""
    text = json.dumps(part)
    is_valid = not errors_in({"observed_at": "2026-11-24", **part}, OWN_WORDS)
    return is_valid and record.redactor.text(text) == text


def times_of(records: Iterable[dict[str, Any]]) -> Any:
    """The form of the times of records, None if they have several."""
    texts = [str(in_snake_case(each).get("created_at")) for each in records]
    forms = [*filter(None, map(time_form, texts))]
    if not forms:
        return None
    most = max(each["digits"] for each in forms)  # some services leave out zeros at the end
    same = [{**each, "digits": most} for each in forms]
    return same[0] if all(each == same[0] for each in same) else None


def statuses_of(record: Record) -> Any:
    """The statuses of the deployment that was followed, None if it was not until the end."""
    exchanges = record.of(probes.FOLLOWED)
    if not exchanges or not exchanges[-1].is_success:
        return None
    followed = [record.unwrap(DEPLOYMENT, each.json) for each in exchanges if each.is_success]
    run = [*dict.fromkeys(x["status"] for x in followed if isinstance(x.get("status"), str))]
    return {"run": run, "ended": followed[-1].get("status") if record.has_ended else None}


def ids_of(own: list[Any], name: str, others: list[Any], reference: str) -> Any:
    """The form of the ids of a kind of record, None if not all are texts."""
    ids = [each.get(name) for each in own]
    ids += [in_snake_case(each).get(reference) for each in others]
    ids = [each for each in ids if each is not None]
    is_text = ids and all(isinstance(each, str) and each for each in ids)
    return id_form(ids) if is_text else None


def id_form(ids: Collection[str]) -> dict[str, Any]:
    """The form of these ids; the prefix are the words in their first half, such as `prj_`.

    The beginning of a UUID is no word. Of one id alone, `xYz` is none: its letters may be random.
    """
    common = commonprefix([*ids])  # noqa: RUF071  # of texts, not of paths
    start = common[: min(map(len, ids)) // 2]
    letters = "[A-Za-z]+" if len({*ids}) > 1 else "(?:[A-Z]?[a-z]+|[A-Z]+)"
    word = f"(?![0-9A-Fa-f]{{8}}-){letters}[0-9]{{0,2}}[_.:~-]"
    prefix: str = re.findall(f"^(?:{word})*", start)[0]
    rests = [each[len(prefix) :] for each in ids]
    sizes, alphabet = [*map(len, rests)], ranges_of("".join(rests))
    return {"prefix": prefix, "alphabet": alphabet, "shortest": min(sizes), "longest": max(sizes)}


def ranges_of(text: str) -> list[str]:
    """The alphabet of a text: of letters and digits whole ranges, or the hexadecimal ones."""
    used, alphabet = {*text}, list[str]()
    for short, whole in (("0-9", "0-9"), ("A-F", "A-Z"), ("a-f", "a-z")):
        if found := used & {*characters(whole)}:
            alphabet.append(short if found <= {*characters(short)} else whole)
            used -= found
    return sorted([*alphabet, *used])


def time_form(text: str) -> dict[str, Any] | None:
    """The form of an RFC 3339 time, None for another text."""
    match = TIME.fullmatch(text.upper())
    return match and {
        "offset": match[3],
        "digits": len(match[2] or ""),
        "case": "upper" if "T" in text else "lower",
    }


def drift(found: dict[str, Any], like: Profile, ends: set[str]) -> Drifts:
    """What differs from a known profile; `ends` are those of the contract."""
    drifts = Drifts()
    for place in FORMS:
        before, now = at(like.document, place), at(found, place)
        if None in (before, now) or is_same(place, before, now, ends):
            continue
        old, new = (json.dumps(each, ensure_ascii=False) for each in (before, now))
        drifts[f"drift: {place}: {old} in the profile, {new} there"] = []
    return drifts


def at(profile: dict[str, Any], place: str) -> Any:
    """The form at a pointer, None if the profile lacks it."""
    found: Any = profile
    for name in place.split("/")[1:]:
        found = (found or {}).get(name)
    return found


def is_same(form: str, before: Any, now: Any, ends: set[str]) -> bool:
    """Whether what was seen is of a known form: a run shows some ids, and some statuses.

    `ends` are the statuses of the contract that end a run, which may succeed or fail.
    """
    if form.startswith("/ids/"):
        if any(name in before for name in DERIVED):
            return True  # a run does not show what ids are made from
        # Whole ranges, as a profile may name the characters more exactly than a run shows them.
        used = {*characters(*now["alphabet"])}
        known = {*characters(*ranges_of(characters(*before["alphabet"])))}
        if {*"Zz"} <= known:  # as of base64url: a few ids may lack digits, `-` and `_`
            known |= {*digits, *"-_"}
        return (
            used <= known
            and now["prefix"] == before["prefix"]
            # Of ids whose length varies, a run shows some lengths.
            and before["shortest"] <= now["longest"]
            and now["shortest"] <= before["longest"]
        )
    if form == "/statuses":
        run = before["run"]
        if {before["ended"], now["ended"]} <= ends:
            run = [*run[:-1], now["ended"]]
        is_end = now["ended"] in (None, run[-1])
        return is_end and now["run"] == [each for each in run if each in now["run"]]
    return bool(now == before)
