"""What a run says of the forms of a service: its profile, and how it differs from another one."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from string import capwords
from typing import Any

from stub import profile as profiles
from stub.profile import errors_in, in_snake_case
from stub.rules import is_valid, schemas

from . import probes
from .client import Exchange
from .judge import DEPLOYMENT, ITEMS, OTHER_ORDER, OWN_MEMBER, PROJECT, TYPES, Record

Drifts = dict[str, list[str]]  # findings, each with the parts of the contract that it is about
# Where the second form differs, new members are no drift, nor are lost ones of deployments.
SEEN_IN = {"/members/project": "/creation_status", "/members/deployment": "/statuses"}
NAME = re.compile("[A-Za-z_$@][A-Za-z0-9_.:$@-]{0,63}")  # of a member that is kept


def profile_of(record: Record, date: str) -> profiles.Profile:
    """The forms of the responses, without any value of them."""
    responses, found = record.at(probes.PROJECTS), record.at(probes.DEPLOYMENT)
    listing = [each for each in responses if each.probe.method == "GET"]
    lists = [record.listed(each) for each in listing]
    created = [each for each in responses if each.probe.method == "POST"]
    projects = [project for each in lists for project in each]
    made = [record.unwrap(PROJECT, each.json) for each in created]  # or an operation instead
    ids = [each.get("id") for each in projects]
    projects += [each for each in made if each and (not any(ids) or each.get("id") in ids)]
    deployments = [*filter(None, (record.unwrap(DEPLOYMENT, each.json) for each in found))]
    followed = [record.unwrap(DEPLOYMENT, x.json) for x in found if x.probe == probes.FOLLOWED]
    run = [*dict.fromkeys(x["status"] for x in followed if isinstance(x.get("status"), str))]
    last = followed[-1].get("status") if record.has_ended else None
    is_whole = all(each.is_success for each in record.of(probes.FOLLOWED)[-1:])
    texts = (str(in_snake_case(each).get("created_at")) for each in (*projects, *deployments))
    times = [*filter(None, map(profiles.time_form, texts))]
    digits = max((each["digits"] for each in times), default=0)  # some leave out zeros at the end
    errors = [x for x in record.exchanges if 400 <= x.status < 429 and isinstance(x.json, dict)]
    seen = {
        "/ids/projects": ids_of(projects, "id", deployments, "project_id"),
        "/ids/deployments": ids_of(deployments, "id", projects, "latest_deployment_id"),
        "/times": only(each | {"digits": digits} for each in times),
        "/creation_status": only(each.status for each in created),
        "/list_order": profiles.order_of(lists[-1]) if lists else None,
        "/statuses": {"run": run, "ended": last} if run and is_whole else None,
        "/members/project": projects and members_of(record, "Project", projects, set.intersection),
        "/members/deployment": deployments
        and members_of(record, "Deployment", deployments, set.union),
        "/headers": headers_of([*listing, *found]) if listing and found else None,
        "/media_types/json": only(each.header("Content-Type") for each in (*responses, *found)),
        "/media_types/problem": only(each.header("Content-Type") for each in errors),
    }
    profile: profiles.Profile = {"observed_at": date}
    others = list[tuple[str, str]]()
    for form, _, rules in profiles.forms_in({}):
        name, *inner = form.split("/")[1:]
        outer = {**profile.get(name, {}), inner[0]: seen[form]} if inner else seen[form]
        text = json.dumps(outer)  # which may have the token
        if not errors_in({"observed_at": date, name: outer}) and record.redactor.text(text) == text:
            profile[name] = outer
        elif seen[form]:
            part = rules["x-parts"][0].removesuffix("/x-known")
            others.append((part, f"one form of {name} here, several or another one there"))
    if any(isinstance(each.json, dict) and len(each.json) > 1 for each in listing):
        others.append((ITEMS, "the array alone here, other members beside it there"))
    told = dict.fromkeys((*differences(record, profile), *others))
    profile["not_imitated"] = [{"part": part, "what": what} for part, what in told]
    return profile


def only(forms: Iterable[Any]) -> Any:
    """The form that all have; else the list of their forms, which no schema accepts."""
    found = [*filter(None, forms)]
    return found[0] if found and all(each == found[0] for each in found) else found


def ids_of(own: list[Any], name: str, others: list[Any], reference: str) -> Any:
    """The form of the ids of a kind of record, None if not all are texts."""
    ids = [x.get(name) for x in own] + [in_snake_case(x).get(reference) for x in others]
    ids = [each for each in ids if each is not None]
    is_text = ids and all(isinstance(each, str) and each for each in ids)
    return profiles.id_form(ids) if is_text else None


def members_of(record: Record, kind: str, found: list[Any], of: Callable[..., set[str]]) -> Any:
    """What records have besides the members of the contract, and what none of them has.

    Of projects it is what all have, as the others may be a client's; of deployments, what any has.
    """
    own = record.contract.schemas[kind]["properties"]
    names = sorted(filter(NAME.fullmatch, of(*map(set, found)) - {*own, OWN_MEMBER}))
    types = {name: {TYPES[type(x[name])] for x in found if name in x} for name in names}
    # An integer in one record and a number in another make a number.
    added = {name: max(each - {"null"} or each) for name, each in types.items()}
    absent = [name for name in own if not any(name in each for each in found)]
    members = {"added": added, "absent": [x for x in absent if "chosen" in own[x]["x-origin"]]}
    # That `createdAt` has another type than `created_at` is told, and not imitated.
    added |= dict.fromkeys(profiles.renamed(members).values(), "string")
    return members


def headers_of(exchanges: list[Exchange]) -> list[str]:
    """The fields that all of these have and the contract lacks, as waitress spells them."""
    found = [{capwords(name, "-") for name in each.headers} for each in exchanges]
    rules = schemas()["Profile"]["properties"]["headers"]["items"]
    return sorted(name for name in set.intersection(*found) if is_valid(name, rules))


def differences(record: Record, profile: profiles.Profile) -> Iterator[tuple[str, str]]:
    """Where the service chose otherwise than the contract, and no form of the profile says so."""
    forms, defaults = profiles.forms_of(profile), profiles.defaults()
    shown = [(str(defaults[x]), str(each).partition(";")[0].strip()) for x, each in forms.items()]
    if "/list_order" in forms:
        shown.append((profiles.OLDEST, OTHER_ORDER))
    absent = [name for each in profile.get("members", {}).values() for name in each["absent"]]
    for claim, _ in record.claims:
        origin = record.contract.find(claim.part)[1]["x-origin"]
        is_absent = claim.expected == "present" and claim.part.rpartition("/")[2] in absent
        is_shown = is_absent or (claim.expected, claim.otherwise) in shown
        if not (claim.holds or is_shown or "fixed" in origin):
            observed = "another one" if "/" in claim.expected else claim.otherwise  # no media type
            yield claim.part, f"{claim.expected} here, {observed} there"


def drift(found: profiles.Profile, known: profiles.Profile, ends: set[str]) -> Drifts:
    """What differs from a known profile; `ends` are those of the contract."""
    before, forms = profiles.forms_of(known), profiles.forms_of(found)
    for form, run in SEEN_IN.items():
        if form in forms and form in before and forms.get(run) != before.get(run):
            old, now = before[form].get("added", {}), forms[form]["added"]
            added = {x: now.get(x, old[x]) for x in old if x in now or run == "/statuses"}
            forms[form] = {**forms[form], "added": added}
    told, drifts = [each["part"] for each in known.get("not_imitated", ())], Drifts()
    unseen = list[str]()  # by the save: its profile has no form of it, and tells no difference
    for form, old, rules in profiles.forms_in(known):
        now = forms.get(form)
        if old is None and form not in ("/list_order", "/headers"):
            unseen += [f"{part}/" for part in rules["x-parts"] if part not in told]
        elif None not in (old, now) and not profiles.is_same(form, old, now, ends):
            old, new = (json.dumps(each, ensure_ascii=False) for each in (old, now))
            drifts[f"drift: {form}: {old} in the profile, {new} there"] = rules["x-parts"]
    for each in found["not_imitated"]:
        is_seen = not f"{each['part']}/".startswith(tuple(unseen))
        is_seen &= "/list_order" in before or not each["what"].startswith(profiles.OLDEST)
        if is_seen and each not in known.get("not_imitated", []):
            drifts[f"drift: {each['part']}: {each['what']}"] = [each["part"]]
    return drifts
