"""Reads a profile: a JSON document with the responses of a service.

Its schema is profile.json in this folder.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from traffic import json_values
from web import documents, problems, strict_json, validation
from web.files import read_user_file

from . import check, ids, markers
from .request import RequestExample
from .statuses import find_statuses

DEPTH = strict_json.MAX_DEPTH + 4
"""The maximum levels of a profile: a body is as deep as in a request, and has a form around it."""

LATEST = "latest_deployment_id"


class Form(NamedTuple):
    """A form of a response: `Form({"id": "{project.id}"}, status=202)`.

    Without a status, the response has the status of the contract.
    """

    body: Any
    content_type: str = strict_json.MEDIA_TYPE
    headers: Mapping[str, str] = {}
    status: int | None = None

    @property
    def media_type(self) -> str:
        media_type, _, _ = self.content_type.partition(";")
        return media_type.strip().lower()


class Profile:
    """A valid profile; `file` is the name of its file.

    `run` has the statuses of a new deployment, in order. All but the last are `running`: they still
    change. `statuses` has further statuses, too.
    """

    def __init__(self, document: dict[str, Any], file: str = "") -> None:
        self.document = document
        self.file = file
        self.observed_at: str = document["observed_at"]
        self.warnings: list[str] = []
        parts: dict[str, Any] = defaultdict(dict, document)
        self.ids: dict[str, ids.IdFormat] = {}  # key: kind of record
        for kind, example in parts["ids"].items():
            self.ids[kind] = ids.parse_id_format(example, kind)
        self.is_newest_first: bool = parts["list"].get("order") == "newest first"
        statuses = find_statuses(document)
        self.run = statuses.run
        self.running = list(statuses.run[:-1])
        self.statuses = statuses.all
        self._read_forms(parts)
        self.has_unique_names: bool = parts["create"].get("unique", True)
        self.request = self._read_request(parts["create"])
        self.warnings += self._find_missing()
        self.warnings += islice(self._find_typos(), 20)

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
            body = markers.replace_text(body, markers.RECORD, self.document["record"])
        # Clients store these fields. Behind HTTPS, some of them would lock `localhost`.
        dropped = {
            "strict-transport-security", "alt-svc", "expect-ct", "nel", "report-to", "set-cookie",
        }  # fmt: skip
        headers = {}
        for name, value in part.get("headers", {}).items():
            if name.lower() in dropped:
                at = f"/{place}{validation.format_pointer('headers', name)}"
                self.warnings.append(f"{at} is left out: clients would keep it for this host")
            else:
                headers[name] = value
        default = self.document.get("content_type", strict_json.MEDIA_TYPE)
        content_type = part.get("content_type", default)
        status = part.get("status")
        return Form(body, content_type, headers, None if status is None else int(status))

    def _read_request(self, part: dict[str, Any]) -> RequestExample:
        create = self.form("create")
        self.request_type = create.media_type if create else strict_json.MEDIA_TYPE
        # Without this error, a profile accepts all types.
        self.has_any_type = "unsupported_media_type" not in self.document.get("errors", {})
        return RequestExample(part, None if self.has_any_type else self.request_type)

    def _find_missing(self) -> Iterator[str]:
        """Yield warnings for parts that clients need, and that no body has."""
        deployment = self.form("deployment")
        if deployment and "deployment.status" not in markers.find_marker_names(deployment.body):
            yield "/deployment/body has no {deployment.status}"
        form = self.form("create")
        if form and not self._shows_deployment([form.body, form.headers]):
            yield "/create shows no way to the deployment: no {deployment.id} in body or headers"

    def _shows_deployment(self, value: Any) -> bool:
        """Return whether a value has the id of the deployment, whichever status it has."""
        if isinstance(value, str):
            return any(map(self.is_deployment_id, markers.find_markers(value)))
        if isinstance(value, list):
            return any(map(self._shows_deployment, value))
        if markers.is_choice(value):
            values = value[markers.CHOICE]
            has_all = "" in values or values.keys() >= {*self.statuses}
            return has_all and all(map(self._shows_deployment, values.values()))
        if isinstance(value, dict):
            return any(map(self._shows_deployment, value.values()))
        return False

    def is_deployment_id(self, marker: markers.Marker) -> bool:
        """Return whether a marker is the id by which a client reads a deployment."""
        own = self.ids.get("deployments")
        is_same = isinstance(own, ids.Derived) and own.is_same
        names = {"deployment.id", "project.id"} if is_same else {"deployment.id"}
        return marker.name in names and marker.spec in ("", "text")

    def _find_typos(self) -> Iterator[str]:
        """Yield warnings for texts that look like markers: `{project.title}`."""
        for path, value in json_values.walk(self.document):
            if isinstance(value, str) and "{" in value:
                for text in re.findall(r"\{[A-Za-z]+\.[A-Za-z_]+(?::[^{}]*)?(?:\}|$)", value):
                    if not markers.find_markers(text):
                        place = validation.format_pointer(*path)
                        shown = problems.shorten(text)
                        yield f"{place}: {shown} is not a marker: it stays as it is"

    def form(self, name: str) -> Form | None:
        """Return the form of `list`, `create` or `deployment`, or None if it is missing.

        The plain form of `forms.py` replaces it.
        """
        return self._forms.get(name)

    @cached_property
    def shows_latest(self) -> bool:
        """Whether a body of the list or of a creation has the member `latest_deployment_id`."""
        forms = (self.form("list"), self.form("create"))
        return any(form is None or has_member(form.body, LATEST) for form in forms)

    def error_form(self, code: str) -> Form | None:
        """Return the form of an error such as `not_found`, or None if it is missing."""
        return self.error_forms.get(code) or self.error_forms.get("default")

    def has_integers(self, kind: str) -> bool:
        """Return whether the ids of `projects` or `deployments` are numbers."""
        form = self.ids.get(kind)
        if isinstance(form, ids.Derived) and form.is_same:
            return self.has_integers("projects")
        return isinstance(form, ids.Numbers)

    def has_opaque_ids(self, kind: str) -> bool:
        """Return whether the ids of this kind are like an example, or plain."""
        return isinstance(self.ids.get(kind), ids.Opaque | None)


def has_member(body: Any, name: str) -> bool:
    return any(isinstance(value, dict) and name in value for _, value in json_values.walk(body))


def list_missing_parts(profile: Profile) -> list[str]:
    """Return the parts that a profile lacks, such as `["errors", "ids"]`."""
    parts = ("list", "create", "deployment", "errors", "ids")
    lacks = [name for name in parts if name not in profile.document]
    return lacks if profile.statuses else ["statuses", *lacks]


def find_unobserved_errors(profile: Profile) -> list[str]:
    """Return the codes of the errors whose status and body the profile does not show."""
    # Only the stub, its server or `--strict` makes these errors.
    of_stub = {
        "default", "body_too_large", "headers_too_large", "host_not_allowed", "internal_error",
        "malformed_request", "store_full", "store_unavailable", "unknown_query",
    }  # fmt: skip
    known = {*of_stub, *profile.error_forms}
    if not profile.has_unique_names:
        known.add("name_taken")
    if profile.has_any_type:
        known.add("unsupported_media_type")
    codes = check.load_schemas()["profile"]["properties"]["errors"]["properties"]
    return [code for code in codes if code not in known]


def make_profile(document: Any, file: str = "") -> Profile:
    """Make the profile of a JSON value. Raises `InvalidBody` with its first errors."""
    validation.require_valid(check.check_profile(document))
    return Profile(document, file)


def read_profile(path: FilePath) -> Profile:
    """Read the profile in a file. Raises `ValueError` with the errors and their pointers."""
    with documents.explain_errors(path):
        data = read_user_file(path)
        if len(data) > check.MAX_BYTES:
            raise problems.InvalidBody(
                [problems.FieldError("", f"must have at most {check.MAX_BYTES} bytes")]
            )
        _, document = strict_json.parse_json(data, DEPTH)
        return make_profile(document, path.name)
