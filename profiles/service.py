"""The responses of a service: a store whose records have its bodies, and what else is its own."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from flask import Request, Response, g, request
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.urls import iri_to_uri

from records import Deployment, Project, ProjectList, Timeline
from store import Store
from web.problems import MAX_REASONS, reasons

from .bodies import (
    BASE,
    ITEMS,
    LOCATIONS,
    Body,
    Compiler,
    Fill,
    Subject,
    escaped,
    percent_encoded,
    without_items,
)
from .markers import IDS, is_choice, markers_below
from .profile import Profile, ResponseForm

LOOPBACK = re.compile(r"(::ffff:)?127(\.[0-9]+){3}|::1")  # addresses

# The contract's own forms, for what a profile leaves out.
OWN_PROJECT = {
    "id": "{project.id}",
    "created_at": "{project.created_at}",
    "latest_deployment_id": "{deployment.id}",
}
OWN_LIST = ResponseForm({"projects": [OWN_PROJECT]})
OWN_CREATION = ResponseForm(OWN_PROJECT)
OWN_DEPLOYMENT = ResponseForm(
    {
        "id": "{deployment.id}",
        "project_id": "{project.id}",
        "status": "{deployment.status}",
        "created_at": "{deployment.created_at}",
    }
)


def base_of(received: Request) -> str:
    """The scheme and the authority under which the client called the stub.

    A proxy on loopback, which has taken the request by HTTPS, says so.
    """
    environ = received.environ
    scheme = received.scheme
    forwarded = environ.get("HTTP_X_FORWARDED_PROTO")
    if forwarded in ("http", "https") and LOOPBACK.fullmatch(environ.get("REMOTE_ADDR", "")):
        scheme = forwarded
    return f"{scheme}://{environ.get('HTTP_HOST') or received.host}"


class FillBody(Protocol):
    """What fills a body."""

    def fill(self, subject: Subject) -> str: ...


class Reply:
    """The response of a form, compiled."""

    def __init__(self, like: Profile, form: ResponseForm, body: FillBody | None = None) -> None:
        compiler = Compiler(like)
        self.status = form.status
        self._content_type = form.content_type
        self._headers: dict[str, Fill] = {}
        for name, value in form.headers.items():
            self._headers[name] = compiler.field(name, value)
        self._body = body or Body(like, form.body)
        self._may_be_empty = form.body is None or is_choice(form.body)

    def body(self, subject: Subject) -> bytes:
        """The body, in which `BASE` stands for the address of the stub."""
        return self._body.fill(subject).encode()

    def dress(self, response: Response, subject: Subject) -> None:
        """Give a response what the form has beside a body."""
        if self.status is not None:
            response.status_code = self.status
        self.add_headers(response, subject)

    def add_headers(self, response: Response, subject: Subject) -> None:
        headers = response.headers
        headers["Content-Type"] = self._content_type
        if self._may_be_empty and not response.get_data():
            del headers["Content-Type"]
        for name, fill in self._headers.items():
            value = fill(subject)
            if BASE in value:
                value = value.replace(BASE, percent_encoded(base_of(request)))
            is_url = name.lower() in LOCATIONS  # which Werkzeug encodes, too
            headers[name] = iri_to_uri(value) if is_url else value


def addressed(body: bytes) -> bytes:
    """A body with the address of the stub, as the client of this request calls it."""
    mark = BASE.encode()
    if mark not in body:
        return body
    return body.replace(mark, escaped(base_of(request)).encode())


class OwnProject:
    """Fills the contract's own form of a project, which has all that a client sent."""

    def __init__(self, like: Profile) -> None:
        self._own = Body(like, OWN_PROJECT)

    def fill(self, subject: Subject) -> str:
        members = self._own.fill(subject).strip().removesuffix("}")
        text = subject["text"].strip().removeprefix("{").lstrip()
        return f"{members}, {text}\n"


