"""Judges a response by its probe: its form by the contract, and how it relates to others.

Forms are a status, a media type, whether a member or a header is there, and its type. What a
server may add at any time is no difference: members, headers, white space, an order of members.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import stub
from stub.contract import object_in
from stub.rules import TYPES as JSON_TYPES
from web.redaction import Redactor
from web.validation import pointer as json_pointer

from . import probes
from .client import NO_JSON, Exchange
from .names import OLDEST, in_snake_case, order_of
from .probes import SCHEMAS, Probe

PROJECT_LIST = f"{SCHEMAS}ProjectList"
ITEMS = f"{PROJECT_LIST}/properties/projects"
PROJECT = f"{SCHEMAS}Project"
DEPLOYMENT = f"{SCHEMAS}Deployment"
PROBLEM = f"{SCHEMAS}Problem"
ERRORS = f"{PROBLEM}/properties/errors"  # which `InvalidBody` alone has
OWN_MEMBER = "stubverify"  # one word, which no other spelling changes
AS_SENT = "members of the client as they were sent"
COULD_NOT_CHECK, NOT_SEEN = "could not check", "not seen"
OF_A_BODY = (400, 409, 413, 415, 422)  # statuses that reject a body
MISSING, OTHER_ORDER = "missing", "another order"
TYPES = {type(value): name for name, (value, _) in JSON_TYPES.items()}
# Forms that no keyword of the contract's schemas has: what is expected, and whether a text has it.
FORMS: dict[str, tuple[str, Callable[[str], object]]] = {
    "date-time": ("an RFC 3339 time", stub.parse_time),
    "json-pointer": ("a JSON pointer", re.compile("/|$").match),
    "Allow": ("with GET", re.compile(r"\bGET\b").search),
    "Cache-Control": ("no-store", re.compile(r"(?i)\bno-store\b").search),
    "WWW-Authenticate": ("a Bearer challenge", re.compile(r"(?i)(^|,)\s*bearer\b").search),
}


class Claim(NamedTuple):
    """What a response says about a part: that it is as expected, or otherwise.

    Both are forms: the same in every run. `value` is the text of one that contradicts.
    """

    part: str
    holds: bool
    expected: str
    otherwise: str = ""
    value: str = ""


@dataclass
class Record:
    """All that was exchanged in a run, in its order, and what it says."""

    contract: stub.Contract
    level: str
    redactor: Redactor
    exchanges: list[Exchange] = field(default_factory=list)
    claims: list[tuple[Claim, Exchange]] = field(default_factory=list)
    # Why a probe showed nothing, by its name: a verdict and the reason.
    silent: dict[str, tuple[str, str]] = field(default_factory=dict)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)  # probes
    has_ended: bool = False  # whether the created deployment has come to its end
    projects: list[dict[str, Any]] = field(default_factory=list)  # listed first, or created

    def of(self, probe: Probe) -> list[Exchange]:
        return [each for each in self.exchanges if each.probe.name == probe.name]

    def at(self, path: str) -> list[Exchange]:
        """The successful responses at a path to the probes that should succeed."""
        found = [each for each in self.exchanges if each.probe.path == path and each.is_success]
        return [each for each in found if each.probe.status < 400]

    def listed(self, exchange: Exchange) -> list[dict[str, Any]]:
        """The projects in a list, none if it has no such form."""
        found = array_in(exchange.json, "projects") or () if exchange.is_success else ()
        return [self.unwrap(PROJECT, each) for each in found if isinstance(each, dict)]

    def unwrap(self, schema: str, value: Any) -> dict[str, Any]:
        """The object with most of the required members. Objects in a record do not count."""
        required = {*self.contract.find(schema)[1]["required"]}
        found = [flatten(each, required) for each in objects_in(value, required)]
        return max(found, key=lambda each: len(each.keys() & required), default={})

    def find_created(self, exchange: Exchange) -> list[dict[str, Any]]:
        """The created project as a list has it: by its id, or else by its name."""
        created, listed = self.projects[-1], self.listed(exchange)
        by_id = [each for each in listed if each.get("id", "") == created.get("id")]
        return by_id or [each for each in listed if each.get("name") == created["name"]]

    @property
    def created(self) -> list[dict[str, Any]]:
        """The id and the name of what the POSTs may have left; no id if no response named one."""
        found: list[dict[str, Any]] = []
        posts = [each for each in self.exchanges if each.probe.method == "POST"]
        for each in (one for one in posts if not 400 <= one.status < 500):
            name = object_in(each.body).get("name")
            listed = (one.get("id") for one in self.projects if name and one.get("name") == name)
            told = self.unwrap(PROJECT, each.json) if each.is_success else {}
            new = told.get("id", next(listed, None))
            found.append({"id": new if is_id(new) else None, "name": name})
        return found


def silence_of(record: Record, exchange: Exchange) -> tuple[str, str] | None:
    """The verdict of the probe's parts, and why a response says nothing of them, if so."""
    probe, status = exchange.probe, exchange.status
    if exchange.failure:
        return COULD_NOT_CHECK, exchange.failure
    if probe.status < 400 and status in (401, 403):
        return COULD_NOT_CHECK, f"{status}: the token is not accepted for this"
    if probe.expects == probes.LIST.expects and status == 200 and exchange.json is NO_JSON:
        return COULD_NOT_CHECK, "no JSON where the list should be"
    if probes.BEARER in probe.rules and not exchange.is_success and status not in (401, 403):
        is_of_body = probe.method == "POST" and (status < 400 or status in OF_A_BODY)
        accepted = [each.probe.method for each in record.at(probe.path)]
        if is_of_body or probe.method not in accepted:
            return NOT_SEEN, f"{status} tells nothing of the token"
    return None


