"""Judges a response by its probe: its form by the contract, and how it relates to others.

Forms are a status, a media type, whether a member or a header is there, and its type. What a
server may add at any time is no difference: members, headers, white space, an order of members.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import stub
from stub.contract import object_in
from web.validation import pointer as json_pointer

from . import probes
from .exchange import Exchange
from .probes import OWN_MEMBER, SCHEMAS
from .run import Run
from .values import (
    NOTHING,
    OLDEST,
    Path,
    at,
    is_id,
    last_name,
    order_of,
    parse_seconds,
    scalars,
    type_of,
)

PROJECT_LIST = f"{SCHEMAS}ProjectList"
ITEMS = f"{PROJECT_LIST}/properties/projects"
PROJECT = f"{SCHEMAS}Project"
LATEST = f"{PROJECT}/properties/latest_deployment_id"
DEPLOYMENT = f"{SCHEMAS}Deployment"
STATUS = f"{DEPLOYMENT}/properties/status"
PROBLEM = f"{SCHEMAS}Problem"
ERRORS = f"{PROBLEM}/properties/errors"  # which `InvalidBody` alone has
AS_SENT = "members of the client as they were sent"
COULD_NOT_CHECK, NOT_SEEN = "could not check", "not seen"
OF_A_BODY = (400, 409, 413, 415, 422)  # statuses that reject a body
MISSING, OTHER_ORDER = "missing", "another order"
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


def silence_of(run: Run, exchange: Exchange) -> tuple[str, str] | None:
    """The verdict of the probe's parts, and why a response says nothing of them, if so."""
    probe, status = exchange.probe, exchange.status
    if exchange.failure:
        return COULD_NOT_CHECK, exchange.failure
    if probe.status < 400 and status in (401, 403):
        return COULD_NOT_CHECK, f"{status}: the token is not accepted for this"
    if probe.expects == probes.LIST.expects and status == 200 and not exchange.has_json:
        return COULD_NOT_CHECK, "no JSON where the list should be"
    if probes.BEARER in probe.rules and not exchange.is_success and status not in (401, 403):
        is_of_body = probe.method == "POST" and (status < 400 or status in OF_A_BODY)
        if is_of_body or not accepts_token(run, exchange):
            return NOT_SEEN, f"{status} tells nothing of the token"
    return None


def accepts_token(run: Run, exchange: Exchange) -> bool:
    """Whether the operation was successful with the token."""
    probe = exchange.probe
    return any(
        each.is_success
        for each in run.exchanges
        if each.probe.path == probe.path
        and each.probe.method == probe.method
        and each.probe.status < 400
    )


