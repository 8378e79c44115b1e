"""A profile: the forms of a service, which `verify --save` has seen and `--like` pins.

It is a JSON document; profile.json beside this file is its schema, and says what each member means.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from os.path import commonprefix
from pathlib import Path
from random import Random
from string import digits
from typing import Any
from uuid import UUID

from web.problems import FieldError
from web.strict_json import parse_json
from web.validation import pointer, require_valid

from .contract import Contract
from .rules import TIME, check, parse_time, schemas
from .seed import explained

Profile = dict[str, Any]

NO_PROFILE: Profile = {}
UUIDS = ["-", "0-9", "a-f"], ["-", "0-9", "A-F"]  # alphabets
# Generators have no type for null alone, nor for an array of no items.
GENERATED: dict[str, Any] = {"null": {}, "array": {"type": "array", "items": {}}}
OLDEST, NEWEST = "oldest first", "newest first"


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
        text, document = parse_json(path.read_bytes())
        require_valid(errors_in(document))
    # A profile has integers alone, and JSON may have 3.0 for 3.
    return dict(json.loads(text, parse_float=lambda number: int(float(number))))


def errors_in(profile: Any) -> list[FieldError]:
    """The errors of a profile by its schema; without these, its contradictions."""
    return [*check(profile, "Profile")] or [*contradictions(profile)]


def contradictions(profile: Profile) -> Iterator[FieldError]:
    """What a schema cannot say."""
    for kind, ids in profile.get("ids", {}).items():
        if ids["shortest"] > ids["longest"]:
            yield FieldError(pointer("ids", kind, "longest"), "must not be below `shortest`")
        if ids["shortest"] < len(ids["prefix"]):
            yield FieldError(pointer("ids", kind, "prefix"), "must be at most half of the id")
        if len([*filter(str.isalnum, characters(*ids["alphabet"]))]) < 2:
            yield FieldError(pointer("ids", kind, "alphabet"), "must have two letters or digits")
    statuses = profile.get("statuses")
    if statuses and statuses["ended"] not in (None, statuses["run"][-1]):
        yield FieldError("/statuses/ended", "must be the last one of `run`, or null")


def observed(openapi: bytes, profile: Profile) -> bytes:
    """The contract with the forms of a profile, and with where each part of it is from."""
    if not profile:
        return openapi
    document, date = json.loads(openapi), profile["observed_at"]
    forms, seen = defaults() | forms_of(profile), {"x-origin": {"observed": date}}
    has_deployment = "deployment" in profile.get("members", {})
    contract, told = Contract(document), {each["part"] for each in profile.get("not_imitated", ())}
    info, kinds = document["info"], contract.schemas
    info["description"] = (
        f"The parts with `observed` are as a service was on {date}; they overrule this text.\n\n"
        f"{info['description']}"
    )
    if "statuses" in profile:
        change_statuses(kinds["Deployment"]["properties"]["status"], **profile["statuses"])
    for _, value, rules in forms_in(profile):
        for place in rules["x-parts"] if value is not None else ():
            part, is_seen = contract.find(place)[1], has_deployment or "/Deployment/" not in place
            if value != rules["default"]:
                part |= seen
            elif "chosen" in part["x-origin"] and is_seen and place not in told:
                part["x-origin"]["confirmed"] = date
    post = document["paths"]["/v1/projects"]["post"]
    link = post["responses"]["201"]["links"]["followDeployment"]["parameters"]
    for kind in ("project", "deployment"):
        schema, members = kinds[kind.title()], forms[pointer("members", kind)]
        names, added = renamed(members), members.get("added", {})
        for name, type_name in added.items():
            schema["properties"][name] = GENERATED.get(type_name, {"type": type_name}) | seen
        for name in members.get("absent", ()):
            shown = names.get(name, name)
            schema["required"].remove(name)
            part = schema["properties"].pop(name) | seen
            link["id"] = link["id"].replace(f"#/{name}", f"#/{shown}")
            if added.get(shown, "string") == "string":
                schema["properties"][shown] = part
    headers = {name: {"schema": {"type": "string"}, **seen} for name in forms["/headers"]}
    for responses in (*(each.responses for each in contract.operations), contract.elsewhere):
        for code, response in responses.items():
            kind = "json" if code < "400" else "problem"
            if code != "431":  # the server's own alone
                change_response(response, forms[pointer("media_types", kind)], headers, seen)
    post["responses"] = {
        str(forms["/creation_status"]) if status == "201" else status: each
        for status, each in post["responses"].items()
    }
    kinds["ProjectList"]["properties"]["projects"]["description"] = (
        f"{forms['/list_order'].capitalize()}."
    )
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def change_statuses(status: dict[str, Any], run: list[str], ended: str | None) -> None:
    """Make these the known statuses. That a deployment has a status stays fixed."""
    status |= {
        "description": f"Known are {', '.join(map('`{}`'.format, run))}. The set may grow.",
        "examples": run,
        "x-running": [each for each in run if each != ended],
        "x-known": {"x-origin": {"chosen": "what a deployment goes through"}},
    }


def change_response(
    response: dict[str, Any], label: str, headers: dict[str, Any], seen: dict[str, Any]
) -> None:
    """Give a response this media type, and these header fields."""
    ((media_type, content),) = response["content"].items()
    response["content"] = {label.partition(";")[0].strip(): content}
    response["headers"] |= headers
    if label != media_type:
        response |= seen


def make_id(form: dict[str, Any], source: Random, number: int = 0) -> str:
    """An id of this form, longer than the form says where it has fewer ids than `number`.

    The first half has no separator, as that would end another prefix. The second half ends with
    each range of the alphabet, if it has room for them.
    """
    prefix: str = form["prefix"]
    ranges, alphabet = [*map(characters, form["alphabet"])], characters(*form["alphabet"])
    if sorted(form["alphabet"]) in UUIDS and form["shortest"] == form["longest"] == 36:
        made = str(UUID(int=source.getrandbits(128), version=4))
        return prefix + (made if "a-f" in form["alphabet"] else made.upper())
    plain = [*filter(str.isalnum, alphabet)]
    size = source.randint(form["shortest"], form["longest"])
    while len(plain) ** size < number:
        size += 1
    first = max((size - len(prefix)) // 2 + 1, 0)
    rest = source.choices(plain, k=first) + source.choices(alphabet, k=size - first)
    if len(ranges) <= size - first + 1:
        # Of `a-z` a letter after f, since others are in `a-f`, too.
        rest[-len(ranges) :] = [source.choice(each[6:] or each) for each in ranges]
    return prefix + "".join(rest)


def in_snake_case(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its members in snake_case, too; a member that has such a name stays."""
    return {re.sub("(?<=[a-z0-9])[A-Z]", r"_\g<0>", x).lower(): record[x] for x in record} | record


