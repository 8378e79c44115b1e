"""A profile: the forms of a service, which `verify --save` has seen and `--like` pins.

It is a JSON document; profile.json beside this file is its schema, and says what each member means.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.resources import files
from random import Random
from typing import Any, TypedDict, cast

from records import STATUSES
from web.problems import FieldError
from web.redaction import Redactor
from web.strict_json import parse_json
from web.validation import pointer, require_valid

from .contract import Contract
from .seed import Readable, explained

SCHEMA: dict[str, Any] = json.loads((files(__package__) / "profile.json").read_text("utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
# Of each keyword of the schema: whether a value keeps it, and what is said if not.
KEYWORDS: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "enum": (lambda value, known: value in known, "must be one of {}"),
    "minimum": (lambda value, least: value >= least, "must be at least {}"),
    "maximum": (lambda value, most: value <= most, "must be at most {}"),
    "minItems": (lambda value, least: len(value) >= least, "must have at least {} items"),
    "maxItems": (lambda value, most: len(value) <= most, "must have at most {} items"),
    "maxProperties": (lambda value, most: len(value) <= most, "must have at most {} members"),
    "uniqueItems": (lambda value, _: len({*map(str, value)}) == len(value), "has an item twice"),
    "pattern": (lambda value, pattern: re.fullmatch(pattern, value), "must match {}"),
}
SCHEMAS = "#/components/schemas/"
KINDS = {"project": "Project", "deployment": "Deployment"}  # the schemas of the contract
OF_THE_SERVER = re.compile(
    "(?i:date|server|connection|keep-alive|content-.*|transfer-encoding|cache-control|vary|trailer)"
)
NAMED_PART = re.compile(r"[A-Za-z]+[_.:~-]")
LAST_WORD = re.compile(r"[A-Za-z]+[_.:~-]$")
# The ranges of an alphabet, each with the whole that it is of.
RANGES = {"0-9": "0-9", "a-f": "a-z", "a-z": "a-z", "A-F": "A-Z", "A-Z": "A-Z"}
# Of each type, the value of a member that the contract lacks.
PLAIN: dict[str, Any] = {"string": "text", "integer": 1, "number": 0.5, "boolean": True}
PLAIN |= {"null": None, "array": [], "object": {}}
OLDEST_FIRST, NEWEST_FIRST = "oldest first", "newest first"


class IdForm(TypedDict):
    prefix: str
    alphabet: list[str]
    shortest: int
    longest: int


class TimeForm(TypedDict):
    offset: str
    digits: int
    case: str


class Statuses(TypedDict):
    run: list[str]
    ended: str | None


class Members(TypedDict, total=False):
    added: dict[str, str]
    absent: list[str]


class Profile(TypedDict, total=False):
    observed_at: str  # a date
    ids: dict[str, IdForm]
    times: TimeForm
    creation_status: int
    list_order: str
    statuses: Statuses
    members: dict[str, Members]
    headers: list[str]
    media_types: dict[str, str]
    not_imitated: list[dict[str, str]]


NO_PROFILE: Profile = {}
TIMES: TimeForm = {"offset": "Z", "digits": 3, "case": "upper"}
PLAIN_ID = {"alphabet": ["0-9", "a-f"], "shortest": 16, "longest": 16}
# The forms of the contract itself, and the parts that they are of.
DEFAULTS: dict[str, tuple[Any, Sequence[str]]] = {
    "/ids/projects": (
        {"prefix": "prj_", **PLAIN_ID},
        ("Project/properties/id", "Deployment/properties/project_id"),
    ),
    "/ids/deployments": (
        {"prefix": "dpl_", **PLAIN_ID},
        ("Deployment/properties/id", "Project/properties/latest_deployment_id"),
    ),
    "/times": (TIMES, ("Project/properties/created_at", "Deployment/properties/created_at")),
    "/creation_status": (201, ()),
    "/list_order": (OLDEST_FIRST, ("ProjectList/properties/projects",)),
    "/statuses": ({"run": [*STATUSES], "ended": STATUSES[-1]}, ()),
    "/members/project": ({"added": {}, "absent": []}, ("Project",)),
    "/members/deployment": ({"added": {}, "absent": []}, ("Deployment",)),
    "/headers": ([], ()),
    "/media_types/json": ("application/json", ()),
    "/media_types/problem": ("application/problem+json", ()),
}


def forms_of(profile: Profile) -> dict[str, Any]:
    """The forms of a profile, by their pointers."""
    found: dict[str, Any] = {}
    for name, value in profile.items():
        inner = value.items() if name in ("ids", "members", "media_types") else ()  # type: ignore[attr-defined]
        found |= {pointer(name, kind): each for kind, each in inner} or {pointer(name): value}
    return {name: each for name, each in found.items() if name in DEFAULTS}


def read_profile(path: Readable, openapi: bytes) -> Profile:
    """The profile of a file. Raises `ValueError` with all errors and their places."""

    with explained(path):
        _, profile = parse_json(path.read_bytes())
        schemas = json.loads(openapi)["components"]["schemas"]
        require_valid([*errors_of(profile, SCHEMA)] or contradictions(profile, schemas))
    return cast(Profile, profile)


def observed(openapi: bytes, profile: Profile) -> bytes:
    """The contract with the forms of a profile, and with where each part of it is from."""
    if not profile:
        return openapi
    document = json.loads(openapi)
    schemas, post = document["components"]["schemas"], document["paths"]["/v1/projects"]["post"]
    forms = forms_of(profile)

    def mark(part: dict[str, Any], form: str) -> None:
        """Say where a part is from that has this form."""
        if form in forms:
            if forms[form] != DEFAULTS[form][0]:
                part["x-origin"] = {"observed": profile["observed_at"]}
            elif "chosen" in part["x-origin"]:
                part["x-origin"]["confirmed"] = profile["observed_at"]

    for form, (_, parts) in DEFAULTS.items():
        for part in parts:
            mark(Contract(document).find(SCHEMAS + part)[1], form)
    for kind, members in profile.get("members", {}).items():
        schema = schemas[KINDS[kind]]
        for name, each in members.get("added", {}).items():
            origin = {"observed": profile["observed_at"]}
            schema["properties"][name] = {"type": each, "x-origin": origin}
        for name in members.get("absent", ()):
            schema["required"].remove(name)
            schema["properties"][name]["x-origin"] = {"observed": profile["observed_at"]}
    for status, response in responses_in(document):
        kind = "json" if status.startswith("2") else "problem"
        media_type = profile.get("media_types", {}).get(kind, "").partition(";")[0]
        for content in [*response.get("content", ())] if media_type else ():
            response["content"][media_type] = response["content"].pop(content)
        for name in profile.get("headers", ()):
            origin = {"observed": profile["observed_at"]}
            response["headers"][name] = {"schema": {"type": "string"}, "x-origin": origin}
        mark(response, f"/media_types/{kind}")
        mark(response, "/headers")
    mark(post["responses"]["201"], "/creation_status")
    status = str(profile.get("creation_status", 201))
    post["responses"][status] = post["responses"].pop("201")
    if profile.get("list_order") == NEWEST_FIRST:
        schemas["ProjectList"]["properties"]["projects"]["description"] = "Newest first."
    if statuses := profile.get("statuses"):
        known = schemas["Deployment"]["properties"]["status"]
        words = ", ".join(f"`{each}`" for each in statuses["run"])
        known["description"] = f"Known are {words}. The set may grow."
        known["examples"] = statuses["run"]
        known["x-running"] = [each for each in statuses["run"] if each != statuses["ended"]]
        known["x-known"] = {"x-origin": {"chosen": "what a deployment goes through"}}
        mark(known["x-known"], "/statuses")
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def responses_in(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The responses of a contract with their statuses; those of `components` are errors."""
    for item in document["paths"].values():
        for operation in item.values():
            for status, response in operation.get("responses", {}).items():
                if "$ref" not in response:
                    yield status, response
    for response in document["components"]["responses"].values():
        yield "400", response


