"""The program as a process of its own: what starts, ends and surrounds it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.program import finished, process, program, ready_url
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


def test_ctrl_c_during_the_imports_ends_quietly(tmp_path: Path) -> None:
    module = tmp_path / "waitress.py"
    module.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = finished("app.py", env={"PYTHONPATH": str(tmp_path)})
    assert (done.status, done.stderr) == (-signal.SIGINT, "")


def test_ctrl_c_while_a_seed_is_read_ends_quietly(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    os.mkfifo(seed)
    env = {"PYTHONWARNINGS": "ignore"}  # the signal may come in open(), which leaves a file open
    # The file can be opened when the program reads it.
    with process("app.py", "--seed", str(seed), env=env) as running, seed.open("w"):
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=20)
    assert (running.returncode, stdout, stderr.strip()) == (130, "", "")
