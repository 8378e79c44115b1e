"""The program as a process of its own: what starts, ends and surrounds it."""

import gc
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app import create_app
from cli.startup import prepare
from tests.conftest import ROOT
from tests.program import FAILING, finished, process, program, ready_url, run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process


def test_it_serves_with_closed_streams() -> None:
    with program() as (running, url):
        running.stdout.close()
        running.stderr.close()
        for _ in range(3):
            assert call(url, "/v1/projects").status_code == 200
        running.terminate()
        assert running.wait(20) == 0


def test_it_starts_without_standard_streams(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text("{}")
    closed = "import os, sys; os.closerange(0, 3); os.execv(sys.executable, sys.argv[1:])"
    words = [sys.executable, "app.py", "--seed", str(seed), "--", "sh", "-c", "exit 7"]
    with process("-c", closed, *words) as running:
        assert running.wait(20) == 7


def test_a_message_shows_a_name_that_is_not_utf8() -> None:
    done = finished("app.py", "--seed", os.fsdecode(b"\xff.json"))
    assert done.status == 2
    assert done.stderr == "error: \\udcff.json: No such file or directory\n"


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    for name in ("flask", "waitress"):
        done = finished("-S", "app.py", env={"PYTHONPATH": str(tmp_path)})
        assert done.status == 2
        command = f'"{sys.executable}" -m pip install -r "{ROOT / "requirements.txt"}"'
        assert done.stderr == f"error: {name} is not installed: run `{command}`\n"
        (tmp_path / f"{name}.py").touch()


def test_an_old_python_is_told_which_to_use() -> None:
    code = "import runpy, sys; sys.version_info = 3, 9; runpy.run_path('app.py', None, '__main__')"
    done = finished("-c", code, "--version")
    assert done.status == 2
    assert done.stderr.startswith("error: Python 3.10 or newer is needed: this is 3.")


def test_garbage_is_not_collected_until_the_app_is_made() -> None:
    collecting = []

    def create(**options: Any) -> Flask:
        collecting.append(gc.isenabled())
        return create_app(**options)

    handler = signal.getsignal(signal.SIGINT)
    prepare()
    signal.signal(signal.SIGINT, handler)
    run("--quiet", create_app=create)
    assert (collecting, gc.isenabled()) == ([False], True)


def test_it_starts_through_a_link_and_in_isolated_mode(tmp_path: Path) -> None:
    link = tmp_path / "linked.py"
    link.symlink_to(ROOT / "app.py")
    with process("-I", str(link), "--port", "0", "--quiet") as running:
        assert call(ready_url(running), "/openapi.json").json["openapi"] == "3.1.0"
        running.terminate()


def test_ctrl_c_during_the_imports_ends_quietly(tmp_path: Path) -> None:
    module = tmp_path / "waitress.py"
    module.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = finished("app.py", env={"PYTHONPATH": str(tmp_path)})
    assert (done.status, done.stderr) == (130, "")


def test_ctrl_c_while_a_seed_is_read_ends_quietly(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    os.mkfifo(seed)
    env = {"PYTHONWARNINGS": "ignore"}  # the signal may come in open(), which leaves a file open
    # The file can be opened when the program reads it.
    with process("app.py", "--seed", str(seed), env=env) as running, seed.open("w"):
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=20)
    assert (running.returncode, stdout, stderr.strip()) == (130, "", "")


def test_a_failure_of_the_running_server_says_what_failed() -> None:
    words = ("-c", FAILING, "--port", "0", "--quiet")
    with process(*words) as failing, Connection(port_of(ready_url(failing))) as client:
        client.send(get("/fail"))
        _, stderr = failing.communicate(timeout=30)
    *_, line = stderr.splitlines()
    assert line == "error: the server failed: [Errno 22] Invalid argument"
    assert failing.returncode == 1


def test_threads_that_cannot_be_started_are_a_failure_of_the_server() -> None:
    previous = threading.stack_size(1 << 46)
    try:
        done = run(create_app=lambda **options: Flask(__name__))
    finally:
        threading.stack_size(previous)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: the server failed: can't start new thread\n"