def claims_of(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """What a response says about the parts of its probe."""
    probe = exchange.probe
    if silence_of(run, exchange) or not probe.expects:
        return
    if probe.status >= 400:
        yield from judge_rejection(run, exchange)
    elif not exchange.is_success:
        yield from judge_failure(run, exchange)
    else:
        for rule in probe.rules:
            yield Claim(rule, True, "success")
        yield from judge_response(run, exchange)
    if exchange.is_success and probe.expects in RELATIONS:
        yield from RELATIONS[probe.expects](run, exchange)


def judge_rejection(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """What it says of a request that should be rejected."""
    probe, status, is_accepted = exchange.probe, exchange.status, exchange.is_success
    if is_accepted or status >= 400 or probes.BEARER in probe.rules:
        for rule in probe.rules:
            yield Claim(rule, not is_accepted, "rejected", f"accepted with {status}")
    if status != probe.status:
        if not (is_accepted and probe.rules):
            yield Claim(probe.expects, False, str(probe.status), str(status))
        return
    yield from judge_response(run, exchange)
    _, problem = unwrap(run, PROBLEM, exchange.json)
    members = run.contract.schemas["Problem"]["required"]
    if probe.expects == probes.INVALID_BODY and problem.keys() & {*members}:
        yield Claim(ERRORS, "errors" in problem, "present", MISSING)


def judge_response(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """The claims of a response, whose status is the expected one or another success."""
    pointer, response = run.contract.find(exchange.probe.expects)
    status = str(exchange.probe.status)
    yield Claim(pointer, exchange.status == exchange.probe.status, status, str(exchange.status))
    for name in response["headers"]:
        part, value = run.contract.find(f"{pointer}/headers/{name}")[0], exchange.header(name)
        yield Claim(part, value is not None, "present", MISSING)
        if value is not None and name in FORMS:
            yield judge_form(f"{part}/schema", name, value)
    (media_type,) = response["content"]
    label = exchange.media_type or "no media type"
    yield Claim(pointer, label == media_type, media_type, label)
    if not exchange.has_json:
        if label == media_type:
            yield Claim(pointer, False, "JSON", "no JSON")
        return
    schema, _ = run.contract.find(f"{pointer}/content{json_pointer(media_type)}/schema")
    if schema == PROJECT_LIST:
        yield from judge_envelope(run, exchange)
    else:
        yield from judge_value(run, schema, exchange.json)


# Bodies


def judge_envelope(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """The claims of a list: of what is around the array of the projects, and of each of these."""
    path, body = run.places.items, exchange.json
    found = NOTHING if path is None else at(body, path)
    is_object = isinstance(body, dict)
    yield judge_type(PROJECT_LIST, "object", body)
    if path is None or not isinstance(found, list):
        if is_object:
            yield Claim(ITEMS, False, "present", MISSING)
        return
    has_name = last_name(path) == "projects"
    if is_object and not has_name:
        yield Claim(ITEMS, False, "present", f"at {json_pointer(*path)}")
    elif is_object:
        yield Claim(ITEMS, True, "array")
    if len(path) > 1 and has_name:
        around = f"at {json_pointer(*path[:-1])}"
        yield Claim(PROJECT_LIST, False, "the members themselves", around)
    for item in found:
        yield from judge_value(run, PROJECT, item)


def judge_value(run: Run, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of a value, whose schema is at the pointer."""
    pointer, schema = run.contract.find(pointer)
    types = [each["type"] for each in schema.get("anyOf", [schema])]
    expected, observed = " or ".join(types), type_of(value)
    if observed == "string" and schema.get("format") in FORMS:
        yield judge_form(pointer, schema["format"], value)
    else:
        yield judge_type(pointer, expected, value)
    if "anyOf" in schema and observed in types:
        yield from judge_value(run, f"{pointer}/anyOf/{types.index(observed)}", value)
    elif expected == "object":
        yield from judge_members(run, pointer, value)
    elif expected == observed == "array":
        for item in value:
            yield from judge_value(run, f"{pointer}/items", item)


def judge_type(part: str, expected: str, value: Any) -> Claim:
    """Whether a value has a type, or one of several with `or` between them."""
    observed = type_of(value)
    if observed in expected.split(" or "):
        return Claim(part, True, expected)
    return Claim(part, False, expected, observed, json.dumps(value))


def judge_members(run: Run, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of an object's members; without an object, those of fixed members alone."""
    schema = run.contract.find(pointer)[1]
    required = schema["required"]
    place, inner = unwrap(run, pointer, value)
    is_object = isinstance(value, dict)
    has_none = len(required) > 1 and not inner.keys() & {*required}
    if is_object and has_none:
        yield Claim(pointer, False, f"members {', '.join(required)}", "none of them")
    elif is_object and place is not None:
        yield Claim(pointer, False, "the members themselves", f"at {place}")
    has_some = is_object and not has_none
    for name in schema["properties"]:
        member, declared = run.contract.find(f"{pointer}/properties/{name}")
        if name in inner:
            yield from judge_value(run, member, inner[name])
        elif member == STATUS and run.status_of(value) is not None:
            yield Claim(STATUS, True, "string")  # the interface names no member (§3)
        elif name in required and (has_some or "fixed" in declared["x-origin"]):
            yield Claim(member, False, "present", MISSING)


def judge_form(part: str, form: str, text: str) -> Claim:
    """The claim of a text that should have one of `FORMS`."""
    expected, has_form = FORMS[form]
    if has_form(text):
        return Claim(part, True, expected)
    return Claim(part, False, expected, "another text", json.dumps(text))


def unwrap(run: Run, schema: str, value: Any) -> tuple[str | None, dict[str, Any]]:
    """The object with most of the required members of a schema, and its JSON pointer.

    There is no pointer to the value itself. Objects in a record do not count.
    """
    required = {*run.contract.find(schema)[1]["required"]}
    best: tuple[Path, dict[str, Any]] = (), {}
    for path, each in objects_in(value, required):
        inner, found = flatten(each, required)
        if not best[1] or len(found.keys() & required) > len(best[1].keys() & required):
            best = (*path, *inner), found
    path, found = best
    return (json_pointer(*path) if path else None), found


def objects_in(value: Any, required: Collection[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The objects of a value, the outer ones first, without those in a record."""
    found: list[tuple[Path, Any]] = [((), value)]
    for path, outer in found:  # which grows while it is read
        if not isinstance(outer, dict):
            continue
        yield path, outer
        is_record = "id" in outer and len(outer.keys() & {*required}) > 1
        if not is_record:
            found += [((*path, name), each) for name, each in outer.items()]


def flatten(record: dict[str, Any], required: set[str]) -> tuple[Path, dict[str, Any]]:
    """A record with an id alone, such as one of JSON:API, with the members of an inner object.

    The path is that of the inner object, () if there is none.
    """
    if record.keys() & required == {"id"}:
        for name, part in record.items():
            if isinstance(part, dict) and "id" not in part and part.keys() & required:
                return (name,), {**record, **part}
    return (), record


# Failures


def judge_failure(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """What it says that a request which should succeed did not."""
    probe, status = exchange.probe, exchange.status
    operation = probe.expects.partition("/responses/")[0]
    if exchange.is_redirect and probe.method == "GET":
        yield Claim(probe.path, False, "exists", f"{status}, a redirect")
    elif exchange.is_redirect:
        yield Claim(probe.expects, False, str(probe.status), str(status))
    elif probe.method == "POST":
        yield judge_failed_creation(operation, exchange)
    elif status == 404 and (probe.path == probes.PROJECTS or is_as_unknown(run, exchange)):
        for part in (operation, probe.path):
            yield Claim(part, False, "exists", "404, as for a path that does not exist")
    elif status == 405 or probe.path == probes.PROJECTS:
        yield Claim(operation, False, "success", str(status))
    elif status != 404:
        yield Claim(probe.expects, False, str(probe.status), str(status))
    else:
        yield Claim(LATEST, False, "the id of a deployment", "404")


def judge_failed_creation(operation: str, exchange: Exchange) -> Claim:
    status = exchange.status
    if status in (404, 405):
        return Claim(operation, False, "success", str(status))
    if status == 415:
        return Claim(f"{operation}/requestBody", False, "JSON is accepted", str(status))
    return Claim(probes.INPUT, False, "a name and other members are accepted", str(status))


def is_as_unknown(run: Run, exchange: Exchange) -> bool:
    """Whether the response is that of a path that does not exist."""
    unknown = [likeness(each) for each in run.of(probes.UNKNOWN_PATH.name)]
    return likeness(exchange) in unknown


def likeness(exchange: Exchange) -> Any:
    """What errors for one reason have in common: their code, or the whole body."""
    body = exchange.content.decode(errors="replace").replace(exchange.target, "")
    return object_in(exchange.content).get("code") or body


# Relations


def judge_created(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """How a created project relates to what was sent."""
    sent, name = object_in(exchange.body), run.name_in(exchange)
    _, found = unwrap(run, PROJECT, exchange.json)
    if isinstance(found.get("name"), str):
        part, is_same = f"{PROJECT}/properties/name", found["name"] == name
        yield Claim(part, is_same, "as it was sent", "changed")
    if found and OWN_MEMBER in sent:
        is_same = found.get(OWN_MEMBER) == sent[OWN_MEMBER]
        yield Claim(PROJECT, is_same, AS_SENT, "changed or left out")


def judge_list(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """How listed projects relate to each other, and to the created one."""
    path, items = run.places.items, run.items_of(exchange)
    yield Claim(ITEMS, order_of_projects(run, items) in (OLDEST, None), OLDEST, OTHER_ORDER)
    is_list = path is not None and isinstance(at(exchange.json, path), list)
    if exchange.probe.name == probes.LISTED.name and is_list:
        mine = run.created_item(exchange)
        yield Claim(PROJECT_LIST, mine is not None, "a created project is listed", "it is not")
        created = run.creation and unwrap(run, PROJECT, run.creation.json)[1]
        if mine is not None and created and OWN_MEMBER in created:
            is_there = OWN_MEMBER in unwrap(run, PROJECT, mine)[1]
            yield Claim(PROJECT, is_there, AS_SENT, "not in the list")


def order_of_projects(run: Run, items: list[Any]) -> str | None:
    """The order of projects, "" if it is another one, None if their times do not tell."""
    records = [unwrap(run, PROJECT, item)[1] for item in items]
    return order_of([parse_seconds(record.get("created_at")) for record in records])


def judge_deployment(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """How a deployment relates to its path and its project."""
    _, found = unwrap(run, DEPLOYMENT, exchange.json)
    asked = exchange.deployment_id
    if is_id(found.get("id")):
        is_it = any(str(value) == asked for _, value in scalars(exchange.json))
        yield Claim(probes.DEPLOYMENT_ID, is_it, "the deployment of this id", "another one")
    owner, owners = found.get("project_id"), run.owners_of(asked)
    if owner is not None and owners:
        part, is_its = f"{DEPLOYMENT}/properties/project_id", str(owner) in owners
        yield Claim(part, is_its, "the id of its project", "another id")


# Of each response, how it relates to others.
RELATIONS: dict[str, Callable[[Run, Exchange], Iterator[Claim]]] = {
    probes.LIST.expects: judge_list,
    probes.CREATE.expects: judge_created,
    probes.GET_DEPLOYMENT.expects: judge_deployment,
    probes.UNKNOWN_DEPLOYMENT.expects: judge_deployment,
}
