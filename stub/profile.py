"""A profile: the forms of a service, which `verify --save` has seen and `--like` pins.

It is a JSON document; profile.json beside this file is its schema, and says what each member means.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from importlib.resources import files
from os.path import commonprefix
from pathlib import Path
from random import Random
from typing import Any

from records import STATUSES
from web.problems import FieldError
from web.redaction import Redactor
from web.strict_json import parse_json
from web.validation import pointer, require_valid

from .contract import Contract
from .seed import explained

Profile = dict[str, Any]
IdForm = dict[str, Any]  # a member of its `ids`

NO_PROFILE: Profile = {}
MAX_BYTES = 256 * 1024
OF_THE_SERVER = re.compile(
    "(?i:date|server|connection|keep-alive|content-.*|transfer-encoding|cache-control|vary|trailers?"
    "|te|upgrade|proxy-.*)"
)
# Of each type of JSON, the value of a member that the contract lacks.
PLAIN: dict[str, Any] = {
    "string": "text", "integer": 1, "number": 0.5, "boolean": True,
    "null": None, "array": [], "object": {},
}  # fmt: skip
# Generators have no type for null alone, nor for an array of no items.
GENERATED: dict[str, Any] = {"null": {}, "array": {"type": "array", "items": {}}}
# Of each keyword of the schema: whether a value keeps it, and what is said if not.
KEYWORDS: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    # By their texts: for Python 201.0 is 201.
    "enum": (lambda value, known: repr(value) in map(repr, known), "must be one of {}"),
    "minimum": (lambda value, least: value >= least, "must be at least {}"),
    "maximum": (lambda value, most: value <= most, "must be at most {}"),
    "minItems": (lambda value, least: len(value) >= least, "must have at least {} items"),
    "maxItems": (lambda value, most: len(value) <= most, "must have at most {} items"),
    "uniqueItems": (lambda value, _: len({*map(str, value)}) == len(value), "has an item twice"),
    "pattern": (lambda value, pattern: re.fullmatch(pattern, value), "must match {}"),
    "format": (lambda value, _: is_imitated(value), "is never imitated: leave it out"),
}
OLDEST_FIRST, NEWEST_FIRST = "oldest first", "newest first"
TIMES = {"offset": "Z", "digits": 3, "case": "upper"}
ID = {"alphabet": ["0-9", "a-f"], "shortest": 16, "longest": 16}
MEMBERS: dict[str, Any] = {"added": {}, "absent": []}
# The forms of the contract itself, and the schemas, or members of them, that have each.
DEFAULTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "/ids/projects": ({"prefix": "prj_", **ID}, ("Project.id", "Deployment.project_id")),
    "/ids/deployments": (
        {"prefix": "dpl_", **ID},
        ("Deployment.id", "Project.latest_deployment_id"),
    ),
    "/times": (TIMES, ("Project.created_at", "Deployment.created_at")),
    "/creation_status": (201, ()),
    "/list_order": (OLDEST_FIRST, ("ProjectList.projects",)),
    "/statuses": ({"run": [*STATUSES], "ended": STATUSES[-1]}, ()),
    "/members/project": (MEMBERS, ("Project",)),
    "/members/deployment": (MEMBERS, ("Deployment",)),
    "/headers": ([], ()),
    "/media_types/json": ("application/json", ()),
    "/media_types/problem": ("application/problem+json", ()),
}


def forms_of(profile: Profile) -> dict[str, Any]:
    """The forms of a profile, by their pointers."""
    found = {pointer(name): value for name, value in profile.items()}
    for name in ("ids", "members", "media_types"):
        found |= {pointer(name, kind): value for kind, value in profile.get(name, {}).items()}
    return {form: value for form, value in found.items() if form in DEFAULTS}


@cache
def schema() -> Any:
    """The JSON Schema of a profile."""
    return json.loads((files(__package__) / "profile.json").read_text("utf-8"))


def read_profile(path: Path) -> Profile:
    """The profile of a file. Raises `ValueError` with all errors and their places."""
    with explained(path):
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path}: is over {MAX_BYTES // 1024} KiB, so that it is no profile")
        profile: Profile = parse_json(path.read_bytes())[1]
        require_valid([*errors_of(profile, schema())] or contradictions(profile))
    return profile


def errors_of(value: Any, rules: dict[str, Any], *path: str | int) -> Iterator[FieldError]:
    """What in a value contradicts the rules, which are the schema or a part of it."""
    if "$ref" in rules:
        rules = schema()["$defs"][rules["$ref"].rpartition("/")[2]]
    kind = rules.get("type")
    if kind and type(value) is not type(PLAIN[kind]):
        yield FieldError(pointer(*path), f"must be of the type {kind}")
        return
    for keyword, (keeps, rule) in KEYWORDS.items():
        if keyword in rules and not keeps(value, rules[keyword]):
            yield FieldError(pointer(*path), rule.format(rules[keyword]))
    if kind == "array":
        for index, each in enumerate(value):
            yield from errors_of(each, rules["items"], *path, index)
    if kind == "object":
        known, others = rules.get("properties", {}), rules["additionalProperties"]
        for name in {*rules.get("required", ())} - value.keys():
            yield FieldError(pointer(*path, name), "is required")
        for name, each in value.items():
            if found := known.get(name, others):
                yield from errors_of(each, found, *path, name)
            else:
                yield FieldError(pointer(*path, name), "is not a known member")


def contradictions(profile: Profile) -> Iterator[FieldError]:
    """What a schema cannot say."""
    for kind, ids in profile.get("ids", {}).items():
        if ids["shortest"] > ids["longest"]:
            yield FieldError(pointer("ids", kind, "longest"), "must not be below `shortest`")
    statuses = profile.get("statuses")
    if statuses and statuses["ended"] not in (None, statuses["run"][-1]):
        yield FieldError("/statuses/ended", "must be the last one of `run`, or null")


def is_imitated(header: str) -> bool:
    """Whether a header is a form of the service: no secret, and not the server's own."""
    is_own = len(header) > 64 or OF_THE_SERVER.fullmatch(header)
    return not is_own and Redactor.secret(header, "x") == "x"


