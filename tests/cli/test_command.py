"""`app.py -- COMMAND`: the program serves for a command, and exits with its status."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

import pytest
from flask import Flask

from cli.command import Command
from stub import Options
from tests.cli.conftest import has_ended, script
from tests.conftest import eventually
from tests.program import CLIENT, process, program, run
from tests.wire import call

pytestmark = pytest.mark.process

Capture = pytest.CaptureFixture[str]

SHOWS = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"


def test_the_command_has_its_words_and_its_variables(capfd: Capture) -> None:
    env = {
        "STUB_TOKEN": "one-token two",
        "STUB_URL": "http://elsewhere",
        "STUB_ENV": "FROM_LIST={port}\nTWICE=1\nTWICE=2 {token}.job",
        "OTHER": "kept",
        "PYTHONUTF8": "1",
    }
    words = ["a b", "$HOME", "*", "--", "--port", "", "'", "ü"]
    done = run("--", sys.executable, "-c", SHOWS, *words, env=env)
    url = done.stderr.splitlines()[0].removeprefix("listening on ")
    found, variables = json.loads(capfd.readouterr().out)
    assert found == words
    assert not url.endswith(":8080")  # but a free port
    shown = [variables[name] for name in ("STUB_URL", "STUB_TOKEN", "OTHER", "TWICE")]
    assert shown == [url, "one-token", "kept", "2 one-token.job"]
    assert url.endswith(f":{variables['FROM_LIST']}")
    gate = ["--fail-on", "idle,violations", "--allow", "idle: a*", "--allow", "idle: b*"]
    options = [
        *gate,
        "--env",
        'JSON={"url": "{url}/v1", "a": {}}',
        "--env",
        "STUB_URL=x",
        "--env",
        "E=",
    ]
    run(*options, "--", sys.executable, "-c", SHOWS, env={"E": "of the caller"})
    _, variables = json.loads(capfd.readouterr().out)
    assert json.loads(variables["JSON"])["url"].endswith("/v1")
    assert (variables["STUB_URL"], variables["E"]) == ("x", "")
    assert (variables["STUB_FAIL_ON"], variables["STUB_ALLOW"]) == (
        "idle,violations",
        "idle: a*\nidle: b*",
    )


def test_a_port_that_is_given_is_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("--", "true", env={"STUB_PORT": port})
    assert done.status == 2
    assert f"port {port}" in done.stderr
    assert "Give another --port" in done.stderr


def test_its_status_is_that_of_a_shell_and_what_it_leaves_still_runs(capfd: Capture) -> None:
    for words, status, said in (
        (["no-such-command"], 127, "error: no-such-command: No such file or directory\n"),
        (["/etc/passwd"], 126, "error: /etc/passwd: Permission denied\n"),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL, ""),
        (["sh", "-c", "sleep 60 & echo $!; exit 3"], 3, ""),
    ):
        done = run("--", *words)
        assert (done.status, said in done.stderr) == (status, True)
    os.kill(int(capfd.readouterr().out), signal.SIGKILL)


def test_a_run_with_a_limit_is_ended_with_its_group() -> None:
    with tempfile.TemporaryFile() as file:
        command = Command(["sh", "-c", "sleep 60 & echo $!; sleep 60"], os.environ)
        assert command.run(file, 1.0) == 128 + signal.SIGKILL
        file.seek(0)
        pid = file.read().decode()
    eventually(partial(has_ended, pid.strip()))


def test_a_parent_that_ignores_the_end_of_its_children_makes_no_failure_a_success(
    tmp_path: Path,
) -> None:
    file = tmp_path / "report.xml"
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        for options in ((), ("--probe", "ids"), ("--report", str(file))):
            assert run(*options, "--", "sh", "-c", "exit 3").status == 3
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGCHLD, previous)
    assert "the command has ended with status 3" in file.read_text("utf-8")


# What fails beside the command


# Lets the server fail, and waits for a signal.
FAILS = """
signal.signal(signal.SIGTERM, lambda *_: os._exit(os.write(1, b'SIGTERM')))
try:
  call('/')
except Exception:
  pass
signal.pause()
"""


def test_the_command_is_ended_when_the_server_fails(capfd: Capture) -> None:
    """Its app takes all file descriptors from the process: poll() fails from then on."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)

    def create_failing(options: Options) -> Flask:
        app = Flask("failing")

        @app.get("/")
        def fail() -> str:
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
            return "soon"

        return app

    try:
        done = run("--quiet", "--", *script(FAILS), create_stub=create_failing)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert done.status == 1
    assert "error: the server failed: [Errno 22] Invalid argument\n" in done.stderr
    assert capfd.readouterr().out == "SIGTERM"


def test_a_command_that_ends_at_no_sigterm_is_killed_after_its_grace() -> None:
    words = ["sh", "-c", "trap '' TERM; echo $$ > /dev/stderr; sleep 60; sleep 60"]
    command = Command(words, os.environ, grace=0.2)
    ended = threading.Event()
    with tempfile.TemporaryFile() as file:
        command.start(partial(command.run, file), ended.set)
        eventually(lambda: os.fstat(file.fileno()).st_size > 0)
        command.end()
        assert ended.wait(10)
    assert command.status == 128 + signal.SIGKILL


def test_threads_that_cannot_be_started_are_a_failure_of_the_server() -> None:
    previous = threading.stack_size(1 << 46)
    try:
        done = run()
    finally:
        threading.stack_size(previous)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: the server failed: can't start new thread\n"


# Processes of the program


def test_the_streams_are_the_commands_own_and_no_file_has_the_encoding_of_the_locale(
    tmp_path: Path,
) -> None:
    seed, report, log = (tmp_path / name for name in ("seed.json", "report.json", "log"))
    seed.write_text('{"projects": [{"name": "caf\u00e9"}]}', "utf-8")
    options = ["--seed", str(seed), "--report", str(report), "--log", str(log)]
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ("-X", "warn_default_encoding", "app.py", "--quiet", *options)
    code = ("--", "sh", "-c", 'cat; echo said >&2; "$0" -X utf8 -c "$1"', sys.executable, CLIENT)
    text = 10_000 * "0123456789abcdef\n"
    with process(*words, *code, env=env, stdin=subprocess.PIPE) as running:
        stdout, stderr = running.communicate(text, timeout=30)
    assert (running.returncode, stdout) == (7, f"{text}caf\u00e9\n"), stderr
    assert "said" in stderr.splitlines()
    assert json.loads(report.read_text("utf-8"))["exit_status"] == 7


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