class Responses:
    """The responses of a profile, compiled once."""

    def __init__(self, like: Profile) -> None:
        self.like = like
        listed = like.form("list") or OWN_LIST
        created = like.form("create")
        deployment = like.form("deployment") or OWN_DEPLOYMENT
        around, item = without_items(listed.body, ITEMS)
        self._item: FillBody = Body(like, item, null="null\n")
        if listed is OWN_LIST:
            self._item = OwnProject(like)
        self.item_needs_deployment = needs("deployment", item)
        self.deployment_needs_project = needs("project", [deployment.body, deployment.headers])
        creation = Reply(like, created) if created else Reply(like, OWN_CREATION, OwnProject(like))
        self.replies = {
            "listProjects": Reply(like, listed, Body(like, around)),
            "createProject": creation,
            "getDeployment": Reply(like, deployment),
        }
        self._errors = {code: Reply(like, form) for code, form in like.error_forms.items()}
        # A client reads a deployment repeatedly: saves 15 % of the processor time of a GET.
        self.read_deployment = lru_cache(maxsize=64)(self._read_deployment)

    def subject_of(self, project: Project) -> dict[str, Any]:
        """A project, and the id of its latest deployment."""
        subject = {
            "project.id": project.id,
            "project.name": project.name,
            "project.created_at": project.created_at,
            "deployment.id": project.latest_deployment_id,
            "text": project.sent,
        }
        if self.like.replaceable:
            subject["sent"] = json.loads(project.sent)
        return subject

    def _read_deployment(
        self, deployment: Deployment, project: Project | None, status: str
    ) -> tuple[bytes, Subject]:
        """The body of a deployment, and what it was filled from."""
        subject = self.subject_of(project) if project else {"project.id": deployment.project_id}
        subject |= subject_of_deployment(deployment, status)
        return self.replies["getDeployment"].body(subject), subject

    def subject_of_list(
        self, projects: Iterable[Project], deployments: Mapping[str, Deployment], now: datetime
    ) -> Subject:
        """What the body of a list is filled from; the list is given oldest first."""
        ordered = [*projects]
        if self.like.is_newest_first:
            ordered.reverse()
        listing: dict[str, Any] = {"count": len(ordered)}
        if ordered:
            listing |= {"first.id": ordered[0].id, "last.id": ordered[-1].id}
        items = []
        for project in ordered:
            subject = listing | self.subject_of(project)
            deployment = deployments.get(project.latest_deployment_id)
            if deployment:
                subject |= subject_of_deployment(deployment, deployment.status(now))
            items.append(self._item.fill(subject)[:-1])
        return {**listing, "items": ", ".join(items)}

    def dress_error(
        self, response: Response, problem: Mapping[str, Any], *, is_requested: bool
    ) -> None:
        """Give a response the form that the profile has for a problem.

        One that was requested, with `Prefer` or by a fault, keeps its status.
        """
        reply = self._errors.get(problem["code"]) or self._errors.get("default")
        if reply is None:
            return
        if reply.status is not None and not is_requested:
            response.status_code = reply.status
        subject = subject_of_error(problem, response.status_code)
        response.set_data(addressed(reply.body(subject)))
        reply.add_headers(response, subject)


def subject_of_deployment(deployment: Deployment, status: str) -> dict[str, Any]:
    return {
        "deployment.id": deployment.id,
        "deployment.status": status,
        "deployment.created_at": deployment.created_at,
    }


def subject_of_error(problem: Mapping[str, Any], status: int) -> Subject:
    """An error as the contract has it, with the status that the service has for it."""
    title = problem["title"]
    if status != problem["status"]:
        title = HTTP_STATUS_CODES.get(status, "Unknown Error")
    details = reasons(problem)
    return {
        "error.code": problem["code"],
        "error.title": title,
        "error.detail": "; ".join(details[:MAX_REASONS]),
        "error.status": status,
    }


def needs(record: str, body: Any) -> bool:
    """Whether a body has more of the other record, a project or a deployment, than its id."""
    names = {marker.name for marker in markers_below(body)} - IDS
    return any(name.startswith(f"{record}.") for name in names)


class ListedProjects(NamedTuple):
    """A list whose wire form is the body of a profile.

    It is that of `plain`, from `since` until a status changes, at `until`, if any will.
    """

    body: bytes
    subject: Subject
    plain: ProjectList
    since: datetime
    until: datetime | None

    def holds(self, plain: ProjectList, now: datetime) -> bool:
        is_current = self.until is None or self.since <= now < self.until
        return self.plain is plain and is_current

    @property
    def representation(self) -> bytes:
        return addressed(self.body)