def observed(openapi: bytes, profile: Profile) -> bytes:
    """The contract with the forms of a profile, and with where each part of it is from."""
    if not profile:
        return openapi
    document = json.loads(openapi)
    contract, forms, date = Contract(document), forms_of(profile), profile["observed_at"]
    seen = {"x-origin": {"observed": date}}

    def mark(part: dict[str, Any], form: str) -> None:
        """Say where a part is from that has this form."""
        if forms.get(form, DEFAULTS[form][0]) != DEFAULTS[form][0]:
            part |= seen
        elif form in forms and "chosen" in part["x-origin"]:
            part["x-origin"]["confirmed"] = date

    for form, (_, parts) in DEFAULTS.items():
        for each in parts:
            name, _, member = each.partition(".")
            found = contract.schemas[name]
            mark(found["properties"][member] if member else found, form)
    for kind, members in profile.get("members", {}).items():
        found, added = contract.schemas[kind.title()], members.get("added", {})
        types = {name: GENERATED.get(each, {"type": each}) for name, each in added.items()}
        found["properties"] |= {name: {**each, **seen} for name, each in types.items()}
        for name in members.get("absent", ()):
            found["required"].remove(name)
            found["properties"][name] |= seen
    responses = (*(each.responses for each in contract.operations), contract.elsewhere)
    for status, response in (pair for each in responses for pair in each.items()):
        form = "/media_types/json" if status < "400" else "/media_types/problem"
        ((media_type, content),) = response["content"].items()
        response["content"] = {forms.get(form, media_type).partition(";")[0]: content}
        for name in forms.get("/headers", ()):
            response["headers"][name] = {"schema": {"type": "string"}, **seen}
        mark(response, form)
        mark(response, "/headers")
    created = document["paths"]["/v1/projects"]["post"]["responses"]
    mark(created["201"], "/creation_status")
    created[str(forms.get("/creation_status", 201))] = created.pop("201")
    if forms.get("/list_order") == NEWEST_FIRST:
        contract.schemas["ProjectList"]["properties"]["projects"]["description"] = "Newest first."
    if statuses := forms.get("/statuses"):
        known = contract.schemas["Deployment"]["properties"]["status"]
        words = ", ".join(f"`{each}`" for each in statuses["run"])
        known |= {
            "description": f"Known are {words}. The set may grow.",
            "examples": statuses["run"],
            "x-running": [each for each in statuses["run"] if each != statuses["ended"]],
            "x-known": {"x-origin": {"chosen": "what a deployment goes through"}},
        }
        mark(known["x-known"], "/statuses")
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def make_id(form: IdForm, source: Random) -> str:
    """An id of this form; no separator in its first half, where it would end another prefix."""
    prefix: str = form["prefix"]
    size = source.randint(form["shortest"], form["longest"])
    alphabet = "".join(map(characters, form["alphabet"]))
    plain = "".join(filter(str.isalnum, alphabet)) or alphabet
    first = max((size - len(prefix)) // 2 + 1, 0)
    return prefix + "".join(
        source.choices(plain, k=first) + source.choices(alphabet, k=size - first)
    )


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
