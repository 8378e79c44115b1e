"""Raw sockets and what the tests of the server read from them."""

import json
import socket
from contextlib import suppress
from typing import NamedTuple

SECRET = "tok-5ecret"


class Reply(NamedTuple):
    version: str
    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    """One client's connection; every wait on it ends after ten seconds."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.sock = socket.create_connection((host, port), timeout=10)
        self.unread = b""

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *exc: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def more(self) -> bytes:
        data = self.sock.recv(65536)
        self.unread += data
        return data

    def until(self, mark: bytes) -> bytes:
        while mark not in self.unread:
            assert self.more(), f"closed after {self.unread!r}"
        found, _, self.unread = self.unread.partition(mark)
        return found

    def reply(self, *, head: bool = False) -> Reply:
        """The next answer; `head`: it answers HEAD and has no body."""
        status_line, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, _ = status_line.split(" ", 2)
        headers = dict(line.split(": ", 1) for line in lines)
        length = 0 if head or status == "100" else int(headers["Content-Length"])
        while len(self.unread) < length:
            assert self.more(), f"closed after {len(self.unread)} of {length} bytes"
        body, self.unread = self.unread[:length], self.unread[length:]
        return Reply(version, int(status), headers, body)

    def closed(self) -> bool:
        """Whether the server closes without another byte."""
        with suppress(ConnectionResetError):
            return not self.unread and not self.more()
        return True


def assert_problem(reply: Reply, status: int, code: str, *, head: bool = False) -> None:
    """The one shape of the server's own errors."""
    assert (reply.version, reply.status) == ("HTTP/1.1", status)
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Connection"] == "close"
    if head:
        assert reply.body == b""
        return
    problem = json.loads(reply.body)
    assert problem.keys() == {"type", "title", "status", "detail", "code"}
    assert (problem["type"], problem["status"], problem["code"]) == ("about:blank", status, code)
    assert problem["title"]
    assert problem["detail"].endswith(".")
    assert SECRET not in reply.body.decode()
