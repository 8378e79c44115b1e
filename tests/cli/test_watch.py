"""--watch reads the files of the start anew when they change."""

import errno
import json
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import Client, TestResponse

from cli.apps import Served
from cli.files import with_files
from cli.options import Settings
from cli.watch import Watch, stamps_of
from stub import Options, create_stub
from stub.redaction import Redactor
from tests.conftest import ROOT, TOKEN, eventually
from tests.program import run
from tests.wire import call

PREVIOUS = "the previous files stay in use\n"


class Watched:
    """An app whose files are looked at."""

    def __init__(self, **given: Any) -> None:
        self.error: OSError | None = None  # of the next app
        settings = Settings(**given)
        stamps = stamps_of(settings)
        read = with_files(settings)
        self.redactor = Redactor(read.secrets)
        self.served = Served(self.make(read))
        self.watch = Watch(self.served, settings, stamps, self.make, self.redactor)

    def make(self, settings: Settings) -> Flask:
        if self.error:
            raise self.error
        return create_stub(replace(settings.options, redactor=self.redactor))

    def look_twice(self) -> None:
        self.watch.look()
        self.watch.look()

    def send(self, path: str, token: str = TOKEN, **more: Any) -> TestResponse:
        client = Client(self.served)
        return client.open(path, headers={"Authorization": f"Bearer {token}"}, **more)

    def names(self, token: str = TOKEN) -> list[str]:
        projects = self.send("/v1/projects", token).json["projects"]
        return [each["name"] for each in projects]

    def create(self, name: str, token: str = TOKEN) -> None:
        self.send("/v1/projects", token, method="POST", json={"name": name})


def seed_with(name: str) -> str:
    return json.dumps({"projects": [{"name": name}]})


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    path = tmp_path / "seed.json"
    path.write_text(seed_with("first"))
    return path


def test_all_worlds_begin_anew_with_a_changed_seed(
    seed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(seed=seed)
    worlds = (TOKEN, f"{TOKEN}.job")
    for name in ("second", "third"):
        for token in worlds:
            watched.create("own", token)
        beside = seed.with_name("beside")  # as an editor replaces a file
        beside.write_text(seed_with(name))
        beside.replace(seed)
        watched.look_twice()
        assert [watched.names(token) for token in worlds] == [[name], [name]]
    assert capsys.readouterr().err == 2 * f"read {seed}: all worlds begin anew\n"


def test_a_file_is_read_once_it_stays_as_it_is(
    seed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(seed=seed)
    for text in ("", '{"projects": [', seed_with("whole")):
        seed.write_text(text)
        watched.watch.look()
        assert watched.names() == ["first"]
    watched.watch.look()
    assert watched.names() == ["whole"]
    watched.create("own")
    watched.look_twice()
    assert watched.names() == ["whole", "own"]  # it is not read again
    assert capsys.readouterr().err.count("\n") == 1


INVALID = [
    ('{"projects": [{"name": 1}, {}]}', ["/projects/0/name: must", "/projects/1/name: is req"]),
    ("", ["line 1, column 1: The text is empty"]),
    (None, ["No such file or directory"]),
]


def test_what_is_invalid_is_reported_and_changes_nothing(
    seed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(seed=seed)
    watched.create("own")
    for text, reasons in INVALID:
        if text is None:
            seed.unlink()
        else:
            seed.write_text(text)
        watched.look_twice()
        *errors, last = capsys.readouterr().err.splitlines(keepends=True)
        assert last == PREVIOUS
        for error, reason in zip(errors, reasons, strict=True):
            assert error.startswith(f"error: {seed}: {reason}")
        assert watched.names() == ["first", "own"]
    watched.error = OSError(errno.ENOSPC, "No space left on device")
    seed.write_text(seed_with("full"))
    watched.look_twice()
    error = "error: [Errno 28] No space left on device\n"
    assert capsys.readouterr().err == error + PREVIOUS
    watched.error = None
    seed.write_text(seed_with("again"))
    watched.look_twice()
    assert watched.names() == ["again"]


def test_a_profile_and_states_are_watched_too(tmp_path: Path) -> None:
    like, states = tmp_path / "like.json", tmp_path / "states.json"
    text = (ROOT / "tests" / "services" / "kernel.json").read_text("utf-8")
    like.write_text(text)
    states.write_text("{}")
    watched = Watched(like=like, states=states)
    like.write_text(json.dumps({**json.loads(text), "observed_at": "2020-02-02"}))
    watched.look_twice()
    assert watched.send("/_stub/like").json["profile"]["observed_at"] == "2020-02-02"
    states.write_text('{"new": {}}')
    watched.look_twice()
    change = watched.send("/_stub/pact", method="POST", json={"state": "new"})
    assert change.status_code == 200


def test_watched_tokens_are_replaced_and_the_worlds_stay(
    seed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = seed.with_name("tokens")
    file.write_text("team-a=secret-a\nsecret-b")
    file.chmod(0o604)
    watched = Watched(token_file=file, seed=seed, options=Options(tokens=()))

    def statuses() -> list[int]:
        tokens = ("secret-a", "secret-b", "secret-new")
        return [watched.send("/v1/projects", token).status_code for token in tokens]

    watched.create("kept", "secret-a.job")
    file.write_text("team-a=secret-new\nteam-a=secret-a")  # both, while clients change
    watched.look_twice()
    assert statuses() == [200, 401, 200]
    assert watched.names("secret-new.job") == ["first", "kept"]
    warning = f"warning: --token-file: every user of this machine can read {file}"
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(warning)
    assert last == f"read {file}: 2 tokens from now on"
    file.write_text("team-a=secret new")
    watched.look_twice()
    assert PREVIOUS in capsys.readouterr().err
    file.write_text("team-a=secret-new")
    watched.look_twice()
    assert statuses() == [401, 401, 200]
    watched.send("/v1/projects?secret-a&secret-new&secret-b", "secret-new.job")
    requests = watched.send("/_stub/requests", "secret-new.job").json["requests"]
    assert requests[-1]["query"] == "***&***&***"  # also the previous ones
    assert watched.redactor.text("secret-b") == "***"
    seed.write_text(seed_with("second"))  # with which the current tokens stay valid
    watched.look_twice()
    assert statuses() == [401, 401, 200]
    assert watched.names("secret-new") == ["second"]


def test_over_a_store_the_tokens_alone_are_watched(seed: Path) -> None:
    tokens = seed.with_name("tokens")
    given = Settings(seed=seed, token_file=tokens, store="redis://127.0.0.1")
    assert stamps_of(given) == {tokens: None}


@pytest.mark.process
def test_a_change_while_a_file_is_read_for_the_start_is_read_later(seed: Path) -> None:
    def create(options: Options) -> Flask:
        if "first" in seed.read_text():  # it has been read
            seed.write_text(seed_with("later"))
        return create_stub(options)

    def is_read(url: str) -> bool:
        return b"later" in call(url, "/v1/projects").data

    def ask(url: str) -> None:
        assert not is_read(url)
        eventually(partial(is_read, url))

    run("--watch", "--seed", str(seed), during=ask, create_stub=create)


@pytest.mark.process
def test_a_watch_that_fails_ends_the_program(seed: Path) -> None:
    failed = threading.Event()

    def create(options: Options) -> Flask:
        if "first" not in seed.read_text():
            failed.set()
            raise LookupError("a mistake")
        seed.write_text("{}")
        return create_stub(options)

    with pytest.raises(LookupError, match="a mistake"):
        run("--watch", "--seed", str(seed), create_stub=create, during=lambda url: failed.wait(20))
