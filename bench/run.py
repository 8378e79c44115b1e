"""How fast the service is, as ratios to an empty view with the same bytes. See bench/README.md."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).parent.parent
TOKEN = {"Authorization": "Bearer dev-token"}
ROUNDS = 5
SECONDS = 2
CORES = sorted(os.sched_getaffinity(0))
CREATE = """
local thread = 0
function setup(t) t:set("id", thread) thread = thread + 1 end
function init() n = 0; salt = tostring(os.time()) .. "-" .. tostring({}):sub(8) end
function request()
  n = n + 1
  return wrk.format("POST", "/v1/projects",
    {["Authorization"] = "Bearer dev-token", ["Content-Type"] = "application/json"},
    '{"name": "' .. salt .. "-" .. n .. '"}')
end
"""


@contextmanager
def running(*command: str) -> Iterator[tuple[str, int]]:
    """A server on the first core; gives its URL and its process id."""
    pinned = ["taskset", "-c", str(CORES[0]), sys.executable, *command]
    with subprocess.Popen(
        pinned, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.terminate()


def service(*options: str) -> tuple[str, ...]:
    return ("app.py", "--port", "0", "--quiet", *options)


def get(url: str) -> bytes:
    with urlopen(Request(url, headers=TOKEN)) as response:
        body: bytes = response.read()
        return body


def fill(url: str, count: int) -> None:
    """Put so many projects in place of what there is."""
    document = json.dumps({"projects": [{"name": str(number)} for number in range(count)]})
    headers = {**TOKEN, "Content-Type": "application/json"}
    with urlopen(Request(f"{url}/_stub/reset", document.encode(), headers)):
        pass


def rate(url: str, connections: int, script: str | None = None) -> float:
    """Requests per second, none of which may fail."""
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{SECONDS}",
        "-H",
        "Authorization: Bearer dev-token",
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        if script:
            file.write(script)
            file.flush()
            command += ["-s", file.name]
        done = subprocess.run(
            ["taskset", "-c", str(CORES[-1]), *command, url],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise SystemExit(f"{url}: some requests failed\n{done.stdout}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert found, done.stdout
    return float(found[1])


def compare(ours: str, floor: str, connections: int, script: str | None = None) -> float:
    """The median ratio of interleaved rounds."""
    return statistics.median(
        rate(ours, connections, script) / rate(floor, connections, script) for _ in range(ROUNDS)
    )


def start_up(*command: str) -> float:
    """Seconds from exec to the first line, or to the end of a program that prints none."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        if line:
            get(line.decode().split()[-1] + "/v1/deployments/dpl_succeeded")
        took = time.perf_counter() - began
        process.terminate()
    return took


def pss(pid: int) -> int:
    """KiB of memory that a process has to itself, and its share of what it has with others."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    found = re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)
    assert found
    return int(found[1])


def measure() -> Iterator[tuple[str, str, float]]:
    """What was measured, what it should be, and what came out."""
    path = "/v1/deployments/dpl_succeeded"
    with tempfile.TemporaryDirectory() as folder, running(*service()) as (url, pid):
        body = Path(folder, "body")
        body.write_bytes(get(url + path))
        floors = {
            (kind, setup): ("bench/floors.py", kind, setup, str(body))
            for kind in ("flask", "wsgi")
            for setup in ("ours", "stock")
        }
        memory = pss(pid)
        with running(*floors["flask", "ours"]) as (floor, floor_pid):
            assert get(floor + path) == get(url + path)
            ratio = compare(url + path, floor + path, 8)
            yield "GET of a deployment, to an empty Flask view on our set-up", "0.95", ratio
            yield "memory after start, to that view's", "1.25 at most", memory / pss(floor_pid)
            ratio = compare(url + "/v1/projects", floor + "/v1/projects", 8, CREATE)
            yield "POST of distinct names, to that view sent the same", "0.85", ratio
        with running(*floors["flask", "stock"]) as (floor, _):
            ratio = compare(url + path, floor + path, 8)
            yield "GET, to an empty Flask view on stock waitress, 8 connections", "1.25", ratio
            ratio = compare(url + path, floor + path, 1)
            yield "the same with one connection", "0.95", ratio
        with running(*floors["wsgi", "stock"]) as (floor, _):
            ratio = compare(url + path, floor + path, 8)
            yield "GET, to an empty WSGI callable on stock waitress", "0.63 to 0.68", ratio
        with running(*service("--no-stub")) as (bare, _):
            ratio = compare(url + path, bare + path, 8)
            yield "GET, to the service with --no-stub", "0.87", ratio
        for count in (10, 1_000, 10_000):
            fill(url, count)
            body.write_bytes(get(f"{url}/v1/projects"))
            with running(*floors["flask", "ours"]) as (floor, _):
                ratio = compare(f"{url}/v1/projects", f"{floor}/v1/projects", 8)
                yield f"GET of {count} projects, to that view", "0.95", ratio
        before = pss(pid)
        fill(url, 10_000)
        fill(url, 0)
        rates = []
        for count in (1, 1_000, 50_000):
            fill(url, count)
            (first, *_) = json.loads(get(f"{url}/v1/projects"))["projects"]
            deployment = f"{url}/v1/deployments/{first['latest_deployment_id']}"
            rates.append(statistics.median(rate(deployment, 8) for _ in range(ROUNDS)))
        ratio = min(rates) / max(rates)
        yield "GET with 1, 1,000 and 50,000 stored, slowest to fastest", "0.95", ratio
        yield "KiB for each of 50,000 projects", "1.5 at most", (pss(pid) - before) / 50_000
    with running("app.py", "--port", "0") as (logged, _), running(*service()) as (quiet, _):
        yield "the request log, on to off", "0.85", compare(logged + path, quiet + path, 8)
    floor_start = ("-c", "import flask, waitress")
    ratios = [start_up(*service()) / start_up(*floor_start) for _ in range(9)]
    ratio = statistics.median(ratios)
    yield 'start to the first answer, to python -c "import flask, waitress"', "1.25 at most", ratio


def main() -> int:
    if not shutil.which("wrk") or not shutil.which("taskset"):
        print("wrk and taskset are needed: apt-get install wrk util-linux", file=sys.stderr)
        return 2
    print("| what | at least | measured |\n|---|---|---|")
    for what, wanted, ratio in measure():
        print(f"| {what} | {wanted} | {ratio:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
