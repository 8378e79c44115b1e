"""`app.py -- COMMAND`: the program serves for a command, and exits with its status."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import FAILING, process, run

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


def test_the_command_calls_the_stub_and_its_status_is_the_programs(capfd: Capture) -> None:
    code = (
        "import json, os, sys, urllib.request as r\n"
        "header = {'Authorization': 'Bearer ' + os.environ['STUB_TOKEN']}\n"
        "url = os.environ['STUB_URL'] + '/v1/projects'\n"
        "print(len(json.load(r.urlopen(r.Request(url, headers=header)))['projects']))\n"
        "sys.exit(7)"
    )
    done = run("--quiet", "--", sys.executable, "-c", code)
    assert (done.status, done.stdout, capfd.readouterr()) == (7, "", ("3\n", ""))
    listening, line, coverage, *_ = done.stderr.splitlines()
    assert listening.startswith("listening on http://127.0.0.1:")
    assert line.startswith("#1 GET /v1/projects 200 ")  # as the command failed
    assert coverage.startswith("coverage: 1 of ")
    assert run("--", "true").status == 0


def test_the_command_has_the_environment_and_the_first_of_several_tokens(capfd: Capture) -> None:
    env = {"STUB_TOKEN": "one two", "OTHER": "kept", "STUB_URL": "http://elsewhere"}
    done = run("--", "sh", "-c", 'echo "$STUB_URL $STUB_TOKEN $OTHER"', env=env)
    url = done.stderr.splitlines()[0].removeprefix("listening on ")
    assert capfd.readouterr().out == f"{url} one kept\n"


def test_the_arguments_are_the_commands_own(capfd: Capture) -> None:
    words = ["a b", "$HOME", "*", "--", "--port", "", "'", "ü"]
    run("--", sys.executable, "-X", "utf8", "-c", "import sys; print(sys.argv[1:])", *words)
    assert capfd.readouterr().out == f"{words}\n"


def test_the_standard_streams_are_the_commands_own() -> None:
    text = 10_000 * "0123456789abcdef\n"
    words = ("--quiet", "--no-stub", "--", "sh", "-c", "cat; echo said >&2")
    with process("app.py", *words, stdin=subprocess.PIPE) as running:
        stdout, stderr = running.communicate(text, timeout=20)
    assert stdout == text
    said, listening, idle = sorted(stderr.splitlines(), key=len)  # a thread writes the others
    begun = [line.split()[0] for line in (said, listening, idle)]
    assert begun == ["said", "listening", "warning:"]


def test_a_port_that_is_given_is_used(capfd: Capture) -> None:
    run("--host", "0.0.0.0", "--token", "x", "--", "sh", "-c", 'echo "$STUB_URL"')
    shown = capfd.readouterr().out
    assert shown.startswith("http://127.0.0.1:")
    assert not shown.endswith(":8080\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run("--", "true", env={"STUB_PORT": port}).status == 2
        assert run("--port", port, "--", "true").status == 2


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
    done = run("--", *words)
    assert (done.status, done.stdout) == (status, "")
    assert f"error: {error}\n" in done.stderr
    assert ("listening" in done.stderr) == (status != 2)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_command_that_a_signal_ends_has_the_status_of_a_shell(number: int) -> None:
    done = run("--", "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")
    assert done.status == 128 + number


def test_children_that_the_command_leaves_hold_up_nothing(capfd: Capture) -> None:
    assert run("--", "sh", "-c", "sleep 60 & echo $!").status == 0
    os.kill(int(capfd.readouterr().out), signal.SIGKILL)  # it still runs


@pytest.mark.parametrize("word", ["", "ignore"])
def test_the_command_is_ended_when_the_server_fails(word: str) -> None:
    words = ("--quiet", "--", sys.executable, "-c", CALLS_IT, word)
    with process("-c", FAILING, *words) as running:
        stdout, stderr = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "error: the server failed: " in stderr
    assert not Path(f"/proc/{int(stdout)}").exists()
