"""--probe says on which part that nobody promised a command depends, and what failures do to it."""

import io
import json
import re
import signal
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from werkzeug.test import Client, TestResponse

from cli.apps import NewApp, get_worlds, load_files, make_app
from cli.command import Command
from cli.log import RunLog
from cli.options import Settings, parse_probe
from cli.probe import Ended, Probe
from cli.probe_report import describe_probe
from cli.run import RunParts, conclude
from stub import Options, create_stub
from stub.failures import FAULTS, RunJournal
from tests.cli.conftest import has_ended, script
from tests.conftest import TOKEN, eventually
from tests.contract import V1
from tests.program import run

SEEDED = Options(grease_seed=7, ids_seed=1)


class Function:
    """A COMMAND that is a function of this process, and calls the app of its run.

    The function returns whether it breaks. No time passes but by `sleep`.
    """

    def __init__(
        self, client: Callable[["Function"], object], log: RunLog, new_app: NewApp
    ) -> None:
        self.client = client
        self.log = log
        self.new_app = new_app
        self.now = 0.0
        self.name = ""  # of the current run
        self.is_first = True  # whether this is the first run of that name
        self.limits: dict[str, float | None] = {}  # by the names of runs
        self.signal: int | None = None

    def execute(self, name: str, limit: float | None, **options: Any) -> Ended:
        journal = RunJournal(self.log.add)
        self.app = self.new_app(log=journal.add, sleep=self.sleep, **options)
        self.name = name
        self.is_first = name not in self.limits
        self.limits[name] = limit
        started = self.now
        status = int(bool(self.client(self)))
        self.log.is_muted = True
        return Ended(
            status,
            self.now - started,
            "its output\n",
            get_worlds(self.app),
            journal.attempts,
            self.signal,
        )

    def send(self, path: str, token: str = TOKEN, **more: Any) -> TestResponse:
        return Client(self.app).open(path, headers={"Authorization": f"Bearer {token}"}, **more)

    def read(self, path: str, **more: Any) -> Any:
        return json.loads(self.send(path, **more).data)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Done:
    """What a run with --probe left: its status, findings, results by axis or failure, and words."""

    def __init__(self, client: Callable[[Function], object], axes: str, **more: Any) -> None:
        settings = load_files(Settings(SEEDED, probe=parse_probe(axes), **more))
        log = RunLog(settings, has_command=True)

        def new_app(sleep: Callable[[float], None], **options: Any) -> Flask:
            return make_app(partial(create_stub, sleep=sleep), log, settings, **options)

        command = Command(["true"], {})
        self.function = Function(client, log, new_app)
        with redirect_stderr(io.StringIO()) as stderr:
            probe = Probe(settings, self.function.execute)
            command.status = probe.run()
            parts = RunParts(settings, log, command)
            self.status = conclude(parts, probe.worlds, probe, {})
        self.stderr = stderr.getvalue()
        self.report = describe_probe(probe)
        results = self.report["axes"] + self.report["failures"]
        self.results = {each.get("axis") or each["failure"]: each["result"] for each in results}
        self.findings = re.findall(r"^finding: (.*?) \(first", self.stderr, re.MULTILINE)


SHOWN = "  | its output\n"
CLEAR = "no dependency was found with seed 7; another seed may find more\n"


def calls_each_operation(run: Function) -> None:
    created = run.send("/v1/projects", method="POST", json={"name": "shop"})
    assert "Stub-Grease" not in created.headers  # the client is not told
    run.read("/v1/projects")
    deployment = json.loads(created.data)["latest_deployment_id"]
    run.read(f"/v1/deployments/{quote(deployment, safe='')}")
    run.read("/v1/deployments/none")


def test_a_tolerant_client_depends_on_nothing() -> None:
    done = Done(calls_each_operation, "all")
    assert done.results == dict.fromkeys(parse_probe("all"), "passes")
    assert [each["tier"] for each in done.report["axes"]] == [*6 * [1], *5 * [2]]
    assert (done.status, done.findings) == (0, [])
    assert "probe: plain: passes in 0.0 s; seed 7, runs to come: 11\n" in done.stderr
    assert CLEAR in done.stderr
    assert done.stderr.count("GET /v1/projects 200") == 1  # in the plain run


def lists(run: Function, breaks: object = False) -> bool:
    run.read("/v1/projects")
    return bool(breaks)


def calls_less_when_varied(run: Function) -> None:
    lists(run)
    if run.name == "plain":
        run.read("/v1/deployments/dpl_failed")


