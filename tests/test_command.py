"""`app.py -- COMMAND`: the program serves for a command, and exits with its status."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, environment

STUB = [sys.executable, "app.py", "--quiet"]

# Waits for signals, and exits with 10 and their number.
COUNTS = """
import os, signal, sys, time
counts = []
for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(each, lambda number, frame: counts.append(number))
print("ready", flush=True)
end = time.monotonic() + 30
while not counts and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
sys.exit(10 + len(counts))
"""
IGNORES = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(60)
"""


def run(
    *words: str, options: tuple[str, ...] = (), stdin: bytes = b"", **variables: str
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*STUB, *options, "--", *words],
        cwd=ROOT,
        env=environment(variables),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )


def python(code: str, *args: str) -> "subprocess.CompletedProcess[bytes]":
    return run(sys.executable, "-c", code, *args)


def start(code: str) -> "subprocess.Popen[bytes]":
    """The program with a Python command that has written a line, in a group of its own."""
    return subprocess.Popen(
        [*STUB, "--", sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def is_alive(process_id: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    with suppress(OSError):
        status = Path(f"/proc/{process_id}/stat").read_text("utf-8")
        return status.rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_the_command_calls_the_stub_and_its_status_is_the_programs() -> None:
    code = (
        "import json, os, sys, urllib.request as r\n"
        "header = {'Authorization': 'Bearer ' + os.environ['STUB_TOKEN']}\n"
        "url = os.environ['STUB_URL'] + '/v1/projects'\n"
        "print(len(json.load(r.urlopen(r.Request(url, headers=header)))['projects']))\n"
        "sys.exit(7)"
    )
    done = python(code)
    assert (done.returncode, done.stdout) == (7, b"3\n")
    listening, coverage, *_ = done.stderr.decode().splitlines()
    assert listening.startswith("listening on http://127.0.0.1:")
    assert coverage.startswith("coverage: 1 of ")
    assert python("").returncode == 0


def test_the_first_of_several_tokens_is_the_commands() -> None:
    code = "import os; print(os.environ['STUB_TOKEN'])"
    done = run(sys.executable, "-c", code, STUB_TOKEN="one two")
    assert done.stdout == b"one\n"


def test_arguments_and_standard_streams_are_the_commands_own() -> None:
    words = ["a b", "$HOME", "*", "--", "--port", "", "'", "ü"]
    done = python("import sys; print(sys.argv[1:])", *words)
    assert done.stdout.decode() == f"{words}\n"
    code = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data * 10)"
    data = os.urandom(1_000_000)
    assert run(sys.executable, "-c", code, stdin=data).stdout == 10 * data


def test_a_port_that_is_given_is_used() -> None:
    code = "import os; print(os.environ['STUB_URL'])"
    done = run(sys.executable, "-c", code, options=("--host", "0.0.0.0", "--token", "x"))
    assert done.stdout.startswith(b"http://127.0.0.1:")
    assert b":8080" not in done.stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run("true", STUB_PORT=port).returncode == 2
        assert run("true", options=("--port", port)).returncode == 2


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        (["no-such-command"], 127, "no-such-command: No such file or directory"),
        (["/etc/passwd"], 126, "/etc/passwd: Permission denied"),
        (["/"], 126, "/: Permission denied"),
        ([""], 2, "give a command after --."),
        ([], 2, "give a command after --."),
    ],
)
def test_a_command_that_cannot_be_run_is_one_line(
    words: list[str], status: int, error: str
) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (status, b"")
    assert f"error: {error}\n" in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    if status == 2:
        assert b"listening" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_command_that_a_signal_ends_has_the_status_of_a_shell(number: int) -> None:
    assert python(f"import os; os.kill(os.getpid(), {number})").returncode == 128 + number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_signal_reaches_the_command_once(send: Any, number: int) -> None:
    with start(COUNTS) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        send(process.pid, number)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == 11
    assert b"coverage" in stderr or b"listening" in stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_at_the_start_reaches_the_command_too(number: int, tmp_path: Path) -> None:
    code = f"import time; time.sleep(2); open({str(tmp_path / 'ended')!r}, 'w')"
    for _ in range(3):
        with start(code) as process:
            assert process.stderr
            assert process.stderr.readline().startswith(b"listening on ")
            process.send_signal(number)
            process.communicate(timeout=20)
        # Python turns SIGINT into an exception, if it comes late enough.
        assert process.returncode in (128 + number, 1)
    assert not (tmp_path / "ended").exists()


