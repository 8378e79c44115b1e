"""Measures what more processes cost, and what Redis costs; writes the tables of scale-results.md.

A figure is processor time (user and system, `/proc/PID/stat`) divided by the responses, the median
of the rounds. The stubs share the first core, and the rest has the last one: the same load for any
number of processes. Beside them, in their place, empty Flask views on stock waitress show what the
machine itself makes of more processes. It needs Linux, redis-server, nginx and wrk.
"""

import argparse
import itertools
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from measure import CORES, free_port, processor_seconds

ROOT = Path(__file__).resolve().parent.parent
BEARER = "Bearer dev-token"
STORED = (1, 1000, 100_000)
REQUESTS = 2000
LISTS = {1: 2000, 1000: 1000, 100_000: 16}  # requests, by the number of projects in a list

Send = Callable[[HTTPConnection, int], None]
Start = Callable[[ExitStack], tuple[int, int]]
SECONDS = 3
CONNECTIONS = (1, 8)  # for each process, so that each has as much to do at once
PROCESSES = (1, 2, 4)
WORLDS_SCRIPT = """
local number = 0
request = function()
  number = (number + 1) % 200
  local headers = {Authorization = "Bearer dev-token.w" .. number}
  return wrk.format("GET", "/v1/deployments/dpl_1", headers)
end
"""

numbers = itertools.count()


@contextmanager
def running(*command: str, port: int) -> Iterator[int]:
    """The id of the process of a server, once it accepts connections."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended")
            time.sleep(0.01)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def stub(stack: ExitStack, *options: str) -> tuple[int, int]:
    """The id and the port of a new stub."""
    port = free_port()
    return on_first_core(stack, port, "app.py", "--quiet", "--port", str(port), *options)


def empty_view(stack: ExitStack, body: Path) -> tuple[int, int]:
    """The id and the port of a new empty Flask view on stock waitress."""
    port = free_port()
    return on_first_core(stack, port, "bench/floors.py", "empty", "stock", str(port), str(body))


def on_first_core(stack: ExitStack, port: int, program: str, *args: str) -> tuple[int, int]:
    command = ("taskset", "-c", str(CORES[0]), sys.executable, str(ROOT / program), *args)
    return stack.enter_context(running(*command, port=port)), port


def nginx(stack: ExitStack, folder: Path, ports: Sequence[int]) -> tuple[int, int]:
    """The id of nginx's worker, and its port; the configuration is that of docs/scale.md."""
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    port, block = free_port(), re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)[0]
    servers = "".join(f"server 127.0.0.1:{each};" for each in ports)
    block = re.sub(r"(?:\s+server 127\.0\.0\.1:\d+;)+", f"\n{servers}", block)
    block = block.replace("listen 127.0.0.1:8080", f"listen 127.0.0.1:{port}")
    file = folder / "nginx.conf"
    file.write_text(block.replace("http {", "http {\naccess_log off;", 1), "utf-8")
    own = f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/log;"
    command = ("nginx", "-p", str(folder), "-c", str(file), "-g", own)
    return stack.enter_context(running(*command, port=port)), port


def drive(port: int, connections: int, requests: int, send: Send) -> float:
    """Send the requests over so many connections; returns the median of their milliseconds."""
    times: list[float] = []

    def work() -> None:
        client = HTTPConnection("127.0.0.1", port)
        for number in range(requests // connections):
            began = time.perf_counter()
            send(client, number)
            times.append(time.perf_counter() - began)
        client.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(times) < requests // connections * connections:
        raise SystemExit("a request failed")
    return statistics.median(times) * 1000


def request(
    client: HTTPConnection, method: str, path: str, world: str = "", body: str = ""
) -> None:
    headers = {"Authorization": BEARER + world, "Content-Type": "application/json"}
    client.request(method, path, body or None, headers)
    response = client.getresponse()
    response.read()
    if response.status >= 400:
        raise SystemExit(f"{method} {path}: {response.status}")


def get_one(client: HTTPConnection, _: int) -> None:
    request(client, "GET", "/v1/deployments/dpl_1")


def create(client: HTTPConnection, _: int) -> None:
    request(client, "POST", "/v1/projects", body=json.dumps({"name": f"made {next(numbers)}"}))


def list_all(client: HTTPConnection, _: int) -> None:
    request(client, "GET", "/v1/projects")


def write_seed(folder: Path, projects: int) -> str:
    named = [{"name": f"project {number}", "id": f"p{number}"} for number in range(projects)]
    deployment = {"id": "dpl_1", "project_id": "p0", "status": "failed"}
    file = folder / f"seed-{projects}.json"
    file.write_text(json.dumps({"projects": named, "deployments": [deployment]}), "utf-8")
    return str(file)


def measure(processes: Sequence[int], act: Callable[[], float], requests: int) -> list[float]:
    """Microseconds of each process for a request, and the median milliseconds of one."""
    before = [processor_seconds(each) for each in processes]
    latency = act()
    after = [processor_seconds(each) for each in processes]
    used = [(end - start) / requests * 1e6 for start, end in zip(before, after, strict=True)]
    return [*used, latency]


def load_worlds(folder: Path, port: int, connections: int) -> int:
    """Let wrk get a deployment in 200 worlds in turn; returns how many responses it got."""
    script = folder / "worlds.lua"
    script.write_text(WORLDS_SCRIPT, "utf-8")
    url = f"http://127.0.0.1:{port}"
    command: list[str] = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{SECONDS}",
        "-s",
        str(script),
        url,
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+) requests in", said)
    if not found or "Non-2xx" in said or "Socket errors" in said:
        raise SystemExit(said)
    return int(found[1])