def errors_of(value: Any, schema: dict[str, Any], *path: str | int) -> Iterator[FieldError]:
    """What in a value contradicts the schema, whose keywords these are."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    kind = schema.get("type")
    if kind and not (isinstance(value, TYPES[kind]) and not isinstance(value, bool)):
        yield FieldError(pointer(*path), f"must be of the type {kind}")
        return
    for keyword, (keeps, rule) in KEYWORDS.items():
        if keyword in schema and not keeps(value, schema[keyword]):
            yield FieldError(pointer(*path), rule.format(schema[keyword]))
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from errors_of(each, schema["items"], *path, index)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema["additionalProperties"]
        for name in {*schema.get("required", ())} - value.keys():
            yield FieldError(pointer(*path, name), "is required")
        for name, each in value.items():
            if found := known.get(name, others):
                yield from errors_of(each, found, *path, name)
            else:
                yield FieldError(pointer(*path, name), "is not a known member")


def contradictions(profile: Profile, schemas: dict[str, Any]) -> Iterator[FieldError]:
    """What the schema cannot say; `schemas` are those of the contract."""
    for kind, ids in profile.get("ids", {}).items():
        if ids["shortest"] > ids["longest"]:
            yield FieldError(pointer("ids", kind, "longest"), "must not be below `shortest`")
        for index, each in enumerate(ids["alphabet"]):
            if not characters(each):
                yield FieldError(pointer("ids", kind, "alphabet", index), "must go upwards")
    statuses = profile.get("statuses")
    if statuses and statuses["ended"] not in (None, statuses["run"][-1]):
        yield FieldError("/statuses/ended", "must be the last one of `run`, or null")
    for kind, members in profile.get("members", {}).items():
        own = schemas[KINDS[kind]]["properties"]
        for name in members.get("added", {}).keys() & own.keys():
            yield FieldError(pointer("members", kind, "added", name), "is in the contract")
        for index, name in enumerate(members.get("absent", ())):
            if "chosen" not in own.get(name, {"x-origin": ()})["x-origin"]:
                yield FieldError(pointer("members", kind, "absent", index), "cannot be absent")
    for index, name in enumerate(profile.get("headers", ())):
        if not is_imitated(name):
            yield FieldError(pointer("headers", index), "is never imitated: leave it out")


def is_imitated(header: str) -> bool:
    """Whether a header is a form of the service: no secret, and not the server's own."""
    return not OF_THE_SERVER.fullmatch(header) and Redactor(("x",)).secret(header, "x") == "x"


