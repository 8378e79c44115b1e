"""The responses of a service: a store whose records have its bodies, and what else is its own."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from flask import Response, g
from werkzeug.http import HTTP_STATUS_CODES

from records import Deployment, Project, ProjectList, Records, TimelineFor
from store import Store
from web.access_log import MAX_REASONS, reasons

from .bodies import Body, Compiler, Subject
from .markers import names_below, places_of_projects
from .profile import Form, Profile

# The contract's own forms, for what a profile leaves out.
OWN_PROJECT = {
    "id": "{project.id}",
    "created_at": "{project.created_at}",
    "latest_deployment_id": "{deployment.id}",
}
OWN_DEPLOYMENT = {
    "id": "{deployment.id}",
    "project_id": "{project.id}",
    "status": "{deployment.status}",
    "created_at": "{deployment.created_at}",
}
OWN_LIST = {"projects": [{"": "{project.id}"}]}

NOTHING = Subject()


class Reply(NamedTuple):
    """What is compiled of a form, beside its body."""

    status: int | None
    content_type: str
    headers: dict[str, Callable[[Subject], str]]

    def dress(self, response: Response, subject: Subject) -> None:
        """Give a response the status, the media type and the header fields."""
        if self.status is not None:
            response.status_code = self.status
        response.headers["Content-Type"] = self.content_type
        for name, fill in self.headers.items():
            response.headers[name] = fill(subject)


class Responses:
    """The responses of a profile, compiled once."""

    def __init__(self, like: Profile) -> None:
        self.like = like
        self._compiler = Compiler(like)
        self._errors: dict[str, tuple[Reply, Body] | None] = {}
        listed = like.form("list")
        created = like.form("create")
        deployment = like.form("deployment")
        self._replies = {
            "listProjects": self._reply(listed),
            "createProject": self._reply(created),
            "getDeployment": self._reply(deployment),
        }

        envelope = listed.body if listed else OWN_LIST
        items = array_of_projects(envelope)
        item = items[0] if listed else None
        self._envelope = self._compiler.body(envelope, items)
        self._item = self._project_body(item)
        created_body = created.body if created else None
        self.fill_created = self._project_body(created_body)
        self.item_needs_deployment = needs("deployment", item)

        body = deployment.body if deployment else OWN_DEPLOYMENT
        fields = deployment.headers if deployment else {}
        self.fill_deployment = self._compiler.body(body).fill
        self.deployment_needs_project = needs("project", [body, *fields.values()])

    def _reply(self, form: Form | None) -> Reply | None:
        if form is None:
            return None
        fields = {name: self._compiler.field(value) for name, value in form.headers.items()}
        return Reply(form.status, form.content_type, fields)

    def _project_body(self, body: Any) -> Callable[[Subject], str]:
        """What fills the form of a project; the contract's own has all that a client sent."""
        if body is not None:
            return self._compiler.body(body, has_sent=True).fill
        own = self._compiler.body(OWN_PROJECT)

        def fill(subject: Subject) -> str:
            members = own.fill(subject).removesuffix("}")
            sent = subject.sent.strip().removeprefix("{")
            return f"{members}, {sent.lstrip()}"

        return fill

    # Bodies

    def fill_list(
        self, projects: Iterable[Project], deployments: Mapping[str, Deployment], now: datetime
    ) -> tuple[str, Subject]:
        """The body of a list, oldest first as it is given, and what it was filled with."""
        ordered = [*projects]
        if self.like.is_newest_first:
            ordered.reverse()
        listing = Subject(size=len(ordered))
        if ordered:
            listing = listing._replace(first_id=ordered[0].id, last_id=ordered[-1].id)
        items = []
        for project in ordered:
            deployment = deployments.get(project.latest_deployment_id)
            subject = subject_of(project, deployment, now, listing)
            items.append(self._item(subject))
        listing = listing._replace(items=", ".join(items))
        return f"{self._envelope.fill(listing)}\n", listing

    # What else a response has

    def dress_success(self, response: Response, operation: str) -> None:
        """Give a response of an operation what its form has beside the body."""
        reply = self._replies[operation]
        if reply:
            reply.dress(response, g.subject)

    def dress_error(
        self, response: Response, problem: Mapping[str, Any], *, is_requested: bool
    ) -> None:
        """Give a response the form that the profile has for a problem.

        One that was requested, with `Prefer` or by a fault, keeps its status.
        """
        code = problem["code"]
        if code not in self._errors:  # a cache: two threads may compile the same
            self._errors[code] = self._compile_error(code)
        compiled = self._errors[code]
        if compiled is None:
            return
        reply, body = compiled
        if is_requested:
            reply = reply._replace(status=None)
        subject = subject_of_error(problem, reply.status or response.status_code)
        response.set_data(f"{body.fill(subject)}\n")
        reply.dress(response, subject)

    def _compile_error(self, code: str) -> tuple[Reply, Body] | None:
        form = self.like.error_form(code)
        reply = self._reply(form)
        if form is None or reply is None:
            return None
        return reply, self._compiler.body(form.body)


