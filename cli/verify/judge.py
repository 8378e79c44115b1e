"""Judges a response by its check: its form by the contract, and how it relates to others.

Forms are a status, a media type, whether a member or a header is there, and its type. What a
server may add at any time is no difference: members, headers, white space, an order of members.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import stub
from stub.contract import object_in
from web.validation import pointer as json_pointer

from .checks import (
    BEARER,
    CREATE,
    DEPLOYMENT_ID,
    GET_DEPLOYMENT,
    INPUT,
    INVALID_BODY,
    LIST,
    LISTED,
    OWN_MEMBER,
    PROJECTS,
    SCHEMAS,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    Check,
)
from .exchange import Exchange
from .places import Record, find_record
from .run import Run
from .values import OLDEST, at, is_id, last_name, order_of, parse_seconds, type_of, values_in

PROJECT_LIST = f"{SCHEMAS}ProjectList"
ITEMS = f"{PROJECT_LIST}/properties/projects"
PROJECT = f"{SCHEMAS}Project"
LATEST = f"{PROJECT}/properties/latest_deployment_id"
DEPLOYMENT = f"{SCHEMAS}Deployment"
STATUS = f"{DEPLOYMENT}/properties/status"
PROBLEM = f"{SCHEMAS}Problem"
ERRORS = f"{PROBLEM}/properties/errors"  # which `InvalidBody` alone has
THEMSELVES = "the members themselves"
AS_SENT = "members of the client as they were sent"
COULD_NOT_CHECK = "could not check"
NOT_SEEN = "not seen"
OF_A_BODY = (400, 409, 413, 415, 422)  # statuses that reject a body
MISSING = "missing"
OTHER_ORDER = "another order"
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
    """The verdict of the check's parts, and why a response says nothing of them, if so."""
    check = exchange.check
    status = exchange.status
    if exchange.failure:
        return COULD_NOT_CHECK, exchange.failure
    if check.status < 400 and status in (401, 403):
        return COULD_NOT_CHECK, f"{status}: the token is not accepted for this"
    if check.expects == LIST.expects and status == 200 and not exchange.has_json:
        return COULD_NOT_CHECK, "no JSON where the list should be"
    if BEARER in check.rules and has_other_cause(run, exchange):
        return NOT_SEEN, f"{status} tells nothing of the token"
    return None


def has_other_cause(run: Run, exchange: Exchange) -> bool:
    """Whether a response without a valid token may have another cause than the token."""
    status = exchange.status
    if exchange.is_success or status in (401, 403):
        return False
    if exchange.method == "POST" and (status < 400 or status in OF_A_BODY):
        return True
    return not accepts_token(run, exchange.check)


def accepts_token(run: Run, check: Check) -> bool:
    for other in run.exchanges:
        with_token = other.check
        is_same = with_token.path == check.path and with_token.method == check.method
        if is_same and other.is_success and with_token.status < 400:
            return True
    return False


def claims_of(run: Run, exchange: Exchange) -> Iterator[Claim]:
    check = exchange.check
    if silence_of(run, exchange) or not check.expects:
        return
    if check.status >= 400:
        yield from judge_rejection(run, exchange)
    elif exchange.is_success:
        for rule in check.rules:
            yield Claim(rule, True, "success")
        yield from judge_response(run, exchange)
    else:
        yield from judge_failure(run, exchange)
    if exchange.is_success and check.expects in RELATIONS:
        judge_relations = RELATIONS[check.expects]
        yield from judge_relations(run, exchange)


def says_nothing(run: Run, exchanges: list[Exchange]) -> bool:
    return not any(list(claims_of(run, each)) for each in exchanges)


def judge_rejection(run: Run, exchange: Exchange) -> Iterator[Claim]:
    check = exchange.check
    status = exchange.status
    rules = check.rules
    is_accepted = exchange.is_success
    if is_accepted or status >= 400 or BEARER in rules:
        for rule in rules:
            yield Claim(rule, not is_accepted, "rejected", f"accepted with {status}")
    if status != check.status:
        if not is_accepted or not rules:
            yield another_status(exchange)
        return
    yield from judge_response(run, exchange)
    problem = record_in(run, PROBLEM, exchange.json)
    if check.expects == INVALID_BODY and problem.has_any:
        yield Claim(ERRORS, "errors" in problem.members, "present", MISSING)


