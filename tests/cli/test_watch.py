"""--watch reads the files of the start anew when they change."""

import errno
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from cli.watch import Watch
from stub import Options, create_stub
from tests.conftest import ROOT, eventually
from tests.program import finished, run
from tests.wire import call

pytestmark = pytest.mark.process

SERVICES = ROOT / "tests" / "services"


def watch(during: Callable[[str], Any], *options: str) -> list[str]:
    """The lines of stderr about the files, of a program that watches them."""
    done = run("--quiet", "--watch", *options, during=during)
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
        for number in range(1, 6):
            for token in ("dev-token", "dev-token.job"):
                call(url, "/v1/projects", body=b'{"name": "own"}', token=token)
            beside = tmp_path / "beside"  # as an editor replaces a file
            beside.write_text(json.dumps({"projects": [{"name": f"{number}"}]}))
            beside.replace(seed)
            eventually(partial(is_listed, url, f"{number}"))
            assert listed(url, "dev-token.job") == [f"{number}"]

    assert watch(ask, "--seed", str(seed)) == 5 * [f"read {seed}: all worlds begin anew"]


def test_what_is_invalid_is_reported_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "valid"}]}')
    said: list[str] = []
    monkeypatch.setattr("cli.watch.say", said.append)

    def ask(url: str) -> None:
        call(url, "/v1/projects", body=b'{"name": "own"}')
        for number, text in enumerate(('{"projects": [{"name": 1}, {}]}', "", None), 1):
            if text is None:
                seed.unlink()
            else:
                seed.write_text(text)
            eventually(partial(has_said, said, number))
            assert listed(url) == ["valid", "own"]
        seed.write_text('{"projects": [{"name": "again"}]}')
        eventually(partial(is_listed, url, "again"))

    lines = watch(ask, "--seed", str(seed))
    assert [line.removeprefix(f"error: {seed}: ").split(" of ")[0] for line in lines] == [
        "/projects/0/name: must be a string",
        "/projects/1/name: is required",
        "line 1, column 1: The text is empty",
        "No such file or directory",
    ]
    previous = "the previous files stay in use\n"
    assert said == [previous, previous, previous, f"read {seed}: all worlds begin anew\n"]


def has_said(said: list[str], times: int) -> bool:
    return len(said) == times


def test_a_file_is_read_once_it_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "pause", 0.15)  # a busy machine may stop the writer for a while
    seed = tmp_path / "seed.json"
    seed.write_text("{}")

    def ask(url: str) -> None:
        begun = time.monotonic()
        with seed.open("w") as file:
            file.write('{"projects": [')
            while time.monotonic() < begun + 0.7:  # in which the program looks four times
                file.write(" ")
                file.flush()
            file.write('{"name": "whole"}]}')
        eventually(lambda: listed(url) == ["whole"])

    assert watch(ask, "--seed", str(seed)) == [f"read {seed}: all worlds begin anew"]


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


# Changes its seed once it is read; the app of the changed one cannot be made.
FAILING = """
import os, sys
from pathlib import Path
from stub import create_stub
from cli.main import main

def create(options):
    seed = Path("seed.json")
    if seed.read_text() == "{}":
        seed.write_text("{ }")
        return create_stub(options)
    raise LookupError("a mistake")

sys.exit(main(create, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
"""


def test_a_watch_that_fails_ends_the_program(tmp_path: Path) -> None:
    (tmp_path / "seed.json").write_text("{}")
    words = ("--port", "0", "--watch", "--seed", "seed.json")
    env = {"PYTHONPATH": str(ROOT)}
    done = finished("-c", FAILING, *words, cwd=tmp_path, env=env)
    assert done.status == 1
    assert done.stderr.endswith("LookupError: a mistake\n")


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

    done = run("--watch", "--seed", str(seed), during=ask, create_stub=create)
    said = "error: [Errno 28] No space left on device\nthe previous files stay in use\n"
    assert said in done.stderr
