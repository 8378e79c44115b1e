"""Our own stub with a profile, as a service that a session asks in the process."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from profiles.profile import Profile
from stub import Options, create_stub
from stub.sample import make_sample
from verify.seen.hints import Hints
from verify.seen.kinds import DEPLOYMENT
from verify.seen.service_log import Log, ServiceExchange
from verify.sources.script import Plan, Session

TOKEN = "dev-token"
PACE = 3.0  # seconds of a status: each is read at least once


class Served:
    """A client of a stub that has a clock of its own: a request takes a second, a pause no time."""

    base = "http://localhost"

    def __init__(self, like: Profile | None) -> None:
        self._now = datetime.now(UTC)
        options = Options(tokens=(TOKEN,), pace=PACE, seed=make_sample(like), like=like)
        self._app = create_stub(options, clock=lambda: self._now)

    def clock(self) -> float:
        return self._now.timestamp()

    def send(self, request: ServiceExchange) -> ServiceExchange:
        now = self._now
        self._now += timedelta(seconds=1)
        response = self._app.test_client().open(
            request.target,
            base_url=self.base,
            method=request.method,
            headers=list(request.request_fields),
            data=request.request_body or None,
        )
        return replace(
            request,
            time=now,
            status=response.status_code,
            response_fields=[*response.headers],
            response_body=response.data,
        )


def ask_stub(like: Profile, hints: Hints) -> Log:
    """Ask a stub with a profile all that --write asks."""
    client = Served(like)
    wait = 30.0 + PACE * len(like.run)
    plan = Plan(TOKEN, writes=True, wait=wait, repeats=True, hints=hints)
    session = OwnSession(client, plan, sleep=lambda seconds: None, clock=client.clock)
    return session.ask_all()


class OwnSession(Session):
    """A session that knows the created deployment, also where no response names it."""

    def find_deployment(self) -> ServiceExchange | None:
        authorization = ("Authorization", f"Bearer {TOKEN}")
        console = self.client.send(
            ServiceExchange("GET", "/_stub/console", request_fields=(authorization,))
        )
        newest = console.response_json["projects"]["newest"][0]
        return self.read_deployment(DEPLOYMENT, str(newest["deployment"]))