def processes_table(folder: Path, rounds: int) -> Iterator[str]:
    head = "stubs, µs for a GET | empty Flask views, µs | stubs to views | nginx, µs"
    yield f"| connections for each process | processes | {head} |"
    yield "|---|---|---|---|---|---|"
    rows: dict[tuple[int, int], list[list[float]]] = {}
    seed, body = write_seed(folder, 1), folder / "body"
    body.write_bytes(bytes(98))  # as many as the stub sends
    starts = (lambda stack: stub(stack, "--seed", seed), lambda stack: empty_view(stack, body))
    for _ in range(rounds):
        for row in itertools.product(CONNECTIONS, PROCESSES):
            (stubs, balancer), (views, _) = (spread(folder, start, *row) for start in starts)
            rows.setdefault(row, []).append([stubs, views, stubs / views, balancer])
    for (connections, processes), found in rows.items():
        stubs, views, ratio, balancer = (
            statistics.median(each) for each in zip(*found, strict=True)
        )
        shown = f"{stubs:.0f} | {views:.0f} | {ratio:.2f} | {balancer:.0f}"
        yield f"| {connections} | {processes} | {shown} |"


def spread(folder: Path, start: Start, connections: int, processes: int) -> tuple[float, float]:
    """The processor time of a GET in µs: of all the processes together, and of their nginx."""
    with ExitStack() as stack:
        started = [start(stack) for _ in range(processes)]
        balancer, port = nginx(stack, folder, [port for _, port in started])
        load_worlds(folder, port, connections * processes)  # makes the worlds
        ids = [balancer, *(process for process, _ in started)]
        before = [processor_seconds(each) for each in ids]
        requests = load_worlds(folder, port, connections * processes)
        after = [processor_seconds(each) for each in ids]
        of_nginx, *of_started = (
            (end - begin) / requests * 1e6 for begin, end in zip(before, after, strict=True)
        )
        return sum(of_started), of_nginx


def store_table(folder: Path, rounds: int) -> Iterator[str]:
    head = "memory: stub, µs | latency, ms | Redis: stub, µs | its server, µs | latency, ms"
    yield f"| operation | stored | connections | {head} |"
    yield "|---|---|---|---|---|---|---|---|"
    rows: dict[tuple[str, int, int], list[list[float]]] = {}
    for _ in range(rounds):
        for stored in STORED:
            for row, figures in store_rows(folder, stored):
                rows.setdefault(row, []).append(figures)
    for (name, stored, connections), found in rows.items():
        figures = [statistics.median(each) for each in zip(*found, strict=True)]
        shown = [f"{each:.0f}" for each in figures]
        shown[1], shown[4] = f"{figures[1]:.1f}", f"{figures[4]:.1f}"
        yield f"| {name} | {stored:,} | {connections} | {' | '.join(shown)} |"


def store_rows(folder: Path, stored: int) -> Iterator[tuple[tuple[str, int, int], list[float]]]:
    with ExitStack() as stack:
        port = free_port()
        server = stack.enter_context(
            running("redis-server", "--port", str(port), "--save", "", port=port)
        )
        options = ("--seed", write_seed(folder, stored), "--max-projects", "1000000")
        memory, memory_port = stub(stack, *options)
        redis, redis_port = stub(stack, *options, "--store", f"redis://127.0.0.1:{port}/0")
        # Lists first: those of the creates would be longer.
        operations = [("list", list_all, LISTS[stored]), ("get", get_one, REQUESTS)]
        for name, send, requests in [*operations, ("create", create, REQUESTS)]:
            for each in (memory_port, redis_port):
                drive(each, 1, 1 if name == "list" else 50, send)
            for connections in CONNECTIONS:
                figures: list[float] = []
                for ids, at in (((memory,), memory_port), ((redis, server), redis_port)):
                    act = lambda at=at: drive(at, connections, requests, send)  # noqa: B023, E731
                    figures += measure(ids, act, requests)
                yield (name, stored, connections), figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {CORES[-1]})  # and the servers beside the stubs
    with tempfile.TemporaryDirectory() as folder:
        tables = [processes_table, store_table]
        texts = ["\n".join(table(Path(folder), arguments.rounds)) for table in tables]
    said = (
        f"Written by `bench/scale.py`, {arguments.rounds} rounds, {os.cpu_count()} cores. "
        "A ratio is the median of those of the rounds. "
        "Processor time has steps of 10 ms, which is 625 µs for each list of 100,000."
    )
    text = "# What more processes and Redis cost\n\n" + "\n\n".join([said, *texts]) + "\n"
    (ROOT / "bench" / "scale-results.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
