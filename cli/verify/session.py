"""A session with a service: asks the probes in their order, and collects what responses say."""

import json
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

from .contract import NO_JSON, Claim, Contract, json_of
from .judge import (
    ERRORS,
    INVALID_BODY,
    OWN_MEMBER,
    PROJECT,
    PROJECT_LIST,
    RECORD,
    Judge,
    array_of,
    claim,
    is_id,
    latest_of,
    object_of,
)
from .probes import (
    ABUSE,
    ABUSES,
    ALL,
    CREATE,
    DEPLOYMENT,
    FOLLOWED,
    GET_DEPLOYMENT,
    LIST,
    LISTED,
    NAMED,
    OTHER_DEPLOYMENTS,
    OTHER_LISTS,
    PROJECTS,
    READ,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    Probe,
)
from .service import UNREACHABLE, Exchange, Service, Unusable

STILL = 10.0  # seconds without a change after which a deployment is followed no longer
MAX_POLL_PAUSE = 2.0  # seconds
HTML = "text/html"


class Seen(NamedTuple):
    """A claim, and where it is from."""

    claim: Claim
    probe: str
    exchange: Exchange


class Created(NamedTuple):
    """What may be left in the service; `id` is None if no response named one."""

    id: Any
    name: Any
    is_certain: bool = False


