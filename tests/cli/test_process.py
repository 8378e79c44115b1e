"""The program as a process of its own: what starts, ends and surrounds it."""

import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import ROOT, eventually, make_stub
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


def test_it_starts_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "linked.py"
    link.symlink_to(ROOT / "app.py")
    with process(str(link), "--port", "0", "--quiet") as running:
        assert call(ready_url(running), "/openapi.json").json["openapi"] == "3.1.0"
        running.terminate()


# A callback of an import, whose exceptions Python prints and ignores.
IN_CALLBACK = """
import os, signal, weakref
class Lock: pass
lock = Lock()
reference = weakref.ref(lock, lambda _: os.kill(os.getpid(), signal.SIGINT))
del lock
"""
IMPORTS = [
    ("flask", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"),
    ("waitress", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"),
    ("waitress", IN_CALLBACK),
]


@pytest.mark.parametrize(("name", "code"), IMPORTS)
@pytest.mark.parametrize("program", [["app.py"], ["-m", "deployment_stub"]])
def test_ctrl_c_during_the_imports_ends_quietly(
    tmp_path: Path, name: str, code: str, program: list[str]
) -> None:
    (tmp_path / f"{name}.py").write_text(code)
    done = finished(*program, env={"PYTHONPATH": str(tmp_path)})
    assert (done.status, done.stderr) == (130, "")


def is_asleep(pid: int) -> bool:
    """Whether the main thread of a process waits for something."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return text.rpartition(")")[2].split()[0] == "S"


def test_ctrl_c_while_a_seed_is_read_ends_quietly() -> None:
    reading, writing = os.pipe()
    words = ("app.py", "--seed", f"/dev/fd/{reading}")
    with (
        process(*words, pass_fds=[reading]) as running,
        os.fdopen(reading),
        os.fdopen(writing, "wb", buffering=0) as seed,
    ):
        seed.write(100_000 * b" ")  # more than a pipe takes before the program reads it
        eventually(partial(is_asleep, running.pid))
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
        done = run(create_stub=lambda options: make_stub())
    finally:
        threading.stack_size(previous)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: the server failed: can't start new thread\n"
