"""A session with a service: asks the checks in their order, and records what responses say."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import click

from stub.redaction import printable

from . import Options
from .checks import (
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
    Check,
)
from .client import Client
from .exchange import Exchange
from .judge import LATEST, NOT_SEEN, says_nothing
from .places import MAX_CANDIDATES, Candidate, find_candidates, has_status_name, texts_of_status
from .run import DEPLOYMENTS, Run
from .values import NOTHING, is_through_objects, json_text
from .verdicts import conclude

STILL = 10.0  # seconds for which a deployment with an unknown status is followed
NAME_OF_LATEST = LATEST.rpartition("/")[2]
NO_ID = (400, 404, 410, 422)  # statuses for a value that is the id of no deployment


@dataclass
class Session:
    """Asks a service."""

    run: Run
    client: Client
    options: Options
    # What the checks need of earlier responses.
    words: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NEEDS, ""))
    candidates_left: int = MAX_CANDIDATES - 1  # one is for a deployment of a listed project
    named: Exchange | None = None  # the response to the id in the contract's own member
    status: object = NOTHING  # of the created deployment, as it was read last
    status_since: float = 0.0  # monotonic seconds

    def ask_all(self) -> None:
        """Ask. Raises `click.UsageError` if the first responses have nothing to be judged."""
        run = self.run
        levels = LEVELS[: LEVELS.index(run.level) + 1]
        if run.level == READ:
            run.tell("without --write, no creation and no run of a deployment is seen")
        for check in run.checks:
            if check.level not in levels:
                run.silent[check.name] = NOT_SEEN, NEEDS[check.level]
                continue
            asked = self._ask(check)
            conclude(run, check, asked)
            if check.name == UNKNOWN_PATH.name:
                self._check_first()
            if check.name == GET_DEPLOYMENT.name:
                self._tell_what_is_unseen()
        for check in (CANDIDATE, LIST_AGAIN):
            asked = run.of(check.name)
            if asked:
                conclude(run, check, asked)

    def _ask(self, check: Check) -> list[Exchange]:
        """Ask a check as often as it needs; return the exchanges that say something."""
        special = {
            CREATE.name: self._create,
            FOLLOWED.name: self._follow,
            LISTED.name: self._find_listed,
            GET_DEPLOYMENT.name: self._read_deployment,
        }
        ask = special.get(check.name, self._read)
        return ask(check)

    def _read(self, check: Check) -> list[Exchange]:
        if check.needs and not self.words[check.needs]:
            return []
        found = [self._send(check)]
        if check.level == READ and check.method == "GET":
            found += self._read_again(check)
        return found

    def _read_again(self, check: Check) -> list[Exchange]:
        """Send a GET once more if a profile is made of the responses."""
        if self._makes_profile:
            return [self._send(check)]
        return []

    @property
    def _makes_profile(self) -> bool:
        options = self.options
        return bool(options.save or options.like)

    def _check_first(self) -> None:
        """Raises `click.UsageError` if the first responses are not those of such a service."""
        reason = self._obstacle()
        if reason:
            shown = printable(self.run.redactor.text(reason))
            raise click.UsageError(f"{shown}.")

    def _obstacle(self) -> str:
        run = self.run
        responses = [run.of(check.name)[-1] for check in run.checks[:3]]
        first, second, _ = responses
        has_json = any(each.has_json for each in responses)
        if not has_json:
            scheme = self.client.explain_scheme()
            if scheme:
                return scheme
        if {first.status, second.status} <= {401, 403}:
            return f"VERIFY_TOKEN: the service rejects the token ({first.status})"
        if says_nothing(run, responses):
            return f"nothing could be checked: {first.failure or 'no JSON'}"
        if has_json:
            return ""
        place = f" to {first.header('Location')}" if first.is_redirect else ""
        return (
            f"no response is JSON ({first.status}{place}): give the URL of the service itself, "
            "with its scheme, without a redirect or a login page before it"
        )

    # The created project

    def _create(self, check: Check) -> list[Exchange]:
        """Create a project, with the name alone if no other member is accepted."""
        run = self.run
        last = self._send(check)
        exchanges = [last]
        name_alone = json_text(run.request)
        if last.status in (400, 422) and check.body != name_alone:
            last = self._send(check._replace(body=name_alone))
            exchanges.append(last)
        if last.is_success:
            self.words["created"] = run.name_in(last)
            run.look()
        return exchanges

    def _find_listed(self, check: Check) -> list[Exchange]:
        if not self.words["created"]:
            return []
        asked = self.run.of(check.name)
        if not asked:
            asked = self._poll(check, self._is_listed)
        return asked[-1:]

    def _is_listed(self, exchange: Exchange) -> bool:
        self.run.look()
        return self.run.created_item(exchange) is not None

    # Deployments

    def _follow(self, check: Check) -> list[Exchange]:
        """Find the created deployment, and read it until it has ended."""
        if not self.words["created"]:
            return []
        likely = [each for each in self._candidates() if each.rank == 0]
        first = self._seek(likely)
        if first is None and not self.run.given:
            self._find_listed(LISTED)
            first = self._seek_patiently() or self.named
        if first is None:
            return []
        first = self._rename(first, check)
        if not first.is_success:
            return [first]
        self.words["followed"] = first.deployment_id
        return self._read_until_end(check, first)

    def _candidates(self) -> list[Candidate]:
        run = self.run
        return find_candidates(run.bodies_of_creation(), run.created_id)

    def _seek(self, candidates: list[Candidate]) -> Exchange | None:
        """The response to the first of these ids that the service does not reject, if any."""
        for candidate in candidates[: self.candidates_left]:
            self.candidates_left -= 1
            self.words["candidate"] = candidate.id
            exchange = self._send(CANDIDATE)
            if candidate.member == NAME_OF_LATEST:
                self.named = exchange
            is_page = exchange.is_success and not exchange.has_json
            if exchange.status not in NO_ID and not is_page:
                return exchange
        return None

    def _seek_patiently(self) -> Exchange | None:
        """Seek the created deployment, the likeliest id more than once: it may appear later."""
        candidates = self._candidates()
        found = self._seek(candidates)
        likeliest = [each for each in candidates[:1] if each.rank == 0]
        until = time.monotonic() + self.options.wait
        pause = 0.02
        while found is None and likeliest and self.candidates_left > 0:
            if time.monotonic() + pause > until:
                break
            time.sleep(pause)
            pause *= 2
            found = self._seek(likeliest)
        return found

    def _rename(self, exchange: Exchange, check: Check) -> Exchange:
        """Give an exchange the check that it turned out to be."""
        exchanges = self.run.exchanges
        renamed = replace(exchange, check=check)
        exchanges[exchanges.index(exchange)] = renamed
        return renamed

    def _read_until_end(self, check: Check, first: Exchange) -> list[Exchange]:
        """Poll the created deployment until it has ended, or keeps a status that is not known."""
        found = [first]
        if not self._has_ended(first):
            found += self._poll(check, self._has_ended)
        found += self._read_again(check)
        self.run.look()
        return [each for each in found if each.is_success]

    def _has_ended(self, deployment: Exchange) -> bool:
        """Whether the created deployment runs no more; with each new status the list is read."""
        if not deployment.is_success:
            return False
        run = self.run
        now = time.monotonic()
        status = run.status_of(deployment.json)
        if status != self.status:
            self.status = status
            self.status_since = now
            if self._makes_profile:
                self._send(LIST_AGAIN)
        words = words_of_status(deployment.json)
        known = words.intersection(run.contract.statuses)
        if known:
            run.has_ended = known.isdisjoint(run.contract.running)
        else:
            run.has_ended = now - self.status_since >= STILL
        return run.has_ended

    def _read_deployment(self, check: Check) -> list[Exchange]:
        """Read the deployment that was given, or one of a listed project, or the created one."""
        run = self.run
        others = run.others
        candidates = [Candidate(run.given, "", 0)]
        if not run.given:
            own_id = run.own_id(others[0]) if others else None
            candidates = find_candidates(others, own_id)
        self.named = None
        self.candidates_left += 1
        found = self._seek(candidates) or self.named
        if found is None:
            self.words["listed"] = self.words["followed"]
            return self._read(check)
        found = self._rename(found, check)
        self.words["listed"] = found.deployment_id
        if not found.is_success:
            return [found]
        return [found, *self._read_again(check)]

    def _tell_what_is_unseen(self) -> None:
        """Tell, and note for the findings of a run that writes, what was not read and why."""
        run = self.run
        if run.level != READ and run.creation is None:
            self._note_unseen("project", why_no_project(run), "create")
        lack = ""
        if not run.succeeded(*DEPLOYMENTS):
            lack = "no deployment was read"
        elif run.given and self.words["listed"] != run.given:
            lack = f"{run.given} was not read"
        if lack:
            why = f"{lack}: {why_no_deployment(run)}"
            self._note_unseen("deployment", why, "deployment, statuses")
        elif run.creation is not None and not run.followed:
            run.tell("no run of a deployment was seen: no response names the created one")

    def _note_unseen(self, what: str, why: str, parts: str) -> None:
        """`parts` are those of a profile that are lacking then."""
        if self.run.level != READ:
            self.run.unseen[what] = why
        if self.options.save:
            why += f"; the profile lacks {parts}"
        self.run.tell(why)

    # Requests

    def _poll(self, check: Check, is_over: Callable[[Exchange], bool]) -> list[Exchange]:
        """Ask again and again, for the seconds of `--wait` at most."""
        started = time.monotonic()
        found: list[Exchange] = []
        while True:
            last = self._send(check)
            found.append(last)
            waited = time.monotonic() - started
            if last.status == 429 or last.is_redirect:
                return found
            if is_over(last) or waited >= self.options.wait:
                return found
            time.sleep(min(0.02 + waited / 10, 2.0))

    def _send(self, check: Check) -> Exchange:
        """Send a check; once more after a 5xx, but for a POST, which may have created a project.

        After a 429 it is sent again at its Retry-After, if that is within 10 seconds.
        """
        first = self._send_once(check)
        is_repeated = first.status >= 500 and check.method != "POST"
        if first.status == 429:
            seconds = first.header("Retry-After") or ""
            is_repeated = re.fullmatch("[0-9]|10", seconds) is not None
            if is_repeated:
                time.sleep(int(seconds))
        if is_repeated:
            return self._send_once(check)
        return first

    def _send_once(self, check: Check) -> Exchange:
        client = self.client
        exchanges = self.run.exchanges
        request = client.request(check, self.words)
        if exchanges:
            time.sleep(self.options.pause)
        exchanges.append(request)  # before it is sent, since that may be interrupted
        received = client.send(request)
        exchanges[-1] = received
        return received


def words_of_status(deployment: object) -> set[str]:
    """The texts of a deployment whose members are called as a status is."""
    texts = texts_of_status(deployment)
    named = [path for path in texts if has_status_name(path) and is_through_objects(path)]
    return {texts[path] for path in named}


def why_no_project(run: Run) -> str:
    last = run.of(CREATE.name)[-1]
    reason = f"no project was created: {last.reason}"
    if last.status in (400, 422):
        reason += "; give --body FILE with what the service asks for"
    return reason


def why_no_deployment(run: Run) -> str:
    """The latest reason of those that were asked."""
    asked = run.of(*DEPLOYMENTS)
    if run.given:
        asked = [each for each in run.exchanges if each.deployment_id == run.given]
    if not asked:
        return "no response names one; give --deployment ID"
    last = asked[-1]
    return last.reason
