"""A `Store` on Redis: its records outlive the program, and processes share them.

`redis_scripts.py` says what is in which key. The package `redis` is optional: only `--store`
imports this file.
"""

import json
import logging
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import chain
from secrets import token_hex
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from redis import BlockingConnectionPool, Redis, RedisError
from redis.backoff import NoBackoff
from redis.exceptions import TimeoutError as RedisTimeout
from redis.retry import Retry

import redis_scripts as scripts
from problems import StoreUnavailable
from store import (
    EMPTY,
    MAX_PROJECTS,
    OLDEST_FIRST,
    PACE,
    Clock,
    Deployment,
    NameTaken,
    NewId,
    Project,
    ProjectList,
    Records,
    Stage,
    Store,
    StoreFull,
    Timeline,
    TurnClock,
    UnknownProject,
    milliseconds,
    random_id,
    timeline_of,
    unturned,
    utc_now,
)

TIMEOUT = 1.0  # seconds to connect, and for a reply
PAUSE = 1.0  # seconds after a timeout in which Redis is not asked again
BATCH = 1000  # records written at once
LIFETIME = 60  # seconds until Redis removes new records that were never put in place
MAX_REPEATS = 40  # of a script that wrote nothing

WRONG_URL = "the URL is invalid: give redis://HOST:PORT/DATABASE; its only options begin with ssl_"
NO_IDS: Mapping[str, int] = {}
CONFLICTS: dict[bytes, type[Exception]] = {
    b"taken": NameTaken,
    b"full": StoreFull,
    b"unknown": UnknownProject,
}

log = logging.getLogger(__name__)


def connect(url: str, threads: int) -> Callable[..., Store]:
    """Makes stores on this server.

    Raises `ValueError` for an invalid URL, and if it is away or does not let us run scripts.
    """
    try:
        check_url(url)
        server = Server(url, threads)
        server.client.eval("return redis.call('EXISTS', KEYS[1])", 1, keys_of("")[0])
    except (RedisError, OSError) as error:
        raise ValueError(server.complaint(error)) from None
    except (TypeError, ValueError):  # TypeError: an option in the URL
        raise ValueError(WRONG_URL) from None  # the text may have a password
    return partial(RedisStore, server)


def check_url(url: str) -> None:
    """Raises `ValueError` for what redis-py would ignore, or let change the timeouts."""
    parts = urlsplit(url)
    has_database = parts.scheme == "unix" or re.fullmatch(r"/?[0-9]*", parts.path)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if not has_database or not all(name == "db" or name.startswith("ssl_") for name in names):
        raise ValueError


def keys_of(world: str) -> list[str]:
    return [f"{{project-stub:{world}}}:{name}" for name in scripts.KEYS]


class Server:
    """A Redis server, which all stores of a process share."""

    def __init__(self, url: str, threads: int) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=threads,
            timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            retry=Retry(NoBackoff(), 0),  # a create that is repeated would meet its own name
            protocol=2,
        )
        self.client = Redis(connection_pool=pool)
        where = pool.connection_kwargs
        address = f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
        self._address = where.get("path", address)
        self._is_away = False
        self._pause_ends = 0.0

    @contextmanager
    def available(self) -> Iterator[Redis]:
        """The client. Its errors become `StoreUnavailable`; after a timeout all requests fail at
        once for a while, so that they do not wait for each other.
        """
        if monotonic() < self._pause_ends:
            raise StoreUnavailable
        try:
            yield self.client
        except (RedisError, OSError) as error:
            if isinstance(error, RedisTimeout):
                self._pause_ends = monotonic() + PAUSE
            if not self._is_away:
                log.warning(self.complaint(error))
            self._is_away = True
            raise StoreUnavailable from error
        self._is_away = False

    def complaint(self, error: Exception) -> str:
        return f"the store at {self._address} cannot be used: {str(error).rstrip('.')}"