def renamed(members: dict[str, Any]) -> dict[str, str]:
    """The absent members that have another name in the service: `created_at` to `createdAt`."""
    spelled = in_snake_case({name: name for name in members.get("added", ())})
    return {name: spelled[name] for name in members.get("absent", ()) if name in spelled}


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


def order_of(projects: Iterable[dict[str, Any]]) -> str | None:
    """The order of projects, "" if it is another one, None if their times do not tell."""
    created = (in_snake_case(each).get("created_at") for each in projects)
    times = [*filter(None, map(parse_time, created))]
    orders = {(*sorted(times, reverse=True),): NEWEST, (*sorted(times),): OLDEST}
    return orders.get((*times,), "") if len(orders) > 1 else None


def is_same(form: str, before: Any, now: Any, ends: set[str]) -> bool:
    """Whether what was seen is of a known form: a run shows some ids, and some statuses.

    `ends` are the statuses of the contract that end a run, which may succeed or fail.
    """
    if form.startswith("/ids/"):
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
    if form == "/headers":
        return {*map(str.lower, now)} == {*map(str.lower, before)}
    if form.startswith("/members/"):
        known, added = before.get("added", {}), now["added"]
        types = [{kind, known.get(name)} - {"null"} for name, kind in added.items()]
        return (
            known.keys() == added.keys()
            and {*now["absent"]} == {*before.get("absent", ())}
            and all(len(each) < 2 or each == {"integer", "number"} for each in types)
        )
    return bool(now == before)


def characters(*ranges: str) -> str:
    """The characters of ranges such as `a-f`, or of single characters."""
    ends = (sorted((ord(each[0]), ord(each[-1]))) for each in ranges)
    return "".join(chr(each) for first, last in ends for each in range(first, last + 1))
