"""Importing the app does nothing."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.process


def test_importing_does_nothing() -> None:
    code = (
        "import threading, logging, signal, app\n"
        "assert threading.active_count() == 1\n"
        "assert not logging.getLogger().handlers\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "assert not [name for name, value in vars(app).items() if isinstance(value, app.Flask)]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
