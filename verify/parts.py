"""The parts of the contract with their verdicts, and what drifts from a profile.

A fixed part is kept or broken, as the rules say. A chosen one is confirmed or differs, as the
comparison with the stub says. Both may be not seen, or could not be checked.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from profiles.profile import Profile
from stub import Contract
from web.documents import path_of
from web.routing import CREATED
from web.validation import pointer

from .compare import Aspect, Compared
from .exchange import Exchange, Log
from .kinds import CREATE, DEPLOYMENT, LIST, TOKEN_INVALID, TOKEN_MISSING
from .observation import Observation, Template
from .rules import DEPLOYMENTS_PART, PROJECTS_PART, Judged, says_nothing
from .script import REJECTED

KEPT, BROKEN, CONFIRMED, DIFFERS = "kept", "broken", "confirmed", "differs"
NOT_SEEN, COULD_NOT_CHECK = "not seen", "could not check"
VERDICTS = (KEPT, BROKEN, CONFIRMED, DIFFERS, NOT_SEEN, COULD_NOT_CHECK)

RESPONSES = "#/components/responses/"
RESPONSE_OF = {
    LIST: f"{PROJECTS_PART}/get/responses/200",
    CREATE: f"{PROJECTS_PART}/post/responses/{CREATED}",
    DEPLOYMENT: f"{DEPLOYMENTS_PART}/get/responses/200",
    TOKEN_MISSING: f"{RESPONSES}Unauthorized",
    TOKEN_INVALID: f"{RESPONSES}Unauthorized",
    "errors/deployment_not_found": f"{RESPONSES}DeploymentNotFound",
    "errors/not_found": f"{RESPONSES}NotFound",
    "errors/method_not_allowed": f"{RESPONSES}MethodNotAllowed",
    "errors/malformed_json": f"{RESPONSES}MalformedBody",
    "errors/name_taken": f"{RESPONSES}NameTaken",
    "errors/body_too_large": f"{RESPONSES}BodyTooLarge",
    "errors/unsupported_media_type": f"{RESPONSES}UnsupportedMediaType",
    "errors/invalid_body": f"{RESPONSES}InvalidBody",
}
"""Of each kind of response, that of the contract."""

OPERATIONS = (LIST, CREATE, DEPLOYMENT)
INPUT = "#/components/schemas/ProjectInput"
REQUEST_BODY = f"{PROJECTS_PART}/post/requestBody"
LATEST = "#/components/schemas/Project/properties/latest_deployment_id"
ACCEPTED = {
    CREATE: (REQUEST_BODY, INPUT, f"{INPUT}/properties/name"),
    DEPLOYMENT: (f"{DEPLOYMENTS_PART}/get/parameters/0/schema",),
}
"""Parts that a success shows, since the request has them."""

# What a contract does not state, and what is no drift.
UNSTATED = {
    Aspect.PARAMETER, Aspect.NEW, Aspect.TIME_FORM, Aspect.ID_FORM, Aspect.CODE, Aspect.WORD,
    Aspect.UNSEEN_WORD,
}  # fmt: skip
NO_DRIFT = {Aspect.NEW, Aspect.NULL, Aspect.UNSEEN_WORD}
NO_PARTS = ("x-origin", "examples", "links")  # members of the contract


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


@dataclass(frozen=True)
class Silence:
    """Why a kind of response says nothing of its parts."""

    verdict: str
    reason: str


@dataclass(frozen=True)
class Case:
    """All that the parts of a run are judged by."""

    contract: Contract
    log: Log
    seen: Observation
    compared: list[Compared]  # with the plain stub
    expected: list[Compared]  # the plain stub with itself: all that could be seen
    rules: dict[str, Judged]
    writes: bool
    is_recorded: bool


def judge_parts(case: Case) -> Iterator[Part]:
    """The parts of the contract with their verdicts, in its order."""
    shown: dict[str, list[Compared]] = defaultdict(list)
    for compared in (*case.compared, *failed_creations(case), *accepted(case)):
        if compared.aspect in UNSTATED or is_silent(case, compared):
            continue
        part = part_of(case.contract, compared)
        if part:
            shown[part].append(compared)
    witnesses: dict[str, dict[str, None]] = defaultdict(dict)
    for compared in (*case.expected, *accepted_kinds()):
        part = part_of(case.contract, compared)
        if part:
            witnesses[part][compared.kind] = None
    for pointer_, origin in parts_in(case.contract, "#").items():
        part_ = Part(pointer_, origin)
        if pointer_ in case.rules:
            yield by_rule(case, part_)
        elif shown[pointer_]:
            yield by_comparison(part_, shown[pointer_])
        else:
            yield without_evidence(case, part_, [*witnesses[pointer_]])
