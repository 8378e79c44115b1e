"""`app.py -- COMMAND`: the program serves for a command, and exits with its status."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from flask import Flask

from stub import Options, create_stub
from tests.program import FAILING, finished, process, run

pytestmark = pytest.mark.process

Capture = pytest.CaptureFixture[str]

# Lets the server fail, and ends at no SIGTERM.
CALLS_IT = """
import os, signal, urllib.request
signal.signal(signal.SIGTERM, lambda number, frame: print("SIGTERM", flush=True))
print(os.getpid(), flush=True)
try:
    urllib.request.urlopen(os.environ["STUB_URL"] + "/fail", timeout=1)
except OSError:
    pass
signal.alarm(40)
while True:
    signal.pause()
"""


def test_the_command_has_its_own_words_the_environment_and_the_first_token(capfd: Capture) -> None:
    env = {"STUB_TOKEN": "one two", "OTHER": "kept", "STUB_URL": "http://elsewhere"}
    words = ["a b", "$HOME", "*", "--", "--port", "", "'", "ü"]
    code = "import os, sys; print(*map(os.environ.get, ['STUB_URL', 'STUB_TOKEN', 'OTHER']));"
    done = run(
        "--", sys.executable, "-X", "utf8", "-c", f"{code} print(sys.argv[1:])", *words, env=env
    )
    url = done.stderr.splitlines()[0].removeprefix("listening on ")
    assert capfd.readouterr().out == f"{url} one kept\n{words}\n"


FILLED = {
    "API_URL": ("{url}/v1", "{url}/v1"),
    "API_TOKEN": ("{token}.job", "one-token.job"),
    "JSON": ('{"port": {port}, "a": {}}', '{"port": {port}, "a": {}}'),
    "PLAIN": (" $HOME=1 ", " $HOME=1 "),
    "EMPTY": ("", ""),
}


def test_a_variable_of_the_command_has_the_url_the_token_and_the_port(capfd: Capture) -> None:
    options = [f"--env={name}={value}" for name, (value, _) in FILLED.items()]
    code = f"import os; print(os.environ['STUB_URL'], *map(os.environ.get, {[*FILLED]}), sep='|')"
    run("--token", "team=one-token", *options, "--", sys.executable, "-c", code)
    url, *values = capfd.readouterr().out.removesuffix("\n").split("|")
    port = url.rpartition(":")[2]
    expected = [text.replace("{url}", url).replace("{port}", port) for _, text in FILLED.values()]
    assert values == expected


def test_a_variable_of_the_command_wins_over_the_others(capfd: Capture) -> None:
    words = ("--", "sh", "-c", 'echo "$STUB_URL $A $B"')
    env = {"A": "ours", "B": "ours", "STUB_ENV": "STUB_URL=x\nB=1\nB=2 {token}"}
    run(*words, env=env)
    run("--env", "A=1", *words, env={**env, "STUB_URL": "ours"})
    first, second = capfd.readouterr().out.splitlines()
    assert first == "x ours 2 dev-token"
    assert second.endswith(" 1 ours")


def test_the_standard_streams_are_the_commands_own() -> None:
    text = 10_000 * "0123456789abcdef\n"
    words = ("--quiet", "--", "sh", "-c", "cat; echo said >&2")
    with process("app.py", *words, stdin=subprocess.PIPE) as running:
        stdout, stderr = running.communicate(text, timeout=20)
    assert stdout == text
    said = [line for line in stderr.splitlines() if not line.startswith(("listening", "warning"))]
    assert said == ["said"]  # a thread writes the others


def test_a_port_that_is_given_is_used_and_else_a_free_one(capfd: Capture) -> None:
    run("--", "sh", "-c", 'echo "$STUB_URL"')
    assert not capfd.readouterr().out.endswith(":8080\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("--", "true", env={"STUB_PORT": port})
    assert done.status == 2
    assert f"port {port}" in done.stderr
    assert "Give another --port" in done.stderr


# The program as PID 1 of a container: what others leave becomes its own (PR_SET_CHILD_SUBREAPER).
AS_PID_1 = """
import ctypes, os, sys
from cli.main import main
from stub import create_stub

ctypes.CDLL(None).prctl(36, 1)
os.getpid = lambda: 1
sys.exit(main(create_stub, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
"""
# Leaves ten processes, and waits until they are gone: a zombie would be there.
LEAVES = """
import os, subprocess, sys, time
words = ["sh", "-c", "true & echo $!"]
left = [int(subprocess.check_output(words)) for _ in range(10)]
latest = time.monotonic() + 10
while left and time.monotonic() < latest:
    left = [pid for pid in left if os.path.exists(f"/proc/{pid}")]
sys.exit(7 + len(left))
"""


def test_pid_1_reaps_what_others_left_and_has_the_status_of_its_command() -> None:
    done = finished("-c", AS_PID_1, "--", sys.executable, "-S", "-c", LEAVES)
    assert done.status == 7, done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_that_cannot_be_run_is_one_line() -> None:
    not_found, not_permitted = run("--", "no-such-command"), run("--", "/etc/passwd")
    assert (not_found.status, not_permitted.status) == (127, 126)
    assert "error: no-such-command: No such file or directory\n" in not_found.stderr
    assert "error: /etc/passwd: Permission denied\n" in not_permitted.stderr


def test_a_command_that_a_signal_ends_has_the_status_of_a_shell(capfd: Capture) -> None:
    assert run("--", "sh", "-c", "kill -KILL $$").status == 128 + signal.SIGKILL
    assert run("--", "sh", "-c", "sleep 60 & echo $!").status == 0
    os.kill(int(capfd.readouterr().out), signal.SIGKILL)  # what it leaves still runs


def test_the_command_is_ended_when_the_server_fails() -> None:
    words = ("--quiet", "--", sys.executable, "-c", CALLS_IT)
    a_while = "from cli.command import Command; Command.grace = 0.5"
    done = finished("-c", f"{a_while}\n{FAILING}", *words)
    assert done.status == 1
    assert "error: the server failed: [Errno 22] Invalid argument\n" in done.stderr
    pid, told = done.stdout.split()
    assert told == "SIGTERM"
    assert not Path(f"/proc/{pid}").exists()


def test_threads_that_cannot_be_started_are_a_failure_of_the_server() -> None:
    previous = threading.stack_size(1 << 46)
    try:
        done = run()
    finally:
        threading.stack_size(previous)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: the server failed: can't start new thread\n"


ERRORS = [
    (OSError(28, "No space left on device"), "error: a run of the command failed: No space", 0),
    (LookupError("a mistake"), "", 1),
]


@pytest.mark.parametrize(("error", "line", "count"), ERRORS)
def test_an_exception_beside_the_server_ends_it_and_is_no_success(
    error: Exception, line: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app of the second run of --probe cannot be made."""
    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    apps: list[Flask] = []

    def create(options: Options) -> Flask:
        if apps:
            raise error
        apps.append(create_stub(options))
        return apps[0]

    done = run("--quiet", "--probe", "ids", "--", "true", create_stub=create)
    assert done.status == 126
    assert line in done.stderr
    assert len(raised) == count
