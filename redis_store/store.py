"""The store of a world on Redis, and its clock.

A record there is a JSON array of its members, in which a time is ISO 8601. A text that is no record
raises one of `server.INVALID`.
"""

import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial, partialmethod
from itertools import repeat
from operator import attrgetter
from secrets import token_hex
from typing import Any, NamedTuple

from records import OLDEST_FIRST, Deployment, Project, ProjectList, Stage
from store import Clock, NameTaken, StoreFull, StoreUnavailable
from stub.ids import MakeId
from stub.store import Records, WorldStore, with_start
from stub.timelines import TimelineFor

from . import scripts
from .server import RedisConnection, log

MAX_REPEATS = 40  # of a call that wrote nothing
BY_AGE = attrgetter("created_at", "id")
CONFLICTS = {b"taken": NameTaken, b"full": StoreFull}


class Setting(NamedTuple):
    """How a clock differs from the real time, as it is in Redis; a time is ISO 8601."""

    frozen_at: str | None
    ahead: float = 0.0  # seconds
    advanced: float = 0.0  # seconds of all steps

    def reading(self, real: datetime) -> tuple[datetime, bool]:
        if self.frozen_at is not None:
            return read_time(self.frozen_at), True
        return real + timedelta(seconds=self.ahead), False


class RedisClock:
    """Has the methods of `stub.clock.WorldClock`, with the setting in Redis as a text.

    The text is empty until the clock is changed. To tell the time, Redis is not asked: `known` has
    the last known text, and its setting. The store compares the text with that in Redis, and calls
    `learn` if they differ. Raises `StoreUnavailable`.
    """

    def __init__(
        self,
        server: RedisConnection,
        world: str,
        real: Clock,
        frozen_at: datetime | None = None,
        max_advance: timedelta = timedelta.max,
    ) -> None:
        self._server = server
        self._keys = scripts.keys_of(world)
        self._real = real
        self._start = Setting(frozen_at.isoformat() if frozen_at else None)
        self._max_advance = max_advance
        self.known = "", self._start

    def __call__(self) -> datetime:
        return self.reading()[0]

    def reading(self) -> tuple[datetime, bool]:
        return self.known[1].reading(self._real())

    @property
    def advanced(self) -> float:
        return self.known[1].advanced

    def learn(self, text: bytes | None = None) -> None:
        """Take the text that is in Redis. Raises one of `INVALID` for one that tells no time."""
        setting = Setting(*json.loads(text)) if text else self._start
        # Either may be more than a time can be.
        setting.reading(self._real())
        timedelta(seconds=setting.advanced)
        self.known = (text or b"").decode(), setting

    def refresh(self) -> None:
        """Learn how another process changed it."""
        with self._server.available(self._keys) as client:
            self.learn(client.hget(self._keys[0], "clock"))  # type: ignore[arg-type]

    def change(self, seconds: float, *, freeze: bool | None) -> bool:
        while True:
            self.refresh()
            with self._server.available(self._keys):
                text, setting = self.known
                real = self._real()
                now, is_frozen = setting.reading(real)
                now += timedelta(seconds=seconds)
                advanced = round(setting.advanced + seconds, 6)
                if timedelta(seconds=advanced) > self._max_advance:
                    return False
                new = text  # where nothing changes, so that --freeze of the next program counts
                if seconds or freeze is not None:
                    keeps_still = is_frozen if freeze is None else freeze
                    frozen_at = now.isoformat() if keeps_still else None
                    new = json.dumps(Setting(frozen_at, (now - real).total_seconds(), advanced))
                if self._server.run(scripts.SET_CLOCK, self._keys, text, new):
                    self.learn(new.encode())
                    return True