def claims_of(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """What a response says about the parts of its probe."""
    probe = exchange.probe
    if silence_of(record, exchange):
        return
    if probe.status >= 400:
        yield from judge_rejection(record, exchange)
    elif not exchange.is_success:
        yield from judge_failure(record, exchange)
    else:
        yield from (Claim(rule, True, "success") for rule in probe.rules)
        yield from judge_response(record, exchange)
    if exchange.is_success and probe.expects in RELATIONS:
        yield from RELATIONS[probe.expects](record, exchange)


def judge_rejection(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """What it says of a request that should be rejected."""
    probe, status, is_accepted = exchange.probe, exchange.status, exchange.is_success
    if is_accepted or status >= 400 or probes.BEARER in probe.rules:
        for each in probe.rules:
            yield Claim(each, not is_accepted, "rejected", f"accepted with {status}")
    if status != probe.status:
        if not (is_accepted and probe.rules):
            yield Claim(probe.expects, False, str(probe.status), str(status))
        return
    yield from judge_response(record, exchange)
    problem = record.unwrap(PROBLEM, exchange.json)
    members = record.contract.schemas["Problem"]["required"]
    if probe.expects == probes.INVALID_BODY and problem.keys() & {*members}:
        yield Claim(ERRORS, "errors" in problem, "present", MISSING)


def judge_response(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """The claims of a response, whose status is the expected one or another success."""
    pointer, response = record.contract.find(exchange.probe.expects)
    status = str(exchange.probe.status)
    yield Claim(pointer, exchange.status == exchange.probe.status, status, str(exchange.status))
    for name in response["headers"]:
        part, value = record.contract.find(f"{pointer}/headers/{name}")[0], exchange.header(name)
        yield Claim(part, value is not None, "present", MISSING)
        if value is not None and name in FORMS:
            yield judge_form(f"{part}/schema", name, value)
    (media_type,) = response["content"]
    label = (exchange.header("Content-Type") or "no media type").partition(";")[0].strip().lower()
    yield Claim(pointer, label == media_type, media_type, label)
    if exchange.json is not NO_JSON:
        schema = f"{pointer}/content{json_pointer(media_type)}/schema"
        yield from judge_value(record, schema, exchange.json)
    elif label == media_type:
        yield Claim(pointer, False, "JSON", "no JSON")


def judge_value(record: Record, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of a value, whose schema is at the pointer."""
    pointer, schema = record.contract.find(pointer)
    types = [each["type"] for each in schema.get("anyOf", [schema])]
    expected, observed = " or ".join(types), TYPES[type(value)]
    if observed == "string" and schema.get("format") in FORMS:
        yield judge_form(pointer, schema["format"], value)
    elif observed in types:
        yield Claim(pointer, True, expected)
    else:
        yield Claim(pointer, False, expected, observed, json.dumps(value))
    if "anyOf" in schema and observed in types:
        yield from judge_value(record, f"{pointer}/anyOf/{types.index(observed)}", value)
    elif expected == "object":
        yield from judge_members(record, pointer, value)
    elif expected == observed == "array":
        for item in value:
            yield from judge_value(record, f"{pointer}/items", item)


def judge_members(record: Record, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of an object's members; without an object, those of fixed members alone."""
    schema = record.contract.find(pointer)[1]
    required = schema["required"]
    is_object, inner = isinstance(value, dict), record.unwrap(pointer, value)
    spelled = in_snake_case(inner)  # `createdAt` is judged as `created_at`, which is missing
    has_none = len(required) > 1 and not inner.keys() & {*required}
    if is_object and inner is not value:
        yield Claim(pointer, False, "the members themselves", "a member around them")
    elif is_object and has_none:
        yield Claim(pointer, False, f"members {', '.join(required)}", "none of them")
    for name in schema["properties"]:
        member, declared = record.contract.find(f"{pointer}/properties/{name}")
        if name in spelled:
            yield from judge_value(record, member, spelled[name])
        if name in required and name not in inner:
            if "fixed" in declared["x-origin"] or (is_object and not has_none):
                yield Claim(member, False, "present", MISSING)
            if declared.get("type") == "array":
                for item in array_in(value, name) or []:
                    yield from judge_value(record, f"{member}/items", item)


def judge_form(part: str, form: str, text: str) -> Claim:
    """The claim of a text that should have one of `FORMS`."""
    expected, has_form = FORMS[form]
    holds = bool(has_form(text))
    return Claim(part, holds, expected, "another text", "" if holds else json.dumps(text))


def judge_failure(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """What it says that a request which should succeed did not."""
    probe, status = exchange.probe, exchange.status
    path, operation = probe.path, probe.expects.partition("/responses/")[0]
    is_post, is_list = probe.method == "POST", probe.expects == probes.LIST.expects
    is_as_unknown = likeness(exchange) in map(likeness, record.of(probes.UNKNOWN_PATH))
    is_missing = status == 404 and (is_list or (is_as_unknown and not is_post))
    is_absent = status == 405 or (status == 404 and is_post)
    # When, the parts, what they should be, and what is seen. The first that applies.
    rows = (
        (exchange.is_redirect and not is_post, [path], "exists", f"{status}, a redirect"),
        (exchange.is_redirect, [probe.expects], str(probe.status), str(status)),
        (is_missing, [operation, path], "exists", "404, as for a path that does not exist"),
        (is_list or is_absent, [operation], "success", str(status)),
        (status == 415 and is_post, [f"{operation}/requestBody"], "JSON is accepted", str(status)),
        (is_post, [probes.INPUT], "a name and other members are accepted", str(status)),
        (status != 404, [probe.expects], str(probe.status), str(status)),
        (True, [f"{PROJECT}/properties/latest_deployment_id"], "the id of a deployment", "404"),
    )
    parts, expected, observed = next(row[1:] for row in rows if row[0])
    yield from (Claim(part, False, expected, observed) for part in parts)


def judge_created(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """How a created project relates to what was sent."""
    sent, found = object_in(exchange.body), record.unwrap(PROJECT, exchange.json)
    if isinstance(found.get("name"), str):
        part, is_same = f"{PROJECT}/properties/name", found["name"] == sent["name"]
        yield Claim(part, is_same, "as it was sent", "changed")
    if found and OWN_MEMBER in sent:
        is_same = found.get(OWN_MEMBER) == sent[OWN_MEMBER]
        yield Claim(PROJECT, is_same, AS_SENT, "changed or left out")


def judge_list(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """How listed projects relate to each other, and to the created one."""
    projects = record.listed(exchange)
    yield Claim(ITEMS, order_of(projects) in (OLDEST, None), OLDEST, OTHER_ORDER)
    if exchange.probe == probes.LISTED and (projects or array_in(exchange.json, "projects") == []):
        found = record.find_created(exchange)
        yield Claim(PROJECT_LIST, bool(found), "a created project is listed", "it is not")
        if found and OWN_MEMBER in record.projects[-1]:
            yield Claim(PROJECT, OWN_MEMBER in found[0], AS_SENT, "not in the list")


def judge_deployment(record: Record, exchange: Exchange) -> Iterator[Claim]:
    """How a deployment relates to its path and its project."""
    found = record.unwrap(DEPLOYMENT, exchange.json)
    asked, owner = unquote(exchange.target.rsplit("/")[-1]), in_snake_case(found).get("project_id")
    owners = [each.get("id") for each in record.projects if latest_of(each) == asked]
    if is_id(found.get("id")):
        is_it = str(found["id"]) == asked
        yield Claim(probes.DEPLOYMENT_ID, is_it, "the deployment of this id", "another one")
    if owner is not None and any(map(is_id, owners)):
        part, is_its = f"{DEPLOYMENT}/properties/project_id", str(owner) in map(str, owners)
        yield Claim(part, is_its, "the id of its project", "another id")


# Of each response, how it relates to others.
RELATIONS: dict[str, Callable[[Record, Exchange], Iterator[Claim]]] = {
    probes.LIST.expects: judge_list,
    probes.CREATE.expects: judge_created,
    probes.GET_DEPLOYMENT.expects: judge_deployment,
    probes.UNKNOWN_DEPLOYMENT.expects: judge_deployment,
}


def latest_of(project: dict[str, Any]) -> str:
    """The id of a project's latest deployment as it stands in a path, "" if it has none."""
    latest = in_snake_case(project).get("latest_deployment_id")
    return str(latest) if is_id(latest) else ""


def is_id(value: Any) -> bool:
    """Whether it is a text or a number that a path can have."""
    return type(value) in (str, int)


def likeness(exchange: Exchange) -> Any:
    """What errors for one reason have in common: their code, or the whole body."""
    body = exchange.content.decode(errors="replace").replace(exchange.target, "")
    return object_in(exchange.content).get("code") or body


def parts_in(contract: stub.Contract, pointer: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The parts at a pointer and below, behind `$ref` too, with their origins.

    A part may come more than once. Those of the stub alone do not come.
    """
    pointer, node = contract.find(pointer)
    members = dict(enumerate(node)) if isinstance(node, list) else node
    if "x-origin" in members:
        yield pointer, members["x-origin"]
    for name, value in members.items():
        is_other = name in ("x-origin", "examples", "links") or not isinstance(value, (dict, list))
        if not is_other and "x-stub-only" not in value:
            yield from parts_in(contract, f"{pointer}{json_pointer(name)}")


def array_in(value: Any, name: str) -> list[Any] | None:
    """The array of a list: the value, else its array of this name, else the first with records."""
    members = [pair for each in objects_in(value) for pair in each.items()]
    arrays = [
        (key == name, any(isinstance(x, dict) and x.keys() & {"id", "name"} for x in each), each)
        for key, each in members
        if isinstance(each, list)
    ]
    found = max(arrays, key=lambda each: each[:2], default=(False, False, None))
    return value if isinstance(value, list) else found[2]


def flatten(record: dict[str, Any], required: set[str]) -> dict[str, Any]:
    """A record with an id alone, such as one of JSON:API, with the members of its inner objects."""
    parts = [each for each in record.values() if isinstance(each, dict) and "id" not in each]
    more = {name: each[name] for each in parts if each.keys() & required for name in each}
    return record | more if more and record.keys() & required == {"id"} else record


def objects_in(value: Any, required: Collection[str] = ()) -> list[dict[str, Any]]:
    """The objects of a value, the outer ones first, without those in a record."""
    found = [value] if isinstance(value, dict) else []
    for outer in found:  # which grows while it is read; a record has an id and another member
        if "id" not in outer or len(outer.keys() & {*required}) < 2:
            found += [each for each in outer.values() if isinstance(each, dict)]
    return found
