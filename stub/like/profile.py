"""A profile: the responses of a service as it writes them, with markers for what varies.

It is a JSON document; profile.json beside this file is its schema.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from web.files import content_of
from web.problems import FieldError, InvalidBody
from web.strict_json import MAX_DEPTH, parse_json
from web.validation import require_valid

from ..documents import explained, names_around
from ..rules import spell_time
from .check import errors_in, words_of
from .ids import DERIVED
from .markers import DEFAULT_REQUEST, names_below, place_of_name

MAX_BYTES = 1024 * 1024  # of the document
DEPTH = MAX_DEPTH + 4  # a body may be as deep as that of a request, inside of its form
# What stands for what a profile leaves out.
DEFAULT_STATUSES: dict[str, Any] = {"run": [], "ended": None}
DEFAULT_CREATION: dict[str, Any] = {
    "request": DEFAULT_REQUEST,
    "unique": True,
    "optional": False,
    "any_type": False,
}

EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class Form(NamedTuple):
    """The form of a response: its body with markers, and what differs from the contract's own."""

    body: Any
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}
    status: int | None = None


class Times(NamedTuple):
    """How a service writes times, of a precision of milliseconds."""

    offset: str = "Z"
    digits: float = 3  # 3.0 is an integer of JSON, too
    case: str = "upper"

    def spell(self, moment: datetime) -> str:
        text = spell_time(moment, int(self.digits), self.offset, "T")
        return text.lower() if self.case == "lower" else text


class Profile:
    """A profile without errors; `file` is the name of the one that it was read from."""

    def __init__(self, document: dict[str, Any], file: str = "") -> None:
        self.document = document
        self.file = file
        self.observed_at: str = document["observed_at"]
        parts: dict[str, Any] = defaultdict(dict, document)
        self.ids: dict[str, dict[str, Any]] = parts["ids"]  # by the kind of record
        self.times = Times(**parts["times"])
        self.is_newest_first: bool = parts["list"].get("order") == "newest first"
        self.error_forms = {}
        for code, part in parts["errors"].items():
            self.error_forms[code] = read_form(part, "application/problem+json")
        # The statuses of a new deployment, those that do not end it, and all.
        statuses = DEFAULT_STATUSES | parts["statuses"]
        self.run = tuple(statuses["run"])
        self.running = [word for word in self.run if word != statuses["ended"]]
        self.words = words_of(statuses)
        # An example of the request that creates a project, and where in it the name stands.
        creation = DEFAULT_CREATION | parts["create"]
        self.has_own_request = "request" in parts["create"]
        self.request: dict[str, Any] = creation["request"]
        place = next(place_of_name(self.request))
        self.path_of_name = [str(name) for name in place]
        self.names_of_request = names_around(self.request, self.path_of_name[:-1])
        self.has_unique_names: bool = creation["unique"]
        self.has_optional_name: bool = creation["optional"]
        self.takes_any_type: bool = creation["any_type"]

    def form(self, name: str) -> Form | None:
        """The form of `list`, `create` or `deployment`; None for the contract's own."""
        part = self.document.get(name)
        return read_form(part, "application/json") if part else None

    def error_form(self, code: str) -> Form | None:
        """The form of the errors of a code; None for the contract's own."""
        return self.error_forms.get(code) or self.error_forms.get("default")

    @property
    def shows_status(self) -> bool:
        """Whether the body of a deployment has its status (§3), or a choice by it."""
        form = self.form("deployment")
        return form is None or "deployment.status" in names_below(form.body)

    def has_integers(self, kind: str) -> bool:
        """Whether the ids of this kind are numbers; those of deployments may be the projects'."""
        form: dict[str, Any] = self.ids.get(kind, {})
        if "same" in form:
            return self.has_integers("projects")
        return form.get("integers") is True

    def has_opaque_ids(self, kind: str) -> bool:
        """Whether nothing can be read from the ids of this kind."""
        form = self.ids.get(kind, {})
        return not any(name in form for name in DERIVED)


def lacking(like: Profile) -> list[str]:
    """The parts that a profile lacks, which are as the contract says."""
    document = like.document
    parts = ["statuses", "list", "create", "deployment", "errors", "ids"]
    forms = [document.get(name) for name in ("list", "create", "deployment")]
    markers = names_below(forms)
    has_times = any(name.endswith(".created_at") for name in markers)
    if has_times or not all(forms):  # else it has none that are texts
        parts.append("times")
    return [name for name in parts if name not in document]


def read_form(part: dict[str, Any], content_type: str) -> Form:
    status = part.get("status")
    return Form(
        body=part["body"],
        content_type=part.get("content_type", content_type),
        headers=part.get("headers", {}),
        status=None if status is None else int(status),
    )


def make_profile(document: Any, file: str = "") -> Profile:
    """The profile of a JSON value, or `InvalidBody` with all its errors."""
    require_valid(errors_in(document))
    return Profile(document, file)


def read_profile(path: Path) -> Profile:
    """The profile of a file. Raises `ValueError` with all errors and their places."""
    with explained(path):
        data = content_of(path)
        if len(data) > MAX_BYTES:
            raise InvalidBody([FieldError("", f"must have at most {MAX_BYTES} bytes")])
        _, document = parse_json(data, DEPTH)
        return make_profile(document, path.name)