class CreatedProject(NamedTuple):
    """A project whose wire form is the body of a profile."""

    representation: bytes


class ReadDeployment(NamedTuple):
    """A deployment whose wire form is the body of a profile."""

    deployment: Deployment
    project: Project | None
    responses: Responses

    def status(self, now: datetime) -> str:
        return self.deployment.status(now)

    def representation(self, status: str) -> bytes:
        body, g.subject = self.responses.read_deployment(self.deployment, self.project, status)
        return addressed(body)


class Records(Protocol):
    """The records of a store at one time."""

    @property
    def list(self) -> ProjectList: ...

    @property
    def deployments_by_id(self) -> dict[str, Deployment]: ...


class RecordStore(Store, Protocol):
    """A store of records, which the views show as they are."""

    def list_projects(self) -> ProjectList: ...

    def create_project(self, name: str, sent: str) -> Project: ...

    def get_deployment(self, deployment_id: str) -> Deployment | None: ...

    def records(self) -> Records:
        """All records; each deployment has a time of its own."""


class LikeStore:
    """The store of a request, whose records have the bodies of a profile as their wire forms.

    It notes in `g.subject` what a body was filled with, for the header fields. The bodies of a list
    are cached, without the address of the stub: this saves 95 % of the processor time of a list of
    1,000.
    """

    _listed: ListedProjects | None = None  # cache
    _plain: ProjectList | None = None  # of which the next is the cache
    _by_id: dict[str, Project]

    def __init__(
        self, store: RecordStore, responses: Responses, timeline_for: Callable[[str], Timeline]
    ) -> None:
        self.now = store.now
        self._store = store
        self._responses = responses
        self._timeline_for = timeline_for

    def list_projects(self) -> ListedProjects:
        plain = self._store.list_projects()
        now = self.now()
        listed = self._listed
        if listed is None or not listed.holds(plain, now):
            listed = self._fill_list(plain, now)
            self._listed = listed
        g.subject = listed.subject
        return listed

    def _fill_list(self, plain: ProjectList, now: datetime) -> ListedProjects:
        responses = self._responses
        projects = plain
        deployments: dict[str, Deployment] = {}
        if responses.item_needs_deployment:
            records = self._store.records()
            projects = records.list
            deployments = records.deployments_by_id
        subject = responses.subject_of_list(projects, deployments, now)
        body = responses.replies["listProjects"].body(subject)
        until = next_change(deployments.values(), now)
        return ListedProjects(body, subject, plain, now, until)

    def create_project(self, name: str, sent: str) -> CreatedProject:
        project = self._store.create_project(name, sent)
        # As the store made it, so that there is no second call, before which it may change.
        made = Deployment(
            project.latest_deployment_id,
            project.id,
            project.created_at,
            self._timeline_for(name),
        )
        subject = self._responses.subject_of(project)
        subject |= subject_of_deployment(made, made.status(self.now()))
        g.subject = subject
        body = self._responses.replies["createProject"].body(subject)
        return CreatedProject(addressed(body))

    def get_deployment(self, deployment_id: str) -> ReadDeployment | None:
        deployment = self._store.get_deployment(deployment_id)
        if deployment is None:
            return None
        project = None
        if self._responses.deployment_needs_project:
            project = self._projects().get(deployment.project_id or "")
        return ReadDeployment(deployment, project, self._responses)

    def _projects(self) -> dict[str, Project]:
        plain = self._store.list_projects()
        if plain is not self._plain:
            self._by_id = {project.id: project for project in plain}
            self._plain = plain
        return self._by_id


def next_change(deployments: Iterable[Deployment], now: datetime) -> datetime | None:
    """The time at which the status of one of these changes next, None if none will change."""
    seconds = []
    for deployment in deployments:
        index, age = deployment.stage(now)
        whole = deployment.timeline[index].seconds
        if whole is not None:
            seconds.append(round(whole - age, 6))
    if not seconds:
        return None
    return now + timedelta(seconds=min(seconds))
