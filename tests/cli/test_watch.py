"""--watch reads the files of the start anew when they change."""

import errno
import io
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path, PosixPath
from typing import Any, ClassVar

import pytest
from flask import Flask

from cli.apps import Served
from cli.main import main
from cli.options import Settings
from cli.watch import Watch, stamps_of
from stub import Options, create_stub
from stub.redaction import Redactor
from tests.cli.conftest import said
from tests.conftest import ROOT, eventually
from tests.program import environment, process_state, run
from tests.wire import call

pytestmark = pytest.mark.process

SERVICES = ROOT / "tests" / "services"


def watch(during: Callable[[str], Any], *options: str, **more: Any) -> list[str]:
    """The lines of stderr about the files, of a program that watches them."""
    done = run("--quiet", "--watch", *options, during=during, **more)
    starts = ("read ", "error: ", "the previous")
    return [line for line in done.stderr.splitlines() if line.startswith(starts)]


def listed(url: str, token: str = "dev-token") -> list[str]:
    projects = call(url, "/v1/projects", token=token).json["projects"]
    return [each["name"] for each in projects]


def is_listed(url: str, name: str) -> bool:
    return listed(url) == [name]


def test_all_worlds_begin_anew_with_a_changed_seed(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "0"}]}')

    def ask(url: str) -> None:
        for number in (1, 2):
            for token in ("dev-token", "dev-token.job"):
                call(url, "/v1/projects", body=b'{"name": "own"}', token=token)
            beside = tmp_path / "beside"  # as an editor replaces a file
            beside.write_text(json.dumps({"projects": [{"name": f"{number}"}]}))
            beside.replace(seed)
            eventually(partial(is_listed, url, f"{number}"))
            assert listed(url, "dev-token.job") == [f"{number}"]

    assert watch(ask, "--seed", str(seed)) == 2 * [f"read {seed}: all worlds begin anew"]


PREVIOUS = "the previous files stay in use"


def test_what_is_invalid_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "valid"}]}')

    def ask(url: str) -> None:
        call(url, "/v1/projects", body=b'{"name": "own"}')
        for number, text in enumerate(('{"projects": [{"name": 1}, {}]}', "", None), 1):
            if text is None:
                seed.unlink()
            else:
                seed.write_text(text)
            eventually(partial(has_said, PREVIOUS, number))
            assert listed(url) == ["valid", "own"]
        seed.write_text('{"projects": [{"name": "again"}]}')
        eventually(partial(is_listed, url, "again"))

    lines = watch(ask, "--seed", str(seed))
    assert [line.removeprefix(f"error: {seed}: ").split(" of ")[0] for line in lines] == [
        "/projects/0/name: must be a string",
        "/projects/1/name: is required",
        PREVIOUS,
        "line 1, column 1: The text is empty",
        PREVIOUS,
        "No such file or directory",
        PREVIOUS,
        f"read {seed}: all worlds begin anew",
    ]


def has_said(line: str, times: int) -> bool:
    return said().count(line) == times


class Growing(PosixPath):
    """A file to which another program writes a piece whenever somebody looks at it."""

    pieces: ClassVar[list[str]] = []

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.pieces:
            with self.open("a") as file:
                file.write(self.pieces.pop(0))
        return super().stat(follow_symlinks=follow_symlinks)


def test_a_file_is_read_once_it_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = Growing(tmp_path / "seed.json")
    seed.write_text("")
    given = Settings(seed=seed)
    made: list[Settings] = []

    def make(settings: Settings) -> Flask:
        made.append(settings)
        return create_stub(settings.options)

    watch = Watch(Served(create_stub()), given, stamps_of(given), make, Redactor([]))
    seed.pieces.extend(['{"projects": [', " ", " ", '{"name": "whole"}', "]}"])
    watch.start(lambda: None)
    eventually(lambda: bool(made))
    watch.end()
    assert [len(each.options.seed.projects) for each in made] == [1]
    eventually(lambda: capsys.readouterr().err == f"read {seed}: all worlds begin anew\n")


def test_a_profile_and_states_are_watched_too(tmp_path: Path) -> None:
    like, states = tmp_path / "like.json", tmp_path / "states.json"
    like.write_bytes((SERVICES / "kernel.json").read_bytes())
    states.write_text("{}")

    def ask(url: str) -> None:
        profile = json.loads(like.read_bytes())
        profile["observed_at"] = "2020-02-02"
        like.write_text(json.dumps(profile))
        states.write_text('{"new": {}}')
        change = b'{"state": "new"}'
        eventually(lambda: call(url, "/_stub/pact", body=change).status_code == 200)
        eventually(lambda: call(url, "/_stub/like").json["profile"]["observed_at"] == "2020-02-02")

    lines = watch(ask, "--like", str(like), "--states", str(states))
    assert {line.partition(": ")[2] for line in lines} == {"all worlds begin anew"}


def test_a_change_while_a_file_is_read_for_the_start_is_read_later(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text("{}")

    def create(options: Options) -> Flask:
        if seed.read_text() == "{}":  # it has been read
            seed.write_text('{"projects": [{"name": "later"}]}')
        return create_stub(options)

    def ask(url: str) -> None:
        eventually(partial(is_listed, url, "later"))

    run("--quiet", "--watch", "--seed", str(seed), during=ask, create_stub=create)


def test_a_watch_that_fails_ends_the_program(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text("{}")

    def create(options: Options) -> Flask:
        if seed.read_text() != "{}":
            raise LookupError("a mistake")
        seed.write_text("{ }")
        return create_stub(options)

    words = ["--watch", "--seed", str(seed)]
    environ = environment({"STUB_PORT": "0"})
    with process_state(), pytest.raises(LookupError, match="a mistake"):
        main(create, words, environ, io.StringIO(), io.StringIO())


def test_a_watch_goes_on_after_an_error_of_the_system(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "first"}]}')
    failed: list[str] = []

    def create(options: Options) -> Flask:
        text = seed.read_text()
        if "full" in text:
            failed.append(text)
            raise OSError(errno.ENOSPC, "No space left on device")
        return create_stub(options)

    def ask(url: str) -> None:
        seed.write_text('{"projects": [{"name": "full"}]}')
        eventually(lambda: bool(failed))
        assert is_listed(url, "first")
        seed.write_text('{"projects": [{"name": "last"}]}')
        eventually(partial(is_listed, url, "last"))

    lines = watch(ask, "--seed", str(seed), create_stub=create)
    assert lines[:2] == ["error: [Errno 28] No space left on device", PREVIOUS]
