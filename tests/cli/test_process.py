"""The program as a process of its own: its streams, and Ctrl-C before it serves."""

import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import eventually
from tests.program import finished, process, program
from tests.wire import call

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


# A callback of an import, whose exceptions Python prints and ignores.
IN_CALLBACK = """
import os, signal, weakref
class Lock: pass
lock = Lock()
reference = weakref.ref(lock, lambda _: os.kill(os.getpid(), signal.SIGINT))
del lock
"""
IMPORTS = [
    (["app.py"], "waitress", IN_CALLBACK),
    (["-m", "deployment_stub"], "flask", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"),
]


@pytest.mark.parametrize(("program", "name", "code"), IMPORTS)
def test_ctrl_c_during_the_imports_ends_quietly(
    tmp_path: Path, program: list[str], name: str, code: str
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