class RedisStore:
    """The store of a world, in keys of its own."""

    def __init__(
        self,
        server: Server,
        clock: Clock = utc_now,
        new_id: NewId = random_id,
        *,
        pace: float = PACE,
        max_projects: int = MAX_PROJECTS,
        records: Records = EMPTY,
        turn: TurnClock = unturned,
        world: str = "",
    ) -> None:
        self._server = server
        self._keys = keys_of(world)
        self._clock = clock
        self._turn = turn
        self._new_id = new_id
        self._timeline = timeline_of(pace)
        self._max_projects = max_projects
        self._initial = records
        self._setting = ""  # of the clock, as last read
        self._lock = Lock()
        self._spare_ids: dict[str, deque[str]] = {"prj": deque(), "dpl": deque()}
        self._listed: tuple[bytes, tuple[Project, ...], ProjectList] = b"", (), ProjectList()

    def now(self) -> datetime:
        return self._turn(self._clock(), self._setting)

    def clock_setting(self) -> str:
        return self._setting

    def set_clock(self, old: str, new: str) -> bool:
        _, (is_old,) = self._call(scripts.SET_CLOCK, lambda _: [old, new])
        if is_old:
            self._learn(old, new)
        return bool(is_old)

    def _learn(self, known: str, setting: str) -> None:
        """Note a clock setting, unless another thread has read one meanwhile."""
        with self._lock:
            if self._setting == known:
                self._setting = setting

    def list_projects(self) -> ProjectList:
        epoch, known, listed = self._listed
        last = write_project(known[-1]) if known else ""
        arguments = [epoch, len(known), last]
        _, (new_epoch, start, rows) = self._call(scripts.LIST, lambda _: arguments)
        if start == len(known) and not rows:
            return listed
        projects = (*known[:start], *map(read_project, rows))
        listed = listed.replaced_by(sorted(projects, key=OLDEST_FIRST))
        self._listed = new_epoch, projects, listed
        return listed

    def create_project(self, name: str, sent: str) -> Project:
        def arguments(now: datetime) -> list[Any]:
            queued = deployment_text(now, self._timeline)
            return [self._max_projects, name, project_text(name, now, sent), queued]

        now, (ids,) = self._call(scripts.CREATE, arguments, {"prj": 1, "dpl": 1})
        project_id, deployment_id = map(bytes.decode, ids)
        return Project(project_id, name, now, deployment_id, sent)

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        _, (row,) = self._call(scripts.GET, lambda _: [deployment_id])
        return None if row is None else read_deployment(row)

    def records(self) -> Records:
        _, (projects, deployments) = self._call(scripts.ALL, lambda _: [])
        by_age = sorted(
            map(read_deployment, deployments), key=lambda each: (each.created_at, each.id)
        )
        return Records(tuple(sorted(map(read_project, projects), key=OLDEST_FIRST)), tuple(by_age))

    def reset(self, records: Records | None = None) -> None:
        if records is not None:
            self._replace(records, "replace")
            return
        with self._server.available() as client:
            client.unlink(*self._keys)

    def add(self, records: Records) -> None:
        def arguments(now: datetime) -> list[Any]:
            values = [self._max_projects, deployment_text(now, self._timeline)]
            values += [len(records.projects), len(records.deployments)]
            for each in records.projects:
                text = project_text(each.name, each.created_at, each.sent)
                values += [each.id, each.name, each.latest_deployment_id, text]
            for one in records.deployments:
                text = deployment_text(one.started(now).created_at, one.timeline)
                values += [one.id, one.project_id or "", text]
            return values

        self._call(scripts.ADD, arguments, {"dpl": 0})

    def remove_projects(self) -> None:
        self._call(scripts.REMOVE_PROJECTS, lambda _: [token_hex(8)])

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        def arguments(now: datetime) -> list[Any]:
            texts = [deployment_text(now, each) for each in (timeline, self._timeline)]
            given = [deployment_id or "", project_id or ""]
            return [self._max_projects, token_hex(8), *given, *texts]

        wanted = {"dpl": 1 if deployment_id is None else 0}
        now, (_, new_id, owner, is_new) = self._call(scripts.PUT, arguments, wanted)
        made = Deployment(new_id.decode(), owner.decode() or None, now, timeline)
        return made, bool(is_new)

    def _call(
        self,
        script: str,
        arguments: Callable[[datetime], list[Any]],
        wanted: Mapping[str, int] = NO_IDS,
    ) -> tuple[datetime, list[Any]]:
        """The time, and the reply of a script to the arguments for it.

        A script that wrote nothing is repeated: with the records of a world that is absent, with
        the current clock setting, or with more than the `wanted` number of new ids.
        """
        drawn = {prefix: [self._draw_id(prefix) for _ in range(n)] for prefix, n in wanted.items()}
        used: list[bytes] = []
        try:
            for _ in range(MAX_REPEATS):
                setting = self._setting
                now = milliseconds(self._turn(self._clock(), setting))
                values = [setting, *arguments(now), *chain.from_iterable(drawn.values())]
                with self._server.available() as client:
                    run = client.register_script(scripts.START + script)
                    status, *reply = run(self._keys, values)
                if status == b"absent":
                    self._replace(self._initial, "new")
                elif status == b"clock":
                    self._learn(setting, reply[0].decode())
                elif status == b"ids":
                    for prefix, ids in drawn.items():
                        ids += [self._draw_id(prefix) for _ in range(len(ids) or 1)]
                elif status in CONFLICTS:
                    raise CONFLICTS[status]
                else:
                    used = reply[0] if drawn else []
                    return now, reply
            raise StoreUnavailable
        finally:
            # Where a reply was lost, a record may have a drawn id: a script takes no id twice.
            self._keep_unused(drawn, used)

    def _draw_id(self, prefix: str) -> str:
        try:
            return self._spare_ids[prefix].popleft()
        except IndexError:
            return self._new_id(prefix)

    def _keep_unused(self, drawn: dict[str, list[str]], used: list[bytes]) -> None:
        """Keep the ids that no record took, so that a rejected create takes no number."""
        for prefix, ids in drawn.items():
            first = max((at + 1 for at, each in enumerate(ids) if each.encode() in used), default=0)
            self._spare_ids[prefix].extendleft(reversed(ids[first:]))

    def _replace(self, records: Records, mode: str) -> None:
        """Write the records under new keys, then put these in place in one step."""
        now = milliseconds(self._turn(self._clock(), ""))
        epoch = token_hex(8)
        projects, index, deployments = new_keys = [f"{key}:{epoch}" for key in self._keys[1:]]
        counts = len(records.projects), len(records.deployments)
        for start in range(0, max(counts), BATCH):
            with self._server.available() as client, client.pipeline() as pipe:
                if some := records.projects[start : start + BATCH]:
                    pipe.rpush(projects, *map(write_project, some))
                    pipe.hset(index, mapping=places(some, start))
                if ones := records.deployments[start : start + BATCH]:
                    texts: dict[Any, Any] = {
                        each.id: write_deployment(each.started(now)) for each in ones
                    }
                    pipe.hset(deployments, mapping=texts)
                for key in new_keys:
                    pipe.expire(key, LIFETIME)
                pipe.execute()
        with self._server.available() as client:
            swap = client.register_script(scripts.SWAP)
            (status,) = swap([*self._keys, *new_keys], [mode, epoch, *counts])
        if status == b"lost":  # Redis was started anew meanwhile
            raise StoreUnavailable


