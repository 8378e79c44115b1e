"""The stub as a service that the script can ask, in the process: the source of what is expected."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from profiles.profile import Profile
from stub import Options, create_stub
from stub.world.seed import sample_of

from .exchange import PROJECTS, Exchange, Log, message_of
from .kinds import CREATE, DEPLOYMENT
from .script import JSON, Plan, Session
from .way import Hints

BASE = "http://localhost"
TOKEN = "dev-token"
PACE = 3.0  # seconds of a status: each is read at least once
WAIT = 30.0  # of these seconds, for what may not come
# Creations that are rejected: the body, and its media type.
INVALID = [(b"{", JSON), (b"[]", JSON), (b"[]", "text/plain"), (b" " * 100_000, JSON)]


class Ours:
    """A client of a stub that has a clock of its own: a request takes a second, a pause no time.

    `like` is the profile that it serves, if any.
    """

    base = BASE

    def __init__(self, like: Profile | None) -> None:
        self._now = datetime.now(UTC)
        options = Options(tokens=(TOKEN,), pace=PACE, seed=sample_of(like), like=like)
        self._app = create_stub(options, clock=lambda: self._now)

    def monotonic(self) -> float:
        return self._now.timestamp()

    def send(self, request: Exchange) -> Exchange:
        sent_at = self.monotonic()
        self._now += timedelta(seconds=1)
        response = self._app.test_client().open(
            request.target,
            base_url=self.base,
            method=request.method,
            headers=list(request.sent),
            data=request.body or None,
        )
        return replace(
            request,
            sent_at=sent_at,
            status=response.status_code,
            headers=message_of(response.headers),
            content=response.data,
        )


def expected_log(like: Profile | None, *, sends_more: bool) -> Log:
    """What the script sees of the stub; with what it sends beside the name, if so."""
    ours = Ours(like)
    request = like.request if like and like.has_own_request else None
    hints = Hints(request=request, profile=like)
    words = like.run if like else ()
    plan = Plan(
        TOKEN,
        writes=True,
        wait=WAIT + PACE * len(words),
        repeats=True,
        sends_more=sends_more,
        hints=hints,
    )
    session = OurSession(ours, plan, sleep=lambda seconds: None, clock=ours.monotonic)
    session.ask_all()
    for body, media_type in INVALID:
        session.send("", "POST", PROJECTS, body, {"Content-Type": media_type})
    if like is None or like.has_unique_names:
        taken = session.last(CREATE)
        session.send("", "POST", PROJECTS, taken.body, dict(taken.sent))
    return session.log


class OurSession(Session):
    """A session that knows the created deployment, also where no response names it."""

    def find_deployment(self) -> Exchange | None:
        authorization = ("Authorization", f"Bearer {TOKEN}")
        console = self.client.send(Exchange("GET", "/_stub/console", sent=(authorization,)))
        newest = console.json["projects"]["newest"][0]
        return self.read_deployment(DEPLOYMENT, str(newest["deployment"]))
