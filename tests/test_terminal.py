"""stderr that nobody reads: the program goes on, and says how many lines it dropped."""

import re
import signal

from tests.conftest import program
from tests.wire import Connection, call, get, port_of

LONG_PATH = "/v1/" + "x" * 1000


def request_often(url: str, times: int) -> None:
    with Connection(port_of(url)) as client:
        for _ in range(times):
            client.send(get(LONG_PATH, "Host: localhost"))
            assert client.reply().status_code == 401


def test_unread_lines_block_neither_a_request_nor_a_rejection_nor_the_end() -> None:
    with program(quiet=False) as (process, url):
        request_often(url, 2000)  # a pipe holds 64 KiB
        with Connection(port_of(url)) as client:
            client.send(b"nonsense\r\n\r\n")
            assert client.reply().status_code == 400
        assert call(url, "/_stub/health").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0


def test_the_number_of_dropped_lines_is_written_once_there_is_room() -> None:
    with program(quiet=False) as (process, url):
        request_often(url, 2000)
        assert process.stderr
        lines, dropped = 0, 0
        for line in process.stderr:
            lines += line.startswith("GET /v1/x")
            if found := re.fullmatch(r"(\d+) lines were dropped: stderr was not read\n", line):
                dropped = int(found[1])
                break
        process.terminate()
        rest = process.stderr.read().splitlines()
        lines += sum(line.startswith("GET /v1/x") for line in rest)
        assert dropped > 0
        assert lines + dropped == 2000
        assert any(line.startswith("coverage: ") for line in rest)
