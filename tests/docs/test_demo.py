"""docs/demo.py says in a sentence what is wrong, and goes on after a 503."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from app import create_app
from tests.conftest import ROOT, TOKEN
from tests.live import serving
from tests.program import environment
from tests.wire import call

pytestmark = pytest.mark.process

CLOSED = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(create_app(pace=0), control_prefix="/_stub/") as port:
        yield f"http://127.0.0.1:{port}"


def demo(url: str, token: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "docs/demo.py", url],
        cwd=ROOT,
        env=environment({"STUB_TOKEN": token}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_goes_on_after_each_503(url: str, own_token: str) -> None:
    for more in (b'"operation": "createProject"', b'"operation": "getDeployment", "times": 2'):
        fault = b'{"status": 503, "retry_after": 0, ' + more + b"}"
        assert call(url, "/_stub/faults", body=fault, token=own_token).status_code == 201
    done = demo(url, own_token)
    assert (done.returncode, done.stdout) == (0, "succeeded\n")
    assert done.stderr == 3 * "503: trying again\n"


def test_it_repeats_the_detail_of_another_error(url: str, own_token: str) -> None:
    call(url, "/_stub/faults", body=b'{"status": 507}', token=own_token)
    done = demo(url, own_token)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("/v1/projects responded with 507: This response was requested")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("fault", [b'{"cut": 0}', b'{"cut": 20}'])
def test_it_says_that_a_response_was_cut(url: str, own_token: str, fault: bytes) -> None:
    call(url, "/_stub/faults", body=fault, token=own_token)
    done = demo(url, own_token)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"No response from {url} (")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("token", ["wrong", "wrong.world", ""])
def test_it_says_that_the_token_is_wrong(url: str, token: str) -> None:
    done = demo(url, token)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "/v1/projects responded with 401: set STUB_TOKEN to the token of the program.\n"
    )


@pytest.mark.parametrize("url", [CLOSED, "127.0.0.1:8080", "nothing"])
def test_it_says_that_no_stub_is_there(url: str) -> None:
    done = demo(url, TOKEN)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"No response from {url} (")
    assert done.stderr.endswith("): start the program, or give its URL.\n")
    assert done.stderr.count("\n") == 1
