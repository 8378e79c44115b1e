"""A run: asks the probes in their order, and collects what the responses say."""

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import stub

from .contract import MISSING, PROBLEM, Claim, Contract, read_json, type_of
from .probes import (
    ABUSE,
    ABUSES,
    CREATE,
    DEPLOYMENT,
    FOLLOWED,
    GET_DEPLOYMENT,
    INPUT,
    LEVELS,
    LIST,
    LISTED,
    NAMED,
    OTHER_DEPLOYMENTS,
    OTHER_LISTS,
    PROJECTS,
    RESPONSES,
    SCHEMAS,
    UNKNOWN_DEPLOYMENT,
    UNKNOWN_PATH,
    WRITE,
    Probe,
)
from .service import UNREACHABLE, Exchange, Service, Unusable

STILL = 10.0  # seconds without a change after which a deployment is followed no longer
MAX_POLL_PAUSE = 2.0  # seconds
PROJECT_LIST = f"{SCHEMAS}ProjectList"
PROJECT = f"{SCHEMAS}Project"
RECORD = f"{SCHEMAS}Deployment"
LATEST = f"{PROJECT}/properties/latest_deployment_id"
OWN_MEMBER = "stub_verify"


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


class Run:
    """What the responses said: `seen`, and by part the reasons in `failures` and `unasked`.

    `unstable` has the parts in which two responses to one probe differed. `tell` gets a line for
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
        self.failures: dict[str, tuple[str, str]] = {}  # part to reason and probe
        self.unasked: dict[str, tuple[str, str]] = {}
        self.unstable: dict[str, tuple[str, str]] = {}
        self.outcomes: list[dict[str, Any]] = []
        self.created: list[Created] = []
        self._contract = contract
        self._service = service
        self._levels = LEVELS[: LEVELS.index(level) + 1]
        self._wait = wait
        self._tell = tell
        self._by_path: dict[str, list[Exchange]] = {PROJECTS: [], DEPLOYMENT: []}
        self._unknown_path: Exchange | None = None
        self._owners: dict[str, Any] = {}  # id of a deployment to that of its project
        self._sent_before = 0  # requests, when the previous probe ended

    def run(self) -> None:
        """Ask. Raises `Unusable` if the first responses show that nothing can be checked."""
        first = self._ask(LIST)[0]
        check_usable(first)
        unknown = self._ask(UNKNOWN_DEPLOYMENT)
        if all(each.status in (401, 403) for each in (first, *unknown)):
            raise Unusable(f"the service rejects the token in VERIFY_TOKEN ({first.status}).")
        self._unknown_path = self._ask(UNKNOWN_PATH)[-1]
        if all(each.media_type == HTML for each in (first, *unknown, self._unknown_path)):
            raise Unusable("the service responds with HTML: give the URL of the service itself.")
        for probe in OTHER_LISTS:
            self._ask(probe)
        created = self._create() if WRITE in self._levels else {}
        projects = projects_of(read_json(first)) if first.is_success else []
        self._owners = {latest_of(each): each.get("id") for each in [created, *projects]}
        latest = next(filter(None, map(latest_of, [*projects, created])), "")
        for probe in (GET_DEPLOYMENT, *OTHER_DEPLOYMENTS):
            self._ask(probe, "no listed project has a deployment", id=latest)
        for probe in ABUSES if ABUSE in self._levels else ():
            self._ask(probe, "no project was created", created=created.get("name", ""))
        self._judge_paths()

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
        judged = [(list(self._judge(probe, each)), each) for each in exchanges]
        first, second = judged[0][0], judged[-1][0]
        for part in {each.part for each in first} & {each.part for each in second}:
            if contradictions(part, first) != contradictions(part, second):
                self.unstable.setdefault(part, ("two responses differ", probe.name))
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
                record = self._contract.unwrap(PROJECT, object_of(exchange))
                self.created[-1] = Created(record.get("id"), record.get("name", sent))
        if probe.path and probe.authorization is not None and not exchange.failure:
            self._by_path[probe.path].append(exchange)
        return exchange

    def _create(self) -> dict[str, Any]:
        """Create a project, find it in the list, and follow its deployment; return its record."""
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}"}
        self._service.may_wait = True
        exchange = self._send(CREATE, **words)
        claims = list(self._judge(CREATE, exchange))
        judged = [(claims, exchange)]
        if not exchange.failure and exchange.status in (400, 422):
            # A service may reject members that it does not know.
            plain = self._send(CREATE._replace(body=NAMED), **words)
            if plain.is_success:
                exchange = plain
                judged.append((list(self._judge(CREATE, plain)), plain))
        record: dict[str, Any] = {}
        if exchange.is_success:
            record = self._contract.unwrap(PROJECT, object_of(exchange))
            judged.append((list(self._compare_created(record, exchange, **words)), exchange))
        self._conclude(CREATE, [each for _, each in judged[:2]], judged)
        if not exchange.is_success:
            for probe in (LISTED, FOLLOWED):
                self._skip(probe, "no project was created")
            return {}
        listed = self._find_created(record, words["name"])
        created = {**listed, **record, "name": words["name"]}
        self._owners = {latest_of(created): created.get("id")}
        self._follow(latest_of(created))
        return created

    def _compare_created(
        self, record: dict[str, Any], exchange: Exchange, word: str, name: str
    ) -> Iterator[Claim]:
        """What was sent, in a response."""
        if "name" in record and isinstance(record["name"], str):
            part = f"{PROJECT}/properties/name"
            yield claim(part, record["name"] == name, "as it was sent", "changed")
        if record and OWN_MEMBER.encode() in exchange.body:
            is_kept = record.get(OWN_MEMBER) == word
            observed = "changed" if OWN_MEMBER in record else "left out"
            yield claim(PROJECT, is_kept, "members of the client as they were sent", observed)

    def _find_created(self, record: dict[str, Any], name: str) -> dict[str, Any]:
        """Poll the list until it has the created project; return what is listed, or {}."""
        listed: dict[str, Any] = {}

        def is_listed(exchange: Exchange) -> bool:
            for each in projects_of(read_json(exchange)) if exchange.is_success else ():
                if each["id"] == record["id"] if "id" in record else each.get("name") == name:
                    listed.update(each)
            return bool(listed)

        exchanges = self._poll(LISTED, is_listed)
        last = exchanges[-1]
        claims = list(self._judge(LISTED, last))
        if last.is_success:
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
        ended = self._contract.ended_statuses()
        status, changed_at = None, time.monotonic()

        def has_ended(exchange: Exchange) -> bool:
            nonlocal status, changed_at
            if not exchange.is_success:
                return False
            now = time.monotonic()
            record = self._contract.unwrap(RECORD, object_of(exchange))
            if record.get("status") != status:
                status, changed_at = record.get("status"), now
            return status in ended or now - changed_at >= STILL

        exchanges = self._poll(FOLLOWED, has_ended, id=latest)
        judged = [each for each in exchanges if each.is_success] or exchanges[-1:]
        claims = [(list(self._judge(FOLLOWED, each)), each) for each in judged]
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

    def _judge(self, probe: Probe, exchange: Exchange) -> Iterator[Claim]:
        """What a response says about the parts of its probe."""
        if not probe.expects or self._failure(probe, exchange):
            return
        pointer, _ = self._contract.find(probe.expects)
        status = self._contract.status(pointer)
        if status < 400:
            if not exchange.is_success:
                yield from self._judge_failed(probe, pointer, status, exchange)
                return
            yield from (claim(rule, True, "success", "") for rule in probe.rules)
            yield from self._contract.judge(pointer, exchange)
            yield from self._compare(probe, exchange)
        elif exchange.is_success and probe.rules:
            for rule in probe.rules:
                yield claim(rule, False, "rejected", f"accepted with {exchange.status}")
        elif exchange.status == status:
            yield from (claim(rule, True, "rejected", "") for rule in probe.rules)
            yield from self._contract.judge(pointer, exchange)
            yield from self._compare_problem(pointer, exchange)
        else:
            if exchange.status >= 400:
                yield from (claim(rule, True, "rejected", "") for rule in probe.rules)
            yield claim(pointer, False, str(status), str(exchange.status))

    def _judge_failed(
        self, probe: Probe, pointer: str, status: int, exchange: Exchange
    ) -> Iterator[Claim]:
        """What it says that a request which should succeed did not."""
        observed = str(exchange.status)
        operation = pointer.partition("/responses/")[0]
        if exchange.status < 400:
            yield claim(pointer, False, str(status), observed)
        elif exchange.status == 405 or (probe.path == PROJECTS and exchange.status == 404):
            yield claim(operation, False, "success", observed)
        elif probe.method == "POST" and exchange.status == 415:
            yield claim(f"{operation}/requestBody", False, "JSON is accepted", observed)
        elif probe.method == "POST":
            yield claim(INPUT, False, "a name and other members are accepted", observed)
        elif probe.path == PROJECTS:
            yield claim(operation, False, "success", observed)
        elif exchange.status != 404:
            yield claim(pointer, False, str(status), observed)
        elif self._is_like_unknown_path(exchange):
            yield claim(operation, False, "success", "404, as for a path that does not exist")
        else:
            yield claim(LATEST, False, "the id of a deployment", "404")

    def _is_like_unknown_path(self, exchange: Exchange) -> bool:
        other = self._unknown_path
        return other is not None and other.status == 404 and likeness(other) == likeness(exchange)

    def _compare(self, probe: Probe, exchange: Exchange) -> Iterator[Claim]:
        """The relations within a list, and of a deployment to the id in the path."""
        if probe.expects == LIST.expects:
            made = [
                stub.parse_time(each.get("created_at")) for each in projects_of(read_json(exchange))
            ]
            times = [each for each in made if each]
            if len(times) == len(made) > 1:
                part = f"{PROJECT_LIST}/properties/projects"
                yield claim(part, times == sorted(times), "oldest first", "another order")
        elif probe.expects == GET_DEPLOYMENT.expects:
            record = self._contract.unwrap(RECORD, object_of(exchange))
            asked = unquote(exchange.target.rpartition("/")[2])
            if is_id(record.get("id")):
                is_same = str(record["id"]) == asked
                yield claim(f"{RECORD}/properties/id", is_same, "the id of the path", "another")
            owner, project_id = self._owners.get(asked), record.get("project_id")
            if owner is not None and project_id is not None:
                part = f"{RECORD}/properties/project_id"
                yield claim(part, project_id == owner, "the id of its project", "another")

    def _compare_problem(self, pointer: str, exchange: Exchange) -> Iterator[Claim]:
        """The relation of a problem document to its response."""
        problem = self._contract.unwrap(PROBLEM, object_of(exchange))
        if type_of(problem.get("status")) == "integer":
            part, is_same = f"{PROBLEM}/properties/status", problem["status"] == exchange.status
            yield claim(part, is_same, "the status of the response", "another")
        if pointer == f"{RESPONSES}InvalidBody" and problem and "errors" not in problem:
            yield claim(f"{PROBLEM}/properties/errors", False, "present", MISSING)

    def _failure(self, probe: Probe, exchange: Exchange) -> str:
        """Why a response says nothing about the contract, if so."""
        if exchange.failure or not probe.expects:
            return exchange.failure
        if self._contract.status(probe.expects) < 400 and exchange.status in (401, 403):
            return f"{exchange.status}: the token is not accepted for this"
        if probe.expects == LIST.expects and exchange.is_success and read_json(exchange) is None:
            return "no JSON where the list should be"
        return ""

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
        failures = [each for each in (self._failure(probe, each) for each in exchanges) if each]
        outcome = "agrees" if all(each.agrees for each in claims) else "differs"
        if any(name == probe.name for _, name in self.unstable.values()):
            outcome = "unstable"
        elif failures and not claims:
            outcome = f"could not check: {failures[0]}"
        elif failures:
            outcome += f"; once {failures[0]}"
        elif not probe.expects:
            statuses = [str(each.status) for each in exchanges if not each.is_success]
            outcome = (
                f"note: {', '.join(statuses)}, where GET is accepted" if statuses else "as GET"
            )
        for part in self.parts_of(probe) if failures else ():
            self.failures.setdefault(part, (failures[0], probe.name))
        self._report(probe, outcome)

    def _skip(self, probe: Probe, reason: str) -> None:
        for part in self.parts_of(probe):
            self.unasked.setdefault(part, (reason, probe.name))
        self._report(probe, f"not asked: {reason}")

    def _report(self, probe: Probe, outcome: str) -> None:
        requests = self._service.sent - self._sent_before
        self._sent_before = self._service.sent
        self.outcomes.append({"name": probe.name, "requests": requests, "outcome": outcome})
        self._tell(f"{probe.name:26} {outcome}")

    def parts_of(self, probe: Probe) -> set[str]:
        """The parts that a probe can witness."""
        return {*probe.rules, *(self._contract.within(probe.expects) if probe.expects else ())}

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


def claim(part: str, agrees: bool, expected: str, otherwise: str) -> Claim:
    return Claim(part, agrees, expected, expected if agrees else otherwise)


def contradictions(part: str, claims: Iterable[Claim]) -> set[str]:
    return {each.observed for each in claims if each.part == part and not each.agrees}


def check_usable(first: Exchange) -> None:
    """Raise `Unusable` if the response to the first probe is not one of such a service."""
    if first.failure.startswith(UNREACHABLE):
        raise Unusable(f"{first.failure}.")
    if 300 <= first.status < 400:
        place = first.headers.get("Location", "")
        raise Unusable(
            f"the service redirects ({first.status}) to {place!r}, which is not followed: "
            "give the URL of the service itself."
        )
    if first.is_success and first.media_type == HTML:
        raise Unusable("the service responds with HTML: is there a login page before it?")


def object_of(exchange: Exchange) -> dict[str, Any]:
    """The JSON object in the body, {} if there is none."""
    value = read_json(exchange)
    return value if isinstance(value, dict) else {}


def read_name(body: str) -> Any:
    """The name in a body of a probe, None if it has none."""
    try:
        return json.loads(body).get("name")
    except (ValueError, AttributeError):
        return None


def projects_of(value: Any) -> list[dict[str, Any]]:
    """The records of a list, under whatever name it has them."""
    if isinstance(value, dict):
        arrays = [value.get("projects"), *value.values()]
        value = next((each for each in arrays if isinstance(each, list)), [])
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def latest_of(project: dict[str, Any]) -> str:
    """The id of a project's latest deployment as it stands in a path, "" if it has none."""
    latest = project.get("latest_deployment_id")
    return str(latest) if is_id(latest) else ""


def is_id(value: Any) -> bool:
    return (isinstance(value, str) and value not in ("", ".", "..")) or type_of(value) == "integer"


def likeness(exchange: Exchange) -> Any:
    """What responses for one reason have in common: the code of the error, or the whole body."""
    code = object_of(exchange).get("code")
    asked = unquote(exchange.target).rpartition("/")[2]
    body = exchange.content.decode(errors="replace")
    return code or body.replace(exchange.target, "").replace(asked, "")
