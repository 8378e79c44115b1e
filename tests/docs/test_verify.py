"""docs/verify.md is true: its output is as printed, and its files and its job have their forms."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.docs.documents import TEXTS, blocks_of
from tests.program import program, run

NAME = "docs/verify.md"
BLOCKS = blocks_of(NAME)

pytestmark = pytest.mark.process


def test_the_command_prints_what_is_printed() -> None:
    (command,) = (text for kind, text in BLOCKS if kind == "sh")
    (printed,) = (text for kind, text in BLOCKS if kind == "text" and text.startswith("verify "))
    (options,) = re.findall(r"Start the program with `(.*?)`", TEXTS[NAME])
    variable, _, _, verify, url = command.split()
    with program("--quiet", *options.split()) as (_, real_url):
        done = run(verify, real_url, "--pause", "0", env=dict([variable.split("=")]))
    assert done.status == 0, done.stderr
    shown = done.stdout.replace(real_url, url)
    pieces = map(re.escape, printed.split("…\n"))
    assert re.fullmatch(r"(.*\n)+".join(pieces) + "\n", shown), shown


def test_the_files_have_the_printed_form(tmp_path: Path) -> None:
    (report,) = (json.loads(text) for kind, text in BLOCKS if kind == "json")
    (known,) = (text for kind, text in BLOCKS if kind == "text" and "differs: #" in text)
    (tmp_path / "known.txt").write_text(known)
    with program("--quiet", "--grease", "list-order") as (_, url):
        file = tmp_path / "report.json"
        options = ["--known", str(tmp_path / "known.txt"), "--report", str(file)]
        words = ["verify", url, "--pause", "0", "--fail-on", "differs", *options]
        done = run(*words, env={"VERIFY_TOKEN": "dev-token"})
    assert done.status == 0, done
    assert done.stdout.count("matches no finding") == 1
    made = json.loads(file.read_text())
    assert made.keys() == report.keys()
    assert made["parts"][0].keys() == report["parts"][0].keys()
    assert made["probes"][0].keys() == report["probes"][0].keys()


def test_the_nightly_job_is_never_run_for_a_pull_request() -> None:
    (job,) = (yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml")
    assert set(job[True]) == {"schedule"}  # YAML 1.1 reads `on` as true
    (verify,) = (each for each in job["jobs"]["verify"]["steps"] if "run" in each)
    assert " deployment-stub verify https://" in verify["run"]
    assert set(verify["env"]) == {"VERIFY_TOKEN"}
