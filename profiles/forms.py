"""Makes the responses of a service from records and forms.

A form says how a response looks: a body with markers, a status, a content type and header fields.
The plain forms replace those that a profile leaves out.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from flask import Request, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.urls import iri_to_uri

import records
from traffic.addresses import is_loopback
from traffic.json_values import get_value
from web import problems
from web.routing import CREATED
from web.strict_json import JSON, MEDIA_TYPE

from . import bodies, markers
from .profile import Form, Profile

PLAIN_PROJECT = {
    "id": "{project.id}",
    "created_at": "{project.created_at}",
    "latest_deployment_id": "{deployment.id}",
}
PLAIN_CREATION = Form(PLAIN_PROJECT)
PLAIN_LIST = Form({"projects": [PLAIN_PROJECT]})
PLAIN_DEPLOYMENT = Form(
    {
        "id": "{deployment.id}",
        "project_id": "{project.id}",
        "status": "{deployment.status}",
        "created_at": "{deployment.created_at}",
    }
)


def find_base(received: Request) -> str:
    """Return the scheme and the authority that the client called: `http://127.0.0.1:8080`.

    A proxy on loopback that received the request over HTTPS says so in X-Forwarded-Proto.
    """
    environ = received.environ
    scheme = received.scheme
    forwarded = environ.get("HTTP_X_FORWARDED_PROTO")
    if forwarded in ("http", "https") and is_loopback(environ.get("REMOTE_ADDR", "")):
        scheme = forwarded
    return f"{scheme}://{environ.get('HTTP_HOST') or received.host}"


class PlainProject:
    """The plain body of a project: it has all members that the client sent."""

    def __init__(self, profile: Profile) -> None:
        self._members = bodies.Body(profile, PLAIN_PROJECT)

    def fill(self, subject: bodies.Subject) -> str:
        """Return `{"id": …, "name": "shop"}`, which begins with the members of the stub."""
        members = self._members.fill(subject).removesuffix("}")
        sent = subject["sent_text"].strip().removeprefix("{").lstrip()
        return f"{members}, {sent}"


class CompiledForm:
    """A form whose body and header fields are compiled.

    `status` is used if the form has none. `body`, if given, replaces the body of the form.
    """

    def __init__(
        self,
        profile: Profile,
        form: Form,
        status: int = 200,
        body: bodies.Slot | None = None,
    ) -> None:
        self.form = form
        self._status = form.status or status
        self._body = body or bodies.Body(profile, form.body)
        self._headers: dict[str, list[bodies.Piece]] = {}
        for name, value in form.headers.items():
            self._headers[name] = bodies.compile_field(name, value, profile)
        self._is_plain = form.content_type == MEDIA_TYPE and not form.headers

    def fill_body(self, subject: bodies.Subject) -> bytes:
        """Fill the body; `BASE` in it is the address of the stub."""
        text = self._body.fill(subject)
        return f"{text}\n".encode() if text else b""

    def respond(self, body: bytes, subject: bodies.Subject) -> ResponseReturnValue:
        """Make the response to the current request from a filled body."""
        content = insert_base(body)
        if content and self._is_plain:  # The program makes such a response faster.
            return content, self._status, JSON
        response = Response(content, self._status, JSON)
        self.set_fields(response, content, subject)
        return response

    def set_fields(self, response: Response, content: bytes, subject: bodies.Subject) -> None:
        """Set the header fields of the form. An empty body has no Content-Type."""
        headers = response.headers
        if content:
            headers["Content-Type"] = self.form.content_type
        else:
            del headers["Content-Type"]
        for name, pieces in self._headers.items():
            value = bodies.fill_pieces(pieces, subject)
            if bodies.BASE in value:
                value = value.replace(bodies.BASE, bodies.percent_encode(find_base(request)))
            is_url = name.lower() in bodies.LOCATIONS  # Werkzeug encodes these, too.
            headers[name] = iri_to_uri(value) if is_url else value


def insert_base(body: bytes) -> bytes:
    """Insert the address of the stub, as the client of this request calls it."""
    mark = bodies.BASE.encode()
    if mark not in body:
        return body
    return body.replace(mark, bodies.escape_json(find_base(request)).encode())


class FilledList(NamedTuple):
    """The body of a list of projects. It is current from `since` until a status changes."""

    body: bytes
    subject: bodies.Subject
    projects: records.ProjectList
    since: datetime
    until: datetime | None = None  # None if no status will change

    def holds(self, projects: records.ProjectList, now: datetime) -> bool:
        """Return whether the body is still that of these projects."""
        is_current = self.until is None or self.since <= now < self.until
        return self.projects is projects and is_current


class Forms:
    """The compiled forms of a profile, and the plain forms that it leaves out."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        listed = profile.form("list") or PLAIN_LIST
        around, item = bodies.extract_item(listed.body, bodies.ItemsSlot())
        self._list = CompiledForm(profile, listed, body=bodies.Body(profile, around))
        self._item: bodies.Slot = PlainProject(profile)
        if profile.form("list"):
            self._item = bodies.Body(profile, item)
        created = profile.form("create")
        if created:
            self._creation = CompiledForm(profile, created, CREATED)
        else:
            self._creation = CompiledForm(profile, PLAIN_CREATION, CREATED, PlainProject(profile))
        deployment = profile.form("deployment") or PLAIN_DEPLOYMENT
        self._deployment = CompiledForm(profile, deployment)
        self._errors = {
            code: CompiledForm(profile, form) for code, form in profile.error_forms.items()
        }
        self.list_needs_deployments = names_record("deployment", item)
        self.deployment_needs_project = names_record(
            "project", [deployment.body, deployment.headers]
        )
        # A client polls a deployment: the cache saves 15 % of the processor time of a GET.
        self._fill_cached = lru_cache(maxsize=64)(self._fill_deployment)

    def fill_list(
        self,
        projects: records.ProjectList,
        deployments: Mapping[str, records.Deployment],
        now: datetime,
    ) -> FilledList:
        """Fill the body of the list; the projects are given oldest first."""
        ordered = [*projects]
        if self.profile.is_newest_first:
            ordered.reverse()
        listing: dict[str, Any] = {"count": len(ordered)}
        if ordered:
            listing |= {"first.id": ordered[0].id, "last.id": ordered[-1].id}
        items = []
        for project in ordered:
            subject = listing | self._describe_project(project)
            deployment = deployments.get(project.latest_deployment_id)
            if deployment:
                subject |= describe_deployment(deployment, deployment.status(now))
            items.append(self._item.fill(subject) or "null")
        subject = {**listing, "items": ", ".join(items)}
        body = self._list.fill_body(subject)
        return FilledList(body, subject, projects, now, find_next_change(deployments.values(), now))

    def respond_list(self, filled: FilledList) -> ResponseReturnValue:
        """Make the response of a list."""
        return self._list.respond(filled.body, filled.subject)

    def respond_creation(
        self, project: records.Project, deployment: records.Deployment, now: datetime
    ) -> ResponseReturnValue:
        """Make the response of a creation."""
        subject = self._describe_project(project)
        subject |= describe_deployment(deployment, deployment.status(now))
        return self._creation.respond(self._creation.fill_body(subject), subject)

    def respond_deployment(
        self, deployment: records.Deployment, project: records.Project | None, now: datetime
    ) -> ResponseReturnValue:
        """Make the response of a deployment. The project is needed only by some forms."""
        body, subject = self._fill_cached(deployment, project, deployment.status(now))
        return self._deployment.respond(body, subject)

    def fill_error(
        self, response: Response, problem: Mapping[str, Any], *, is_requested: bool
    ) -> None:
        """Give an error the form that the profile has for it, if it has one.

        An error that `Prefer` or a fault requested keeps its status. If it is 503, it has the form
        of `store_unavailable`.
        """
        compiled = self._errors.get(problem["code"])
        if compiled is None and is_requested and response.status_code == 503:
            compiled = self._errors.get("store_unavailable")
        compiled = compiled or self._errors.get("default")
        if compiled is None:
            return
        if compiled.form.status is not None and not is_requested:
            response.status_code = compiled.form.status
        about = self._find_subject()
        subject = describe_error(problem, response.status_code, about)
        content = insert_base(compiled.fill_body(subject))
        response.set_data(content)
        compiled.set_fields(response, content, subject)

    def _find_subject(self) -> str:
        """Return the subject of the current request: an id in its path, a name, or its path."""
        if request.view_args:
            return str(next(iter(request.view_args.values())))
        sent = request.get_json(force=True, silent=True) if request.method == "POST" else None
        name = get_value(sent, self.profile.request.name_path)
        return name if isinstance(name, str) else request.path

    def _describe_project(self, project: records.Project) -> dict[str, Any]:
        """Return the markers' values of a project and of the id of its latest deployment."""
        subject = {
            "project.id": project.id,
            "project.name": project.name,
            "project.created_at": project.created_at,
            "deployment.id": project.latest_deployment_id,
            "sent_text": project.sent,
        }
        if self.profile.request.replaceable:
            subject["sent"] = json.loads(project.sent)
        return subject

    def _fill_deployment(
        self, deployment: records.Deployment, project: records.Project | None, status: str
    ) -> tuple[bytes, bodies.Subject]:
        """Return the body of a deployment, and the subject that filled it."""
        subject: dict[str, Any] = {"project.id": deployment.project_id}
        if project:
            subject = self._describe_project(project)
        subject |= describe_deployment(deployment, status)
        return self._deployment.fill_body(subject), subject


