"""What a COMMAND does, and what a run with --probe leaves."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.program import run

BEGIN = """
import http.client, json, os, signal, subprocess, sys
from urllib.parse import urlsplit
name, folder = map(os.environ.get, ('STUB_PROBE_RUN', 'FOLDER'))
c = http.client.HTTPConnection(urlsplit(os.environ['STUB_URL']).netloc)
h = {'Authorization': 'Bearer ' + os.environ['STUB_TOKEN']}
def fetch(path, body=None):
  c.request('POST' if body else 'GET', path, body, {**h, 'Content-Type': 'application/json'})
  response = c.getresponse()
  return response, response.read().decode()
def call(path, body=None):
  return json.loads(fetch(path, body)[1] or 'null')
def note(file, *what):
  print(*what, file=open(folder + '/' + file, 'a'))
def is_first(what):
  is_new = not os.path.exists(folder + '/' + what)
  note(what)
  return is_new
"""


def script(code: str) -> list[str]:
    """A COMMAND that begins as a client does, and goes on with `code`."""
    return [sys.executable, "-I", "-S", "-c", BEGIN + code]


def probe(folder: Path, *args: str, axes: str = "all", seed: int = 7) -> tuple[Any, Any]:
    """What a run with --probe left, and its report."""
    options = ["--probe", axes, "--grease-seed", str(seed), "--report", str(folder / "report")]
    done = run("--quiet", *options, *args, env={"FOLDER": str(folder)})
    return done, json.loads((folder / "report").read_text("utf-8"))


def results(report: Any) -> dict[str, str]:
    return {axis["axis"]: axis["result"] for axis in report["probe"]["axes"]}
