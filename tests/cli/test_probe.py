"""--probe says on which part that nobody promised a command depends."""

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import probe, results, script
from tests.conftest import eventually
from tests.contract import CREATED
from tests.program import process, run

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
# The part of the contract that a client depends on, and what it assumes.
DEPENDENCIES = {
    "members of Project": "len(project) == 4",
    "member-order of Deployment": "next(iter(deployment)) == 'id'",
    "json-text of listProjects 200": "text.startswith('{\"projects\": ')",
    f"headers of createProject {CREATED}": "len(created) == 7",
    "ids of projects": "project['id'].startswith('prj')",
    "times of Project.created_at": "re.fullmatch(r'.*[.][0-9]{3}[^0-9].*', project['created_at'])",
    "list-order of ProjectList.projects": "names == ['website', 'billing', 'search']",
    "status-values of Deployment": "deployment['status'] in ('queued', 'building')",
    f"success-code of createProject {CREATED}": f"'{CREATED}' in created[0]",
    "error-text of Problem.title": "json.loads(text_of_problem)['title'] == 'Not Found'",
    "media-type of getDeployment 404": ("'Content-Type: application/problem+json' in missing"),
    "times-odd of Project.created_at": "'T' in project['created_at']",
    "ids-encoded of deployments": "quote(deployment['id'], safe='') == deployment['id']",
}
AXES = [each.partition(" of ")[0] for each in DEPENDENCIES]
FIRST, *OTHERS = DEPENDENCIES
CLIENTS = [FIRST, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """These commands send no late request, but for one."""
    monkeypatch.setattr("cli.probe.SETTLE", 0.01)


def number_of_runs(stderr: str) -> int:
    return sum(line.startswith("probe: ") and " in " in line for line in stderr.splitlines())


@pytest.mark.parametrize("dependency", CLIENTS)
def test_a_dependency_is_found_by_its_axis_and_its_part(tmp_path: Path, dependency: str) -> None:
    """And nothing else is found, in as many runs as needed."""
    client = script(f"{CLIENT}assert {DEPENDENCIES[dependency]}, 'it depends on this'")
    done, report = probe(tmp_path, "--", *client, seed=2)
    assert (done.status, [each["what"] for each in report["findings"]]) == (1, [dependency])
    axis, _, part = dependency.partition(" of ")
    also = {"ids": "ids-encoded", "times": "times-odd"}.get(axis)
    others = {also: results(report)[also]} if also else {}  # if the spelling shows it
    assert {*others.values()} <= {"passes", "no finding"}
    assert results(report) == {**dict.fromkeys(AXES, "passes"), **others, axis: "breaks"}
    assert [each["tier"] for each in report["probe"]["axes"]] == [*6 * [1], *7 * [2]]
    (broken,) = [each for each in report["probe"]["axes"] if each["axis"] == axis]
    assert [each["part"] for each in broken["parts"] if each["result"] == "breaks"] == [part]
    assert "it depends on this" in broken["output"]
    if "no finding" not in others.values():
        # Plain, each axis, the break again, each part, and the other parts.
        assert number_of_runs(done.stderr) == 1 + 13 + 1 + len(broken["parts"]) + 1


def test_an_axis_that_no_response_has_is_not_met_and_without_axes_it_is_tier_1() -> None:
    done = run("--probe", "--", *script("call('/v1/projects')"))
    (line,) = [line for line in done.stderr.splitlines() if line.endswith(", not met")]
    assert line.startswith("probe: ids: passes in ")
    assert number_of_runs(done.stderr) == 1 + 6
    assert done.stderr.count("GET /v1/projects 200") == 1  # that of the plain run
    nothing = run("--probe", "ids", "--", *script("call('/v1/projects')"))
    assert (nothing.status, "no dependency" in nothing.stderr) == (0, False)


def test_a_probe_without_any_request_has_tested_nothing() -> None:
    done = run("--probe", "ids", "--grease-seed", "7", "--", "true")
    assert "; 1 axis, seed 7; 1 run to come\n" in done.stderr
    assert (done.status, "no dependency" in done.stderr) == (2, False)
    assert "warning: no request in the run of plain: does the command cache its results?" in (
        done.stderr
    )


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
    assert report["unpromised"] == [
        {"what": "listProjects: query parameter plain", "count": 1, "example": 1, "world": "w"}
    ]
    assert [each["count"] for each in report["rejected_by_the_server"]] == [1]
    assert done.status == 1


class Case(NamedTuple):
    """A COMMAND, the result of each axis, the findings, and what is said of them."""

    code: str
    results: dict[str, str]
    findings: list[str]
    said: list[str]


CASES = {
    "a tolerant client depends on nothing": Case(
        CLIENT,
        {"ids": "passes", "times": "passes"},
        [],
        ["no dependency was found with seed 7; others may find more"],
    ),
    "an operation that only the plain run calls is warned of": Case(
        "call('/v1/projects')\nif name == 'plain': call('/v1/deployments/dpl_failed')",
        {"members": "passes"},
        [],
        ["warning: getDeployment was called in the plain run and not in that of members: "],
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
    "what does not break again is no finding": Case(
        "call('/v1/projects')\nif name != 'plain' and is_first(name): sys.exit(3)\n",
        {"members": "no finding", "headers": "no finding"},
        [],
        ["probe: headers: no finding: it passed when it was repeated\n"],
    ),
    "what breaks in no part alone is its axis, and what sends no request is not run": Case(
        "if name == 'headers': sys.exit(9)\ncall('/v1/projects')\nsys.exit(name == 'times-odd')",
        {"headers": "not run", "times": "passes", "times-odd": "breaks"},
        ["times-odd"],
        [
            "warning: no request in the run of headers: does the command cache its results? Turn ",
            "probe: headers: not run in 0.",
        ],
    ),
    "what breaks along all axes and in no part is doubtful": Case(
        "call('/v1/projects')\nsys.exit(name in ('members', 'headers'))",
        {"members": "breaks", "headers": "breaks"},
        ["members", "headers"],
        ["warning: all axes break the tests: can these run twice, and without input?"],
    ),
    "what sends no request again is not run": Case(
        "if name == 'members' and not is_first(name): sys.exit(3)\n"
        "call('/v1/projects')\nsys.exit(name in ('members', 'headers'))",
        {"members": "not run", "headers": "breaks"},
        ["headers"],
        ["probe: members again: not run in 0."],
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
        "p = call('/v1/projects', '{\"name\": \"x\"}')\n"
        "is_plain = re.fullmatch(r'[-0-9]+T[0-9:]+[.][0-9]{3}Z', t)\n"
        "sys.exit('%' in p['id'] or not is_plain)",
        {"times": "breaks", "times-odd": "no finding", "ids-encoded": "breaks"},
        ["times of Deployment.created_at", "ids-encoded of projects"],
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
    assert (done.status, report["probe"]["is_complete"]) == (bool(case.findings), True)
    is_clear = not case.findings and "warning: " not in done.stderr
    assert ("no dependency" in done.stderr) is is_clear
    assert [text for text in case.said if text not in done.stderr] == []


def test_a_run_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.probe.HANG_SECONDS", 0.6)
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
    line = f"finding: depends: {finding['what']} (first: #1): {finding['advice']}\n"
    assert line in done.stderr
    assert (finding["first"]["path"], finding["first"]["number"]) == ("/v1/projects", 1)
    assert finding["advice"] == (
        "let the client ignore what it does not know; proxies may add some (RFC 9110 §5.1); "
        "chosen: the interface shows no success status; 200 is the usual one"
    )
    assert "  | *** hangs\n" in done.stderr
    (axis,) = report["probe"]["axes"]
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


def test_a_command_that_caches_its_results_is_not_run(tmp_path: Path) -> None:
    code = "if name == 'plain': call('/v1/projects')"
    done, report = probe(tmp_path, "--", *script(code), axes="unavailable")
    assert (done.status, report["exit_status"], report["findings"]) == (2, 2, [])
    assert report["probe"]["failures"][0]["result"] == "not run"
    assert "no request in the run of unavailable: does the command cache its" in done.stderr


def test_a_plain_run_that_fails_is_all(tmp_path: Path) -> None:
    for words, status in ((script("sys.exit(5)"), 5), (["no-such-command"], 127)):
        done, report = probe(tmp_path, "--", *words)
        assert (done.status, report["probe"]["axes"], report["findings"]) == (status, [], [])
        assert f" s (exit status {status})\n" in done.stderr


# The line after which a signal comes, the run that waits the second time, what was found.
SIGNALS = [
    ("listening on", "plain", signal.SIGINT, []),
    ("probe: members: breaks", "members", signal.SIGTERM, []),
    ("probe: members but @", "headers", signal.SIGINT, ["members"]),
    ("probe: unavailable: ", "cut-body", signal.SIGTERM, ["members"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("after", "waits", "number", "found"), SIGNALS)
def test_a_signal_ends_the_run_and_shows_what_was_confirmed(
    tmp_path: Path, after: str, waits: str, number: signal.Signals, found: list[str]
) -> None:
    report = tmp_path / "report"
    code = f"""
call('/v1/projects')
name != 'plain' and print('read:', sys.stdin.read())
if name == {waits!r} and (name != 'members' or not is_first(name)): signal.pause()
sys.exit(name.startswith('members'))
"""
    names = "members,headers,unavailable,cut-body"
    options = ("--quiet", "--probe", names, "--report", str(report))
    env = {"FOLDER": str(tmp_path)}
    with process("app.py", *options, "--", *script(code), env=env) as running:
        while not running.stderr.readline().startswith(after):
            pass
        running.send_signal(number)
        _, stderr = running.communicate(timeout=20)
    assert running.returncode == 128 + number
    document = json.loads(report.read_text("utf-8"))
    assert document["probe"]["is_complete"] is False
    assert document["exit_status"] == 128 + number
    assert "probe: incomplete: a signal came\n" in stderr
    assert "probe: plain: " not in stderr
    assert ("  unavailable\n  listProjects " in stderr) is (waits == "cut-body")
    assert [each["what"].split()[0] for each in document["findings"]][:1] == found
    for axis in document["probe"]["axes"]:
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
    monkeypatch.setattr("cli.probe.SETTLE", 0.5)
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
    for name in ("headers", "unavailable"):
        assert f"probe: {name}: no finding: {reason}\n" in done.stderr
    assert "warning: a run left a process running, whose requests between " in done.stderr
