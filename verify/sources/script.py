"""The session with a service: its requests, their order, and its polls."""

import json
import re
import secrets
import time
from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from random import Random, SystemRandom
from string import ascii_lowercase, digits
from typing import Any, Protocol
from urllib.parse import quote

from profiles import markers
from traffic.json_values import get_value, walk
from web.strict_json import MEDIA_TYPE

from ..judges.parts import load_contract
from ..seen import kinds
from ..seen.candidates import Candidate
from ..seen.find_deployment import find_candidates
from ..seen.find_places import find_places
from ..seen.hints import Hints
from ..seen.places import Places
from ..seen.service_log import DEPLOYMENTS, PROJECTS, Log, ServiceExchange

STILL = 10.0  # seconds for an unknown status to change, and for a response to name a deployment

Tried = dict[Candidate, ServiceExchange]
"""The candidates for the id of the deployment that were read, and the last responses."""


class Client(Protocol):
    """A client of the service; see `HTTPClient.send`."""

    base: str

    def send(self, request: ServiceExchange) -> ServiceExchange: ...


class NotVerifiable(ValueError):
    """The first responses are not responses of this interface; the message says how to go on."""


@dataclass(frozen=True)
class Plan:
    """The options of a session. `wait` and `pause` are in seconds.

    With `repeats` it sends GETs twice, to see variations.
    """

    token: str
    writes: bool = False
    wait: float = 60.0
    pause: float = 0.1
    repeats: bool = False
    hints: Hints = field(default_factory=Hints)

    @property
    def request(self) -> Any:
        """The body of the creation: `{"name": "{project.name}"}`."""
        return self.hints.request or markers.DEFAULT_REQUEST


