"""The store of a world on Redis."""

from collections.abc import Callable
from datetime import datetime, timedelta
from operator import attrgetter
from secrets import token_hex
from threading import Lock
from typing import Any, TypeVar

from records import (
    NO_RECORDS,
    OLDEST_FIRST,
    Deployment,
    Project,
    ProjectList,
    Records,
    Timeline,
    timeline_of,
    truncate_to_milliseconds,
)
from store import (
    MAX_PROJECTS,
    PACE,
    Clock,
    MemoryStore,
    NameTaken,
    NewId,
    StoreFull,
    StoreUnavailable,
    random_id,
    utc_now,
)

from . import scripts
from .clock import RedisClock
from .rows import (
    deployment_row,
    project_row,
    read_deployment,
    read_project,
    read_time,
    time_text,
    timeline_text,
)
from .server import RedisConnection, keys_of, log, readable

MAX_REPEATS = 40  # of a call that wrote nothing
SKEW = timedelta(seconds=1)  # between the clocks of machines that share a server

Made = TypeVar("Made")


class RedisStore:
    """The store of a world, in keys of its own.

    What a view of `/v1` does is one script. A rarer change reads all records, changes a copy in
    memory, and writes it if no other change came between.
    """

    def __init__(
        self,
        server: RedisConnection,
        clock: Clock = utc_now,
        new_id: NewId = random_id,
        *,
        pace: float = PACE,
        max_projects: int = MAX_PROJECTS,
        records: Records = NO_RECORDS,
        world: str = "",
    ) -> None:
        self.now = clock
        self._server = server
        self._keys = keys_of(world)
        self._new_id = new_id
        self._pace = pace
        self._timeline = timeline_of(pace)
        self._max_projects = max_projects
        self._initial = records
        self._listed: tuple[bytes, tuple[Project, ...], ProjectList] = b"", (), ProjectList()
        self._change_lock = Lock()

    def list_projects(self) -> ProjectList:
        epoch, known, listed = self._listed
        last = project_row(known[-1]) if known else ""
        _, new_epoch, start, rows = self._call(scripts.LIST, epoch, len(known), last)
        if start == len(known) and not rows:
            return listed
        with readable(self._keys[1]):
            projects = (*known[:start], *map(read_project, rows))
        listed = ProjectList(sorted(projects, key=OLDEST_FIRST))
        self._listed = new_epoch, projects, listed
        return listed

    def create_project(self, name: str, sent: str) -> Project:
        ids = {b"prj": "", b"dpl": ""}  # drawn where nothing else prevents the project
        timeline = timeline_text(self._timeline)
        for _ in range(MAX_REPEATS):
            arguments = [self._max_projects, name, sent, timeline, *ids.values()]
            status, *reply = self._call(scripts.CREATE, *arguments)
            if status == b"taken":
                raise NameTaken
            if status == b"full":
                raise StoreFull
            if status == b"ok":
                with readable(self._keys[0]):
                    return Project(ids[b"prj"], name, read_time(*reply), ids[b"dpl"], sent)
            for prefix in reply:
                ids[prefix] = self._new_id(prefix.decode())
        raise StoreUnavailable

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        _, row = self._call(scripts.GET, deployment_id)
        with readable(self._keys[3]):
            return None if row is None else read_deployment(row)

    def records(self) -> Records:
        return self._read_all()[2]

    def reset(self, records: Records | None = None) -> None:
        if records is not None:
            self._write(records, truncate_to_milliseconds(self.now()))
            return
        with self._server.available() as client:
            client.unlink(*self._keys)

    def add(self, records: Records, made_at: datetime | None = None) -> None:
        self._change(lambda store: store.add(records, made_at))

    def remove_projects(self) -> None:
        self._change(MemoryStore.remove_projects)

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        return self._change(lambda store: store.put_deployment(deployment_id, timeline, project_id))

    def _change(self, change: Callable[[MemoryStore], Made]) -> Made:
        """Change the records as in memory. Raises `StoreUnavailable` if others change them, too."""
        with self._change_lock:
            for _ in range(MAX_REPEATS):
                now, epoch, records = self._read_all()
                store = MemoryStore(
                    lambda now=now: now,  # type: ignore[misc]
                    self._new_id,
                    pace=self._pace,
                    max_projects=self._max_projects,
                    records=records,
                )
                made = change(store)
                if self._write(store.records(), now, epoch, len(records.projects)):
                    return made
        log.error("the records were not changed: other requests changed the world meanwhile")
        raise StoreUnavailable

    def _read_all(self) -> tuple[datetime, bytes, Records]:
        """The time, the epoch and all records."""
        _, now, epoch, projects, deployments = self._call(scripts.ALL)
        with readable(self._keys[0]):
            moment = read_time(now)
        with readable(self._keys[1]):
            by_time = sorted(map(read_project, projects), key=OLDEST_FIRST)
        with readable(self._keys[3]):
            owners = {None, *(each.id for each in by_time)}
            by_age = sorted(map(read_deployment, deployments), key=attrgetter("created_at", "id"))
            if any(each.project_id not in owners for each in by_age):
                raise ValueError
        return moment, epoch, Records(tuple(by_time), tuple(by_age))

    def _call(self, script: str, *arguments: Any) -> list[Any]:
        """The reply of a script, once the world has records, and the clock the setting in Redis.

        Where this clock is a little behind that of the last change, the script takes the time of
        that change, so that no project enters the middle of a list.
        """
        for _ in range(MAX_REPEATS):
            setting = self._setting()  # read before the time: an older one is corrected
            now = truncate_to_milliseconds(self.now())
            first = f"{time_text(now)} {time_text(now + SKEW)} {setting}"
            with self._server.available(self._keys) as client:
                run = client.register_script(scripts.PRELUDE + script)
                reply: list[Any] = run(self._keys, [first, *arguments])
            if reply[0] == b"absent":
                self._write(self._initial, now, b"", 0)
            elif reply[0] == b"clock":
                self.now.remember(setting, reply[1])  # type: ignore[attr-defined]
            else:
                return reply
        raise StoreUnavailable

    def _setting(self) -> str:
        """The setting of the clock, `*` where it is not shared."""
        return self.now.text if isinstance(self.now, RedisClock) else "*"

    def _write(self, records: Records, now: datetime, epoch: bytes = b"*", count: int = 0) -> bool:
        """Replace all records, in one step, if the world is as it was; whether it was."""
        projects = [project_row(each) for each in records.projects]
        index = [
            text
            for each in records.projects
            for text in (f"id {each.id}", "", f"name {each.name}", "")
        ]
        deployments = [
            text
            for each in records.deployments
            for text in (each.id, deployment_row(each.with_start(now)))
        ]
        values: list[Any] = [epoch, count, token_hex(8), time_text(now)]
        values += [len(projects), len(index), len(deployments), *projects, *index, *deployments]
        with self._server.available(self._keys) as client:
            return bool(client.register_script(scripts.WRITE)(self._keys, values))
