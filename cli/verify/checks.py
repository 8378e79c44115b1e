"""The checks: what is asked, at which level, and what the contract says about it."""

import copy
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from profiles.markers import DEFAULT_REQUEST, places_of_name
from profiles.markers import NAME as NAME_MARKER
from web.routing import CREATED

from .values import json_text

READ, WRITE, ABUSE = LEVELS = ("read", "write", "abuse")
RECORDED = "recorded"
"""The level of a run that asks nothing, and judges what was recorded."""

# What a request has in its Authorization header.
TOKEN = "token"
WRONG = "wrong token"
NONE = "no token"

PROJECTS = "#/paths/~1v1~1projects"
DEPLOYMENT = "#/paths/~1v1~1deployments~1{id}"
DEPLOYMENT_ID = f"{DEPLOYMENT}/get/parameters/0"
BEARER = "#/components/securitySchemes/bearer"
RESPONSES = "#/components/responses/"
SCHEMAS = "#/components/schemas/"
INPUT = SCHEMAS + "ProjectInput"
NAME = f"{INPUT}/properties/name"
NAMES = f"{INPUT}/propertyNames"
ID_RULES = (NAMES, f"{NAMES}/not")
INVALID_BODY = f"{RESPONSES}InvalidBody"

# Of each response to a body that is rejected, the status and the code.
REJECTIONS = {
    "MalformedBody": (400, "malformed_json"),
    "NameTaken": (409, "name_taken"),
    "BodyTooLarge": (413, "body_too_large"),
    "UnsupportedMediaType": (415, "unsupported_media_type"),
    "InvalidBody": (422, "invalid_body"),
}

OWN_MEMBER = "stubverify"  # one word, which no other spelling changes
NAME_PREFIX = "stub-verify-"  # of what verify creates and of what cannot exist

# Stand in bodies for a random word, and for the name of the created project.
WORD = "{stub-verify.word}"
CREATED_NAME = "{stub-verify.created}"

# What a check may need, and the reason why it is not asked without.
NEEDS = {
    WRITE: "needs --write",
    ABUSE: "needs --write --abuse",
    "listed": "no listed project names a deployment",
    "created": "no project was created",
    "followed": "no response names the deployment of the created project",
}


class Check(NamedTuple):
    """A request, and the response that the contract has for it.

    `expects` names a response of the contract, which has the `status`; its errors have the `code`.
    `rules` are parts that hold if the service accepts what the contract accepts, or rejects what
    it rejects. In a target `{word}` stands for a random word, `{listed}`, `{followed}` and
    `{candidate}` for what an earlier response says; in a body `{project.name}` for a new name.
    `needs` names such a one of `NEEDS` without which the check is not asked.
    """

    name: str
    level: str
    method: str
    target: str
    path: str = ""  # of the contract, if it is one that should exist
    status: int = 0
    expects: str = ""
    rules: tuple[str, ...] = ()
    authorization: str = TOKEN
    body: str = ""
    content_type: str = ""
    needs: str = ""
    code: str = ""

    def fill_target(self, words: Mapping[str, str]) -> str:
        target = self.target
        for name, word in words.items():
            target = target.replace(f"{{{name}}}", quote(word, "", errors="replace"))
        return target

    def fill_body(self, name: str, words: Mapping[str, str]) -> str:
        body = self.body
        texts = {NAME_MARKER: name, WORD: words["word"], CREATED_NAME: words["created"]}
        for marker, text in texts.items():
            quoted = json.dumps(text)
            body = body.replace(marker, quoted[1:-1])
        return body


LIST = Check(
    name="list",
    level=READ,
    method="GET",
    target="/v1/projects",
    path=PROJECTS,
    status=200,
    expects=f"{PROJECTS}/get/responses/200",
    rules=(f"{PROJECTS}/get", PROJECTS),
)
LISTED = LIST._replace(name="created is listed", level=WRITE, needs="created")
LIST_AGAIN = LIST._replace(name="list, again", level=WRITE, needs="followed")
"""Asked with each status of the created deployment."""

CREATE = Check(
    name="create",
    level=WRITE,
    method="POST",
    target="/v1/projects",
    path=PROJECTS,
    status=CREATED,
    expects=f"{PROJECTS}/post/responses/{CREATED}",
    rules=(f"{PROJECTS}/post", PROJECTS, f"{PROJECTS}/post/requestBody", INPUT, NAME),
    content_type="application/json",
)
GET_DEPLOYMENT = Check(
    name="deployment",
    level=READ,
    method="GET",
    target="/v1/deployments/{listed}",
    path=DEPLOYMENT,
    status=200,
    expects=f"{DEPLOYMENT}/get/responses/200",
    rules=(f"{DEPLOYMENT}/get", DEPLOYMENT, DEPLOYMENT_ID, f"{DEPLOYMENT_ID}/schema"),
    needs="listed",
)
FOLLOWED = GET_DEPLOYMENT._replace(
    name="created deployment", level=WRITE, target="/v1/deployments/{followed}", needs="followed"
)
CANDIDATE = Check("deployment, sought", READ, "GET", "/v1/deployments/{candidate}", DEPLOYMENT)
"""A value that may be the id of a deployment, whose rejection says nothing."""

