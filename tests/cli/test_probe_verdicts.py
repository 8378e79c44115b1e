"""--probe finds each dependency once, and none that does not exist."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import probe, results, script

pytestmark = pytest.mark.process


def test_what_cannot_be_ended_is_told_and_its_runs_have_no_finding(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    creator = (
        "import json, os, time, urllib.request as u\n"
        "r = u.Request(os.environ['STUB_URL'] + '/v1/projects')\n"
        "r.add_header('Authorization', 'Bearer ' + os.environ['STUB_TOKEN'])\n"
        "end = time.monotonic() + 20\n"
        "while time.monotonic() < end:\n"
        "  try: u.urlopen(r).read()\n"
        "  except OSError: pass\n"
        "  time.sleep(0.05)\n"
    )
    code = (
        "call('GET', '/v1/projects')\n"
        "if name == 'plain':\n"
        f"  p = subprocess.Popen([sys.executable, '-c', {creator!r}], start_new_session=True)\n"
        f"  open({str(pid)!r}, 'w').write(str(p.pid))\n"
        "sys.exit(name != 'plain')\n"
    )
    try:
        done, report = probe(tmp_path, "--", *script(code), axes="headers")
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert (done.status, report["findings"]) == (0, [])
    assert results(report) == {"headers": "disturbed"}
    assert "warning: plain, headers left a process" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if "between two runs" in line]) == 1
    assert "warning: plain left a process running: " in done.stderr


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


def test_a_hang_that_is_not_repeated_is_unstable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.probe.HANG_SECONDS", 1.0)
    monkeypatch.setattr("cli.probe.HANG_FACTOR", 1)
    once = str(tmp_path / "once")
    code = (
        "call('GET', '/v1/projects')\n"
        f"if name != 'plain' and not os.path.exists({once!r}): open({once!r}, 'w'); signal.pause()"
    )
    _, report = probe(tmp_path, "--", *script(code), axes="headers")
    assert (results(report), report["findings"]) == ({"headers": "unstable"}, [])


def test_one_cause_of_two_axes_is_one_finding(tmp_path: Path) -> None:
    code = (
        "t = call('GET', '/v1/deployments/dpl_failed')['created_at']\n"
        "import re; sys.exit(not re.fullmatch(r'[-0-9]+T[0-9:]+[.][0-9]{3}Z', t))"
    )
    done, report = probe(tmp_path, "--", *script(code), axes="times,times-odd")
    assert results(report) == {"times": "breaks", "times-odd": "implied"}
    assert [each["what"] for each in report["findings"]] == ["times of Deployment.created_at"]
    assert "probe: times-odd: as times\n" in done.stderr


def test_no_advice_is_about_a_path_that_does_not_exist(tmp_path: Path) -> None:
    code = "p = call('POST', '/v1/projects', '{\"name\": \"x\"}'); sys.exit('%' in p['id'])"
    _, report = probe(tmp_path, "--", *script(code), axes="ids-encoded")
    (finding,) = report["findings"]
    assert finding["what"] == "ids-encoded of projects"
    assert finding["advice"].startswith("take ids as opaque strings of any length (")
