"""What the program prints: its announcement, what is random, and what it cannot write."""

import errno
import io
import re
import resource
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from stub import create_stub
from tests.conftest import needs
from tests.program import environment, process_state, run
from tests.wire import call, port_of

pytestmark = pytest.mark.process


def test_it_prints_its_address_an_example_and_the_coverage() -> None:
    done = run(during=lambda url: (url, call(url, "/v1/projects").status_code))
    url, status = done.result
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    assert (done.status, status) == (0, 200)
    assert done.stdout == f"listening on {url}\n"
    hint, page, line, *coverage = done.stderr.splitlines()
    assert hint == f'try: curl -H "Authorization: Bearer dev-token" {url}/v1/projects'
    assert page == f"open {url}/"
    assert re.fullmatch(r"#1 GET /v1/projects 200 \d+\.\d ms", line)
    assert coverage[0].startswith("coverage: 1 of ")


def test_a_start_with_files_for_few_connections_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warning = "warning: more than 48 connections at once have to wait for each other: raise "
    assert "ulimit" not in run().stderr
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (64, 64))
    assert warning in run().stderr


@pytest.mark.parametrize(("host", "loopback"), [("0", "127.0.0.1"), ("0::0", "[::1]")])
def test_an_open_address_is_printed_for_this_machine(host: str, loopback: str) -> None:
    if ":" in host:
        needs("IPv6")
    done = run("--host", host, "--token", "long-token", during=port_of)
    url = f"http://{loopback}:{done.result}"
    assert done.stdout == f"listening on {url}\n"
    assert f'try: curl -H "Authorization: Bearer $STUB_TOKEN" {url}/v1/projects\n' in done.stderr


def test_an_open_address_is_printed_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [(socket.AF_INET, 0, 0, "", (each, 0)) for each in ("127.0.1.1", "203.0.113.7")]
    find = socket.getaddrinfo

    def find_own(host: Any, *args: Any, **more: Any) -> Any:
        return own if host == socket.gethostname() else find(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", find_own)
    done = run("--host", "0.0.0.0", "--token", "long-token", during=port_of)
    assert f"for other machines: http://203.0.113.7:{done.result}\n" in done.stderr
    assert "http://127.0.1.1" not in done.stderr


RANDOM = [
    (["--grease", "ids@projects"], 'vary on purpose: --grease "ids@projects" --grease-seed'),
    (["--delay", "0.001-0.002"], "delays are random: --delay 0.001-0.002 --ids-seed"),
]


@pytest.mark.parametrize(("options", "line"), RANDOM)
def test_what_is_random_is_printed_with_its_seed(options: list[str], line: str) -> None:
    seed = line.split()[-1]
    assert f"{line} 7\n" in run(*options, seed, "7").stderr
    shown = run(*options).stderr + run(*options, "--", "true").stderr
    assert len({*re.findall(rf"{line} (\d+)\n", shown)}) == 2
    assert "--ids-seed" not in run("--delay", "0.001").stderr


def test_output_that_cannot_be_written_is_ignored() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("try: "):
                signal.raise_signal(signal.SIGTERM)
            raise BrokenPipeError

    with process_state():
        assert main(create_stub, [], environment({"STUB_PORT": "0"}), Closed(), Closed()) == 0


@pytest.mark.parametrize("args", [["docs"], ["--help"], ["verify", "--help"]])
def test_a_full_stdout_is_named(args: list[str]) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    stderr = io.StringIO()
    with process_state():
        assert main(create_stub, args, environment(), Full(), stderr) == 2
    assert stderr.getvalue() == "error: stdout: No space left on device.\n"


def test_a_console_gets_what_its_encoding_has(tmp_path: Path) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="koi8-r")
    with process_state(), (tmp_path / "err").open("w", encoding="koi8-r") as stderr:
        assert main(create_stub, ["docs", "choices"], environment(), stdout, stderr) == 0
        assert main(create_stub, ["--seed", "\xe9"], environment(), stdout, stderr) == 2
    stdout.flush()
    assert rb"\xa7" in stdout.buffer.getvalue()
    assert rb"error: \xe9: " in (tmp_path / "err").read_bytes()
