"""A session with a service: asks the probes in their order, and collects what responses say."""

import json
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from web.redaction import Redactor

from . import probes
from .client import TOKEN, UNREACHABLE, Client, Exchange, Unusable
from .forms import NO_JSON, Claim, Forms, claim, json_of
from .judge import (
    ERRORS,
    INVALID_BODY,
    NOT_SEEN,
    OWN_MEMBER,
    PROJECT,
    PROJECT_LIST,
    RECORD,
    Judge,
    array_of,
    is_id,
    latest_of,
    object_of,
)
from .probes import ABUSE, READ, Probe

STILL = 10.0  # seconds without a change after which a deployment is followed no longer
MAX_POLL_PAUSE = 2.0  # seconds
HTML = "text/html"
NO_PROJECT = "no project was created"
LEAK = "the response contains the token"


class Seen(NamedTuple):
    """A claim, and where it is from."""

    claim: Claim
    probe: str
    exchange: Exchange


class Created(NamedTuple):
    """What may be left in the service; `id` is None if no response named one."""

    id: Any
    name: Any
    is_certain: bool = False  # whether it was created


@dataclass
class Observations:
    """All that a session saw: what verdicts, output and report are made from."""

    level: str
    exchanges: list[tuple[Probe, Exchange]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    # Why a probe showed nothing, by its name: a verdict and the reason.
    silent: dict[str, tuple[str, str]] = field(default_factory=dict)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    created: list[Created] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)  # probes

    def find(self, path: str) -> list[Exchange]:
        """The exchanges with the token at a path of the contract."""
        return [
            exchange
            for probe, exchange in self.exchanges
            if probe.path == path
            and probe.expects
            and probe.authorization == TOKEN
            and not exchange.failure
        ]