def write_project(project: Project) -> str:
    text = project_text(project.name, project.created_at, project.sent)
    return f"{project.latest_deployment_id}\n{project.id}\n{text}"


def project_text(name: str, created_at: datetime, sent: str) -> str:
    return f"{created_at.isoformat()}\n{name}\n{sent}"  # a name has no control characters


def read_project(text: bytes) -> Project:
    latest, project_id, created_at, name, sent = text.decode().split("\n", 4)
    return Project(project_id, name, datetime.fromisoformat(created_at), latest, sent)


def write_deployment(deployment: Deployment) -> str:
    text = deployment_text(deployment.created_at, deployment.timeline)
    return f"{deployment.project_id or ''}\n{deployment.id}\n{text}"


def deployment_text(created_at: datetime, timeline: Timeline) -> str:
    stages = [[stage.status, stage.seconds] for stage in timeline]
    return f"{created_at.isoformat()}\n{json.dumps(stages)}"


def read_deployment(text: bytes) -> Deployment:
    project_id, deployment_id, created_at, stages = text.decode().split("\n")
    timeline = tuple(Stage(status, seconds) for status, seconds in json.loads(stages))
    moment = datetime.fromisoformat(created_at)
    return Deployment(deployment_id, project_id or None, moment, timeline)


def places(projects: Sequence[Project], start: int) -> dict[Any, Any]:
    """The entries of the index for projects of which the first is at this place."""
    fields: dict[Any, Any] = {}
    for place, each in enumerate(projects, start):
        fields[f"id {each.id}"] = fields[f"name {each.name}"] = place
    return fields