@dataclass
class Session:
    """A session with a service. `tell` gets a line for a new outcome: `list    200`."""

    client: Client
    plan: Plan
    tell: Callable[[str], None] = lambda line: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    random: Random = field(default_factory=SystemRandom)
    exchanges: list[ServiceExchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        wrong = "".join(self.random.choices(ascii_lowercase + digits, k=len(self.plan.token)))
        self._authorizations = {
            "": f"Bearer {self.plan.token}",
            kinds.WRONG: f"Bearer {wrong}",
            kinds.WITHOUT: "",
        }
        self._outcome: tuple[str, str] | None = None  # the last that was told

    def ask_all(self) -> Log:
        """Send all requests. Raises `NotVerifiable` after the first three."""
        first = [
            self.read(kinds.LIST, PROJECTS),
            self.read(kinds.NO_SUCH_DEPLOYMENT, f"{DEPLOYMENTS}{make_name()}"),
            self.read(kinds.NO_SUCH_PATH, f"/v1/{make_name()}"),
        ]
        require_service(first)
        if self.plan.writes:
            self.create()
        deployment = self.find_deployment()
        if deployment:
            self.follow_deployment(deployment)
        if self.creation:
            self.poll_list()
            self.create_without_name()
        self.ask_without_token(deployment)
        return Log(self.client.base, tuple(self.exchanges))

    # The created project

    def create(self) -> None:
        """Create a project; after a 415 with the media type of the list."""
        body = json.dumps(self.plan.request)
        received = self.send_creation(body)
        media_type = self.find_last(kinds.LIST).media_type
        if received.status == 415 and media_type not in ("", MEDIA_TYPE):
            self.rename(received, kinds.REJECTED)
            self.send_creation(body, media_type)

    def send_creation(
        self, body: str, media_type: str = MEDIA_TYPE, purpose: str = kinds.CREATE
    ) -> ServiceExchange:
        """Send a creation with a new name instead of the marker."""
        data = body.replace(markers.NAME, make_name()).encode()
        return self.send(purpose, "POST", PROJECTS, data, {"Content-Type": media_type})

    def create_without_name(self) -> None:
        """Send a creation without the name, to see the form of a rejection; with `repeats` twice.

        If the service accepts it, it is not sent again.
        """
        request = deepcopy(self.plan.request)
        *around, name = markers.find_name_paths(request)[0]
        del get_value(request, around)[name]
        media_type = self.find_last(kinds.CREATE).find_request_field("Content-Type")
        received = self.send_creation(json.dumps(request), media_type, kinds.NAMELESS)
        if self.plan.repeats and 400 <= received.status < 500:
            self.send_creation(json.dumps(request), media_type, kinds.NAMELESS)

    @property
    def creation(self) -> ServiceExchange | None:
        """The successful creation."""
        created = [each for each in self.exchanges if each.purpose == kinds.CREATE]
        successes = [each for each in created if each.is_success]
        return successes[-1] if successes else None

    def poll_list(self) -> None:
        """Read the list until it has the created project, or shows that it has no records."""
        started = self.clock()
        last = self.find_last(kinds.LIST)
        places = self.find_places()
        while last.status != 429 and not last.is_redirect:
            is_listed = places.get_created_item(last) is not None
            has_items = any(isinstance(each, list) and each for _, each in walk(last.body))
            may_appear = places.items_path is not None or not last.has_json or has_items
            waited = self.clock() - started
            if is_listed or not may_appear or waited >= self.plan.wait:
                return
            self.pause_poll(waited)
            previous = last
            last = self.send(kinds.LIST, "GET", PROJECTS)
            if last.response_body != previous.response_body:
                places = self.find_places()  # It takes a second for a long list.

    # The deployment

    def find_deployment(self) -> ServiceExchange | None:
        """Read the given deployment, the deployment of the created project, or a listed one.

        Without a success, return the failure that says most, if there is any.
        """
        given = self.plan.hints.deployment
        if given:
            return self.read_deployment(kinds.DEPLOYMENT, given)
        tried: Tried = {}
        started = self.clock()
        while True:
            found = self.try_candidates(tried)
            if found:
                return self.rename(found, kinds.DEPLOYMENT)
            if not self.may_appear(started, tried):
                break
            self.pause_poll(self.clock() - started)
            self.send(kinds.LIST, "GET", PROJECTS)
        failure = choose_failure(tried)
        return self.rename(failure, kinds.DEPLOYMENT) if failure else None

    def try_candidates(self, tried: Tried, max_tried: int = 10) -> ServiceExchange | None:
        """Read new candidates, and the likeliest again: a new deployment may appear later."""
        candidates = find_candidates(self.find_places(), self.plan.hints)
        for index, candidate in enumerate(candidates):
            is_new = candidate not in tried and len(tried) < max_tried
            is_likeliest = index == 0 and candidate.is_named
            if is_new or is_likeliest:
                exchange = self.read_deployment(kinds.SOUGHT, candidate.id)
                if exchange.is_success and exchange.has_json:
                    return exchange
                tried[candidate] = exchange
        return None

    def may_appear(self, started: float, tried: Tried) -> bool:
        """Return whether the deployment of the created project may appear later.

        If a response names the deployment, wait as long as for its run; if none does, wait at most
        `STILL` seconds.
        """
        if self.creation is None or self.find_last(kinds.LIST).status == 429:
            return False
        is_named = any(
            candidate.is_named and exchange.status in (404, 409, 412, 425)
            for candidate, exchange in tried.items()
        )
        max_wait = self.plan.wait if is_named else min(self.plan.wait, STILL)
        return self.clock() - started < max_wait

    def read_deployment(self, purpose: str, deployment_id: str) -> ServiceExchange:
        segment = quote(deployment_id, "", errors="replace")
        return self.send(purpose, "GET", f"{DEPLOYMENTS}{segment}")

    def follow_deployment(self, first: ServiceExchange) -> None:
        """Read the deployment until it has ended, or once more if it belongs to somebody else."""
        if first.is_success and (self.creation or self.plan.hints.deployment):
            self.poll_deployment(first)
        if self.plan.repeats:
            self.send(kinds.DEPLOYMENT, "GET", first.target)

    def poll_deployment(self, last: ServiceExchange) -> None:
        """Read a deployment until it has ended. For a new status, read the list, too.

        The list is also read for the first status, whose place may not be known yet.
        """
        started = changed = self.clock()
        status: str | None = None
        places = self.find_places()
        while last.status != 429 and not last.is_redirect:
            found = places.read_status(last) if last.is_success else status or ""
            if found != status:
                status = found
                changed = self.clock()
                if self.plan.repeats:
                    self.send(kinds.LIST, "GET", PROJECTS)
            now = self.clock()
            is_late = now - started >= self.plan.wait
            if is_late or self.has_ended(found, now - changed, is_sure=places.is_sure):
                return
            self.pause_poll(now - started)
            previous = last
            last = self.send(kinds.DEPLOYMENT, "GET", last.target)
            if last.response_body != previous.response_body:
                places = self.find_places()

    def has_ended(self, status: str, seconds: float, *, is_sure: bool) -> bool:
        """Return whether a status is final, or is unknown and has stayed for some seconds.

        A status at an uncertain place is never final: it may be the status of a step.
        """
        like = self.plan.hints.profile
        running: Collection[str] = load_contract().running
        known: Collection[str] = load_contract().statuses
        if like and like.statuses:
            running = like.running
            known = like.statuses
        else:
            status = status.lower()  # Some services have `BUILDING`.
        if status in running:
            return False
        return (status in known and is_sure) or seconds >= STILL

    def ask_without_token(self, deployment: ServiceExchange | None) -> None:
        """Send the operations without the token, and with a wrong token.

        The contract rejects the body of the creation. So a service that checks the body first
        creates nothing.
        """
        for authorization in (kinds.WITHOUT, kinds.WRONG):
            self.read(kinds.LIST, PROJECTS, authorization)
            if self.plan.writes:
                fields = {"Content-Type": MEDIA_TYPE}
                self.send(kinds.CREATE, "POST", PROJECTS, b"{}", fields, authorization)
            if deployment:
                target = deployment.target
                self.send(kinds.DEPLOYMENT, "GET", target, authorization=authorization)

    # The exchanges until now

    def find_places(self) -> Places:
        """Find the places in the exchanges until now; of the lists, use the first and the last."""
        lists = [each for each in self.exchanges if each.purpose == kinds.LIST]
        used = (lists[0], lists[-1])
        purposes = (kinds.CREATE, kinds.DEPLOYMENT)
        chosen = [each for each in self.exchanges if each.purpose in purposes or each in used]
        return find_places(Log(self.client.base, tuple(chosen)), self.plan.hints)

    def find_last(self, purpose: str) -> ServiceExchange:
        return [each for each in self.exchanges if each.purpose == purpose][-1]

    def rename(self, exchange: ServiceExchange, purpose: str) -> ServiceExchange:
        """Change the purpose of an exchange that turned out to have served another purpose."""
        renamed = replace(exchange, purpose=purpose)
        self.exchanges[self.exchanges.index(exchange)] = renamed
        return renamed

    # Requests

    def read(self, purpose: str, target: str, authorization: str = "") -> ServiceExchange:
        """Send a GET, with `repeats` twice; return the last response."""
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
        authorization: str = "",
    ) -> ServiceExchange:
        """Send a request, and send it again once if `find_retry_pause` says so."""
        sent = {"Authorization": self._authorizations[authorization], **(fields or {})}
        request = ServiceExchange(
            method=method,
            target=target,
            request_fields=[(name, value) for name, value in sent.items() if value],
            request_body=body,
            purpose=purpose + authorization,
        )
        received = self._send_once(request)
        seconds = find_retry_pause(received)
        if seconds is not None:
            self.rename(received, kinds.REPEATED)
            self.sleep(seconds)
            received = self._send_once(request)
        outcome = received.purpose, received.reason
        if outcome != self._outcome:
            self.tell(f"{received.purpose:34} {received.reason}")
        self._outcome = outcome
        return received

    def _send_once(self, request: ServiceExchange) -> ServiceExchange:
        if self.exchanges:
            self.sleep(self.plan.pause)
        self.exchanges.append(request)  # It is listed before a signal can interrupt it.
        received = self.client.send(request)
        self.exchanges[-1] = received
        return received

    def pause_poll(self, waited: float, max_seconds: float = 2.0) -> None:
        """Pause before the next poll; the pauses grow. Each request pauses, too."""
        seconds = min(0.02 + waited / 10, max_seconds)
        self.sleep(max(seconds - self.plan.pause, 0.0))


