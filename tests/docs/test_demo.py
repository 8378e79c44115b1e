"""docs/demo.py goes on after a 503, and says in a sentence what is wrong."""

import re
import subprocess
import sys

import pytest

from app import create_app
from tests.conftest import ROOT, TOKEN
from tests.live import serving
from tests.program import environment
from tests.wire import call

pytestmark = pytest.mark.process

# Of each fault: the exit status, stdout, and a pattern of stderr.
SUCCEEDS = (0, "succeeded\n", "503: trying again\n")
CUT = (1, "", r"No response from \S+ \(.*\): start the program, or give its URL\.\n")
FAULTS = [
    (b'{"operation": "createProject", "status": 503, "retry_after": 0}', SUCCEEDS),
    (b'{"operation": "getDeployment", "status": 503}', SUCCEEDS),
    (b'{"status": 507}', (1, "", "/v1/projects responded with 507: This response was .*\n")),
    (b'{"cut": 20}', CUT),
]
UNAUTHORIZED = "/v1/projects responded with 401: set STUB_TOKEN to the token of the program.\n"


def demo(url: str, token: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "docs/demo.py", url],
        cwd=ROOT,
        env=environment({"STUB_TOKEN": token}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_it_goes_on_or_says_what_is_wrong() -> None:
    # Seven processes, two of which wait as a client does: 3 seconds.
    with serving(create_app(pace=0), control_prefix="/_stub/") as port:
        url = f"http://127.0.0.1:{port}"
        for number, (fault, expected) in enumerate(FAULTS):
            token = f"{TOKEN}.{number}"
            assert call(url, "/_stub/faults", body=fault, token=token).status_code == 201
            status, stdout, stderr = demo(url, token)
            assert (status, stdout) == expected[:2]
            assert re.fullmatch(expected[2], stderr), stderr
        assert demo(url, "wrong") == (1, "", UNAUTHORIZED)
    for nowhere in (url, "nothing"):
        status, _, stderr = demo(nowhere, TOKEN)
        assert status == 1
        assert re.fullmatch(CUT[2], stderr), stderr
