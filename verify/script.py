"""The session with a service: what is asked, in which order, and how often."""

import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from string import ascii_lowercase, digits
from typing import Any
from urllib.parse import quote

from profiles.markers import DEFAULT_REQUEST, NAME, find_name_paths
from profiles.profile import Profile
from web.strict_json import MEDIA_TYPE

from .client import Client
from .exchange import DEPLOYMENTS, PROJECTS, Log, ServiceExchange
from .kinds import (
    CREATE,
    DEPLOYMENT,
    LIST,
    NAME_PREFIX,
    NAMELESS,
    NO_SUCH_DEPLOYMENT,
    NO_SUCH_PATH,
    NO_TOKEN,
    REJECTED,
    REPEATED,
    SOUGHT,
    WITHOUT,
    WRONG,
    explain_nothing,
    find_asked_kind,
)
from .parts import own_contract
from .places import Candidate, Hints, Places, find_candidates, find_places

WITH_TOKEN = ""  # what a purpose ends with where the token was sent

STILL = 10.0  # seconds for an unknown status to change, and for the first name of a deployment
MAX_RETRY_AFTER = 10  # seconds
LONGEST_PAUSE = 2.0  # seconds between two polls
MAX_CANDIDATES = 10  # GETs that look for a deployment
NO_ID = (400, 404, 410, 422)  # statuses for a value that is the id of no deployment
NOT_YET = (404, 409, 412, 425)  # statuses of a new deployment that may be there later


class NotVerifiable(ValueError):
    """The first responses are not those of such a service: the message says what to give."""


@dataclass(frozen=True)
class Plan:
    """What a session asks for. Times are in seconds.

    `repeats` sends each GET twice, which shows what varies.
    """

    token: str
    writes: bool = False
    wait: float = 60.0
    pause: float = 0.1
    repeats: bool = False
    hints: Hints = field(default_factory=Hints)

    @property
    def request(self) -> Any:
        """The body of the creation, with the marker of the name."""
        return self.hints.request or DEFAULT_REQUEST


