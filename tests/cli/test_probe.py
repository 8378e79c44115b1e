"""--probe says on which part that nobody promised a command depends."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import has_ended, number_of_runs, probe, results, script
from tests.conftest import ROOT, eventually
from tests.program import process, run

pytestmark = pytest.mark.process

CLIENT = [sys.executable, "-I", str(ROOT / "tests" / "cli" / "probed.py")]
DEPENDENCIES = {
    "members": "members of Project",
    "member-order": "member-order of Deployment",
    "json-text": "json-text of listProjects 200",
    "headers": "headers of createProject 201",
    "ids": "ids of projects",
    "times": "times of Project.created_at",
    "list-order": "list-order of ProjectList.projects",
    "status-values": "status-values of Deployment",
    "success-code": "success-code of createProject 201",
    "error-text": "error-text of Problem.title",
    "media-type": "media-type of getDeployment 404",
    "times-odd": "times-odd of Project.created_at",
    "ids-encoded": "ids-encoded of deployments",
}
HANGS_AT_ONCE = {"cli.probe.HANG_SECONDS": 1.0, "cli.probe.HANG_FACTOR": 1}


def assert_found(folder: Path, axis: str, seed: int) -> None:
    """The dependency is found by axis and part, and nothing else, in as many runs as needed."""
    done, report = probe(folder, "--", *CLIENT, axis, seed=seed)
    assert done.status == 1
    assert [finding["what"] for finding in report["findings"]] == [DEPENDENCIES[axis]]
    also = {"ids": "ids-encoded", "times": "times-odd"}.get(axis)
    others = {also: results(report)[also]} if also else {}  # implied, if the spelling shows it
    assert {*others.values()} <= {"passes", "implied"}
    assert results(report) == {**dict.fromkeys(DEPENDENCIES, "passes"), **others, axis: "breaks"}
    (broken,) = [each for each in report["probe"]["axes"] if each["axis"] == axis]
    breaking = [each["part"] for each in broken["parts"] if each["result"] == "breaks"]
    assert breaking == [DEPENDENCIES[axis].partition(" of ")[2]]
    assert f"this client depends on {axis}" in broken["output"]
    if "implied" not in others.values():
        # Plain, each axis, the break again, each part, and the other parts.
        assert number_of_runs(done.stderr) == 1 + 13 + 1 + len(broken["parts"]) + 1


def test_a_dependency_is_found_by_its_axis_and_its_part(tmp_path: Path) -> None:
    assert_found(tmp_path, "members", 7)


@pytest.mark.slow
@pytest.mark.parametrize("axis", DEPENDENCIES)
def test_a_dependency_on_any_axis_is_found(tmp_path: Path, axis: str) -> None:
    assert_found(tmp_path, axis, 2)


def test_a_tolerant_client_depends_on_nothing(tmp_path: Path) -> None:
    done, report = probe(tmp_path, "--", *CLIENT)
    assert (done.status, report["findings"], report["probe"]["is_complete"]) == (0, [], True)
    assert results(report) == dict.fromkeys(DEPENDENCIES, "passes")
    assert "no dependency was found with seed 7; others may find more\n" in done.stderr


def test_the_terminal_says_what_breaks_and_why_nobody_promised_it_once(tmp_path: Path) -> None:
    done, _ = probe(tmp_path, "--", *CLIENT, "ids", axes="ids,times")
    lines = done.stderr.splitlines()
    assert lines[2] == "probe: seed 7, runs to come: 2"
    assert "  | this client depends on ids" in lines
    assert [line for line in lines if "ids of projects" in line] == [
        "finding: depends: ids of projects: take ids as opaque strings of any length "
        "(the form of an id is the server's own; chosen: a record needs an id)"
    ]


def test_an_axis_that_no_response_has_is_not_met_and_without_axes_it_is_tier_1() -> None:
    done = run("--probe", "--", *script("call('GET', '/v1/projects')"))
    (line,) = [line for line in done.stderr.splitlines() if line.endswith(", not met")]
    assert line.startswith("probe: ids: passes in ")
    assert number_of_runs(done.stderr) == 1 + 6


def test_each_run_begins_as_the_program_does_and_the_coverage_is_of_the_plain_one(
    tmp_path: Path,
) -> None:
    """With the same ids, address and files, and no record, fault or clock of an earlier run."""
    seen, seed = tmp_path / "seen", tmp_path / "seed.json"
    seed.write_text("{}")
    code = (
        f"name == 'plain' and os.remove({str(seed)!r})\n"
        "call('GET', '/v1/projects?' + name)\n"
        "p = call('POST', '/v1/projects', '{\"name\": \"x\"}')\n"
        "call('POST', '/_stub/faults', '{\"status\": 503, \"times\": null}')\n"
        "call('POST', '/_stub/clock', '{\"advance\": 9, \"frozen\": true}')\n"
        "last = call('GET', '/_stub/requests')['last']\n"
        "on = call('GET', '/_stub/grease')['axes']\n"
        f"print(json.dumps([name, p['id'], last, on, c.port, sys.stdin.read()]),"
        f" file=open({str(seen)!r}, 'a'))\n"
    )
    options = ("--seed", str(seed), "--ids-seed", "1", "--fail-on", "unpromised")
    done, report = probe(tmp_path, *options, "--", *script(code), axes="headers,times")
    rows = [json.loads(line) for line in seen.read_text("utf-8").splitlines()]
    assert [row[0] for row in rows] == ["plain", "headers", "times"]
    assert [row[3] for row in rows] == [[], ["headers"], ["times"]]
    assert len({(row[1], row[2], row[4]) for row in rows}) == 1
    assert report["unpromised"] == [
        {"what": "listProjects: query parameter plain", "count": 1, "example": 1, "world": "w"}
    ]
    assert done.status == 1


def test_what_does_not_break_or_hang_again_is_unstable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in HANGS_AT_ONCE.items():
        monkeypatch.setattr(name, value)
    code = (
        "call('GET', '/v1/projects')\n"
        f"once = {str(tmp_path)!r} + '/once-' + name\n"
        "if name != 'plain' and not os.path.exists(once):\n"
        "  open(once, 'w'); sys.exit(3) if name == 'headers' else signal.pause()\n"
    )
    done, report = probe(tmp_path, "--", *script(code), axes="headers,members")
    assert (done.status, report["findings"]) == (0, [])
    assert results(report) == {"members": "unstable", "headers": "unstable"}
    assert "probe: headers: unstable: no finding\n" in done.stderr
    assert number_of_runs(done.stderr) == 1 + 2 * 2


def test_a_run_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in HANGS_AT_ONCE.items():
        monkeypatch.setattr(name, value)
    pids = tmp_path / "pids"
    code = (
        "call('GET', '/v1/projects')\n"
        "p = subprocess.Popen(['sleep', '1000'])\n"
        f"print(p.pid, file=open({str(pids)!r}, 'a'))\n"
        "if name != 'plain':\n"
        "  print(20_000 * 'x' + '\\nit hangs', flush=True)\n"
        "  signal.pause()\n"
    )
    done, report = probe(tmp_path, "--", *script(code), axes="headers")
    assert (done.status, results(report)) == (1, {"headers": "hangs"})
    assert [finding["what"] for finding in report["findings"]] == ["headers of listProjects 200"]
    assert "  | it hangs\n" in done.stderr
    assert "warning" not in done.stderr
    assert len(report["probe"]["axes"][0]["output"]) == 16 * 1024
    assert number_of_runs(done.stderr) == 5  # plain, the axis twice, its one part, the others
    for pid in pids.read_text().split():
        eventually(partial(has_ended, int(pid)))  # a killed process ends when it is scheduled


def test_a_plain_run_that_fails_is_all(tmp_path: Path) -> None:
    done, report = probe(tmp_path, "--", *script("sys.exit(5)"))
    assert (done.status, report["probe"]["axes"], report["findings"]) == (5, [], [])
    assert re.search(r"^probe: plain: breaks in .* \(exit status 5\)$", done.stderr, re.MULTILINE)
    done, report = probe(tmp_path, "--", str(tmp_path / "none"))
    assert (done.status, report["probe"]["axes"]) == (127, [])


def test_what_makes_a_break_doubtful_is_told_and_output_is_masked(tmp_path: Path) -> None:
    """What breaks in no part alone is its axis."""
    token, once = "S3cretTokenOfFortyThreeCharactersLong123456", str(tmp_path / "once")
    code = (
        "if name == 'headers': sys.exit(9)\n"
        "call('GET', '/v1/projects')\n"
        f"if name == 'plain': os.mkdir({once!r})\n"
        "if name == 'members':\n"
        "  print(5000 * (os.environ['STUB_TOKEN'] + '\\n'), end=''); sys.exit(1)\n"
    )
    words = ("--token", token, "--", *script(code))
    done, report = probe(tmp_path, *words, axes="headers,members")
    assert results(report) == {"members": "breaks", "headers": "not met"}
    warning = "warning: all axes break the tests: can these run twice, and without input?\n"
    assert warning in done.stderr
    assert {*report["probe"]["axes"][0]["output"].split()} == {"***"}
    assert token[-9:] not in done.stderr
    assert [finding["what"] for finding in report["findings"]] == ["members"]


INTERRUPTED = """
call('GET', '/v1/projects')
name != 'plain' and print('read:', sys.stdin.read())
if os.path.exists(once) and name == waits: print('waits'); signal.pause()
if name == waits: open(once, 'w')
sys.exit(name.startswith('members'))
"""
# The line after which a signal comes, the run that waits the second time, what was found.
SIGNALS = [
    ("probe: members: breaks", "members", signal.SIGTERM, []),
    ("probe: members but @", "headers", signal.SIGINT, ["members"]),
]


@pytest.mark.parametrize(("after", "waits", "number", "found"), SIGNALS)
def test_a_signal_ends_the_run_and_shows_what_was_confirmed(
    tmp_path: Path, after: str, waits: str, number: signal.Signals, found: list[str]
) -> None:
    report, once = tmp_path / "report", tmp_path / "once"
    if waits == "headers":
        once.touch()
    code = f"once, waits = {str(once)!r}, {waits!r}\n{INTERRUPTED}"
    options = ("--quiet", "--probe", "members,headers", "--report", str(report))
    words = ("app.py", *options, "--", *script(code))
    with process(*words, start_new_session=True, stdin=subprocess.PIPE) as running:
        assert running.stderr
        assert running.stdin
        running.stdin.write("input")
        running.stdin.close()
        for line in running.stderr:
            if line.startswith(after):
                break
        running.send_signal(number)
        stderr = running.stderr.read()
        assert running.wait(timeout=20) == 128 + number
    document = json.loads(report.read_text("utf-8"))
    assert document["probe"]["is_complete"] is False
    assert document["exit_status"] == 128 + number
    assert "probe: incomplete: a signal came\n" in stderr
    assert [each["what"].split()[0] for each in document["findings"]][:1] == found
    for axis in document["probe"]["axes"]:
        assert axis["output"] == "read: \n"  # no input


POLLS = """
import os, time, urllib.request as u
r = u.Request(os.environ['STUB_URL'] + '/v1/projects')
end = time.monotonic() + 20
while time.monotonic() < end:
  try: u.urlopen(r).read()
  except OSError: pass
