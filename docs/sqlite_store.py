"""The service with a store on SQLite; docs/development.md has the command."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Lock
from weakref import finalize

from flask import Flask

import app
from auth import allow_list
from records import Deployment, Project, ProjectList, Stage, make_timeline, truncate_to_milliseconds
from store import PACE, NameTaken, StoreUnavailable, random_id, utc_now

sqlite3.register_adapter(datetime, lambda time: time.isoformat(timespec="milliseconds"))
sqlite3.register_converter("time", lambda text: datetime.fromisoformat(text.decode()))
sqlite3.register_adapter(tuple, json.dumps)
sqlite3.register_converter("stages", lambda text: tuple(Stage(*s) for s in json.loads(text)))

PROJECTS = "projects (id PRIMARY KEY, name UNIQUE, created_at TIME, latest_deployment_id, sent)"
DEPLOYMENTS = "deployments (id PRIMARY KEY, project_id, created_at TIME, timeline STAGES)"


class SqliteStore:
    now = staticmethod(utc_now)

    def __init__(self, path: str, pace: float = PACE) -> None:
        self.timeline = make_timeline(pace)
        self.lock = Lock()
        self.connection = sqlite3.connect(
            path, detect_types=sqlite3.PARSE_DECLTYPES, check_same_thread=False
        )
        finalize(self, self.connection.close)
        with self.transaction() as run:
            run(f"CREATE TABLE IF NOT EXISTS {PROJECTS}")
            run(f"CREATE TABLE IF NOT EXISTS {DEPLOYMENTS}")

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        try:
            with self.lock, self.connection:  # The connection commits or rolls back.
                yield self.connection.execute
        except sqlite3.OperationalError as error:
            raise StoreUnavailable from error

    def list_projects(self) -> ProjectList:
        with self.transaction() as run:
            rows = run("SELECT * FROM projects ORDER BY created_at, rowid").fetchall()
        return ProjectList(Project(*row) for row in rows)

    def create_project(self, name: str, sent: str) -> Project:
        now = truncate_to_milliseconds(self.now())
        deployment = Deployment(random_id("dpl"), random_id("prj"), now, self.timeline)
        project = Project(str(deployment.project_id), name, now, deployment.id, sent)
        try:
            with self.transaction() as run:
                run("INSERT INTO projects VALUES (?, ?, ?, ?, ?)", project)
                run("INSERT INTO deployments VALUES (?, ?, ?, ?)", deployment)
        except sqlite3.IntegrityError:
            raise NameTaken from None
        return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self.transaction() as run:
            row = run("SELECT * FROM deployments WHERE id = ?", [deployment_id]).fetchone()
        return Deployment(*row) if row else None


def create_app() -> Flask:
    return app.create_app(allow_list(SqliteStore("projects.db")))
