"""A session with a service: asks the probes in their order, and records what responses say."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import click

from web.redaction import printable

from .client import Client
from .exchange import Exchange
from .judge import LATEST, NOT_SEEN, claims_of
from .places import (
    MAX_CANDIDATES,
    Candidate,
    find_candidates,
    has_status_name,
    texts_of_status,
)
from .probes import (
    CANDIDATE,
    CREATE,
    FOLLOWED,
    GET_DEPLOYMENT,
    LEVELS,
    LIST_AGAIN,
    LISTED,
    NEEDS,
    READ,
    UNKNOWN_PATH,
    Probe,
)
from .run import Run
from .values import Path, is_through_objects
from .verdicts import conclude

STILL = 10.0  # seconds for which a deployment with an unknown status is followed
VOLATILE = 5  # changes, read after read, of a text that is no status
NO_ID = (400, 404, 410, 422)  # statuses for a value that is the id of no deployment


@dataclass
class Session:
    """Asks a service; `wait` and `pause` are in seconds, `tell` gets a line for each probe.

    `deployment` is the id of a deployment that no response names. With `reads_twice` each GET is
    sent twice, and the list is read with each status, since a profile is made of the responses.
    With `saves` that profile is written.
    """

    run: Run
    client: Client
    wait: float
    pause: float
    deployment: str
    reads_twice: bool
    saves: bool
    tell: Callable[[str], None]
    # What the probes need of earlier responses.
    words: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NEEDS, ""))
    candidates_left: int = MAX_CANDIDATES
    named: Exchange | None = None  # the response to the id in the contract's own member

    def ask_all(self) -> None:
        """Ask. Raises `click.UsageError` if the first responses have nothing to be judged."""
        special: dict[str, Callable[[Probe], list[Exchange]]] = {
            CREATE.name: self._create,
            FOLLOWED.name: self._follow,
            LISTED.name: self._find_listed,
            GET_DEPLOYMENT.name: self._read_deployment,
        }
        levels = LEVELS[: LEVELS.index(self.run.level) + 1]
        if self.run.level == READ:
            self.tell("without --write, no creation and no run of a deployment is seen")
        for probe in self.run.probes:
            if probe.level not in levels:
                self.run.silent[probe.name] = NOT_SEEN, NEEDS[probe.level]
                continue
            ask = special.get(probe.name, self._ask)
            conclude(self.run, probe, ask(probe), self.tell)
            if probe.name == UNKNOWN_PATH.name:
                self._check_first()
            if probe.name == GET_DEPLOYMENT.name:
                self._tell_what_is_unseen()
        for probe in (CANDIDATE, LIST_AGAIN):
            asked = self.run.of(probe.name)
            if asked:
                conclude(self.run, probe, asked, self.tell)

    def _ask(self, probe: Probe) -> list[Exchange]:
        if probe.needs and not self.words[probe.needs]:
            return []
        found = [self._send(probe)]
        if self.reads_twice and probe.level == READ and probe.method == "GET":
            found.append(self._send(probe))
        return found

    def _check_first(self) -> None:
        """Raises `click.UsageError` if the first responses are not those of such a service."""
        run = self.run
        responses = [run.of(each.name)[-1] for each in run.probes[:3]]
        first, second, _ = responses
        has_json = any(each.has_json for each in responses)
        if not has_json and (reason := self.client.explain_scheme()):
            raise click.UsageError(f"{reason}.")
        if {first.status, second.status} <= {401, 403}:
            raise click.UsageError(f"VERIFY_TOKEN: the service rejects the token ({first.status}).")
        if not any(list(claims_of(run, each)) for each in responses):
            raise click.UsageError(f"nothing could be checked: {first.failure or 'no JSON'}.")
        if not has_json:
            place = ""
            if first.is_redirect:
                place = printable(run.redactor.text(f" to {first.header('Location')}"))
            raise click.UsageError(
                f"no response is JSON ({first.status}{place}): give the URL of the service itself, "
                "with its scheme, without a redirect or a login page before it."
            )

    # The created project

    def _create(self, probe: Probe) -> list[Exchange]:
        """Create a project, with the name alone if no other member is accepted."""
        run = self.run
        exchanges = [self._send(probe)]
        request = json.dumps(run.request, ensure_ascii=False)
        if exchanges[0].status in (400, 422) and probe.body != request:
            exchanges.append(self._send(probe._replace(body=request)))
        last = exchanges[-1]
        if last.is_success:
            self.words["created"] = run.name_in(last)
            run.look()
        return exchanges

    def _find_listed(self, probe: Probe) -> list[Exchange]:
        """Poll the list until it has the created project."""
        if not self.words["created"]:
            return []
        if not self.run.of(probe.name):
            self._poll(probe, self._is_listed)
        return self.run.of(probe.name)[-1:]

    def _is_listed(self, exchange: Exchange) -> bool:
        self.run.look()
        return self.run.created_item(exchange) is not None

    # Deployments

    def _follow(self, probe: Probe) -> list[Exchange]:
        """Find the created deployment, and read it until it has ended.

        One of the GETs is left for the deployment of a listed project, or the one that was given.
        """
        if not self.words["created"]:
            return []
        likely = [each for each in self._candidates() if each.rank == 0]
        first = self._seek(likely, least=1)
        if first is None and not self.deployment:
            self._find_listed(LISTED)
            first = self._seek_patiently() or self.named
        if first is None:
            return []
        first = self._rename(first, probe)
        if not first.is_success:
            return [first]
        self.words["followed"] = first.deployment_id
        return self._read_until_end(probe, first)

    def _candidates(self) -> list[Candidate]:
        """What may be the id of the created deployment."""
        return find_candidates(self.run.bodies_of_creation(), self.run.places.created_id)

    def _seek(self, candidates: list[Candidate], least: int = 0) -> Exchange | None:
        """The response to the first of these ids that the service does not reject, if any.

        `least` is the number of GETs that stay for a later search.
        """
        for candidate in candidates:
            if self.candidates_left <= least:
                break
            self.candidates_left -= 1
            self.words["candidate"] = candidate.id
            exchange = self._send(CANDIDATE)
            if candidate.member == LATEST.rpartition("/")[2]:
                self.named = exchange
            is_page = exchange.is_success and not exchange.has_json
            if exchange.status not in NO_ID and not is_page:
                return exchange
        return None

    def _seek_patiently(self) -> Exchange | None:
        """Seek the created deployment, the likeliest id more than once: it may appear later."""
        candidates = self._candidates()
        started, pause = time.monotonic(), 0.02
        while True:
            found = self._seek(candidates, least=1)
            is_likely = bool(candidates) and candidates[0].rank == 0
            is_over = time.monotonic() - started + pause > self.wait
            if found is not None or not is_likely or is_over or self.candidates_left <= 1:
                return found
            time.sleep(pause)
            pause *= 2
            candidates = candidates[:1]

    def _rename(self, exchange: Exchange, probe: Probe) -> Exchange:
        """Give an exchange the probe that it turned out to be."""
        index = self.run.exchanges.index(exchange)
        self.run.exchanges[index] = replace(exchange, probe=probe)
        return self.run.exchanges[index]

    def _read_until_end(self, probe: Probe, first: Exchange) -> list[Exchange]:
        """Poll the created deployment until it has ended, or keeps a status that is not known."""
        run = self.run
        watch = Watch([*run.contract.statuses], [*run.contract.running])

        def has_ended(exchange: Exchange) -> bool:
            if not exchange.is_success:
                return False
            has_changed = watch.look(exchange.json, time.monotonic())
            if has_changed and self.reads_twice:
                self._send(LIST_AGAIN)
            return watch.has_ended(time.monotonic())

        found = [first]
        if not has_ended(first):
            found += self._poll(probe, has_ended)
        run.has_ended = watch.has_ended(time.monotonic())
        if self.reads_twice:
            found.append(self._send(probe))
        run.look()
        return [each for each in found if each.is_success]

    def _read_deployment(self, probe: Probe) -> list[Exchange]:
        """Read the deployment that was given, or one of a listed project."""
        self.named = None
        if self.deployment:
            found = self._seek([Candidate(self.deployment, "", 0)])
        else:
            found = self._seek(self._listed_candidates()) or self.named
        if found is None and not self.words["followed"]:
            return []
        if found is None:
            self.words["listed"] = self.words["followed"]
            return self._ask(probe)
        found = self._rename(found, probe)
        self.words["listed"] = found.deployment_id
        if self.reads_twice and found.is_success:
            return [found, self._send(probe)]
        return [found]

    def _listed_candidates(self) -> list[Candidate]:
        others = self.run.places.others
        return find_candidates(others, self.run.own_id(others[0]) if others else None)

    def _tell_what_is_unseen(self) -> None:
        """Tell, and note for the findings of a run that writes, what was not read and why."""
        run, found = self.run, {}
        if run.level != READ and run.creation is None:
            last = run.of(CREATE.name)[-1]
            why = last.failure or str(last.status)
            if last.status in (400, 422):
                why += "; give --body FILE with what the service asks for"
            found["project"] = f"no project was created: {why}"
        if not run.succeeded(FOLLOWED.name, GET_DEPLOYMENT.name):
            found["deployment"] = f"no deployment was read: {self._why_no_deployment()}"
        elif self.deployment and self.words["listed"] != self.deployment:
            found["deployment"] = f"{self.deployment} was not read: {self._why_no_deployment()}"
        elif run.creation is not None and not run.followed:
            self.tell("no run of a deployment was seen: no response names the created one")
        for what, why in found.items():
            lacks = "create" if what == "project" else "deployment, statuses"
            self.tell(f"{why}; the profile lacks {lacks}" if self.saves else why)
        if run.level != READ:
            run.unseen = found

    def _why_no_deployment(self) -> str:
        run = self.run
        if self.deployment:
            asked = [each for each in run.exchanges if each.deployment_id == self.deployment][-1]
            return asked.failure or str(asked.status)
        failed = run.of(FOLLOWED.name, GET_DEPLOYMENT.name)
        if failed:
            return failed[-1].failure or str(failed[-1].status)
        return "no response names one; give --deployment ID"

    # Requests

    def _poll(self, probe: Probe, is_over: Callable[[Exchange], object]) -> list[Exchange]:
        """Ask again and again, for `wait` seconds at most."""
        started, found = time.monotonic(), list[Exchange]()
        while True:
            found.append(self._send(probe))
            waited, last = time.monotonic() - started, found[-1]
            if last.status == 429 or last.is_redirect or is_over(last) or waited >= self.wait:
                return found
            time.sleep(min(0.02 + waited / 10, 2.0))

    def _send(self, probe: Probe) -> Exchange:
        """Send a probe; once more after a 5xx, but for a POST, which may have created a project.

        After a 429 it is sent again at its Retry-After, if that is within 10 seconds.
        """
        exchanges = self.run.exchanges
        for is_last in (False, True):
            request = self.client.request(probe, self.words)
            time.sleep(self.pause if exchanges else 0)
            exchanges.append(request)  # before it is sent, since that may be interrupted
            exchanges[-1] = last = self.client.send(request)
            seconds = last.header("Retry-After") or ""
            if last.status == 429 and not is_last and re.fullmatch("[0-9]|10", seconds):
                time.sleep(int(seconds))
            elif last.status < 500 or probe.method == "POST":
                break
        return exchanges[-1]


@dataclass
class Watch:
    """Sees in the texts of a deployment whether it still runs.

    `statuses` are the known ones, `running` those of them that end no deployment.
    """

    statuses: list[str]
    running: list[str]
    texts: dict[Path, str] = field(default_factory=dict)
    changed_at: dict[Path, float] = field(default_factory=dict)  # monotonic seconds
    changes: dict[Path, int] = field(default_factory=dict)  # one read after the other

    def look(self, body: object, now: float) -> bool:
        """Note what was read; return whether it is another state than before."""
        texts = texts_of_status(body)
        changed = [path for path, text in texts.items() if self.texts.get(path) != text]
        is_new = any(not self._is_volatile(path) for path in changed)
        for path in texts:
            if path in changed:
                self.changed_at[path] = now
                self.changes[path] = self.changes.get(path, -1) + 1
            else:
                self.changes[path] = 0
        self.texts = texts
        return is_new

    def _is_volatile(self, path: Path) -> bool:
        return self.changes.get(path, 0) >= VOLATILE

    def has_ended(self, now: float) -> bool:
        words = [
            text
            for path, text in self.texts.items()
            if has_status_name(path) and is_through_objects(path)
        ]
        if any(word in self.running for word in words):
            return False
        if any(word in self.statuses for word in words):
            return True
        steady = [path for path in self.texts if not self._is_volatile(path)]
        return all(now - self.changed_at[path] >= STILL for path in steady)