UNKNOWN_DEPLOYMENT = Check(
    name="unknown deployment",
    level=READ,
    method="GET",
    target=f"/v1/deployments/{NAME_PREFIX}{{word}}",
    status=404,
    expects=f"{RESPONSES}DeploymentNotFound",
    code="deployment_not_found",
)
UNKNOWN_PATH = Check(
    name="unknown path",
    level=READ,
    method="GET",
    target=f"/v1/{NAME_PREFIX}{{word}}",
    status=404,
    expects=f"{RESPONSES}NotFound",
    code="not_found",
)


def without(check: Check, authorization: str) -> Check:
    """An operation with another credential than the token.

    The contract rejects the body: a service that looks at it first creates nothing.
    """
    return check._replace(
        name=f"{check.name}, {authorization}",
        body="{}" if check.method == "POST" else "",
        authorization=authorization,
        status=401,
        expects=f"{RESPONSES}Unauthorized",
        rules=(BEARER,),
        code="token_missing" if authorization == NONE else "token_invalid",
    )


def not_allowed(check: Check) -> Check:
    """Another method at the path of a GET."""
    return check._replace(
        name=f"{check.name}, OPTIONS",
        method="OPTIONS",
        rules=(),
        status=405,
        expects=f"{RESPONSES}MethodNotAllowed",
        code="method_not_allowed",
    )


def all_checks(request: dict[str, Any]) -> tuple[Check, ...]:
    """The checks in the order in which they are asked; `request` is the body of the creation."""
    own = {OWN_MEMBER: WORD} if request == DEFAULT_REQUEST else {}
    return (
        LIST,
        UNKNOWN_DEPLOYMENT,
        UNKNOWN_PATH,
        CREATE._replace(body=edited(request, own)),
        FOLLOWED,  # at once, as a list may not have the project, or not yet
        LISTED,
        GET_DEPLOYMENT,
        without(LIST, NONE),
        without(LIST, WRONG),
        not_allowed(LIST),
        without(CREATE, NONE),
        without(CREATE, WRONG),
        without(GET_DEPLOYMENT, NONE),
        without(GET_DEPLOYMENT, WRONG),
        not_allowed(GET_DEPLOYMENT),
        *rejected_bodies(request),
    )


def rejected_bodies(request: dict[str, Any]) -> list[Check]:
    """The creations that the contract rejects: no JSON, no name, a name that is taken, …"""
    plain = json_text(request)
    unnamed = copy.deepcopy(request)
    holder, name = holder_of_name(unnamed)
    del holder[name]
    with_id = edited(request, {"id": f"{NAME_PREFIX}{WORD}"})
    large = edited(request, {"filler": "x" * 70 * 1024})
    taken = plain.replace(NAME_MARKER, CREATED_NAME)
    of_text = rejected("another content type", "UnsupportedMediaType", plain)
    of_text = of_text._replace(content_type="text/plain")
    return [
        rejected("no JSON", "MalformedBody", '{"name": '),
        rejected("no name", "InvalidBody", json.dumps(unnamed), NAME),
        rejected("an array", "InvalidBody", "[]", INPUT),
        rejected("an id", "InvalidBody", with_id, *ID_RULES),
        rejected("the created name again", "NameTaken", taken),
        of_text,
        of_text._replace(name="no content type", content_type=""),
        rejected("70 KiB", "BodyTooLarge", large),
    ]


def rejected(name: str, response: str, body: str, *rules: str) -> Check:
    status, code = REJECTIONS[response]
    return CREATE._replace(
        name=name,
        level=ABUSE,
        body=body,
        needs="created",
        status=status,
        expects=RESPONSES + response,
        rules=rules,
        code=code,
    )


def edited(request: dict[str, Any], members: dict[str, str]) -> str:
    """The body of the creation with these members beside the name."""
    body = copy.deepcopy(request)
    holder, _ = holder_of_name(body)
    holder.update(members)
    return json_text(body)


def holder_of_name(body: dict[Any, Any]) -> tuple[dict[Any, Any], str | int]:
    """The object in the body of a creation in which the name stands, and the member there."""
    *outer, name = places_of_name(body)[0]
    for each in outer:
        body = body[each]
    return body, name