"""


def test_what_cannot_be_ended_is_told_and_its_runs_have_no_finding(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "call('GET', '/v1/projects')\n"
        "if name == 'plain':\n"
        f"  p = subprocess.Popen([sys.executable, '-c', {POLLS!r}], start_new_session=True)\n"
        f"  open({str(pid)!r}, 'w').write(str(p.pid))\n"
        "sys.exit(name != 'plain')\n"
    )
    try:
        done, report = probe(tmp_path, "--", *script(code), axes="headers")
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert (done.status, report["findings"]) == (0, [])
    assert results(report) == {"headers": "disturbed"}
    assert "warning: a run left a process running, whose requests between " in done.stderr


def test_a_dependency_that_another_one_hides_is_found(tmp_path: Path) -> None:
    """The client rejects an unknown member of a project before it asks for a deployment."""
    code = (
        "p = call('GET', '/v1/projects')['projects'][0]\n"
        "if len(p) > 4: sys.exit(1)\n"
        "sys.exit(len(call('GET', '/v1/deployments/dpl_failed')) > 4)\n"
    )
    allowed = ("--allow", "depends: members of Project")
    done, report = probe(tmp_path, *allowed, "--", *script(code), axes="members")
    assert [each["what"] for each in report["findings"]] == ["members of Deployment"]
    assert done.status == 1
    parts = {each["part"]: each["result"] for each in report["probe"]["axes"][0]["parts"]}
    assert (parts["Project"], parts["Deployment"]) == ("breaks", "breaks")
    assert "probe: members but @Project: breaks in " in done.stderr
    assert "probe: members but @Project, @Deployment: passes in " in done.stderr


def test_one_cause_of_two_axes_is_one_finding(tmp_path: Path) -> None:
    code = (
        "import re; t = call('GET', '/v1/deployments/dpl_failed')['created_at']\n"
        "p = call('POST', '/v1/projects', '{\"name\": \"x\"}')\n"
        "is_plain = re.fullmatch(r'[-0-9]+T[0-9:]+[.][0-9]{3}Z', t)\n"
        "sys.exit('%' in p['id'] or not is_plain)"
    )
    axes = "times,times-odd,ids-encoded"
    done, report = probe(tmp_path, "--", *script(code), axes=axes)
    assert results(report) == {"times": "breaks", "times-odd": "implied", "ids-encoded": "breaks"}
    assert "probe: times-odd: implied: no finding\n" in done.stderr
    found = [each["what"] for each in report["findings"]]
    assert found == ["times of Deployment.created_at", "ids-encoded of projects"]