@dataclass
class Session:
    """Asks a service. `tell` is given a line for each new outcome."""

    client: Client
    plan: Plan
    tell: Callable[[str], None] = lambda line: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    exchanges: list[ServiceExchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        wrong = "".join(secrets.choice(ascii_lowercase + digits) for _ in self.plan.token)
        self._authorizations = {
            WITH_TOKEN: f"Bearer {self.plan.token}",
            WRONG: f"Bearer {wrong}",
            WITHOUT: "",
        }
        self._told: tuple[str, str] | None = None

    @property
    def log(self) -> Log:
        return Log(self.client.base, tuple(self.exchanges))

    def ask_all(self) -> Log:
        """Ask. Raises `NotVerifiable` after the first three requests."""
        first = [
            self.get(LIST, PROJECTS),
            self.get(NO_SUCH_DEPLOYMENT, f"{DEPLOYMENTS}{new_name()}"),
            self.get(NO_SUCH_PATH, f"/v1/{new_name()}"),
        ]
        require_service(first)
        if self.plan.writes:
            self.create()
        deployment = self.find_deployment()
        if deployment:
            self.follow(deployment)
        if self.creation:
            self.find_listed()
            self.create_without_name()
        self.ask_without_token(deployment)
        return self.log

    # The created project

    def create(self) -> None:
        """Create a project, with another media type if that is asked for."""
        body = json.dumps(self.plan.request)
        last = self.post(body)
        if last.status == 415:
            listed = self.last(LIST).media_type
            if listed not in ("", MEDIA_TYPE):
                self.rename(last, REJECTED)
                self.post(body, media_type=listed)

    def post(
        self, body: str, media_type: str = MEDIA_TYPE, purpose: str = CREATE
    ) -> ServiceExchange:
        """Send a creation, in whose body a new name stands for the marker."""
        # Small letters, digits and `-`: some services make the name of a host of it.
        data = body.replace(NAME, new_name()).encode()
        return self.send(purpose, "POST", PROJECTS, data, {"Content-Type": media_type})

    def create_without_name(self) -> None:
        """Send a creation that lacks the name: the form of its rejection is that of others."""
        path = find_name_paths(self.plan.request)[0]
        request = json.loads(json.dumps(self.plan.request))
        holder = request
        for name in path[:-1]:
            holder = holder[name]
        del holder[path[-1]]
        media_type = self.last(CREATE).find_request_field("Content-Type")
        self.post(json.dumps(request), media_type, NAMELESS)

    @property
    def creation(self) -> ServiceExchange | None:
        """The response to the creation, if one succeeded."""
        created = [each for each in self.exchanges if each.purpose == CREATE and each.is_success]
        return created[-1] if created else None

    def find_listed(self) -> None:
        """Read the list until it has the created project."""
        started = self.clock()
        last = self.last(LIST)
        places = self.look()
        while places.get_created_item(last) is None and not has_no_array(places):
            waited = self.clock() - started
            if last.status == 429 or last.is_redirect or waited >= self.plan.wait:
                return
            self.pause_poll(waited)
            previous = last
            last = self.send(LIST, "GET", PROJECTS)
            if last.response_body != previous.response_body:
                places = self.look()

    # The deployment

    def find_deployment(self) -> ServiceExchange | None:
        """The first read of the given deployment, of the created one, or of a listed one.

        Without a success it is the response that says most of what failed, if any does.
        """
        given = self.plan.hints.deployment
        if given:
            return self.read_deployment(DEPLOYMENT, given)
        tried: dict[str, tuple[Candidate, ServiceExchange]] = {}
        started = self.clock()
        while True:
            found = self.seek(tried)
            if found:
                return self.rename(found, DEPLOYMENT)
            if not self.is_hopeful(started, tried):
                break
            self.pause_poll(self.clock() - started)
            self.send(LIST, "GET", PROJECTS)
        for _, exchange in tried.values():
            if exchange.status not in NO_ID and not exchange.is_success:
                return self.rename(exchange, DEPLOYMENT)
        for candidate, exchange in tried.values():
            if candidate.is_named and exchange.status == 404:
                return self.rename(exchange, DEPLOYMENT)
        return None

    def seek(self, tried: dict[str, tuple[Candidate, ServiceExchange]]) -> ServiceExchange | None:
        """Ask for each candidate that was not tried yet, and for the likeliest one again.

        The deployment of a new project may appear later.
        """
        candidates = find_candidates(self.look(), self.plan.hints)
        for index, candidate in enumerate(candidates):
            is_new = candidate.id not in tried and len(tried) < MAX_CANDIDATES
            is_likeliest = index == 0 and candidate.is_named
            if not (is_new or is_likeliest):
                continue
            exchange = self.read_deployment(SOUGHT, candidate.id)
            if exchange.is_success and exchange.has_json:
                return exchange
            tried[candidate.id] = candidate, exchange
        return None

    def is_hopeful(
        self, started: float, tried: dict[str, tuple[Candidate, ServiceExchange]]
    ) -> bool:
        """Whether the deployment of the created project may appear yet, or its id in the list.

        One that a response names has as long as its run; the first name of one has less.
        """
        is_named = any(
            candidate.is_named and exchange.status in NOT_YET
            for candidate, exchange in tried.values()
        )
        most = self.plan.wait if is_named else min(self.plan.wait, STILL)
        is_late = self.clock() - started >= most
        return self.creation is not None and not is_late and self.last(LIST).status != 429

    def read_deployment(self, purpose: str, deployment_id: str) -> ServiceExchange:
        segment = quote(deployment_id, "", errors="replace")
        return self.send(purpose, "GET", f"{DEPLOYMENTS}{segment}")

    def follow(self, first: ServiceExchange) -> None:
        """Read the deployment until it has ended; with each new status read the list.

        That of somebody else's project is not followed: it is read once more at the most.
        """
        if first.is_success and (self.creation or self.plan.hints.deployment):
            self.read_until_end(first)
        if self.plan.repeats:
            self.send(DEPLOYMENT, "GET", first.target)

    def read_until_end(self, last: ServiceExchange) -> None:
        """Poll until the status is a last one, or an unknown one that stays.

        A last word may be that of a part, where the status is not sure.
        """
        running, ended = known_statuses(self.plan.hints.profile)
        word = ""
        places = self.look()
        started = since = self.clock()
        while last.status != 429 and not last.is_redirect:
            found = places.read_status(last) if last.is_success else word
            if found != word:
                word = found
                since = self.clock()
                if self.plan.repeats:
                    self.send(LIST, "GET", PROJECTS)
            now = self.clock()
            is_still = word not in running and now - since >= STILL
            has_ended = word in ended and places.is_sure
            if has_ended or is_still or now - started >= self.plan.wait:
                return
            self.pause_poll(now - started)
            previous = last
            last = self.send(DEPLOYMENT, "GET", last.target)
            if last.response_body != previous.response_body:
                places = self.look()

    def ask_without_token(self, deployment: ServiceExchange | None) -> None:
        """Ask each operation without the token, and with a wrong one.

        The body of the creation is one that the contract rejects: a service that looks at it first
        creates nothing.
        """
        for authorization in (WITHOUT, WRONG):
            self.get(LIST, PROJECTS, authorization)
            if self.plan.writes:
                fields = {"Content-Type": MEDIA_TYPE}
                self.send(CREATE, "POST", PROJECTS, b"{}", fields, authorization)
            if deployment:
                self.send(DEPLOYMENT, "GET", deployment.target, authorization=authorization)

    # What was seen until now

    def look(self) -> Places:
        """The places by what can tell it: not each of the many polls."""
        lists = [each for each in self.exchanges if each.purpose == LIST]
        others = [each for each in self.exchanges if each.purpose in (CREATE, DEPLOYMENT)]
        chosen = lists[:1] + others + lists[1:][-1:]
        return find_places(Log(self.client.base, tuple(chosen)), self.plan.hints)

    def last(self, purpose: str) -> ServiceExchange:
        return [each for each in self.exchanges if each.purpose == purpose][-1]

    # Requests

    def get(self, purpose: str, target: str, authorization: str = WITH_TOKEN) -> ServiceExchange:
        """Send a GET, twice if what varies is to be seen; return the last response."""
        if self.plan.repeats:
            self.send(purpose, "GET", target, authorization=authorization)
        return self.send(purpose, "GET", target, authorization=authorization)

    def send(
        self,
        purpose: str,
        method: str,
        target: str,
        body: bytes = b"",
        fields: dict[str, str] | None = None,
        authorization: str = WITH_TOKEN,
    ) -> ServiceExchange:
        """Send a request; once more after a 5xx, but for a POST, which may have created a project.

        After a 429 it is sent again at its Retry-After, if that is soon.
        """
        sent = {"Authorization": self._authorizations[authorization], **(fields or {})}
        request = ServiceExchange(
            method=method,
            target=target,
            request_fields=[(name, value) for name, value in sent.items() if value],
            request_body=body,
            purpose=purpose + authorization,
        )
        received = self._send_once(request)
        seconds = seconds_until_again(received)
        if seconds is not None:
            self.rename(received, REPEATED)
            self.sleep(seconds)
            received = self._send_once(request)
        self._tell(received)
        return received

    def pause_poll(self, waited: float) -> None:
        """Pause before the next poll, together with the pause before each request."""
        self.sleep(max(pause_after(waited) - self.plan.pause, 0.0))

    def _send_once(self, request: ServiceExchange) -> ServiceExchange:
        if self.exchanges:
            self.sleep(self.plan.pause)
        self.exchanges.append(request)  # before it is sent, since that may be interrupted
        received = self.client.send(request)
        self.exchanges[-1] = received
        return received

    def rename(self, exchange: ServiceExchange, purpose: str) -> ServiceExchange:
        """Give an exchange the purpose that it turned out to have."""
        renamed = replace(exchange, purpose=purpose)
        self.exchanges[self.exchanges.index(exchange)] = renamed
        return renamed

    def _tell(self, exchange: ServiceExchange) -> None:
        outcome = exchange.purpose, exchange.reason
        if outcome != self._told:
            self.tell(f"{exchange.purpose:34} {exchange.reason}")
        self._told = outcome


def has_no_array(places: Places) -> bool:
    """Whether the list shows that its projects stand in no array, but in a map, for example."""
    return bool(places.lists) and places.items_path is None


def known_statuses(like: Profile | None) -> tuple[set[str], set[str]]:
    """The statuses with which a deployment runs, and those with which it has ended.

    They are those of the profile, if it has any, else of the contract.
    """
    if like and like.words:
        running = {*like.running}
        return running, {*like.words} - running
    contract = own_contract()
    return {*contract.running}, {*contract.ends}


def pause_after(waited: float) -> float:
    """Seconds until the next poll: the longer it lasts, the fewer there are."""
    return min(0.02 + waited / 10, LONGEST_PAUSE)


def seconds_until_again(exchange: ServiceExchange) -> float | None:
    """When a request is sent once more, None if it is not."""
    if exchange.status >= 500 and exchange.method != "POST":
        return 0.0
    if exchange.status != 429:
        return None
    seconds = read_retry_after(exchange)
    return seconds if seconds is not None and seconds <= MAX_RETRY_AFTER else None


def read_retry_after(exchange: ServiceExchange) -> float | None:
    """Read the seconds of a Retry-After, which may be a date (RFC 9110 §10.2.3)."""
    text = exchange.find_response_field("Retry-After") or ""
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    try:
        at = parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None
    return max(at - exchange.served_at, 0.0)


def new_name() -> str:
    return NAME_PREFIX + secrets.token_hex(4)


def require_service(first: list[ServiceExchange]) -> None:
    """Raise `NotVerifiable` if the first responses are not those of such a service."""
    listed, unknown, _ = first
    if {listed.status, unknown.status} <= {*NO_TOKEN}:
        raise NotVerifiable(f"VERIFY_TOKEN: the service rejects the token ({listed.status})")
    reasons = [explain_nothing(each, find_asked_kind(each)) for each in first]
    if all(reasons):
        raise NotVerifiable(f"nothing could be checked: {reasons[0]}")
    if any(each.has_json for each in first):
        return
    place = f" to {listed.find_response_field('Location')}" if listed.is_redirect else ""
    raise NotVerifiable(
        f"no response is JSON ({listed.reason}{place}): give the URL of the service itself, with "
        "its scheme (http or https?), without a redirect or a login page before it"
    )
