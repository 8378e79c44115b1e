"""A profile: the forms of a service, which `verify --save` has seen and `--like` pins.

It is a JSON document; profile.json beside this file is its schema, and says what each member means.
"""

import json
import re
from collections.abc import Collection, Iterator
from os.path import commonprefix
from pathlib import Path
from random import Random
from typing import Any

from web.problems import FieldError
from web.strict_json import parse_json
from web.validation import pointer, require_valid

from .contract import Contract
from .rules import check, schemas
from .seed import explained

Profile = dict[str, Any]
IdForm = dict[str, Any]  # a member of its `ids`

NO_PROFILE: Profile = {}
MAX_BYTES = 256 * 1024
# Generators have no type for null alone, nor for an array of no items.
GENERATED: dict[str, Any] = {"null": {}, "array": {"type": "array", "items": {}}}
OLDEST_FIRST, NEWEST_FIRST = "oldest first", "newest first"


def forms_of(profile: Profile) -> dict[str, Any]:
    """The forms of a profile, by their pointers."""
    return {form: value for form, value, _ in forms_in(profile) if value is not None}


def defaults() -> dict[str, Any]:
    """The forms of the contract itself, by their pointers in a profile."""
    return {form: rules["default"] for form, _, rules in forms_in({})}


def forms_in(profile: Profile) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each form that there is: its pointer, its value in a profile or None, and its schema."""
    for name, each in schemas()["Profile"]["properties"].items():
        value = profile.get(name)
        if "default" in each:
            yield pointer(name), value, each
        for kind, below in each.get("properties", {}).items():
            if "default" in below:
                yield pointer(name, kind), (value or {}).get(kind), below


def read_profile(path: Path) -> Profile:
    """The profile of a file. Raises `ValueError` with all errors and their places."""
    with explained(path):
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path}: is over {MAX_BYTES // 1024} KiB, so that it is no profile")
        profile: Profile = parse_json(path.read_bytes())[1]
        require_valid([*check(profile, "Profile")] or contradictions(profile))
    return profile


def contradictions(profile: Profile) -> Iterator[FieldError]:
    """What a schema cannot say."""
    for kind, ids in profile.get("ids", {}).items():
        if ids["shortest"] > ids["longest"]:
            yield FieldError(pointer("ids", kind, "longest"), "must not be below `shortest`")
    statuses = profile.get("statuses")
    if statuses and statuses["ended"] not in (None, statuses["run"][-1]):
        yield FieldError("/statuses/ended", "must be the last one of `run`, or null")


def observed(openapi: bytes, profile: Profile) -> bytes:
    """The contract with the forms of a profile, and with where each part of it is from."""
    if not profile:
        return openapi
    document, found, date = json.loads(openapi), forms_of(profile), profile["observed_at"]
    forms, seen = defaults() | found, {"x-origin": {"observed": date}}
    contract = Contract(document)
    parts = parts_of(contract)
    if statuses := found.get("/statuses"):
        (status,) = parts["/statuses"]
        words = ", ".join(f"`{each}`" for each in statuses["run"])
        known = {"x-origin": {"chosen": "what a deployment goes through"}}
        status |= {
            "description": f"Known are {words}. The set may grow.",
            "examples": statuses["run"],
            "x-running": [each for each in statuses["run"] if each != statuses["ended"]],
            "x-known": known,
        }
        parts["/statuses"] = [known]  # that it is a string is fixed
    for form, value in found.items():
        for part in parts[form]:
            if value != defaults()[form]:
                part |= seen
            elif "chosen" in part["x-origin"]:
                part["x-origin"]["confirmed"] = date
    for form in ("/members/project", "/members/deployment"):
        for schema in parts[form]:
            for name, kind in forms[form].get("added", {}).items():
                schema["properties"][name] = GENERATED.get(kind, {"type": kind}) | seen
            for name in forms[form].get("absent", ()):
                schema["required"].remove(name)
                schema["properties"][name] |= seen
    for form in ("/media_types/json", "/media_types/problem"):
        for response in parts[form]:
            (content,) = response["content"].values()
            response["content"] = {forms[form].partition(";")[0]: content}
    for response in parts["/headers"]:
        names = forms["/headers"]
        response["headers"] |= {name: {"schema": {"type": "string"}, **seen} for name in names}
    parts["/list_order"][0]["description"] = f"{forms['/list_order'].capitalize()}."
    created = document["paths"]["/v1/projects"]["post"]["responses"]
    created[str(forms["/creation_status"])] = created.pop("201")
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def parts_of(contract: Contract) -> dict[str, list[Any]]:
    """What of the contract has each form."""
    parts: dict[str, list[Any]] = {
        form: [contract.find(part)[1] for part in rules.get("x-parts", ())]
        for form, _, rules in forms_in({})
    }
    for responses in (*(each.responses for each in contract.operations), contract.elsewhere):
        for code, response in responses.items():
            parts["/headers"].append(response)
            parts[f"/media_types/{'json' if code < '400' else 'problem'}"].append(response)
    return parts


def make_id(form: IdForm, source: Random) -> str:
    """An id of this form; no separator in its first half, where it would end another prefix."""
    prefix: str = form["prefix"]
    size = source.randint(form["shortest"], form["longest"])
    alphabet = "".join(map(characters, form["alphabet"]))
    plain = "".join(filter(str.isalnum, alphabet)) or alphabet
    first = max((size - len(prefix)) // 2 + 1, 0)
    rest = source.choices(plain, k=first) + source.choices(alphabet, k=size - first)
    return prefix + "".join(rest)


def id_form(ids: Collection[str]) -> IdForm:
    """The form of these ids; the prefix are the words in their first half, such as `prj_`."""
    common = commonprefix([*ids])  # noqa: RUF071  # of texts, not of paths
    prefix: str = re.findall("^(?:[A-Za-z]+[_.:~-])*", common[: min(map(len, ids)) // 2])[0]
    rests = [each[len(prefix) :] for each in ids]
    used, alphabet = {*"".join(rests)}, list[str]()
    for short, whole in (("0-9", "0-9"), ("A-F", "A-Z"), ("a-f", "a-z")):
        if found := used & {*characters(whole)}:
            alphabet.append(short if found <= {*characters(short)} else whole)
            used -= found
    if len(alphabet) == 3 and used & {*"-_"}:  # base64url, of which some ids lack one
        used |= {*"-_"}
    sizes, alphabet = [*map(len, rests)], sorted([*alphabet, *used])
    return {"prefix": prefix, "alphabet": alphabet, "shortest": min(sizes), "longest": max(sizes)}


def characters(of_range: str) -> str:
    """The characters of a range such as `a-f`, or of one character."""
    first, last = sorted((of_range[0], of_range[-1]))
    return "".join(map(chr, range(ord(first), ord(last) + 1)))
