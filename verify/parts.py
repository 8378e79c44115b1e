"""The parts of the contract with their verdicts.

A fixed part is kept or broken, as the rules say. A chosen one is confirmed or differs, as the
comparison with the stub says. Both may be not seen, or could not be checked, for a reason.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from profiles.openapi import Contract
from stub.request.promises import object_in
from web.documents import path_of
from web.routing import CREATED
from web.validation import pointer

from .compare import Aspect, Compared
from .exchange import Exchange, Log
from .kinds import (
    CREATE,
    DEPLOYMENT,
    LIST,
    OWN_MEMBER,
    REJECTED,
    TOKEN_INVALID,
    TOKEN_MISSING,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    kind_of_purpose,
)
from .observation import Observation
from .rules import (
    DEPLOYMENTS_PART,
    NO_TOKEN,
    OF_A_BODY,
    OF_TOKENS,
    PROJECTS_PART,
    Judged,
    why_nothing,
)
from .values import scalars

KEPT, BROKEN, CONFIRMED, DIFFERS = "kept", "broken", "confirmed", "differs"
NOT_SEEN, COULD_NOT_CHECK = "not seen", "could not check"
VERDICTS = (KEPT, BROKEN, CONFIRMED, DIFFERS, NOT_SEEN, COULD_NOT_CHECK)

RESPONSES = "#/components/responses/"
SCHEMAS = "#/components/schemas/"
PROJECT = f"{SCHEMAS}Project"
LATEST = f"{PROJECT}/properties/latest_deployment_id"
ITEMS = f"{SCHEMAS}ProjectList/properties/projects"
INPUT = f"{SCHEMAS}ProjectInput"
REQUEST_BODY = f"{PROJECTS_PART}/post/requestBody"
RESPONSE_OF = {
    LIST: f"{PROJECTS_PART}/get/responses/200",
    CREATE: f"{PROJECTS_PART}/post/responses/{CREATED}",
    DEPLOYMENT: f"{DEPLOYMENTS_PART}/get/responses/200",
    TOKEN_MISSING: f"{RESPONSES}Unauthorized",
    TOKEN_INVALID: f"{RESPONSES}Unauthorized",
    UNKNOWN_DEPLOYMENT: f"{RESPONSES}DeploymentNotFound",
    UNKNOWN_PATH: f"{RESPONSES}NotFound",
    "errors/malformed_json": f"{RESPONSES}MalformedBody",
    "errors/name_taken": f"{RESPONSES}NameTaken",
    "errors/body_too_large": f"{RESPONSES}BodyTooLarge",
    "errors/unsupported_media_type": f"{RESPONSES}UnsupportedMediaType",
    "errors/invalid_body": f"{RESPONSES}InvalidBody",
}
"""Of each kind of response, that of the contract."""

POST = f"{PROJECTS_PART}/post"
RULES_OF = {
    LIST: (f"{PROJECTS_PART}/get", PROJECTS_PART),
    CREATE: (POST,),
    DEPLOYMENT: (f"{DEPLOYMENTS_PART}/get", DEPLOYMENTS_PART),
}
"""The rules that say all of a failed operation."""

ACCEPTED = {
    CREATE: (REQUEST_BODY, INPUT, f"{INPUT}/properties/name"),
    DEPLOYMENT: (f"{DEPLOYMENTS_PART}/get/parameters/0/schema",),
}
"""Parts that a success shows, since the request has them."""

UNSTATED = {
    Aspect.PARAMETER, Aspect.NEW, Aspect.TIME_FORM, Aspect.ID_FORM, Aspect.CODE, Aspect.WORD,
}  # fmt: skip
"""What the contract does not state."""

OF_RESPONSES = {Aspect.STATUS, Aspect.MEDIA_TYPE, Aspect.JSON}
OF_TYPES = {Aspect.TYPE, Aspect.NULL}
NO_PARTS = ("x-origin", "examples", "links")  # members of the contract
NOTHING_SHOWN = "no response showed it"


@dataclass(frozen=True)
class Part:
    """A part and its verdict. A difference has the exchange that showed it, and its value there."""

    part: str
    origin: str  # fixed or chosen
    verdict: str = NOT_SEEN
    expected: str = ""
    observed: str = ""
    reason: str = ""
    probe: str = ""  # what was asked for
    value: str = ""
    exchange: Exchange | None = None

    @property
    def sentence(self) -> str:
        return f"{self.part}: {self.expected} here, {self.observed} there"

    def as_json(self) -> dict[str, str]:
        """What the report has of it."""
        names = ("part", "origin", "verdict", "expected", "observed", "reason", "probe")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Case:
    """All that the parts of a run are judged by.

    `compared` is the comparison with the plain stub, and `ours` that of the plain stub with itself,
    which has all places that could be seen.
    """

    contract: Contract
    log: Log
    seen: Observation
    compared: list[Compared]
    ours: list[Compared]
    rules: dict[str, Judged]


def judge_parts(case: Case) -> Iterator[Part]:
    """The parts of the contract with their verdicts, in its order."""
    shown: dict[str, list[Compared]] = defaultdict(list)
    for place, compared in (*of_responses(case), *of_requests(case), *of_own_member(case)):
        shown[place].append(compared)
    witnesses = witnesses_of(case)
    for place, origin in parts_in(case.contract, "#").items():
        part = Part(place, origin)
        if place in case.rules:
            yield by_rule(case, part)
        elif shown[place]:
            yield by_comparison(part, shown[place])
        else:
            yield without_evidence(case, part, witnesses[place])


@cache
def parts_in(contract: Contract, place: str) -> dict[str, str]:
    """The parts at a pointer and below, behind `$ref` too, with their origins: fixed or chosen.

    Those of the stub alone do not come.
    """
    place, node = contract.find(place)
    found = {}
    if "x-origin" in node:
        (found[place],) = node["x-origin"]
    members = enumerate(node) if isinstance(node, list) else node.items()
    for name, value in members:
        is_part = name not in NO_PARTS and isinstance(value, dict | list)
        if is_part and "x-stub-only" not in value:
            found.update(parts_in(contract, place + pointer(name)))
    return found


def witnesses_of(case: Case) -> dict[str, list[str]]:
    """The kinds of response that can show a part, by the part."""
    found: dict[str, list[str]] = defaultdict(list)
    for compared in case.ours:
        for place, _ in parts_of(case.contract, compared):
            if compared.kind not in found[place]:
                found[place].append(compared.kind)
    for kind, places in ACCEPTED.items():
        for place in places:
            found[place].append(kind)
    return found


# Verdicts


def by_rule(case: Case, part: Part) -> Part:
    """The verdict of a fixed part."""
    rule = case.rules[part.part]
    part = replace(part, probe=purpose_of(rule.exchange))
    if rule.holds is None:
        verdict = COULD_NOT_CHECK if rule.reason else NOT_SEEN
        return replace(part, verdict=verdict, reason=rule.reason or NOTHING_SHOWN)
    part = replace(part, expected=rule.expected, observed=rule.observed)
    if rule.holds:
        return replace(part, verdict=KEPT)
    return replace(part, verdict=BROKEN, exchange=rule.exchange)


def by_comparison(part: Part, shown: list[Compared]) -> Part:
    """The verdict of a chosen part: one contradiction outweighs many agreements."""
    against = [each for each in shown if not each.holds]
    first = (against or shown)[0]
    part = replace(part, probe=purpose_of(first.exchange))
    if not against:
        return replace(part, verdict=CONFIRMED, expected=first.expected, observed=first.expected)
    return replace(
        part,
        verdict=DIFFERS,
        expected="; ".join(dict.fromkeys(each.expected for each in against)),
        observed="; ".join(sorted({each.observed for each in against})),
        value=first.value,
        exchange=first.exchange,
    )


def without_evidence(case: Case, part: Part, kinds: list[str]) -> Part:
    """A chosen part that nothing shows, with the reason if one of the kinds that can has failed."""
    for kind in kinds:
        failure = failure_of(case, kind)
        if failure:
            return replace(part, verdict=COULD_NOT_CHECK, reason=failure)
    return replace(part, reason=NOTHING_SHOWN)


def purpose_of(exchange: Exchange | None) -> str:
    """What was asked for; in a recording the method and the path."""
    if exchange is None:
        return ""
    return exchange.purpose or f"{exchange.method} {exchange.path}"


# What the responses and the requests show


def of_responses(case: Case) -> Iterator[tuple[str, Compared]]:
    """What the comparison says of which part."""
    for compared in case.compared:
        if is_telling(case, compared.kind):
            yield from parts_of(case.contract, compared)


def of_requests(case: Case) -> Iterator[tuple[str, Compared]]:
    """What the service accepts, and what it rejected of the bodies of a run."""
    for kind, places in ACCEPTED.items():
        template = case.seen.templates.get(kind)
        if template and template.exchanges[0].is_success:
            for place in places:
                yield place, of_request(kind, "success", "success", template.exchanges[0])
    for exchange in case.log.exchanges:
        if exchange.purpose not in (CREATE, REJECTED) or exchange.status not in OF_A_BODY:
            continue
        place = INPUT
        what = "a name and other members are accepted"
        if exchange.status == 415:
            place = REQUEST_BODY
            what = "JSON is accepted"
        yield place, of_request(CREATE, what, str(exchange.status), exchange)


def of_request(kind: str, expected: str, observed: str, exchange: Exchange) -> Compared:
    place = f"/{kind}/request"
    return Compared(kind, place, Aspect.STATUS, expected, observed, exchange=exchange)


def of_own_member(case: Case) -> Iterator[tuple[str, Compared]]:
    """Whether the created project has the member that was sent beside the name, also in the list.

    No template has it, since it is of this program alone.
    """
    way = case.seen.way
    sent = object_in(way.creation.body) if way.creation else {}
    if way.creation is None or OWN_MEMBER not in sent or not isinstance(way.creation.seen, dict):
        return
    expected = "members of the client as they were sent"
    is_kept = sent[OWN_MEMBER] in own_members(way.creation.seen)
    observed = expected if is_kept else "changed or left out"
    yield PROJECT, of_request(CREATE, expected, observed, way.creation)
    listed = [each for each in way.lists if way.created_item(each) is not None]
    if is_kept and listed:
        is_listed = own_members(way.created_item(listed[-1]))
        observed = expected if is_listed else "not in the list"
        yield PROJECT, of_request(LIST, expected, observed, listed[-1])


def own_members(body: Any) -> list[Any]:
    return [value for path, value in scalars(body) if path[-1:] == (OWN_MEMBER,)]


# What says nothing of its parts


def failure_of(case: Case, kind: str) -> str:
    """Why a kind of response could not be checked, "" if it was, or was not asked for."""
    template = case.seen.templates.get(kind)
    if template is None:
        asked = [each for each in case.log.exchanges if each.purpose]
        own = [each for each in asked if kind in (kind_of_purpose(each), each.purpose)]
        return own[-1].failure if own else ""
    last = template.exchanges[-1]
    is_rejected = kind in OF_TOKENS and last.status in NO_TOKEN
    return "" if is_rejected else why_nothing(last)


def is_telling(case: Case, kind: str) -> bool:
    """Whether the response of a kind says something of its parts: not that of another reason."""
    template = case.seen.templates.get(kind)
    if template is None or failure_of(case, kind):
        return False
    if template.exchanges[-1].is_success:
        return kind not in OF_TOKENS
    return all(case.rules[part].holds is not False for part in RULES_OF.get(kind, ()))


# The parts of a place


def parts_of(contract: Contract, compared: Compared) -> Iterator[tuple[str, Compared]]:
    """The parts of which a comparison says something; none if the contract does not state it."""
    place = "" if compared.aspect in UNSTATED else part_of(contract, compared)
    if not place:
        return
    _, node = contract.find(place)
    types = [each["type"] for each in node.get("anyOf", ())]
    if compared.aspect in OF_TYPES and compared.observed in types:
        allowed = " or ".join(types)
        index = types.index(compared.observed)
        compared = replace(compared, expected=allowed, observed=allowed)
        yield f"{place}/anyOf/{index}", compared
    yield place, compared


def part_of(contract: Contract, compared: Compared) -> str:
    """The part of the contract that states what was compared, "" if none does."""
    if compared.aspect == Aspect.ORDER:
        return ITEMS
    response = RESPONSE_OF.get(compared.kind)
    if not response:
        return ""
    part, node = contract.find(response)
    if compared.aspect == Aspect.STATUS and compared.exchange:
        return part_of_status(compared.kind, compared.exchange) or part
    if compared.aspect in OF_RESPONSES:
        return part
    names = path_of(compared.place.removeprefix(f"/{compared.kind}"))
    if names[0] == "headers":
        return part_of_field(contract, part, names[1], compared.aspect)
    (content,) = node["content"].values()
    return part_of_member(contract, content["schema"], names[1:])


def part_of_status(kind: str, exchange: Exchange) -> str:
    """The part that a failed operation says most of, "" for the response itself."""
    if kind == DEPLOYMENT and exchange.status == 404:
        return LATEST
    if kind == CREATE and exchange.status >= 400:
        return INPUT
    return ""


def part_of_field(contract: Contract, response: str, name: str, aspect: Aspect) -> str:
    _, node = contract.find(response)
    for declared in node["headers"]:
        if declared.lower() == name.lower():
            part, _ = contract.find(f"{response}/headers/{declared}")
            return f"{part}/schema" if aspect == Aspect.FIELD_FORM else part
    return ""


def part_of_member(contract: Contract, schema: dict[str, Any], names: list[str]) -> str:
    """The part at the place of a body whose form is a schema with a `$ref`."""
    part, node = contract.find(schema["$ref"])
    for name in names:
        if name in node.get("properties", {}):
            part, node = contract.find(f"{part}/properties/{name}")
        elif name.isdecimal() and "items" in node:
            part, node = contract.find(f"{part}/items")
        else:
            return ""
    return part
