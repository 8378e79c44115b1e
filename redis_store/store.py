"""The store of a world on Redis."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import chain
from secrets import token_hex
from typing import Any

from records import (
    NO_RECORDS,
    OLDEST_FIRST,
    Deployment,
    Project,
    ProjectList,
    Records,
    Timeline,
    timeline_of,
    timestamp,
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
    UnknownProject,
    random_id,
    utc_now,
)

from . import scripts
from .clock import OwnClock, SharedClock
from .rows import (
    deployment_row,
    deployment_text,
    places,
    project_row,
    project_text,
    read_deployment,
    read_project,
    read_time,
)
from .server import RedisConnection, keys_of, log, readable

BATCH = 1000  # records written at once
LIFETIME = 60  # seconds until Redis removes new records that were never put in place
MAX_MOVED = 10_000  # deployments from which one script removes those of projects
MAX_REPEATS = 40  # of a script that wrote nothing
MAX_REWRITES = 5  # of all records of a world, if others change them meanwhile
SKEW = timedelta(seconds=1)  # between the clocks of machines that share a server

NO_IDS: Mapping[str, int] = {}
CONFLICTS: dict[bytes, type[Exception]] = {
    b"taken": NameTaken,
    b"full": StoreFull,
    b"unknown": UnknownProject,
}


class RedisStore:
    """The store of a world, in keys of its own."""

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
        self._clock = clock if isinstance(clock, SharedClock) else OwnClock(clock)
        self._new_id = new_id
        # What the source of the ids would now make in place of an id that was not used.
        self._renew: Callable[[str], str] = getattr(new_id, "renew", lambda unused: unused)
        self._pace = pace
        self._timeline = timeline_of(pace)
        self._max_projects = max_projects
        self._initial = records
        self._spare_ids: dict[str, deque[str]] = {"prj": deque(), "dpl": deque()}
        self._listed: tuple[bytes, tuple[Project, ...], ProjectList] = b"", (), ProjectList()

    def list_projects(self) -> ProjectList:
        epoch, known, listed = self._listed
        last = project_row(known[-1]) if known else ""
        arguments = [epoch, len(known), last]
        _, (new_epoch, start, rows) = self._call(scripts.LIST, lambda _: arguments)
        if start == len(known) and not rows:
            return listed
        with readable(self._keys[1]):
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
        with readable(self._keys[3]):
            return None if row is None else read_deployment(row)

    def records(self) -> Records:
        return self._read_all()[1]

    def _read_all(self) -> tuple[datetime, Records, str]:
        """The time, all records, and their version: any change of the records changes it."""
        now, (projects, deployments, version) = self._call(scripts.ALL, lambda _: [])
        with readable(self._keys[1]):
            by_time = sorted(map(read_project, projects), key=OLDEST_FIRST)
        with readable(self._keys[3]):
            by_age = sorted(
                map(read_deployment, deployments), key=lambda each: (each.created_at, each.id)
            )
        return now, Records(tuple(by_time), tuple(by_age)), version.decode()

    def reset(self, records: Records | None = None) -> None:
        if records is not None:
            self._replace(records, "replace", truncate_to_milliseconds(self._clock()))
            return
        with self._server.available() as client:
            client.unlink(*self._keys)

    def add(self, records: Records, made_at: datetime | None = None) -> None:
        if len(records.projects) + len(records.deployments) > BATCH:
            self._rewrite(lambda store: store.add(records, made_at))
            return

        def arguments(now: datetime) -> list[Any]:
            values = [self._max_projects, deployment_text(now, self._timeline)]
            values += [len(records.projects), len(records.deployments)]
            for each in records.dated(made_at, now).projects:
                text = project_text(each.name, each.created_at, each.sent)
                values += [each.id, each.name, each.latest_deployment_id, text]
            for one in records.deployments:
                text = deployment_text(one.created_at or now, one.timeline)
                values += [one.id, one.project_id or "", text]
            return values

        self._call(scripts.ADD, arguments, {"dpl": 0})

    def _rewrite(self, change: Callable[[MemoryStore], None]) -> None:
        """Change a copy in memory, write it in steps, and put it in place if nothing changed.

        A script that changed so many records would hold Redis up.
        """
        for _ in range(MAX_REWRITES):
            now, present, version = self._read_all()
            known = self._clock.text
            store = MemoryStore(
                lambda now=now: now,  # type: ignore[misc]
                self._draw_id,
                pace=self._pace,
                max_projects=self._max_projects,
                records=present,
            )
            change(store)
            if self._replace(store.records(), "change", now, known, version) == b"ok":
                return
        log.error("many records were not changed: other requests changed the world meanwhile")
        raise StoreUnavailable

    def remove_projects(self) -> None:
        arguments = [token_hex(8), MAX_MOVED]
        _, (is_done,) = self._call(scripts.REMOVE_PROJECTS, lambda _: arguments)
        if not is_done:
            self._rewrite(MemoryStore.remove_projects)

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
        the current clock setting, with the time after a later change, or with more than the
        `wanted` number of new ids. A clock that is a little behind that of the later change has
        its time, so that no project enters the middle of a list; one that is far behind was set
        back, and is taken as it is.
        """
        drawn = {prefix: [self._draw_id(prefix) for _ in range(n)] for prefix, n in wanted.items()}
        used: list[bytes] = []
        last: datetime | None = None
        try:
            for _ in range(MAX_REPEATS):
                known = self._clock.text  # read before the time: an older text is corrected
                now = truncate_to_milliseconds(self._clock())
                if last and last - SKEW < now < last:
                    now = last  # the clock of another machine is ahead
                values = [f"{timestamp(now)} {timestamp(last) if last else '-'} {known}"]
                values += arguments(now)
                values += chain.from_iterable(drawn.values())
                with self._server.available(self._keys) as client:
                    run = client.register_script(scripts.PRELUDE + script)
                    status, *reply = run(self._keys, values)
                if status == b"absent":
                    self._replace(self._initial, "new", now, known)
                elif status == b"clock":
                    self._remember_clock(known, reply[0])
                elif status == b"late":
                    with readable(self._keys[0]):
                        last = read_time(reply[0].decode().replace("Z", "+00:00"))
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
            return self._renew(self._spare_ids[prefix].popleft())
        except IndexError:
            return self._new_id(prefix)

    def _keep_unused(self, drawn: dict[str, list[str]], used: list[bytes]) -> None:
        """Keep the ids that no record took, so that a rejected create takes no number."""
        for prefix, ids in drawn.items():
            first = max((at + 1 for at, each in enumerate(ids) if each.encode() in used), default=0)
            self._spare_ids[prefix].extendleft(reversed(ids[first:]))

    def _remember_clock(self, known: str, text: bytes) -> None:
        """Correct the clock setting, which was `known`."""
        with readable(self._keys[0]):
            self._clock.remember(known, text.decode())

    def _replace(
        self, records: Records, mode: str, now: datetime, known: str = "", version: str = ""
    ) -> bytes:
        """Write the records under new keys, then put these in place in one step.

        Returns `ok`, or why nothing was put in place.
        """
        epoch = token_hex(8)
        projects, index, deployments = new_keys = [f"{key}:{epoch}" for key in self._keys[1:]]
        counts = len(records.projects), len(records.deployments)
        for start in range(0, max(counts), BATCH):
            with self._server.available() as client, client.pipeline() as pipe:
                if some := records.projects[start : start + BATCH]:
                    pipe.rpush(projects, *map(project_row, some))
                    pipe.hset(index, mapping=places(some, start))
                if ones := records.deployments[start : start + BATCH]:
                    texts: dict[Any, Any] = {
                        each.id: deployment_row(each.with_start(now)) for each in ones
                    }
                    pipe.hset(deployments, mapping=texts)
                for key in new_keys:
                    pipe.expire(key, LIFETIME)
                pipe.execute()
        with self._server.available(self._keys) as client:
            swap = client.register_script(scripts.SWAP)
            values: list[Any] = [mode, epoch, *counts, known, timestamp(now), version]
            status, *reply = swap([*self._keys, *new_keys], values)
        if status == b"clock":
            self._remember_clock(known, reply[0])
        if status == b"lost":  # Redis was started anew meanwhile
            raise StoreUnavailable
        return bytes(status)
