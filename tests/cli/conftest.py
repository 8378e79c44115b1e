"""What a run with --probe does and leaves."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.program import run


def script(code: str) -> list[str]:
    """A COMMAND that begins as a client does, and goes on with `code`."""
    begin = (
        "import http.client, json, os, signal, subprocess, sys\n"
        "from urllib.parse import urlsplit\n"
        "name = os.environ['STUB_PROBE_RUN']\n"
        "c = http.client.HTTPConnection(urlsplit(os.environ['STUB_URL']).netloc)\n"
        "h = {'Authorization': 'Bearer ' + os.environ['STUB_TOKEN'] + '.w'}\n"
        "def call(method, path, body=None, **more):\n"
        "  c.request(method, path, body, {**h, 'Content-Type': 'application/json', **more})\n"
        "  return json.loads(c.getresponse().read() or 'null')\n"
    )
    return [sys.executable, "-I", "-c", begin + code]


def probe(folder: Path, *args: str, axes: str = "all", seed: int = 7) -> tuple[Any, Any]:
    """What a run with --probe left, and its report."""
    options = ["--probe", axes, "--grease-seed", str(seed), "--report", str(folder / "report")]
    done = run("--quiet", *options, *args)
    return done, json.loads((folder / "report").read_text("utf-8"))


def results(report: Any) -> dict[str, str]:
    return {axis["axis"]: axis["result"] for axis in report["probe"]["axes"]}


def number_of_runs(stderr: str) -> int:
    return sum(line.startswith("probe: ") and " in " in line for line in stderr.splitlines())


def has_ended(pid: int) -> bool:
    """Whether it has ended, or is a zombie that nobody has asked for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"
