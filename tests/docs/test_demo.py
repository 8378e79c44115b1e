"""docs/demo.py goes on after a 503, and says in a sentence what is wrong."""

import re
import sys

import pytest

from app import create_app
from tests.conftest import TOKEN
from tests.docs.documents import execute
from tests.live import serving
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
UNAUTHORIZED = r"/v1/projects responded with 401: set STUB_TOKEN to the token of the program\.\n"


def assert_demo(url: str, token: str, expected: tuple[int, str, str]) -> None:
    done = execute([sys.executable, "docs/demo.py", url], STUB_TOKEN=token)
    assert (done.returncode, done.stdout) == expected[:2]
    assert re.fullmatch(expected[2], done.stderr), done.stderr


def test_it_goes_on_or_says_what_is_wrong() -> None:
    # Seven processes, two of which wait as a client does: 3 seconds.
    with serving(create_app(pace=0), control_prefix="/_stub/") as port:
        url = f"http://127.0.0.1:{port}"
        for number, (fault, expected) in enumerate(FAULTS):
            token = f"{TOKEN}.{number}"
            assert call(url, "/_stub/faults", body=fault, token=token).status_code == 201
            assert_demo(url, token, expected)
        assert_demo(url, "wrong", (1, "", UNAUTHORIZED))
    for nowhere in (url, "nothing"):
        assert_demo(nowhere, TOKEN, CUT)
