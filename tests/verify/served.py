"""Our own stub with a profile, as a service that a session asks in the process."""

import time
from datetime import UTC, datetime

from profiles.profile import Profile
from stub import Options, create_stub
from stub.sample import make_sample
from tests.verify.conftest import Direct, Response
from verify.seen.hints import Hints
from verify.seen.kinds import DEPLOYMENT
from verify.seen.service_log import Log, ServiceExchange
from verify.sources.script import Plan, Session

TOKEN = "dev-token"
PACE = 3.0  # seconds of a status: each is read at least once


class Served(Direct):
    """A client of a stub, whose clock is that of the client."""

    base = "http://localhost"
    step = 1.0

    def __init__(self, like: Profile) -> None:
        self.now = time.time()
        options = Options(tokens=(TOKEN,), pace=PACE, seed=make_sample(like), like=like)
        self._app = create_stub(options, clock=lambda: datetime.fromtimestamp(self.now, UTC))

    def respond(self, request: ServiceExchange) -> Response:
        response = self._app.test_client().open(
            request.target,
            base_url=self.base,
            method=request.method,
            headers=list(request.request_fields),
            data=request.request_body or None,
        )
        return Response("", response.status_code, None, {**response.headers}, response.data)


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
