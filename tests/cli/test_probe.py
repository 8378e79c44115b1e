"""--probe says on which part that nobody promised a command depends, and what failures do to it."""

import json
import os
import re
import signal
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.probe import Probe
from tests.cli.conftest import probe, results, script
from tests.conftest import eventually
from tests.program import run

pytestmark = pytest.mark.process

# Sends each operation, and depends on nothing, but for what is added to it.
CLIENT = """
import re
from urllib.parse import quote
_, text = fetch('/v1/projects')
names = [each['name'] for each in json.loads(text)['projects']]
created, text_of_project = fetch('/v1/projects', '{"name": "shop"}')
assert 'Stub-Grease' not in str(created)  # the client is not told
project = json.loads(text_of_project)
deployment = call('/v1/deployments/' + quote(project['latest_deployment_id'], safe=''))
missing, text_of_problem = fetch('/v1/deployments/none')
"""
AXES = [
    *("members", "member-order", "json-text", "headers", "ids", "times"),
    *("list-order", "status-values", "success-code", "error-text", "media-type", "times-odd"),
    "ids-encoded",
]


def number_of_runs(stderr: str) -> int:
    return sum(line.startswith("probe: ") and " in " in line for line in stderr.splitlines())


def test_a_tolerant_client_depends_on_nothing(tmp_path: Path) -> None:
    done, report = probe(tmp_path, "--", *script(CLIENT))
    assert results(report) == dict.fromkeys(AXES, "passes")
    assert [each["tier"] for each in report["probe"]["axes"]] == [*6 * [1], *7 * [2]]
    assert (done.status, report["findings"]) == (0, [])
    assert number_of_runs(done.stderr) == 1 + 13
    assert done.stderr.splitlines()[1].endswith(" s; seed 7, runs to come: 13")
    assert "no dependency was found with seed 7; others may find more\n" in done.stderr


def test_an_axis_that_no_response_has_is_not_met_and_without_axes_it_is_tier_1() -> None:
    done = run("--probe", "--", *script("call('/v1/projects')"))
    (line,) = [line for line in done.stderr.splitlines() if line.endswith(", not met")]
    assert line.startswith("probe: ids: passes in ")
    assert number_of_runs(done.stderr) == 1 + 6
    assert done.stderr.count("GET /v1/projects 200") == 1  # that of the plain run, at once
    assert done.stderr.index("#1 GET /v1/projects 200 ") < done.stderr.index("probe: plain: ")
    nothing = run("--probe", "ids", "--", *script("call('/v1/projects')"))
    assert (nothing.status, "no dependency" in nothing.stderr) == (0, False)


def test_each_run_begins_as_the_program_does_and_the_coverage_is_of_the_plain_one(
    tmp_path: Path,
) -> None:
    """With the same ids, address and files, and no record, fault or clock of an earlier run."""
    seed = tmp_path / "seed.json"
    seed.write_text("{}")
    code = """
h['Authorization'] += '.w'
name == 'plain' and os.remove(folder + '/seed.json')
call('/v1/projects?' + name)
p = call('/v1/projects', '{"name": "x"}')
with socket.create_connection(('127.0.0.1', port)) as malformed:
    malformed.sendall(b'GET\\r\\n\\r\\n')
    malformed.recv(99)
call('/_stub/faults', '{"status": 503, "times": null}')
call('/_stub/clock', '{"advance": 9, "frozen": true}')
last, on = call('/_stub/requests')['last'], call('/_stub/grease')['axes']
note('seen', json.dumps([name, on, p['id'], last, port]))
"""
    options = ("--seed", str(seed), "--ids-seed", "1", "--fail-on", "unpromised")
    done, report = probe(tmp_path, *options, "--", *script(code), axes="headers,times")
    rows = [json.loads(line) for line in (tmp_path / "seen").read_text("utf-8").splitlines()]
    axes = [[row[0], row[1]] for row in rows]
    assert axes == [["plain", []], ["headers", ["headers"]], ["times", ["times"]]]
    assert rows[0][2:] == rows[1][2:] == rows[2][2:]
    assert [each["what"] for each in report["unpromised"]] == [
        "listProjects: query parameter plain"
    ]
    assert [each["count"] for each in report["rejected_by_the_server"]] == [1]
    assert done.status == 1


class Case(NamedTuple):
    """A COMMAND, the result of each axis or failure, the findings, and what is said of them."""

    code: str
    results: dict[str, str]
    findings: list[str]
    said: list[str]
    status: int = 1


