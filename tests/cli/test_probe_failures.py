"""--probe failures says what the client did when each operation failed once."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import probe

pytestmark = pytest.mark.process

# Sends each operation; repeats what failed; gives up a response that is late. A 409 is expected.
CALL = """
import json, os, sys, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def call(path, body=None, timeout=0.8):
    request = Request(os.environ["STUB_URL"] + path, body, {"Content-Type": "application/json"})
    request.add_header("Authorization", "Bearer " + os.environ["STUB_TOKEN"])
    for attempt in range(3):
        try:
            with urlopen(request, timeout=timeout) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code < 500:
                return None
        except OSError:
            pass
        except ValueError:
            sys.exit("not JSON")
"""
CLIENT = f"""{CALL}
call("/v1/projects", b'{{"name": "shop"}}')
call("/v1/projects", b'{{"name": "shop"}}')
call("/v1/deployments/dpl_failed")
call("/v1/projects")
"""
AFTER = [
    "hurries: createProject after unavailable",
    "hurries: getDeployment after unavailable",
    "hurries: listProjects after unavailable",
    "repeats: createProject after lost-response",
    "repeats: createProject after stalled",
]


def failures_of(report: Any) -> dict[str, Any]:
    return {each["failure"]: each for each in report["probe"]["failures"]}


def test_what_the_client_did_is_told_and_what_it_did_wrong_is_found(tmp_path: Path) -> None:
    # Six runs, one of which waits for three timeouts of 0.8 s: 3 s.
    done, report = probe(tmp_path, "--", sys.executable, "-c", CLIENT, axes="failures")
    names = ["unavailable", "lost-response", "cut-body", "wrong-body", "stalled"]
    lines = done.stderr.splitlines()
    assert lines[1].endswith(" s; 5 failures, seed 7; 5 runs to come")
    assert [line for line in lines if line.startswith("  | http.client.IncompleteRead: ")]
    head, *rows = (line.strip() for line in lines if re.match(" +unavail|  [a-zA-Z]+ +again", line))
    assert head.split() == names
    assert re.match(r"createProject +again after \d\.\d\d s +again after ", rows[1])
    assert re.search(r"  closed after \d\.\d s, again after \d\.\d\d s$", rows[0])
    assert [f"{each['kind']}: {each['what']}" for each in report["findings"]] == AFTER
    assert (done.status, report["exit_status"]) == (1, 1)
    first = report["findings"][0]["first"]
    assert (first["method"], first["body"]) == ("POST", '{"name": "shop"}')
    assert "finding: repeats: createProject after lost-response (first: #1): sent " in done.stderr
    assert "Retry-After was 1 s (RFC 9110 §10.2.3)\n" in done.stderr
    failed = failures_of(report)
    assert [*failed] == names
    reaction = failed["stalled"]["operations"]["listProjects"]
    assert 0.7 <= reaction["closed_after"] < 5
    assert (reaction["met"], reaction["waited"], len(reaction["again_after"])) == (True, False, 1)
    assert (failed["cut-body"]["result"], failed["cut-body"]["exit_status"]) == ("breaks", 1)
    assert "IncompleteRead" in failed["cut-body"]["output"]


def test_a_run_that_breaks_before_its_end_shows_what_was_repeated(tmp_path: Path) -> None:
    code = (
        f"{CALL}\ncall('/v1/projects')\nif os.environ['STUB_PROBE_RUN'] != 'plain': sys.exit(1)\n"
        "call('/v1/deployments/dpl_failed')\ncall('/v1/projects')"
    )
    _, report = probe(tmp_path, "--", sys.executable, "-c", code, axes="unavailable")
    reaction = failures_of(report)["unavailable"]["operations"]["listProjects"]
    assert len(reaction["again_after"]) == 1
    assert [each["kind"] for each in report["findings"]] == ["hurries"]