def breaks_without_request(run: Function) -> bool:
    if run.is_first:
        lists(run)
    return run.name != "plain"


def hangs(run: Function) -> None:
    lists(run)
    if run.name in ("members", "headers"):
        run.sleep(30.1)


def stops_at_an_error(run: Function) -> bool:
    created = run.send("/v1/projects", method="POST", json={"name": "shop"})
    return created.status_code != 201 or run.send("/v1/projects").status_code != 200


def knows_all_members(run: Function) -> bool:
    """Rejects an unknown member of a project, and of a deployment."""
    for world in "abcdefg":
        token = f"{TOKEN}.{world}"
        run.read("/v1/deployments/none", token=token)
        project = run.read("/v1/projects", token=token)["projects"][0]
    deployment = run.read("/v1/deployments/dpl_failed")
    return len(project) > 4 or len(deployment) > 4


# A client, its results, what it depends on, what is said, and the status.
CASES: list[tuple[Callable[[Function], object], dict[str, str], list[str], list[str], int]] = [
    (lists, {"ids": "not met"}, [], ["probe: ids: passes in 0.0 s, not met\n"], 0),
    (lambda run: False, {"headers": "not met"}, [], ["no request in the run of plain: does "], 2),
    (
        lambda run: run.name == "plain" and lists(run),
        {"members": "not run", "unavailable": "not run"},
        [],
        ["no request in the run of members, unavailable: does the command cache its results?"],
        2,
    ),
    (
        lambda run: run.name != "plain" or lists(run),
        {"members": "not run"},
        [],
        ["probe: members: not run in 0.0 s (exit status 1)\n", SHOWN],
        2,
    ),
    (
        lambda run: lists(run, run.name != "plain" and run.is_first),
        {"headers": "no finding"},
        [],
        ["probe: headers: no finding: the repetition passed\n", CLEAR, SHOWN],
        0,
    ),
    # A page with the status of a success is rejected.
    (
        lambda run: run.send("/v1/projects").mimetype == "text/html",
        {"cut-body": "passes", "wrong-body": "breaks"},
        [],
        ["  cut-body  wrong-body\n", "  listProjects   gave up   gave up\n", SHOWN],
        0,
    ),
    (
        stops_at_an_error,
        {"unavailable": "breaks", "lost-response": "passes"},
        [],
        ["warning: the run of unavailable ended before listProjects met it: did the tests ", SHOWN],
        0,
    ),
    (
        calls_less_when_varied,
        {"members": "passes"},
        [],
        ["warning: the plain run called getDeployment, and the run of members did not: "],
        0,
    ),
    (
        breaks_without_request,
        {"members": "not run"},
        [],
        ["probe: members again: not run in 0.0 s (exit status 1)\n", SHOWN],
        2,
    ),
    (
        hangs,
        {"members": "hangs", "headers": "hangs"},
        ["members", "headers"],
        [
            "probe: headers: hangs in 30.1 s, varied responses: 1\n",
            "all axes break the tests",
            SHOWN,
        ],
        1,
    ),
    (
        knows_all_members,
        {"members": "breaks"},
        ["members of Project", "members of Deployment"],
        [
            "Project (first: a #2): ",
            "; chosen: ",
            "; varied in the worlds a, b, c, d, e and 2 more\n",
            SHOWN,
        ],
        1,
    ),
]


def test_a_client_has_these_results() -> None:
    for client, results, findings, said, status in CASES:
        done = Done(client, ",".join(results))
        assert done.results == results
        assert done.findings == [f"depends: {each}" for each in findings]
        assert done.status == status
        assert [text for text in said if text not in done.stderr] == []
        assert (CLEAR in done.stderr) is (CLEAR in said)
        assert (SHOWN in done.stderr) is (SHOWN in said)
        assert done.report["is_complete"]


def test_a_plain_run_that_fails_is_all() -> None:
    done = Done(lambda run: lists(run, breaks=True), "all")
    assert (done.status, done.results, [*done.function.limits]) == (1, {}, ["plain"])
    assert "probe: plain: breaks in 0.0 s (exit status 1)\n" in done.stderr


def test_a_run_hangs_after_five_times_the_plain_one_and_30_seconds_at_least() -> None:
    """In the run of `stalled` each operation may wait for 20 seconds, too."""
    waiting = 20 * len([*V1.operations()])
    for seconds, limit in ((1.0, 30.0), (10.0, 50.0)):

        def waits(run: Function, seconds: float = seconds) -> None:
            run.send("/v1/projects")
            run.sleep(run.limits[run.name] or seconds)

        done = Done(waits, "headers,failures")
        limits = dict.fromkeys(["headers", *FAULTS], limit)
        assert done.function.limits == {"plain": None, **limits, "stalled": limit + waiting}
        assert done.results["headers"] == "passes"