CASES = {
    "an operation that only the plain run calls is warned of": Case(
        "call('/v1/projects')\nif name == 'plain': call('/v1/deployments/dpl_failed')",
        {"members": "passes"},
        [],
        ["warning: getDeployment was called in the plain run and not in that of members: "],
        0,
    ),
    "without any request nothing was tested": Case(
        "",
        {"headers": "not met"},
        [],
        ["no request in the run of plain: does the command cache its results? Turn the cache off"],
        2,
    ),
    "what sends no request is not run": Case(
        "if name == 'plain': call('/v1/projects')",
        {"members": "not run", "unavailable": "not run"},
        [],
        ["no request in the run of members, unavailable: ", "probe: members: not run in 0."],
        2,
    ),
    "what sends no request again is not run": Case(
        "if name == 'members' and not is_first(name): sys.exit(3)\n"
        "call('/v1/projects')\nsys.exit(name in ('members', 'headers'))",
        {"members": "not run", "headers": "breaks"},
        ["headers"],
        ["probe: members again: not run in 0."],
    ),
    "what does not break again is no finding": Case(
        "call('/v1/projects')\nif name != 'plain' and is_first(name): sys.exit(3)\n",
        {"members": "no finding", "headers": "no finding"},
        [],
        ["probe: headers: no finding: it passed when it was repeated\n"],
        0,
    ),
    "a finding names its first request and the worlds that the axis varied": Case(
        "for world in 'abcdefg':\n"
        "    h['Authorization'] = 'Bearer dev-token.' + world\n"
        "    call('/v1/deployments/none')\n"
        "    project = call('/v1/projects')['projects'][0]\n"
        "sys.exit(len(project) > 4)",
        {"members": "breaks"},
        ["members of Project"],
        [
            "finding: depends: members of Project (first: a #2): ",
            "; varied in the worlds a, b, c, d, e and 2 more\n",
        ],
    ),
    "what breaks along all axes and in no part is doubtful": Case(
        "call('/v1/projects')\nsys.exit(name in ('members', 'headers'))",
        {"members": "breaks", "headers": "breaks"},
        ["members", "headers"],
        ["warning: all axes break the tests: can these run twice, and without input?"],
    ),
    # The client rejects an unknown member of a project before it asks for a deployment.
    "a dependency that another one hides is found": Case(
        "if len(call('/v1/projects')['projects'][0]) > 4: sys.exit(1)\n"
        "sys.exit(len(call('/v1/deployments/dpl_failed')) > 4)\n",
        {"members": "breaks"},
        ["members of Project", "members of Deployment"],
        ["probe: members but @Project: breaks", "probe: members but @Project, @Deployment: passes"],
    ),
    "one cause of two axes is one finding": Case(
        "import re; t = call('/v1/deployments/dpl_failed')['created_at']\n"
        "sys.exit(not re.fullmatch(r'[-0-9]+T[0-9:]+[.][0-9]{3}Z', t))",
        {"times": "breaks", "times-odd": "no finding"},
        ["times of Deployment.created_at"],
        ["probe: times-odd: no finding: times breaks in the same parts\n"],
    ),
    "what breaks along two axes, and elsewhere along one, is found there": Case(
        "import re; t = call('/v1/deployments/dpl_failed')['created_at']\n"
        "is_plain = re.fullmatch(r'[-0-9]+T[0-9:]+[.][0-9]{3}Z', t)\n"
        "project = call('/v1/projects')['projects'][0]\n"
        "sys.exit('T' not in project['created_at'] or not is_plain)",
        {"times": "breaks", "times-odd": "breaks"},
        ["times of Deployment.created_at", "times-odd of Project.created_at"],
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_command_has_these_results(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    done, report = probe(tmp_path, "--", *script(case.code), axes=",".join(case.results))
    assert results(report) == case.results
    assert [each["what"] for each in report["findings"]] == case.findings
    assert (done.status, report["exit_status"]) == (case.status, case.status)
    assert report["probe"]["is_complete"]
    is_clear = not case.findings and "warning: " not in done.stderr
    assert ("no dependency" in done.stderr) is is_clear
    assert [text for text in case.said if text not in done.stderr] == []


def test_a_plain_run_that_fails_is_all(tmp_path: Path) -> None:
    for words, status in ((script("sys.exit(5)"), 5), (["no-such-command"], 127)):
        done, report = probe(tmp_path, "--", *words)
        assert (done.status, results(report), report["findings"]) == (status, {}, [])
        assert f" s (exit status {status})\n" in done.stderr


def test_a_run_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Probe, "hang", 0.6)
    code = """
call('/v1/projects')
import subprocess
note('pids', subprocess.Popen(['sleep', '1000']).pid)
if name != 'plain':
  print(20_000 * 'x', '\\n' + os.environ['STUB_TOKEN'], 'hangs', flush=True)
  signal.pause()
"""
    done, report = probe(tmp_path, "--", *script(code), axes="headers")
    assert (done.status, results(report)) == (1, {"headers": "hangs"})
    (finding,) = report["findings"]
    assert finding["what"] == "headers of listProjects 200"
    assert (finding["first"]["path"], finding["first"]["number"]) == ("/v1/projects", 1)
    assert finding["advice"].endswith(
        "; chosen: the interface shows no success status; 200 is the usual one"
    )
    assert "  | *** hangs\n" in done.stderr
    (axis,) = report["probe"]["axes"]
    assert axis["seconds"] < 30
    assert len(axis["output"]) == 16 * 1024
    assert axis["output"].endswith("*** hangs\n")
    for pid in (tmp_path / "pids").read_text().split():
        eventually(partial(has_ended, pid))  # a killed process ends when it is scheduled


def has_ended(pid: str) -> bool:
    """Whether it has ended, or is a zombie that nobody has asked for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


# The run in which a signal comes, for `members` its repetition, and what was found before.
SIGNALS = [
    ("plain", signal.SIGINT, []),
    ("members", signal.SIGTERM, []),
    ("headers", signal.SIGINT, []),  # where `members` passes
    ("cut-body", signal.SIGTERM, ["members"]),
]


@pytest.mark.parametrize(("last", "number", "found"), SIGNALS)
def test_a_signal_ends_the_run_and_shows_what_was_confirmed(
    tmp_path: Path, last: str, number: signal.Signals, found: list[str]
) -> None:
    code = f"""
fetch('/v1/projects')
name != 'plain' and print('read:', sys.stdin.read())
if name == {last!r} and (name != 'members' or not is_first(name)):
  os.kill(os.getppid(), {int(number)})
  signal.pause()
sys.exit({last != "headers"} and name.startswith('members'))
"""
    axes = "members,headers,unavailable,cut-body"
    done, report = probe(tmp_path, "--", *script(code), axes=axes)
    assert (done.status, report["exit_status"]) == (128 + number, 128 + number)
    assert report["probe"]["is_complete"] is False
    assert "probe: incomplete: a signal came\n" in done.stderr
    assert "no dependency" not in done.stderr
    assert ("  unavailable\n  listProjects " in done.stderr) is (last == "cut-body")
    assert [each["what"].split()[0] for each in report["findings"]][:1] == found
    for axis in report["probe"]["axes"]:
        assert axis["output"] == "read: \n"  # no input


POLLS = """
import http.client, os, time, urllib.parse
c = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ['STUB_URL']).netloc)
end = time.monotonic() + 20
while time.monotonic() < end:
  c.request('GET', '/v1/projects')
  c.getresponse().read()
  open(os.environ['FOLDER'] + '/polled', 'w').close()
