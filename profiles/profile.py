"""A profile: the responses of a service as it writes them, with markers for what varies.

It is a JSON document; profile.json beside this file is its schema.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from traffic.json_values import Names, Path, get_value, walk
from web.documents import explain_errors, parse_pointer
from web.files import read_user_file
from web.problems import FieldError, InvalidBody, shorten
from web.strict_json import MAX_DEPTH, MEDIA_TYPE, parse_json
from web.validation import format_pointer, require_valid

from .check import MAX_BYTES, check_profile, find_members, load_schemas
from .ids import Derived, IdForm, Numbers, Opaque, parse_id_form
from .markers import (
    CHOICE,
    DEFAULT_REQUEST,
    RECORD,
    Marker,
    find_marker_names,
    find_markers,
    find_name_paths,
    is_choice,
    replace_text,
)
from .statuses import find_statuses

DEPTH = MAX_DEPTH + 4  # a body may be as deep as that of a request, inside of its form
DROPPED = {
    "strict-transport-security", "alt-svc", "expect-ct", "nel", "report-to", "set-cookie",
}  # fmt: skip
"""Header fields that outlive a response: behind HTTPS one of these would lock `localhost`."""

LIKE_MARKER = re.compile(r"\{[A-Za-z]+\.[A-Za-z_]+(?::[^{}]*)?\}")
MAX_TYPOS = 20  # that are told

LATEST = "latest_deployment_id"  # a member of the plain project
DEFAULT_CREATION: dict[str, Any] = {
    "request": DEFAULT_REQUEST, "unique": True, "required": [], "optional": [],
}  # fmt: skip
# The errors that only the stub, its server or `--strict` makes: no service shows them.
ERRORS_OF_STUB = {
    "default", "body_too_large", "headers_too_large", "host_not_allowed", "internal_error",
    "malformed_request", "store_full", "store_unavailable", "unknown_query",
}  # fmt: skip


class Form(NamedTuple):
    """What a response looks like; without a status it has that of the contract."""

    body: Any
    content_type: str = MEDIA_TYPE
    headers: Mapping[str, str] = {}
    status: int | None = None

    @property
    def media_type(self) -> str:
        media_type, _, _ = self.content_type.partition(";")
        return media_type.strip().lower()


class Profile:
    """A profile without errors; `file` is the name of the one that it was read from."""

    def __init__(self, document: dict[str, Any], file: str = "") -> None:
        self.document = document
        self.file = file
        self.observed_at: str = document["observed_at"]
        self.warnings: list[str] = []  # of a person who writes a profile
        parts: dict[str, Any] = defaultdict(dict, document)
        self.ids: dict[str, IdForm] = {}  # by the kind of record
        for kind, example in parts["ids"].items():
            self.ids[kind] = parse_id_form(example, kind)
        self.is_newest_first: bool = parts["list"].get("order") == "newest first"
        # The statuses of a new deployment, those that do not end it, and all.
        statuses = find_statuses(document)
        self.run = statuses.run
        self.running = list(statuses.run[:-1])
        self.words = statuses.words
        self._read_forms(parts)
        self._read_request(parts["create"])
        self.warnings += self._find_missing()
        self.warnings += islice(self._find_typos(), MAX_TYPOS)

    def _read_forms(self, parts: dict[str, Any]) -> None:
        self._forms: dict[str, Form] = {}
        for name in ("list", "create", "deployment"):
            if name in self.document:
                self._forms[name] = self._read_form(parts[name], name)
        errors = parts["errors"]
        default = errors.get("default", {})
        self.error_forms: dict[str, Form] = {}
        for code, part in errors.items():
            self.error_forms[code] = self._read_form({**default, **part}, f"errors/{code}")

    def _read_form(self, part: dict[str, Any], place: str) -> Form:
        body = part["body"]
        if "record" in self.document and not place.startswith("errors/"):
            body = replace_text(body, RECORD, self.document["record"])
        headers = {}
        for name, value in part.get("headers", {}).items():
            if name.lower() in DROPPED:
                at = f"/{place}{format_pointer('headers', name)}"
                self.warnings.append(f"{at} is left out: clients would keep it for this host")
            else:
                headers[name] = value
        content_type = part.get("content_type", self.document.get("content_type", MEDIA_TYPE))
        status = part.get("status")
        return Form(body, content_type, headers, None if status is None else int(status))

    def _read_request(self, part: dict[str, Any]) -> None:
        """Read the example of the request that creates a project, and where in it the name is."""
        creation = DEFAULT_CREATION | part
        self.has_own_request = "request" in part
        self.request: dict[str, Any] = creation["request"]
        self.has_unique_names: bool = creation["unique"]
        (place,) = find_name_paths(self.request)
        self.path_of_name = [str(name) for name in place]
        optional = [tuple(parse_pointer(each)) for each in creation["optional"]]
        self.has_optional_name = place in optional
        # The members beside the name that a request must have.
        self.required: list[Path] = [tuple(parse_pointer(each)) for each in creation["required"]]
        needed = self.required if self.has_optional_name else [*self.required, place]
        # The objects in which these members stand, and the members.
        self.needed = {path[:end] for path in needed for end in range(1, len(path) + 1)}
        # The members of the example of which nothing is said.
        known = {*optional, *self.needed, place}
        self.expected = [path for path in find_members(self.request) if path not in known]
        *path, last = self.path_of_name
        # The names in the objects on the way to the name.
        self.names_of_request: Names = {}
        for end in range(len(place)):
            self.names_of_request[place[:end]] = get_value(self.request, place[:end]).keys()
        # The members beside the name that a client may set in the bodies.
        self.replaceable = {*get_value(self.request, path)} - {last, "name"}
        self.request_type = MEDIA_TYPE
        form = self.form("create")
        if form:
            self.request_type = form.media_type
        self.has_any_type = "unsupported_media_type" not in self.document.get("errors", {})

    def _find_missing(self) -> Iterator[str]:
        """What a client may need, and the bodies do not show."""
        deployment = self.form("deployment")
        if deployment and "deployment.status" not in find_marker_names(deployment.body):
            yield "/deployment/body has no {deployment.status}"
        form = self.form("create")
        if form and not self._shows_deployment([form.body, form.headers]):
            yield "/create shows no way to the deployment: no {deployment.id} in body or headers"

    def _shows_deployment(self, value: Any) -> bool:
        """Whether a value has the id of the deployment with each status."""
        if isinstance(value, str):
            return any(map(self.is_deployment_id, find_markers(value)))
        if isinstance(value, list):
            return any(map(self._shows_deployment, value))
        if is_choice(value):
            words = value[CHOICE]
            has_all = "" in words or words.keys() >= {*self.words}
            return has_all and all(map(self._shows_deployment, words.values()))
        if isinstance(value, dict):
            return any(map(self._shows_deployment, value.values()))
        return False

    def is_deployment_id(self, marker: Marker) -> bool:
        """Whether a marker stands for the id by which a deployment is read."""
        own = self.ids.get("deployments")
        is_same = isinstance(own, Derived) and own.is_same
        names = {"deployment.id", "project.id"} if is_same else {"deployment.id"}
        return marker.name in names and marker.form in ("", "text")

    def _find_typos(self) -> Iterator[str]:
        """Texts that look like markers, and are none."""
        for path, value in walk(self.document):
            if isinstance(value, str) and "{" in value:
                for text in LIKE_MARKER.findall(value):
                    if not find_markers(text):
                        place = format_pointer(*path)
                        yield f"{place}: {shorten(text)} is no marker, and stays as it is"

    def form(self, name: str) -> Form | None:
        """The form of `list`, `create` or `deployment`; None for the contract's own."""
        return self._forms.get(name)

    @cached_property
    def shows_latest(self) -> bool:
        """Whether a body of the list or of a creation has the member `latest_deployment_id`."""
        forms = (self.form("list"), self.form("create"))
        return any(form is None or has_member(form.body, LATEST) for form in forms)

    def error_form(self, code: str) -> Form | None:
        """The form of the errors of a code; None for the contract's own."""
        return self.error_forms.get(code) or self.error_forms.get("default")

    def has_integers(self, kind: str) -> bool:
        """Whether the ids of this kind are numbers; those of deployments may be the projects'."""
        form = self.ids.get(kind)
        if isinstance(form, Derived) and form.is_same:
            return self.has_integers("projects")
        return isinstance(form, Numbers)

    def has_opaque_ids(self, kind: str) -> bool:
        """Whether nothing can be read from the ids of this kind."""
        return isinstance(self.ids.get(kind), Opaque | None)