class Session:
    """Asks a service; `wait` is in seconds, `tell` gets a line for each probe."""

    def __init__(
        self,
        forms: Forms,
        client: Client,
        redactor: Redactor,
        level: str,
        wait: float,
        tell: Callable[[str], None],
    ) -> None:
        self.observed = Observations(level)
        self._judge = Judge(forms)
        self._contract = forms.contract
        self._client = client
        self._redactor = redactor
        self._wait = wait
        self._tell = tell
        self._sent_before = 0  # requests, when the previous probe ended

    def ask_all(self) -> None:
        """Ask. Raises `Unusable` if the first responses show that nothing can be checked."""
        level = self.observed.level
        first = self._ask(probes.LIST)
        self._check_first(first)
        unknown = self._ask(probes.UNKNOWN_DEPLOYMENT)
        if all(each.status in (401, 403) for each in (first, unknown)):
            raise Unusable(f"the service rejects the token in VERIFY_TOKEN ({first.status}).")
        self._judge.unknown_path = self._ask(probes.UNKNOWN_PATH)
        self._check_service(first, unknown, self._judge.unknown_path)
        for probe in probes.OTHER_LISTS:
            self._ask(probe)
        if not self.observed.seen:
            raise Unusable("nothing could be checked: the lines above say why.")
        created, takes_posts = self._create() if level != READ else ({}, False)
        projects = [*self._judge.projects_of(first), created]
        self._set_owners(projects)
        latest = next(filter(None, map(latest_of, projects)), "")
        self._follow(probes.GET_DEPLOYMENT, latest, 0, "no listed project has a deployment")
        for probe in probes.OTHER_DEPLOYMENTS:
            self._ask(probe, "no listed project has a deployment", id=latest)
        for probe in probes.ABUSES if level == ABUSE else ():
            if takes_posts:
                self._ask(probe, NO_PROJECT, created=created.get("name", ""))
            else:
                self._skip(probe, NO_PROJECT)
        self._judge_paths()

    def _check_first(self, first: Exchange) -> None:
        """Raise `Unusable` if the first response is not one of such a service."""
        if (first.failure or first.status == 400) and (other := self._client.other_scheme()):
            raise Unusable(f"the port speaks another scheme: give {other}.")
        if first.failure.startswith(UNREACHABLE):
            raise Unusable(f"{first.failure}.")
        if first.location is not None and not self._judge.is_moved(first):
            raise Unusable(redirected(first))
        if first.is_success and is_page(first):
            raise Unusable("the service responds with HTML: is there a login page before it?")

    def _check_service(self, first: Exchange, *others: Exchange) -> None:
        """Raise `Unusable` if the service responds alike to everything."""
        places = {(each.location or "").partition("?")[0] for each in (first, *others)}
        if first.location and len(places) == 1:
            raise Unusable(redirected(first))
        if first.is_success and json_of(first) is NO_JSON and others[-1].is_success:
            raise Unusable(
                "the service responds alike to everything: is there a login page before it?"
            )
        if all(map(is_page, (first, *others))):
            raise Unusable("the service responds with HTML: give the URL of the service itself.")
        if all(each.status == 404 for each in (first, *others)):
            self._tell("warning: the first responses are all 404: is the URL the one before /v1?")

    def _set_owners(self, projects: list[dict[str, Any]]) -> None:
        owners: dict[str, set[str]] = {}
        for each in projects:
            if is_id(each.get("id")):
                owners.setdefault(latest_of(each), set()).add(str(each["id"]))
        self._judge.owners = owners

    def _ask(self, probe: Probe, reason: str = "", **words: str) -> Exchange:
        """Ask a probe, or skip it for the `reason` if it lacks a word."""
        text = probe.target + probe.body
        if not all(word for name, word in words.items() if f"{{{name}}}" in text):
            return self._skip(probe, reason)
        self._client.may_wait = True
        exchange = self._send(probe, **words)
        self._conclude(probe, [exchange])
        return exchange

    def _send(self, probe: Probe, **words: str) -> Exchange:
        """Send a probe. What a POST may leave behind is noted before it is sent."""
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}", **words}
        target = probe.target.format(**{**words, "id": quote(words.get("id", ""), safe="")})
        body = probe.body.format(**{key: json.dumps(each)[1:-1] for key, each in words.items()})
        if probe.method != "POST" or self._client.is_given_up:
            exchange = self._client.ask(probe.method, target, probe.authorization)
        else:
            created, sent = self.observed.created, read_name(body)
            created.append(Created(None, sent))
            exchange = self._client.ask(
                "POST", target, probe.authorization, body.encode(), probe.content_type
            )
            is_rejected = exchange.status in (301, 307, 308) or 400 <= exchange.status < 500
            if is_rejected or exchange.is_success:
                created.pop()
            if exchange.is_success:
                record = self._judge.unwrap(PROJECT, object_of(exchange))
                # A service may return an old record for a name in use.
                if record.get("id") is None or record["id"] not in [each.id for each in created]:
                    created.append(Created(record.get("id"), record.get("name", sent), True))
        self.observed.exchanges.append((probe, exchange))
        return exchange

    def _create(self) -> tuple[dict[str, Any], bool]:
        """Create a project, find it in the list, and follow its deployment.

        Returns its record, {} without one, and whether a body can be rejected for what it is.
        """
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}"}
        self._client.may_wait = True
        exchanges = [self._send(probes.CREATE, **words)]
        if not exchanges[0].failure and exchanges[0].status in (400, 422):
            # A service may reject members that it does not know.
            plain = self._send(probes.CREATE._replace(body=probes.NAMED), **words)
            exchanges += [plain] if plain.is_success else []
        exchange, record, more = exchanges[-1], {}, []
        if exchange.is_success:
            record = self._judge.unwrap(PROJECT, object_of(exchange))
            more = [*self._judge.compare_created(record, exchange, **words)]
        self._conclude(probes.CREATE, exchanges, more)
        created: dict[str, Any] = {}
        if exchange.is_success:
            listed = self._find_created(record, words["name"])
            latest = latest_of(record) or latest_of(listed)
            created = {**listed, **record, "name": words["name"], "latest_deployment_id": latest}
            if self.observed.created[0].id is None:
                first = self.observed.created[0]
                self.observed.created[0] = first._replace(id=created.get("id"))
            self._set_owners([created])
            self._follow(
                probes.FOLLOWED, latest, self._wait, "the created project names no deployment"
            )
        else:
            reason = f"the creation was rejected with {exchange.status}"
            self.observed.silent.setdefault(probes.CREATE.name, (NOT_SEEN, reason))
            for probe in (probes.LISTED, probes.FOLLOWED):
                self._skip(probe, NO_PROJECT)
        for probe in probes.OTHER_CREATIONS:
            self._ask(probe)
        return created, exchange.is_success or exchange.status in (400, 409, 422)

    def _find_created(self, record: dict[str, Any], name: str) -> dict[str, Any]:
        """Poll the list until it has the created project; return what is listed, or {}."""
        listed: dict[str, Any] = {}

        def is_listed(exchange: Exchange) -> bool:
            for each in self._judge.projects_of(exchange):
                key = "id" if "id" in record and "id" in each else "name"
                if each.get(key) == {**record, "name": name}[key]:
                    listed.update(each)
            return bool(listed)

        last = self._poll(probes.LISTED, is_listed, self._wait)[-1]
        array, more = array_of(last), []
        if array is not None and (not array or self._judge.projects_of(last)):
            more.append(
                claim(PROJECT_LIST, bool(listed), "a created project is listed", "it is not")
            )
        if OWN_MEMBER in record and OWN_MEMBER not in listed and listed:
            more.append(
                claim(PROJECT, False, "members of the client as they were sent", "not in the list")
            )
        self._conclude(probes.LISTED, [last], more)
        return listed

    def _follow(self, probe: Probe, latest: str, wait: float, reason: str) -> None:
        """Poll a deployment until it has ended or changes no more; ask once more after its end."""
        if not latest:
            self._skip(probe, reason)
            return
        ended = {*self._contract.statuses} - {*self._contract.running}
        status, changed_at = "", time.monotonic()

        def status_of(exchange: Exchange) -> str:
            return str(self._judge.unwrap(RECORD, object_of(exchange)).get("status"))

        def has_ended(exchange: Exchange) -> bool:
            nonlocal status, changed_at
            if not exchange.is_success:
                return False
            now, before, status = time.monotonic(), status, status_of(exchange)
            changed_at = changed_at if status == before else now
            return status in ended or now - changed_at >= STILL

        exchanges = self._poll(probe, has_ended, wait, id=latest)
        note = ""
        if status in ended:
            exchanges.append(self._send(probe, id=latest))
            if exchanges[-1].is_success and status_of(exchanges[-1]) != status:
                note = "went back after its end"
        found = [each for each in exchanges if each.is_success]
        self._conclude(probe, found or exchanges[-1:], note=note)

    def _poll(
        self, probe: Probe, is_done: Callable[[Exchange], bool], wait: float, **words: str
    ) -> list[Exchange]:
        """Ask again and again until it is done, or for `wait` seconds."""
        self._client.may_wait = True
        started, exchanges = time.monotonic(), []
        while True:
            exchange = self._send(probe, **words)
            exchanges.append(exchange)
            waited = time.monotonic() - started
            is_over = waited >= wait or exchange.status == 429 or exchange.location is not None
            if is_done(exchange) or is_over or self._client.is_given_up:
                return exchanges
            time.sleep(min(waited / 10, MAX_POLL_PAUSE))

    def _conclude(
        self, probe: Probe, exchanges: list[Exchange], more: Iterable[Claim] = (), note: str = ""
    ) -> None:
        """Keep the claims of responses, and tell what came of a probe."""
        claims = []
        for exchange in exchanges:
            found = [*self._judge.claims(probe, exchange)]
            found += more if exchange is exchanges[-1] else ()
            claims += found
            seen = (Seen(each, probe.name, exchange) for each in dict.fromkeys(found))
            self.observed.seen += seen
        last = exchanges[-1]
        silence = self._judge.silence(probe, last)
        outcome = "agrees" if all(each.agrees for each in claims) else "differs"
        if silence and not claims:
            self.observed.silent[probe.name] = silence
            outcome = ": ".join(silence)
        elif not probe.expects:
            has_get = any(each.is_success for each in self.observed.find(probe.path))
            outcome = "as GET" if last.is_success or not has_get else f"note: {last.status}"
        notes = [f"once {each.repeated}" for each in exchanges if each.repeated]
        notes += [note] if note else []
        self._report(probe, "; ".join([outcome, *notes]))

    def _skip(self, probe: Probe, reason: str) -> Exchange:
        self.observed.silent[probe.name] = (NOT_SEEN, reason)
        self._report(probe, f"not asked: {reason}")
        return Exchange(probe.method, "", "", "", failure=reason)

    def _report(self, probe: Probe, outcome: str) -> None:
        observed, requests = self.observed, self._client.sent - self._sent_before
        self._sent_before = self._client.sent
        observed.outcomes.append({"name": probe.name, "requests": requests, "outcome": outcome})
        self._tell(f"{probe.name:26} {outcome}")
        sent = (exchange for each, exchange in observed.exchanges if each.name == probe.name)
        if any(self._leaks(each) for each in sent):
            observed.leaks.append(probe.name)
            self._tell(f"{probe.name:26} {LEAK}")

    def _leaks(self, exchange: Exchange) -> bool:
        """Whether the token is in a response, in any spelling."""
        headers = "\n".join(f"{name}: {value}" for name, value in exchange.headers.items())
        text = f"{headers}\n{exchange.content.decode(errors='replace')}"
        return self._redactor.text(text) != text

    def _judge_paths(self) -> None:
        """A path exists if it has any response but 404 and a redirect."""
        seen = self.observed.seen
        broken = {each.claim.part for each in seen if not each.claim.agrees}
        for path in (probes.PROJECTS, probes.DEPLOYMENT):
            exchanges = self.observed.find(path)
            others = [each for each in exchanges if each.status not in (401, 403, 404)]
            found = [each for each in others if each.location is None]
            if found or (exchanges and f"{path}/get" in broken):
                what = claim(path, bool(found), "exists", "404")
                seen.append(Seen(what, probes.LIST.name, (found or exchanges)[0]))


def parts_of(forms: Forms) -> dict[str, set[str]]:
    """The parts that each probe can witness, by its name."""
    parts = {
        each.name: {*each.rules, *(forms.within(each.expects) if each.expects else ())}
        for each in probes.ALL
    }
    errors = {*forms.within(ERRORS)}
    of_errors = {each.name for each in probes.ALL if each.expects == INVALID_BODY}
    return {name: found if name in of_errors else found - errors for name, found in parts.items()}


def is_page(exchange: Exchange) -> bool:
    """Whether it is HTML; JSON with another label is none."""
    is_html = exchange.media_type == HTML and not exchange.failure
    return is_html and json_of(exchange) is NO_JSON


def redirected(exchange: Exchange) -> str:
    place = exchange.header("Location")
    return (
        f"the service redirects ({exchange.status}{f' to {place}' if place else ''}), which is not "
        "followed: give the URL of the service itself."
    )


def read_name(body: str) -> Any:
    """The name in a body of a probe, None if it has none."""
    try:
        return json.loads(body).get("name")
    except (ValueError, AttributeError):
        return None