"""


def test_what_cannot_be_ended_is_told_and_its_runs_have_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Probe, "pause", 0.5)
    code = f"""
call('/v1/projects')
if name == 'plain':
  import subprocess
  words = [sys.executable, '-S', '-c', {POLLS!r}]
  note('pid', subprocess.Popen(words, start_new_session=True).pid)
  while not os.path.exists(folder + '/polled'): pass
sys.exit(name != 'plain')
"""
    try:
        done, report = probe(tmp_path, "--", *script(code), axes="headers,unavailable")
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert (done.status, report["findings"]) == (0, [])
    reason = "a process that a run left sent requests between two runs"
    for each in report["probe"]["axes"] + report["probe"]["failures"]:
        assert (each["result"], each["reason"]) == ("no finding", reason)
    assert f"probe: headers: no finding: {reason}\n" in done.stderr
    assert "warning: a run left a process running, whose requests between " in done.stderr


# Repeats what failed, and gives up a response that is late.
REPEATS = """
socket.setdefaulttimeout(0.8)
def ask(path, body=''):
  for attempt in range(3):
    try:
      head, text = fetch(path, body)
    except OSError:
      continue
    if head[0] and int(head[0].split()[1]) < 500:
      return json.loads(text)
ask('/v1/projects', '{"name": "shop"}')
ask('/v1/projects')
"""
AFTER = [
    "hurries: createProject after unavailable",
    "hurries: listProjects after unavailable",
    "repeats: createProject after lost-response",
    "repeats: createProject after stalled",
]


def test_what_the_client_did_after_failures_is_told_and_what_was_wrong_is_found(
    tmp_path: Path,
) -> None:
    # Six runs, one of which waits for two timeouts: 2 s.
    done, report = probe(tmp_path, "--", *script(REPEATS), axes="failures")
    names = ["unavailable", "lost-response", "cut-body", "wrong-body", "stalled"]
    lines = done.stderr.splitlines()
    assert lines[1].endswith(" s; seed 7, runs to come: 5")
    assert [line for line in lines if line.startswith("  | json.decoder.JSONDecodeError: ")]
    head, *rows = (line.strip() for line in lines if line.startswith("  ") and "|" not in line)
    assert head.split() == names
    assert re.match(r"createProject +again after \d\.\d\d s +again after ", rows[1])
    assert re.search(r"  closed after \d\.\d s, again after \d\.\d\d s$", rows[0])
    assert [f"{each['kind']}: {each['what']}" for each in report["findings"]] == AFTER
    assert (done.status, report["exit_status"]) == (1, 1)
    first = report["findings"][0]["first"]
    assert (first["method"], first["body"]) == ("POST", '{"name": "shop"}')
    failed = {each["failure"]: each for each in report["probe"]["failures"]}
    assert [*failed] == names
    reaction = failed["stalled"]["operations"]["listProjects"]
    assert 0.7 <= reaction["closed_after"] < 5
    assert (reaction["met"], reaction["waited"], len(reaction["again_after"])) == (True, False, 1)
    assert (failed["cut-body"]["result"], failed["cut-body"]["exit_status"]) == ("breaks", 1)
    assert "JSONDecodeError" in failed["cut-body"]["output"]