def subject_of_error(problem: Mapping[str, Any], status: int) -> Subject:
    """An error as the contract has it, with the status that the service has for it."""
    title = problem["title"]
    if status != problem["status"]:
        title = HTTP_STATUS_CODES.get(status, "Unknown Error")
    return Subject(
        error_code=problem["code"],
        error_title=title,
        error_detail="; ".join(reasons(problem)[:MAX_REASONS]),
        error_status=status,
    )


def array_of_projects(body: Any) -> list[Any]:
    """The array in the body of a list whose one item is the form of each project."""
    found = body
    for name in next(places_of_projects(body)):
        found = found[name]
    items: list[Any] = found
    return items


def needs(record: str, body: Any) -> bool:
    """Whether a body has more of the other record, a project or a deployment, than its id."""
    names = [name for name in names_below(body) if name != f"{record}.id"]
    return any(name.startswith(f"{record}.") for name in names)


def subject_of(
    project: Project,
    deployment: Deployment | None,
    now: datetime,
    listing: Subject = NOTHING,
) -> Subject:
    """A project and its latest deployment, whose record is needed for more than its id.

    `listing` is what is known of the list that the project stands in.
    """
    status = created_at = None
    if deployment:
        status = deployment.status(now)
        created_at = deployment.created_at
    return listing._replace(
        project_id=project.id,
        project_name=project.name,
        project_created_at=project.created_at,
        deployment_id=project.latest_deployment_id,
        deployment_status=status,
        deployment_created_at=created_at,
        sent=project.sent,
    )


class ListedProjects(ProjectList):
    """A snapshot of the projects, whose wire form is the body of a profile.

    It holds from `since` until a status changes, at `until`, if any will; its body is of `plain`.
    """

    plain: ProjectList
    since: datetime
    until: datetime | None
    representation: bytes
    subject: Subject

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
        subject = Subject(
            project_id=self.deployment.project_id,
            deployment_id=self.deployment.id,
            deployment_status=status,
            deployment_created_at=self.deployment.created_at,
        )
        if self.project:
            subject = subject._replace(
                project_name=self.project.name, project_created_at=self.project.created_at
            )
        g.subject = subject
        return f"{self.responses.fill_deployment(subject)}\n".encode()


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
        projects = plain
        deployments: dict[str, Deployment] = {}
        if self._responses.item_needs_deployment:
            records = self._store.records()
            projects = records.list
            deployments = records.deployments_by_id
        text, subject = self._responses.fill_list(projects, deployments, now)
        listed = ListedProjects(projects)
        listed.plain = plain
        listed.since = now
        listed.until = next_change(deployments.values(), now)
        listed.representation = text.encode()
        listed.subject = subject
        return listed

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
        return CreatedProject(f"{self._responses.fill_created(subject)}\n".encode())

    def get_deployment(self, deployment_id: str) -> ReadDeployment | None:
        deployment = self._store.get_deployment(deployment_id)
        if deployment is None:
            return None
        project = None
        if self._responses.deployment_needs_project:
            project = self._store.list_projects().by_id.get(deployment.project_id or "")
        return ReadDeployment(deployment, project, self._responses)


def next_change(deployments: Iterable[Deployment], now: datetime) -> datetime | None:
    """The time at which the status of one of these changes next, None if none will change."""
    stages = [deployment.rest_of_timeline(now)[0] for deployment in deployments]
    seconds = [stage.seconds for stage in stages if stage.seconds is not None]
    return now + timedelta(seconds=min(seconds)) if seconds else None
