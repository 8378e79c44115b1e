"""What the program prints: its announcement, a line for each request, and what is random."""

import errno
import io
import re
import shlex
import signal
import socket
import subprocess

import pytest

from app import create_app
from cli.main import main
from tests.program import environment, process_state, run
from tests.wire import call, port_of

pytestmark = pytest.mark.process

IPV6 = ["0::0"] if socket.has_dualstack_ipv6() else []


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


@pytest.mark.parametrize("host", ["0.0.0.0", "0", *IPV6])
def test_a_command_of_an_open_address_gets_the_one_of_loopback(
    host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run("--host", host, "--token", "x", "--", "sh", "-c", "echo $STUB_URL")
    loopback = "[::1]" if ":" in host else "127.0.0.1"
    assert re.fullmatch(rf"http://{re.escape(loopback)}:\d+\n", capfd.readouterr().out)
    shown = run("--host", host, "--token", "x", during=port_of)
    assert f" http://{loopback}:{shown.result}/v1/projects\n" in shown.stderr
    assert f"open http://{loopback}:{shown.result}/\n" in shown.stderr
    assert done.status == 0


def has_route(family: int, far: str) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        return probe.connect_ex((far, 9)) == 0


@pytest.mark.parametrize("words", [[], ["--", "sh", "-c", "exit 0"]])
def test_an_open_address_is_printed_for_other_machines_too(words: list[str]) -> None:
    open_addresses = [("0.0.0.0", socket.AF_INET, "192.0.2.1")]
    if IPV6:
        open_addresses.append(("::", socket.AF_INET6, "2001:db8::1"))
    for host, family, far in open_addresses:
        done = run("--host", host, "--token", "x", *words)
        printed = re.findall(r"^from another machine: http://(.*):\d+$", done.stderr, re.MULTILINE)
        assert len(printed) == has_route(family, far)
        for address in printed:
            with socket.create_server((address.strip("[]"), 0), family=family):
                pass  # it is one of this machine
            assert address not in ("127.0.0.1", "[::1]", "0.0.0.0", "[::]")
    assert "from another machine" not in run(*words).stderr


def test_with_several_tokens_the_example_uses_the_first() -> None:
    env = {"STUB_TOKEN": "one two"}
    done = run(env=env, during=lambda url: url)
    command = done.stderr.splitlines()[0].partition("curl")[2].replace(done.result, "")
    shown = subprocess.run(
        ["sh", "-c", f"echo {command}"], env=environment(env), capture_output=True, text=True
    )
    assert shown.stdout == "-H Authorization: Bearer one /v1/projects\n"


def test_it_prints_the_axes_and_the_seed_of_grease() -> None:
    axes = "members,member-order,json-text,headers,ids,times"
    line = f"responses vary on purpose: --grease {axes} --grease-seed 7\n"
    assert line in run("--grease", "--grease-seed", "7").stderr
    random = re.compile(r"--grease members,list-order --grease-seed (\d+)\n")
    command = ["--", "true"]  # it is printed for a command too
    seeds = [
        random.findall(run("--grease", "list-order,members", *words).stderr)
        for words in ([], command)
    ]
    assert len({seed for (seed,) in seeds}) == 2
    assert "vary" not in run("--grease-seed", "7").stderr


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("times,members@Project", "members@Project,times"),
        ("ids@projects, members@Problem ,members@Project", "members@Problem,members@Project,ids@"),
        ("headers@getDeployment 404,members", "'members,headers@getDeployment 404'"),
    ],
)
def test_the_option_limits_an_axis_and_what_is_printed_can_be_pasted(
    given: str, printed: str
) -> None:
    first = run("--grease", given, during=lambda url: call(url, "/_stub/grease"))
    assert f"responses vary on purpose: --grease {printed}" in first.stderr
    (line,) = re.findall("on purpose: (.*)\n", first.stderr)
    again = run(*shlex.split(line), during=lambda url: call(url, "/_stub/grease"))
    assert again.result.json == first.result.json
    assert line in again.stderr


def test_the_seed_of_random_delays_is_printed() -> None:
    line = "delays are random: --delay 0.001-0.002 --ids-seed "
    assert f"{line}7\n" in run("--delay", "0.001-0.002", "--ids-seed", "7").stderr
    random = re.compile(re.escape(line) + r"(\d+)\n")
    command = ["--", "true"]
    seeds = [
        random.findall(run("--delay", "0.001-0.002", *words).stderr) for words in ([], command)
    ]
    assert len({seed for (seed,) in seeds}) == 2
    assert "delays" not in run("--delay", "0.001").stderr


def test_output_that_cannot_be_written_is_ignored() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("try: "):
                signal.raise_signal(signal.SIGTERM)
            raise BrokenPipeError

    with process_state():
        assert main(create_app, [], environment({"STUB_PORT": "0"}), Closed(), Closed()) == 0


@pytest.mark.parametrize("args", [["docs"], ["docs", "readme"], ["--help"], ["verify", "--help"]])
def test_a_full_stdout_is_named(args: list[str]) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    stderr = io.StringIO()
    with process_state():
        assert main(create_app, args, environment(), Full(), stderr) == 1
    assert stderr.getvalue() == "error: stdout: No space left on device.\n"
