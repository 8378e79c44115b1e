"""The responses of a service: a store whose records have its bodies, and what else is its own."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from flask import Response, g
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.urls import iri_to_uri

from records import Deployment, Project, ProjectList
from store import Store
from web.problems import MAX_REASONS, reasons

from ..store import Records
from ..timelines import TimelineFor, rest_of_timeline
from .bodies import Compiler, Fill, Subject
from .markers import names_below, places_of_projects
from .profile import Form, Profile

LOCATIONS = ("location", "content-location")  # header fields, which Werkzeug would encode, too

# The contract's own forms, for what a profile leaves out.
OWN_PROJECT = {
    "id": "{project.id}",
    "created_at": "{project.created_at}",
    "latest_deployment_id": "{deployment.id}",
}
OWN_LIST = Form({"projects": [OWN_PROJECT]})
OWN_CREATION = Form(OWN_PROJECT)
OWN_DEPLOYMENT = Form(
    {
        "id": "{deployment.id}",
        "project_id": "{project.id}",
        "status": "{deployment.status}",
        "created_at": "{deployment.created_at}",
    }
)


class Reply(NamedTuple):
    """What is compiled of a form."""

    status: int | None
    content_type: str
    headers: dict[str, Fill]
    fill: Fill

    def body(self, subject: Subject) -> bytes:
        return f"{self.fill(subject)}\n".encode()

    def dress(self, response: Response, subject: Subject) -> None:
        if self.status is not None:
            response.status_code = self.status
        response.headers["Content-Type"] = self.content_type
        for name, fill in self.headers.items():
            value = fill(subject)
            is_url = name.lower() in LOCATIONS
            response.headers[name] = iri_to_uri(value) if is_url else value


def compile_reply(compiler: Compiler, form: Form, fill: Fill | None = None) -> Reply:
    fields = {name: compiler.field(value) for name, value in form.headers.items()}
    fill_body = fill or compiler.body(form.body)
    return Reply(form.status, form.content_type, fields, fill_body)


def compile_project(compiler: Compiler, body: Any) -> Fill:
    """What fills the form of a project; the contract's own has all that a client sent."""
    if body is not OWN_PROJECT:
        return compiler.body(body, has_sent=True)
    fill_own = compiler.body(OWN_PROJECT)

    def fill(subject: Subject) -> str:
        members = fill_own(subject).removesuffix("}")
        sent = subject["sent"].strip().removeprefix("{")
        return f"{members}, {sent.lstrip()}"

    return fill


class Responses:
    """The responses of a profile, compiled once."""

    def __init__(self, like: Profile) -> None:
        self.like = like
        compiler = Compiler(like)
        listed = like.form("list") or OWN_LIST
        created = like.form("create") or OWN_CREATION
        deployment = like.form("deployment") or OWN_DEPLOYMENT

        items = array_of_projects(listed.body)
        (item,) = items
        self._fill_item = compile_project(compiler, item)
        self.item_needs_deployment = needs("deployment", item)
        self.deployment_needs_project = needs("project", [deployment.body, deployment.headers])
        self._errors = {}
        for code, form in like.error_forms.items():
            self._errors[code] = compile_reply(compiler, form)
        fill_list = compiler.body(listed.body, items)
        fill_created = compile_project(compiler, created.body)
        self.replies = {
            "listProjects": compile_reply(compiler, listed, fill_list),
            "createProject": compile_reply(compiler, created, fill_created),
            "getDeployment": compile_reply(compiler, deployment),
        }

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
            deployment = deployments.get(project.latest_deployment_id)
            subject = listing | subject_of(project, deployment, now)
            items.append(self._fill_item(subject))
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
        if is_requested:
            reply = reply._replace(status=None)
        subject = subject_of_error(problem, reply.status or response.status_code)
        response.set_data(reply.body(subject))
        reply.dress(response, subject)


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


def array_of_projects(body: Any) -> list[Any]:
    """The array in the body of a list whose one item is the form of each project."""
    found = body
    for name in next(places_of_projects(body)):
        found = found[name]
    items: list[Any] = found
    return items


def needs(record: str, body: Any) -> bool:
    """Whether a body has more of the other record, a project or a deployment, than its id."""
    prefix = f"{record}."
    others = {*names_below(body)} - {f"{record}.id"}
    return any(name.startswith(prefix) for name in others)


def subject_of(project: Project, deployment: Deployment | None, now: datetime) -> dict[str, Any]:
    """A project and its latest deployment, whose record is needed for more than its id."""
    subject = {
        "project.id": project.id,
        "project.name": project.name,
        "project.created_at": project.created_at,
        "deployment.id": project.latest_deployment_id,
        "sent": project.sent,
    }
    if deployment:
        subject["deployment.status"] = deployment.status(now)
        subject["deployment.created_at"] = deployment.created_at
    return subject


class ListedProjects(NamedTuple):
    """A list whose wire form is the body of a profile.

    It is that of `plain`, from `since` until a status changes, at `until`, if any will.
    """

    representation: bytes
    subject: Subject
    plain: ProjectList
    since: datetime
    until: datetime | None

    def holds(self, plain: ProjectList, now: datetime) -> bool:
        is_current = self.until is None or self.since <= now < self.until
        return self.plain is plain and is_current


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
        subject = {
            "project.id": self.deployment.project_id,
            "deployment.id": self.deployment.id,
            "deployment.status": status,
            "deployment.created_at": self.deployment.created_at,
        }
        if self.project:
            subject["project.name"] = self.project.name
            subject["project.created_at"] = self.project.created_at
        g.subject = subject
        return self.responses.replies["getDeployment"].body(subject)


class RecordStore(Store, Protocol):
    """What is needed of a store beside what the views need."""

    def records(self) -> Records:
        """All records; each deployment has a time of its own."""


class LikeStore:
    """The store of a request, whose records have the bodies of a profile as their wire forms.

    It notes in `g.subject` what a body was filled with, for the header fields. The bodies of a list
    are cached: this saves 95 % of the processor time of a list of 1,000.
    """

    _listed: ListedProjects | None = None  # cache
    _plain: ProjectList | None = None  # of which the next is the cache
    _by_id: dict[str, Project]

    def __init__(self, store: RecordStore, responses: Responses, timeline_for: TimelineFor) -> None:
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
        subject = subject_of(project, made, self.now())
        g.subject = subject
        body = self._responses.replies["createProject"].body(subject)
        return CreatedProject(body)

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
        current, *_ = rest_of_timeline(deployment, now)
        if current.seconds is not None:
            seconds.append(current.seconds)
    if not seconds:
        return None
    return now + timedelta(seconds=min(seconds))