class Session:
    """What the responses said: `seen`; and by part a reason and a probe in the three others.

    `unstable` has the parts in which two responses to one probe differed, `failures` those that
    could not be checked, and `unasked` those of which no probe was sent. `tell` gets a line for
    each probe.
    """

    def __init__(
        self,
        contract: Contract,
        service: Service,
        level: str,
        wait: float,
        tell: Callable[[str], None],
    ) -> None:
        self.seen: list[Seen] = []
        self.failures: dict[str, tuple[str, str]] = {}
        self.unasked: dict[str, tuple[str, str]] = {}
        self.unstable: dict[str, tuple[str, str]] = {}
        self.outcomes: list[dict[str, Any]] = []
        self.created: list[Created] = []
        self.contract = contract
        self.parts_of = {each: parts_of(contract, each) for each in ALL}
        self._judge = Judge(contract)
        self._service = service
        self.level = level
        self._wait = wait
        self._tell = tell
        self._takes_posts = False  # whether a body can be rejected for what it is
        self._by_path: dict[str, list[Exchange]] = {PROJECTS: [], DEPLOYMENT: []}
        self._sent_before = 0  # requests, when the previous probe ended

    def ask_all(self) -> None:
        """Ask. Raises `Unusable` if the first responses show that nothing can be checked."""
        first = self._ask(LIST)[0]
        check_usable(first)
        unknown = self._ask(UNKNOWN_DEPLOYMENT)
        if all(each.status in (401, 403) for each in (first, *unknown)):
            raise Unusable(f"the service rejects the token in VERIFY_TOKEN ({first.status}).")
        self._judge.unknown_path = self._ask(UNKNOWN_PATH)[-1]
        if first.is_success and json_of(first) is NO_JSON and self._judge.unknown_path.is_success:
            raise Unusable(
                "the service responds alike to everything: is there a login page before it?"
            )
        asked = (first, *unknown, self._judge.unknown_path)
        if all(each.media_type == HTML and not each.failure for each in asked):
            raise Unusable("the service responds with HTML: give the URL of the service itself.")
        if all(each.status == 404 for each in asked):
            self._tell("warning: the first responses are all 404: is the URL the one before /v1?")
        for probe in OTHER_LISTS:
            self._ask(probe)
        if not self.seen:
            raise Unusable("nothing could be checked: the lines above say why.")
        created = self._create() if self.level != READ else {}
        projects = [*self._judge.projects_of(first), created]
        self._set_owners(projects)
        latest = next(filter(None, map(latest_of, projects)), "")
        for probe in (GET_DEPLOYMENT, *OTHER_DEPLOYMENTS):
            self._ask(probe, "no listed project has a deployment", id=latest)
        for probe in ABUSES if self.level == ABUSE else ():
            if self._takes_posts:
                self._ask(probe, "no project was created", created=created.get("name", ""))
            else:
                self._skip(probe, "no project was created")
        self._judge_paths()

    def _set_owners(self, projects: list[dict[str, Any]]) -> None:
        owners: dict[str, set[str]] = {}
        for each in projects:
            if is_id(each.get("id")):
                owners.setdefault(latest_of(each), set()).add(str(each["id"]))
        self._judge.owners = owners

    def _ask(self, probe: Probe, reason: str = "", **words: str) -> list[Exchange]:
        """Ask a probe twice, or skip it for the `reason` if it lacks a word."""
        if not all(
            word for name, word in words.items() if f"{{{name}}}" in probe.target + probe.body
        ):
            self._skip(probe, reason)
            return []
        self._service.may_wait = True
        exchanges = [self._send(probe, **words)]
        if exchanges[0].status != 429:
            exchanges.append(self._send(probe, **words))
        judged = [(list(self._judge.claims(probe, each)), each) for each in exchanges]
        first, second = judged[0][0], judged[-1][0]
        parts = {each.part for each in first} & {each.part for each in second}
        differing = {each for each in parts if against(each, first) != against(each, second)}
        if bool(first) != bool(second) and all(each.status not in (0, 429) for each in exchanges):
            differing.add(self.contract.find(probe.expects)[0])  # one was an error of the server
        for part in differing:
            both = f"{described(part, *judged[0])}, then {described(part, *judged[-1])}"
            self.unstable.setdefault(part, (f"two responses differ: {both}", probe.name))
        self._conclude(probe, exchanges, judged)
        return exchanges

    def _send(self, probe: Probe, **words: str) -> Exchange:
        """Send a probe once. What a POST may leave behind is noted before it is sent."""
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}", **words}
        target = probe.target.format(**{**words, "id": quote(words.get("id", ""), safe="")})
        body = probe.body.format(**{key: json.dumps(each)[1:-1] for key, each in words.items()})
        if probe.method != "POST":
            exchange = self._service.ask(probe.method, target, probe.authorization)
        else:
            sent = read_name(body)
            self.created.append(Created(None, sent))
            exchange = self._service.ask(
                "POST", target, probe.authorization, body.encode(), probe.content_type
            )
            if 400 <= exchange.status < 500:
                self.created.pop()
            elif exchange.is_success:
                record = self.contract.unwrap(PROJECT, object_of(exchange))
                self.created.pop()
                self._note_created(Created(record.get("id"), record.get("name", sent), True))
        is_evidence = probe.expects and probe.authorization is not None and not exchange.failure
        if probe.path and is_evidence:
            self._by_path[probe.path].append(exchange)
        return exchange

    def _note_created(self, record: Created) -> None:
        """Note a record, once: a service may return an old one for a name in use."""
        if record.id is None or record.id not in [each.id for each in self.created]:
            self.created.append(record)

    def _create(self) -> dict[str, Any]:
        """Create a project, find it in the list, and follow its deployment; return its record."""
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}"}
        self._service.may_wait = True
        exchange = self._send(CREATE, **words)
        claims = list(self._judge.claims(CREATE, exchange))
        judged = [(claims, exchange)]
        if not exchange.failure and exchange.status in (400, 422):
            # A service may reject members that it does not know.
            plain = self._send(CREATE._replace(body=NAMED), **words)
            if plain.is_success:
                exchange = plain
                judged.append((list(self._judge.claims(CREATE, plain)), plain))
        record: dict[str, Any] = {}
        if exchange.is_success:
            record = self.contract.unwrap(PROJECT, object_of(exchange))
            judged.append((list(self._judge.compare_created(record, exchange, **words)), exchange))
        self._conclude(CREATE, [each for _, each in judged[:2]], judged)
        self._takes_posts = exchange.is_success or exchange.status in (400, 409, 422)
        if not exchange.is_success:
            for part in self.parts_of[CREATE]:
                reason = f"the creation was rejected with {exchange.status}"
                self.unasked.setdefault(part, (reason, CREATE.name))
            for probe in (LISTED, FOLLOWED):
                self._skip(probe, "no project was created")
            return {}
        listed = self._find_created(record, words["name"])
        latest = latest_of(record) or latest_of(listed)
        created = {**listed, **record, "name": words["name"], "latest_deployment_id": latest}
        if self.created[0].id is None:
            self.created[0] = self.created[0]._replace(id=created.get("id"))
        self._set_owners([created])
        self._follow(latest)
        return created

    def _find_created(self, record: dict[str, Any], name: str) -> dict[str, Any]:
        """Poll the list until it has the created project; return what is listed, or {}."""
        listed: dict[str, Any] = {}

        def is_listed(exchange: Exchange) -> bool:
            for each in self._judge.projects_of(exchange):
                key = "id" if "id" in record and "id" in each else "name"
                if each.get(key) == {**record, "name": name}[key]:
                    listed.update(each)
            return bool(listed)

        exchanges = self._poll(LISTED, is_listed)
        last = exchanges[-1]
        claims = list(self._judge.claims(LISTED, last))
        array = array_of(last)
        if array is not None and (not array or self._judge.projects_of(last)):
            claims.append(
                claim(PROJECT_LIST, bool(listed), "a created project is listed", "it is not")
            )
        if OWN_MEMBER in record and OWN_MEMBER not in listed and listed:
            claims.append(
                claim(PROJECT, False, "members of the client as they were sent", "not in the list")
            )
        self._conclude(LISTED, exchanges, [(claims, last)])
        return listed

    def _follow(self, latest: str) -> None:
        """Poll a deployment until it has ended or changes no more."""
        if not latest:
            self._skip(FOLLOWED, "the created project names no deployment")
            return
        ended = self.contract.ended_statuses()
        status, changed_at = None, time.monotonic()

        def has_ended(exchange: Exchange) -> bool:
            nonlocal status, changed_at
            if not exchange.is_success:
                return False
            now = time.monotonic()
            record = self.contract.unwrap(RECORD, object_of(exchange))
            if record.get("status") != status:
                status, changed_at = record.get("status"), now
            has_known_end = isinstance(status, str) and status in ended
            return has_known_end or now - changed_at >= STILL

        exchanges = self._poll(FOLLOWED, has_ended, id=latest)
        judged = [each for each in exchanges if each.is_success] or exchanges[-1:]
        claims = [(list(self._judge.claims(FOLLOWED, each)), each) for each in judged]
        self._conclude(FOLLOWED, exchanges, claims)

    def _poll(
        self, probe: Probe, is_done: Callable[[Exchange], bool], **words: str
    ) -> list[Exchange]:
        """Ask again and again until it is done, or for `wait` seconds."""
        self._service.may_wait = True
        started, exchanges = time.monotonic(), []
        while True:
            exchanges.append(self._send(probe, **words))
            waited = time.monotonic() - started
            is_over = waited >= self._wait or exchanges[-1].status == 429
            if is_done(exchanges[-1]) or is_over or self._service.is_given_up:
                return exchanges
            time.sleep(min(waited / 10, MAX_POLL_PAUSE))

    def _conclude(
        self,
        probe: Probe,
        exchanges: list[Exchange],
        judged: list[tuple[list[Claim], Exchange]],
    ) -> None:
        """Keep the claims, and tell what came of a probe."""
        for claims, exchange in judged:
            self.seen += [Seen(each, probe.name, exchange) for each in dict.fromkeys(claims)]
        claims = [each for claims, _ in judged for each in claims]
        failures = [
            each for each in (self._judge.failure(probe, each) for each in exchanges) if each
        ]
        outcome = "agrees" if all(each.agrees for each in claims) else "differs"
        if any(name == probe.name for _, name in self.unstable.values()):
            outcome = "unstable"
        elif failures and not claims:
            outcome = f"could not check: {failures[0]}"
        elif failures:
            outcome += f"; once {failures[0]}"
        elif not probe.expects:
            statuses = sorted({str(each.status) for each in exchanges if not each.is_success})
            has_get = any(each.is_success for each in self._by_path[probe.path])
            outcome = f"note: {', '.join(statuses)}" if statuses and has_get else "as GET"
        for part in self.parts_of[probe] if failures and not claims else ():
            self.failures.setdefault(part, (failures[0], probe.name))
        self._report(probe, outcome)

    def _skip(self, probe: Probe, reason: str) -> None:
        for part in self.parts_of[probe]:
            self.unasked.setdefault(part, (reason, probe.name))
        self._report(probe, f"not asked: {reason}")

    def _report(self, probe: Probe, outcome: str) -> None:
        requests = self._service.sent - self._sent_before
        self._sent_before = self._service.sent
        self.outcomes.append({"name": probe.name, "requests": requests, "outcome": outcome})
        self._tell(f"{probe.name:26} {outcome}")

    def _judge_paths(self) -> None:
        """A path exists if it has any response but 404."""
        for path, exchanges in self._by_path.items():
            found = [each for each in exchanges if each.status not in (401, 403, 404)]
            is_broken = any(
                each.claim.part == f"{path}/get" and not each.claim.agrees for each in self.seen
            )
            if found:
                self.seen.append(Seen(claim(path, True, "exists", ""), LIST.name, found[0]))
            elif exchanges and is_broken:
                self.seen.append(Seen(claim(path, False, "exists", "404"), LIST.name, exchanges[0]))