def test_each_run_begins_as_the_program_does_and_the_coverage_is_of_the_plain_one() -> None:
    """With the same ids, and no record, fault or clock of an earlier run."""
    seen: list[Any] = []

    def client(run: Function) -> None:
        assert run.send(f"/v1/projects?{run.name}").status_code == 200
        created = run.send("/v1/projects", method="POST", json={"name": "x"})
        run.send("/_stub/faults", method="POST", json={"status": 503, "times": None})
        run.send("/_stub/clock", method="POST", json={"advance": 9, "frozen": True})
        axes = run.read("/_stub/grease")["axes"]
        assert axes == ([] if run.name == "plain" else [run.name])
        last = run.read("/_stub/requests")["last"]
        seen.append([json.loads(created.data)["id"], last])

    done = Done(client, "headers,times", fail_on=["unpromised"])
    assert seen == 3 * [seen[0]]
    assert (done.status, done.findings) == (1, ["unpromised: listProjects: query parameter plain"])


# The run in which a signal comes, and what was found before.
SIGNALS = [
    ("plain", []),
    ("members again", []),
    ("headers", ["depends: members"]),
    ("stalled", ["depends: members", "accepts: listProjects after wrong-body"]),
]


@pytest.mark.parametrize(("last", "found"), SIGNALS)
def test_a_signal_ends_the_run_and_shows_what_was_confirmed(last: str, found: list[str]) -> None:
    def client(run: Function) -> bool:
        run.send("/v1/projects")
        label = run.name if run.is_first else f"{run.name} again"
        if label == last:
            run.signal = signal.SIGTERM
        return run.name == "members"

    done = Done(client, "members,headers,wrong-body,stalled")
    assert done.findings == found
    assert (done.status, done.report["is_complete"]) == (128 + signal.SIGTERM, False)
    assert "probe: incomplete: ended by a signal\n" in done.stderr
    assert CLEAR not in done.stderr
    assert ("  wrong-body\n  listProjects " in done.stderr) is (last == "stalled")


# Is cut short in its second run, and ends with 0 then.
CUT_SHORT = """
import time
call('/v1/projects')
if name != 'plain':
  signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
  os.kill(os.getppid(), signal.SIGTERM)
  time.sleep(20)
"""


@pytest.mark.process
def test_a_run_that_a_signal_cuts_short_is_no_success_if_its_command_ends_with_0() -> None:
    handler = signal.getsignal(signal.SIGINT)
    done = run("--probe", "members,headers", "--", *script(CUT_SHORT))
    assert done.status == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is handler
    assert re.findall("^probe: (\\w+): ", done.stderr, re.MULTILINE) == ["plain", "incomplete"]


# Starts what does not end, prints much, and gives up a response that is late.
WHOLE = """
import subprocess
note('pids', subprocess.Popen(['sleep', '1000']).pid)
if name != 'plain':
  print(20_000 * 'x', os.environ['STUB_TOKEN'], 'input:', sys.stdin.read(), '.')
if name == 'stalled':
  socket.setdefaulttimeout(0.3)
try:
  projects = call('/v1/projects')['projects']
except TimeoutError:
  projects = [{}]
sys.exit(len(projects[0]) > 4)
"""
RUNS = [*("plain", "members", "members again", "members@ProjectList", "members@Project"), "stalled"]


@pytest.mark.process
def test_each_run_is_a_process_that_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ("--probe", "members,stalled", "--grease-seed", "7", "--report", str(report))
    done = run(*options, "--", *script(WHOLE), env={"FOLDER": str(tmp_path)})
    assert done.status == 1
    assert re.findall("^probe: (.*): .* in ", done.stderr, re.MULTILINE) == RUNS
    assert "finding: depends: members of Project (first: #1)" in done.stderr
    assert re.search(r"\n  listProjects   closed after \d\.\d s\n", done.stderr)
    assert "x *** input:  .\n" in done.stderr
    probe = json.loads(report.read_text("utf-8"))["probe"]
    (failure,), (axis,) = probe["failures"], probe["axes"]
    assert failure["operations"]["listProjects"]["closed_after"] > 0
    assert len(axis["output"]) == 16 * 1024
    assert axis["output"].endswith("x *** input:  .\n")
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == len(RUNS)
    for pid in pids:
        eventually(partial(has_ended, pid))  # a killed process ends when it is scheduled