class RedisStore:
    """The store of a world, in keys of its own.

    What a view of `/v1` does is one script. A rarer change reads all records, changes a copy in
    memory, and writes it if no other change came between.
    """

    def __init__(
        self,
        server: RedisConnection,
        clock: Clock,
        ids: MakeId,
        *,
        timeline_for: TimelineFor,
        max_projects: int,
        records: Records,
        world: str,
        unique_names: bool = True,
    ) -> None:
        self.now = clock if isinstance(clock, RedisClock) else RedisClock(server, world, clock)
        self._server = server
        self._keys = scripts.keys_of(world)
        self._ids = ids
        self._timeline_for = timeline_for
        self._max_projects = max_projects
        self._rejects_names = "1" if unique_names else ""
        self._in_memory = partial(WorldStore, timeline_for=timeline_for, max_projects=max_projects)
        self._initial = records
        self._listed = b"", b"", ProjectList()  # the epoch, the last row, the list

    def list_projects(self) -> ProjectList:
        epoch, last, listed = self._listed
        with self._server.available(self._keys):
            _, epoch, start, new = self._call(scripts.LIST, epoch, len(listed), last)
            if start < len(listed) or new:
                projects = list(listed[:start])
                projects += [read_project(row) for row in new]
                listed = ProjectList(sorted(projects, key=OLDEST_FIRST))
                last = new[-1] if new else b""
                self._listed = epoch, last, listed
        return listed

    def create_project(self, name: str, sent: str) -> Project:
        project_id = ""
        deployment_id = ""
        project_tries = 0
        deployment_tries = 0
        timeline = json.dumps(self._timeline_for(name))
        while True:
            with self._server.available(self._keys):
                arguments = (
                    self._max_projects,
                    name,
                    sent,
                    timeline,
                    project_id,
                    deployment_id,
                    self._rejects_names,
                )
                status, *row = self._call(scripts.CREATE, *arguments)
                if status == b"ok":
                    return read_project(*row)
            if status in CONFLICTS:
                raise CONFLICTS[status]
            is_project_used, is_deployment_used = row
            if is_project_used:  # another one, whose deployment may have the first id
                project_tries += 1
                deployment_tries = 0
            elif is_deployment_used:
                deployment_tries += 1
            project_id = self._ids("prj", name, project_tries)
            deployment_id = self._ids("dpl", project_id, deployment_tries)

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._server.available(self._keys):
            _, row = self._call(scripts.GET, deployment_id)
            return None if row is None else read_deployment(row)

    def records(self) -> Records:
        return self._read_all()[2]

    def reset(self, records: Records | None = None) -> None:
        if records is not None:
            self._write(records, self.now())
        else:
            with self._server.available(self._keys) as client:
                client.unlink(*self._keys)

    def _change(self, change: Callable[..., Any], *arguments: Any) -> Any:
        """Change the records as in memory. Raises `StoreUnavailable` if others change them, too."""
        for _ in range(MAX_REPEATS):
            now, epoch, records = self._read_all()
            stopped = repeat(now).__next__  # a clock that stands still
            store = self._in_memory(stopped, self._ids, records=records)
            made = change(store, *arguments)
            if self._write(store.records(), now, epoch, len(records.projects)):
                return made
        log.error("the records were not changed: other requests changed the world meanwhile")
        raise StoreUnavailable

    add = partialmethod(_change, WorldStore.add)
    restore = partialmethod(_change, WorldStore.restore)
    remove_projects = partialmethod(_change, WorldStore.remove_projects)
    put_deployment = partialmethod(_change, WorldStore.put_deployment)

    def _read_all(self) -> tuple[datetime, bytes, Records]:
        """The time, the epoch and all records."""
        with self._server.available(self._keys):
            _, now, epoch, projects, deployments = self._call(scripts.ALL)
            made = sorted(map(read_deployment, deployments), key=BY_AGE)
            records = Records(tuple(map(read_project, projects)), tuple(made))
            return datetime.fromisoformat(now.decode()), epoch, records

    def _call(self, script: str, *arguments: Any) -> list[Any]:
        """The reply of a script, once the world has records, and the clock the setting in Redis."""
        while True:
            setting, _ = self.now.known  # read before the time: an older one is corrected
            now = self.now()
            common = self._keys, setting, write_time(now)
            reply: list[Any] = self._server.run(scripts.PRELUDE + script, *common, *arguments)
            if reply[0] == b"absent":
                self._write(self._initial, now, b"", 0)
            elif reply[0] == b"clock":
                self.now.learn(*reply[1:])
            else:
                return reply

    def _write(self, records: Records, now: datetime, epoch: bytes = b"*", count: int = 0) -> bool:
        """Replace all records, in one step, if the world is as it was; whether it was."""
        projects: list[str] = []
        index: list[str] = []
        for project in records.projects:
            projects.append(write_row(project))
            index += [f"id {project.id}", f"name {project.name}"]
        deployments: list[str] = []
        for deployment in records.deployments:
            deployments += [deployment.id, write_row(with_start(deployment, now))]
        values = [json.dumps(each) for each in (projects, index, deployments)]
        arguments = (epoch, count, token_hex(8), *values)
        with self._server.available(self._keys):
            return bool(self._server.run(scripts.WRITE, self._keys, *arguments))


def write_row(record: Project | Deployment) -> str:
    return json.dumps(record, default=write_time)


def write_time(moment: datetime) -> str:
    """In whole milliseconds."""
    return moment.isoformat(timespec="milliseconds")


def read_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    require(moment.utcoffset() == timedelta(0))
    return moment


def read_project(row: bytes) -> Project:
    project_id, name, created_at, latest, sent = json.loads(row)
    for text in (project_id, name, latest, sent):
        require(isinstance(text, str))
    return Project(project_id, name, read_time(created_at), latest, sent)


def read_deployment(row: bytes) -> Deployment:
    deployment_id, project_id, created_at, timeline = json.loads(row)
    require(isinstance(deployment_id, str) and isinstance(project_id, str | None))
    stages = tuple(Stage(*each) for each in timeline)
    *running, last = stages
    require(last.seconds is None)
    for stage in stages:
        require(isinstance(stage.status, str))
    for stage in running:
        require(stage.seconds is not None and 0 <= stage.seconds < math.inf)
    return Deployment(deployment_id, project_id, read_time(created_at), stages)


def require(is_valid: bool) -> None:
    """Raise `ValueError` for what this package cannot have written."""
    if not is_valid:
        raise ValueError