def describe_deployment(deployment: records.Deployment, status: str) -> dict[str, Any]:
    """Return the markers' values of a deployment."""
    return {
        "deployment.id": deployment.id,
        "deployment.status": status,
        "deployment.created_at": deployment.created_at,
    }


def describe_error(problem: Mapping[str, Any], status: int, about: str) -> bodies.Subject:
    """Return the markers' values of an error, with the status that the service has for it.

    `about` is the id, the name or the path of the request.
    """
    title = problem["title"]
    if status != problem["status"]:
        title = HTTP_STATUS_CODES.get(status, "Unknown Error")
    details = problems.list_reasons(problem)
    return {
        "error.code": problem["code"],
        "error.title": title,
        "error.detail": "; ".join(details[: problems.MAX_REASONS]),
        "error.status": status,
        "error.subject": about,
    }


def names_record(record: str, body: Any) -> bool:
    """Return whether a body has more of a record (`project` or `deployment`) than its id."""
    names = {marker.name for marker in markers.walk_markers(body)} - markers.IDS
    return any(name.startswith(f"{record}.") for name in names)


def find_next_change(deployments: Iterable[records.Deployment], now: datetime) -> datetime | None:
    """Return when a deployment changes its status next, or None if no status will change."""
    seconds = []
    for deployment in deployments:
        index, age = deployment.stage(now)
        whole = deployment.timeline[index].seconds
        if whole is not None:
            seconds.append(round(whole - age, 6))
    if not seconds:
        return None
    return now + timedelta(seconds=min(seconds))
