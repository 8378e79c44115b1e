"""A session with a service: asks the probes in their order, and records what responses say."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from stub.contract import object_in
from web.redaction import printable

from . import judge, probes
from .client import NO_JSON, Client, Exchange
from .judge import NOT_SEEN, PROJECT, Record, claims_of
from .probes import LEVELS, NEEDS, Probe

STILL = 10.0  # seconds for which a deployment with an unknown status is followed
LEAK = "the response contains the token"


@dataclass
class Session:
    """Asks a service; `wait` and `pause` are in seconds, `tell` gets a line for each probe."""

    record: Record
    client: Client
    wait: float
    pause: float
    tell: Callable[[str], None]
    # What the probes need of earlier responses.
    words: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NEEDS, ""))

    def ask_all(self) -> None:
        """Ask. Raises `click.UsageError` if the first responses have nothing to be judged."""
        special = {
            probes.CREATE: self._create,
            probes.LISTED: self._find_created,
            probes.FOLLOWED: self._follow,
        }
        levels = LEVELS[: LEVELS.index(self.record.level) + 1]
        for probe in probes.ALL:
            if probe.level not in levels:
                self.record.silent[probe.name] = NOT_SEEN, NEEDS[probe.level]
                continue
            ask = special.get(probe, lambda each: [self._send(each)])
            self._conclude(probe, ask(probe) if not probe.needs or self.words[probe.needs] else [])
            if probe == probes.UNKNOWN_PATH:
                self._read_first()

    def _read_first(self) -> None:
        """Take from the list what later probes need.

        Raises `click.UsageError` if the first responses are not those of such a service.
        """
        responses = [self.record.of(each)[-1] for each in probes.ALL[:3]]
        first = responses[0]
        if all(each.status in (401, 403) for each in responses[:2]):
            raise click.UsageError(f"VERIFY_TOKEN: the service rejects the token ({first.status}).")
        if not self.record.claims:
            raise click.UsageError(f"nothing could be checked: {first.failure or 'no JSON'}.")
        if all(each.json is NO_JSON for each in responses):
            place = printable(self.record.redactor.text(f" to {first.header('Location')}"))
            raise click.UsageError(
                f"no response is JSON ({first.status}{place * first.is_redirect}): give the URL of "
                "the service itself, with its scheme, without a redirect or a login page before it."
            )
        self.record.projects += self.record.listed(first)
        self.words["listed"] = next(filter(None, map(judge.latest_of, self.record.projects)), "")

    def _create(self, probe: Probe) -> list[Exchange]:
        """Create a project, with the name alone if no other member is accepted."""
        exchanges = [self._send(probe)]
        if exchanges[0].status in (400, 422):
            exchanges.append(self._send(probes.CREATE_BY_NAME))
        last = exchanges[-1]
        if last.is_success:
            name = object_in(last.body)["name"]
            created = {**self.record.unwrap(PROJECT, last.json), "name": name}
            self.record.projects.append(created)
            self.words |= {"created": name, "followed": judge.latest_of(created)}
            if not self.words["followed"]:
                self._find_created(probes.LISTED)
        return exchanges

    def _find_created(self, probe: Probe) -> list[Exchange]:
        """Poll the list until it has the created project."""
        find, created = self.record.find_created, self.record.projects[-1]
        last = (self.record.of(probe) or self._poll(probe, find))[-1]
        created |= next(iter(find(last)), {})
        followed = judge.latest_of(created)
        self.words |= {"followed": followed, "listed": self.words["listed"] or followed}
        return [last]

    def _follow(self, probe: Probe) -> list[Exchange]:
        """Poll the created deployment until it has ended, or keeps a status that is not known."""
        record, seen = self.record, dict[str, float]()  # since when, by status
        contract = record.contract

        def has_ended(exchange: Exchange) -> bool:
            found = record.unwrap(judge.DEPLOYMENT, exchange.json) if exchange.is_success else {}
            status, now = str(found.get("status")), time.monotonic()
            is_still = exchange.is_success and now - seen.setdefault(status, now) >= STILL
            return status not in contract.running and (status in contract.statuses or is_still)

        exchanges = self._poll(probe, has_ended)
        record.has_ended = has_ended(exchanges[-1])
        return [each for each in exchanges if each.is_success] or exchanges[-1:]

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
        exchanges = self.record.exchanges
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

    def _conclude(self, probe: Probe, exchanges: list[Exchange]) -> None:
        """Record what the responses say, if the probe was asked, and tell what came of it."""
        record, sent = self.record, self.record.of(probe)
        found = dict.fromkeys((each, one) for one in exchanges for each in claims_of(record, one))
        record.claims += found
        last = exchanges[-1] if exchanges else None
        silence = judge.silence_of(record, last) if last else (NOT_SEEN, NEEDS[probe.needs])
        outcome = "agrees" if all(each.holds for each, _ in found) else "differs"
        if silence:
            record.silent[probe.name] = silence
            outcome = ": ".join(silence)
        outcome += "".join(f"; once {each.status}" for each in sent[:-1] if each.status >= 429)
        record.outcomes.append({"name": probe.name, "requests": len(sent), "outcome": outcome})
        self.tell(f"{probe.name:26} {outcome}")
        texts = [f"{each.headers}\n{each.content.decode(errors='replace')}" for each in sent]
        if any(record.redactor.text(each) != each for each in texts):
            record.leaks.append(probe.name)
            self.tell(f"{probe.name:26} {LEAK}")
