"""--probe runs tests that use many worlds, and those of parallel runners."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import probe, results, script
from tests.conftest import needs

pytestmark = pytest.mark.process


@pytest.mark.slow
def test_a_run_may_have_many_worlds(tmp_path: Path) -> None:
    code = (
        "for n in range(1000):\n"
        "  h['Authorization'] = f\"Bearer {os.environ['STUB_TOKEN']}.w{n}\"\n"
        "  p = call('POST', '/v1/projects', '{\"name\": \"x\"}')\n"
        "  assert call('GET', '/v1/projects')['projects'][-1]['name'] == 'x', p\n"
    )
    done, report = probe(tmp_path, "--", *script(code), axes="members,list-order")
    assert results(report) == {"members": "passes", "list-order": "breaks"}
    assert done.status == 1


NODE = """
import { test } from "node:test";
const token = process.env.STUB_TOKEN, url = process.env.STUB_URL;
for (const world of ["a", "b", "c", "d"]) {
  test(world, { concurrency: true }, async () => {
    const headers = { Authorization: `Bearer ${token}.${world}` };
    const { projects } = await (await fetch(`${url}/v1/projects`, { headers })).json();
    if (Object.keys(projects[0]).length !== 4) throw new Error("another member");
  });
}
"""
PYTEST = """
import json, os, urllib.request
import pytest

@pytest.mark.parametrize("world", ["a", "b", "c", "d"])
def test_list(world):
    request = urllib.request.Request(os.environ["STUB_URL"] + "/v1/projects")
    request.add_header("Authorization", f"Bearer {os.environ['STUB_TOKEN']}.{world}")
    assert len(json.load(urllib.request.urlopen(request))["projects"][0]) == 4
"""
RUNNERS = {
    "node --test": ("test.mjs", NODE, ["node", "--test"]),
    "pytest-xdist": ("test_list.py", PYTEST, [sys.executable, "-m", "pytest", "-q", "-n", "2"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text", "command"), RUNNERS.values(), ids=RUNNERS)
def test_parallel_runners_are_probed(
    tmp_path: Path, name: str, text: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(command[0])
    (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    done, report = probe(tmp_path, "--", *command, axes="members,headers")
    assert results(report) == {"members": "breaks", "headers": "passes"}, done.stderr
    assert [finding["what"] for finding in report["findings"]] == ["members of Project"]
