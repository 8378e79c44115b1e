"""Where the program runs: without what only POSIX has, in another locale and in odd folders."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.program import CLIENT, finished, process
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.slow]

# What other systems lack, and how a child process loses it.
TAKEN = """
sys.modules.update(dict.fromkeys(['fcntl', 'grp', 'pty', 'pwd', 'resource', 'termios', 'tty']))
del select.poll, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL
del os.fork, os.killpg, os.getpgrp, os.tcgetpgrp, os.setsid
"""
RUN = f"""
import os, runpy, select, signal, sys
{TAKEN}
del sys.argv[0]
runpy.run_path("app.py", run_name="__main__")
"""
AROUND = ["--", sys.executable, "-c", CLIENT]
WAITS = "import os, signal; print(os.environ['STUB_URL'], flush=True); signal.pause()"
WAITING = ["--", sys.executable, "-c", WAITS]
PLAIN_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_system_without_these_runs_a_command_passes_signals_on_and_serves() -> None:
    program = ["-c", RUN, "app.py", "--fail-on", "violations"]
    done = finished(*program, *AROUND)
    assert done[:2] == (7, "website billing search\n"), done.stderr
    for words, status in (["--port", "0"], 0), (WAITING, 128 + signal.SIGTERM):
        with process(*program, *words) as running:
            url = running.stdout.readline().split()[-1]
            assert call(url, "/v1/projects").status_code == 200
            running.terminate()
            _, stderr = running.communicate(timeout=20)
        assert (running.returncode, "Traceback" in stderr) == (status, False), stderr


def test_a_probe_needs_process_groups() -> None:
    done = finished("-c", RUN, "app.py", "--probe", "members", "--", "true")
    assert done.status == 2
    assert done.stderr.startswith("error: --probe needs a POSIX system")


def test_no_file_is_read_or_written_in_the_encoding_of_the_locale(tmp_path: Path) -> None:
    folder = tmp_path / "a folder of m\u00fcller's"
    folder.mkdir()
    seed, report, log = (folder / name for name in ("seed.json", "report.json", "log"))
    seed.write_text('{"projects": [{"name": "caf\u00e9"}]}', "utf-8")
    words = ["--seed", str(seed), "--report", str(report), "--log", str(log), *AROUND]
    env = {**PLAIN_LOCALE, "PYTHONIOENCODING": "utf-8"}
    done = finished("-X", "warn_default_encoding", "app.py", *words, env=env)
    assert done[:2] == (7, "caf\u00e9\n"), done.stderr
    assert json.loads(report.read_text("utf-8"))["exit_status"] == 7
