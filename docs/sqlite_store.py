"""A store on SQLite, and the program with it; docs/development.md has the command."""

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from threading import Lock

from app import create_app
from cli.main import main
from records import (
    Deployment,
    Project,
    ProjectList,
    Records,
    Stage,
    TimelineFor,
    truncate_to_milliseconds,
)
from store import Clock, NameTaken, NewId, StoreFull, StoreUnavailable, unused_id

sqlite3.register_adapter(datetime, lambda time: time.isoformat(timespec="milliseconds"))
sqlite3.register_converter("time", lambda text: datetime.fromisoformat(text.decode()))
sqlite3.register_adapter(tuple, json.dumps)
sqlite3.register_converter("stages", lambda text: tuple(Stage(*s) for s in json.loads(text)))

PROJECTS = "projects (id PRIMARY KEY, name, created_at TIME, latest_deployment_id, sent)"
DEPLOYMENTS = "deployments (id PRIMARY KEY, project_id, created_at TIME, timeline STAGES)"
INSERT_PROJECT = "INSERT INTO projects VALUES (?, ?, ?, ?, ?)"
INSERT_DEPLOYMENT = "INSERT INTO deployments VALUES (?, ?, ?, ?)"


class SqliteStore:
    def __init__(
        self,
        path: str,
        clock: Clock,
        new_id: NewId,
        *,
        timeline_for: TimelineFor,
        max_projects: int,
        records: Records,
        world: str,
    ) -> None:
        self.now = clock
        self.new_id = new_id
        self.timeline_for = timeline_for
        self.max_projects = max_projects
        self.lock = Lock()
        self.connection = sqlite3.connect(
            path,
            detect_types=sqlite3.PARSE_DECLTYPES,
            isolation_level=None,
            check_same_thread=False,
        )
        with self.transaction() as run:
            if not run("SELECT 1 FROM sqlite_master").fetchone():
                run(f"CREATE TABLE {PROJECTS}")
                run(f"CREATE TABLE {DEPLOYMENTS}")
                for project in records.projects:
                    run(INSERT_PROJECT, project)
                for deployment in records.deployments:
                    run(INSERT_DEPLOYMENT, deployment.with_start(clock()))

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        try:
            with self.lock, self.connection:  # which commits, or rolls back
                self.connection.execute("BEGIN IMMEDIATE")
                yield self.connection.execute
        except sqlite3.OperationalError as error:
            raise StoreUnavailable from error

    def list_projects(self) -> ProjectList:
        with self.transaction() as run:
            rows = run("SELECT * FROM projects ORDER BY created_at, rowid").fetchall()
        return ProjectList(Project(*row) for row in rows)

    def create_project(self, name: str, sent: str) -> Project:
        with self.transaction() as run:
            if run("SELECT 1 FROM projects WHERE name = ?", [name]).fetchone():
                raise NameTaken
            if run("SELECT count(*) FROM projects").fetchone()[0] >= self.max_projects:
                raise StoreFull
            now = truncate_to_milliseconds(self.now())
            used = run("SELECT id FROM projects UNION SELECT id FROM deployments")
            taken = {row[0] for row in used}
            project_id = unused_id(self.new_id, "prj", name, taken)
            deployment_id = unused_id(self.new_id, "dpl", project_id, taken)
            project = Project(project_id, name, now, deployment_id, sent)
            run(INSERT_PROJECT, project)
            timeline = self.timeline_for(name)
            run(INSERT_DEPLOYMENT, Deployment(deployment_id, project_id, now, timeline))
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self.transaction() as run:
            row = run("SELECT * FROM deployments WHERE id = ?", [deployment_id]).fetchone()
        return Deployment(*row) if row else None


if __name__ == "__main__":
    create = partial(create_app, new_store=partial(SqliteStore, "projects.db"))
    sys.exit(main(create, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