def judge_response(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """The claims of a response, whose status is the expected one or another success."""
    check = exchange.check
    pointer, response = run.contract.find(check.expects)
    expected = str(check.status)
    status = str(exchange.status)
    yield Claim(pointer, status == expected, expected, status)
    for name in response["headers"]:
        part, _ = run.contract.find(f"{pointer}/headers/{name}")
        value = exchange.header(name)
        yield Claim(part, value is not None, "present", MISSING)
        if value is not None and name in FORMS:
            yield judge_form(f"{part}/schema", name, value)
    (media_type,) = response["content"]
    observed = exchange.media_type
    is_same = observed == media_type
    yield Claim(pointer, is_same, media_type, observed or "no media type")
    if exchange.has_json:
        content = f"{pointer}/content{json_pointer(media_type)}"
        schema, _ = run.contract.find(f"{content}/schema")
        if schema == PROJECT_LIST:
            yield from judge_envelope(run, schema, exchange.json)
        else:
            yield from judge_value(run, schema, exchange.json)
    elif is_same:
        yield Claim(pointer, False, "JSON", "no JSON")


# Bodies


def judge_envelope(run: Run, schema: str, body: Any) -> Iterator[Claim]:
    """The claims of a list: of what is around the array of the projects, and of each of these."""
    path = run.items_path
    items = at(body, path)
    is_object = isinstance(body, dict)
    yield judge_type(schema, "object", body)
    if path is None or not isinstance(items, list):
        if is_object:
            yield Claim(ITEMS, False, "present", MISSING)
        return
    has_name = last_name(path) == "projects"
    if is_object and has_name:
        yield Claim(ITEMS, True, "array")
    elif is_object:
        place = json_pointer(*path)
        yield Claim(ITEMS, False, "present", f"at {place}")
    if len(path) > 1 and has_name:
        around = json_pointer(*path[:-1])
        yield Claim(schema, False, THEMSELVES, f"at {around}")
    for item in items:
        yield from judge_value(run, PROJECT, item)


def judge_value(run: Run, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of a value, whose schema is at the pointer."""
    pointer, schema = run.contract.find(pointer)
    types = [each["type"] for each in schema.get("anyOf", [schema])]
    expected = " or ".join(types)
    observed = type_of(value)
    form = schema.get("format")
    if observed == "string" and form in FORMS:
        yield judge_form(pointer, form, value)
    else:
        yield judge_type(pointer, expected, value)
    if "anyOf" in schema and observed in types:
        index = types.index(observed)
        yield from judge_value(run, f"{pointer}/anyOf/{index}", value)
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
    _, schema = run.contract.find(pointer)
    required = schema["required"]
    record = record_in(run, pointer, value)
    members = record.members
    is_object = isinstance(value, dict)
    has_none = len(required) > 1 and not record.has_any
    if is_object and has_none:
        names = ", ".join(required)
        yield Claim(pointer, False, f"members {names}", "none of them")
    elif is_object and record.path:
        place = json_pointer(*record.path)
        yield Claim(pointer, False, THEMSELVES, f"at {place}")
    for name in schema["properties"]:
        part, declared = run.contract.find(f"{pointer}/properties/{name}")
        is_fixed = "fixed" in declared["x-origin"]
        is_expected = is_object and not has_none
        if name in members:
            yield from judge_value(run, part, members[name])
        elif part == STATUS and run.status_of(value) is not None:
            yield Claim(STATUS, True, "string")  # the interface names no member (§3)
        elif name in required and (is_fixed or is_expected):
            yield Claim(part, False, "present", MISSING)


def judge_form(part: str, form: str, text: str) -> Claim:
    expected, has_form = FORMS[form]
    if has_form(text):
        return Claim(part, True, expected)
    return Claim(part, False, expected, "another text", json.dumps(text))


def record_in(run: Run, schema: str, value: Any) -> Record:
    """The object in a value that has most of the required members of a schema."""
    _, rules = run.contract.find(schema)
    return find_record(value, rules["required"])


# Failures


def judge_failure(run: Run, exchange: Exchange) -> Iterator[Claim]:
    check = exchange.check
    status = exchange.status
    operation, _, _ = check.expects.partition("/responses/")
    is_list = check.path == PROJECTS
    unknown = [likeness(each) for each in run.of(UNKNOWN_PATH.name)]
    if exchange.is_redirect and check.method == "GET":
        yield Claim(check.path, False, "exists", f"{status}, a redirect")
    elif exchange.is_redirect:
        yield another_status(exchange)
    elif check.method == "POST":
        yield judge_failed_creation(operation, status)
    elif status == 404 and (is_list or likeness(exchange) in unknown):
        for part in (operation, check.path):
            yield Claim(part, False, "exists", "404, as for a path that does not exist")
    elif status == 405 or is_list:
        yield Claim(operation, False, "success", str(status))
    elif status == 404:
        yield Claim(LATEST, False, "the id of a deployment", "404")
    else:
        yield another_status(exchange)


def another_status(exchange: Exchange) -> Claim:
    check = exchange.check
    return Claim(check.expects, False, str(check.status), str(exchange.status))


def judge_failed_creation(operation: str, status: int) -> Claim:
    if status in (404, 405):
        return Claim(operation, False, "success", str(status))
    if status == 415:
        return Claim(f"{operation}/requestBody", False, "JSON is accepted", str(status))
    return Claim(INPUT, False, "a name and other members are accepted", str(status))


def likeness(exchange: Exchange) -> Any:
    """What errors for one reason have in common: their code, or the whole body."""
    code = object_in(exchange.content).get("code")
    if code:
        return code
    body = exchange.content.decode(errors="replace")
    return body.replace(exchange.target, "")


# Relations


def judge_created(run: Run, exchange: Exchange) -> Iterator[Claim]:
    sent = object_in(exchange.body)
    found = record_in(run, PROJECT, exchange.json).members
    name = found.get("name")
    if isinstance(name, str):
        is_same = name == run.name_in(exchange)
        yield Claim(f"{PROJECT}/properties/name", is_same, "as it was sent", "changed")
    if found and OWN_MEMBER in sent:
        is_same = found.get(OWN_MEMBER) == sent[OWN_MEMBER]
        yield Claim(PROJECT, is_same, AS_SENT, "changed or left out")


def judge_list(run: Run, exchange: Exchange) -> Iterator[Claim]:
    """How listed projects relate to each other, and to the created one."""
    records = [record_in(run, PROJECT, item) for item in run.items_of(exchange)]
    texts = [record.members.get("created_at") for record in records]
    times = [parse_seconds(text) for text in texts]
    yield Claim(ITEMS, order_of(times) in (OLDEST, None), OLDEST, OTHER_ORDER)
    has_array = isinstance(at(exchange.json, run.items_path), list)
    if exchange.name != LISTED.name or not has_array:
        return
    mine = run.created_item(exchange)
    yield Claim(PROJECT_LIST, mine is not None, "a created project is listed", "it is not")
    created = record_in(run, PROJECT, run.created_body).members
    if mine is not None and OWN_MEMBER in created:
        listed = record_in(run, PROJECT, mine).members
        yield Claim(PROJECT, OWN_MEMBER in listed, AS_SENT, "not in the list")


def judge_deployment(run: Run, exchange: Exchange) -> Iterator[Claim]:
    found = record_in(run, DEPLOYMENT, exchange.json).members
    asked = exchange.deployment_id
    if is_id(found.get("id")):
        texts = [str(value) for value in values_in(exchange.json)]
        is_same = asked in texts
        yield Claim(DEPLOYMENT_ID, is_same, "the deployment of this id", "another one")
    owner = found.get("project_id")
    owners = run.owners_of(asked)
    if owner is not None and owners:
        part = f"{DEPLOYMENT}/properties/project_id"
        is_same = str(owner) in owners
        yield Claim(part, is_same, "the id of its project", "another id")


# Of each response, how it relates to others.
RELATIONS: dict[str, Callable[[Run, Exchange], Iterator[Claim]]] = {
    LIST.expects: judge_list,
    CREATE.expects: judge_created,
    GET_DEPLOYMENT.expects: judge_deployment,
    UNKNOWN_DEPLOYMENT.expects: judge_deployment,
}
