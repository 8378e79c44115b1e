"""A session with a service: asks the probes in their order, and records what responses say."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import click

from web.redaction import Redactor

from . import judge, probes
from .client import NO_JSON, TIMED_OUT, UNREACHABLE, Client, Exchange
from .forms import Claim, array_in, claim
from .judge import NOT_SEEN, PROJECT, Record, is_elsewhere, latest_of, object_in
from .probes import LEVELS, NEEDS, Probe

STILL = 10.0  # seconds without a change after which a deployment is followed no longer
MAX_POLL_PAUSE = 2.0  # seconds
MAX_TIMEOUTS = 3  # in a row; then nothing more is asked
LEAK = "the response contains the token"


class Unusable(click.ClickException):
    """Why nothing can be checked, in a sentence."""

    exit_code = 2


class Session:
    """Asks a service; `wait` and `pause` are in seconds, `tell` gets a line for each probe."""

    def __init__(
        self,
        record: Record,
        client: Client,
        redactor: Redactor,
        wait: float,
        pause: float,
        tell: Callable[[str], None],
    ) -> None:
        self._record, self._client, self._redactor = record, client, redactor
        self._wait, self._pause, self._tell = wait, pause, tell
        self._words = dict.fromkeys(NEEDS, "")

    def ask_all(self) -> None:
        """Ask. Raises `Unusable` if the first responses show that nothing can be checked."""
        special: dict[Probe, Callable[[Probe], None]] = {
            probes.LIST: self._ask_first,
            probes.CREATE: self._create,
            probes.LISTED: self._find_created,
            probes.FOLLOWED: partial(self._follow, wait=self._wait),
            probes.GET_DEPLOYMENT: partial(self._follow, wait=0),
        }
        levels = LEVELS[: LEVELS.index(self._record.level) + 1]
        for probe in probes.ALL:
            if probe == probes.CREATE and not self._record.claims:
                raise Unusable("nothing could be checked: the lines above say why.")
            if probe.level not in levels:
                continue
            if probe.needs and not self._words[probe.needs]:
                self._record.silent[probe.name] = (NOT_SEEN, NEEDS[probe.needs])
                self._report(probe, f"not asked: {NEEDS[probe.needs]}")
            else:
                special.get(probe, self._ask)(probe)
            if probe == probes.UNKNOWN_PATH:
                self._check_service()
        self._judge_paths()

    def _ask(self, probe: Probe) -> None:
        self._conclude(probe, [self._send(probe)])

    def _ask_first(self, probe: Probe) -> None:
        """Ask for the list. Raises `Unusable` if the port has nothing to be used."""
        self._ask(probe)
        first = self._record.exchanges[-1]
        if (first.failure or first.status == 400) and (other := self._client.other_scheme()):
            raise Unusable(f"the port speaks another scheme: give {other}.")
        if first.failure.startswith(UNREACHABLE):
            raise Unusable(f"{first.failure}.")
        self._record.projects += self._record.listed(first)
        self._words["listed"] = next(filter(None, map(latest_of, self._record.projects)), "")

    def _check_service(self) -> None:
        """Raise `Unusable` if the first responses are not those of such a service."""
        responses = [self._record.of(each)[-1] for each in probes.ALL[:3]]
        first = responses[0]
        if all(each.status in (401, 403) for each in responses[:2]):
            raise Unusable(f"the service rejects the token in VERIFY_TOKEN ({first.status}).")
        places = {(each.location or "").partition("?")[0] for each in responses}
        if first.location is not None and (len(places) == 1 or not first.is_moved):
            place = first.header("Location") or "no place"
            raise Unusable(
                f"the service redirects ({first.status} to {place}), which is not followed: give "
                "the URL of the service itself."
            )
        if all(map(is_page, responses)):
            raise Unusable(
                "the service responds with HTML, or alike to everything: give the URL of the "
                "service itself, without a login page before it."
            )
        if all(each.status == 404 for each in responses):
            self._tell("warning: the first responses are all 404: is the URL the one before /v1?")

    def _create(self, probe: Probe) -> None:
        """Create a project, with the name alone if no other member is accepted."""
        exchanges = [self._send(probe)]
        if exchanges[0].status in (400, 422):
            exchanges.append(self._send(probes.CREATE_BY_NAME))
        self._conclude(probe, exchanges)
        last, words = exchanges[-1], self._words
        if last.is_success:
            words["created"] = object_in(last.body)["name"]
            created = {**self._record.unwrap(PROJECT, last.json), "name": words["created"]}
            self._record.projects.append(created)
            words["followed"] = latest_of(created)

    def _find_created(self, probe: Probe) -> None:
        """Poll the list until it has the created project."""
        record, words, created = self._record, self._words, self._record.projects[-1]
        for exchange in self._poll(probe, self._wait):
            projects = record.listed(exchange)
            found = [each for each in projects if is_same(each, created)]
            if found:
                break
        more = []
        if projects or (exchange.is_success and array_in(exchange.json, "projects") == []):
            what = "a created project is listed"
            more.append(claim(judge.PROJECT_LIST, bool(found), what, "it is not"))
        for listed in found[:1]:
            record.projects[-1] = {**listed, **created}
            words["followed"] = words["followed"] or latest_of(listed)
            if (own := judge.OWN_MEMBER) in created:
                more.append(claim(PROJECT, own in listed, judge.AS_SENT, "not in the list"))
        words["listed"] = words["listed"] or words["followed"]
        self._conclude(probe, [exchange], more)

    def _follow(self, probe: Probe, wait: float) -> None:
        """Poll a deployment until it has ended or changes no more; ask once more after its end."""
        contract = self._record.contract
        ended = {*contract.statuses} - {*contract.running}
        status, changed_at, exchanges, note = "", time.monotonic(), list[Exchange](), ""
        for exchange in self._poll(probe, wait):
            exchanges.append(exchange)
            previous, status = status, self._status_of(exchange) or status
            changed_at = changed_at if status == previous else time.monotonic()
            is_still = exchange.is_success and time.monotonic() - changed_at >= STILL
            if probe == probes.FOLLOWED:
                self._record.has_ended = status in ended or is_still
            if status in ended or is_still:
                break
        if status in ended:
            exchanges.append(self._send(probe))
            if self._status_of(exchanges[-1]) not in ("", status):
                note = "went back after its end"
        found = [each for each in exchanges if each.is_success]
        self._conclude(probe, found or exchanges[-1:], note=note)

    def _status_of(self, exchange: Exchange) -> str:
        """The status of a deployment, "" if it could not be read."""
        found = self._record.unwrap(judge.DEPLOYMENT, exchange.json) if exchange.is_success else {}
        return str(found.get("status", ""))

    def _poll(self, probe: Probe, wait: float) -> Iterator[Exchange]:
        """Ask again and again, for `wait` seconds at most."""
        started = time.monotonic()
        while True:
            exchange = self._send(probe)
            yield exchange
            waited = time.monotonic() - started
            is_over = waited >= wait or exchange.status == 429 or exchange.location is not None
            if is_over or self._is_given_up:
                return
            time.sleep(min(waited / 10, MAX_POLL_PAUSE))

    def _send(self, probe: Probe) -> Exchange:
        """Send a probe; once more after a 5xx, but for POST, and after a 429 that says when."""
        exchange = self._exchange(probe)
        limited = [each for each in self._record.of(probe) if each.status == 429]
        if limited == [exchange] and exchange.retry_after is not None:
            time.sleep(exchange.retry_after)
            return self._exchange(probe)
        if exchange.status >= 500 and probe.method != "POST":  # which may have created a project
            return self._exchange(probe)
        return exchange

    def _exchange(self, probe: Probe) -> Exchange:
        """Send a request. It is recorded before, since it may be interrupted."""
        exchanges, request = self._record.exchanges, self._client.request(probe, self._words)
        if self._is_given_up:
            return request._replace(failure=f"not asked after {MAX_TIMEOUTS} timeouts in a row")
        time.sleep(self._pause if exchanges else 0)
        exchanges.append(request)
        exchanges[-1] = self._client.send(request)
        return exchanges[-1]

    @property
    def _is_given_up(self) -> bool:
        latest = [each.failure for each in self._record.exchanges[-MAX_TIMEOUTS:]]
        return latest == [TIMED_OUT] * MAX_TIMEOUTS

    def _conclude(
        self, probe: Probe, exchanges: list[Exchange], more: Iterable[Claim] = (), note: str = ""
    ) -> None:
        """Record what responses say, and tell what came of a probe."""
        record, last = self._record, exchanges[-1]
        found = [(each, one) for one in exchanges for each in judge.claims_of(record, one)]
        found = [*dict.fromkeys(found), *((each, last) for each in more)]
        record.claims += found
        silence = judge.silence_of(record, last)
        outcome = "agrees" if all(each.holds for each, _ in found) else "differs"
        if silence and not found:
            record.silent[probe.name] = silence
            outcome = ": ".join(silence)
        elif not probe.expects:
            has_get = any(each.is_success for each in record.at(probe.path))
            outcome = "as GET" if last.is_success or not has_get else f"note: {last.status}"
        failed = [each for each in record.of(probe) if each.status >= 500 and each is not last]
        notes = [*(f"once {each.status}" for each in failed), *filter(None, [note])]
        self._report(probe, "; ".join([outcome, *notes]))

    def _report(self, probe: Probe, outcome: str) -> None:
        record, sent = self._record, self._record.of(probe)
        record.outcomes.append({"name": probe.name, "requests": len(sent), "outcome": outcome})
        self._tell(f"{probe.name:26} {outcome}")
        if any(self._leaks(each) for each in sent):
            record.leaks.append(probe.name)
            self._tell(f"{probe.name:26} {LEAK}")

    def _leaks(self, exchange: Exchange) -> bool:
        """Whether the token is in a response, in any spelling."""
        text = f"{exchange.headers}\n{exchange.content.decode(errors='replace')}"
        return self._redactor.text(text) != text

    def _judge_paths(self) -> None:
        """A path exists if it has any response but 404 and a redirect."""
        record = self._record
        for path in (probes.PROJECTS, probes.DEPLOYMENT):
            seen = [each for each in record.at(path) if each.status not in (401, 403)]
            found = [each for each in seen if not is_elsewhere(each)]
            if found or record.contradicts(f"{path}/get"):
                what = claim(path, bool(found), "exists", "404")
                record.claims.append((what, (found or seen)[0]))


def is_page(exchange: Exchange) -> bool:
    """Whether it is a page for people, or for everything, rather than JSON."""
    is_page = exchange.is_success or exchange.media_type == "text/html"
    return is_page and not exchange.failure and exchange.json is NO_JSON


def is_same(listed: dict[str, object], created: dict[str, object]) -> bool:
    """Whether a listed project is the created one."""
    key = "id" if "id" in listed and "id" in created else "name"
    return listed.get(key) == created[key]
