"""What a COMMAND does, and what a run with --probe leaves."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.probe import Probe
from cli.watch import Watch
from tests.program import run

# A client that starts quickly: http.client would take three times as long as the rest.
BEGIN = """
import json, os, signal, socket, sys
name, folder = map(os.environ.get, ('STUB_PROBE_RUN', 'FOLDER'))
host, port = os.environ['STUB_URL'].removeprefix('http://').split(':')
h = {'Authorization': 'Bearer ' + os.environ['STUB_TOKEN'], 'Content-Type': 'application/json'}
def fetch(path, body=''):
  fields = {**h, 'Host': host, 'Connection': 'close', 'Content-Length': len(body)}
  lines = [f'{field}: {value}' for field, value in fields.items()]
  head = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", *lines, '', body]
  with socket.create_connection((host, port)) as c:
    c.sendall('\\r\\n'.join(head).encode())
    head, _, text = c.makefile('rb').read().decode().partition('\\r\\n\\r\\n')
  return head.split('\\r\\n'), text
def call(path, body=''):
  return json.loads(fetch(path, body)[1] or 'null')
def note(file, *what):
  print(*what, file=open(folder + '/' + file, 'a'))
def is_first(what):
  is_new = not os.path.exists(folder + '/' + what)
  note(what)
  return is_new
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at watched files more often; no command but one sends a late request."""
    monkeypatch.setattr(Watch, "pause", 0.03)
    monkeypatch.setattr(Probe, "pause", 0.01)


def script(code: str) -> list[str]:
    """A COMMAND that begins as a client does, and goes on with `code`."""
    return [sys.executable, "-I", "-S", "-c", BEGIN + code]


def probe(folder: Path, *args: str, axes: str = "all", seed: int = 7) -> tuple[Any, Any]:
    """What a run with --probe left, and its report."""
    options = ["--probe", axes, "--grease-seed", str(seed), "--report", str(folder / "report")]
    done = run("--quiet", *options, *args, env={"FOLDER": str(folder)})
    return done, json.loads((folder / "report").read_text("utf-8"))


def results(report: Any) -> dict[str, str]:
    """The results of the axes and the failures by their names."""
    found = {each["axis"]: each["result"] for each in report["probe"]["axes"]}
    found |= {each["failure"]: each["result"] for each in report["probe"]["failures"]}
    return found


def said() -> str:
    """What the program that runs in this process has written to its stderr so far."""
    assert isinstance(sys.stderr, io.StringIO)
    return sys.stderr.getvalue()