def choose_failure(tried: Tried) -> ServiceExchange | None:
    """Choose the failure that says most: of a known id, or else the 404 of a named deployment."""
    for exchange in tried.values():
        is_unknown = exchange.status in (400, 404, 410, 422)
        if not is_unknown and not exchange.is_success:
            return exchange
    for candidate, exchange in tried.items():
        if candidate.is_named and exchange.status == 404:
            return exchange
    return None


def find_retry_pause(exchange: ServiceExchange, max_seconds: int = 10) -> float | None:
    """Return the seconds until a request is sent again, or None if it is not.

    A POST is not sent again after a 5xx, since it may have created a project.
    """
    if exchange.status >= 500 and exchange.method != "POST":
        return 0.0
    if exchange.status != 429:
        return None
    seconds = read_retry_after(exchange)
    return seconds if seconds is not None and seconds <= max_seconds else None


def read_retry_after(exchange: ServiceExchange) -> float | None:
    """Read the seconds of a Retry-After: `7`, or a date (RFC 9110 §10.2.3)."""
    text = exchange.find_response_field("Retry-After") or ""
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    try:
        at = parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None
    return max(at - exchange.served_at, 0.0)


def make_name() -> str:
    """Make a name like `stub-verify-5d8b4fe2`. Some services use it as the name of a host."""
    return kinds.NAME_PREFIX + secrets.token_hex(4)


def require_service(first: list[ServiceExchange]) -> None:
    """Raise `NotVerifiable` if the first responses are not responses of this interface."""
    listed, unknown, _ = first
    if {listed.status, unknown.status} <= {*kinds.NO_TOKEN}:
        raise NotVerifiable(f"VERIFY_TOKEN: the service rejects the token ({listed.status})")
    reasons = [kinds.find_defect(each, kinds.find_asked_kind(each)) for each in first]
    if all(reasons):
        raise NotVerifiable(f"nothing could be checked: {reasons[0]}")
    if any(each.has_json for each in first):
        return
    location = listed.find_response_field("Location") or ""
    start = re.match(r"\w+://[^/?#]*/?|/[^/?#]*", location)  # The rest may have names.
    place = f" to {start[0]}" if start and listed.is_redirect else ""
    raise NotVerifiable(
        f"no response is JSON ({listed.reason}{place}): give the URL of the service itself, with "
        "its scheme (http or https?), without a redirect or a login page before it"
    )