def has_member(body: Any, name: str) -> bool:
    return any(isinstance(value, dict) and name in value for _, value in walk(body))


def list_missing_parts(like: Profile) -> list[str]:
    """The parts that a profile lacks, which are as the contract says."""
    parts = ("list", "create", "deployment", "errors", "ids")
    lacks = [name for name in parts if name not in like.document]
    return lacks if like.words else ["statuses", *lacks]


def find_unobserved_errors(like: Profile) -> list[str]:
    """Return the codes of the errors whose status and body the profile does not show."""
    known = {*ERRORS_OF_STUB, *like.error_forms}
    if like.has_unique_names is False:
        known.add("name_taken")
    if like.has_any_type:  # which is so because the profile does not have the error
        known.add("unsupported_media_type")
    codes = load_schemas()["profile"]["properties"]["errors"]["properties"]
    return [code for code in codes if code not in known]


def make_profile(document: Any, file: str = "") -> Profile:
    """The profile of a JSON value, or `InvalidBody` with its first errors."""
    require_valid(check_profile(document))
    return Profile(document, file)


def read_profile(path: FilePath) -> Profile:
    """The profile of a file. Raises `ValueError` with all errors and their places."""
    with explain_errors(path):
        data = read_user_file(path)
        if len(data) > MAX_BYTES:
            raise InvalidBody([FieldError("", f"must have at most {MAX_BYTES} bytes")])
        _, document = parse_json(data, DEPTH)
        return make_profile(document, path.name)
