"""What the program's log has of the console."""

import pytest

from tests.program import run
from tests.wire import call

pytestmark = pytest.mark.process


def test_a_poll_is_not_in_the_log() -> None:
    def poll(url: str) -> None:
        assert call(url, "/_stub/console?after=0").status_code == 200
        assert call(url, "/_stub/health").json == {"status": "ok"}

    lines = run(during=poll).stderr.splitlines()
    assert [line for line in lines if "/_stub/" in line] == [lines[-1]]
    assert lines[-1].startswith("GET /_stub/health 200 ")