def parts_of(contract: Contract, probe: Probe) -> set[str]:
    """The parts that a probe can witness."""
    parts = {*probe.rules, *(contract.within(probe.expects) if probe.expects else ())}
    return parts if probe.expects == INVALID_BODY else parts - {*contract.within(ERRORS)}


def described(part: str, claims: list[Claim], exchange: Exchange) -> str:
    """What a response said about a part, in short."""
    found = against(part, claims) or {each.expected for each in claims if each.part == part}
    return "; ".join(sorted(found)) or str(exchange.status)


def against(part: str, claims: Iterable[Claim]) -> set[str]:
    return {each.observed for each in claims if each.part == part and not each.agrees}


def check_usable(first: Exchange) -> None:
    """Raise `Unusable` if the response to the first probe is not one of such a service."""
    if first.failure.startswith(UNREACHABLE):
        raise Unusable(f"{first.failure}.")
    if 300 <= first.status < 400:
        place = first.header("Location")
        raise Unusable(
            f"the service redirects ({first.status}{f' to {place}' if place else ''}), which is "
            "not followed: give the URL of the service itself."
        )
    if first.is_success and first.media_type == HTML and json_of(first) is NO_JSON:
        raise Unusable("the service responds with HTML: is there a login page before it?")


def read_name(body: str) -> Any:
    """The name in a body of a probe, None if it has none."""
    try:
        return json.loads(body).get("name")
    except (ValueError, AttributeError):
        return None