def make_id(form: IdForm, source: Random) -> str:
    """An id in which the form is seen: the last character of each range is in it if there is room,
    and a separator only where it ends no prefix.
    """
    size = source.randint(form["shortest"], form["longest"])
    plain = [each for each in form["alphabet"] if each[0].isalnum()] or form["alphabet"]
    separators = [each for each in form["alphabet"] if each not in plain]
    shown = [each[-1] for each in plain] if size >= 2 * len(plain) else []
    more = size - len(shown) - len(separators)
    rest = shown + source.choices("".join(map(characters, plain)), k=max(more, 0))
    source.shuffle(rest)
    half = (size - len(form["prefix"])) // 2 + 1
    for each in separators[: size - len(rest)]:
        rest.insert(source.randint(min(max(half, 0), len(rest)), len(rest)), each)
    return form["prefix"] + "".join(rest)


def id_form(ids: Collection[str]) -> IdForm:
    """The form of these ids."""
    first, *others = ids
    prefix = named_prefix(first)
    while not all(each.startswith(prefix) for each in others):
        prefix = LAST_WORD.sub("", prefix)
    rests = [each[len(prefix) :] for each in ids]
    used = {char for rest in rests for char in rest}
    alphabet = dict.fromkeys(alphabet_range(char, used) for char in sorted(used))
    sizes = [*map(len, rests)]
    return IdForm(prefix=prefix, alphabet=[*alphabet], shortest=min(sizes), longest=max(sizes))


def named_prefix(text: str) -> str:
    """The words that an id begins with, up to a separator in its first half: `prj_`."""
    end = 0
    while (word := NAMED_PART.match(text, end)) and word.end() <= len(text) // 2:
        end = word.end()
    return text[:end]


def alphabet_range(char: str, used: Collection[str]) -> str:
    """The range of an alphabet that a character is of; `used` are all characters."""
    for short, whole in RANGES.items():
        kin = [each for each in used if each in characters(whole)]
        if char in kin and all(each in characters(short) for each in kin):
            return short
    return char


def characters(of_range: str) -> str:
    """The characters of a range such as `a-f`, or of one character."""
    return "".join(map(chr, range(ord(of_range[0]), ord(of_range[-1]) + 1)))
