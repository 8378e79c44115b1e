"""Importing the app does nothing."""

import pytest

from tests.program import process

pytestmark = pytest.mark.process


def test_importing_does_nothing() -> None:
    code = (
        "import threading, logging, signal, app\n"
        "assert threading.active_count() == 1\n"
        "assert not logging.getLogger().handlers\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "assert not [name for name, value in vars(app).items() if isinstance(value, app.Flask)]\n"
    )
    with process("-c", code) as started:
        assert (*started.communicate(), started.returncode) == ("", "", 0)
