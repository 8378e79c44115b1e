"""A profile: the forms of a service, which `verify --save` has seen and `--like` pins.

It is a JSON document; profile.json beside this file is its schema, and says what each member means.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from importlib.resources import files
from random import Random
from typing import Any, TypedDict

from web.problems import FieldError
from web.redaction import Redactor
from web.validation import pointer

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
MEMBERS = {"project": "Project", "deployment": "Deployment"}  # the schemas of the contract
OF_THE_SERVER = {"date", "server", "connection", "content-length", "content-type", "cache-control"}
NAMED_PART = re.compile(r"[A-Za-z]+[_.:~-]")
LAST_WORD = re.compile(r"[A-Za-z]+[_.:~-]$")
RANGES = ("0-9", "a-f", "a-z", "A-F", "A-Z")


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
        own = schemas[MEMBERS[kind]]["properties"]
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
    return header.lower() not in OF_THE_SERVER and Redactor(("x",)).secret(header, "x") == "x"


def make_id(form: IdForm, source: Random) -> str:
    """An id in which the form is seen: the last character of each range is in it, and a separator
    only where it ends no prefix.
    """
    size = source.randint(form["shortest"], form["longest"])
    plain = [each for each in form["alphabet"] if each[0].isalnum()] or form["alphabet"]
    separators = [each for each in form["alphabet"] if each not in plain]
    shown = [each[-1] for each in plain][:size]
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
    for short, whole in zip(RANGES, ("0-9", "a-z", "a-z", "A-Z", "A-Z"), strict=True):
        kin = [each for each in used if each in characters(whole)]
        if char in kin and all(each in characters(short) for each in kin):
            return short
    return char


def characters(of_range: str) -> str:
    """The characters of a range such as `a-f`, or of one character."""
    return "".join(map(chr, range(ord(of_range[0]), ord(of_range[-1]) + 1)))