def test_a_signal_reaches_what_the_command_has_started() -> None:
    code = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.run([sys.executable, '-c', {IGNORES!r}])"
    )
    with start(code) as process:
        assert process.stdout
        started = int(process.stdout.readline())
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
        end = time.monotonic() + 10
        while is_alive(started) and time.monotonic() < end:
            pass
        assert not is_alive(started)


def test_a_signal_that_nohup_ignores_is_not_passed_on() -> None:
    words = [*STUB, "--", sys.executable, "-c", COUNTS]
    with subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        for number in (signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        assert process.wait(20) == 11


def test_ctrl_c_in_a_terminal_reaches_the_command_once() -> None:
    process_id, terminal = pty.fork()
    if not process_id:
        os.chdir(ROOT)
        os.execve(sys.executable, [*STUB, "--", sys.executable, "-c", COUNTS], environment())
    output = b""
    while b"ready" not in output:
        output += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    with suppress(OSError):  # the end of a terminal is an error
        while os.read(terminal, 1024):
            pass
    _, status = os.waitpid(process_id, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 11


def test_a_command_with_a_terminal_can_read_from_it() -> None:
    process_id, terminal = pty.fork()
    if not process_id:
        os.chdir(ROOT)
        code = "print('got ' + input('? '))"
        os.execve(sys.executable, [*STUB, "--", sys.executable, "-c", code], environment())
    output = b""
    while b"? " not in output:
        output += os.read(terminal, 1024)
    os.write(terminal, b"it\n")
    while b"got it" not in output:
        output += os.read(terminal, 1024)
    with suppress(OSError):
        while os.read(terminal, 1024):
            pass
    _, status = os.waitpid(process_id, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_both(number: int) -> None:
    with start(IGNORES) as process:
        assert process.stdout
        command = int(process.stdout.readline())
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)  # it leaves after the command, never before
        process.send_signal(number)
        assert process.wait(10) == -number
        end = time.monotonic() + 10
        while is_alive(command) and time.monotonic() < end:
            pass
        assert not is_alive(command)


def test_children_that_the_command_leaves_hold_up_nothing(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)"
    )
    output = tmp_path / "output"
    with output.open("wb") as file:
        done = subprocess.run(
            [*STUB, "--", sys.executable, "-c", code],
            cwd=ROOT,
            env=environment(),
            stdout=file,
            stderr=file,
            timeout=20,
            check=False,
        )
    assert done.returncode == 0
    (left,) = [int(line) for line in output.read_text().splitlines() if line.isdigit()]
    os.kill(left, signal.SIGKILL)


def test_the_command_is_ended_when_the_server_fails() -> None:
    failing = (
        "import resource, sys, cli\n"
        "from flask import Flask\n"
        "def create_app(**options):\n"
        "    app = Flask('failing')\n"
        "    @app.get('/fail')\n"
        "    def fail():\n"
        "        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))\n"
        "        return 'soon'\n"
        "    return app\n"
        "sys.exit(cli.main(create_app))"
    )
    command = (
        "import os, time, urllib.request as r\n"
        "print(os.getpid(), flush=True)\n"
        "try: r.urlopen(os.environ['STUB_URL'] + '/fail', timeout=1)\n"
        "except OSError: pass\n"
        "time.sleep(60)"
    )
    done = subprocess.run(
        [sys.executable, "-c", failing, "--quiet", "--", sys.executable, "-c", command],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert b"error: the server failed: " in done.stderr
    assert not is_alive(int(done.stdout))
