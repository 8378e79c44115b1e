"""`app.py -- COMMAND`: the program serves for a command, and exits with its status."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import FAILING, finished, process, run

pytestmark = pytest.mark.process

Capture = pytest.CaptureFixture[str]

CALLS_IT = """
import os, signal, sys, urllib.request
if "ignore" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
try:
    urllib.request.urlopen(os.environ["STUB_URL"] + "/fail", timeout=1)
except OSError:
    pass
signal.alarm(40)
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
        assert run("--", "true", env={"STUB_PORT": port}).status == 2
        done = run("--port", port, "--", "true")
    assert done.status == 2
    assert f"port {port}" in done.stderr
    assert "Give another --port" in done.stderr


def test_a_command_that_cannot_be_run_is_one_line() -> None:
    not_found, not_permitted = run("--", "no-such-command"), run("--", "/etc/passwd")
    assert (not_found.status, not_permitted.status) == (127, 126)
    assert "error: no-such-command: No such file or directory\n" in not_found.stderr
    assert "error: /etc/passwd: Permission denied\n" in not_permitted.stderr


def test_a_command_that_a_signal_ends_has_the_status_of_a_shell(capfd: Capture) -> None:
    assert run("--", "sh", "-c", "kill -KILL $$").status == 128 + signal.SIGKILL
    assert run("--", "sh", "-c", "sleep 60 & echo $!").status == 0
    os.kill(int(capfd.readouterr().out), signal.SIGKILL)  # what it leaves still runs


@pytest.mark.parametrize("word", ["", "ignore"])  # which has a while to end
def test_the_command_is_ended_when_the_server_fails(word: str) -> None:
    words = ("--quiet", "--", sys.executable, "-c", CALLS_IT, word)
    a_while = "import cli.command; cli.command.COMMAND_GRACE = 0.5"
    done = finished("-c", f"{a_while}\n{FAILING}", *words)
    assert done.status == 1
    assert "error: the server failed: " in done.stderr
    assert not Path(f"/proc/{int(done.stdout)}").exists()
